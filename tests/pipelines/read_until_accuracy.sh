#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# How well prefixes tell lambda phage from others: thresholds are calibrated on reads of the project's own simulator, and judged on reads that had no
# part in that: simulated by other means, and real ones beside which the result of UNCALLED 2.2 lies (217 of 250; on ecoli_r9 it maps 11 of 350).
#   read_until_accuracy.sh SLUICE SHARED [FOLDER]      FOLDER: where to leave thresholds, decisions and ROC plots
set -euo pipefail
sluice=$1 data=$2/data
[ -d "$data/lambda_r9_real" ] || { echo "SKIPPED: $data/lambda_r9_real is not there"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=${3:-$work}
mkdir -p "$out"
lambda=$data/reference/lambda.fa ecoli=$data/reference/ecoli536.fa.gz
run() { "$sluice" run "$@" --quiet; }

run simulate --reference "$lambda" --reads 1000 --mean-length 3000 --seed 11 --output-prefix "$work/lambda"
run simulate --reference "$ecoli" --reads 1000 --mean-length 3000 --seed 12 --output-prefix "$work/ecoli"
run calibrate_read_until --target "$lambda" --signal "$work/ecoli.blow5" --label other --scores "$work/ecoli.tsv"
run calibrate_read_until --target "$lambda" --signal "$work/lambda.blow5" --other-scores "$work/ecoli.tsv" --thresholds "$out/thresholds.tsv"

accepted() {  # SET PREFIX_BASES
  run classify_signal --signal "$data/$1/reads.blow5" --target "$lambda" --prefix-bases "$2" --thresholds "$out/thresholds.tsv" --output "$out/$1.$2.tsv"
  awk -F'\t' '$2 == "accept" { n++ } END { print n + 0 }' "$out/$1.$2.tsv"
}
echo "bases lambda_r9 ecoli_r9 F1 lambda_r9_real human_r9_real ecoli_r9_real"
for bases in 50 100 150 160 200 250; do
  simulated=$(accepted lambda_r9 $bases) ecoli_reads=$(accepted ecoli_r9 $bases) real=$(accepted lambda_r9_real $bases)
  human=$(accepted human_r9_real $bases) ecoli_real=$(accepted ecoli_r9_real $bases)
  f1=$(awk -v tp="$simulated" -v fp="$ecoli_reads" 'BEGIN { printf "%.4f", 2 * tp / (tp + fp + 500) }')
  echo "$bases $simulated/500 $ecoli_reads/350 $f1 $real/250 $human/10 $ecoli_real/112"
done

# ROC curves of the reads that are judged; nothing is chosen by them.
for set in simulated real; do
  scores=()
  others=(ecoli_r9) targets=lambda_r9
  [ $set = simulated ] || { others=(ecoli_r9 human_r9_real); targets=lambda_r9_real; }
  for other in "${others[@]}"; do
    run calibrate_read_until --target "$lambda" --signal "$data/$other/reads.blow5" --label other "${scores[@]}" --scores "$work/$set.$other.tsv"
    scores=(--other-scores "$work/$set.$other.tsv")
  done
  run calibrate_read_until --target "$lambda" --signal "$data/$targets/reads.blow5" "${scores[@]}" --thresholds "$work/judged.tsv" --plot "$out/roc.$set.svg" --roc "$out/roc.$set.tsv"
  echo "$set: bases and area under the curve: $(awk 'NR > 1 { printf "%s %s; ", $1, $11 }' "$work/judged.tsv")"
done

# The last line of the table is that of 250 bases.
awk -v f1="$f1" 'BEGIN { exit !(f1 >= 0.95) }' || { echo "FAILED: F1 is $f1, below 0.95" >&2; exit 1; }
[ "$real" -ge 240 ] || { echo "FAILED: $real of the real lambda reads are accepted, fewer than 240; UNCALLED maps 217" >&2; exit 1; }
[ "$ecoli_reads" -le 4 ] || { echo "FAILED: $ecoli_reads reads of ecoli_r9 are accepted, more than 4; UNCALLED maps 11" >&2; exit 1; }
[ "$human" = 0 ] || { echo "FAILED: $human of 10 human reads are accepted" >&2; exit 1; }
echo "all good"
