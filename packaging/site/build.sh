#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The website: README.md, docs/, the pages of plugins, and what `sluice docs` writes about every stage and pipeline. Needs mkdocs and its theme "material"
# (Debian: mkdocs, mkdocs-material; PyPI: mkdocs-material).
#   build.sh SLUICE FOLDER        the site is FOLDER/site; MKDOCS is the program, if it is not on the PATH
set -euo pipefail
sluice=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
cd "$(dirname "$0")/../.."
rm -rf "$folder/pages" "$folder/site"
mkdir "$folder/pages"
cp packaging/site/mkdocs.yml "$folder/"
# Every file that a page leads to, as it lies in the repository, so that links are right in both.
find README.md CHANGELOG.md CONTRIBUTING.md LICENSE THIRD_PARTY_LICENCES.md docs plugins examples experiments workflows packaging/docker core sdk tests python -type f \
  \( -name '*.md' -o -name '*.svg' -o -name '*.png' -o -name '*.sh' -o -name '*.py' -o -name '*.nf' -o -name '*.h' -o -name '*.hpp' -o -name Dockerfile \
  -o -name LICENSE -o -name '*_device.cpp' \) -not -path '*/__pycache__/*' -print0 | xargs -0 cp --parents -t "$folder/pages"
"$sluice" docs "$folder/pages/reference" >/dev/null
# What tests read behind the language of a block (```cpp file=NAME) is not for Markdown.
find "$folder/pages" -name '*.md' -exec sed -i 's/^```\([a-z]*\) [^`]*$/```\1/' {} +
# Design pages are in the menu as they are in the index of design.md, experiments as in the table of theirs.
python3 - "$folder" <<'PYTHON'
import re, sys
folder = sys.argv[1]
index = open(folder + "/pages/docs/design.md", encoding="utf-8").read()
pages = re.findall(r"^(?:- |And )\[([^\]]*)\]\((design/[\w-]+\.md)\)", index, re.M)
text = open(folder + "/mkdocs.yml", encoding="utf-8").read()
experiments = re.findall(r"^\| \[([^\]]*)\]\(([\w-]+\.md)\)", open(folder + "/pages/docs/experiments/README.md", encoding="utf-8").read(), re.M)
entries = "".join('      - "%s": docs/%s\n' % page for page in pages)
open(folder + "/mkdocs.yml", "w", encoding="utf-8").write(text.replace("      - Scheduling:", entries + "      - Scheduling:").replace(
    "  - Reference:", "  - Experiments:\n      - Tables: docs/experiments/README.md\n" + "".join('      - "%s": docs/experiments/%s\n' % page for page in experiments) + "  - Reference:"))
PYTHON
cd "$folder"
"${MKDOCS:-mkdocs}" build --quiet 2>"$folder/log" || { cat "$folder/log" >&2; exit 1; }
