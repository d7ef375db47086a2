// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Sorts BAM records by coordinate within so much memory: what does not fit is written to a temporary file in sorted runs, which are merged in the
// end. All work but the last comparison runs on the run's threads. The user links libzstd.

#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <sluice/allocated.hpp>
#include <sluice/call.hpp>
#include <sluice/hts/record_runs.hpp>
#include <sluice/hts/run_merge.hpp>
#include <sluice/kept_buffer.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::hts {

class RecordSorter {
 public:
  // `beside`: the output, in whose folder the temporary file is.
  RecordSorter(std::string beside, std::uint64_t memory_bytes)
      : beside_(std::move(beside)),
        capacity_(std::max<std::size_t>(memory_bytes / 4 * 3, least_capacity)),
        block_bytes_(std::clamp<std::size_t>(memory_bytes / 64, least_block_bytes, most_block_bytes)),
        most_runs_(std::max<std::size_t>(memory_bytes / 4 / block_bytes_, least_runs)) {}

  // The order of the calls is that of records with one key.
  void add(const Call& call, std::string_view record) {
    if (used_ + record.size() + (entries_.size() + 1) * sizeof(Entry) > capacity_ && !entries_.empty()) spill(call);
    if (buffer_.data() == nullptr || record.size() > buffer_.room()) buffer_.start(std::max(capacity_, record.size()));
    std::memcpy(buffer_.data() + used_, record.data(), record.size());
    entries_.push_back({coordinate_key(record), used_});
    used_ += record.size();
  }
  std::size_t runs() const { return runs_.size(); }
  std::uint64_t spilled_bytes() const { return file_ ? file_->bytes() : 0; }
  // Most that it keeps.
  std::uint64_t memory_bytes() const { return capacity_ + most_runs_ * block_bytes_; }

  // When all have been added.
  void begin_reading(const Call& call) {
    sort_entries(call);
    while (runs_.size() > most_runs_) merge_some(call);
    std::vector<RecordRun> runs = std::exchange(runs_, {});
    merger_.emplace(*this, std::move(runs), InMemory::too);
  }
  // The next records, of about so many bytes in all; none at the end. They stay until the next call.
  const std::vector<std::string_view>& next(std::size_t bytes) { return merger_->next(bytes); }

 private:
  static constexpr std::size_t least_capacity = std::size_t{1} << 16, least_block_bytes = std::size_t{1} << 12,
                               most_block_bytes = std::size_t{1} << 17;
  static constexpr std::size_t least_runs = 8;
  static constexpr std::size_t merged_at_once = std::size_t{4} << 20;
  struct Entry {
    std::uint64_t key;
    std::size_t begin;  // in the buffer
    bool operator<(const Entry& other) const { return key != other.key ? key < other.key : begin < other.begin; }
  };
  enum class InMemory : std::uint8_t { left_out, too };

  class Merger {
   public:
    Merger(const RecordSorter& sorter, std::vector<RecordRun> runs, InMemory in_memory)
        : sorter_(sorter), inflater_(allocated(ZSTD_createDCtx()), ZSTD_freeDCtx), rest_(in_memory == InMemory::too ? sorter.entries_.size() : 0) {
      for (RecordRun& run : runs) readers_.emplace_back(*sorter.file_, std::move(run));
      std::vector<std::optional<std::uint64_t>> keys;
      for (std::size_t run = 0; run <= readers_.size(); ++run) {
        records_.push_back(record_of(run));
        keys.push_back(key_of(records_.back()));
      }
      merge_.emplace(keys);
    }
    const std::vector<std::string_view>& next(std::size_t bytes) {
      given_.clear();
      texts_.clear();
      std::size_t sum = 0;
      while (const std::optional<std::size_t> run = merge_->next()) {
        if (sum >= bytes) break;
        std::string_view& record = records_[*run];
        sum += record.size();
        given_.push_back(record);
        // The block that a reader leaves is still looked at.
        const RecordRunReader::Text text = *run < readers_.size() ? readers_[*run].text() : nullptr;
        record = record_of(*run);
        if (text && readers_[*run].text() != text) texts_.push_back(text);
        merge_->replace(key_of(record));
      }
      return given_;
    }

   private:
    static std::optional<std::uint64_t> key_of(std::string_view record) {
      if (record.empty()) return std::nullopt;
      return coordinate_key(record);
    }
    // What is in memory was added last, so it is the last run.
    std::string_view record_of(std::size_t run) {
      if (run < readers_.size()) return readers_[run].next(inflater_.get(), stored_);
      if (rest_ == 0) return {};
      return sorter_.record(sorter_.entries_.size() - rest_--);
    }

    const RecordSorter& sorter_;
    std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> inflater_;
    std::string stored_;
    std::vector<RecordRunReader> readers_;
    std::size_t rest_;                       // of the records in memory
    std::vector<std::string_view> records_;  // the first of each run
    std::optional<RunMerge> merge_;
    std::vector<std::string_view> given_;
    std::vector<RecordRunReader::Text> texts_;
  };

  std::string_view record(std::size_t i) const {
    const char* const at = buffer_.data() + entries_[i].begin;
    return {at, bam_record_bytes(at)};
  }

  void spill(const Call& call) {
    sort_entries(call);
    if (!file_) {
      file_ = std::make_unique<SpillFile>(beside_, "raise --memory");
      writer_.emplace(*file_, block_bytes_);
    }
    writer_->append(
        call, entries_.size(), [this](std::size_t i) { return record(i); }, runs_.emplace_back());
    entries_.clear();
    used_ = 0;
  }

  // Sorted in parts beside each other, which are merged.
  void sort_entries(const Call& call) {
    constexpr std::size_t worth_sharing = 1 << 14;
    const auto threads = static_cast<std::size_t>(std::max(call.threads(), 1));
    const std::size_t parts = std::clamp<std::size_t>(entries_.size() / worth_sharing, 1, threads);
    const auto at = [&](std::size_t part) { return entries_.begin() + static_cast<std::ptrdiff_t>(entries_.size() * std::min(part, parts) / parts); };
    call.parallel_for(parts, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t part = begin; part < end; ++part) std::sort(at(part), at(part + 1));
    });
    for (std::size_t width = 1; width < parts; width *= 2)
      call.parallel_for((parts + 2 * width - 1) / (2 * width), 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) std::inplace_merge(at(2 * width * i), at(2 * width * i + width), at(2 * width * (i + 1)));
      });
  }

  // More runs than can be read at once become fewer: neighbours, so that equal keys stay in order.
  void merge_some(const Call& call) {
    std::vector<RecordRun> merged;
    for (std::size_t first = 0; first < runs_.size(); first += most_runs_) {
      const auto from = runs_.begin() + static_cast<std::ptrdiff_t>(first);
      std::vector<RecordRun> some(std::make_move_iterator(from),
                                  std::make_move_iterator(runs_.begin() + static_cast<std::ptrdiff_t>(std::min(first + most_runs_, runs_.size()))));
      Merger merger(*this, std::move(some), InMemory::left_out);
      RecordRun run;
      while (true) {
        const std::vector<std::string_view>& records = merger.next(std::min(merged_at_once, capacity_));
        if (records.empty()) break;
        writer_->append(
            call, records.size(), [&](std::size_t i) { return records[i]; }, run);
      }
      merged.push_back(std::move(run));
    }
    runs_ = std::move(merged);
  }

  std::string beside_;
  std::size_t capacity_, block_bytes_, most_runs_;
  KeptBuffer<char> buffer_;
  std::size_t used_ = 0;
  std::vector<Entry> entries_;
  std::unique_ptr<SpillFile> file_;
  std::optional<RecordRunWriter> writer_;
  std::vector<RecordRun> runs_;
  std::optional<Merger> merger_;
};

}  // namespace sluice::hts
