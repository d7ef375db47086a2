#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The plugins of the target `demo` are all that the demonstration needs, and none of them is needless.
#   demo_plugins.sh BIN_DIR SOURCE_DIR PLUGIN...
set -euo pipefail
bin=$(realpath "$1") source=$(realpath "$2")
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
unset SLUICE_PIPELINE_PATH SLUICE_PLUGIN_PATH
export HOME=$work
mkdir -p "$work/bin/plugins"
cp "$bin/sluice" "$work/bin/"
cp -r "$bin/pipelines" "$bin/models" "$work/bin/"
for plugin in "$@"; do cp "$bin/plugins/$plugin.so" "$work/bin/plugins/"; done
"$source/examples/demo.sh" "$work/bin/sluice" "$work/demo" >"$work/log" 2>&1 || { tail -20 "$work/log"; fail "the demonstration with the plugins of the target demo"; }
grep -q 'a read at a time: yes' "$work/log" || fail "the demonstration has no answer"
for plugin in "$@"; do
  mv "$work/bin/plugins/$plugin.so" "$work/"
  needed=no
  for pipeline in synthetic_reference simulate methylation methylation_accuracy; do
    "$work/bin/sluice" check "$pipeline" >/dev/null 2>&1 || needed=yes
  done
  [ $needed = yes ] || fail "the target demo has the plugin $plugin, which the demonstration does not run"
  mv "$work/$plugin.so" "$work/bin/plugins/"
done
echo "all good: $# plugins"
