// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "overlap_reader/overlap_order.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sluice/failure.hpp>
#include <tuple>

namespace sluice::overlap_reader {
namespace {

constexpr std::size_t run_buffer_records = 1024;                       // 56 KiB a run while runs are merged
constexpr std::size_t cigar_buffer_operations = std::size_t{1} << 18;  // 1 MiB

}  // namespace

TemporaryFile::TemporaryFile() {
  const char* folder = std::getenv("TMPDIR");
  name_ = std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") + "/sluice-overlaps-XXXXXX";
  file_ = ::mkostemp(name_.data(), O_CLOEXEC);
  if (file_ < 0) fail("cannot be made");
  ::unlink(name_.c_str());
}
TemporaryFile::~TemporaryFile() {
  if (file_ >= 0) ::close(file_);
}
void TemporaryFile::fail(const char* what) const {
  throw Failure::output("the temporary file '" + name_ + "' " + what + ": " + std::strerror(errno),
                        "free space there, or set TMPDIR to a folder on a larger disk");
}
void TemporaryFile::append(const void* bytes, std::size_t count) {
  const char* at = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = ::write(file_, at, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot be written");
    at += written;
    count -= static_cast<std::size_t>(written);
    size_ += written;
  }
}
void TemporaryFile::read(std::int64_t offset, void* bytes, std::size_t count) const {
  char* at = static_cast<char*>(bytes);
  while (count > 0) {
    const ssize_t got = ::pread(file_, at, count, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail("cannot be read");
    at += got;
    offset += got;
    count -= static_cast<std::size_t>(got);
  }
}

OrderedOverlaps::OrderedOverlaps(OverlapOrder order, std::size_t memory_bytes)
    : order_(order), capacity_(std::max(memory_bytes / sizeof(OverlapRecord), run_buffer_records)) {}

bool OrderedOverlaps::before(const OverlapRecord& a, const OverlapRecord& b) const {
  return order_ == OverlapOrder::target ? std::tie(a.target, a.target_start, a.ordinal) < std::tie(b.target, b.target_start, b.ordinal)
                                        : std::tie(a.query, a.ordinal) < std::tie(b.query, b.ordinal);
}

void OrderedOverlaps::sort_records() {
  std::sort(records_.begin(), records_.end(), [this](const OverlapRecord& a, const OverlapRecord& b) { return before(a, b); });
}

void OrderedOverlaps::write_run() {
  sort_records();
  if (!run_file_) run_file_ = std::make_unique<TemporaryFile>();
  Run run;
  run.offset = run_file_->size();
  run_file_->append(records_.data(), records_.size() * sizeof(OverlapRecord));
  run.end = run_file_->size();
  runs_.push_back(std::move(run));
  records_.clear();
}

void OrderedOverlaps::add(OverlapRecord record, std::span<const std::uint32_t> cigar) {
  if (!cigar.empty()) {
    if (!cigar_file_) cigar_file_ = std::make_unique<TemporaryFile>();
    record.cigar_offset = cigar_file_->size() + static_cast<std::int64_t>(cigars_.size() * sizeof(std::uint32_t));
    record.operations = static_cast<std::uint32_t>(cigar.size());
    cigars_.insert(cigars_.end(), cigar.begin(), cigar.end());
    if (cigars_.size() >= cigar_buffer_operations) {
      cigar_file_->append(cigars_.data(), cigars_.size() * sizeof(std::uint32_t));
      cigars_.clear();
    }
  }
  if (records_.size() == capacity_) write_run();
  records_.push_back(record);
}

void OrderedOverlaps::save(StateWriter& to) const {
  constexpr std::size_t at_once = std::size_t{1} << 14;
  std::vector<OverlapRecord> part;
  for (const Run& run : runs_)
    for (std::int64_t at = run.offset; at < run.end; at += static_cast<std::int64_t>(part.size() * sizeof(OverlapRecord))) {
      part.resize(std::min(static_cast<std::size_t>(run.end - at) / sizeof(OverlapRecord), at_once));
      run_file_->read(at, part.data(), part.size() * sizeof(OverlapRecord));
      to.values(part);
    }
  if (!records_.empty()) to.values(records_);
  to.values(std::vector<OverlapRecord>());
}

void OrderedOverlaps::restore(StateReader& from, const std::function<void(const OverlapRecord&)>& add) {
  for (std::vector<OverlapRecord> part = from.values<OverlapRecord>(); !part.empty(); part = from.values<OverlapRecord>())
    for (const OverlapRecord& record : part) add(record);
}

void OrderedOverlaps::sort() {
  if (cigar_file_) cigar_file_->append(cigars_.data(), cigars_.size() * sizeof(std::uint32_t));
  cigars_ = {};
  if (runs_.empty()) return sort_records();
  if (!records_.empty()) write_run();
  records_ = {};
  for (std::size_t i = 0; i < runs_.size(); ++i)
    if (refill(runs_[i])) heap_.push_back(i);
  const auto later = [this](std::size_t a, std::size_t b) { return before(runs_[b].buffer[runs_[b].used], runs_[a].buffer[runs_[a].used]); };
  std::make_heap(heap_.begin(), heap_.end(), later);
}

bool OrderedOverlaps::refill(Run& run) const {
  const auto left = static_cast<std::size_t>(run.end - run.offset) / sizeof(OverlapRecord);
  run.buffer.resize(std::min(left, run_buffer_records));
  run.used = 0;
  if (run.buffer.empty()) return false;
  run_file_->read(run.offset, run.buffer.data(), run.buffer.size() * sizeof(OverlapRecord));
  run.offset += static_cast<std::int64_t>(run.buffer.size() * sizeof(OverlapRecord));
  return true;
}

bool OrderedOverlaps::next(OverlapRecord& record) {
  if (runs_.empty()) {
    if (used_ == records_.size()) return false;
    record = records_[used_++];
    return true;
  }
  if (heap_.empty()) return false;
  const auto later = [this](std::size_t a, std::size_t b) { return before(runs_[b].buffer[runs_[b].used], runs_[a].buffer[runs_[a].used]); };
  std::pop_heap(heap_.begin(), heap_.end(), later);
  Run& run = runs_[heap_.back()];
  record = run.buffer[run.used++];
  if (run.used < run.buffer.size() || refill(run))
    std::push_heap(heap_.begin(), heap_.end(), later);
  else
    heap_.pop_back();
  return true;
}

void OrderedOverlaps::cigar(const OverlapRecord& record, std::span<std::uint32_t> operations) const {
  if (record.operations > 0) cigar_file_->read(record.cigar_offset, operations.data(), operations.size_bytes());
}

}  // namespace sluice::overlap_reader
