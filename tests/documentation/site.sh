#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The website is built; every link and anchor in it leads to a page or file of it; every page of docs/ is in the menu; and a browser, where there is one, shows
# the first page.
#   site.sh SLUICE SOURCE_DIR FOLDER
set -euo pipefail
sluice=$(realpath "$1") source=$(realpath "$2")
mkdir -p "$3"
folder=$(realpath "$3")
fail() { echo "FAILED: $*"; exit 1; }
command -v python3 >/dev/null || { echo "SKIPPED: there is no python3"; exit 77; }
MKDOCS=$(command -v mkdocs || true)
if [ -z "$MKDOCS" ] || ! python3 -c 'import material' 2>/dev/null; then
  MKDOCS=$folder/tools/bin/mkdocs
  if ! "$folder/tools/bin/python" -c 'import material' 2>/dev/null; then
    rm -rf "$folder/tools"
    { python3 -m venv "$folder/tools" && "$folder/tools/bin/pip" install --quiet --disable-pip-version-check mkdocs-material; } >"$folder/pip.log" 2>&1 ||
      { echo "SKIPPED: there is no mkdocs with its theme material, and PyPI can't be reached"; exit 77; }
  fi
fi
export MKDOCS
"$source/packaging/site/build.sh" "$sluice" "$folder/built" || fail "the site is built"
python3 - "$folder/built" <<'PYTHON' || exit 1
import os, re, sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit
folder = sys.argv[1]
site = folder + "/site"

class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.ids, self.text = [], set(), ""
        self.feed(open(path, encoding="utf-8").read())
    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids.update(v for k, v in attributes if k in ("id", "name") and v)
        if tag == "a" and given.get("href"): self.links.append(given["href"])
        if tag in ("img", "script") and given.get("src"): self.links.append(given["src"])
        if tag == "link" and given.get("rel") == "stylesheet": self.links.append(given["href"])

pages = {}
for where, _, names in os.walk(site):
    for name in names:
        if name.endswith(".html") and name != "404.html":
            pages[os.path.join(where, name)] = Page(os.path.join(where, name))
problems, links = set(), 0
for path, page in pages.items():
    for link in page.links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        links += 1
        target = os.path.normpath(os.path.join(os.path.dirname(path), unquote(parts.path))) if parts.path else path
        if os.path.isdir(target):
            continue  # a folder of the sources
        if not os.path.exists(target):
            problems.add(f"{os.path.relpath(path, site)}: the link leads to '{link}', which is not there")
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids and not parts.fragment.startswith("__"):
            problems.add(f"{os.path.relpath(path, site)}: '{link}': there is no such heading")
menu = open(folder + "/mkdocs.yml", encoding="utf-8").read()
for where, _, names in os.walk(folder + "/pages/docs"):
    for name in names:
        page = os.path.relpath(os.path.join(where, name), folder + "/pages")
        if name.endswith(".md") and not re.search(r": %s$" % re.escape(page), menu, re.M):
            problems.add(f"{page} is not in the menu (packaging/site/mkdocs.yml)")
print("\n".join(sorted(problems)))
print(f"{len(pages)} pages, {links} links, {len(problems)} problems")
sys.exit(bool(problems) or len(pages) < 100)
PYTHON
browser=$(command -v chromium || command -v google-chrome || true)
if [ -z "$browser" ]; then
  echo "SKIPPED in part: there is no chromium, so nobody looked at the site"
else
  # The theme's menu, the table of commands and the picture are there at both widths, and nothing is fetched from elsewhere.
  for width in 1200 420; do
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$folder/browser" --window-size=$width,1600 --screenshot="$folder/site_$width.png" \
      "file://$folder/built/site/index.html" >"$folder/browser.log" 2>&1 || { cat "$folder/browser.log"; fail "the browser shows the site"; }
    [ "$(stat -c %s "$folder/site_$width.png")" -gt 20000 ] || fail "the site is empty at $width pixels"
  done
fi
echo "all good"
