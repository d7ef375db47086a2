#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# A run ends, whatever happens and whatever a plugin does: interrupts while a stage waits or hangs, plugins that crash or leave the process, a full
# disk, a closed pipe, too little memory. Nothing that looks complete is left, and what a crash leaves the next run removes.
#   endings.sh SLUICE TEST_PLUGIN_DIR [SANITIZERS]
set -uo pipefail
sluice=$1 plugins=$2 sanitizers=${3:-}
work=$(mktemp -d)
trap 'umount "$work/small" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
export XDG_CONFIG_HOME=$work/nothing XDG_DATA_HOME=$work/nothing XDG_CACHE_HOME=$work/nothing
ulimit -c 0
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
slower=1 # sanitizers take their time
[ -z "$sanitizers" ] || slower=5

cat >misbehaving.toml <<'TOML'
[pipeline]
name = "misbehaving"
[parameters.output]
type = "path"
required = true
[parameters.batches]
type = "int"
default = 10
[parameters.milliseconds]
type = "float"
default = 0
[resources.constant]
use = "misbehaving_resource"
[stages.source]
use = "misbehaving_source"
params = { batches = "${batches}", milliseconds = "${milliseconds}" }
[stages.work]
use = "misbehaving_map"
resources = { constant = "constant" }
[stages.write]
use = "misbehaving_sink"
params.output = "${output}"
TOML
mkdir out

microseconds() { echo "${EPOCHREALTIME/[.,]/}"; }
# A shell has SIGINT ignored in what runs in its background, and a run leaves it so.
heeding=(env --default-signal=INT)
run=("${heeding[@]}" "$sluice" run misbehaving.toml --plugin-dir "$plugins" --output out/numbers.txt)
# A run that misbehaves so: STAGE WHAT WHEN [ARGUMENTS...]; exit code in $code, what it said in err.txt.
misbehave() {
  local entry=$1.params what=$2 when=$3
  shift 3
  # The braces: the shell has something to say about a crash, too.
  { timeout -s KILL 60 "${run[@]}" --set "$entry.what=$what" --set "$entry.when=$when" "$@" >out.txt 2>err.txt; } 2>/dev/null
  code=$?
}
# The same in the background ($pid), when it is where it misbehaves.
begin() {
  local entry=$1.params what=$2 when=$3
  shift 3
  : >err.txt
  "${run[@]}" --set "$entry.what=$what" --set "$entry.when=$when" "$@" >out.txt 2>err.txt &
  pid=$!
  until_true "grep -q 'about to $what' err.txt"
  grep -q "about to $what" err.txt || fail "the run did not come to '$what' in $entry: $(cat err.txt)"
}
# Waits for $pid, a minute at most: exit code in $code, milliseconds since the last signal in $took.
end() {
  timeout 60 tail --pid=$pid -s 0.02 -f /dev/null || { kill -9 $pid; fail "it does not end"; }
  took=$((($(microseconds) - told) / 1000))
  wait $pid 2>/dev/null
  code=$?
}
# Signals to $pid, each when the one before has been heard.
tell() { # SIGNAL...
  kill -"$1" $pid
  for signal in "${@:2}"; do
    until_true 'grep -q "once more to stop at once" err.txt'
    kill -"$signal" $pid 2>/dev/null
  done
  told=$(microseconds)
}
# Waits until COMMAND succeeds, or $pid has ended, or 20 s.
until_true() { # COMMAND
  for _ in {1..1000}; do
    eval "$1" && return
    kill -0 $pid 2>/dev/null || return
    sleep 0.02
  done
}
left() { ls -A out | tr '\n' ' '; }
ends() { # DESCRIPTION: with exit code 130, in five seconds, without a file
  [ $code = 130 ] || fail "$1: exit code $code: $(cat err.txt)"
  [ $took -le $((5000 * slower)) ] || fail "$1: it took $took ms"
  [ -z "$(left)" ] || fail "$1: it left $(left)"
  grep -q "interrupted\|terminated" err.txt || fail "$1: it says nothing: $(cat err.txt)"
  echo "$1: exit code $code after $took ms"
  rm -rf out && mkdir out
}
# The next run that writes the name removes what a crash left.
next_run_cleans() { # DESCRIPTION
  "${run[@]}" --quiet || fail "$1: the next run"
  [ "$(left)" = "numbers.txt " ] || fail "$1: after the next run there is $(left)"
  rm -rf out && mkdir out
}

"${run[@]}" --quiet || fail "the plain run"
[ "$(tail -1 out/numbers.txt)" = 999 ] || fail "the plain run's numbers"
rm out/numbers.txt

# ---- interrupts
begin resources.constant wait process
tell INT
end
ends "SIGINT while a resource waits"
begin stages.source wait process
tell INT
end
[ "$(left)" = "numbers.txt.partial " ] || fail "SIGINT while the source waits: it left $(left)"
rm -f out/numbers.txt.partial
ends "SIGINT while the source waits"
begin stages.work wait process
tell INT INT
end
ends "SIGINT twice while stages.work waits"
begin resources.constant be_slow process
tell INT INT
end
ends "SIGINT twice while a resource is made"
for stage in resources.constant stages.source stages.work stages.write; do
  for when in create process finish; do
    case $stage,$when in *constant,finish | *source,finish | *work,finish) continue ;; esac
    begin $stage hang $when
    tell INT INT
    end
    ends "SIGINT twice while $stage hangs in its $when"
    begin $stage hang $when
    tell TERM
    end
    ends "SIGTERM while $stage hangs in its $when"
  done
done
begin stages.work wait process
tell TERM
end
ends "SIGTERM while stages.work waits"

for signal in TERM INT; do
  name="SIG$signal in a long run"
  rm -rf out && mkdir out
  begin stages.work go_on process --batches 100000 --milliseconds 5
  tell $signal
  end
  [ $code = 130 ] || fail "$name: exit code $code: $(cat err.txt)"
  [ $took -le $((5000 * slower)) ] || fail "$name: it took $took ms"
  [ ! -e out/numbers.txt ] || fail "$name left a file under its final name"
  [ -z "$(find out -name '.*' -type f)" ] || fail "$name left $(left)"
  echo "$name: exit code $code after $took ms"
done
[ "$(left)" = "numbers.txt.partial " ] || fail "$name left $(left)"
seq 0 $(($(wc -l <out/numbers.txt.partial) - 1)) | cmp - out/numbers.txt.partial || fail "what an interrupted run keeps is not whole"
grep -q "numbers.txt.partial" err.txt || fail "$name: it does not say what it kept: $(cat err.txt)"
echo "$(wc -l <out/numbers.txt.partial) lines kept"
next_run=$("${run[@]}" --quiet 2>&1) || fail "the run after an interrupted one: $next_run"
rm -rf out && mkdir out

# ---- what a run's parent has ignored (nohup, a shell's background) stays ignored
: >err.txt
(trap '' INT && exec "$sluice" run misbehaving.toml --plugin-dir "$plugins" --output out/numbers.txt --set stages.work.params.what=wait >out.txt 2>err.txt) &
pid=$!
until_true "grep -q 'about to wait' err.txt"
kill -INT $pid
kill -INT $pid
kill -TERM $pid
told=$(microseconds)
end
grep -q "interrupted" err.txt && fail "SIGINT was ignored, and is heeded: $(cat err.txt)"
ends "SIGTERM where SIGINT is ignored"

# ---- plugins that leave the process
for stage in resources.constant stages.source stages.work stages.write; do
  for what in exit quick_exit; do
    for when in create process; do
      misbehave $stage $what $when --quiet
      name="$what in the $when of $stage"
      [ $code = 4 ] || fail "$name: exit code $code: $(cat err.txt)"
      [ "$(grep -c "${stage#*.}.*misbehaving_stages" err.txt)" = 1 ] || fail "$name: not one line that names stage and plugin: $(cat err.txt)"
      [ -z "$(left)" ] || fail "$name: it left $(left)"
      rm -rf out && mkdir out
    done
  done
  misbehave $stage throw process --quiet
  [ $code = 4 ] || fail "an exception in $stage: exit code $code: $(cat err.txt)"
  [ -z "$(left)" ] || fail "an exception in $stage: it left $(left)"
done
echo "plugins that leave the process end the run with exit code 4"

# ---- plugins that crash
if [ -n "$sanitizers" ]; then
  echo "SKIPPED: crashes and little memory (sanitizers have handlers and an address space of their own)"
else
  crash() { # STAGE WHAT SIGNAL NUMBER
    misbehave "$1" "$2" process --quiet
    [ $code = $((128 + $4)) ] || fail "$2 in $1: exit code $code: $(cat err.txt)"
    local line="^sluice: crashed \\($3[^)]*\\) in .*'${1#*.}' of plugin 'misbehaving_stages'"
    [ "$(grep -c -E "$line" err.txt)" = 1 ] || fail "$2 in $1: there is no line '$line': $(cat err.txt)"
    case $1 in stages.*) grep -E "$line.*batch [0-9]+" err.txt >/dev/null || fail "$2 in $1: the batch is not named: $(cat err.txt)" ;; esac
    [ ! -e out/numbers.txt ] || fail "$2 in $1: it left a file under its final name"
    next_run_cleans "$2 in $1"
  }
  for stage in resources.constant stages.source stages.work stages.write; do
    crash $stage segfault SIGSEGV 11
    crash $stage segfault_in_parallel_for SIGSEGV 11
    crash $stage stack_overflow SIGSEGV 11
    crash $stage abort SIGABRT 6
  done
  misbehave stages.work segfault create --quiet
  [ $code = 139 ] || fail "a crash while a stage is made: exit code $code"
  grep -q -E "crashed \(SIGSEGV[^)]*\) in .*'work' of plugin 'misbehaving_stages'" err.txt || fail "a crash while a stage is made: $(cat err.txt)"
  next_run_cleans "a crash while a stage is made"
  { MISBEHAVE_WHEN_LOADED=1 "${run[@]}" --quiet 2>err.txt; } 2>/dev/null
  code=$?
  [ $code = 139 ] || fail "a crash while a plugin is loaded: exit code $code"
  grep -q -E "crashed \(SIGSEGV[^)]*\) in the plugin .*/misbehaving_stages.so, which was being loaded" err.txt || fail "a crash while a plugin is loaded: $(cat err.txt)"
  echo "crashes name stage and plugin, and leave nothing for long"
fi

# ---- the watchdog
begin stages.work hang process --watchdog 1
until_true 'grep -q "no stage has finished a call" err.txt'
grep -q "no stage has finished a call for 1 s" err.txt || fail "the watchdog says nothing: $(cat err.txt)"
grep "no stage has finished a call" err.txt | grep -q "work" || fail "the watchdog does not name the stage: $(cat err.txt)"
tell INT INT
end
ends "SIGINT twice while the watchdog speaks"

# ---- a full disk
mkdir small
if mount -t tmpfs -o size=64k tmpfs small 2>/dev/null; then
  timeout 60 "$sluice" run misbehaving.toml --plugin-dir "$plugins" --output small/numbers.txt --batches 1000 --quiet 2>err.txt
  code=$?
  [ $code = 4 ] || fail "a full disk: exit code $code"
  grep "small/numbers.txt" err.txt | grep -q "No space left on device" || fail "a full disk is not named: $(cat err.txt)"
  [ -z "$(ls -A small)" ] || fail "a full disk: it left $(ls -A small)"
  head -c 65536 /dev/zero >small/filling
  for option in report account trace; do
    "${run[@]}" --$option small/$option.txt --quiet 2>err.txt
    code=$?
    [ $code = 4 ] || fail "--$option on a full disk: exit code $code"
    grep "small/$option.txt" err.txt | grep -q "No space left on device" || fail "--$option on a full disk is not named: $(cat err.txt)"
    [ "$(ls -A small)" = filling ] || fail "--$option on a full disk: it left $(ls -A small)"
    [ "$(left)" = "numbers.txt " ] || fail "--$option on a full disk: the output is gone, there is $(left)"
    rm out/numbers.txt
  done
  umount small
  echo "a full disk ends with exit code 4"
else
  echo "SKIPPED: a full disk (no right to mount a tmpfs here)"
fi

# ---- a reader that goes away: the run ends as other filters do, by SIGPIPE for the shell, and without a word
for quiet in "" --quiet; do
  # shellcheck disable=SC2086
  "$sluice" run misbehaving.toml --plugin-dir "$plugins" --output - --batches 20000 $quiet 2>err.txt | head -1 >first.txt
  codes=("${PIPESTATUS[@]}")
  [ "${codes[0]}" = 141 ] || fail "a closed pipe $quiet: exit code ${codes[0]}: $(cat err.txt)"
  [ "$(cat first.txt)" = 0 ] || fail "a closed pipe $quiet: the first line is $(cat first.txt)"
  [ ! -s err.txt ] || fail "a closed pipe $quiet: it says $(cat err.txt)"
done
for command in plugins "plan methylation" "run map --help" schema; do
  # shellcheck disable=SC2086
  "$sluice" $command 2>err.txt | head -1 >/dev/null
  case ${PIPESTATUS[0]} in 0 | 141) ;; *) fail "sluice $command | head -1: it says $(cat err.txt)" ;; esac
  [ ! -s err.txt ] || fail "sluice $command | head -1: it says $(cat err.txt)"
done
echo "a reader that goes away ends a run quietly"

"$sluice" run synthetic_reference --length 40000 --seed 5 --output ref.fa --quiet
"$sluice" run simulate --reference ref.fa --reads 200 --seed 5 --mean-length 2000 --output-prefix r --quiet
inputs=(--signal r.blow5 --reads r.fastq.gz --alignments r.bam --reference ref.fa)
"$sluice" run methylation "${inputs[@]}" --output calls.tsv --frequency frequency.tsv --quiet || fail "the plain calls"
timeout 60 "$sluice" run methylation "${inputs[@]}" --output - --frequency out/frequency.tsv --batch-work 5000 --quiet 2>err.txt | head -1 >/dev/null
if [ -e out/frequency.tsv ]; then
  cmp frequency.tsv out/frequency.tsv || fail "a closed pipe left an incomplete second output under its final name"
else
  grep -q "out/frequency.tsv" err.txt || fail "a closed pipe: it does not say that the second output was not written: $(cat err.txt)"
fi
[ -z "$(find out -name '.*' -type f)" ] || fail "a closed pipe left $(left)"
rm -rf out && mkdir out

# ---- two interrupts while an index is made
"$sluice" run synthetic_reference --length 20000000 --seed 5 --output long.fa --quiet
"${heeding[@]}" "$sluice" run index --reference long.fa --output out/long.index --contigs out/contigs.tsv >out.txt 2>err.txt &
pid=$!
until_true "compgen -G 'out/.*.partial' >/dev/null"
tell INT INT
end
rm -f out/*.partial # what was finished when the first of them came is kept
if [ $code = 0 ]; then echo "SKIPPED: two interrupts while an index is made (it is made too fast)"; else ends "SIGINT twice while an index is made"; fi
rm -f long.fa

# ---- too little memory: a clear end, at any size
if [ -z "$sanitizers" ]; then
  for kilobytes in $(seq 36000 500 100000) $(seq 150000 50000 800000); do
    (
      ulimit -v $kilobytes
      exec timeout -s KILL 60 "$sluice" run methylation "${inputs[@]}" --output limited.tsv --quiet >out.txt 2>err.txt
    )
    code=$?
    case $code in
      0) cmp -s calls.tsv limited.tsv || fail "$kilobytes kB of address space: other bytes" ;;
      4) grep -qi "out of memory" err.txt || fail "$kilobytes kB of address space: exit code 4 without a reason: $(cat err.txt)" ;;
      # The program itself has no room: the dynamic loader says so.
      127) grep -q "cannot allocate memory\|failed to map segment\|Cannot allocate memory" err.txt || fail "$kilobytes kB of address space: $(cat err.txt)" ;;
      *) fail "$kilobytes kB of address space: exit code $code: $(tail -3 err.txt)" ;;
    esac
    [ $code = 0 ] || [ ! -e limited.tsv ] || fail "$kilobytes kB of address space: it left a file under its final name"
    rm -f limited.tsv
    ended="${ended:-} $kilobytes:$code"
  done
  echo "exit codes by kilobytes of address space:$ended"
fi

echo "$failures failures"
[ $failures = 0 ]
