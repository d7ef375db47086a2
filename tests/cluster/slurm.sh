#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Methylation calls of simulated reads in six shards on a Slurm of three nodes, one of which is killed in the middle, by workflows/slurm and by
# workflows/snakemake: the merged files have the bytes of one run.
#   slurm.sh SLUICE SOURCE_DIR VENV [LOG]        (Snakemake is installed in VENV, once; what happened is written to LOG)
set -euo pipefail
sluice=$(realpath "$1") source=$(realpath "$2") venv=$3 log=${4:-/dev/null}
# shellcheck source=tests/cluster/private_slurm.sh
source "$source/tests/cluster/private_slurm.sh"
missing=$(slurm_missing)
[ -z "$missing" ] || { echo "SKIPPED: ${missing%%$'\n'*}"; exit 77; }
work=$(mktemp -d)
finish() {
  local code=$?
  [ -z "${snakemake:-}" ] || kill "$snakemake" 2>/dev/null || true
  slurm_stop
  if [ $code != 0 ] && [ $code != 77 ]; then tail -n 12 "$work"/*/logs/* "$work"/snakemake.log "$work"/slurm/*.log 2>/dev/null || true; fi
  rm -rf "$work"
}
trap finish EXIT
fail() { say "FAILED: $*"; exit 1; }
: >"$log"
say() { printf '%s %s\n' "$(date +%T)" "$*" | tee -a "$log"; }
show() { # COMMAND...
  say "\$ $*"
  "$@" | sed 's/^/           /' | tee -a "$log"
}

cd "$work"
"$sluice" run synthetic_reference --length 200000 --seed 18 --output reference.fa --quiet
"$sluice" run simulate --reference reference.fa --reads 900 --mean-length 6000 --seed 18 --output-prefix reads --quiet
inputs=(--signal reads.blow5 --reads reads.fastq.gz --alignments reads.bam --reference reference.fa)
names=(calls.tsv frequency.tsv)
mkdir one
"$sluice" run methylation "${inputs[@]}" --output one/calls.tsv --frequency one/frequency.tsv --quiet
say "one run: $(cat one/calls.tsv | sed 1d | wc -l) calls of 900 reads, $(sed 1d one/frequency.tsv | wc -l) sites"

compare() { # FOLDER
  local name
  for name in "${names[@]}"; do
    cmp "one/$name" "$1/$name" || fail "$1/$name has other bytes than one run's"
    say "$1/$name: $(stat -c %s "$1/$name") bytes, the same as one run's"
  done
  [ -z "$(find "$1" -name '.*' -type f)" ] || fail "left behind: $(find "$1" -name '.*' -type f)"
}

# A program that runs sluice, but holds the first shard that it is given: stopped once it has written something, until its node is killed. The
# folder's held_shard then says "SHARD NODE JOB".
holding() { # FOLDER; sets SLUICE
  export SLUICE=$work/sluice_of_$1
  {
    printf '#!/bin/bash\nsluice=%q folder=%q\n' "$sluice" "$work/$1"
    cat <<'HOLD'
[[ " $* " =~ " --shard "([0-9]+)/ ]] && mkdir "$folder.held" 2>/dev/null || exec "$sluice" "$@"
shard=${BASH_REMATCH[1]}
"$sluice" "$@" &
pid=$!
while kill -0 $pid 2>/dev/null; do
  for hidden in "$folder/shards/$shard"/.calls.tsv*; do
    [ -s "$hidden" ] || continue
    kill -STOP $pid
    [ -s "$hidden" ] && [ ! -e "$folder/shards/$shard/calls.tsv" ] || break 2
    echo "$shard $SLURMD_NODENAME $SLURM_JOB_ID $(stat -c %s "$hidden")" >"$folder.held/who.tmp" && mv "$folder.held/who.tmp" "$folder/held_shard"
    wait $pid
    exit
  done
done
# It was done before it could be held: another one will be.
kill -CONT $pid 2>/dev/null
rmdir "$folder.held"
wait $pid
HOLD
  } >"$SLUICE"
  chmod 755 "$SLUICE"
}

# Kills the node that has the held shard. Sets `killed` and `killed_job`.
kill_the_holding_node() { # FOLDER COMMAND_THAT_SUCCEEDS_WHILE_SHARDS_MAY_COME...
  local folder=$1 shard bytes
  shift
  until [ -e "$folder/held_shard" ]; do
    "$@" || fail "all shards are done, and none was held"
    sleep 0.1
  done
  read -r shard killed killed_job bytes <"$folder/held_shard"
  slurm_kill_node "$killed"
  [ ! -e "$folder/shards/$shard/calls.tsv" ] || fail "the held shard is done"
  say "killed: node $killed with shard $shard (job $killed_job), which had written $bytes bytes"
}

slurm_start "$work/slurm" || fail "the cluster does not start"
show sinfo --Node --format="%N %T %c"

say "by workflows/slurm"
holding by_slurm
merge=$("$source/workflows/slurm/submit.sh" 6 by_slurm --cpus-per-task=2 --mem=1500M -- methylation "${inputs[@]}" --output '{shard}/calls.tsv' --frequency '{shard}/frequency.tsv')
show squeue --format="%i %T %N %j"
merge_waits() { [ "$(squeue --noheader --jobs "$merge" --format=%T)" = PENDING ]; }
kill_the_holding_node by_slurm merge_waits
requeued() { scontrol show job --oneliner | grep -E 'JobName=sluice-shard' | grep -q 'Restarts=1 '; }
slurm_until 120 requeued || fail "the task of the killed node was not requeued"
show squeue --format="%i %T %N %j %r"
slurm_until 300 sh -c "scontrol show job $merge | grep -qE 'JobState=(COMPLETED|FAILED|CANCELLED|NODE_FAIL)'" || fail "the merge was not done"
scontrol show job "$merge" | grep -q JobState=COMPLETED || fail "the merge failed"
show sh -c "scontrol show job --oneliner | sed -E 's/.*(ArrayTaskId=[0-9]+).*JobState=([A-Z]+).*(Restarts=[0-9]+).* NodeList=([^ ]*).*/\1 \2 \3 \4/; t; d' | sort -u"
compare by_slurm

say "by workflows/snakemake"
slurm_start_node "$killed"
slurm_until 60 slurm_nodes_idle 3 || fail "node $killed does not come back"
if [ ! -x "$venv/bin/snakemake" ]; then
  python3 -m venv "$venv" >"$work/pip.log" 2>&1 && "$venv/bin/pip" install -q 'snakemake>=9.27,<10' 'snakemake-executor-plugin-slurm>=2.8,<3' >>"$work/pip.log" 2>&1 || {
    tail -3 "$work/pip.log"
    rm -rf "$venv"
    echo "SKIPPED: workflows/snakemake, because Snakemake can't be installed; workflows/slurm passed"
    exit 77
  }
fi
holding by_snakemake
cat >config.yaml <<YAML
sluice: $SLUICE
pipeline: methylation
shards: 6
folder: by_snakemake
inputs: {--signal: reads.blow5, --reads: reads.fastq.gz, --alignments: reads.bam, --reference: reference.fa}
outputs: {--output: calls.tsv, --frequency: frequency.tsv}
threads: 2
mem_mb: 1500
merge_mem_mb: 1000
YAML
env PATH="$venv/bin:$PATH" HOME="$work" "$venv/bin/snakemake" --snakefile "$source/workflows/snakemake/Snakefile" --configfile config.yaml --executor slurm --jobs 6 \
  --slurm-no-account --slurm-status-command squeue --slurm-init-seconds-before-status-checks 2 --slurm-requeue \
  --default-resources slurm_partition=main --latency-wait 5 >snakemake.log 2>&1 &
snakemake=$!
kill_the_holding_node by_snakemake kill -0 "$snakemake"
wait "$snakemake" || { snakemake="" && fail "snakemake failed"; }
snakemake=""
scontrol show job "$killed_job" | grep -q 'Restarts=1 ' || fail "job $killed_job was not requeued"
show grep -E "^(Finished jobid|[0-9]+ of [0-9]+ steps|Trying to restart)" snakemake.log
compare by_snakemake
say "all good"
