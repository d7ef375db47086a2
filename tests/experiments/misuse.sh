#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# experiments/run in hands that mean it ill: options that can't be, other programs that fail or write rubbish, files of --data that are none, runs that
# are ended or have the same folder. A run that did not do what it was asked for does not end with 0, and its page says so.
#   misuse.sh BUILD_DIR SOURCE_DIR
set -euo pipefail
build=$(realpath "$1") source=$(realpath "$2")
command -v python3 >/dev/null || { echo "SKIPPED: there is no python3"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; cat "$work/said"; exit 1; }
path=$PATH
run() { env PATH="$path" LC_ALL=tr_TR.UTF-8 "$source/experiments/run" --size tiny --build "$build" "$@" >"$work/said" 2>&1; }
expect() { # CODE WORDS ARGUMENTS: how it ends, and what it says
  local code=0 expected=$1 words=$2
  shift 2
  run "$@" || code=$?
  [ $code = "$expected" ] || fail "'$*' ends with $code, not $expected"
  grep -qF -- "$words" "$work/said" || fail "'$*' does not say '$words'"
  ! grep -q Traceback "$work/said" || fail "'$*' ends with a traceback"
}
cd "$work"
mkdir "programs" "empty" "with space"
touch file
sort=(others sort --output pages --work kept)

# Options.
expect 2 "0 is less than 1" "${sort[@]}" --rounds 0
expect 2 "-1 is less than 0" "${sort[@]}" --threads -1
expect 2 "-1 is less than 0" "${sort[@]}" --limit -1
expect 2 "nan is less than 0" "${sort[@]}" --limit nan
expect 2 "invalid" "${sort[@]}" --rounds many
expect 2 "a word of letters" "${sort[@]}" --label ../over
expect 2 "has no table 'sorting'" others sorting
expect 2 "invalid choice" sorting
expect 2 "can't be written" others sort --output file/pages
expect 2 "can't be written" others sort --work file
expect 2 "there is no folder nowhere" "${sort[@]}" --data nowhere
expect 2 "there is no folder nowhere" index --output nowhere
code=0
"$source/experiments/run" others sort --build "$work/empty" >said 2>&1 || code=$?
[ $code = 2 ] && grep -q "is not there: .*dev build" said || fail "a missing build ends with $code"
mkdir -p broken/bin && printf '#!/bin/sh\nexit 1\n' >broken/bin/sluice && chmod +x broken/bin/sluice
code=0
"$source/experiments/run" others sort --build "$work/broken" >said 2>&1 || code=$?
[ $code = 2 ] && grep -q "does not run" said || fail "a broken build ends with $code"

# Without other programs, in folders whose names have spaces, in another locale; a time that is over stops only what has not begun.
ln -s "$(python3 -c 'import sys; print(sys.executable)')" programs/python3
ln -s "$(command -v env)" programs/
path=$work/programs
expect 0 "1 tables in" others sort --output "with space/pages" --work "with space/kept" --limit 0.000001
grep -q "samtools sort | not installed" "with space/pages/others-sort.md" || fail "nobody says that samtools is not there"
! grep -q "FAILED" "with space/pages/others-sort.md" || fail "there are checks that fail"

# Another program that fails, writes rubbish, or does not exist on this machine's processor.
other() { printf '#!/bin/sh\n%s\n' "$2" >"programs/$1"; chmod +x "programs/$1"; }
other samtools 'echo "samtools: no such thing $(printf "\377")" >&2; exit 3'
PYTHONIOENCODING=ascii expect 1 "FAILED: others sort" "${sort[@]}"
grep -q "samtools sort | failed: .*ends with 3: samtools: no such thing" pages/others-sort.md || fail "the row does not say why"
grep -q "sluice sort | [0-9]" pages/others-sort.md || fail "sluice's row is not there"
other samtools 'for last; do :; done; [ "$1" = --version ] || echo rubbish >theirs; exec cp theirs kept/others/sort/theirs.bam' # in place of what it was asked for
path=$work/programs:$PATH
expect 1 "what it writes can't be read" "${sort[@]}"
printf '\177ELFrubbish' >programs/samtools
path=$work/programs
expect 1 "Exec format error" "${sort[@]}"

# A build that lost a tool: the page that was good before says that this run failed.
grep -q "| ok |" pages/others-sort.md
mkdir -p half && cp -rs "$build" half/ 2>/dev/null && rm -f half/*/bin/make_test_input
expect 1 "make_test_input is not there" others sort --output pages --build half/*
grep -q "the experiment comes to its end: .*make_test_input.*| FAILED |" pages/others-sort.md || fail "the page is still the one before"

# --data: nothing that a table reads, files that are missing beside others, empty ones, and such as are none.
rm programs/samtools
expect 1 "has no file that these tables read" "${sort[@]}" --data empty
mkdir data && echo rubbish >data/reads.blow5
expect 1 "--data has reads.blow5 but not reads.bam, reference.fa, reads.fastq.gz" f5c methylation --output pages --data data
for name in reads.bam reference.fa reads.fastq.gz; do echo rubbish >data/$name; done
expect 1 "FAILED: f5c methylation" f5c methylation --output pages --data data
: >data/reads.blow5
expect 1 "reads.blow5 is empty" f5c methylation --output pages --data data
[ "$(ls data | wc -l)" = 4 ] || fail "there is something new beside the data: $(ls data)"

# Two runs in one folder; and one that is ended leaves neither programs nor files.
other samtools '[ "$1" = --version ] && exit; sleep 1000000 & echo $! >'"$work/child.part; mv $work/child.part $work/child; wait"
ln -s "$(command -v sleep)" "$(command -v mv)" programs/
mkdir temporary
TMPDIR=$work/temporary PATH=$path "$source/experiments/run" others sort --size tiny --build "$build" --output pages >first 2>&1 &
first=$!
until [ -e child ]; do kill -0 $first 2>/dev/null || { cat first; fail "it ended by itself"; }; sleep 0.1; done
expect 2 "another run is in" others sort --output pages --work "$(echo temporary/sluice-experiments-*)"
kill -TERM $first
code=0
wait $first || code=$?
[ $code = 143 ] || fail "an ended run ends with $code"
[ -z "$(ls temporary)" ] || fail "it left $(ls temporary)"
while kill -0 "$(cat child)" 2>/dev/null && ! grep -q ') Z' "/proc/$(cat child)/stat"; do sleep 0.1; done
echo "all good"
