#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Reads that are hard to map, in every preset and with many combinations of options: SAM lines equal to those of minimap2 2.24. A difference is cut down to
# one read, and to a part of it.
#   mapping.sh BUILD_DIR SECONDS SEED [FIRST_CASE]
set -uo pipefail
build=$(realpath "$1") seconds=$2 seed=$3 number=${4:-0}
sweep=mapping kind=make minimap2=minimap2
if ! command -v minimap2 >/dev/null || [[ $(minimap2 --version) != 2.24* ]]; then
  echo "SKIPPED: there is no minimap2 2.24 to compare with"
  exit 77
fi
# shellcheck source=tests/sweep/parts/minimap2_lines.sh
. "$(dirname "$(realpath "$0")")/parts/minimap2_lines.sh"
