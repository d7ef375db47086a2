// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/spooled_inputs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sluice/failure.hpp>
#include <sluice/file_descriptor.hpp>
#include <sluice/input_files.hpp>
#include <utility>

#include "plan/plan_files.hpp"

namespace sluice {
namespace {

constexpr int nap_milliseconds = 100;

// Of a parameter that names inputs: each name on a line.
template <class Each>
void for_each_input(const ResolvedStage& stage, const Each& each) {
  const sluice_stage_descriptor& d = *stage.entry.descriptor;
  bool is_first = true;
  for (std::size_t i = 0; i < d.parameter_count && i < stage.values.size(); ++i) {
    if (file_use(stage, i) != FileUse::reads) continue;
    const bool is_read_once = std::exchange(is_first, false) && d.kind == SLUICE_SOURCE;
    if (stage.values[i].is_set == 0) continue;
    const std::vector<std::string> names = input_files_detail::words(stage.values[i].text, "\n");
    for (const std::string& name : names) each(i, name, is_read_once && names.size() == 1);
  }
}

// Can it be read only once? What is not there is for who opens it to say.
bool is_passing(const std::string& name) {
  struct stat info {};
  if (name == "-") return ::fstat(STDIN_FILENO, &info) != 0 || !S_ISREG(info.st_mode) || ::lseek(STDIN_FILENO, 0, SEEK_CUR) != 0;
  return ::stat(name.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode) && !S_ISBLK(info.st_mode);
}

std::string called(const std::string& name) { return name == "-" ? "standard input" : "'" + name + "'"; }

// A FIFO that nobody writes to yet is opened at once, and waited for by poll().
void copy(const std::string& name, SpillFile& to, const std::function<bool()>& stopping) {
  const auto fail = [&](const char* what) {
    throw Failure::input("cannot " + std::string(what) + " " + called(name) + ": " + std::strerror(errno), "check what writes it, or give a file");
  };
  const FileDescriptor from(name == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : ::open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!from.is_open()) fail("open");
  std::vector<char> buffer(std::size_t{1} << 18);
  while (!stopping()) {
    pollfd ready{from.number(), POLLIN, 0};
    if (::poll(&ready, 1, nap_milliseconds) <= 0) continue;
    const ssize_t got = ::read(from.number(), buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) fail("read");
    if (got == 0) return;
    to.append({buffer.data(), static_cast<std::size_t>(got)});
  }
}

}  // namespace

void SpooledInputs::take(const Plan& plan, const Taking& taking) {
  struct Use {
    int readers = 0;
    bool is_read_again = false;
  };
  std::map<std::string, Use> uses;
  const auto note = [&](const ResolvedStage& stage) {
    if (follows(stage)) return;  // it takes files that grow, and refuses others itself
    for_each_input(stage, [&](std::size_t, const std::string& name, bool is_read_once) {
      Use& use = uses[name];
      use.is_read_again = use.is_read_again || ++use.readers > 1 || !is_read_once;
    });
  };
  for (const ResolvedStage& resource : plan.pipeline.resources) note(resource);
  for (std::size_t i = 0; i < plan.pipeline.stages.size(); ++i)
    if (taking.makes(i)) note(plan.pipeline.stages[i]);
  for (const auto& [name, use] : uses) {
    if (!use.is_read_again || names_.contains(name)) continue;
    if (name == "-" && !is_passing(name)) names_[name] = fmt::format("/proc/{}/fd/{}", ::getpid(), STDIN_FILENO);
    if (names_.contains(name) || !is_passing(name)) continue;
    SpillFile& to = copies_.emplace_back("-", "give a file");
    taking.say(called(name) + " can be read only once, and is copied to a temporary file (TMPDIR) first");
    copy(name, to, taking.stopping);
    names_[name] = to.path();
  }
}

std::vector<sluice_value> SpooledInputs::values_of(const ResolvedStage& stage, std::deque<std::string>& texts) const {
  std::vector<sluice_value> values = stage.values;
  if (names_.empty()) return values;
  std::map<std::size_t, std::string> changed;
  for_each_input(stage, [&](std::size_t i, const std::string& name, bool) {
    const auto copy = names_.find(name);
    std::string& text = changed[i];
    text += (text.empty() ? "" : "\n") + (copy == names_.end() ? name : copy->second);
  });
  for (auto& [i, text] : changed) values[i].text = texts.emplace_back(std::move(text)).c_str();
  return values;
}

std::string SpooledInputs::as_given(std::string message) const {
  for (const auto& [given, opened] : names_)
    for (std::size_t at = message.find(opened); at != std::string::npos; at = message.find(opened, at + given.size()))
      if (const std::size_t end = at + opened.size(); end == message.size() || message[end] < '0' || message[end] > '9')
        message.replace(at, opened.size(), given);
  return message;
}

}  // namespace sluice
