#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The papers' experiments run, without a network, their checks hold, and one that is wrong is found.
#   run.sh BUILD_DIR SOURCE_DIR quick|small
set -euo pipefail
build=$1 source=$2 what=$3
command -v python3 >/dev/null || { echo "SKIPPED: there is no python3"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
run() { "$source/experiments/run" "$@" --build "$build" --output "$work/pages" --work "$work/kept"; }
if [ "$what" = small ]; then
  run all --size small
  exit
fi
run quick --size tiny || fail "a table of each paper"
[ "$(ls "$work"/pages/*.md | wc -l)" = 5 ] || fail "there are $(ls "$work"/pages/*.md | wc -l) pages"
for page in "$work"/pages/*.md; do
  for heading in '## Published' '## What can be compared' '## Checks'; do grep -qx "$heading" "$page" || fail "$page has no '$heading'"; done
  grep -q '^Machine: .* Commit ' "$page" || fail "$page does not name its machine"
done
for picture in "$work"/pages/*.svg; do
  python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$picture" || fail "$picture is no XML"
  grep -q prefers-color-scheme "$picture" || fail "$picture has no dark form"
done

# Checks can fail: a program that drops, changes or adds a match is found out.
cat >"$work/judge.py" <<'PYTHON'
import sys
sys.path.insert(0, sys.argv[1] + "/experiments")
sys.dont_write_bytecode = True
from framework.exact_matches import missing_matches, wrong_matches
from framework.sequences import edit_distance
folder = sys.argv[2]
open(folder + "/text.fa", "w").write(">t\nACGTTGCATTGACCAGTACCAGATTTACGGA\n")
open(folder + "/reads.fa", "w").write(">r\nTTGACCAGTACCAG\n")
def judged(lines):
    open(folder + "/m.txt", "w").write("> r\n" + lines + "> r Reverse\n")
    return wrong_matches(folder + "/m.txt", folder + "/text.fa", folder + "/reads.fa", 8)[0], missing_matches(folder + "/m.txt", folder + "/text.fa", folder + "/reads.fa", 8)[0]
assert judged("9 1 14\n") == (0, 0), judged("9 1 14\n")
assert judged("9 1 13\n")[0] == 1 and judged("10 2 13\n")[0] == 1 and judged("9 2 13\n")[0] == 1
assert judged("")[1] == 1
assert edit_distance("ACGT", "AGT") == 1 and edit_distance("ACGT", "ACGT") == 0 and edit_distance("AAAA", "TTTT") == 4
PYTHON
python3 "$work/judge.py" "$source" "$work" || fail "the judges"
# A number that a table does not have is found, and a figure without a table.
mkdir -p "$work/tree/docs/experiments" "$work/tree/experiments/p"
touch "$work/tree/experiments/p/t.py" "$work/tree/README.md"
page() { printf '`experiments/run p t --size small`\n\n| program | CPU s |\n|---|---|\n| a | 12.5 |\n\n| check | result |\n|---|---|\n%s' "$1" >"$work/tree/docs/experiments/p-t.md"; }
page $'| right | ok |\n'
said() { python3 "$source/tests/experiments/numbers.py" "$work/tree" >"$work/said" || true; grep -q "$1" "$work/said" || { cat "$work/said"; fail "nobody says '$1'"; }; }
echo '[12.5](experiments/p-t.md "a: CPU s")' >"$work/tree/docs/comparison.md"
said '1 figures looked up, 0 problems'
echo '[13.5](experiments/p-t.md "a: CPU s")' >"$work/tree/docs/comparison.md"
said "'13.5' is 12.5"
echo '[12.5](experiments/p-t.md "b: CPU s")' >"$work/tree/docs/comparison.md"
said "has no 'b: CPU s'"
for claim in 'It is 3 times as fast.' 'It takes 12 CPU s.' 'It makes 61 thousand windows/s.' 'It is twice as fast.' 'Of 90 per cent.'; do
  echo "$claim" >"$work/tree/docs/comparison.md"
  said "has no command that makes it"
done
for checks in '' $'| right | ok |\n| also | FAILED |\n'; do
  page "$checks"
  said "a check failed, or there is none"
done
echo "all good"
