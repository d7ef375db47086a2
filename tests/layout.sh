#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Every C and C++ file has the layout that .clang-format describes; `change` gives it to them. Other versions of clang-format break lines
# elsewhere, so only 14 (Debian 12) is asked.
#   layout.sh SOURCE_DIR [change]
set -euo pipefail
cd "$1"
command -v clang-format-14 >/dev/null || { echo "SKIPPED: there is no clang-format-14"; exit 77; }
if [ "${2:-}" = change ]; then options=(-i); else options=(--dry-run -Werror); fi
find core examples plugins sdk tests -regex '.*\.\(c\|cpp\|cu\|cuh\|h\|hpp\)' -print0 | xargs -0 clang-format-14 "${options[@]}"
