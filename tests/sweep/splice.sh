#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Reads across introns of all kinds and lengths, with and without known junctions, in every preset for them and with many combinations of options: SAM lines
# equal to those of minimap2 2.31, which is looked for as `minimap2` and as $MINIMAP2. A difference is cut down to one read, and to a part of it.
#   splice.sh BUILD_DIR SECONDS SEED [FIRST_CASE]
set -uo pipefail
build=$(realpath "$1") seconds=$2 seed=$3 number=${4:-0}
sweep=splice kind=make-spliced minimap2=
for program in "${MINIMAP2:-}" minimap2; do
  # The changes of 2.31 are in its repository from revision 1299 on.
  if [ -z "$minimap2" ] && command -v "$program" >/dev/null && [[ $("$program" --version) =~ -r([0-9]+) && ${BASH_REMATCH[1]} -ge 1299 ]]; then minimap2=$program; fi
done
if [ -z "$minimap2" ]; then
  echo "SKIPPED: there is no minimap2 2.31 to compare with"
  exit 77
fi
# shellcheck source=tests/sweep/parts/minimap2_lines.sh
. "$(dirname "$(realpath "$0")")/parts/minimap2_lines.sh"
