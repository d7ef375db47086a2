# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# shrink LIST COMMAND...: leaves of the lines of the file LIST as few as COMMAND still succeeds with. COMMAND looks at the file; it must succeed with
# all of them. Halves are left out first, then ever smaller parts (Zeller and Hildebrandt 2002, without the union of parts).
shrink() {
  local list=$1 lines part begin
  shift
  lines=$(wc -l <"$list")
  for ((part = (lines + 1) / 2; part >= 1; part /= 2)); do
    for ((begin = 1; begin <= lines && lines > 1;)); do
      cp "$list" "$list.all"
      sed "$begin,$((begin + part - 1))d" "$list.all" >"$list"
      if [ -s "$list" ] && "$@"; then lines=$(wc -l <"$list"); else
        cp "$list.all" "$list"
        begin=$((begin + part))
      fi
    done
  done
  rm -f "$list.all"
}
