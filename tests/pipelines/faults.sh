#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Load and faults: a slow reader of the output, Ctrl-C, a full disk, and inputs that are missing, cut off, empty or of another run.
# Each must end in a clear line or a counted read; never in a crash, a hang, or a file that looks complete.
#   faults.sh SLUICE MAKE_TEST_INPUT
set -uo pipefail
sluice=$1 make_test_input=$2
work=$(mktemp -d)
trap 'umount "$work/small" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work"
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
"$sluice" run synthetic_reference --length 40000 --seed 5 --output ref.fa --quiet
"$sluice" run synthetic_reference --length 30000 --seed 6 --output other.fa --quiet
"$sluice" run simulate --reference ref.fa --reads 300 --seed 5 --mean-length 3000 --output-prefix r --quiet
inputs=(--signal r.blow5 --reads r.fastq.gz --alignments r.bam --reference ref.fa)
call() { "$sluice" run methylation "$@"; }
call "${inputs[@]}" --output calls.tsv --quiet || fail "the plain run"

# ---- a reader of the output that is far slower than the run
call "${inputs[@]}" --output - --memory 48MiB --report slow.json --quiet | (while IFS= read -r -n 65536 block; do :; done; cat >/dev/null) || fail "slow reader"
call "${inputs[@]}" --output - --memory 48MiB --report slow.json --quiet | { sleep 3; cat; } >slow.tsv
cmp calls.tsv slow.tsv || fail "the bytes for a slow reader"
python3 - <<'PY' || fail "memory under a slow reader"
import json
def find(node, key):
    if isinstance(node, dict):
        if key in node: return node[key]
        for value in node.values():
            found = find(value, key)
            if found is not None: return found
    if isinstance(node, list):
        for value in node:
            found = find(value, key)
            if found is not None: return found
report = json.load(open('slow.json'))
memory = find(report, 'memory')
peak, budget = memory['peak_bytes'], memory['budget_bytes']
print(f'columns took {peak >> 20} of {budget >> 20} MiB under a slow reader')
assert 0 < peak <= budget
PY

# ---- Ctrl-C
# The output is a pipe of which nobody reads more than a line before the interrupt, so that this comes in the middle.
mkfifo pipe
(
  exec 9<pipe
  read -r _ <&9
  touch begun
  until [ -s interrupt.txt ] || [ -e over ]; do sleep 0.02; done
  cat <&9 >/dev/null
) &
env --default-signal=INT "$sluice" run methylation "${inputs[@]}" --output pipe --frequency interrupted.tsv --batch-work 5000 --threads 1 --quiet 2>interrupt.txt &
pid=$!
for _ in {1..1000}; do
  [ -e begun ] && break
  sleep 0.02
done
kill -INT $pid 2>/dev/null
wait $pid
code=$?
touch over
[ $code = 130 ] || fail "an interrupt ends with exit code $code: $(cat interrupt.txt)"
[ ! -e interrupted.tsv ] || fail "an interrupted run left a file under its final name"
[ -s interrupted.tsv.partial ] || fail "an interrupted run did not keep what it had"
[ -s interrupt.txt ] || fail "an interrupted run says nothing"
wait
echo "an interrupt ends with exit code $code"

# ---- a full disk
mkdir small
if mount -t tmpfs -o size=64k tmpfs small 2>/dev/null; then
  call "${inputs[@]}" --output small/calls.tsv --quiet 2>full.txt
  code=$?
  [ $code = 4 ] || fail "a full disk ends with exit code $code"
  grep -q "No space left on device" full.txt || fail "a full disk is not named: $(cat full.txt)"
  [ ! -e small/calls.tsv ] || fail "a full disk left a file under its final name"
  call "${inputs[@]}" --output full.tsv --modbam small/reads.bam --quiet 2>full.txt
  [ $? = 4 ] || fail "a full disk for modBAM: $(cat full.txt)"
  [ ! -e full.tsv ] || fail "a failed run left its other output"
  umount small
  echo "a full disk ends with exit code 4"
else
  echo "SKIPPED: a full disk (no right to mount a tmpfs here)"
fi

# ---- bad input: exit 2 or 4 with a line that names the file, or 0 or 3 with the reads counted; never a signal
expect() { # DESCRIPTION PATTERN arguments...
  local what=$1 pattern=$2
  shift 2
  timeout 60 "$sluice" run methylation "$@" --output bad.tsv >bad.txt 2>&1
  local code=$?
  if [ $code -ge 124 ]; then fail "$what: exit code $code: $(tail -3 bad.txt)"
  elif ! grep -qiE -e "$pattern" bad.txt; then fail "$what: no line matches '$pattern': $(cat bad.txt)"
  else echo "$what: exit code $code: $(grep -iE -e "$pattern" -m1 bad.txt | cut -c1-160)"
  fi
  rm -f bad.tsv
}
cut_to() { head -c "$2" "$1" >"$3"; }
size() { stat -c %s "$1"; }
cut_to r.blow5 $(($(size r.blow5) / 2)) cut.blow5
cut_to r.bam $(($(size r.bam) / 2)) cut.bam
cut_to r.fastq.gz $(($(size r.fastq.gz) / 2)) cut.fastq.gz
gzip -dc r.fastq.gz >r.fastq
cut_to r.fastq $(($(size r.fastq) / 2)) cut.fastq
: >empty
"$make_test_input" noise 5 100000 >noise
expect "signal cut off" "cut.blow5" --signal cut.blow5 --reads r.fastq.gz --alignments r.bam --reference ref.fa
expect "alignments cut off" "cut.bam" --signal r.blow5 --reads r.fastq.gz --alignments cut.bam --reference ref.fa
expect "compressed reads cut off" "cut.fastq.gz" --signal r.blow5 --reads cut.fastq.gz --alignments r.bam --reference ref.fa
expect "reads cut off" "cut.fastq|not_in_file" --signal r.blow5 --reads cut.fastq --alignments r.bam --reference ref.fa
expect "alignments to another reference" "synthetic_1" --signal r.blow5 --reads r.fastq.gz --alignments r.bam --reference other.fa
"$sluice" run synthetic_reference --length 40000 --seed 7 --output namesake.fa --quiet
expect "another reference of the same name and length" "% of the aligned bases" --signal r.blow5 --reads r.fastq.gz --alignments r.bam --reference namesake.fa
for option in signal reads alignments reference; do
  for bad in empty noise missing.file .; do
    arguments=()
    for name in signal:r.blow5 reads:r.fastq.gz alignments:r.bam reference:ref.fa; do
      if [ "${name%%:*}" = $option ]; then arguments+=("--$option" "$bad"); else arguments+=("--${name%%:*}" "${name##*:}"); fi
    done
    expect "$option is $bad" "$bad" "${arguments[@]}"
  done
done
expect "a model that is no model" "noise" "${inputs[@]}" --model noise
expect "an output folder that does not exist" "no/such" "${inputs[@]}" --frequency no/such/folder/f.tsv
expect "an unknown option" "did you mean" "${inputs[@]}" --refrence x
"$sluice" run simulate --reference ref.fa --reads 20 --seed 9 --mean-length 800 --output-prefix few --quiet
expect "reads without signal" "no_signal" --signal few.blow5 --reads r.fastq.gz --alignments r.bam --reference ref.fa
rm -f r.blow5.idx r.fastq.gz.fai r.fastq.gz.gzi
expect "indexes that are missing are made" "made the index" "${inputs[@]}"
"$sluice" run methylation "${inputs[@]}" --output again.tsv --quiet && cmp calls.tsv again.tsv || fail "the bytes after indexes were made"
"$sluice" run methylation --signal r.blow5 --alignments r.bam --reference ref.fa --output again.tsv --quiet && cmp calls.tsv again.tsv || fail "the bases of the BAM instead of FASTQ"
"$sluice" run methylation "${inputs[@]}" --pore r10 --output wrong.tsv >wrong.txt 2>&1
grep -qi "pore" wrong.txt || fail "the wrong chemistry is not named: $(cat wrong.txt)"
echo "$failures failures"
[ $failures = 0 ]
