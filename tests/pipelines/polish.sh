#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# A draft with errors is polished by simulated reads: racon's bytes where racon is installed, the same bytes however it runs, fewer errors than the draft, and
# the errors of files that do not fit. With SHARED_DIR racon's recorded outputs of real reads, too.
#   polish.sh SLUICE SHARED_DIR
set -euo pipefail
sluice=$1 shared=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "FAILED: $*"; exit 1; }

"$sluice" run synthetic_reference --length 30000 --seed 4 --output truth.fa --quiet
# Every 40th base of the draft is wrong; reads tile the truth, every other one reversed, with an error every 13 bases. Overlaps are known by construction.
awk '!/^>/ { text = text toupper($0) }
     function other(c) { return c == "A" ? "C" : c == "C" ? "G" : c == "G" ? "T" : "A" }
     function wrong(s, step, shift,   i, c, r) {
       for (i = 1; i <= length(s); ++i) { c = substr(s, i, 1); if ((i + shift) % step) r = r c; else if (i % 3 == 0) r = r other(c); else if (i % 3 == 1) r = r c "A" }
       return r }
     function reversed(s,   i, r) { for (i = length(s); i > 0; --i) r = r comp[substr(s, i, 1)]; return r }
     END { comp["A"] = "T"; comp["C"] = "G"; comp["G"] = "C"; comp["T"] = "A"
           for (i = 1; i <= length(text); ++i) { c = substr(text, i, 1); draft = draft (i % 40 ? c : other(c)) }
           print ">draft of it\n" draft "\n>lonely\nACGTACGTAC" > "draft.fa"
           for (n = 0; n < 190; ++n) {
             begin = (n * 1531) % (length(text) - 2999); s = wrong(substr(text, begin + 1, 3000), 13, n); strand = n % 2 ? "-" : "+"
             if (n % 2) s = reversed(s)
             q = ""; for (i = 1; i <= length(s); ++i) q = q (i % 500 < 100 ? "&" : "7")
             print "@r" n "\n" s "\n+\n" q > "reads.fq"
             printf "r%d\t%d\t0\t%d\t%s\tdraft\t%d\t%d\t%d\t2800\t3000\t60\n", n, length(s), length(s), strand, length(text), begin, begin + 3000 > "overlaps.paf"
           } }' truth.fa
gzip -k reads.fq overlaps.paf

targets=draft.fa reads=reads.fq overlaps=overlaps.paf
polish() { "$sluice" run polish --targets "$targets" --reads "$reads" --overlaps "$overlaps" "$@"; }
polish --compat racon --output first.fa --quiet
grep -q '^>draft LN:i:[0-9]* RC:i:190 XC:f:[01].[0-9]*$' first.fa || fail "$(head -1 first.fa)"
sed '2~4y/T/U/' reads.fq >rna.fq
sed '/^>/!y/T/U/' draft.fa >rna_draft.fa
"$sluice" run polish --targets rna_draft.fa --reads rna.fq --overlaps overlaps.paf --compat racon --output now.fa --quiet
cmp now.fa first.fa || fail "U is not read as T"
for options in "--threads 1" "--threads 7" "--batch-work 1" "--batch-work 1e12" "--executor serial" "--memory 32MiB" "--device cpu" \
               "--set stages.overlaps.params.memory=1"; do
  # shellcheck disable=SC2086
  polish --compat racon --output now.fa --quiet $options
  cmp first.fa now.fa || fail "$options gives other bytes"
done
reads=reads.fq.gz overlaps=overlaps.paf.gz polish --compat racon --output now.fa --quiet
cmp first.fa now.fa || fail "compressed files give other bytes"
echo "same bytes for any threads, batches, memory and compression"

# Bases that neither draft nor polished draft have in common with the truth, by words of 16 bases.
missing_words() { awk '!/^>/ { text = text $0 } /^>lonely/ { exit } END { for (i = 1; i + 15 <= length(text); ++i) print substr(text, i, 16) }' "$1" | sort -u >words
                  awk '!/^>/ { text = text toupper($0) } END { for (i = 1; i + 15 <= length(text); ++i) print substr(text, i, 16) }' truth.fa | sort -u | comm -13 words - | wc -l; }
polish --output polished.fa --quiet
before=$(missing_words draft.fa) after=$(missing_words polished.fa)
[ $((after * 10)) -lt "$before" ] || fail "the draft lacks $before words of the truth, the polished one $after"
echo "words of the truth that are missing: $before before, $after after"

# FASTQ has the same bases, one quality each; VCF says what was changed: put into the draft it gives the polished one.
polish --output-format fastq --output polished.fq --changes changes.vcf --quiet
cmp <(awk 'NR % 4 == 1 { print ">" substr($0, 2) } NR % 4 == 2' polished.fq) polished.fa || fail "FASTQ has other bases than FASTA"
awk 'NR % 4 == 2 { bases = length($0) } NR % 4 == 0 { if (length($0) != bases) exit 1; for (i = 1; i <= bases; ++i) seen[substr($0, i, 1)] = 1; n = 0; for (q in seen) ++n; if (n < 5) exit 1 }' polished.fq ||
  fail "the qualities do not fit the bases, or are all the same"
awk -F'\t' 'FNR == NR { if (/^>/) { name = substr($0, 2); sub(" .*", "", name) } else draft[name] = draft[name] toupper($0); next }
            /^#/ { next }
            { at = $1 in end ? end[$1] : 1
              if ($2 < at || substr(draft[$1], $2, length($4)) != $4) { print "bad record: " $0; exit 1 }
              text[$1] = text[$1] substr(draft[$1], at, $2 - at) $5; end[$1] = $2 + length($4) }
            END { print text["draft"] substr(draft["draft"], end["draft"]) }' draft.fa changes.vcf >changed.txt || fail "$(tail -1 changed.txt)"
cmp changed.txt <(sed -n 2p polished.fa) || fail "the draft with its changes is not the polished one"
for options in "--threads 1" "--batch-work 1" "--executor serial"; do
  # shellcheck disable=SC2086
  polish --output-format fastq --output now.fq --changes now.vcf --quiet $options
  cmp polished.fq now.fq || fail "$options gives another FASTQ"
  cmp changes.vcf now.vcf || fail "$options gives another VCF"
done
echo "FASTQ and VCF: $(grep -vc '#' changes.vcf) changes make the draft the polished one"

# Rounds: the same bytes however it runs, and no fewer errors removed.
polish --rounds 2 --output again.fa --quiet
cmp -s polished.fa again.fa && fail "a second round changes nothing"
[ "$(missing_words again.fa)" -le "$after" ] || fail "the second round makes it worse: $(missing_words again.fa) words are missing"
for options in "--threads 1" "--batch-work 1" "--executor serial" "--memory 32MiB"; do
  # shellcheck disable=SC2086
  polish --rounds 2 --output now.fa --quiet $options
  cmp again.fa now.fa || fail "two rounds: $options gives other bytes"
done
echo "two rounds: $(missing_words again.fa) words are missing"

if command -v racon >/dev/null; then
  compare() { name=$1; shift; racon "${peer[@]}" reads.fq overlaps.paf draft.fa >racon.fa 2>/dev/null; polish --output now.fa --quiet "$@"; cmp racon.fa now.fa || fail "$name: not racon's bytes"; }
  peer=(); compare default --compat racon
  peer=(-u -w 700 -q 5 -e 0.1 -m 5 -x -4 -g -8); compare options --include-unpolished --window-length 700 --min-quality 5 --max-error 0.1 --match 5 --mismatch -4 --gap -8
  peer=(--no-trimming); compare untrimmed --compat racon --trim never
  # Reads that overlap each other: by where they were taken from.
  awk -F'\t' '{ q[NR] = $1; l[NR] = $2; s[NR] = $5; b[NR] = $8; e[NR] = $9 }
              END { for (i = 1; i <= NR; ++i) for (j = 1; j <= NR; ++j) { lo = b[i] > b[j] ? b[i] : b[j]; hi = e[i] < e[j] ? e[i] : e[j]
                      if (i == j || hi - lo < 1500) continue
                      qs = int((lo - b[i]) * l[i] / 3000); qe = int((hi - b[i]) * l[i] / 3000); ts = int((lo - b[j]) * l[j] / 3000); te = int((hi - b[j]) * l[j] / 3000)
                      if (s[i] == "-") { x = l[i] - qe; qe = l[i] - qs; qs = x }
                      if (s[j] == "-") { x = l[j] - te; te = l[j] - ts; ts = x }
                      printf "%s\t%d\t%d\t%d\t%s\t%s\t%d\t%d\t%d\t1\t1\t0\n", q[i], l[i], qs, qe, s[i] == s[j] ? "+" : "-", q[j], l[j], ts, te } }' overlaps.paf >all.paf
  racon -f reads.fq all.paf reads.fq >racon.fa 2>/dev/null
  "$sluice" run polish --preset reads --targets reads.fq --reads reads.fq --overlaps all.paf --compat racon --output now.fa --quiet
  cmp racon.fa now.fa || fail "racon -f: other bytes"
  [ "$(grep -c '>' now.fa)" -gt 150 ] || fail "only $(grep -c '>' now.fa) reads were corrected"
  echo "racon's bytes: default, options, untrimmed, reads by each other"
else
  echo "SKIPPED: racon is not installed, so that nothing was compared with it"
fi

# Overlaps that come in order are polished with while they are read.
LC_ALL=C sort -t "$(printf '\t')" -k6,6 -k8,8n overlaps.paf >sorted.paf
overlaps=sorted.paf polish --output any.fa --quiet
for options in "" "--threads 1" "--batch-work 1" "--memory 32MiB"; do
  # shellcheck disable=SC2086
  overlaps=sorted.paf polish --overlaps-arrival in_order --output now.fa --quiet $options
  cmp any.fa now.fa || fail "sorted overlaps: other bytes if they are polished with as they come, $options"
done
if polish --overlaps-arrival in_order --output now.fa 2>log; then fail "overlaps that are not in order were taken for it"; fi
grep -q "does not come in the order of the targets" log || fail "no word of the order: $(cat log)"

"$sluice" run map --reference draft.fa --reads reads.fq --output mapped.paf --quiet
overlaps=mapped.paf polish --output first.mapped.fa --quiet
for options in "--threads 1" "--threads 7" "--batch-work 1" "--memory 32MiB"; do
  # shellcheck disable=SC2086
  "$sluice" run polish --targets draft.fa --reads reads.fq --output now.fa --quiet $options
  cmp first.mapped.fa now.fa || fail "mapping in the same run gives other bytes, $options"
done
echo "without overlaps: the bytes of a run on the PAF of sluice run map"

refused() { what=$1 message=$2; shift 2; if polish --output bad.fa "$@" >log 2>&1; then fail "$what: no error"; fi; grep -q -- "$message" log || { cat log; fail "$what: another message"; }; [ ! -e bad.fa ] || fail "$what: an output is left"; }
head -c 5000 overlaps.paf >cut.paf; overlaps=cut.paf refused "truncated PAF" "line [0-9]*: a PAF line has at least 12 columns"
head -c 1000 overlaps.paf.gz >cut.paf.gz; overlaps=cut.paf.gz refused "truncated gzip" "truncated or damaged"
sed 's/\t30000\t/\t31000\t/' overlaps.paf >long.paf; overlaps=long.paf refused "another length" "is said to have 31000 bases, but has 30000"
: >empty
empty() { code=0; polish --output bad.fa "$@" >log 2>&1 || code=$?; [ $code = 3 ] && grep -q "^warning: .*'empty' is empty" log || { cat log; fail "empty input: exit code $code"; }; rm bad.fa; }
overlaps=empty empty; reads=empty empty; targets=empty empty
head -n 3 reads.fq >cut.fq; reads=cut.fq refused "truncated reads" "ends within the qualities of"
{ cat overlaps.paf; printf 'nobody\t10\t0\t10\t+\tdraft\t30000\t0\t10\t1\t1\t1\n'; printf 'r1\t%d\t0\t99999\t+\tdraft\t30000\t0\t10\t1\t1\t1\n' "$(awk -F'\t' '$1 == "r1" { print $2 }' overlaps.paf)"; } >odd.paf
overlaps=odd.paf polish --compat racon --output now.fa 2>log
cmp first.fa now.fa
grep -q "unknown_sequence 1" log && grep -q "past_the_end 1" log || { cat log; fail "odd overlaps are not counted"; }
polish --include-unpolished --output now.fa --quiet
[ "$(tail -n 1 now.fa)" = ACGTACGTAC ] || fail "a target without overlaps was lost"
echo "files that do not fit are refused, odd overlaps are counted"

data=$shared/data/lambda_ont_real
if [ -d "$data" ]; then
  for set in paf sam; do
    "$sluice" run polish --targets "$data/sample_layout.fasta.gz" --reads "$data/sample_reads.fastq.gz" --overlaps "$data/sample_overlaps.$set.gz" --compat racon --output now.fa --quiet
    cmp now.fa "$data/expected/racon.fq.$set.fa" || fail "lambda, $set"
  done
  "$sluice" run polish --targets "$data/sample_layout.fasta.gz" --reads "$data/sample_reads.fastq.gz" --overlaps "$data/sample_overlaps.paf.gz" --match 5 --mismatch -4 --gap -8 --output now.fa --quiet
  cmp now.fa "$data/expected/racon.fq.paf.m5x4g8.fa" || fail "lambda, other scores"
  echo "racon's recorded outputs of real reads"
else
  echo "SKIPPED: there is no $data"
fi
echo "all good"
