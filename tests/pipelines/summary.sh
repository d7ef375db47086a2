#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# A table for NanoPlot and pycoQC: what files say of reads, from SLOW5, BLOW5 and POD5, with and without bases; read by NanoPlot's
# reader where PyPI can be reached.
#   summary.sh SLUICE SHARED_DIR PYTHON_ENVIRONMENT
set -euo pipefail
sluice=$1 data=$2/data environment=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "FAILED: $*" >&2; exit 1; }
run() { "$sluice" run "$@" --quiet; }
column() { awk -F'\t' -v name="$1" 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == name) at = i; next } { print $at }' "$2"; }

run synthetic_reference --length 20000 --seed 2 --output ref.fa
run simulate --reference ref.fa --reads 40 --seed 2 --mean-length 2500 --output-prefix r
gzip -dc r.fastq.gz >reads.fastq

# The simulator says where and when its reads were sequenced.
run summary --signal r.blow5 --reads r.fastq.gz --output simulated.txt
[ "$(column channel simulated.txt | awk '$1 >= 1 && $1 <= 512' | wc -l)" = 40 ] || fail "channels of simulated reads"
[ "$(column start_time simulated.txt | awk '$1 > 0' | wc -l)" = 40 ] || fail "start times of simulated reads"
[ "$(column run_id simulated.txt | sort -u)" = simulated_2 ] || fail "the run of simulated reads"
[ "$(column end_reason simulated.txt | grep -c signal_positive)" -ge 30 ] || fail "end reasons of simulated reads"

# SLOW5 of the same reads, with the fields of a sequencer: written here, by the numbers of the reads.
{
  printf '#slow5_version\t0.2.0\n#num_read_groups\t1\n@run_id\trun_a\n@experiment_type\tgenomic_dna\n@sequencing_kit\tsqk-lsk109\n'
  printf '#char*\tuint32_t\tdouble\tdouble\tdouble\tdouble\tuint64_t\tint16_t*\tchar*\tdouble\tint32_t\tuint8_t\tuint64_t\n'
  printf '#read_id\tread_group\tdigitisation\toffset\trange\tsampling_rate\tlen_raw_signal\traw_signal\tchannel_number\tmedian_before\tread_number\tstart_mux\tstart_time\n'
  awk 'NR % 4 == 1 { n = (NR + 3) / 4; signal = 500; for (i = 1; i < 4 * n; ++i) signal = signal "," 500 + i
         printf "%s\t0\t8192\t6\t1400\t4000\t%d\t%s\t%d\t%.1f\t%d\t%d\t%d\n", substr($1, 2), 4 * n, signal, 1 + 12 * n, 200 + n / 2, n, 1 + n % 4, 40000 * n }' reads.fastq
} >s.slow5
# Files that do not say channels: with a warning, zeros.
cut -f1-8 s.slow5 >bare.slow5
"$sluice" run summary --signal bare.slow5 --reads r.fastq.gz --output bare.txt 2>err.txt
grep -q "do not say channel or start time of 40 reads" err.txt || fail "$(cat err.txt)"
[ "$(column channel bare.txt | sort -u)" = 0 ] || fail "channels that nobody said"

run summary --signal s.slow5 --reads r.fastq.gz --output sequencing_summary.txt
[ "$(wc -l <sequencing_summary.txt)" = 41 ] || fail "$(wc -l <sequencing_summary.txt) lines"
for name in filename read_id run_id channel mux start_time duration passes_filtering sequence_length_template mean_qscore_template end_reason; do
  head -1 sequencing_summary.txt | tr '\t' '\n' | grep -qx $name || fail "no column $name"
done
column read_id sequencing_summary.txt | cmp - <(awk 'NR % 4 == 1 { print substr($1, 2) }' reads.fastq) || fail "reads are not in their order"
column sequence_length_template sequencing_summary.txt | cmp - <(awk 'NR % 4 == 2 { print length($0) }' reads.fastq) || fail lengths
column channel sequencing_summary.txt | cmp - <(awk 'BEGIN { for (n = 1; n <= 40; ++n) print 1 + 12 * n }') || fail channels
column mux sequencing_summary.txt | cmp - <(awk 'BEGIN { for (n = 1; n <= 40; ++n) print 1 + n % 4 }') || fail wells
column start_time sequencing_summary.txt | cmp - <(awk 'BEGIN { for (n = 1; n <= 40; ++n) printf "%.6f\n", 10 * n }') || fail starts
column duration sequencing_summary.txt | cmp - <(awk 'BEGIN { for (n = 1; n <= 40; ++n) printf "%.6f\n", n / 1000 }') || fail durations
[ "$(column filename sequencing_summary.txt | sort -u)" = s.slow5 ] || fail "names of files"
[ "$(column run_id sequencing_summary.txt | sort -u)" = run_a ] || fail runs
# The mean of the probabilities of an error, by awk.
awk 'BEGIN { for (i = 33; i < 127; ++i) p[sprintf("%c", i)] = 10 ^ (-(i - 33) / 10) }
     NR % 4 == 0 { sum = 0; for (i = 1; i <= length($0); ++i) sum += p[substr($0, i, 1)]; printf "%.4f\n", -10 * log(sum / length($0)) / log(10) }' reads.fastq >expected.txt
column mean_qscore_template sequencing_summary.txt | awk '{ printf "%.4f\n", $1 }' | cmp - expected.txt || fail qualities
run summary --signal s.slow5 --reads r.fastq.gz --min-qscore 93 --output none_pass.txt
[ "$(column passes_filtering none_pass.txt | sort -u)" = FALSE ] || fail "reads of quality 93"

# The same bytes for threads, batches, names and kinds of files.
for options in "--threads 1" "--threads 5" "--batch-work 1" "--batch-work 1e12" "--executor serial"; do
  # shellcheck disable=SC2086
  run summary --signal s.slow5 --reads r.fastq.gz --output again.txt $options
  cmp again.txt sequencing_summary.txt || fail "$options gives other lines"
done
run summary --signal s.slow5 --reads reads.fastq --output again.txt.gz
gzip -dc again.txt.gz | cmp - sequencing_summary.txt
# Without bases: the reads of the signal file, lengths and qualities 0, the rest as it was.
run summary --signal s.slow5 --output signal_only.txt
cmp <(cut -f 2-7 signal_only.txt) <(cut -f 2-7 sequencing_summary.txt) || fail "other lines from the signal alone"
[ "$(column sequence_length_template signal_only.txt | sort -u)" = 0 ] || fail "a length from the signal alone"
[ "$(column passes_filtering signal_only.txt | sort -u)" = FALSE ] || fail "reads without bases pass"
# Reads without signal are counted.
{ cat reads.fastq && printf '@stranger\nACGT\n+\nIIII\n'; } >more.fastq
run summary --signal s.slow5 --reads more.fastq --output again.txt --account account.tsv
cmp again.txt sequencing_summary.txt || fail "a read without signal has a line"
grep -q "^stranger.*no_signal" account.tsv || fail "$(cat account.tsv)"
head -n -1 s.slow5 >cut.slow5 && tail -1 s.slow5 | cut -f 1-9 >>cut.slow5
run summary --signal cut.slow5 --output again.txt --account account.tsv
[ "$(wc -l <again.txt)" = 40 ] && grep -q corrupt_signal account.tsv || fail "a record that lacks fields: $(cat account.tsv)"

# BLOW5 and POD5 of the same reads say the same.
if [ -e "$data/ecoli_r9_real/reads.pod5" ]; then
  real=$data/ecoli_r9_real
  cp "$real/reads.blow5" real.blow5
  run summary --signal real.blow5 --reads "$real/reads.fasta" --output blow5.txt
  run summary --signal "$real/reads.pod5" --reads "$real/reads.fasta" --output pod5.txt
  # The name of the file is another one, and end reasons are spelled otherwise.
  cut -f 2-14 blow5.txt >a && cut -f 2-14 pod5.txt >b
  cmp a b || fail "BLOW5 and POD5 of the same reads: $(diff a b | head -4)"
  [ "$(column channel blow5.txt | sort -u | wc -l)" -gt 20 ] || fail "channels of real reads"
  column start_time blow5.txt | awk '$1 <= 0 { exit 1 }' || fail "starts of real reads"
  run summary --signal "$real/pod5_folder" --reads "$real/reads.fasta" --output again.txt
  cut -f 2-14 again.txt | cmp - b || fail "a folder of POD5"
  run summary --signal real.blow5 --output a && run summary --signal "$real/reads.pod5" --output b
  cmp <(cut -f 2-14 a | sort) <(cut -f 2-14 b | sort) || fail "BLOW5 and POD5 without bases"
else
  echo "SKIPPED: not compared with POD5, as $data/ecoli_r9_real/reads.pod5 is not there"
fi

# nanoget is what NanoPlot reads with. pycoQC, which needs other versions of its libraries, has its columns checked above.
python=$environment/bin/python3
if ! "$python" -c 'import nanoget' 2>/dev/null; then
  { python3 -m venv "$environment" && timeout 300 "$environment/bin/pip" install --quiet nanoget; } >venv.log 2>&1 || true
fi
if "$python" -c 'import nanoget' 2>>venv.log; then
  "$python" -c '
import nanoget
table = nanoget.get_input(source="summary", files=["sequencing_summary.txt"])
assert len(table) == 40, len(table)' || fail "nanoget reads other reads"
else
  echo "SKIPPED: nanoget, which cannot be installed here: $(tail -n 1 venv.log)"
fi
