# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The lines of minimap2 and of `sluice run map` for one case after the other, for a sweep that has set
#   sweep (its name), kind (what sweep_mapping_case makes), minimap2, build, seconds, seed, number (the first case)
# A difference is cut down to one read, and to a part of it.
sluice=$build/bin/sluice maker=$build/bin/sweep_mapping_case
few_cases=14 bases_of_few=100000 bases_of_case=500000
[ "$seconds" = 0 ] || few_cases=
kept=$build/sweep/$sweep work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# Some cases take minimap2 minutes, above all with --max-chain-skip=1000000: they are passed over where time counts.
peer=("$minimap2" -t 2)
[ "$seconds" = 0 ] || peer=(timeout 120 "${peer[@]}")
lines_of_minimap2() { "${peer[@]}" $theirs "$1" "$2" 2>theirs.log | grep -v '^@'; return "${PIPESTATUS[0]}"; }
lines_of_sluice() {
  rm -f now.lines
  "$sluice" run $ours --quiet --allow-empty --reference "$1" --reads "$2" --output now.lines 2>ours.log || return
  grep -v '^@' now.lines
  return 0
}
# The lines of READS are equal.
are_equal() {
  lines_of_minimap2 reference.fa "$1" >theirs.lines || { echo "$sweep: case $number of seed $seed: minimap2 $theirs takes too long or fails itself" >&2; return 0; }
  lines_of_sluice reference.fa "$1" >ours.lines && cmp -s theirs.lines ours.lines
}
# Cuts halves, quarters, ... off both ends of the read in `one.fa` as long as the lines differ.
cut_down() {
  local name=$1 begin=0 end step
  end=$(awk 'NR == 2 { print length($0) }' one.fa)
  for ((step = end / 2; step > 50; step /= 2)); do
    while [ $((end - begin)) -gt "$step" ] && "$maker" part "$reads" "$name" $((begin + step)) "$end" >cut.fa && ! are_equal cut.fa; do
      begin=$((begin + step)); cp cut.fa one.fa
    done
    while [ $((end - begin)) -gt "$step" ] && "$maker" part "$reads" "$name" "$begin" $((end - step)) >cut.fa && ! are_equal cut.fa; do
      end=$((end - step)); cp cut.fa one.fa
    done
  done
}
report() {
  local name
  name=$(diff theirs.lines ours.lines | sed -n 's/^[<>] \([^\t]*\).*/\1/p' | head -1)
  mkdir -p "$kept"
  "$maker" part "$reads" "${name:-none}" 0 1000000000 >one.fa
  if [ -n "$name" ] && ! are_equal one.fa; then cut_down "$name"; file=one.fa
  else file=$reads; echo "$sweep: case $number: no read differs by itself" >&2; fi
  cp reference.fa "$kept/$seed.$number.reference.fa"
  [ ! -e junctions.bed ] || cp junctions.bed "$kept/$seed.$number.junctions.bed"
  cp "$file" "$kept/$seed.$number.reads.${file##*.}"
  cat <<TEXT
$sweep: case $number of seed $seed: other lines than minimap2's$([ -z "$name" ] || echo " ($name)"): $(tail -1 ours.log)
  cd $kept
  $minimap2 ${theirs//junctions.bed/$seed.$number.junctions.bed} $seed.$number.reference.fa $seed.$number.reads.${file##*.}
  $sluice run ${ours//junctions.bed/$seed.$number.junctions.bed} --reference $seed.$number.reference.fa --reads $seed.$number.reads.${file##*.}
TEXT
}

cases=0 differences=0 all_reads=0
until [ -n "$few_cases" ] && [ $cases -ge $few_cases ] || [ -z "$few_cases" ] && [ $SECONDS -ge "$seconds" ]; do
  rm -f reads.f?
  "$maker" "$kind" "$seed" "$number" "$([ -n "$few_cases" ] && echo $bases_of_few || echo $bases_of_case)" . || exit 1
  { read -r theirs; read -r ours; } <options
  reads=$(ls reads.f?)
  if ! are_equal "$reads"; then
    differences=$((differences + 1))
    report
  fi
  all_reads=$((all_reads + $(grep -c '^[@>]read' "$reads")))
  cases=$((cases + 1)) number=$((number + 1))
done
echo "$sweep: $cases cases, $differences differences (seed $seed), $all_reads reads"
[ $differences = 0 ]
