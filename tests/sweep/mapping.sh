#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Reads that are hard to map, in every preset and with many combinations of options, as SAM and PAF: lines equal to those of minimap2 2.24, or of 2.31 where
# $MINIMAP2 is that. A difference is cut down to one read, and to a part of it.
#   mapping.sh BUILD_DIR SECONDS SEED [FIRST_CASE]
set -uo pipefail
build=$(realpath "$1") seconds=$2 seed=$3 number=${4:-0}
sweep=mapping minimap2=${MINIMAP2:-minimap2}
if ! command -v "$minimap2" >/dev/null; then kind=
# The changes of 2.31 are in its repository from revision 1299 on.
elif [[ $("$minimap2" --version) =~ -r([0-9]+) && ${BASH_REMATCH[1]} -ge 1299 ]]; then kind=make-recent
elif [[ $("$minimap2" --version) = 2.24* ]]; then kind=make
else kind=; fi
if [ -z "$kind" ]; then
  echo "SKIPPED: there is no minimap2 2.24 or 2.31 to compare with"
  exit 77
fi
# shellcheck source=tests/sweep/parts/minimap2_lines.sh
. "$(dirname "$(realpath "$0")")/parts/minimap2_lines.sh"
