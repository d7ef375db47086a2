// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Runs the built `sluice` program as a user would, with the tests' toy stages.

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace program {

struct Outcome {
  int code = -1;  // 128 + N: killed by signal N
  std::string out, err;

  bool says(const std::string& text) const { return err.find(text) != std::string::npos; }
  bool prints(const std::string& text) const { return out.find(text) != std::string::npos; }
};

// What happens to a run when it has said `after` on standard error.
struct Meanwhile {
  std::string after;
  std::function<void(pid_t)> act;
};
inline Meanwhile send(int signal, const std::string& after) {
  return {after, [signal](pid_t child) { ::kill(child, signal); }};
}

// A folder of the test's own, removed with everything in it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "sluice_cli_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  std::string read(const std::string& name) const {
    std::ifstream stream(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) result.push_back(entry.path().filename().string());
    std::sort(result.begin(), result.end());
    return result;
  }
  // Name and content of every file; of a link, where it leads.
  std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> result;
    for (const std::string& name : names())
      result[name] = std::filesystem::is_symlink(path(name)) ? "-> " + std::filesystem::read_symlink(path(name)).string() : read(name);
    return result;
  }

 private:
  std::filesystem::path path_;
};

// The working directory while this lives.
class WorkingDirectory {
 public:
  explicit WorkingDirectory(const Folder& folder) : before_(std::filesystem::current_path()) { std::filesystem::current_path(folder.path("")); }
  ~WorkingDirectory() { std::filesystem::current_path(before_); }
  WorkingDirectory(const WorkingDirectory&) = delete;
  WorkingDirectory& operator=(const WorkingDirectory&) = delete;

 private:
  std::filesystem::path before_;
};

// `meanwhile`: in this order. `environment`: variables that are set for this run, beside those that keep the user's own files out of it.
inline Outcome run(const std::vector<std::string>& arguments, const std::vector<Meanwhile>& meanwhile = {},
                   const std::string& standard_input = "/dev/null", const std::map<std::string, std::string>& environment = {}) {
  int out[2], err[2];
  Outcome outcome;
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) return outcome;
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::open(standard_input.c_str(), O_RDONLY), 0);
    ::dup2(out[1], 1);
    ::dup2(err[1], 2);
    ::setenv("SLUICE_PLUGIN_PATH", SLUICE_TEST_PLUGIN_DIR, 1);
    ::unsetenv("SLUICE_PIPELINE_PATH");
    ::setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    ::setenv("XDG_DATA_HOME", "/nonexistent", 1);
    ::setenv("XDG_CACHE_HOME", "/nonexistent", 1);
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> words = {const_cast<char*>("sluice")};
    for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    ::execv(SLUICE_PROGRAM, words.data());
    ::_exit(127);
  }
  ::close(out[1]);
  ::close(err[1]);
  pollfd streams[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
  std::string* texts[2] = {&outcome.out, &outcome.err};
  std::size_t happened = 0;
  while (streams[0].fd >= 0 || streams[1].fd >= 0) {
    ::poll(streams, 2, -1);
    for (int i = 0; i < 2; ++i) {
      if (streams[i].fd < 0 || streams[i].revents == 0) continue;
      char buffer[65536];
      const ssize_t bytes = ::read(streams[i].fd, buffer, sizeof buffer);
      if (bytes > 0)
        texts[i]->append(buffer, static_cast<std::size_t>(bytes));
      else
        streams[i].fd = -1;
    }
    for (; happened < meanwhile.size() && outcome.says(meanwhile[happened].after); ++happened) meanwhile[happened].act(child);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(out[0]);
  ::close(err[0]);
  if (happened < meanwhile.size()) outcome.err += "\n(never said: " + meanwhile[happened].after + ")";
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

// With --set: the toy pipeline says the second when three batches are on their way and the fourth is next.
inline const char* const announced = "stages.numbers.params.announce_at=3";
inline const char* const announcement = "batch 3 comes";

// Counts, fails on request, and writes; with an optional branch.
inline const char* const toy_pipeline = R"([pipeline]
name = "toy"
summary = "counts and writes"
[parameters.output]
type = "path"
required = true
help = "the numbers"
[parameters.batches]
type = "int"
default = 10
minimum = 0
maximum = 1000000
help = "how many batches"
[parameters.milliseconds]
type = "float"
default = 0
help = "time of each batch"
[parameters.every]
type = "int"
default = 0
help = "rows that are no multiple of it fail"
[parameters.pairs]
type = "path"
help = "also write sums of pairs"
[parameters.shout]
type = "bool"
help = "nothing"
[stages.numbers]
use = "toy_source"
params = { batches = "${batches}", milliseconds = "${milliseconds}" }
[stages.sum]
use = "toy_map"
params.fail_unless_multiple_of = "${every}"
when_most_fail = "give a smaller --every"
[stages.write]
use = "toy_sink"
params.output = "${output}"
[stages.pair]
use = "toy_regroup"
[stages.write_pairs]
use = "toy_sink"
enabled = "${pairs}"
params = { output = "${pairs}", column = "total" }
)";

}  // namespace program
