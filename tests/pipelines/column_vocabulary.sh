#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Every column that a stage of this repository needs or gives is in docs/columns.md, under its row type and with its type.
#   column_vocabulary.sh SLUICE SOURCE_DIR
set -euo pipefail
sluice=$1 page=$2/docs/columns.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$sluice" docs "$work/pages" >/dev/null

# row type, column, type: from the page, and from the stages' pages.
awk -F'|' '/^## Rows of type/ { gsub(/`/, ""); n = split($0, word, " "); row_type = word[n] }
           /^\| `/ { gsub(/[` ]/, ""); print row_type, $2, $3 }' "$page" | sort -u >"$work/documented"
for stage in "$work"/pages/stages/*.md; do
  awk -F'|' -v stage="$(basename "$stage" .md)" '
    /^- Kind:/ { for (i = split($0, part, "`"); i > 1; i--) if (i % 2 == 0) { gives = part[i]; break }
                 needs = part[2] }
    /^## /     { port = $0 == "## Needs" ? needs : $0 == "## Gives" ? gives : "" }
    port && /^\| [a-z]/ && !/^\| column / { gsub(/[` ]/, ""); print port, $2, $3, stage }' "$stage"
done | sort -u >"$work/used"

missing=0
while read -r row_type column type stage; do
  grep -qxF "$row_type $column $type" "$work/documented" || { echo "FAILED: docs/columns.md lacks '$column' ($type, rows of type '$row_type') of stage '$stage'" >&2; missing=1; }
done <"$work/used"
cut -d' ' -f1-3 "$work/used" | sort -u | comm -23 "$work/documented" - | while read -r line; do echo "FAILED: docs/columns.md has '$line', which no stage uses" >&2; echo x; done >"$work/left"
[ -s "$work/used" ] && [ "$missing" = 0 ] && [ ! -s "$work/left" ] || exit 1
echo "all good"
