#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# `sluice model`: a methylation model for R10, added once, is what `methylation` finds.
#   model_command.sh SLUICE MAKE_F5C_MODELS
set -uo pipefail
sluice=$(realpath "$1")
make_f5c_models=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export XDG_DATA_HOME="$work/data"
failures=0
fail() { echo "FAILED: $*" >&2; failures=$((failures + 1)); }
run() { "$sluice" run "$@" --quiet; }

# A made-up model: the built-in nucleotide levels, and 3 pA more for each M in front of G.
"$sluice" model list >list || fail "list: exit code $?"
[ "$(head -1 list)" = $'model_name\tmodel_origin\tmodel_path' ] || fail "header: $(head -1 list)"
gzip -dc "$(awk '$1 == "r10" { print $3 }' list)" | awk '
  /^#/ || $1 == "kmer" { next }
  { mean[$1] = $2; stdv[$1] = $3 }
  END {
    split("A C G M T", letter, " ")
    print "kmer\tlevel_mean\tlevel_stdv"
    for (n = 0; n < 1953125; ++n) {
      rest = n; kmer = ""; plain = ""; more = 0
      for (i = 0; i < 9; ++i) {
        l = letter[rest % 5 + 1]; rest = int(rest / 5)
        if (l == "M" && (kmer == "" || substr(kmer, 1, 1) == "G")) more += 3
        kmer = l kmer; plain = (l == "M" ? "C" : l) plain
      }
      printf "%s\t%.4f\t%s\n", kmer, mean[plain] + more, stdv[plain]
    }
  }' >r10.cpg.model
gzip -1 -k r10.cpg.model

run synthetic_reference --length 20000 --seed 3 --output reference.fa
run simulate --reference reference.fa --reads 20 --mean-length 2000 --pore r10 --methylation-model r10.cpg.model --seed 4 --output-prefix r10 || exit 1
call() { run methylation --signal r10.blow5 --alignments r10.bam --reference reference.fa "$@"; }

call --output none.tsv 2>message
[ $? = 2 ] || fail "a missing model is no mistake of the user"
grep -q "there is no built-in methylation model for the pore 'r10'.*--methylation-model FILE" message || fail "the message: $(cat message)"
[ "$(tail -n 2 message)" = "    git clone --depth 1 https://github.com/hasindu2008/f5c
    sluice model add r10-5mc f5c" ] || fail "the two lines to copy: $(cat message)"
[ ! -e none.tsv ] || fail "there are calls without a model"

call --methylation-model r10.cpg.model --output expected.tsv || fail "calls with the model from a file"
[ "$(wc -l <expected.tsv)" -gt 100 ] || fail "$(wc -l <expected.tsv) calls"
"$sluice" model add r10-5mc r10.cpg.model.gz >list || fail "add: exit code $?"
grep -q $'^r10-5mc\tadded\t'"$work/data/sluice/models/r10-5mc.model$" list || fail "the list: $(cat list)"
cmp r10.cpg.model.gz data/sluice/models/r10-5mc.model || fail "the file is not kept as it is"
[ "$(ls -A data/sluice/models)" = r10-5mc.model ] || fail "left behind: $(ls -A data/sluice/models)"
call --output auto.tsv && cmp auto.tsv expected.tsv || fail "auto does not find the model"
call --pore r10 --output r10.tsv && cmp r10.tsv expected.tsv || fail "--pore r10 does not find the model"
"$sluice" model remove r10-5mc >list || fail "remove: exit code $?"
! grep -q added list || fail "the model is still there: $(cat list)"
call --output none.tsv 2>/dev/null && fail "calls with a model that was removed"

# Out of f5c's source: a checkout, its file, and the file as a model; to the digit what the same figures give as text.
"$make_f5c_models" f5c || exit 1
call --methylation-model f5c/r10.model --output expected.tsv || fail "calls with the text of the made-up model"
call --methylation-model f5c/src/methmodel.c --output source.tsv && cmp source.tsv expected.tsv || fail "f5c's source as a model"
call --methylation-model f5c --output source.tsv && cmp source.tsv expected.tsv || fail "a checkout as a model"
gzip -k f5c/src/methmodel.c
xz -0 -k f5c/src/methmodel.c
sed 's/$/\r/' f5c/src/methmodel.c >crlf.c
for from in f5c f5c/src/methmodel.c.gz f5c/src/methmodel.c.xz crlf.c; do
  "$sluice" model add r10-5mc $from >list || fail "add $from: exit code $?"
  grep -q $'^r10-5mc\tadded\t' list || fail "the list after $from: $(cat list)"
  call --output added.tsv && cmp added.tsv expected.tsv || fail "calls with the model of $from"
  "$sluice" model remove r10-5mc >list
done

code() { "$sluice" model "$@" >out 2>message; echo $?; }
[ "$(code)" = 2 ] && [ "$(code add r10-5mc)" = 2 ] && [ "$(code list r10)" = 2 ] && [ "$(code remove r10-5mc x)" = 2 ] && [ "$(code keep)" = 2 ] || fail "misuse: $(cat message)"
[ "$(code add r10-5mc r10.cpg.model x)" = 2 ] || fail "an argument too many"
[ "$(code add r12 r10.cpg.model)" = 2 ] && grep -q "^sluice model: 'r12' is no name of a model" message || fail "a name: $(cat message)"
[ "$(code remove r10-5mc)" = 2 ] && grep -q "there is no model 'r10-5mc'" message || fail "remove: $(cat message)"
head -1000 r10.cpg.model >cut.model
[ "$(code add r10-5mc cut.model)" = 4 ] && grep -q "cut.model': *[0-9]*.*\(too short\|are missing\)\|cut.model':2:" message || fail "a cut model: $(cat message)"
head -c 100000 r10.cpg.model.gz >cut.gz
[ "$(code add r10-5mc cut.gz)" = 4 ] && grep -q "truncated" message || fail "a cut gzip file: $(cat message)"
sed '1234567d' f5c/src/methmodel.c >damaged.c
[ "$(code add r10-5mc damaged.c)" = 4 ] && grep -q "f5c source 'damaged.c':1234567: .*expected [ACGMT]*, found '[ACGMT]*'.* numbers, and 1953125 9-mers" message || fail "a damaged source: $(cat message)"
[ ! -e data/sluice/models/r10-5mc.model ] || fail "a model that was refused is there"
[ "$("$sluice" completion words model | head -3 | tr '\n' ' ')" = "add list remove " ] || fail "completion: $("$sluice" completion words model)"
echo "$failures failures"
[ "$failures" = 0 ]
