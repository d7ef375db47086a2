#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# No memory from some moment on, near the end of a run: where its output is there already the message says that it is whole, and it is; else there is
# none, and the run fails with the reason.
#   late_memory.sh SLUICE LIBRARY      LIBRARY: libfailing_calls.so
. "$(dirname "$0")/../faults/counted_calls.sh"
fail() { echo "FAILED: $*"; exit 1; }

"$sluice" run synthetic_reference --length 20000 --seed 3 --output ref.fa --quiet || exit 1
"$sluice" run simulate --reference ref.fa --reads 40 --seed 3 --mean-length 1500 --output-prefix r --quiet || exit 1
map=("$sluice" run map --reference ref.fa --reads r.fastq.gz --threads 2 --quiet --output)
FAILING_CALL=place@999999 FAILING_CALL_COUNTS=$work/counts LD_PRELOAD=$library "${map[@]}" whole.paf || fail "the run itself"
places=$(tail -1 counts | tr -dc 0-9)
[ "$places" -gt 500 ] || fail "only $places places ask for memory"
whole=0 none=0
for ((from = places - 150; from <= places; from += 10)); do
  rm -f hits.paf
  FAILING_CALL=place@$from+ LD_PRELOAD=$library "${map[@]}" hits.paf 2>said.txt
  code=$?
  if [ ! -e hits.paf ]; then
    [ "$code" != 0 ] || fail "no output and exit code 0, from place $from on"
    grep -q "memory" said.txt || { cat said.txt; fail "the reason is not said, from place $from on"; }
    none=$((none + 1))
  else
    cmp -s hits.paf whole.paf || fail "another output, from place $from on"
    [ "$code" = 0 ] || grep -q "its outputs are whole" said.txt || { cat said.txt; fail "nothing says that the output is there, from place $from on"; }
    [ "$code" = 0 ] || whole=$((whole + 1))
  fi
done
echo "$whole runs failed behind their output, $none before it"
[ "$whole" -gt 0 ] || fail "no run failed behind its output: nothing was tested"
