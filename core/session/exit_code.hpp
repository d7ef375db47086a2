// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What `sluice` returns to the shell, and a run of a program says in its report. docs/running.md lists them for users.

namespace sluice {

enum ExitCode : int {
  exit_ok = 0,
  exit_problems_found = 1,  // doctor, docs --check: the machine or the pages are not as they should be
  exit_usage = 2,           // the command line or the pipeline is wrong; nothing was run
  exit_bad_reads = 3,       // the run finished, but produced nothing, or more rows failed than --max-bad-reads allows
  exit_failed = 4,
  exit_interrupted = 130,
  exit_closed_pipe = 141  // the reader of an output has gone: the process dies of SIGPIPE, as other filters do
};

// Behind a run: something about it could not be written.
constexpr int with_problem(int code) { return code == exit_ok || code == exit_bad_reads ? static_cast<int>(exit_failed) : code; }

}  // namespace sluice
