#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Borders between the folders of the house, in what files include and in what programs are linked of:
#   core     a folder includes only what stands before it in the table of docs/design.md, and exactly what the table says
#   plugins  include sluice/* and their own headers, never another's nor core's, and are linked of their own objects, the SDK's and libraries from elsewhere
#   sdk      includes neither core nor plugins
#   borders.sh SOURCE_DIR BUILD_DIR
set -uo pipefail
build=$(realpath "$2")
cd "$1" || exit 1
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
# includes FOLDER: "FILE NAME" of each include
includes() { find "$1" -type f -regex '.*\.\(c\|cpp\|cu\|cuh\|h\|hpp\|in\)' -exec grep -H '^ *# *include *["<]' {} + | sed 's/^\([^:]*\):[^"<]*["<]\([^">]*\)[">].*/\1 \2/'; }

# ---- core: rows of the table are | `folder` | what | includes |
mapfile -t rows < <(sed -n 's/^| `\([a-z]*\)` |[^|]*|\([^|]*\)|$/\1|\2/p' docs/design.md)
folders=("${rows[@]%%|*}")
[ ${#folders[@]} -ge 10 ] || fail "docs/design.md has no table of the folders of core"
for folder in core/*/; do
  folder=$(basename "$folder")
  [[ " ${folders[*]} " == *" $folder "* ]] || fail "core/$folder is not in the table of docs/design.md"
done
before=" "
for row in "${rows[@]}"; do
  folder=${row%%|*} said=${row#*|}
  [ -d "core/$folder" ] || { fail "docs/design.md names core/$folder, which is not there"; continue; }
  really=""
  while read -r file name; do
    other=${name%%/*}
    [[ " ${folders[*]} " == *" $other "* ]] && [ "$other" != "$folder" ] || continue
    [[ $before == *" $other "* ]] || fail "$file includes \"$name\": core/$other stands behind core/$folder"
    [[ " $really " == *" $other "* ]] || really="$really $other"
  done < <(includes "core/$folder")
  before="$before$folder "
  # "all above" is no list.
  listed=$(tr -d '`,' <<<"$said")
  [[ $said =~ ^(\ |\`[a-z]+\`|,)*$ ]] || continue
  [ "$(tr ' ' '\n' <<<"$listed" | sed '/^$/d' | sort)" = "$(tr ' ' '\n' <<<"$really" | sed '/^$/d' | sort)" ] ||
    fail "docs/design.md says that core/$folder includes '$(xargs <<<"$listed")', it includes '$(xargs <<<"$really")'"
done

# ---- plugins and sdk: what they include
declare -A is_plugin
for plugin in plugins/*/*/; do is_plugin[$(basename "$plugin")]=1; done
for plugin in plugins/*/*/; do
  own=$(basename "$plugin")
  while read -r file name; do
    other=${name%%/*}
    case $name in *..*) fail "$file includes \"$name\": name the folder" ;; esac
    [ "$other" = "$own" ] || [ -z "${is_plugin[$other]:-}" ] || fail "$file includes \"$name\", which is another plugin's: what both need belongs to the SDK"
    [ "$other" = "$own" ] || [[ " ${folders[*]} " != *" $other "* ]] || fail "$file includes \"$name\", which is core's"
  done < <(includes "$plugin")
done
while read -r file name; do
  other=${name%%/*}
  [ -z "${is_plugin[$other]:-}" ] && [[ " ${folders[*]} " != *" $other "* ]] || fail "$file includes \"$name\": the SDK includes neither core nor plugins"
done < <(includes sdk)

# ---- plugins: what they are linked of, as the build says. A line: NAME INPUT...
links() {
  sed -n 's/^build bin\/plugins\/\([a-z_0-9]*\)\.so: [A-Z_]*MODULE_LIBRARY_LINKER[^ ]* \(.*\)$/\1 \2/p; s/^build \(plugins\/[^ ]*\/lib\([a-z_0-9]*\)_\(kernels\|cuda\)\.a\): [^ ]* \(.*\)$/\2 \4/p' \
    "$build/build.ninja" | sed 's/ ||.*//'
}
if [ -f "$build/build.ninja" ]; then
  linked=$(links)
  [ "$(wc -l <<<"$linked")" -ge 40 ] || fail "$build/build.ninja does not say how plugins are linked"
  while read -r own inputs; do
    for input in $inputs; do
      case $input in
        plugins/*/"$own"/* | plugins/*_headers* | sdk/* | lib/* | /* | '|' | tests/*) ;;
        plugins/*/*/*) fail "the plugin $own is linked of $input, which is another plugin's: what both need belongs to the SDK" ;;
        core/* | bin/*) fail "the plugin $own is linked of $input" ;;
      esac
    done
  done <<<"$linked"
else
  echo "SKIPPED in part: $build was not made by Ninja, so links are not looked at"
fi
echo "$failures failures"
[ $failures = 0 ]
