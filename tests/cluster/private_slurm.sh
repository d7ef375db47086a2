# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# A Slurm cluster of three nodes on this machine, in a folder of its own; sourced by tests. Nothing of an installed cluster is used or changed.
#   slurm_start FOLDER; slurm_kill_node NAME; slurm_start_node NAME; slurm_stop
slurm_missing() { # prints what is not there
  local tool
  for tool in slurmctld slurmd srun sbatch squeue munged; do
    PATH=$PATH:/usr/sbin command -v $tool >/dev/null || echo "there is no $tool (Debian: slurmctld slurmd slurm-client munge)"
  done
  [ "$(id -u)" = 0 ] || echo "starting slurmd needs root"
}

slurm_free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

slurm_start() { # FOLDER
  slurm=$1
  local name host
  PATH=$PATH:/usr/sbin
  host=$(hostname)
  mkdir -p "$slurm/state" "$slurm/munge"
  chmod 700 "$slurm/munge"
  sha512sum /proc/sys/kernel/random/uuid | head -c 128 >"$slurm/munge/key"  # only this cluster's key
  chmod 400 "$slurm/munge/key"
  munged --force --key-file "$slurm/munge/key" --socket "$slurm/munge/socket" --pid-file "$slurm/munge/pid" --log-file "$slurm/munge/log" --seed-file "$slurm/munge/seed"
  # Snakemake takes what begins with SLURM_ out of the environment before it starts srun.
  mkdir "$slurm/bin"
  printf '#!/bin/sh\nSLURM_CONF=%s exec %s "$@"\n' "$slurm/slurm.conf" "$(command -v srun)" >"$slurm/bin/srun"
  chmod 755 "$slurm/bin/srun"
  export PATH=$slurm/bin:$PATH
  {
    echo "ClusterName=private
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(slurm_free_port)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
CryptoType=crypto/munge
AuthInfo=socket=$slurm/munge/socket,cred_expire=5
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool.%n
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmdPidFile=$slurm/slurmd.%n.pid
SlurmctldLogFile=$slurm/slurmctld.log
SlurmdLogFile=$slurm/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=5
MinJobAge=3600
SchedulerParameters=bf_interval=1,sched_interval=1
MpiDefault=none"
    for name in 1 2 3; do echo "NodeName=n$name NodeAddr=127.0.0.1 NodeHostname=$host Port=$(slurm_free_port) CPUs=2 RealMemory=8000"; done
    echo "PartitionName=main Nodes=n[1-3] Default=YES MaxTime=INFINITE State=UP"
  } >"$slurm/slurm.conf"
  export SLURM_CONF=$slurm/slurm.conf
  slurmctld -f "$SLURM_CONF"
  for name in n1 n2 n3; do slurm_start_node $name; done
  slurm_until 60 slurm_nodes_idle 3
}

slurm_nodes_idle() { [ "$(sinfo --noheader --Node --states=idle --format=%N 2>/dev/null | wc -l)" = "$1" ]; }

slurm_start_node() { slurmd -f "$SLURM_CONF" -N "$1"; }

# Asks again and again until a command succeeds; fails after so many seconds.
slurm_until() { # SECONDS COMMAND...
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.1
  done
}

# A process and all that came of it.
slurm_family() { # PID
  echo "$1"
  local child
  for child in $(cat "/proc/$1/task/"*/children 2>/dev/null); do slurm_family "$child"; done
}

# As when its power fails: the daemon and everything that runs there are gone at once.
slurm_kill_node() { # NAME
  local step pids=()
  pids+=("$(cat "$slurm/slurmd.$1.pid")")
  for step in $(slurm_steps "$1"); do mapfile -t -O ${#pids[@]} pids < <(slurm_family "$step"); done
  kill -STOP "${pids[@]}" 2>/dev/null || true  # nobody sees another die
  kill -KILL "${pids[@]}" 2>/dev/null || true
  rm -f "$slurm/slurmd.$1.pid"
}

# Process ids of the slurmstepd of a node's jobs, whose children the jobs' processes are.
slurm_steps() { # NAME
  local job pid
  for job in $(squeue --noheader --nodelist "$1" --format=%A); do
    for pid in $(pgrep -f "^slurmstepd: \\[$job\\."); do
      [ "$(readlink "/proc/$pid/cwd")" != "$slurm" ] || echo "$pid"
    done
  done
}

slurm_stop() {
  local name pid file
  [ -n "${slurm:-}" ] || return 0
  scancel --user "$(id -un)" 2>/dev/null || true
  for name in n1 n2 n3; do [ ! -e "$slurm/slurmd.$name.pid" ] || slurm_kill_node $name; done
  for file in "$slurm/slurmctld.pid" "$slurm/munge/pid"; do
    [ ! -s "$file" ] || { pid=$(cat "$file") && kill "$pid" 2>/dev/null && slurm_until 20 slurm_gone "$pid"; } || true
  done
}

slurm_gone() { ! kill -0 "$1" 2>/dev/null; }
