#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The house's floors: a folder of core includes only itself and what stands below it, and a plugin only its own files and the plain functions of
# plugins whose library (NAME_kernels) its CMakeLists.txt names.
#   floors.sh SOURCE_DIR
set -uo pipefail
cd "$1" || exit 1
floors=(machine plugin config plan device batch sched record run observe shard session library cli)
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
for ((i = 0; i < ${#floors[@]}; ++i)); do
  for ((above = i + 1; above < ${#floors[@]}; ++above)); do
    while IFS= read -r line; do fail "an include of the floor above: $line"; done < <(grep -rn "#include \"${floors[above]}/" "core/${floors[i]}")
  done
done
for folder in core/*/; do
  folder=$(basename "$folder")
  case " ${floors[*]} " in *" $folder "*) ;; *) fail "core/$folder is no floor that is known here" ;; esac
done
for plugin in plugins/*/*/; do
  name=$(basename "$plugin")
  while IFS= read -r line; do
    included=${line#*\"} included=${included%%/*}
    [ "$included" = "$name" ] || [ ! -d "$(echo plugins/*/"$included")" ] || grep -q "LIBRARIES.*\b${included}_kernels\b" "$plugin/CMakeLists.txt" || fail "a plugin includes another's files: $line"
  done < <(grep -rn '#include "[a-z_0-9]*/' "$plugin")
done
echo "$failures failures"
[ $failures = 0 ]
