#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Measures on this machine and prints tables: the kernels per instruction set, whole runs beside nanopolish, and unkind input beside all peers.
#   run.sh BUILD_DIR [kernels|methylation|worst [OPTIONS of worst.py]]     (./dev bench)
set -euo pipefail
build=$1 what=${2:-all}
folder=$(dirname "$0")
if [ "$what" = all ] || [ "$what" = kernels ]; then
  for kernel in event_detection abea event_alignment methylation_hmm; do
    printf '\n== %s\n' "$kernel"
    "$build/bin/${kernel}_bench"
  done
fi
if [ "$what" = all ] || [ "$what" = methylation ]; then
  printf '\n== methylation, whole process\n'
  python3 "$folder/whole_process.py" --sluice "$build/bin/sluice" --shared "$folder/../../../shared"
fi
if [ "$what" = all ] || [ "$what" = worst ]; then
  printf '\n== unkind input, whole processes, beside other programs\n'
  python3 "$folder/worst.py" --sluice "$build/bin/sluice" --tools "$build/bin" "${@:3}"
fi
