#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Makes docs/site.png (1,200 pixels wide) and docs/site-narrow.png (420) again from the website's first page. Needs mkdocs as build.sh does, and chromium.
#   pictures.sh SLUICE
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=$(realpath "$(dirname "$0")")
browser=$(command -v chromium || command -v google-chrome) || { echo "there is no chromium" >&2; exit 1; }
"$here/build.sh" "$1" "$work"
picture() { # WIDTH FILE
  "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/browser" --window-size="$1,900" --screenshot="$work/$2" \
    "file://$work/site/index.html" >"$work/browser.log" 2>&1 || { cat "$work/browser.log" >&2; exit 1; }
  cp "$work/$2" "$here/../../docs/$2"
}
picture 1200 site.png
picture 420 site-narrow.png
