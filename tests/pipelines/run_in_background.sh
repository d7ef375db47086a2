# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Runs that are watched while they go on; sourced by tests, which have `sluice` and fail().

# begin PIPELINE...: a run in the background; what it says is in err.txt.
begin() { : >err.txt; env --default-signal=INT "$sluice" run "$@" >out.txt 2>err.txt & pid=$!; }
# Waits for its end, two minutes at most: exit code in $code.
end() {
  timeout 120 tail --pid=$pid -s 0.05 -f /dev/null || fail "it does not end: $(cat err.txt)"
  code=0
  wait $pid || code=$?
}
# Waits until the command succeeds, a minute at most.
until_true() { # COMMAND
  for _ in {1..1200}; do
    eval "$1" && return
    kill -0 $pid 2>/dev/null || fail "it ended before '$1': $(cat err.txt)"
    sleep 0.05
  done
  fail "never '$1': $(cat err.txt)"
}
# Waits until the run has said so.
will_say() { until_true "grep -q -e \"$1\" err.txt"; } # TEXT
