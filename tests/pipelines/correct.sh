#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Self-correction: simulated reads become their truth, the same bytes however it ran and wherever the overlaps came from, reads without help stay as they
# are, and inputs that are wrong.
#   correct.sh SLUICE MAKE_TEST_INPUT SHARED_DIR [DATA_DIR]
# DATA_DIR: the sets of shared/tools/make-data; with it the set `correct` is corrected, too (a minute).
set -euo pipefail
sluice=$1 make_test_input=$2 shared=$3 data=${4:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() { echo "FAILED: $*" >&2; exit 1; }
correct() { "$sluice" run correct --quiet "$@"; }
reads=(5 12000 80 3000 80000)  # seed, bases of the genome, reads, their mean length, errors in a million bases
"$make_test_input" noisy_reads "${reads[@]}" >reads.fq
"$make_test_input" noisy_reads_truth "${reads[@]}" >truth.fa

# Of all k-mers of the corrected reads (upper case) and of the truth, the share that only one side has: about 17 for each error.
wrong_kmers() { # READS TRUTH
  awk 'function count(side, text, i) { for (i = 1; i + 16 <= length(text); i++) { n[name, substr(text, i, 17)] += side; all++ } }
       FNR == 1 { side = side == 0 ? 1 : -1 }
       /^>/ { name = substr($1, 2); next }
       { count(side, toupper($0)) }
       END { for (key in n) wrong += n[key] < 0 ? -n[key] : n[key]; printf "%d\n", 1000000 * wrong / all }' "$1" "$2"
}
awk 'NR % 4 == 1 { print ">" substr($1, 2) } NR % 4 == 2' reads.fq >reads.fa

# ---- truth
correct --reads reads.fq --output corrected.fa
before=$(wrong_kmers reads.fa truth.fa) after=$(wrong_kmers corrected.fa truth.fa)
[ "$before" -gt 500000 ] || fail "the reads have too few errors for a test: $before"
[ "$after" -lt 15000 ] || fail "of a million 17-mers $after are wrong after correction ($before before)"
[ "$(grep -c '^>' corrected.fa)" = 80 ] || fail "a read was lost or split"
[ "$(grep '^>' corrected.fa)" = "$(grep '^>' reads.fa)" ] || fail "reads come in another order"
correct --reads reads.fa --output without_qualities.fa
[ "$(wrong_kmers without_qualities.fa truth.fa)" -lt 20000 ] || fail "without qualities: $(wrong_kmers without_qualities.fa truth.fa) wrong 17-mers in a million"
echo "corrected: of a million 17-mers $before were wrong, $after are"

# ---- qualities: the same reads, and 17-mers whose bases all have a good one are wrong far more rarely. Own bases keep their own.
correct --reads reads.fq --output corrected.fq
awk 'NR % 4 == 1 { print ">" substr($1, 2) } NR % 4 == 2' corrected.fq | cmp - corrected.fa || fail "FASTQ has other reads than FASTA"
awk 'NR % 4 == 2 { bases = length($0) } NR % 4 == 0 && length($0) != bases { exit 1 }' corrected.fq || fail "a read has more or fewer qualities than bases"
read -r good bad <<<"$(awk '
  BEGIN { for (i = 33; i < 127; i++) phred[sprintf("%c", i)] = i - 33 }
  FNR == NR { if (/^>/) name = substr($1, 2); else for (i = 1; i + 16 <= length($0); i++) true_ones[name, substr($0, i, 17)]; next }
  FNR % 4 == 1 { name = substr($1, 2) }
  FNR % 4 == 2 { bases = $0 }
  FNR % 4 == 0 {
    for (i = 1; i + 16 <= length(bases); i++) {
      kmer = substr(bases, i, 17)
      if (kmer != toupper(kmer)) continue
      least = 99
      for (j = i; j < i + 17; j++) if (phred[substr($0, j, 1)] < least) least = phred[substr($0, j, 1)]
      all[least >= 20]++
      wrong[least >= 20] += !((name, kmer) in true_ones)
    }
  }
  END { printf "%d %d\n", 1000000 * wrong[1] / all[1], 1000000 * wrong[0] / all[0] }' truth.fa corrected.fq)"
echo "of a million 17-mers with qualities from 20 on $good are wrong, of others $bad"
[ $((10 * good)) -lt "$bad" ] || fail "qualities do not tell good bases from bad ones"
for option in "--threads 3" "--batch-work 1" "--executor serial"; do
  # shellcheck disable=SC2086
  correct --reads reads.fq --output now.fq $option
  cmp now.fq corrected.fq || fail "$option gives other qualities"
done
correct --reads reads.fa --output-format fastq --uncorrected trim --output now.fq
awk 'NR % 4 == 2 { bases = length($0) } NR % 4 == 0 && length($0) != bases { exit 1 }' now.fq || fail "a trimmed read has more or fewer qualities than bases"
# A read that nobody overlaps keeps what it has.
head -4 reads.fq >lone.fq
correct --reads lone.fq --output lone.fastq --allow-empty 2>/dev/null
cmp <(sed -n 4p lone.fq) <(sed -n 4p lone.fastq) || fail "a read without overlaps has other qualities"

# ---- the same bytes
options=("--threads 1" "--threads 2" "--threads 7" "--batch-work 1" "--batch-work 1e12" "--executor serial" "--memory 64MiB" "--device cpu" "--reads-in-memory 0")
for option in "${options[@]}"; do
  # shellcheck disable=SC2086
  correct --reads reads.fq --output now.fa $option
  cmp now.fa corrected.fa || fail "$option gives other bytes"
  echo "same bytes: $option"
done
# U is T, in memory and from the file.
sed '2~4y/Tt/Uu/' reads.fq >rna.fq
for memory in 0 64; do
  correct --reads rna.fq --output now.fa --reads-in-memory $memory
  cmp now.fa corrected.fa || fail "reads with U and --reads-in-memory $memory give other bytes"
done
# An index in parts gives the overlaps of one index, whatever the parts' size. Where equally good chains end, one index has minimap2's choice: ends may
# differ by some bases, reads, strands and scores don't.
for how in "" --dual "--f 12" "--f 0.01 --min-occ 10 --hpc"; do
  pairs() { awk 'BEGIN { OFS = "\t" } { print $1, $5, $6, $15 }' "$1" | sort; }
  # shellcheck disable=SC2086
  "$sluice" run overlap --quiet --reads reads.fq $how --part-bases 0 --output whole.paf
  [ -s whole.paf ] || fail "no overlaps: $how"
  for part_bases in 150000 40000 1; do
    # shellcheck disable=SC2086
    "$sluice" run overlap --quiet --reads reads.fq $how --part-bases $part_bases --threads 2 --output parts.$part_bases.paf
    cmp parts.150000.paf parts.$part_bases.paf || fail "overlap $how --part-bases $part_bases gives other bytes"
  done
  cmp <(pairs whole.paf) <(pairs parts.1.paf) || fail "overlap $how finds other overlaps in parts"
done
for part_bases in 150000 40000 1; do
  correct --reads reads.fq --output now.fa --part-bases $part_bases --threads 3
  cmp now.fa corrected.fa || fail "--part-bases $part_bases gives other bytes"
  echo "same bytes: --part-bases $part_bases"
done
got=0
# A bound on coverage that nothing reaches changes nothing; one that is reached leaves reads that are nearly as right, whatever the threads.
correct --reads reads.fq --max-coverage 100000 --output now.fa && cmp now.fa corrected.fa || fail "a bound that nothing reaches gives other bytes"
for threads in 1 3; do correct --reads reads.fq --max-coverage 12 --threads $threads --output bounded.$threads.fa; done
cmp bounded.1.fa bounded.3.fa || fail "--max-coverage: other bytes with other threads"
[ "$(wrong_kmers bounded.1.fa truth.fa)" -lt 60000 ] || fail "--max-coverage 12: $(wrong_kmers bounded.1.fa truth.fa) wrong 17-mers in a million"
"$sluice" run overlap --quiet --reads reads.fq --part-bases 40000 --max-coverage 12 --output never.paf 2>errors && fail "--max-coverage is ignored in parts"
grep -q -- "--part-bases 0" errors || fail "--max-coverage in parts: $(cat errors)"
"$sluice" run overlap --quiet --reads reads.fq --part-bases 40000 --occ-dist 500 --output never.paf 2>errors || got=$?
[ "$got" = 2 ] && grep -q -e "--occ-dist" errors && [ ! -e never.paf ] || fail "--occ-dist with an index in parts: exit code $got: $(cat errors)"
gzip -k reads.fq
correct --reads reads.fq.gz --output now.fa && cmp now.fa corrected.fa || fail "gzip input gives other bytes"
correct --reads reads.fq --output - >now.fa && cmp now.fa corrected.fa || fail "standard output gives other bytes"
"$sluice" run overlap --quiet --reads reads.fq --dual --output twice.paf
"$sluice" run overlap --quiet --reads reads.fq --output once.paf
for overlaps in twice.paf once.paf; do
  correct --reads reads.fq --overlaps $overlaps --output now.fa && cmp now.fa corrected.fa || fail "$overlaps gives other bytes"
done
"$make_test_input" shuffled_lines 5 <twice.paf >shuffled.paf
correct --reads reads.fq --overlaps shuffled.paf --overlap-directions as_given --threads 2 --output now.fa && cmp now.fa corrected.fa || fail "the order of the overlaps counts"
echo "the same bytes from overlaps in a file, in one direction or two, in any order"

# ---- how a read is cut follows from how alike it is to those over it: named, the same bytes as the options that it stands for, however the run goes
"$sluice" run correct --reads reads.fq --k 11 --output now.fa 2>summary && cmp now.fa corrected.fa || fail "--k 11 gives other bytes for reads of 8 % errors"
grep -q "reads cut by 11-mers into pieces of 300 0 (0.00 %)" summary || fail "reads of 8 % errors are noisy ones: $(cat summary)"
correct --reads reads.fq --k 11 --piece-length 100 --output now.fa && cmp now.fa corrected.fa || fail "the defaults are not 11 and 100"
noisy=(6 6000 50 3000 200000)
"$make_test_input" noisy_reads "${noisy[@]}" >noisy.fq
"$sluice" run correct --reads noisy.fq --output noisy.fa --report noisy.json 2>summary
grep -q "identity of overlaps .*(6[0-9].\|7[0-4]." summary && grep -q "reads cut by 8-mers into pieces of 300 .*(100.00 %)" summary ||
  fail "reads of 20 % errors: $(cat summary)"
grep -q '"reads cut by 8-mers into pieces of 300"' noisy.json || fail "the report does not say how reads were cut"
grep -q "corrected bases .*%" summary || fail "no share of corrected bases: $(cat summary)"
correct --reads noisy.fq --k 8 --piece-length 300 --output now.fa && cmp now.fa noisy.fa || fail "noisy reads are not cut by 8-mers into pieces of 300"
correct --reads noisy.fq --piece-length 100 --output now.fa && ! cmp -s now.fa noisy.fa || fail "--piece-length is not heeded"
for option in "--threads 1" "--threads 7" "--batch-work 1" "--executor serial" "--reads-in-memory 0"; do
  # shellcheck disable=SC2086
  correct --reads noisy.fq --output now.fa $option
  cmp now.fa noisy.fa || fail "noisy reads: $option gives other bytes"
done
# Each read is cut as if the others were not there, so also in shards, and beside reads of another kind.
for shard in 1 2; do correct --reads noisy.fq --shard $shard/2 --output part.$shard.fa; done
cat part.1.fa part.2.fa | cmp - noisy.fa || fail "noisy reads: two shards give other bytes"
cat reads.fq <(sed '1~4s/^@/@noisy_/' noisy.fq) >both.fq
correct --reads both.fq --output both.fa
[ "$(head -160 both.fa | cksum)" = "$(cksum <corrected.fa)" ] || fail "noisy reads change how others are cut"
[ "$(tail -n +161 both.fa | sed 's/^>noisy_/>/' | cksum)" = "$(cksum <noisy.fa)" ] || fail "other reads change how noisy reads are cut"
correct --reads - --output now.fa <noisy.fq && cmp now.fa noisy.fa || fail "noisy reads from a pipe give other bytes"
echo "how reads are cut"

# ---- what is not corrected
random_read() { "$make_test_input" noisy_reads 99 3000 1 1500 0 | sed '1s/.*/@alone/'; }
{ cat reads.fq; random_read; printf '@short\nACGTNacgtn\n+\n::::::::::\n'; } >more.fq
correct --reads more.fq --output now.fa
[ "$(grep -A1 '^>alone' now.fa | tail -1)" = "$(random_read | sed -n 2p | tr ACGT acgt)" ] || fail "a read without overlaps is not given in lower case"
[ "$(grep -A1 '^>short' now.fa | tail -1)" = acgtnacgtn ] || fail "a short read is not given in lower case"
[ "$(head -160 now.fa | cksum)" = "$(cksum <corrected.fa)" ] || fail "other reads change those that were there"
correct --reads more.fq --output now.fa --uncorrected upper_case
! grep -v '^>' now.fa | grep -q '[acgt]' || fail "lower case in spite of upper_case"
correct --reads more.fq --output now.fa --min-corrected 0.1 --account left_out.tsv
grep -q alone left_out.tsv && ! grep -q alone now.fa || fail "min-corrected leaves no read out, or does not say so"
correct --reads more.fq --output now.fa --uncorrected trim --min-corrected 0.1
! grep -v '^>' now.fa | grep -qE '^[acgt]|[acgt]$' || fail "trim leaves uncorrected ends"
echo "uncorrected bases and reads"

# ---- hostile and wrong inputs
expect_error() { # CODE TEXT OPTIONS...
  local code=$1 text=$2 got=0
  shift 2
  correct --output bad.fa "$@" 2>errors || got=$?
  [ "$got" = "$code" ] || { cat errors >&2; fail "exit code $got instead of $code: $*"; }
  grep -q -- "$text" errors || { cat errors >&2; fail "no '$text' in the message: $*"; }
  [ ! -e bad.fa ] || fail "an output in spite of the error: $*"
}
head -c 3000 reads.fq >cut.fq
expect_error 4 "cut.fq" --reads cut.fq
expect_error 2 "no_such" --reads no_such.fq
expect_error 2 "no_such" --reads reads.fq --overlaps no_such.paf
awk 'BEGIN { OFS = FS = "\t" } NR == 3 { $7++ } { print }' once.paf >length.paf
expect_error 4 "bases" --reads reads.fq --overlaps length.paf
{ head -3 once.paf; printf 'read1\t3000\t1'; } >cut.paf
expect_error 4 "cut.paf" --reads reads.fq --overlaps cut.paf
expect_error 2 "k" --reads reads.fq --k 16
# Overlaps of nothing, on themselves, on the wrong strand and of the wrong places: no crash, and nothing gets worse than it was by much.
awk 'BEGIN { OFS = FS = "\t" } { $5 = $5 == "+" ? "-" : "+" } { print }' once.paf >strand.paf
correct --reads reads.fq --overlaps strand.paf --output now.fa --allow-empty
[ "$(wrong_kmers now.fa truth.fa)" -le $((before + 20000)) ] || fail "overlaps on the wrong strand spoil reads"
awk 'BEGIN { OFS = FS = "\t" } { $3 = 0; $4 = $2; $8 = 0; $9 = $7; print; $6 = $1; $7 = $2; $9 = $2; print; $1 = "nobody"; print }' once.paf >wild.paf
correct --reads reads.fq --overlaps wild.paf --output now.fa --max-bad-reads 1
[ "$(grep -c '^>' now.fa)" = 80 ] || fail "a read was lost among wild overlaps"
: >empty.paf
correct --reads reads.fq --overlaps empty.paf --output now.fa --allow-empty 2>errors
grep -q "empty.paf' is empty" errors || fail "an empty file of overlaps: $(cat errors)"
[ "$(grep -c '^>' now.fa)" = 80 ] || fail "a read was lost where there are no overlaps"
for i in $(seq 120); do sed "1s/.*/@copy$i/" < <(head -4 reads.fq); done >copies.fq
correct --reads copies.fq --output now.fa --allow-empty
[ "$(grep -v '^>' now.fa | tr acgt ACGT | sort -u)" = "$(sed -n 2p reads.fq)" ] || fail "copies of one read do not stay as they are"
echo "hostile and wrong inputs"

# ---- real reads, and the large set
if [ ! -e "$shared/data/hg002_correction_real/reads.fq" ]; then
  echo "SKIPPED: no $shared/data/hg002_correction_real"
else
  correct --reads "$shared/data/hg002_correction_real/reads.fq" --output real.fa
  if command -v minimap2 >/dev/null; then
    differences() { minimap2 -cx map-ont --secondary=no "$shared/data/hg002_correction_real/ref.fasta" "$1" 2>/dev/null |
      awk '$11 > 5000 { for (i = 13; i <= NF; i++) if ($i ~ /^NM:/) edits += substr($i, 6); columns += $11 } END { printf "%d\n", 1000000 * edits / columns }'; }
    before=$(differences "$shared/data/hg002_correction_real/reads.fq") after=$(differences real.fa)
    [ "$after" -lt 1000 ] || fail "real reads: $after differences a million bases after correction, $before before"
    echo "real reads: of a million bases $before differed, $after do"
  else
    echo "SKIPPED: no minimap2, so corrected real reads were not mapped"
  fi
fi
if [ ! -e "$shared/data/lambda_ont_real/sample_reads.fastq.gz" ]; then
  echo "SKIPPED: no $shared/data/lambda_ont_real"
elif ! command -v minimap2 >/dev/null; then
  echo "SKIPPED: no minimap2, so corrected reads of lambda were not mapped"
else
  # Of 20 % errors: identity is minimap2's matches over columns; racon -f leaves 97.12 %.
  correct --reads "$shared/data/lambda_ont_real/sample_reads.fastq.gz" --output lambda.fa
  matches=$(minimap2 -t 1 -cx map-ont --secondary=no "$shared/data/lambda_ont_real/sample_reference.fasta.gz" lambda.fa 2>/dev/null |
    awk '{ matches += $10; columns += $11 } END { printf "%d\n", 100000 * matches / columns }')
  [ "$matches" -ge 97120 ] || fail "real reads of lambda: of 100,000 columns $matches match"
  echo "real reads of lambda: of 100,000 columns $matches match"
fi
if [ -n "$data" ]; then
  correct --reads "$data/correct.fq" --output large.fa
  [ "$(grep -c '^>' large.fa)" = "$(($(wc -l <"$data/correct.fq") / 4))" ] || fail "reads were lost"
  sed 's/^>\([^!]*\)!.*!\([0-9]*\)!\([0-9]*\)!\(.\)$/\1 \2 \3 \4/;t;s/^/=/' large.fa | paste - - | awk -v file="$data/ecoli250k.fa" '
    BEGIN { while ((getline line <file) > 0) if (line !~ /^>/) genome = genome line }
    { truth = substr(genome, $2 + 1, $3 - $2)
      if ($4 == "-") { text = ""; for (i = length(truth); i > 0; i--) text = text substr("TGCA", index("ACGT", substr(truth, i, 1)), 1); truth = text }
      print ">" $1 "\n" truth >"large_truth.fa"; print ">" $1 "\n" substr($5, 2) >"large_reads.fa" }'
  after=$(wrong_kmers large_reads.fa large_truth.fa)
  [ "$after" -lt 6000 ] || fail "large set: of a million 17-mers $after are wrong"
  echo "large set: of a million 17-mers $after are wrong"
fi
