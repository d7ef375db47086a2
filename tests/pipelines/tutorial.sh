#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Follows docs/plugin-author.md to the letter: writes the files whose code blocks are marked `file=NAME` and runs the commands of the blocks
# marked `sh run`, in the order of the page, out of tree, against an installed sluice.
#   tutorial.sh INSTALL_PREFIX SOURCE_DIR
set -euo pipefail
# A clean Debian has ninja, which this project needs, but not make.
export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
prefix=$(realpath "$1") source=$(realpath "$2")
page=$source/docs/plugin-author.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk '
  /^```[a-z]+ file=/ { sub(/^.*file=/, ""); print "cat >" $0 " <<\"END OF FILE\""; mode = "file"; files++; next }
  /^```sh run$/      { mode = "commands"; commands++; next }
  /^```$/ && mode    { if (mode == "file") print "END OF FILE"; mode = ""; next }
  mode               { print }
  END                { if (files < 5 || commands < 3 || mode) exit 1 }
' "$page" >"$work/steps.sh" || { echo "FAILED: $page has fewer marked blocks than the tutorial needs" >&2; exit 1; }

python3 - "$page" "$source" <<'PYTHON' || exit 1
import glob, re, sys
source = sys.argv[2]
pages = "".join(open(page).read() for page in glob.glob(source + "/docs/**/*.md", recursive=True))
excerpts = re.findall(r"^```\w+ excerpt=(\S+)\n(.*?)^```$", pages, re.M | re.S)
stale = [path for path, text in excerpts if text not in open(source + "/" + path).read()]
if not excerpts or stale:
    sys.exit("FAILED: excerpts in docs that are no longer lines of their file: %s" % stale)
PYTHON

cd "$work"
export PATH="$prefix/bin:$PATH" CMAKE_PREFIX_PATH="$prefix"
unset SLUICE_PLUGIN_PATH
bash -euxo pipefail "$work/steps.sh" >"$work/log" 2>&1 || { cat "$work/log"; echo "FAILED: a step of the tutorial" >&2; exit 1; }

# What the page says about the outcome.
[ "$(head -1 pauses/pauses.tsv)" = $'read_id\tlongest_pause\tpause_event' ] || { echo "FAILED: the table of the tutorial's pipeline" >&2; exit 1; }
grep -q $'\tpauses\tpaused$' pauses/left_out.tsv || { echo "FAILED: reads that paused are in the account" >&2; exit 1; }
echo "all good"
