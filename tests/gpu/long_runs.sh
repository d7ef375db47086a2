#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Section long of run.sh, which sources this file: whole runs of real length, every device with every number of threads, the same bytes, and what bounds
# the run. References and reads are made here.

# sets/long: 5 Mbases, and 80 times that in reads with signal.
make_long_set() {
  local folder=$work/sets/long
  [ ! -e "$folder/reads.blow5" ] || return 0
  mkdir -p "$folder"
  synthesize --length 5000000 --seed 77 --output "$folder/reference.fa"
  "$sluice" run "$runtime/pipelines/simulate.toml" --plugin-dir "$runtime/lib" --reference "$folder/reference.fa" --quiet --reads "$long_reads" --seed 77 --output-prefix "$folder/reads"
  gzip -dc "$folder/reads.fastq.gz" >"$folder/reads.fq"
  # 30 times the reference, for correction and polishing: three reads of eight, as they are in the order of their places (the first 150 Mbases would be
  # 80 times a third of it).
  awk '{ read = int((NR - 1) / 4) } 3 * read % 8 < 3' "$folder/reads.fq" >"$folder/some.fq"
  head -c 50000 "$folder/reference.fa" >"$folder/target.fa"
}
synthesize() { "$sluice" run "$runtime/pipelines/synthetic_reference.toml" --plugin-dir "$runtime/lib" --quiet "$@"; }

# sets/repeats50, for as many reads as by default: 50 Mbases, half of them repeats; reads of 8 kb in 8k.fq, and 160 Mbases of 100 kb in long.fq.
make_repeats50() { # 8k|long
  local folder=$work/sets/repeats50 simulate
  mkdir -p "$folder"
  [ -e "$folder/reference.fa" ] || synthesize --length $((long_reads * 1000)) --seed 78 --gc-content 0.41 --cpg-ratio 0.25 --repeats 0.45 --repeat-divergence 0.1 \
    --tandem-repeats 0.05 --tandem-unit-length 2..171 --output "$folder/reference.fa"
  [ ! -e "$folder/$1.fq" ] || return 0
  simulate=("$sluice" run "$runtime/pipelines/simulate.toml" --plugin-dir "$runtime/lib" --reference "$folder/reference.fa" --quiet --error-rate 0.08 --output-prefix "$folder/$1"
    --set stages.signal_file.enabled=false --set stages.alignment_file.enabled=false --set stages.truth_files.enabled=false)
  case $1 in
    8k) "${simulate[@]}" --reads "$long_reads" --seed 13 ;;
    long) "${simulate[@]}" --reads $(((long_reads + 30) / 31)) --seed 14 --mean-length 100000 --length-variation 0.3 ;;
  esac
  gzip -dc "$folder/$1.fastq.gz" >"$folder/$1.fq"
  rm "$folder/$1.fastq.gz"
}

section_long() {
  local folder=$work/sets/long run
  for run in ${long_runs//,/ }; do
    case $run in
      map_repeats50_8k | map_repeats50_long)
        make_repeats50 "${run#map_repeats50_}"
        long_run "$run" map --reference "$work/sets/repeats50/reference.fa" --reads "$work/sets/repeats50/${run#map_repeats50_}.fq"
        continue
        ;;
    esac
    make_long_set
    case $run in
      methylation) long_run "$run" "$run" --signal "$folder/reads.blow5" --alignments "$folder/reads.bam" --reads "$folder/reads.fastq.gz" --reference "$folder/reference.fa" ;;
      eventalign)
        long_run "$run" "$run" --signal "$folder/reads.blow5" --alignments "$folder/reads.bam" --reads "$folder/reads.fastq.gz" --reference "$folder/reference.fa" --format paf
        ;;
      map | seed) long_run "$run" "$run" --reference "$folder/reference.fa" --reads "$folder/reads.fq" ;;
      map_sam) long_run "$run" map --reference "$folder/reference.fa" --reads "$folder/reads.fq" --format sam ;;
      resquiggle) long_run "$run" "$run" --signal "$folder/reads.blow5" --reads "$folder/reads.fq" ;;
      classify_signal) long_run "$run" "$run" --signal "$folder/reads.blow5" --target "$folder/target.fa" ;;
      polish) long_run "$run" "$run" --targets "$folder/reference.fa" --reads "$folder/some.fq" ;;
      correct | overlap) long_run "$run" "$run" --reads "$folder/some.fq" ;;
      *) row "$run" "FAILED: no such run" ;;
    esac
  done
}

# Medians of as many runs as --rounds says, all devices in turn; runs of more than 5 s are made once.
long_run() { # NAME PIPELINE OPTIONS...
  local name=$1 pipeline=$2 threads device seconds best round
  shift 2
  rm -f "$work/long.cpu"
  for threads in ${long_threads//,/ }; do
    rm -f "$work"/long.seconds.* "$work"/long.row.*
    for ((round = 0; round < rounds; ++round)); do
      for device in cpu ${devices//,/ }; do
        [ $round = 0 ] || awk '$1 > 5 { exit 1 }' "$work/long.seconds.$device" || continue
        one_long_run "$@" || continue
      done
    done
    best=''
    for device in cpu ${devices//,/ }; do
      [ -e "$work/long.seconds.$device" ] || continue
      seconds=$(median <"$work/long.seconds.$device")
      if [ "$device" = auto ]; then
        row "$name, $threads threads, $device" "$seconds s, $(echo "$seconds $best" | awk '{ printf "%.2f", $1 / $2 }') of the better one; $(cat "$work/long.row.$device")"
      else
        best=$(echo "$seconds ${best:-$seconds}" | awk '{ print $1 < $2 ? $1 : $2 }')
        row "$name, $threads threads, $device" "$seconds s; $(cat "$work/long.row.$device")"
      fi
    done
  done
}

# Uses long_run's variables.
one_long_run() { # OPTIONS...
  local start
  rm -f "$work/long.out" # whoever replaces a file waits until it is gone
  start=$(date +%s.%N)
  if ! "$sluice" run "$runtime/pipelines/$pipeline.toml" --plugin-dir "$runtime/lib" --profile none "$@" --output "$work/long.out" --threads "$threads" --device "$device" \
    --report "$work/report.json" --quiet >"$work/log" 2>&1; then
    row "$name, $threads threads, $device" "FAILED: $(tail -1 "$work/log")"
    return 1
  fi
  echo "$(date +%s.%N) $start" | awk '{ printf "%.2f\n", $1 - $2 }' >>"$work/long.seconds.$device"
  [ "$name" != map_sam ] || sed -i '/^@PG/d' "$work/long.out" # holds the command line
  [ -e "$work/long.cpu" ] || mv "$work/long.out" "$work/long.cpu"
  [ ! -e "$work/long.out" ] || cmp -s "$work/long.cpu" "$work/long.out" || row "$name, $threads threads, $device" "FAILED: other bytes"
  echo "$([ "$device" = cpu ] || echo "the device's share $(device_share) %; ")$(bounds)" >"$work/long.row.$device"
  [ $round != 0 ] || shares
}

# Where a run's time went, from its report: the stages with most seconds, and the device's copies.
bounds() {
  awk '{ gsub(/[",]/, "") } $1 == "devices:" { in_devices = 1 } $1 == "utilisation:" { used = $2 } $1 == "bytes_to_device:" { there = $2 } $1 == "bytes_to_host:" { back = $2 } $1 == "name:" && !in_devices { name = $2 } $1 == "busy_seconds:" && !in_devices && name != "" { busy[name] += $2 }
    $1 == "cpu_seconds:" && cpu == "" { cpu = $2 }
    END { for (i = 0; i < 3; ++i) { best = ""; for (n in busy) if (best == "" || busy[n] > busy[best]) best = n; if (best != "") { printf "%s%s %.1f s", i ? ", " : "", best, busy[best]; delete busy[best] } }
      printf "; %.0f CPU s", cpu
      if (used != "") printf "; device busy %.0f %%, %.2f GB there, %.2f GB back", 100 * used, there / 1e9, back / 1e9 }' "$work/report.json"
}
