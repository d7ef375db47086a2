#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Section human of run.sh, which sources this file: whole runs against references of human size, cpu, cuda and auto in turn, the same bytes, and minimap2
# beside them with its index at hand. References and reads are made here; --human-contigs says how much of a genome.
# Each run once: they are long. What is made is kept for the next part of --human-runs in the same call.

human_index=(--memory "$human_memory")

human_tool() { # PIPELINE OPTIONS...
  "$sluice" run "$runtime/pipelines/$1.toml" --plugin-dir "$runtime/lib" --profile none --threads "$(nproc)" --quiet "${@:2}" 2>"$work/log" || { row "human: $1" "FAILED: $(tail -1 "$work/log")"; return 1; }
}

# sets/human: contigs of 100 Mbases, 41 % GC, a quarter of the CpGs, half of it repeats.
make_human_reference() {
  local folder=$work/sets/human
  mkdir -p "$folder"
  [ -e "$folder/reference.fa" ] || human_tool synthetic_reference --length "$human_length" --contigs "$human_contigs" --seed 91 --gc-content 0.41 --cpg-ratio 0.25 --repeats 0.45 --repeat-divergence 0.1 \
    --output "$folder/reference.fa"
}
# Its first contig, in contig.fa.
make_human_contig() {
  local folder=$work/sets/human
  make_human_reference
  [ -e "$folder/contig.fa" ] || awk '/^>/ { if (++n > 1) exit } 1' "$folder/reference.fa" >"$folder/contig.fa"
}
# NAME.fq: reads with 8 % of errors, without signal, of reference.fa or contig.fa.
make_human_reads() { # NAME OF READS simulate-options...
  local folder=$work/sets/human
  [ ! -e "$folder/$1.fq" ] || return 0
  human_tool simulate --reference "$folder/$2.fa" --reads "$3" --seed 92 --error-rate 0.08 --output-prefix "$folder/$1" "${@:4}" \
    --set stages.signal_file.enabled=false --set stages.alignment_file.enabled=false --set stages.truth_files.enabled=false || return
  gzip -dc "$folder/$1.fastq.gz" >"$folder/$1.fq"
  rm "$folder/$1.fastq.gz"
}
# Reads with signal and alignments.
make_human_signal() {
  local folder=$work/sets/human
  make_human_reference
  [ -e "$folder/signal.blow5" ] || human_tool simulate --reference "$folder/reference.fa" --reads $((human_reads / 5)) --seed 93 --output-prefix "$folder/signal"
}
# sets/human_introns: genes with introns to 150 kb, and reads of their transcripts (1.5 kb) with 4 % of errors; an eighth of the bases of the other reads, as
# minimap2 takes 20 ms a read.
make_human_introns() {
  local folder=$work/sets/human_introns genes=$((human_contigs * human_length / 91000))
  mkdir -p "$folder"
  [ ! -e "$folder/reads.fa" ] || return 0
  "$runtime/bin/make_test_input" long_intron_genome 1 "$genes" >"$folder/reference.fa"
  "$runtime/bin/make_test_input" long_intron_reads 1 "$genes" $((human_reads * 2 / 3)) 40000 >"$folder/reads.fa"
}
# Both programs' indexes of a set; how long each takes is a row.
make_human_index() { # SET PRESET OPTIONS...
  local folder=$work/sets/$1 start
  [ ! -e "$folder/$2.index" ] || return 0
  start=$(date +%s.%N)
  human_tool index --reference "$folder/reference.fa" --output "$folder/$2.index" "${human_index[@]}" "${@:3}" || return
  row "human: index of $1 for $2" "$(since "$start") s, $(stat -Lc %s "$folder/reference.fa" | awk '{ printf "%.2f", $1 / 1e9 }') Gbases"
  [ -x "$runtime/bin/minimap2" ] || return 0
  start=$(date +%s.%N)
  "$runtime/bin/minimap2" -x "$2" -I 8G -t "$(nproc)" -d "$folder/$2.mmi" "$folder/reference.fa" 2>"$work/log" || row "human: minimap2's index" "FAILED: $(tail -1 "$work/log")"
  row "human: index of $1 for $2, minimap2" "$(since "$start") s"
}
since() { echo "$(date +%s.%N) $1" | awk '{ printf "%.2f", $1 - $2 }'; }

# Every device once, then minimap2 where its options are given: seconds, and how many times as fast as minimap2.
human_run() { # NAME MINIMAP2_OPTIONS READS PIPELINE OPTIONS...
  local name=$1 theirs=$2 reads=$3 device start
  shift 3
  rm -f "$work"/human.*
  for device in cpu ${devices//,/ }; do
    rm -f "$work/long.out"
    start=$(date +%s.%N)
    human_tool "$@" --device "$device" --output "$work/long.out" --report "$work/report.json" || continue
    since "$start" >"$work/human.$device"
    echo "$(reported resident_peak_bytes | awk '{ printf "%.1f GB", $1 / 1e9 }'); $([ "$device" = cpu ] || echo "the device's share $(device_share) %; ")$(bounds)" >"$work/human.row.$device"
    sed -i '/^@PG/d' "$work/long.out" # holds the command line
    [ -e "$work/human.first" ] || mv "$work/long.out" "$work/human.first"
    [ ! -e "$work/long.out" ] || cmp -s "$work/human.first" "$work/long.out" || row "human: $name, $device" "FAILED: other bytes"
    echo "$name, $device: $(cat "$work/human.$device") s"
  done
  if [ -n "$theirs" ] && [ -x "$runtime/bin/minimap2" ]; then
    start=$(date +%s.%N)
    # shellcheck disable=SC2086
    "$runtime/bin/minimap2" $theirs -t "$(nproc)" "$reads" >"$work/human.theirs" 2>"$work/log" || row "human: $name, minimap2" "FAILED: $(tail -1 "$work/log")"
    since "$start" >"$work/human.minimap2"
    row "human: $name, minimap2" "$(cat "$work/human.minimap2") s"
  fi
  for device in cpu ${devices//,/ }; do
    [ -e "$work/human.row.$device" ] || continue
    row "human: $name, $device" "$(cat "$work/human.$device") s$([ ! -e "$work/human.minimap2" ] || paste -d ' ' "$work/human.$device" "$work/human.minimap2" | awk '{ printf ", %.1f times minimap2", $2 / $1 }'); $(cat "$work/human.row.$device")"
  done
}

section_human() {
  local folder=$work/sets/human introns=$work/sets/human_introns run
  for run in ${human_runs//,/ }; do
    case $run in
      map | map_sam)
        make_human_reference && make_human_reads reads reference "$((human_reads * 4 / 5))" --mean-length 10000 && make_human_index human map-ont || continue
        if [ "$run" = map ]; then
          human_run "$run" "-x map-ont $folder/map-ont.mmi" "$folder/reads.fq" map --reference "$folder/map-ont.index" --reads "$folder/reads.fq" "${human_index[@]}"
        else
          human_run "$run" "-a -x map-ont $folder/map-ont.mmi" "$folder/reads.fq" map --reference "$folder/map-ont.index" --reads "$folder/reads.fq" --format sam "${human_index[@]}"
        fi
        ;;
      map_long)
        make_human_reference && make_human_reads long reference $(((human_reads + 38) / 39)) --mean-length 100000 --length-variation 0.3 && make_human_index human map-ont || continue
        human_run "$run" "-x map-ont $folder/map-ont.mmi" "$folder/long.fq" map --reference "$folder/map-ont.index" --reads "$folder/long.fq" "${human_index[@]}"
        ;;
      splice)
        make_human_introns && make_human_index human_introns splice --k 15 --w 5 || continue
        human_run "$run" "-a -x splice $introns/splice.mmi" "$introns/reads.fa" map --preset splice --reference "$introns/splice.index" --reads "$introns/reads.fa" --format sam "${human_index[@]}"
        ;;
      methylation | eventalign)
        make_human_signal || continue
        call=("$run" --signal "$folder/signal.blow5" --alignments "$folder/signal.bam" --reads "$folder/signal.fastq.gz" --reference "$folder/reference.fa")
        [ "$run" = methylation ] || call+=(--format paf)
        human_run "$run" '' '' "${call[@]}"
        ;;
      classify_signal)
        make_human_signal && make_human_contig || continue
        human_run "$run" '' '' "$run" --signal "$folder/signal.blow5" --target "$folder/contig.fa"
        ;;
      polish)
        make_human_contig && make_human_reads deep contig $((human_length * 60 / 8000)) || continue
        human_run "$run" '' '' "$run" --targets "$folder/contig.fa" --reads "$folder/deep.fq" "${human_index[@]}"
        ;;
      *) row "$run" "FAILED: no such run" ;;
    esac
  done
}
