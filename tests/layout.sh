#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Every C++ file is as `./dev format` leaves it. Other versions of clang-format break lines elsewhere, so only 14 (Debian 12) is asked.
#   layout.sh SOURCE_DIR
set -euo pipefail
cd "$1"
command -v clang-format-14 >/dev/null || { echo "SKIPPED: there is no clang-format-14"; exit 77; }
find core examples plugins sdk tests -name '*.cpp' -o -name '*.hpp' -o -name '*.h' -o -name '*.c' -o -name '*.cu' | xargs clang-format-14 --dry-run -Werror
