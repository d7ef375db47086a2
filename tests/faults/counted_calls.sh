# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Sourced by tests in which calls of a run fail or are counted, with their arguments SLUICE LIBRARY (libfailing_calls.so): sets `sluice` and `library`,
# or skips the test, and goes to an empty folder where no settings of the user are found.
set -uo pipefail
sluice=$1 library=$2
[ -e "$library" ] || { echo "SKIPPED: there is no $library (target sweeps)"; exit 77; }
if ldd "$sluice" | grep -q "lib[at]san"; then echo "SKIPPED: sanitizers have functions of their own for what is counted here"; exit 77; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export XDG_CONFIG_HOME=$work/nothing XDG_DATA_HOME=$work/nothing XDG_CACHE_HOME=$work/nothing
