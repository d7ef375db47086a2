// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/account_writer.hpp"

#include <algorithm>
#include <exception>
#include <queue>
#include <sluice/failure.hpp>
#include <utility>

#include "machine/atomic_file.hpp"
#include "machine/gzip_text.hpp"

namespace sluice {
namespace {

constexpr std::size_t piece_bytes = std::size_t{256} << 10;
// What a line takes in memory beside its letters: the string, and what the C library adds to its block.
constexpr std::size_t line_bytes = sizeof(std::string) + 2 * sizeof(void*);

// The lines of one sorted run, one after the other.
class RunReader {
 public:
  RunReader(SpoolFile& spool, std::uint64_t begin, std::uint64_t end) : spool_(&spool), at_(begin), end_(end) {}
  // False: there are no more.
  bool next(std::string& line) {
    std::size_t stop = 0;
    while ((stop = text_.find('\n', used_)) == std::string::npos) {
      if (at_ >= end_) return false;
      text_.erase(0, used_);
      used_ = 0;
      const std::string more = spool_->read(at_, std::min<std::uint64_t>(piece_bytes, end_ - at_));
      at_ += more.size();
      text_ += more;
    }
    line.assign(text_, used_, stop + 1 - used_);
    used_ = stop + 1;
    return true;
  }

 private:
  SpoolFile* spool_;
  std::uint64_t at_, end_;
  std::string text_;
  std::size_t used_ = 0;
};

}  // namespace

AccountWriter::AccountWriter(std::filesystem::path file, std::size_t run_bytes)
    : file_(std::move(file)), run_bytes_(run_bytes), spool_(file_, "run it without --account") {}

void AccountWriter::lost(const std::string& stage, const FailedRow& row) noexcept {
  const std::lock_guard lock(mutex_);
  if (!problem_.empty()) return;
  try {
    add(row.row + "\t" + stage + "\t" + row.reason + "\n");
  } catch (const std::exception& exception) {
    lines_.clear();
    problem_ = exception.what();
  }
}

void AccountWriter::save(const std::function<void(std::string_view)>& write) {
  const std::lock_guard lock(mutex_);
  if (!problem_.empty()) throw Failure::output(problem_);  // else the lines that are missing would be missed by nobody
  spool_.give(write);
  for (const std::string& line : lines_) write(line);
}

void AccountWriter::go_on_from(std::string_view lines) {
  const std::lock_guard lock(mutex_);
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n') + 1;
    add(std::string(lines.substr(0, end)));
    lines.remove_prefix(end == 0 ? lines.size() : end);
  }
}

void AccountWriter::add(const std::string& line) {
  bytes_ += line.size() + line_bytes;
  lines_.push_back(line);
  if (bytes_ >= run_bytes_) spill();
}

void AccountWriter::spill() {
  std::sort(lines_.begin(), lines_.end());
  runs_.push_back(spool_.bytes());
  for (const std::string& line : lines_) spool_.append(line);
  lines_.clear();
  bytes_ = 0;
}

std::string AccountWriter::finish(const RunStatistics& statistics) {
  const std::lock_guard lock(mutex_);
  if (!problem_.empty()) return "'" + file_.string() + "' cannot be written: " + problem_;
  for (const StageStatistics& stage : statistics.stages)
    for (const auto& [reason, count] : stage.nameless)
      lines_.push_back("(" + std::to_string(count) + " without a name)\t" + stage.name + "\t" + reason + "\n");
  std::sort(lines_.begin(), lines_.end());

  // The smallest next line of all runs, the one in memory among them.
  struct Head {
    std::string line;
    std::size_t run;
  };
  const auto later = [](const Head& a, const Head& b) { return a.line > b.line; };
  std::priority_queue<Head, std::vector<Head>, decltype(later)> heads(later);
  std::vector<RunReader> readers;
  std::size_t in_memory = 0;
  const auto push_next = [&](std::size_t run) {
    Head head{"", run};
    if (run < readers.size() ? readers[run].next(head.line) : in_memory < lines_.size()) {
      if (run == readers.size()) head.line = std::move(lines_[in_memory++]);
      heads.push(std::move(head));
    }
  };
  for (std::size_t run = 0; run < runs_.size(); ++run)
    readers.emplace_back(spool_, runs_[run], run + 1 < runs_.size() ? runs_[run + 1] : spool_.bytes());
  std::string header = "read\tstage\treason\n";
  bool begun = false;
  const auto next = [&] {
    if (!begun)
      for (std::size_t run = 0; run <= readers.size(); ++run) push_next(run);
    begun = true;
    std::string piece = std::exchange(header, "");
    while (!heads.empty() && piece.size() < piece_bytes) {
      const Head head = heads.top();
      heads.pop();
      piece += head.line;
      push_next(head.run);
    }
    return piece;
  };
  return write_atomically(file_, packed_by_name(file_, next));
}

}  // namespace sluice
