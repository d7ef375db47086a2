#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# --params and --samples: the same outputs as single commands give, what goes before what, mistakes of all samples at once, and samples that fail.
#   samples.sh SLUICE
set -euo pipefail
sluice=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
cd "$work"
"$sluice" run synthetic_reference --length 40000 --seed 3 --output reference.fa --quiet
for name in a b c; do
  "$sluice" run simulate --reference reference.fa --reads 60 --seed "$(printf '%d' "'$name")" --mean-length 1200 --output-prefix "$name" --quiet
  "$sluice" run map --reference reference.fa --reads "$name.fastq.gz" --quiet --output "$name.paf"
done
"$sluice" run map --reference reference.fa --reads a.fastq.gz --k 13 --quiet --output a13.paf
cat a.paf b.paf >ab.paf

# ---- --params
cat >run.toml <<'TOML'
reference = "reference.fa"
reads = ["a.fastq.gz", "b.fastq.gz"]
output = "from_file.paf"
[run]
threads = 2
quiet = true
report = "from_file.json"
set = ["stages.reads.enabled=true"]
TOML
"$sluice" run map --params run.toml 2>words
[ ! -s words ] || { cat words; fail "quiet of the file holds"; }
cmp ab.paf from_file.paf || fail "values of a file"
grep -q '"threads": 2' from_file.json || fail "options of the run in a file"
"$sluice" run map --params run.toml --reads a.fastq.gz --k 13 --output given.paf --report given.json
cmp a13.paf given.paf || fail "the command line goes before the file"
[ -s given.json ] || fail "the command line goes before [run]"
"$sluice" plan map --params run.toml >plan.txt || fail "plan takes the file"
"$sluice" check map --params run.toml >check.txt || fail "check takes the file"
printf 'preset = "map-hifi"\nk = 13\nw = 10\n' >preset.toml
"$sluice" run map --params preset.toml --reference reference.fa --reads a.fastq.gz --quiet --output x.paf
"$sluice" run map --preset map-hifi --k 13 --w 10 --reference reference.fa --reads a.fastq.gz --quiet --output y.paf
cmp x.paf y.paf || fail "the file goes before the preset"
refused() { # TEXT_OF_FILE MESSAGE
  printf '%b' "$1" >wrong.toml
  if "$sluice" run map --params wrong.toml --reference reference.fa --reads a.fastq.gz --output no.paf 2>errors; then fail "refused: $1"; fi
  grep -qF -- "$2" errors || { cat errors; fail "'$1' is refused with '$2'"; }
  [ ! -e no.paf ] || fail "nothing is run after '$1'"
}
refused 'max_gapp = 3\n' "wrong.toml:1:1: the pipeline 'map' has no parameter 'max_gapp' (did you mean 'max_gap'?)"
refused 'threads = 3\n' "it is an option of the run: put it under [run]"
refused '[run]\nthread = 3\n' "wrong.toml:2:1: 'thread' is no option of a run (did you mean 'threads'?)"
refused '[run]\nk = 3\n' "it is a parameter of the pipeline"
refused '[run]\nparams = "x"\n' "'params' is no option of a run"
refused 'k = [1, 2]\n' "parameter 'k' takes one value, not a list"
refused 'k = 99\n' "wrong.toml:1:1: parameter 'k': 99 is out of range"
refused '[run]\nquiet = 3\n' "option 'quiet' is true or false"
refused 'k = \n' "wrong.toml:1:"
# What is wrong with files and formats is wrong in the file that names them, too.
printf 'reads = "nowhere.fq"\noutput = "o.bam"\nformat = "paf"\nfollow_idle = 3\n' >wrong.toml
"$sluice" run map --params wrong.toml --reference reference.fa 2>errors && fail "reads that are not there"
for line in "wrong.toml:1:1: parameter 'reads': cannot open 'nowhere.fq'" "wrong.toml:3:1: parameter 'format' paf contradicts parameter 'output' 'o.bam'" \
  "wrong.toml:4:1: warning: parameter 'follow_idle' does nothing here"; do
  grep -qF "$line" errors || { cat errors; fail "errors of a file: $line"; }
done
! grep -q "command line" errors || { cat errors; fail "errors of a file name the command line"; }
"$sluice" run map --params nowhere.toml --reference reference.fa 2>errors && fail "a file that is not there"
grep -q "the file of parameters cannot be read" errors || fail "a file that is not there is said"

# ---- --samples
mkdir out
printf 'sample\treads\tk\none\ta.fastq.gz\t13\ntwo\tb.fastq.gz\t\nthree\t%s\t15\n' "@c.list" >table.tsv
echo c.fastq.gz >c.list
"$sluice" run map --samples table.tsv --reference reference.fa --output 'out/{sample}.paf' --report 'out/{sample}.json' --account 'out/{sample}.tsv' 2>words
cmp a13.paf out/one.paf && cmp b.paf out/two.paf && cmp c.paf out/three.paf || fail "each sample is what a run of its own gives"
for name in one two three; do [ -s "out/$name.json" ] && [ -s "out/$name.tsv" ] || fail "report and account of $name"; done
grep -q "sample 'two' (2 of 3)" words && grep -q "3 samples: 3 finished" words || { cat words; fail "the samples are told"; }
"$sluice" run map --sample-table table.tsv --params preset.toml --reference reference.fa --output 'out/{sample}.2.paf' --quiet 2>words || { cat words; fail "with --params"; }
[ ! -s words ] || fail "quiet samples say nothing"

# What is made from the same is made once: here the index of 'four' and 'five', and the reference alone for 'six', whose index is another one.
printf 'sample\treads\tk\nfour\ta.fastq.gz\t15\nfive\tb.fastq.gz\t15\nsix\ta.fastq.gz\t13\n' >shared.tsv
"$sluice" run map --samples shared.tsv --reference reference.fa --output 'out/{sample}.paf' --report 'out/{sample}.json' 2>words
cmp a.paf out/four.paf && cmp b.paf out/five.paf && cmp a13.paf out/six.paf || fail "samples that share an index give what runs of their own give"
[ "$(grep -c "index: is the one of the run before" words)" -eq 1 ] || { cat words; fail "the index is taken over once"; }
python3 - out/four.json out/five.json out/six.json <<'PYTHON' || fail "what was taken over is in the report"
import json, sys
four, five, six = ({stage["name"]: stage for stage in json.load(open(path))["stages"]}["index"] for path in sys.argv[1:])
taken = [stage["counters"].pop("taken_over", 0) for stage in (four, five, six)]
assert taken == [0, 1, 0], taken
assert five["busy_seconds"] == 0 < four["busy_seconds"] and five["rows_out"] == four["rows_out"] > 0
assert five["counters"] == four["counters"], (four, five)
PYTHON
# A reference that changes between two samples is not the same.
mkfifo changing
printf 'sample\treads\tk\none\tchanging\t15\ntwo\tb.fastq.gz\t15\n' >changed.tsv
cp reference.fa moving.fa
"$sluice" run map --samples changed.tsv --reference moving.fa --output 'out/c.{sample}.paf' 2>words &
run=$!
timeout 300 bash -c 'exec 7>changing; sed 1s/.*/\>renamed/ reference.fa >moving.new; mv moving.new moving.fa; zcat a.fastq.gz >&7' || fail "nobody reads"
wait "$run" || { cat words; fail "a changing reference"; }
cmp a.paf out/c.one.paf || fail "a sample before a change"
[ "$(cut -f6 out/c.two.paf | sort -u)" = renamed ] || fail "a changed reference is read again"

# All that is wrong is told before the first begins.
printf 'sample\treads\toutput\none\ta.fastq.gz\tp.paf\ntwo\tnowhere.fq\ty.paf\nthree\tneither.fq\tp.paf\n' >wrong.tsv
if "$sluice" run map --samples wrong.tsv --reference reference.fa 2>errors; then fail "missing inputs"; fi
grep -q "^wrong.tsv:3: sample 'two': parameter 'reads': .*nowhere.fq" errors && grep -q "^wrong.tsv:4: sample 'three': parameter 'reads': .*neither.fq" errors || { cat errors; fail "the missing inputs of all samples"; }
grep -q "^wrong.tsv:4: sample 'three': parameter 'output': 'p.paf' is also another output, sample 'one': parameter 'output'" errors || { cat errors; fail "outputs of two samples in one file"; }
[ ! -e p.paf ] || fail "nothing was run"
said() { # TABLE OPTIONS MESSAGE
  printf '%b' "$1" >wrong.tsv
  # shellcheck disable=SC2086
  if "$sluice" run map --samples wrong.tsv --reference reference.fa $2 2>errors; then fail "refused: $1"; fi
  grep -qF -- "$3" errors || { cat errors; fail "'$1' is refused with '$3'"; }
}
said 'sample\treadss\na\tb\n' "" "the pipeline 'map' has no parameter 'readss' (did you mean 'reads'?)"
said 'sample\treads\na\tb\n' "--reads a.fastq.gz" "--reads is also a column of wrong.tsv"
said 'sample\treads\tk\na\ta.fastq.gz\t99\n' "--output o" "wrong.tsv:2: sample 'a': parameter 'k': 99 is out of range"
said 'sample\treads\na\ta.fastq.gz\nb\tb.fastq.gz\n' "--bw 0 --output {sample}" "command line: --bw: 0 is out of range"
[ "$(wc -l <errors)" -eq 1 ] || { cat errors; fail "what is wrong with all samples is said once"; }
"$sluice" run map --samples nowhere.tsv --reference reference.fa 2>errors && fail "a table that is not there"
grep -q "the table of samples cannot be read" errors || fail "a table that is not there is said"

# One that fails does not keep the others from being run; the worst exit code is returned.
head -c 3000 b.fastq.gz >cut.fastq.gz
printf 'sample\treads\none\ta.fastq.gz\ntwo\tcut.fastq.gz\nthree\tc.fastq.gz\n' >failing.tsv
code=0
"$sluice" run map --samples failing.tsv --reference reference.fa --output 'out/f.{sample}.paf' 2>words || code=$?
[ "$code" -eq 4 ] || { cat words; fail "a failing sample gives 4, not $code"; }
cmp a13.paf out/one.paf && cmp a.paf out/f.one.paf && cmp c.paf out/f.three.paf || fail "the samples around a failing one"
[ ! -e out/f.two.paf ] || fail "a failing sample leaves no output"
grep -q "3 samples: 1 failed; 2 finished" words || { cat words; fail "the ending of each sample is told"; }

# Ctrl-C ends all. The second sample reads from a pipe that gives nothing; when it has been opened, the run is there.
mkfifo pipe
printf 'sample\treads\none\ta.fastq.gz\ntwo\tpipe\nthree\tc.fastq.gz\n' >waiting.tsv
"$sluice" run map --samples waiting.tsv --reference reference.fa --output 'out/i.{sample}.paf' 2>words &
run=$!
timeout 300 bash -c 'exec 7>pipe; kill -TERM "$1"; exec sleep 60' _ "$run" &
writer=$!
code=0
wait "$run" || code=$?
kill "$writer" 2>writer.log || :
[ "$code" -eq 130 ] || { cat words; fail "an interrupted run gives 130, not $code"; }
cmp a.paf out/i.one.paf || fail "what was finished before an interrupt stays"
[ ! -e out/i.three.paf ] || fail "nothing is begun after an interrupt"

# eventalign has an option --samples of its own: there the table has its long name alone.
"$sluice" run eventalign --help >help
grep -q -- "--sample-table" help || fail "the table's long name"
"$sluice" run map --help >help
grep -q -- "--samples" help || fail "the table's short name"
echo "all good"
