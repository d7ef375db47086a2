#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Reads that are hard to map, compared with each other, in both presets and with many combinations of options: PAF lines equal to minimap2's. A difference
# is cut down to one read, or a part of it, beside all.
#   overlap.sh BUILD_DIR SECONDS SEED [FIRST_CASE]
set -uo pipefail
build=$(realpath "$1") seconds=$2 seed=$3 number=${4:-0}
sweep=overlap kind=make-overlaps minimap2=${MINIMAP2:-minimap2}
if ! command -v "$minimap2" >/dev/null; then
  echo "SKIPPED: there is no minimap2 to compare with"
  exit 77
fi
# shellcheck source=tests/sweep/parts/minimap2_lines.sh
. "$(dirname "$(realpath "$0")")/parts/minimap2_lines.sh"
