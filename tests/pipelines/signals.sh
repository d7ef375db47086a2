#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Ctrl-C that is acknowledged is obeyed, whenever it comes: exit code 130, nothing that looks complete and is not, and no further sample. A stage sends
# the signal, so that moments are counted in batches and calls, not in time: while it is made, at any batch, and when all batches are done.
#   signals.sh SLUICE TEST_PLUGIN_DIR [SIGNALS]     SIGNALS: of each kind of run, 25 unless given
set -uo pipefail
sluice=$1 plugins=$2 signals=${3:-25}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export XDG_CONFIG_HOME=$work/nothing XDG_DATA_HOME=$work/nothing XDG_CACHE_HOME=$work/nothing
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

batches=120
cat >counted.toml <<TOML
[pipeline]
name = "counted"
[parameters.output]
type = "path"
required = true
[parameters.second]
type = "path"
required = true
[parameters.when]
type = "string"
default = "process"
[parameters.what]
type = "string"
default = "nothing"
[parameters.at]
type = "int"
default = 0
[stages.source]
use = "toy_positions"
params = { rows = $((batches * 7)) }
[stages.work]
use = "misbehaving_map"
params = { what = "\${what}", when = "\${when}", at_batch = "\${at}" }
[stages.one]
use = "toy_sink"
inputs = ["work"]
params.output = "\${output}"
[stages.two]
use = "toy_sink"
inputs = ["work"]
params.output = "\${second}"
TOML
# A number below 2^31 for two counters: splitmix64.
random() {
  local z=$((($1 * 1000003 + $2 + 1) * 0x9E3779B97F4A7C15))
  z=$(((z ^ ((z >> 30) & 0x3FFFFFFFF)) * 0xBF58476D1CE4E5B9))
  z=$(((z ^ ((z >> 27) & 0x1FFFFFFFFF)) * 0x94D049BB133111EB))
  echo $(((z >> 33) & 0x7FFFFFFF))
}
# The moment of signal I of a kind of run: WHEN and BATCH.
moment() { # KIND I
  at=0
  case $(($2 % 8)) in
    0) when=create ;;
    1) when=destroy ;;
    *) when=process at=$(($(random "$1" "$2") % batches)) ;;
  esac
}
run() { timeout -s KILL 60 env --default-signal=INT "$sluice" run counted.toml --plugin-dir "$plugins" "$@" --quiet >out.txt 2>err.txt; }
interrupted() { # CODE DESCRIPTION
  [ "$1" = 130 ] || fail "$2: exit code $1: $(cat err.txt)"
  grep -q "^sluice: interrupted" err.txt || fail "$2: it says nothing: $(cat err.txt)"
  [ -z "$(find . -name '.*.partial')" ] || fail "$2: it left $(find . -name '.*.partial')"
}
# FILE is whole, or its beginning is in FILE.partial, or there is nothing of it.
is_left_rightly() { # FILE WHOLE DESCRIPTION
  [ ! -e "$1" ] || cmp -s "$1" "$2" || fail "$3: $1 is not whole"
  [ ! -e "$1.partial" ] || head -c "$(stat -c %s "$1.partial")" "$2" | cmp -s - "$1.partial" || fail "$3: $1.partial is no beginning"
  [ ! -e "$1" ] || [ ! -e "$1.partial" ] || fail "$3: $1 is whole and cut"
}
are_alike() { # DESCRIPTION: both outputs are whole, or neither is
  [ "$(compgen -G 'out.[12].tsv' | wc -l)" != 1 ] || fail "$1: one of two outputs appeared"
}

run --output whole.tsv --second also.tsv || fail "the plain run: $(cat err.txt)"
seq 0 $((batches * 7 - 1)) | cmp - whole.tsv || fail "what the plain run writes"

for ((i = 0; i < signals; ++i)); do
  moment 1 "$i"
  rm -f out.*
  run --output out.1.tsv --second out.2.tsv --what interrupt --when $when --at $at
  code=$?
  name="a run, $when $at"
  interrupted $code "$name"
  for file in out.1.tsv out.2.tsv; do is_left_rightly $file whole.tsv "$name"; done
  are_alike "$name"
done

for ((i = 0; i < signals; ++i)); do
  moment 2 "$i"
  which=$(($(random 3 "$i") % 3))
  rm -f out.*
  {
    printf 'sample\twhat\twhen\tat\n'
    for ((s = 0; s < 3; ++s)); do
      if [ $s = $which ]; then printf '%d\tinterrupt\t%s\t%d\n' $s $when $at; else printf '%d\tnothing\tprocess\t0\n' $s; fi
    done
  } >table.tsv
  run --samples table.tsv --output 'out.{sample}.tsv' --second 'out.{sample}.2'
  code=$?
  name="sample $which of three, $when $at"
  interrupted $code "$name"
  for ((s = 0; s < 3; ++s)); do
    if [ $s -lt $which ]; then cmp -s out.$s.tsv whole.tsv || fail "$name: sample $s is not whole"; fi
    if [ $s -gt $which ] && [ -n "$(compgen -G "out.$s.*")" ]; then fail "$name: sample $s was run"; fi
    is_left_rightly out.$s.tsv whole.tsv "$name"
  done
done

# The same run goes on to its end. It may begin before the batch that sent the signal, if the source had ended by then: so that one sends none now.
for ((i = 0; i < signals; ++i)); do
  moment 4 "$i"
  [ $when = process ] || continue
  rm -f out.* .out.*
  name="--resume, $when $at"
  again=(--output out.1.tsv --second out.2.tsv --what interrupt --when $when --at $at --resume --checkpoint 0.001)
  run "${again[@]}"
  interrupted $? "$name"
  for file in out.1.tsv out.2.tsv; do is_left_rightly $file whole.tsv "$name"; done
  if [ ! -e out.1.tsv ]; then SLUICE_TEST_GOES_ON=1 run "${again[@]}" || fail "$name: it does not go on: $(cat err.txt)"; fi
  for file in out.1.tsv out.2.tsv; do cmp $file whole.tsv || fail "$name: other bytes"; done
done

for ((i = 0; i < signals; ++i)); do
  moment 5 "$i"
  part=$((i % 3 + 1))
  rm -f out.*
  run --output out.1.tsv --second out.2.tsv --what interrupt --when $when --at $((at / 3)) --shard $part/3
  code=$?
  name="shard $part of three, $when $((at / 3))"
  interrupted $code "$name"
  are_alike "$name"
  if [ -e out.1.tsv ]; then [ -n "$(compgen -G 'out.1.tsv.*')" ] || fail "$name: the whole output of a shard has no manifest"; fi
done

# A process that has to end while it writes a report that nobody reads: what it says of the outputs is so.
mkfifo report.json
for what in nothing interrupt; do
  rm -f out.*
  : >err.txt
  env --default-signal=INT "$sluice" run counted.toml --plugin-dir "$plugins" --output out.1.tsv --second out.2.tsv --what $what --when create --report report.json --quiet >out.txt 2>err.txt &
  pid=$!
  until [ -e out.2.tsv ] || grep -q "^sluice: interrupted" err.txt || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
  kill -TERM $pid
  wait $pid
  [ $what = nothing ] && said="stopped: the outputs are there" || said="stopped: the run had ended without whole outputs"
  grep -q "^sluice: $said" err.txt || fail "$what, and a report that nobody reads: $(cat err.txt)"
done

echo "$failures failures"
[ $failures = 0 ]
