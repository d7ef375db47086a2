// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// `sluice live` is the Python package's: the sequencer's interface has stubs for Python.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cli/exit_code.hpp"
#include "cli/option_parser.hpp"

namespace sluice::cli {
namespace {

constexpr const char* bootstrap =
    "import sys\n"
    "sys.path[:] = [p for p in sys.path if p]\n"  // "-c" puts the folder the user is in first, whatever it has
    "try:\n"
    "    from sluice.live.program import main\n"
    "except ImportError as error:\n"
    "    sys.exit(f\"sluice live: {sys.executable} does not have the package sluice ({error}): install it with pip install 'sluice[live]', or let "
    "\"\n"
    "             \"SLUICE_PYTHON name a Python that has it\")\n"
    "sys.exit(main(sys.argv[1:]))\n";

// For --help and completion; the package reads them again.
struct LiveArguments {
  std::string host, port, position, pipeline, log, report, first_channel, last_channel, deadline, stop_seconds, unblock_seconds, most_samples,
      give_up, status;
  bool dry_run = false, quiet = false;

  void add_to(CLI::App& app) {
    app.add_option("--host", host, "where MinKNOW runs (default: 127.0.0.1)")->type_name("HOST");
    app.add_option("--port", port, "of MinKNOW's manager (default: 9502)")->type_name("N");
    app.add_option("--position", position, "name of the position: MN12345, X1, 1A")->type_name("NAME");
    app.add_option("--pipeline", pipeline, "a pipeline with a flow cell whose place the sequencer takes (default: read_until)")
        ->type_name("PIPELINE");
    app.add_option("--log", log, "table of decisions with their latency; lines are added to a file that is there")->type_name("FILE");
    app.add_option("--report", report, "counts and latencies at the end, JSON")->type_name("FILE");
    app.add_option("--first-channel", first_channel, "(default: 1)")->type_name("N");
    app.add_option("--last-channel", last_channel, "(default: the flow cell's)")->type_name("N");
    app.add_option("--deadline", deadline, "decisions later than this after their signal came mean \"continue\" (default: 1)")->type_name("S");
    app.add_option("--stop-seconds", stop_seconds, "when a decision was late, nothing is ejected for so long (default: 5)")->type_name("S");
    app.add_option("--unblock-seconds", unblock_seconds, "how long the voltage is turned round to eject a strand (default: 0.1)")->type_name("S");
    app.add_option("--most-samples", most_samples, "reads that are undecided after so many samples are sequenced (default: 16000)")->type_name("N");
    app.add_option("--give-up", give_up, "end when there has been no connection for so long (default: never)")->type_name("S");
    app.add_option("--status", status, "a line of numbers every so many seconds (default: 30)")->type_name("S");
    app.add_flag("--dry-run", dry_run, "decide and log, but eject nothing");
    app.add_flag("--quiet", quiet, "only warnings and errors");
  }
};

}  // namespace

int live_command(const Arguments& arguments) {
  CLI::App app("Read Until on a sequencer: decides about the live reads of a position of MinKNOW", "sluice live");
  app.footer(
      "\nEvery other option is a parameter of the pipeline (sluice run read_until --help) or of the run (--threads N).\nIt is written in Python: pip "
      "install "
      "'sluice[live]', or let SLUICE_PYTHON name a Python that has it.\n\nExample:\n  sluice live --position MN12345 --target lambda.fa "
      "--control-channels 1-256 "
      "--log decisions.tsv");
  LiveArguments known;
  known.add_to(app);
  if (const auto ended = parse_known_options(app, arguments)) return *ended;
  const char* const named = std::getenv("SLUICE_PYTHON");
  const std::string python = named != nullptr && *named != '\0' ? named : "python3";
  std::vector<std::string> words = {python, "-c", bootstrap};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::fflush(nullptr);
  execvp(python.c_str(), argv.data());
  std::fprintf(
      stderr,
      "sluice live: cannot start %s: %s (it is written in Python: pip install 'sluice[live]', or let SLUICE_PYTHON name a Python that has it)\n",
      python.c_str(), std::strerror(errno));
  return exit_failed;
}

}  // namespace sluice::cli
