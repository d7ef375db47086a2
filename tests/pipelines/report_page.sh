#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Reports for people: the page of --report run.html, in headless Chromium where there is one, and what MultiQC reads, with the real multiqc where there is
# one (in PATH, as MULTIQC=PROGRAM, or from PyPI where that can be reached).
#   report_page.sh SLUICE PYTHON_ENVIRONMENT
set -euo pipefail
sluice=$1 environment=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "FAILED: $*" >&2; exit 1; }
browser=$(command -v chromium-headless-shell || command -v chromium || true)
[ -n "$browser" ] || echo "SKIPPED in part: there is no chromium-headless-shell and no chromium, so no page is opened"
multiqc=${MULTIQC:-$(command -v multiqc || true)}
if [ -z "$multiqc" ]; then
  [ -x "$environment/bin/multiqc" ] || { python3 -m venv "$environment" && timeout 300 "$environment/bin/pip" install --quiet multiqc; } >venv.log 2>&1 || true
  if [ -x "$environment/bin/multiqc" ]; then multiqc=$environment/bin/multiqc; else echo "SKIPPED in part: there is no multiqc, and it can't be installed here: $(tail -n 1 venv.log)"; fi
fi

# check_page FILE LEAST_CHARTS: complete, small, without anything from elsewhere, and drawn without an error.
check_page() {
  local page=$1 least=$2 charts
  [ "$(stat -c %s "$page")" -lt 600000 ] || fail "$page has $(stat -c %s "$page") bytes"
  [ "$(tail -n 1 "$page")" = "</html>" ] || fail "$page is not complete"
  [ "$(grep -c '</script>' "$page")" = 3 ] || fail "$page has $(grep -c '</script>' "$page") ends of scripts"
  ! grep -qE '(src|href)="?(https?:)?//' "$page" || fail "$page wants something from elsewhere"
  ! grep -q '{{' "$page" || fail "$page has an empty place"
  sed -n 's|^<script type="application/json" id="run">\(.*\)</script>$|\1|p' "$page" >"$page.json"
  python3 - "$page.json" <<'PYTHON' || fail "what is in $page is no JSON"
import json, sys
data = json.load(open(sys.argv[1], encoding="utf-8"))
history = data["history"]
assert len(history["seconds"]) == len(history["threads_busy"]) == len(history["resident_bytes"]) <= 256, history
assert all(path["adds_up"] for path in data["report"]["account"])
PYTHON
  [ -n "$browser" ] || return 0
  "$browser" --headless --no-first-run --user-data-dir="$PWD/browser" --no-sandbox --disable-gpu --enable-logging=stderr --virtual-time-budget=10000 --dump-dom "file://$PWD/$page" >dom.html 2>log.txt || fail "$browser: $(cat log.txt)"
  ! grep -q ':CONSOLE' log.txt || fail "$page: $(grep ':CONSOLE' log.txt)"
  charts=$(sed -n 's/.*data-charts="\([0-9]*\)".*/\1/p' dom.html)
  [ "${charts:-0}" -ge "$least" ] || fail "$page shows ${charts:-no} charts, not $least"
  [ "$(grep -c '<canvas' dom.html)" -ge 1 ] || fail "$page has no canvas"
}

"$sluice" run synthetic_reference --length 20000 --seed 1 --output reference.fa --quiet
"$sluice" run simulate --reference reference.fa --reads 60 --mean-length 3000 --seed 1 --output-prefix reads --quiet --report simulate.html
check_page simulate.html 5

# All kinds at once; the page's figures are the JSON's.
call() {
  "$sluice" run methylation --signal reads.blow5 --alignments reads.bam --reference reference.fa --quiet "$@"
}
call --output calls.tsv --modbam reads.mod.bam --report run.html --report run.json --report one_mqc.json --report multiqc/first/
check_page run.html 6
python3 - <<'PYTHON' || fail "the page and the JSON of one run differ"
import json
page, report = json.load(open("run.html.json"))["report"], json.load(open("run.json"))
for key in ("state", "account", "outputs", "files"):
    assert page[key] == report[key], key
lengths = [stage["row_lengths"] for stage in report["stages"] if "row_lengths" in stage]
assert lengths and all(l["rows"] == 60 == sum(one[2] for one in l["histogram"]) for l in lengths), lengths
assert {file["what"] for file in report["files"]} >= {"--signal", "--alignments", "--reference", "--output", "--modbam"}
assert all(len(file["xxh3"]) == 16 and file["bytes"] > 0 for file in report["files"])
PYTHON
[ -z "$(command -v xxhsum)" ] || xxhsum -H3 calls.tsv 2>/dev/null | grep -q "$(python3 -c 'import json; print([f["xxh3"] for f in json.load(open("run.json"))["files"] if f["what"] == "--output"][0])')" ||
  fail "the checksum of calls.tsv is not xxhsum's"
call --output with.tsv --report again.html
call --output without.tsv
cmp with.tsv without.tsv

# Names that are markup, and bad input.
hostile='<img src=x onerror=alert(1)><!--'
cp reads.bam "$hostile.bam"
"$sluice" run methylation --signal reads.blow5 --alignments "$hostile.bam" --reference reference.fa --output "$hostile.tsv" --quiet --report hostile.html
check_page hostile.html 6
! grep -q '<img' hostile.html || fail "a file's name became markup"
[ -z "$browser" ] || grep -q '&lt;img src=x' dom.html || fail "the file's name is not shown"
head -c 20000 reads.bam >cut.bam
"$sluice" run methylation --signal reads.blow5 --alignments cut.bam --reference reference.fa --output cut.tsv --quiet --report cut.html 2>/dev/null && fail "a cut file was read"
check_page cut.html 1
[ -z "$browser" ] || grep -q 'It failed' dom.html || fail "the page does not say that the run failed"
: >nothing.fastq
"$sluice" run map --reference reference.fa --reads nothing.fastq --output nothing.paf --quiet --report nothing.html --allow-empty 2>/dev/null || true
check_page nothing.html 1

# Reports that cannot be.
"$sluice" run map --reference reference.fa --reads reads.fastq.gz --output x.paf --quiet --report missing/run.html 2>err.txt && fail "a report in a folder that is not there"
grep -q -e '--report' err.txt || fail "$(cat err.txt)"
"$sluice" run map --reference reference.fa --reads reads.fastq.gz --output x.paf --quiet --report a.html --report ./a.html 2>err.txt && fail "two reports in one file"
grep -q 'also another output' err.txt || fail "$(cat err.txt)"

# MultiQC: two runs on one page.
"$sluice" run map --reference reference.fa --reads reads.fastq.gz --output x.paf --quiet --report multiqc/second/
ls multiqc/*/ | grep -q _mqc.json || fail "nothing for MultiQC"
python3 - <<'PYTHON' || fail "what is for MultiQC is not what it should be"
import glob, json
for file in glob.glob("multiqc/*/*_mqc.json") + ["one_mqc.json"]:
    tree = json.load(open(file))
    assert tree["id"].startswith("sluice_") and tree["plot_type"] in ("bargraph", "linegraph", "generalstats"), file
    sample = "one" if file == "one_mqc.json" else file.split("/")[1]
    assert list(tree["data"]) == [sample], file
    if tree["plot_type"] == "linegraph":
        lengths = [point[0] for point in tree["data"][sample]]
        assert len(lengths) > 1 and lengths == sorted(lengths), file
PYTHON
if [ -n "$multiqc" ]; then
  "$multiqc" multiqc --outdir page --no-ansi >multiqc.log 2>&1 || fail "$(cat multiqc.log)"
  ! grep -qi 'error\|warning' multiqc.log || fail "$(cat multiqc.log)"
  for sample in first second; do grep -q "^$sample" page/multiqc_data/multiqc_general_stats.txt || fail "MultiQC does not know the run '$sample'"; done
  [ -s page/multiqc_report.html ] || fail "MultiQC made no page"
fi
echo "all right"
