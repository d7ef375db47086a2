// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <map>
#include <new>
#include <sstream>
#include <system_error>

#include "cli/commands.hpp"
#include "cli/help_text.hpp"
#include "cli/run_ending.hpp"
#include "config/own_words.hpp"
#include "config/pipeline.hpp"
#include "device/device.hpp"
#include "device/device_opening.hpp"
#include "session/exit_code.hpp"

namespace sluice::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> list = {
      {"run", "run a pipeline: a shipped one by name, or a .toml file", run_command},
      {"live", "Read Until on a sequencer: decide about the live reads of a position of MinKNOW (in Python)", live_command},
      {"merge", "put the outputs of all shards of a run together", merge_command},
      {"check", "look for every mistake in a pipeline without running it (stages in Python are imported)", check_command},
      {"plan", "show stages, columns, memory and devices of a pipeline without running it", plan_command},
      {"plugins", "list plugins and stages, and why a plugin could not be loaded", plugins_command},
      {"inspect", "describe a stage: columns, parameters, resources, reasons", inspect_command},
      {"new-plugin", "make the skeleton of a plugin", new_plugin_command},
      {"bench", "run a pipeline several times and show the median rates of its stages", bench_command},
      {"model", "keep a k-mer model for a pore that has none built in", model_command},
      {"doctor", "look at this machine: processors, memory, devices, plugins", doctor_command},
      {"docs", "write the pages of all stages and pipelines as Markdown", docs_command},
      {"schema", "print the JSON Schema of pipeline files", schema_command},
      {"completion", "print the shell's completion script", completion_command},
  };
  return list;
}

namespace {

void print_usage(std::FILE* stream) {
  std::fprintf(stream, "sluice %s: pipelines for nanopore and other long-read data\n\nUsage: sluice COMMAND [ARGUMENTS]\n", SLUICE_VERSION);
  constexpr std::size_t begin = 25;
  const auto line = [&](const std::string& name, const std::string& summary) {
    std::string text = "  " + name;
    text.resize(std::max(begin, text.size() + 1), ' ');
    return text + wrapped(summary, help_width() - begin, begin) + "\n";
  };
  Diagnostics ignored;
  std::map<std::string, std::string> groups;  // the lines below each heading
  for (const auto& file : shipped_pipelines()) {
    const WrittenPipeline pipeline = load_pipeline_file(file, ignored);
    groups[pipeline.group.empty() ? "Your own" : pipeline.group] += line(file.stem().string(), pipeline.summary);
  }
  for (const auto& [heading, lines] : groups) std::fprintf(stream, "\n%s:\n%s", heading.c_str(), lines.c_str());
  std::fprintf(stream, "\nAround them:\n");
  for (const Command& command : commands()) std::fputs(line(command.name, command.summary).c_str(), stream);
  std::fprintf(
      stream,
      "\n'sluice COMMAND --help' describes each. Commands of minimap2, samtools, f5c, racon, modkit and others may be typed behind 'sluice'.\n");
}

int dispatch(const Arguments& all) {
  if (all.empty()) return print_usage(stderr), exit_usage;
  const std::string& name = all.front();
  if (name == "help" && all.size() > 1) return dispatch({all[1], "--help"});
  if (name == "--help" || name == "-h" || name == "help") return print_usage(stdout), exit_ok;
  if (name == "--version") return std::printf("sluice %s\n", SLUICE_VERSION), exit_ok;
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (name == command.name) return command.execute({all.begin() + 1, all.end()});
    names.emplace_back(command.name);
  }
  for (const auto& file : shipped_pipelines()) {
    if (file.stem() == name) return pipeline_command(all);
    names.push_back(file.stem().string());
  }
  if (const auto peer = peer_command(all)) {
    Arguments ours(all.begin() + static_cast<std::ptrdiff_t>(peer->words), all.end());
    const bool is_done_here = peer->answer.empty() || kind_of_habit(peer->answer) == HabitKind::replaced;
    if (!is_done_here) return std::fprintf(stderr, "sluice: %s\n", peer->answer.c_str()), exit_usage;
    std::istringstream options(peer->answer);
    ours.insert(ours.begin(), std::istream_iterator<std::string>(options), {});
    ours.insert(ours.begin(), peer->pipeline);
    return pipeline_command(ours);
  }
  std::string remedy = "'sluice --help' lists the commands";
  if (const std::string near = nearest_name(name, names); !near.empty()) remedy = "did you mean '" + near + "'?";
  std::fprintf(stderr, "%s\n", Diagnostic{Severity::error, {"sluice", 0, 0}, "", "unknown command '" + name + "'", remedy}.text().c_str());
  return exit_usage;
}

}  // namespace
}  // namespace sluice::cli

namespace {

// As a shell expects of a filter whose reader has gone.
int end_process(int code);
int end_like_a_filter() {
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
  return end_process(sluice::exit_closed_pipe);  // where the signal is blocked
}

// An input may be thousands of files, and many systems let a program open 1,024 unless it asks for more.
void allow_many_files() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= files.rlim_max) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

// A file of ours must not get the number of a standard stream that the parent has closed (`>&-`): what is printed would land in it. As the GNU
// tools do, these are opened so that using them still fails.
void take_closed_standard_numbers() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(number, F_GETFD) < 0) static_cast<void>(::open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY));
}

// A run that has ended does not wait for a driver that is still starting: then the process ends under that thread's feet, without
// destructors, all outputs being complete. Nor does it wait for a driver to give back what the system takes anyhow.
int end_process(int code) {
  if (!sluice::devices_are_opening() && !sluice::devices_were_left()) return code;
  std::fflush(nullptr);
  std::_Exit(code);
}

}  // namespace

int main(int argc, char** argv) {
  // `sluice plugins | head` must end quietly: writes to a closed pipe fail with EPIPE and are handled where they are made.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // so must writes beyond `ulimit -f`, with EFBIG
  sluice::cli::tell_of_crashes();
  std::set_new_handler(sluice::cli::note_lack_of_memory);
  std::set_terminate(sluice::cli::end_uncaught);
  take_closed_standard_numbers();
  allow_many_files();
  try {
    const int code = sluice::cli::dispatch({argv + 1, argv + argc});
    if (code == sluice::exit_closed_pipe) return end_like_a_filter();
    // A reader that went away is none of our business; a full disk is.
    const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
    if (written || errno == EPIPE || code != sluice::exit_ok) return end_process(code);
    std::fprintf(stderr, "sluice: standard output cannot be written: %s\n", std::strerror(errno));
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "sluice: out of memory (lower --memory or --threads)\n");
  } catch (const std::system_error& error) {
    std::fprintf(stderr, "sluice: out of memory or threads: %s (lower --threads, or raise ulimit -v and -u)\n", error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sluice: %s\n", error.what());
  }
  return end_process(sluice::exit_failed);
}
