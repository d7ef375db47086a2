#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Section counts of run.sh, which sources this file: whole runs on 1, 2, 4 ... of a machine's GPUs, the same bytes, and how many times as fast the
# process and the run inside it are. Sets are those of section long, and a reference of 3 Mbases.

make_counts_set() {
  local folder=$work/sets/long
  make_long_set
  [ ! -e "$folder/target3m.fa" ] || return 0
  { head -1 "$folder/reference.fa" && sed 1d "$folder/reference.fa" | head -c 3000000 && echo; } >"$folder/target3m.fa"
  repeat_bam "$folder/reads.bam" "$folder/many.bam" "$count_copies"
}

section_counts() {
  local folder=$work/sets/long run all
  all=$(gpus)
  [ "${all:-0}" -ge 1 ] || { row "several GPUs" "SKIPPED: this machine has none"; return; }
  make_counts_set
  for run in ${count_runs//,/ }; do
    local to_nothing=''
    case $run in
      methylation | eventalign)
        call=("$run" --signal "$folder/reads.blow5" --alignments "$folder/reads.bam" --reads "$folder/reads.fastq.gz" --reference "$folder/reference.fa")
        [ "$run" = methylation ] || call+=(--format paf)
        to_nothing=yes
        ;;
      classify_signal) call=("$run" --signal "$folder/reads.blow5" --target "$folder/target3m.fa") ;;
      map_sam) call=(map --reference "$folder/reference.fa" --reads "$folder/reads.fq" --format sam) ;;
      map) call=(map --reference "$folder/reference.fa" --reads "$folder/reads.fq") ;;
      polish) call=("$run" --targets "$folder/reference.fa" --reads "$folder/some.fq") ;;
      correct | overlap) call=("$run" --reads "$folder/some.fq") ;;
      *) row "$run" "FAILED: no such run"; continue ;;
    esac
    if [ -n "$to_nothing" ]; then # what is written would bound it: compared first, then many times the alignments to nowhere
      rounds=1 run_counts "$run" "$work/counts.out"
      call=("${call[@]/reads.bam/many.bam}")
      run_counts "$run of $count_copies times the alignments, to /dev/null" /dev/null
    else
      run_counts "$run" "$work/counts.out"
    fi
  done
}

# 1, 2, 4 ... up to all.
counts_of() { local n; for ((n = 1; n < $1; n *= 2)); do echo "$n"; done; echo "$1"; }
on_devices() { # COUNT OUTPUT
  local ids
  ids=$(seq -s , 0 $(($1 - 1)))
  rm -f "$work/counts.out"
  CUDA_VISIBLE_DEVICES=$ids "$sluice" run "$runtime/pipelines/${call[0]}.toml" --plugin-dir "$runtime/lib" --profile none "${call[@]:1}" --output "$2" --device "$count_device" \
    --report "$work/report.json" --quiet >"$work/log" 2>&1
}

# How many devices had rows.
devices_used() {
  awk '{ gsub(/[",]/, "") } $1 == "placements:" { placed = 1 } placed && $1 == "device:" { device = $2 }
    placed && $1 == "rows:" && $2 > 0 && device ~ /^cuda/ && !seen[device]++ { n++ } END { print n + 0 }' "$work/report.json"
}

# Medians of --rounds runs with each number of devices in turn, one where it is longer than 8 s; bytes are compared where they are written to a file.
run_counts() { # NAME OUTPUT
  local count round start
  rm -f "$work"/whole.* "$work"/inside.* "$work/counts.one"
  for ((round = 0; round < rounds; ++round)); do
    for count in $(counts_of "$all"); do
      [ $round = 0 ] || awk '$1 > 8 { exit 1 }' "$work/whole.$count" || continue
      start=$(date +%s.%N)
      on_devices "$count" "$2" || { row "$1, $count" "FAILED: $(tail -1 "$work/log")"; continue; }
      echo "$(date +%s.%N) $start" | awk '{ print $1 - $2 }' >>"$work/whole.$count"
      reported elapsed_seconds >>"$work/inside.$count"
      echo "worked on $(devices_used); $(bounds)" >"$work/bounds.$count"
      [ "$2" != /dev/null ] || continue
      sed -i '/^@PG/d' "$2" # holds the command line
      if [ ! -e "$work/counts.one" ]; then mv "$2" "$work/counts.one"; else cmp -s "$work/counts.one" "$2" || row "$1, $count" "FAILED: other bytes"; fi
    done
  done
  for count in $(counts_of "$all"); do
    [ -e "$work/whole.$count" ] || continue
    row "$1, $count" "$(echo "$(median <"$work/whole.$count") $(median <"$work/inside.$count") $(median <"$work/whole.1") $(median <"$work/inside.1")" |
      awk '{ printf "%.2f s, inside %.2f s: %.2f and %.2f times as fast as one", $1, $2, $3 / $1, $4 / $2 }'); $(cat "$work/bounds.$count")"
  done
}
