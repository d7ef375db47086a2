#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Makes the pictures of docs/report.md again: docs/report-demo.png, -narrow, -bound, -squiggles, -faults and -multiqc.png. Needs chromium; for the last one
# multiqc, in PATH or as MULTIQC=PROGRAM, without which that picture stays as it is.
#   pictures.sh SLUICE
set -euo pipefail
sluice=$(realpath "$1") docs=$(realpath "$(dirname "$0")/../../docs")
browser=$(command -v chromium-headless-shell || command -v chromium || command -v google-chrome) || { echo "there is no chromium" >&2; exit 1; }
multiqc=${MULTIQC:-$(command -v multiqc || true)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
browse() {
  "$browser" --headless --no-first-run --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/browser" --virtual-time-budget=10000 "$@" \
    2>browser.log || { cat browser.log >&2; exit 1; }
}
# picture PAGE NAME WIDTH CSS [OPTION...]: as high as what the style leaves of the page, 4,000 pixels at the most.
picture() {
  local page=$1 name=$2 width=$3 css=$4 height
  shift 4
  { cat "$page"; echo "<style>$css</style><script>setTimeout(() => { document.body.dataset.height = document.body.getBoundingClientRect().bottom + 20 }, 3000)</script>"; } >shown.html
  height=$(browse "$@" --window-size="$width,900" --dump-dom "file://$work/shown.html" | sed -n 's/.*<body[^>]*data-height="\([0-9]*\).*/\1/p' | head -n 1)
  [ "${height:-0}" -gt 100 ] || { echo "$page has no height" >&2; exit 1; }
  browse "$@" --window-size="$width,$((height < 4000 ? height : 4000))" --screenshot="$work/$name" "file://$work/shown.html" >/dev/null
  cp "$name" "$docs/$name"
}
# Pages name files as those of an installed sluice: the folder of this one says nothing to a reader.
neutral() { sed -i "s#\"[^\"]*/pipelines/\([a-z_]*\.toml\)#\"/usr/local/share/sluice/pipelines/\1#g; s#\"command\":\"[^\" ]*/sluice #\"command\":\"sluice #" "$1"; }

"$sluice" run synthetic_reference --length 48502 --seed 7 --output reference.fa --quiet
"$sluice" run simulate --reference reference.fa --reads 400 --seed 7 --mean-length 6000 --output-prefix reads --quiet
"$sluice" run methylation --signal reads.blow5 --reads reads.fastq.gz --alignments reads.bam --reference reference.fa --output calls.tsv \
  --frequency frequency.tsv --modbam reads.mod.bam --report run.html --report qc/first/ --quiet
"$sluice" run resquiggle --signal reads.blow5 --reads reads.fastq.gz --output squiggles.tsv --report squiggles.html --quiet
# A signal file that lacks a quarter of the reads.
"$sluice" run simulate --reference reference.fa --reads 300 --seed 7 --mean-length 6000 --output-prefix fewer --quiet
"$sluice" run methylation --signal fewer.blow5 --reads reads.fastq.gz --alignments reads.bam --reference reference.fa --output lost.tsv \
  --max-bad-reads 0.9 --report lost.html --report qc/second/ --quiet
for page in *.html; do neutral "$page"; done

only() { echo "section { display: none } header { display: none } $1 { display: block; border: 0 }"; }
picture run.html report-demo.png 1200 "#in, #out, #lost, #speed, #bound, #plan, #how { display: none }"
picture run.html report-narrow.png 420 "#in, #out, #lost, #speed, #bound, #plan, #how { display: none }"
picture run.html report-bound.png 1200 "$(only '#bound')"
picture squiggles.html report-squiggles.png 1200 "$(only '#results')"
picture lost.html report-faults.png 1200 "#in, #out, #speed, #bound, #plan, #how { display: none }" --blink-settings=preferredColorScheme=0
if [ -n "$multiqc" ]; then
  "$multiqc" --quiet --force --outdir page qc
  sed -i "s#$work/##g" page/multiqc_report.html
  browse --window-size=1200,1500 --screenshot="$docs/report-multiqc.png" "file://$work/page/multiqc_report.html" >/dev/null
else
  echo "there is no multiqc: docs/report-multiqc.png stays as it is" >&2
fi
