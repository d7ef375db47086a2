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

std::string progress_line(const Plan& plan, const RunStatistics& statistics, std::size_t width) {
  std::string line = plan.pipeline.name;
  const char* separator = ": ";
  const auto add = [&](const std::string& text) {
    line += separator + text;
    separator = ", ";
  };
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const StageStatistics* source = statistics_of(statistics, plan, i);
    if (source == nullptr || source->role != "source") continue;
    add(count_text(source->rows_out, plan.stages[i].row_type));
    double work = 0;
    for (const ImplementationStatistics& implementation : source->implementations) work += implementation.work;
    if (work > 0 && statistics.elapsed_seconds > 0) add(rate_text(work / statistics.elapsed_seconds, source->work_unit));
  }
  const bool follows_files =
      std::any_of(plan.stages.begin(), plan.stages.end(), [](const PlannedStage& stage) { return stage.stage != nullptr && follows(*stage.stage); });
  if (follows_files) {
    // Of what is there: nobody knows what comes.
    add(statistics.source_progress < 1 ? percent_text(std::max(statistics.source_progress, 0.0)) + " of what is there" : "waiting for more files");
    add(duration_text(statistics.elapsed_seconds));
  } else if (statistics.source_progress > 0 && statistics.source_progress <= 1) {
    add(percent_text(statistics.source_progress));
    add(duration_text(statistics.elapsed_seconds * (1 - statistics.source_progress) / statistics.source_progress) + " left");
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
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, std::chrono::milliseconds(500), [this] { return ended_; })) {
      lock.unlock();
      try {
        console_.show_progress(progress_line(plan, snapshot(), console_.width()));
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
