// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>

#include "observe/account.hpp"
#include "observe/quantity.hpp"

namespace sluice {

namespace {

bool reads_standard_input(const ResolvedStage& stage) {
  const sluice_stage_descriptor& d = *stage.entry.descriptor;
  for (std::size_t i = 0; i < d.parameter_count && i < stage.values.size(); ++i)
    if (d.kind == SLUICE_SOURCE && d.parameters[i].type == SLUICE_PATH && stage.values[i].is_set != 0 &&
        std::string_view(stage.values[i].text) == "-")
      return true;
  return false;
}

bool needs_device(const PlannedStage& stage) {
  const auto& implementations = stage.stage->entry.descriptor->implementations;
  return stage.implementations.size() == 1 && std::string_view(implementations[stage.implementations.front()].device) != "cpu";
}

// Before the first row: the resource that is being made, a device that has to be there, or the input. "" afterwards.
std::string waited_for(const Plan& plan, const RunStatistics& statistics) {
  const std::vector<ResolvedStage>& resources = plan.pipeline.resources;
  for (std::size_t i = 0; i < resources.size() && i < statistics.stages.size(); ++i)
    if (statistics.stages[i].implementations.empty()) return "making '" + resources[i].name + "' (" + resources[i].entry.descriptor->id + ")";
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const StageStatistics* source = statistics_of(statistics, plan, i);
    if (source != nullptr && source->role == "source" && source->rows_out > 0) return "";
  }
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const StageStatistics* source = statistics_of(statistics, plan, i);
    if (source == nullptr || source->role != "source") continue;
    if (statistics.devices.empty() && std::any_of(plan.stages.begin(), plan.stages.end(), needs_device)) return "waiting for the device to open";
    if (plan.stages[i].stage != nullptr && reads_standard_input(*plan.stages[i].stage)) return "waiting for standard input";
    return "waiting for the first " + (source->row_noun.empty() ? plan.stages[i].row_type : source->row_noun);
  }
  return "";
}

}  // namespace

std::string progress_line(const Plan& plan, const RunStatistics& statistics, TimeLeft& time_left, std::size_t width) {
  std::string line = plan.pipeline.name;
  const char* separator = ": ";
  const auto add = [&](const std::string& text) {
    line += separator + text;
    separator = ", ";
  };
  if (const std::string what = waited_for(plan, statistics); !what.empty()) {
    add(what);
    add(duration_text(statistics.elapsed_seconds));
    add(bytes_text(static_cast<double>(statistics.resident_peak)));
    return line.substr(0, width);
  }
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const StageStatistics* source = statistics_of(statistics, plan, i);
    if (source == nullptr || source->role != "source") continue;
    add(count_text(source->rows_out, plan.stages[i].row_type));
    double work = 0;
    for (const ImplementationStatistics& implementation : source->implementations) work += implementation.work;
    if (work > 0 && statistics.elapsed_seconds > 0) add(rate_text(work / statistics.elapsed_seconds, source->work_unit));
  }
  const TimeLeft::Estimate left = time_left.after(statistics);
  const bool follows_files =
      std::any_of(plan.stages.begin(), plan.stages.end(), [](const PlannedStage& stage) { return stage.stage != nullptr && follows(*stage.stage); });
  if (follows_files) {
    // Of what is there: nobody knows what comes.
    add(statistics.source_progress < 1 ? percent_text(std::max(statistics.source_progress, 0.0)) + " of what is there" : "waiting for more files");
    add(duration_text(statistics.elapsed_seconds));
  } else if (left.seconds >= 0) {
    add(percent_text(left.share));
    add(duration_text(left.seconds) + " left");
  } else {
    add(duration_text(statistics.elapsed_seconds));
  }
  add(bytes_text(static_cast<double>(statistics.resident_peak)));
  return line.substr(0, width);
}

void Console::write(const std::string& text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;  // nobody listens to standard error any more: the run is worth more than its log
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

void Console::line(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (progress_.empty()) return write(text + "\n");
  write("\r\x1b[K" + text + "\n" + progress_);
}

void Console::show_progress(const std::string& text) {
  const std::lock_guard lock(mutex_);
  progress_ = text;
  write("\r" + text + "\x1b[K");
}

void Console::clear_progress() {
  const std::lock_guard lock(mutex_);
  if (!progress_.empty()) write("\r\x1b[K");
  progress_.clear();
}

bool Console::is_terminal() const { return ::isatty(descriptor_) == 1; }

std::size_t Console::width() const {
  winsize size{};
  return ::ioctl(descriptor_, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1u : 79u;  // the last column would wrap
}

ProgressDisplay::ProgressDisplay(Console& console, const Plan& plan, std::function<RunStatistics()> snapshot) : console_(console) {
  thread_ = std::thread([this, &plan, snapshot = std::move(snapshot)] {
    TimeLeft time_left(plan);
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, std::chrono::milliseconds(500), [this] { return ended_; })) {
      lock.unlock();
      try {
        console_.show_progress(progress_line(plan, snapshot(), time_left, console_.width()));
      } catch (const std::exception&) {  // no room for a line: the next one, perhaps
      }
      lock.lock();
    }
  });
}

ProgressDisplay::~ProgressDisplay() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  wake_.notify_one();
  thread_.join();
  console_.clear_progress();
}

}  // namespace sluice
