#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Section splice of run.sh, which sources this file.

# The same lines across introns on every device, by alignments that the device did; whole processes beside minimap2. The largest set is timed, before all
# else; lines are compared on the others, if there are any.
section_splice() {
  local folder set device options start round threads largest='' bases most=0
  threads=$(nproc)
  for folder in "$data"/*/; do
    [ -e "$folder/genome.fa" ] && [ -e "$folder/transcripts.fa" ] || continue
    bases=$(stat -Lc %s "$folder/transcripts.fa")
    [ "$bases" -gt "$most" ] && largest=$folder most=$bases
  done
  [ -n "$largest" ] || return 0
  set=$(basename "$largest")
  rm -f "$work"/seconds.*
  for ((round = 0; round < rounds; ++round)); do
    for options in sam paf; do
      call=("$sluice" run "$runtime/pipelines/map.toml" --plugin-dir "$runtime/lib" --profile none --preset splice --reference "$largest/genome.fa" --reads "$largest/transcripts.fa")
      if [ $options = sam ]; then call+=(--format sam); else call+=(--cigar); fi
      for device in cpu ${devices//,/ }; do
        start=$(date +%s.%N)
        "${call[@]}" --output "$work/timed.$device" --report "$work/report.json" --device "$device" --threads "$threads" --quiet >"$work/log" 2>&1 || row "$set --device $device" "FAILED: $(tail -1 "$work/log")"
        echo "$(date +%s.%N) $start" | awk '{ print $1 - $2 }' >>"$work/seconds.$options.$device"
        echo "$set to $options, $device: $(tail -1 "$work/seconds.$options.$device") s"
        [ $round -gt 0 ] || shares
        [ $round -gt 0 ] || [ "$device" = cpu ] || cmp <(grep -v '^@PG' "$work/timed.cpu") <(grep -v '^@PG' "$work/timed.$device") || row "$set $options --device $device" "FAILED: other bytes"
        [ $round -gt 0 ] || [ "$device" = cpu ] || row "$set $options --device $device" "pieces on the device $(reported_sum spliced_pieces_on_device), again on the CPU $(reported_sum spliced_pieces_again_on_cpu), left to it $(reported_sum pieces_left_to_cpu)"
      done
      [ -x "$runtime/bin/minimap2" ] || continue
      start=$(date +%s.%N)
      "$runtime/bin/minimap2" "$([ $options = sam ] && echo -a || echo -c)" -x splice -t "$threads" "$largest/genome.fa" "$largest/transcripts.fa" >"$work/timed.minimap2" 2>"$work/log" || row "$set minimap2" "FAILED: $(tail -1 "$work/log")"
      echo "$(date +%s.%N) $start" | awk '{ print $1 - $2 }' >>"$work/seconds.$options.minimap2"
      echo "$set to $options, minimap2: $(tail -1 "$work/seconds.$options.minimap2") s"
    done
  done
  for options in sam paf; do
    for device in cpu ${devices//,/ } minimap2; do
      [ -e "$work/seconds.$options.$device" ] && row "$set to $options, $threads threads, $device" "$(median <"$work/seconds.$options.$device" | awk '{ printf "%.2f s", $1 }')"
    done
  done
  rm -f "$work"/timed.*
  for folder in "$data"/*/; do
    [ -e "$folder/genome.fa" ] && [ -e "$folder/transcripts.fa" ] && [ "$folder" != "$largest" ] || continue
    set=$(basename "$folder")
    call=("$sluice" run "$runtime/pipelines/map.toml" --plugin-dir "$runtime/lib" --profile none --format sam --reference "$folder/genome.fa" --reads "$folder/transcripts.fa")
    for options in "--preset splice --cs" "--preset splice-hq" "--preset splice --transcript-strand forward" "--preset splice --transcript-strand none"; do
      # shellcheck disable=SC2086
      on_cpu $options
      for device in ${devices//,/ }; do
        # shellcheck disable=SC2086
        compare "$set $options --device $device" --device "$device" $options
        [ "$device" = auto ] || [ "$(reported_sum spliced_pieces_on_device)" -gt 0 ] || row "$set $options --device $device" "FAILED: no piece was aligned on the device"
      done
    done
    on_cpu --preset splice
    for device in ${devices//,/ }; do
      for options in "--batch-work 300000" "--threads 1" "--gpu-memory 1GiB"; do
        # shellcheck disable=SC2086
        compare "$set --device $device $options" --preset splice --device "$device" $options
      done
    done
    for fault in kernel@2 memory@2 lost@2; do compare "$set, $fault" --preset splice --device auto --inject-device-fault "$fault"; done
  done
}
