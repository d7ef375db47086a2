#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# A flow cell with Read Until: in virtual time the decisions are those of classify_signal and the bytes the same at any number of threads; and no
# signal, load or interrupt makes it hang, grow or lose a read.
#   read_until.sh SLUICE MAKE_TEST_INPUT
set -uo pipefail
sluice=$1 make_test_input=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
# counter REPORT NAME: a counter of the flow cell, 0 if it has none
counter() { python3 -c 'import json, sys
stages = {s["name"]: s for s in json.load(open(sys.argv[1]))["stages"]}
print(stages["cells"]["counters"].get(sys.argv[2], 0))' "$1" "$2"; }
is_true() { python3 -c "import sys; sys.exit(not ($1))"; }

# ---- reads of two genomes, one of which is the target
"$sluice" run synthetic_reference --length 40000 --seed 5 --output target.fa --quiet
"$sluice" run synthetic_reference --length 60000 --seed 6 --output other.fa --quiet
sed 's/^>/>other_/' other.fa | cat target.fa - >both.fa
"$sluice" run simulate --reference both.fa --reads 240 --seed 5 --mean-length 6000 --output-prefix r --quiet
target=$(sed -n '1s/^>\([^ ]*\).*/\1/p' target.fa)
inputs=(--signal r.blow5 --target target.fa)
"$sluice" run classify_signal "${inputs[@]}" --output calls.tsv --quiet || fail "classify_signal"
grep -c accept calls.tsv >/dev/null || fail "no read is accepted"
awk -F '\t' '$2 == "accept"' calls.tsv >labels.tsv

live() { "$sluice" run read_until "${inputs[@]}" --speed 0 --channels 16 "$@"; }

# ---- the decisions of classify_signal; the same bytes at any number of threads
live --output live.tsv --labels labels.tsv --target-bases 40000 --report live.json --quiet || fail "the run in virtual time"
cmp <(cut -f 1-9 calls.tsv | sort) <(cut -f 1-9 live.tsv | sort) || fail "decisions differ from classify_signal's"
for threads in 1 2 7; do
  live --output again.tsv --report again.json --labels labels.tsv --threads "$threads" --quiet || fail "$threads threads"
  cmp live.tsv again.tsv || fail "other decisions with $threads threads"
  for name in reads accepted rejected sequenced_bases target_bases enrichment flow_cell_seconds; do
    [ "$(counter live.json $name)" = "$(counter again.json $name)" ] || fail "$name with $threads threads: $(counter again.json $name)"
  done
done
is_true "$(counter live.json reads) == 240" || fail "$(counter live.json reads) of 240 reads were played"
is_true "$(counter live.json accepted) + $(counter live.json rejected) + $(counter live.json ended_undecided) == 240" || fail "the reads do not add up"
is_true "$(counter live.json enrichment) > 1.1" || fail "enrichment $(counter live.json enrichment)"
is_true "$(counter live.json model_enrichment) > 1.1" || fail "enrichment by the model $(counter live.json model_enrichment)"
is_true "$(counter live.json late_decisions) == 0" || fail "late decisions in virtual time"

# ---- by seeds: chunk by chunk what classify_signal finds in whole prefixes
"$sluice" run classify_signal "${inputs[@]}" --search seeds --output seeds.tsv --quiet || fail "classify_signal by seeds"
for threads in 1 3; do
  live --search seeds --output live_seeds.tsv --threads "$threads" --quiet || fail "by seeds with $threads threads"
  cmp <(cut -f 1-9 seeds.tsv | sort) <(cut -f 1-9 live_seeds.tsv | sort) || fail "by seeds decisions differ from classify_signal's with $threads threads"
done
[ "$(cut -f2 seeds.tsv | grep -c accept)" -ge $(($(wc -l <labels.tsv) * 9 / 10)) ] || fail "by seeds $(cut -f2 seeds.tsv | grep -c accept) of $(wc -l <labels.tsv) reads are accepted"

# ---- flat, saturated, tiny and short reads
"$make_test_input" odd_signal 3 >odd.slow5
"$sluice" run read_until --signal odd.slow5 --target target.fa --speed 0 --channels 8 --output odd.tsv --report odd.json --quiet || fail "odd reads end with $?"
is_true "$(counter odd.json reads) == 60" || fail "$(counter odd.json reads) of 60 odd reads were played"
is_true "$(counter odd.json accepted) == 0" || fail "$(counter odd.json accepted) odd reads were accepted"

# ---- in three hours of the flow cell memory does not grow. Compared are the second and the last quarter of the run: its peak says nothing of growth, as the
# end of a run moves it by megabytes. Seen are 0.4 to 0.8 MiB; 400 bytes lost with each batch of decisions make 2.3.
# AddressSanitizer keeps freed memory unless told otherwise.
ASAN_OPTIONS=quarantine_size_mb=0:thread_local_quarantine_size_kb=0 "$sluice" run read_until "${inputs[@]}" --speed 0 --channels 4 --chunk-samples 1000 --play-again \
  --duration 10800 --output hours.tsv --report hours.json --quiet || fail "three hours"
is_true "$(counter hours.json flow_cell_seconds) > 10790" || fail "the hours took $(counter hours.json flow_cell_seconds) s"
python3 - <<'PY' || fail "memory grows with time"
import json, statistics
resident = json.load(open("hours.json"))['history']['resident_bytes']
quarter = len(resident) // 4
assert quarter >= 4, f'{len(resident)} samples are too few'
grown = statistics.median(resident[-quarter:]) - statistics.median(resident[quarter:2 * quarter])
print(f'half of them took {grown / 1024:+.0f} KiB')
assert grown < 2 << 20
PY

# ---- a pipeline that can't keep up: time goes on, decisions are late or reads are given up, and nothing waits
"$sluice" run read_until "${inputs[@]}" --speed 400 --channels 64 --play-again --duration 1200 --threads 1 --output fast.tsv --report fast.json --quiet ||
  fail "a pipeline that is too slow ends with $?"
is_true "$(counter fast.json late_decisions) + $(counter fast.json given_up) + $(counter fast.json rounds_behind) > 0" || fail "nothing was late at 400 times the speed"
is_true "$(counter fast.json flow_cell_seconds) > 1000" || fail "time stood still: $(counter fast.json flow_cell_seconds) s"

# ---- Ctrl-C
env --default-signal=INT "$sluice" run read_until "${inputs[@]}" --speed 1 --channels 16 --play-again --duration 600 --output stopped.tsv --report stopped.json --quiet &
pid=$!
until compgen -G '.stopped.tsv.*' >/dev/null || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
kill -INT $pid
wait $pid
code=$?
[ $code = 130 ] || fail "Ctrl-C ends with $code"
is_true "$(counter stopped.json flow_cell_seconds) < 590" || fail "Ctrl-C ended nothing: the flow cell ran for $(counter stopped.json flow_cell_seconds) s"
[ -e stopped.tsv.partial ] || fail "Ctrl-C left no partial output"
[ -e stopped.tsv ] && fail "Ctrl-C left a whole output"

[ $failures = 0 ] && echo "read_until: all as it should be"
exit $((failures > 0))
