#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Runs, and shards of them, that are killed and gone on with: the bytes of a run that nothing has stopped.
#   resume.sh SLUICE [KILLS]
# KILLS: of each pipeline, spread over the time that it takes; left out: a few, each behind a checkpoint. With a number it prints a table.
set -euo pipefail
sluice=$1
kills=${2:-0}
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
run() { "$sluice" run "$@" --quiet; }
run_in() { env -C "$1" "$sluice" run "${@:2}" --quiet --threads 2; } # FOLDER PIPELINE...
fail() { echo "FAILED: $*" >&2; exit 1; }
now() { date +%s%N; }

length=60000 reads=300
if ((kills > 0)); then length=400000 reads=1500; fi
run synthetic_reference --length $length --contigs 3 --seed 1 --output reference.fa
run simulate --reference reference.fa --reads $reads --mean-length 5000 --seed 2 --output-prefix set
run map --reference reference.fa --reads set.fastq.gz --format bam --sort --output set.bam
inputs=(--reference "$work/reference.fa" --reads "$work/set.fastq.gz")
signal=("${inputs[@]}" --signal "$work/set.blow5" --alignments "$work/set.bam")
# What is fast gets more reads, so that runs that are killed take a second or more.
many=set
if ((kills > 0)); then
  many=many
  run simulate --reference reference.fa --reads 9000 --mean-length 5000 --seed 3 --output-prefix many
  rm many.blow5
fi
run map --reference reference.fa --reads $many.fastq.gz --output many.paf
mapped=(--reference "$work/reference.fa" --reads "$work/$many.fastq.gz")
polished=(--targets "$work/reference.fa" --reads "$work/$many.fastq.gz")

# Everything that a run leaves, hidden files as well: of two folders the same?
same() { diff -r "$1" "$2" >/dev/null; }
# begin FOLDER PIPELINE...: in the background, with outputs in the folder.
begin() { env -C "$1" "$sluice" run "${@:2}" --quiet --threads 2 --checkpoint 0.02 2>"$1.err" & pid=$!; }
ended() { ! kill -0 $pid 2>/dev/null; }
journal_changes() { # FOLDER BEFORE: waits until the journal is another one, or the run has ended
  until ended || [ "$(stat -c %i%Y%y "$1"/.*.resume 2>/dev/null || true)" != "$2" ]; do sleep 0.005; done
}
finish() { # FOLDER PIPELINE...
  run_in "$@" --resume 2>"$1.err" || fail "$2 does not go on: $(cat "$1.err")"
}

# check NAME PIPELINE...: each run in a folder of its own, as a header may have the command in it.
check() {
  local name=$1 && shift
  mkdir "$name.whole" "$name"
  local began ended_at
  began=$(now)
  run_in "$name.whole" "$@"
  ended_at=$(now)
  local killed=0 wrong=0 gone_on=0
  if ((kills == 0)); then
    for changes in 1 2 4; do
      rm -rf "$name" && mkdir "$name"
      local again=()
      for round in 1 2; do
        begin "$name" "$@" ${again[@]+"${again[@]}"}
        local before
        before=$(stat -c %i%Y%y "$name"/.*.resume 2>/dev/null || true)
        for ((i = 0; i < changes; ++i)); do
          journal_changes "$name" "$before"
          before=$(stat -c %i%Y%y "$name"/.*.resume 2>/dev/null || true)
        done
        kill -9 $pid 2>/dev/null && killed=$((killed + 1))
        wait $pid 2>/dev/null || true
        again=(--resume)
      done
      finish "$name" "$@"
      same "$name.whole" "$name" || fail "$name: other bytes after $changes checkpoints"
    done
    ((killed > 0)) || fail "$name: no run was killed"
  else
    for ((k = 0; k < kills; ++k)); do
      rm -rf "$name" && mkdir "$name"
      # Over the whole time, in an order that leaves no gaps.
      local micros=$((((ended_at - began) / 1000) * ((k * 618) % 1000) / 1000))
      begin "$name" "$@"
      sleep "$(printf '%d.%06d' $((micros / 1000000)) $((micros % 1000000)))"
      kill -9 $pid 2>/dev/null && killed=$((killed + 1))
      wait $pid 2>/dev/null || true
      compgen -G "$name/.*.resume" >/dev/null && gone_on=$((gone_on + 1))
      finish "$name" "$@"
      same "$name.whole" "$name" || { wrong=$((wrong + 1)); diff -rq "$name.whole" "$name" >&2 || ls -A "$name" >&2; }
    done
    printf '| %s | %s | %s | %s | %s |\n' "$name" "$(((ended_at - began) / 1000000)) ms" $killed $gone_on $wrong
    ((wrong == 0)) || fail "$name: other bytes"
  fi
  rm -rf "$name" "$name.whole"
}

if ((kills > 0)); then printf '| run | time | killed | of these gone on from a checkpoint | other bytes |\n|---|---|---|---|---|\n'; fi
check map_paf map "${mapped[@]}" --output o.paf --batch-work 4000
check map_bam map "${mapped[@]}" --output o.bam --batch-work 4000
check methylation methylation "${signal[@]}" --output o.tsv.gz --frequency o.freq.tsv --batch-work 4000
check modbam methylation "${signal[@]}" --output o.tsv --modbam o.bam --bedmethyl o.bed.gz --batch-work 4000
check eventalign eventalign "${signal[@]}" --output o.tsv --summary s.tsv --batch-work 4000
check polish polish "${polished[@]}" --output o.fa --batch-work 4000
check polish_overlaps polish "${polished[@]}" --overlaps "$work/many.paf" --output-format fastq --rounds 2 --output o.fq --changes o.vcf --batch-work 4000
LC_ALL=C sort -t "$(printf '\t')" -k6,6 -k8,8n "$work/many.paf" >"$work/sorted.paf"
check polish_in_order polish "${polished[@]}" --overlaps "$work/sorted.paf" --overlaps-arrival in_order --output o.fa --batch-work 4000
check correct correct --reads "$work/set.fastq.gz" --output o.fa --batch-work 4000
check correct_parts correct --reads "$work/set.fastq.gz" --output o.fa --batch-work 4000 --part-bases 60000
check overlap_parts overlap --reads "$work/set.fastq.gz" --output o.paf.gz --batch-work 4000 --part-bases 60000
if ((kills > 0)); then exit 0; fi

# ---- shards: each is killed behind a checkpoint and gone on with; together they are the run
# check_shards NAME "FILE FILE ..." PIPELINE...
check_shards() {
  local name=$1 files=$2 i file killed=0 shards=()
  shift 2
  mkdir "$name.whole"
  run_in "$name.whole" "$@" --account lost.tsv
  for i in 1 2 3; do
    mkdir "$name.$i"
    begin "$name.$i" "$@" --account lost.tsv --shard "$i/3"
    journal_changes "$name.$i" ""
    kill -9 $pid 2>/dev/null && killed=$((killed + 1))
    wait $pid 2>/dev/null || true
    finish "$name.$i" "$@" --account lost.tsv --shard "$i/3"
    shards+=("$name.$i")
  done
  ((killed > 0)) || fail "shards of $name: no run was killed"
  mkdir "$name"
  for file in $files; do
    "$sluice" merge --output "$name/$file" --account "$name/lost.tsv" --quiet "${shards[@]/%//$file}" 2>err.txt || fail "shards of $name: $(cat err.txt)"
  done
  same "$name.whole" "$name" || fail "shards of $name: other bytes"
  rm -rf "$name" "$name".*
}
check_shards map_bam "o.bam" map "${inputs[@]}" --output o.bam --batch-work 4000
check_shards methylation "o.tsv.gz o.freq.tsv" methylation "${signal[@]}" --output o.tsv.gz --frequency o.freq.tsv --batch-work 4000
check_shards eventalign "o.tsv s.tsv" eventalign "${signal[@]}" --output o.tsv --summary s.tsv --batch-work 4000
check_shards polish "o.fa" polish "${polished[@]}" --output o.fa --batch-work 4000
check_shards polish_overlaps "o.fa o.vcf" polish "${polished[@]}" --overlaps "$work/many.paf" --output o.fa --changes o.vcf --batch-work 4000
check_shards correct "o.fa" correct --reads "$work/set.fastq.gz" --output o.fa --batch-work 4000
check_shards correct_parts "o.fa" correct --reads "$work/set.fastq.gz" --output o.fa --batch-work 4000 --part-bases 60000

# ---- what is said
for _ in 1 2 3 4 5; do # the run may end before it is killed
  rm -rf out && mkdir out
  begin out map "${inputs[@]}" --output "$work/out/o.paf" --batch-work 5000 --k 15
  journal_changes out ""
  kill -9 $pid 2>/dev/null || true
  wait $pid 2>/dev/null || true
  compgen -G "out/.*.resume" >/dev/null && break
done
compgen -G "out/.*.resume" >/dev/null || fail "there is no journal"
code=0
run map "${inputs[@]}" --output "$work/out/o.paf" --batch-work 5000 --resume --k 14 2>err.txt || code=$?
[ $code -eq 2 ] || fail "another k-mer length is no error: $code"
grep -q "'15'.*'14'" err.txt || fail "it does not say what differs: $(cat err.txt)"
code=0
run map "${inputs[@]}" --output "$work/out/o.paf" --batch-work 5000 --resume --k 15 --shard 1/2 2>err.txt || code=$?
[ $code -eq 2 ] || fail "a run is gone on with as a shard: $code"
grep -q -- "--shard was '' and is '1/2'" err.txt || fail "it does not say what differs: $(cat err.txt)"
"$sluice" run map --reference reference.fa --reads set.fastq.gz --output fresh.paf --resume 2>err.txt
grep -q "nothing to resume" err.txt || fail "it does not say that it begins: $(cat err.txt)"
code=0
run map --reference reference.fa --reads set.fastq.gz --format bam --sort --output sorted.bam --resume 2>err.txt || code=$?
[ $code -eq 2 ] || fail "a run that sorts is gone on with: $code"
grep -q "can't save" err.txt || fail "it does not say why: $(cat err.txt)"
code=0
run map --reference reference.fa --reads set.fastq.gz --output - --resume 2>err.txt >/dev/null || code=$?
[ $code -eq 2 ] || fail "standard output is gone on with"
grep -q "standard output" err.txt || fail "it does not say why: $(cat err.txt)"
echo "killed runs have the bytes of runs that nothing has stopped"
