#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# All GPU checks and timings in one call, on a machine with a GPU and nothing installed but bash, awk and cmp; prints one table in Markdown.
#   run.sh [options] RUNTIME DATA
# RUNTIME: bin/ (sluice, device_contract, make_test_input and the *_gpu_test programs), lib/ (plugins and shared libraries), pipelines/.
# DATA: one folder per set with reads.blow5, reads.bam and perhaps reads.fastq.gz; `options`, a line of further options of `sluice run methylation`
#   in which @ stands for DATA; expected.tsv, what --compat f5c has to give. A folder without reads.blow5 is no set;
#   one with reference.fa and reads.fq is a set for mapping. With minimap2 in RUNTIME/bin mapping is timed beside it.
#   One with signal.blow5 and target.fa is a set for Read Until, one with windows.txt (as sluice run consensus reads it) a set for consensus.
#   One with genome.fa and transcripts.fa is a set for mapping across introns (make_test_input spliced_genome and spliced_reads write such files).
#   --sections LIST   of: doctor kernels contract same faults timing scheduler property leak devices mapping splice read_until consensus rna
#                     tags sanitizer (default: all, in this order), and long, counts, human and worst, only where they are named
#   --limit SECONDS   of each section (default 280)
#   --devices LIST    what runs are compared with --device cpu (default: cuda,auto)
#   --copies N        how often the timings repeat a set's reads (default 14: 40 Mbases of 2.9)
#   --rounds N        timings are medians of N interleaved runs (default 3)
#   --reads N         reads of the property test (default 10000)
#   --batches N       batches of the leak test (default 1000)
#   --long-reads N    simulated reads of 8 kb of section long (default 50000: 400 Mbases)
#   --long-threads L  numbers of threads of section long (default 4,8,16)
#   --count-runs L    what section counts runs on 1, 2, 4 ... GPUs (default methylation,eventalign,classify_signal,correct,polish,map_sam)
#   --count-copies N  how often its methylation and eventalign repeat the alignments (default 4)
#   --count-device D  cuda (default) or auto
#   --human-runs L    what section human runs (default map,map_sam,map_long,splice,methylation,eventalign,classify_signal); polish where it is named
#   --human-contigs N and --human-length BASES: its reference (default 31 contigs of 97 Mbases), --human-reads N: its reads (default 50000; 400 Mbases)
#   --human-memory M  the budget of its runs (default 24GiB)
#   --worst-cases L   cases of section worst (default *; tests/bench/worst.py --list)
#   --worst-threads N threads of section worst (default 16)
#   --long-runs L     what section long runs (default methylation,eventalign,map,map_sam,map_repeats50_8k,map_repeats50_long,overlap,seed,classify_signal,polish,correct,resquiggle)
set -uo pipefail

sections=doctor,kernels,contract,same,faults,timing,scheduler,property,leak,devices,mapping,splice,read_until,consensus,rna,tags,sanitizer limit=280 devices=cuda,auto copies=14 rounds=3 reads=10000 batches=1000
long_reads=50000 long_threads=4,8,16 long_runs=methylation,eventalign,map,map_sam,map_repeats50_8k,map_repeats50_long,overlap,seed,classify_signal,polish,correct,resquiggle
count_runs=methylation,eventalign,classify_signal,correct,polish,map_sam count_copies=4 count_device=cuda
human_runs=map,map_sam,map_long,splice,methylation,eventalign,classify_signal human_contigs=31 human_length=97000000 human_reads=50000 human_memory=24GiB
worst_cases='*' worst_threads=16
only='' work=''
script=$0 arguments=("$@")
while [ $# -gt 0 ]; do
  case $1 in
    --sections) sections=$2 ;;
    --limit) limit=$2 ;;
    --devices) devices=$2 ;;
    --copies) copies=$2 ;;
    --rounds) rounds=$2 ;;
    --reads) reads=$2 ;;
    --batches) batches=$2 ;;
    --long-reads) long_reads=$2 ;;
    --long-threads) long_threads=$2 ;;
    --long-runs) long_runs=$2 ;;
    --count-runs) count_runs=$2 ;;
    --count-copies) count_copies=$2 ;;
    --count-device) count_device=$2 ;;
    --human-runs) human_runs=$2 ;;
    --human-contigs) human_contigs=$2 ;;
    --human-length) human_length=$2 ;;
    --human-reads) human_reads=$2 ;;
    --human-memory) human_memory=$2 ;;
    --worst-cases) worst_cases=$2 ;;
    --worst-threads) worst_threads=$2 ;;
    --only) only=$2 ;; # internal: one section, in the folder WORK
    --work) work=$2 ;;
    --*) echo "run.sh: unknown option $1" >&2; exit 2 ;;
    *) break ;;
  esac
  shift 2
done
[ $# = 2 ] || { sed -n '4,27p' "$script" >&2; exit 2; }
runtime=$(realpath "$1") data=$(realpath "$2")
export LD_LIBRARY_PATH=$runtime/lib SLUICE_PIPELINE_PATH=$runtime/pipelines
sluice=$runtime/bin/sluice

# ---- the whole: every section in a process of its own, so that a limit stops it and nothing else
if [ -z "$only" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  : >"$work/table"
  for section in ${sections//,/ }; do
    echo "== $section"
    timeout --kill-after=10 "$limit" bash "$script" --only "$section" --work "$work" "${arguments[@]}"
    code=$?
    case $code in
      0) ;;
      124 | 137) echo "FAILED: $section took longer than $limit s"; echo "$section|limit|FAILED: longer than $limit s" >>"$work/table" ;;
      *) echo "$section|ended|FAILED: exit code $code" >>"$work/table" ;;
    esac
  done
  echo
  echo "| section | what | result |"
  echo "|---|---|---|"
  sed -e 's/|/ | /g' -e 's/^/| /' -e 's/$/ |/' "$work/table"
  ! grep -q FAILED "$work/table"
  exit
fi

row() { # WHAT RESULT
  echo "$1: $2"
  echo "$only|${1//|/ }|${2//|/ }" >>"$work/table"
}

# ---- runs
# The sets of DATA, by name.
sets() { for folder in "$data"/*/; do [ -e "$folder/reads.blow5" ] && basename "$folder"; done; }

# The command that calls methylation in a set; indexes are made beside copies, since DATA may be read-only.
call=()
use_set() { # NAME [BAM]
  local folder=$work/sets/$1
  if [ ! -d "$folder" ]; then
    mkdir -p "$folder"
    cp "$data/$1"/* "$folder/"
  fi
  call=("$sluice" run "$runtime/pipelines/methylation.toml" --plugin-dir "$runtime/lib" --signal "$folder/reads.blow5" --alignments "$folder/${2:-reads.bam}" --profile none)
  [ ! -e "$folder/reads.fastq.gz" ] || call+=(--reads "$folder/reads.fastq.gz")
  if [ -e "$folder/options" ]; then
    local words
    read -r -a words <"$folder/options"
    call+=("${words[@]//@/$data}")
  fi
}

# Simulated direct RNA in sets/NAME: reads.blow5, reads.fastq.gz, reads.bam.
make_rna() { # NAME PORE READS simulate-options...
  local folder=$work/sets/$1
  [ ! -d "$folder" ] || return 0
  mkdir -p "$folder"
  "$sluice" run "$runtime/pipelines/synthetic_reference.toml" --plugin-dir "$runtime/lib" --length 3000 --contigs 100 --seed 5 --output "$folder/reference.fa" --quiet
  "$sluice" run "$runtime/pipelines/simulate_rna.toml" --plugin-dir "$runtime/lib" --reference "$folder/reference.fa" --pore "$2" --reads "$3" --output-prefix "$folder/reads" --quiet "${@:4}"
}

# A set of N simulated reads, as use_set makes one.
use_simulated() { # NAME READS simulate-options...
  local name=$1 count=$2 folder=$work/sets/$1
  shift 2
  if [ ! -d "$folder" ]; then
    mkdir -p "$folder"
    "$sluice" run "$runtime/pipelines/synthetic_reference.toml" --plugin-dir "$runtime/lib" --length 2000000 --seed 3 --output "$folder/reference.fa" --quiet
    "$sluice" run "$runtime/pipelines/simulate.toml" --plugin-dir "$runtime/lib" --reference "$folder/reference.fa" --reads "$count" --output-prefix "$folder/reads" --quiet "$@"
  fi
  call=("$sluice" run "$runtime/pipelines/methylation.toml" --plugin-dir "$runtime/lib" --signal "$folder/reads.blow5" --alignments "$folder/reads.bam"
    --reads "$folder/reads.fastq.gz" --reference "$folder/reference.fa" --profile none)
}

# Runs `call` with more options and compares with $work/cpu_output.
extra='' fault_counts=''
compare() { # TITLE options...
  local title=$1
  shift
  rm -f "$work/device_output" "$work/report.json"
  if ! "${call[@]}" --output "$work/device_output" --report "$work/report.json" --quiet "$@" >"$work/log" 2>&1; then
    row "$title" "FAILED: $(tail -1 "$work/log")"
  elif cmp -s "$work/cpu_output" "$work/device_output"; then
    local counted='' share
    share=$(device_share)
    case " $* " in
      *" --device cpu "*) ;;
      *" --device auto "*) # a run that is over soon goes without a device: of a section's runs some must have had one
        echo "$share" >>"$work/auto_shares"
        counted="; the device's share $share %"
        ;;
      *)
        if [ "$share" = 0 ]; then
          row "$title" "FAILED: same bytes, but the device did nothing"
          return
        fi
        counted="; the device's share $share %"
        ;;
    esac
    [ -z "$fault_counts" ] || counted+="; counted: memory $(reported_sum memory), kernel $(reported_sum kernel), lost $(reported_sum lost)"
    row "$title" "same bytes${extra:+, $extra}$counted"
  else
    row "$title" "FAILED: other bytes ($(wc -l <"$work/device_output") lines instead of $(wc -l <"$work/cpu_output"))"
  fi
}

# The largest share of a stage's work that was done on a device, in whole per cent; what is more than nothing is at least 1.
device_share() {
  awk '/"devices": \[/ { exit } { gsub(/[",]/, "") } $1 == "device:" { device = $2 }
    $1 == "share_of_work:" && device != "cpu" && device != "writer" && $2 > most { most = $2 } END { printf "%d", (most > 0 && most < 0.01 ? 1 : most * 100) }' "$work/report.json"
}

on_cpu() { "${call[@]}" --output "$work/cpu_output" --device cpu --quiet "$@" 2>"$work/log" || row "the CPU run" "FAILED: $(tail -1 "$work/log")"; }

# A number of the report: the first value of the key, or 0.
reported() { awk -v key="\"$1\":" '$1 == key { gsub(/,/, "", $2); value = $2; exit } END { print value + 0 }' "$work/report.json"; }
# All numbers of a key, added.
reported_sum() { awk -v key="\"$1\":" '$1 == key { gsub(/,/, "", $2); sum += $2 } END { print sum + 0 }' "$work/report.json"; }
# What each device did, one line per stage that ran on one.
shares() {
  awk '/"devices": \[/ { exit } { gsub(/[",]/, "") } $1 == "name:" { name = $2 } $1 == "device:" { device = $2 } $1 == "share_of_work:" { share = $2 }
    $1 == "seconds:" { seconds = $2; if (device != "cpu" && device != "writer") printf "  %s: %s %.0f %% of the work in %.3f s\n", name, device, share * 100, seconds }' "$work/report.json"
}

median() { sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

# The records of a BAM file N times over, by its compressed blocks: the header ends with a block, and the last 28 bytes say that the file ends.
repeat_bam() { # SOURCE TARGET COPIES
  local header end at=0 size text
  header=$(gzip -dc "$1" 2>/dev/null | head -c 12 | od -An -tu4 | awk '{ print $2 + 12 }')
  # Behind the text come the contigs: a name's length, the name, the contig's length.
  local contigs=0
  gzip -dc "$1" 2>/dev/null | head -c 4000000 >"$2.head"
  contigs=$(od -An -tu4 -j $((header - 4)) -N 4 "$2.head" | tr -d ' ')
  while [ "$contigs" -gt 0 ]; do
    size=$(od -An -tu4 -j "$header" -N 4 "$2.head" | tr -d ' ')
    header=$((header + 8 + size)) contigs=$((contigs - 1))
  done
  rm -f "$2.head"
  text=0
  while [ "$text" -lt "$header" ]; do
    size=$(($(od -An -tu2 -j $((at + 16)) -N 2 "$1" | tr -d ' ') + 1))
    text=$((text + $(od -An -tu4 -j $((at + size - 4)) -N 4 "$1" | tr -d ' ')))
    at=$((at + size))
  done
  [ "$text" = "$header" ] || { echo "FAILED: $1: the header does not end with a block" >&2; return 1; }
  end=$(stat -c %s "$1")
  head -c "$at" "$1" >"$2"
  local copy
  for ((copy = 0; copy < $3; ++copy)); do tail -c +$((at + 1)) "$1" | head -c $((end - at - 28)) >>"$2"; done
  tail -c 28 "$1" >>"$2"
}

bases_of() { awk 'NR % 4 == 2 { n += length($0) } END { print n + 0 }' <(gzip -dc "$1"); }

# Medians of interleaved runs; sets medians[OPTIONS].
declare -A medians
time_runs() { # SET BASES options...
  local set=$1 bases=$2 round options start
  shift 2
  rm -f "$work"/seconds.*
  for ((round = 0; round < rounds; ++round)); do
    for options in "$@"; do
      start=$(date +%s.%N)
      # shellcheck disable=SC2086
      "${call[@]}" --output "$work/timed.tsv" --report "$work/report.json" --quiet $options >"$work/log" 2>&1 || row "$set $options" "FAILED: $(tail -1 "$work/log")"
      echo "$(date +%s.%N) $start" | awk '{ print $1 - $2 }' >>"$work/seconds.${options// /_}"
      [ $round -gt 0 ] || shares
    done
  done
  for options in "$@"; do
    medians[$options]=$(median <"$work/seconds.${options// /_}")
    row "$set $options" "$(awk -v t="${medians[$options]}" -v n="$bases" 'BEGIN { printf "%.2f s, %.1f Mbases/s", t, n / t / 1e6 }')"
  done
}

gpus() { (command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null) | grep -c '^GPU'; }

# ---- sections
section_doctor() {
  "$sluice" doctor --plugin-dir "$runtime/lib"
  row "machine" "$("$sluice" doctor --plugin-dir "$runtime/lib" | awk '$2 ~ /^cuda:|^processor$/ { $1 = ""; print }' | paste -sd ';')"
}

programs() { for program in "$runtime"/bin/*_gpu_test; do [ -x "$program" ] && echo "$program"; done; }

section_kernels() {
  local program name
  for program in $(programs); do
    name=$(basename "$program" _gpu_test)
    if "$program" check >"$work/log" 2>&1; then row "$name, every bit" "same"; else row "$name, every bit" "FAILED: $(grep -iE -m1 'different|differ|failed' "$work/log")"; fi
    "$program" bench >"$work/log" 2>&1 || row "$name, timings" "FAILED: $(tail -1 "$work/log")"
    cat "$work/log"
    while IFS= read -r line; do row "$name" "${line#TIME }"; done < <(grep -E '^ *TIME|[GM](cells|samples|bases|anchors)/s' "$work/log")
  done
}

# Small inputs under the four tools, and the whole program under memcheck.
section_sanitizer() {
  command -v compute-sanitizer >/dev/null || { row "compute-sanitizer" "SKIPPED: it is not on this machine"; return; }
  local program tool name
  for program in $(programs); do
    name=$(basename "$program" _gpu_test)
    for tool in memcheck racecheck initcheck synccheck; do
      timeout 120 compute-sanitizer --tool $tool --error-exitcode 9 "$program" small >"$work/log" 2>&1
      verdict "$name, $tool" $?
    done
  done
  use_simulated few 20 --mean-length 1500
  timeout 200 compute-sanitizer --tool memcheck --error-exitcode 9 --target-processes all "${call[@]}" --output "$work/few.tsv" --device cuda --quiet >"$work/log" 2>&1
  verdict "sluice run methylation, memcheck" $?
}
verdict() { # TITLE EXIT_CODE
  case $2 in
    0) row "$1" "$(grep -oE '(ERROR|RACECHECK) SUMMARY: .*' "$work/log" | tail -1)" ;;
    124) row "$1" "SKIPPED: took too long" ;;
    *) if grep -qi 'device not supported' "$work/log"; then row "$1" "SKIPPED: the tool does not work on this machine"; else row "$1" "FAILED: $(grep -E 'SUMMARY|FAILED|=====.*Invalid|Error' "$work/log" | tail -1)"; fi ;;
  esac
}

section_same() {
  local set device options
  for set in $(sets); do
    use_set "$set"
    on_cpu
    for device in ${devices//,/ }; do
      for options in "" "--batch-work 20000" "--batch-work 1e9" "--threads 3" "--threads 1" "--gpu-memory 1GiB" "--executor serial"; do
        # shellcheck disable=SC2086
        compare "$set --device $device $options" --device "$device" $options
      done
      shares
    done
    on_cpu --compat f5c
    if [ -e "$data/$set/expected.tsv" ] && ! cmp -s "$data/$set/expected.tsv" "$work/cpu_output"; then row "$set --device cpu --compat f5c" "FAILED: differs from expected.tsv"; fi
    [ ! -e "$data/$set/expected.tsv" ] || extra="equal to f5c's file"
    for device in ${devices//,/ }; do compare "$set --device $device --compat f5c" --device "$device" --compat f5c; done
    extra=''
  done
}

# memory: repeated, then in halves, on the device. kernel and lost: elsewhere, so that a run on the device alone ends, with a remedy.
section_faults() {
  local set device fault count
  set=$(sets | head -1)
  if [ -n "$set" ]; then use_set "$set"; else use_simulated faults 300 --mean-length 3000; fi
  on_cpu
  cp "$work/cpu_output" "$work/once.tsv"
  # With auto a device is opened only in a run that lasts: many copies of the reads, two threads.
  local once=("${call[@]}") folder=$work/sets/${set:-faults} long=()
  repeat_bam "$folder/reads.bam" "$folder/long.bam" $((2 * copies)) || return
  if [ -n "$set" ]; then use_set "$set" long.bam; else call=("${call[@]/reads.bam/long.bam}"); fi
  long=("${call[@]}")
  on_cpu
  cp "$work/cpu_output" "$work/long.tsv"
  call=("${once[@]}")
  cp "$work/once.tsv" "$work/cpu_output"
  for device in ${devices//,/ }; do
    for fault in memory@1 memory@3,every=5 kernel@1 kernel@2,every=3 lost@4 lost@9; do
      if [ "$device" != auto ] && [ "$device" != cpu ] && [ "${fault#memory}" = "$fault" ]; then
        rm -f "$work/device_output"
        if "${call[@]}" --output "$work/device_output" --device "$device" --batch-work 50000 --inject-device-fault "$fault" --quiet >"$work/log" 2>&1; then
          row "--device $device, $fault" "FAILED: the run went on without any device"
        elif [ -e "$work/device_output" ] && ! cmp -s "$work/cpu_output" "$work/device_output"; then
          row "--device $device, $fault" "FAILED: left an incomplete output"
        else
          row "--device $device, $fault" "$(grep -o 'allow the CPU: --device auto' "$work/log" || echo "FAILED: $(tail -1 "$work/log")")"
        fi
        continue
      fi
      fault_counts=yes
      if [ "$device" = auto ]; then
        call=("${long[@]}")
        cp "$work/long.tsv" "$work/cpu_output"
        compare "--device $device, $((2 * copies)) times, 2 threads, $fault" --device "$device" --threads 2 --inject-device-fault "$fault"
      else
        compare "--device $device, $fault" --device "$device" --batch-work 50000 --inject-device-fault "$fault"
      fi
      call=("${once[@]}")
      cp "$work/once.tsv" "$work/cpu_output"
      fault_counts=''
      count=$(($(reported_sum memory) + $(reported_sum kernel) + $(reported_sum lost)))
      if [ "$device" != auto ] && [ "$device" != cpu ] && [ $count = 0 ]; then row "--device $device, $fault" "FAILED: no fault was counted"; fi
    done
  done
}

timed=()
for device in ${devices//,/ }; do timed+=("--device $device"); done

section_timing() {
  local set bases folder
  for set in $(sets); do
    use_set "$set"
    folder=$work/sets/$set
    [ -e "$folder/reads.fastq.gz" ] || continue
    repeat_bam "$folder/reads.bam" "$folder/many.bam" "$copies" || continue
    bases=$(($(bases_of "$folder/reads.fastq.gz") * copies))
    use_set "$set" many.bam
    time_runs "$set $copies times" "$bases" "--device cpu" "${timed[@]}"
  done
}

# --device auto against the better of the others, on each set as it is.
section_scheduler() {
  local set bases
  for set in $(sets); do
    use_set "$set"
    [ -e "$work/sets/$set/reads.fastq.gz" ] || continue
    bases=$(bases_of "$work/sets/$set/reads.fastq.gz")
    time_runs "$set" "$bases" "--device cpu" "${timed[@]}"
    [ -n "${medians[--device cuda]:-}" ] && [ -n "${medians[--device auto]:-}" ] || continue
    row "$set: auto over the better one" "$(awk -v a="${medians[--device auto]}" -v b="${medians[--device cpu]}" -v c="${medians[--device cuda]}" 'BEGIN { printf "%.2f", a / (b < c ? b : c) }')"
  done
}

# Reads of random lengths, a few of them very long.
section_property() {
  local device
  use_simulated property "$reads" --mean-length 1200 --length-distribution lognormal --length-variation 1 --minimum-length 50 --seed 11
  on_cpu
  extra="$(wc -l <"$work/cpu_output") calls of $reads reads"
  for device in ${devices//,/ }; do
    # With two threads a run is long enough for `auto` to open a device.
    compare "--device $device, 2 threads" --device "$device" --threads 2
    compare "--device $device --batch-work 30000, 2 threads" --device "$device" --batch-work 30000 --threads 2
  done
  extra=''
}

# Ten times the batches must not take more memory.
section_leak() {
  local device folder few many work_of_batch bases
  use_simulated leak "$batches" --mean-length 1000 --length-distribution fixed --seed 13
  folder=$work/sets/leak
  bases=$(bases_of "$folder/reads.fastq.gz")
  work_of_batch=$((bases / batches > 0 ? bases / batches : 1))
  for device in ${devices//,/ }; do
    "${call[@]}" --output "$work/leak.tsv" --device "$device" --batch-work $((work_of_batch * 10)) --report "$work/report.json" --quiet 2>"$work/log" || row "--device $device" "FAILED: $(tail -1 "$work/log")"
    few="$(reported resident_peak_bytes) $(reported device_peak_bytes)"
    "${call[@]}" --output "$work/leak.tsv" --device "$device" --batch-work "$work_of_batch" --report "$work/report.json" --quiet 2>"$work/log" || row "--device $device" "FAILED: $(tail -1 "$work/log")"
    many="$(reported resident_peak_bytes) $(reported device_peak_bytes)"
    row "--device $device, $((batches / 10)) and $batches batches" "$(echo "$few $many" | awk '{ grown = $3 > $1 * 1.15 + 3e7 || $4 > $2 * 1.15 + 1e7
      printf "%sresident %.0f and %.0f MB, on the device %.0f and %.0f MB", grown ? "FAILED: " : "", $1 / 1e6, $3 / 1e6, $2 / 1e6, $4 / 1e6 }')"
  done
}

# One and all GPUs on input that is in memory already.
section_devices() {
  local count stage one all
  count=$(gpus)
  [ "${count:-0}" -ge 2 ] || { row "several GPUs" "SKIPPED: this machine has ${count:-0}"; return; }
  use_simulated devices 4000 --mean-length 8000 --seed 17
  on_cpu
  compare "--device cuda on $count GPUs" --device cuda
  shares
  compare "--device auto on $count GPUs" --device auto
  for stage in abea hmm; do
    "$sluice" bench "$stage" --pipeline "$runtime/pipelines/methylation.toml" "${call[@]:3}" --output "$work/unused.tsv" --device cuda --repeat 5 >"$work/log" 2>&1 ||
      row "$stage alone" "FAILED: $(tail -1 "$work/log")"
    cat "$work/log"
    one=$(awk '$1 == "all:" && $2 == "cuda:0" { print $3 }' "$work/log") all=$(awk '$1 == "all:" && $2 == "cuda" { print $3 }' "$work/log")
    row "$stage alone, batches in memory" "$(awk -v one="$one" -v all="$all" -v n="$count" 'BEGIN { if (all > 0) printf "%s ms on one GPU, %s ms on %d: %.2f times as fast", one, all, n, one / all; else print "FAILED: no time" }')"
  done
}

# The same lines on every device, and whole processes beside minimap2 with its default heuristics, in turn.
section_mapping() {
  local folder set device round threads start
  # An index in parts: no data is needed but reads, which are simulated.
  use_simulated parts 1500 --mean-length 4000
  call=("$sluice" run "$runtime/pipelines/overlap.toml" --plugin-dir "$runtime/lib" --profile none --reads "$work/sets/parts/reads.fastq.gz" --part-bases 1500000)
  on_cpu
  for device in ${devices//,/ }; do compare "overlap, an index in parts, --device $device" --device "$device"; done
  threads=$(nproc)
  for folder in "$data"/*/; do
    [ -e "$folder/reference.fa" ] && [ -e "$folder/reads.fq" ] || continue
    set=$(basename "$folder")
    call=("$sluice" run "$runtime/pipelines/map.toml" --plugin-dir "$runtime/lib" --profile none --reference "$folder/reference.fa" --reads "$folder/reads.fq")
    on_cpu
    for device in ${devices//,/ }; do compare "$set --device $device" --device "$device"; done
    rm -f "$work"/seconds.*
    for ((round = 0; round < rounds; ++round)); do
      for device in cpu ${devices//,/ }; do
        start=$(date +%s.%N)
        "${call[@]}" --output "$work/timed.paf" --device "$device" --threads "$threads" --quiet >"$work/log" 2>&1 || row "$set --device $device" "FAILED: $(tail -1 "$work/log")"
        echo "$(date +%s.%N) $start" | awk '{ print $1 - $2 }' >>"$work/seconds.$device"
      done
      [ -x "$runtime/bin/minimap2" ] || continue
      start=$(date +%s.%N)
      "$runtime/bin/minimap2" -x map-ont -t "$threads" "$folder/reference.fa" "$folder/reads.fq" >"$work/timed.paf" 2>"$work/log" || row "$set minimap2" "FAILED: $(tail -1 "$work/log")"
      echo "$(date +%s.%N) $start" | awk '{ print $1 - $2 }' >>"$work/seconds.minimap2"
    done
    for device in cpu ${devices//,/ } minimap2; do
      [ -e "$work/seconds.$device" ] && row "$set, $threads threads, $device" "$(median <"$work/seconds.$device" | awk '{ printf "%.2f s", $1 }')"
    done
  done
}

# The same decisions on every device, as a file and as a flow cell in virtual time, also when the device fails; then a flow cell in real time: one MinION and a hundred.
section_read_until() {
  local folder set device fault channels
  for folder in "$data"/*/; do
    [ -e "$folder/signal.blow5" ] && [ -e "$folder/target.fa" ] || continue
    set=$(basename "$folder")
    call=("$sluice" run "$runtime/pipelines/classify_signal.toml" --plugin-dir "$runtime/lib" --profile none --signal "$folder/signal.blow5" --target "$folder/target.fa")
    on_cpu
    for device in ${devices//,/ }; do compare "$set classify_signal --device $device" --device "$device"; done
    call=("$sluice" run "$runtime/pipelines/read_until.toml" --plugin-dir "$runtime/lib" --profile none --signal "$folder/signal.blow5" --target "$folder/target.fa")
    on_cpu --speed 0 --channels 32
    for device in ${devices//,/ }; do compare "$set read_until --device $device" --speed 0 --channels 32 --device "$device"; done
    for fault in kernel@20 memory@20 lost@20; do compare "$set read_until, $fault" --speed 0 --channels 32 --device auto --inject-device-fault "$fault"; done
    [ "$(gpus)" -ge 1 ] || { row "$set in real time" "SKIPPED: no device"; continue; }
    for channels in 512 51200; do
      # What a hundred MinIONs remember of a target of 5 Mb is a terabyte.
      [ "$channels" = 512 ] || [ "$(stat -Lc %s "$folder/target.fa")" -lt 500000 ] || continue
      for device in ${devices//,/ }; do
        "${call[@]}" --output "$work/live.tsv" --report "$work/report.json" --device "$device" --channels "$channels" --speed 1 --play-again --duration 6 --chunk-samples 100 >"$work/log" 2>&1 ||
          row "$set, $channels channels --device $device" "FAILED: $(tail -1 "$work/log")"
        row "$set, $channels channels in real time --device $device" "$(grep -E 'latency' "$work/log" | sed 's/^ *//' | paste -sd ';'); accepted $(reported accepted), rejected $(reported rejected), late $(reported late_decisions), given up $(reported given_up)"
      done
    done
  done
}

# Direct RNA, whose events are turned around and whose targets have one strand, and DNA, the same on every device: which samples belong to which k-mer
# of the read and of the reference (models of 9, 5 and 6 bases), and which target a read is of, as a file and as a flow cell in virtual time.
section_rna() {
  local set folder device options form
  use_simulated rna_dna 300 --mean-length 3000 --seed 23
  make_rna rna004 rna004 1000
  make_rna rna_r9 rna_r9 1000
  for set in rna004 rna_r9 rna_dna; do
    folder=$work/sets/$set
    call=("$sluice" run "$runtime/pipelines/resquiggle.toml" --plugin-dir "$runtime/lib" --profile none --signal "$folder/reads.blow5" --reads "$folder/reads.fastq.gz")
    on_cpu
    for device in ${devices//,/ }; do
      for options in "" "--batch-work 100000" "--threads 1" "--gpu-memory 1GiB"; do
        # shellcheck disable=SC2086
        compare "$set resquiggle --device $device $options" --device "$device" $options
      done
    done
  done
  for set in rna004 rna_r9; do
    folder=$work/sets/$set
    call=("$sluice" run "$runtime/pipelines/eventalign.toml" --plugin-dir "$runtime/lib" --profile none --signal "$folder/reads.blow5" --alignments "$folder/reads.bam"
      --reads "$folder/reads.fastq.gz" --reference "$folder/reference.fa")
    for options in "" "--scale-events --signal-index --print-read-names" "--format paf" "--compat f5c" "--kmer-model-size 5"; do
      # shellcheck disable=SC2086
      on_cpu $options
      for device in ${devices//,/ }; do
        # shellcheck disable=SC2086
        compare "$set eventalign $options --device $device" $options --device "$device"
        [ -z "$options" ] || continue
        for form in "--batch-work 100000" "--threads 1" "--gpu-memory 1GiB"; do
          # shellcheck disable=SC2086
          compare "$set eventalign --device $device $form" --device "$device" $form
        done
      done
    done
  done
  # Built-in thresholds are RNA004's alone, and begin behind the tail.
  make_rna rna004_tails rna004 400 --tail-length 80
  folder=$work/sets/rna004_tails
  head -c 60000 "$folder/reference.fa" >"$folder/targets.fa"
  for options in "" "--strands both"; do
    call=("$sluice" run "$runtime/pipelines/classify_signal.toml" --plugin-dir "$runtime/lib" --profile none --preset rna004 --search sdtw --signal "$folder/reads.blow5"
      --target "$folder/targets.fa")
    # shellcheck disable=SC2086
    on_cpu $options
    for device in ${devices//,/ }; do
      for form in "" "--batch-work 100000000" "--threads 1"; do
        # shellcheck disable=SC2086
        compare "rna004_tails classify_signal $options --device $device $form" $options --device "$device" $form
      done
    done
    call=("$sluice" run "$runtime/pipelines/read_until.toml" --plugin-dir "$runtime/lib" --profile none --preset rna004 --search sdtw --signal "$folder/reads.blow5"
      --target "$folder/targets.fa")
    # shellcheck disable=SC2086
    on_cpu --speed 0 --channels 32 $options
    for device in ${devices//,/ }; do
      # shellcheck disable=SC2086
      compare "rna004_tails read_until $options --device $device" --speed 0 --channels 32 --device "$device" $options
    done
  done
}

# Split reads, parts of signals and moves of the basecaller.
section_tags() {
  local pore folder moves device
  for pore in r9 r10; do
    use_simulated tags_$pore 400 --pore $pore --mean-length 3000 --seed 31 --moves --split-share 0.3
    folder=$work/sets/tags_$pore
    call=("$sluice" run "$runtime/pipelines/resquiggle.toml" --plugin-dir "$runtime/lib" --profile none --signal "$folder/reads.blow5" --reads "$folder/reads.bam")
    for moves in check use ignore; do
      on_cpu --moves $moves
      [ "$(wc -l <"$work/cpu_output")" -gt 100000 ] || row "$pore --moves $moves" "FAILED: $(wc -l <"$work/cpu_output") lines"
      for device in ${devices//,/ }; do compare "$pore resquiggle --moves $moves --device $device" --moves $moves --device "$device"; done
    done
  done
}

# The same consensuses on every device, and the stage alone, copies included.
section_consensus() {
  local folder set device algorithm
  for folder in "$data"/*/; do
    [ -e "$folder/windows.txt" ] || continue
    set=$(basename "$folder")
    call=("$sluice" run "$runtime/pipelines/consensus.toml" --plugin-dir "$runtime/lib" --profile none --windows "$folder/windows.txt")
    for algorithm in heaviest_bundle majority; do
      on_cpu --algorithm $algorithm
      for device in ${devices//,/ }; do compare "$set $algorithm --device $device" --algorithm $algorithm --device "$device"; done
    done
    [ "$(gpus)" -ge 1 ] || { row "$set, the stage alone" "SKIPPED: no device"; continue; }
    "$sluice" bench poa_consensus --pipeline "$runtime/pipelines/consensus.toml" --plugin-dir "$runtime/lib" --profile none --windows "$folder/windows.txt" --output "$work/unused.fa" \
      --device cuda --batch-work 400000000 --repeat 5 >"$work/log" 2>&1 || row "$set alone" "FAILED: $(tail -1 "$work/log")"
    cat "$work/log"
    row "$set, the stage alone, batches in memory" "$(grep -E 'rows in' "$work/log" | sed 's/, median of.*//') $(grep -E '^all: cuda' "$work/log" | paste -sd ';')"
  done
}

# Each CUDA implementation with the batches that pipelines give it: single rows, empty ones, rows that have failed, a device that is full.
section_contract() {
  local windows=$work/sets/windows.txt check=("$runtime/bin/device_contract" "$runtime/lib" cuda) name
  [ -x "$runtime/bin/device_contract" ] || { row "the contract of implementations" "SKIPPED: device_contract is not packed"; return; }
  use_simulated contract 400 --mean-length 4000 --seed 19
  local folder=$work/sets/contract
  head -c 40000 "$folder/reference.fa" >"$folder/target.fa"
  make_rna rna004 rna004 400
  # 20 times a short reference: reads that correct each other.
  [ -e "$folder/overlapping.fastq.gz" ] || "$sluice" run "$runtime/pipelines/simulate.toml" --plugin-dir "$runtime/lib" --reference "$folder/target.fa" --reads 200 --mean-length 4000 \
    --error-rate 0.08 --seed 19 --output-prefix "$folder/overlapping" --quiet
  local -A of=(
    [methylation]="signal=$folder/reads.blow5 alignments=$folder/reads.bam reads=$folder/reads.fastq.gz reference=$folder/reference.fa output=$work/unused"
    [map]="reference=$folder/reference.fa reads=$folder/reads.fastq.gz output=$work/unused"
    [map sam]="reference=$folder/reference.fa reads=$folder/reads.fastq.gz format=sam output=$work/unused"
    [seed]="reference=$folder/reference.fa reads=$folder/reads.fastq.gz output=$work/unused"
    [classify_signal]="signal=$folder/reads.blow5 target=$folder/target.fa output=$work/unused"
    [correct]="reads=$folder/overlapping.fastq.gz output=$work/unused"
    [resquiggle]="signal=$work/sets/rna004/reads.blow5 reads=$work/sets/rna004/reads.fastq.gz output=$work/unused"
    [eventalign]="signal=$work/sets/rna004/reads.blow5 alignments=$work/sets/rna004/reads.bam reads=$work/sets/rna004/reads.fastq.gz reference=$work/sets/rna004/reference.fa output=$work/unused"
  )
  [ ! -e "$data/windows/windows.txt" ] || of[consensus]="windows=$data/windows/windows.txt output=$work/unused"
  for name in "${!of[@]}"; do
    # shellcheck disable=SC2086
    if "${check[@]}" "$runtime/pipelines/${name%% *}.toml" ${of[$name]} >"$work/log" 2>&1; then
      while IFS= read -r line; do row "$name: ${line%% on *}" "${line#* on }, as on the CPU; single rows, empty, failed, full device too"; done < <(grep ', compared$' "$work/log" | sed 's/, compared$//')
    else
      row "$name" "FAILED: $(grep -m1 -E 'FAILED|SKIPPED' "$work/log" || tail -1 "$work/log")"
    fi
  done
}

# Unkind input, by every device and beside the programs of RUNTIME/bin: each case a row, the worst first. This section wants Python, tests/bench beside this folder,
# and in RUNTIME/bin make_test_input, make_alignments and sweep_mapping_case; cases of which something is not there are skipped.
section_worst() {
  command -v python3 >/dev/null || { row "worst" "SKIPPED: no python3"; return; }
  local what result
  SLUICE_PLUGIN_PATH=$runtime/lib python3 "$(dirname "$script")/../bench/worst.py" --sluice "$sluice" --tools "$runtime/bin" --peers "$runtime/bin" --devices "cpu,$devices" \
    --threads "$worst_threads" --runs "$rounds" --cases "$worst_cases" --format rows >"$work/worst" || row "worst" "FAILED: a case"
  while IFS=$'\t' read -r what result; do row "$what" "$result"; done <"$work/worst"
}

# shellcheck source=SCRIPTDIR/long_runs.sh
source "$(dirname "$script")/long_runs.sh" # section_long
# shellcheck source=SCRIPTDIR/device_counts.sh
source "$(dirname "$script")/device_counts.sh" # section_counts
# shellcheck source=SCRIPTDIR/spliced_runs.sh
source "$(dirname "$script")/spliced_runs.sh" # section_splice
# shellcheck source=SCRIPTDIR/human_size.sh
source "$(dirname "$script")/human_size.sh" # section_human

if ! declare -F "section_$only" >/dev/null; then echo "run.sh: there is no section '$only'" >&2; exit 2; fi
rm -f "$work/auto_shares"
"section_$only"
# These sections' runs are long enough for a device to be worth its opening.
case $only in
  faults | property)
    if [ -e "$work/auto_shares" ] && [ "$(gpus)" -ge 1 ] && ! grep -qv '^0$' "$work/auto_shares"; then
      row "--device auto" "FAILED: in none of these runs a device took part"
    fi
    ;;
esac
exit 0
