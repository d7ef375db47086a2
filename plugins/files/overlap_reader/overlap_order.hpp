// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Overlaps put in order with bounded memory: compact records, sorted runs in a temporary file beyond a limit, CIGARs always there.

#include <cstdint>
#include <functional>
#include <memory>
#include <sluice/saved_state.hpp>
#include <span>
#include <string>
#include <vector>

namespace sluice::overlap_reader {

// 56 bytes. Sequences are rows of their stores.
struct OverlapRecord {
  std::int32_t query = 0, target = 0;
  std::int32_t query_start = 0, query_end = 0, target_start = 0, target_end = 0;
  std::int32_t matches = 0;
  std::uint32_t operations = 0;  // of the CIGAR; 0: none
  std::int64_t cigar_offset = 0;
  std::int64_t ordinal = 0;  // among all overlaps of the file, from 0: makes the order total
  std::uint8_t is_reverse = 0;
  std::uint8_t unused[7] = {};  // so that equal records are equal bytes
};

enum class OverlapOrder : std::uint8_t {
  target,  // target, first base on it, ordinal: windows of a target can be closed as one goes along
  query,   // query, ordinal: the pile of a read comes in one piece
};

// An unlinked file in the temporary folder. Throws Failure (output, input) naming it.
class TemporaryFile {
 public:
  TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  ~TemporaryFile();
  void append(const void* bytes, std::size_t count);
  void read(std::int64_t offset, void* bytes, std::size_t count) const;
  std::int64_t size() const { return size_; }

 private:
  [[noreturn]] void fail(const char* what) const;
  std::string name_;
  int file_ = -1;
  std::int64_t size_ = 0;
};

class OrderedOverlaps {
 public:
  // Records beyond `memory_bytes` go to a temporary file in sorted runs.
  OrderedOverlaps(OverlapOrder order, std::size_t memory_bytes);
  // cigar: operations in BAM encoding; empty: none.
  void add(OverlapRecord record, std::span<const std::uint32_t> cigar);
  // Between the last add() and the first next().
  void sort();
  // In order; false at the end.
  bool next(OverlapRecord& record);
  void cigar(const OverlapRecord& record, std::span<std::uint32_t> operations) const;
  std::size_t runs_in_file() const { return runs_.size(); }
  // Before sort(), of records without CIGARs.
  void save(StateWriter& to) const;
  // Calls add(record) for each that was saved.
  static void restore(StateReader& from, const std::function<void(const OverlapRecord&)>& add);

 private:
  struct Run {
    std::int64_t offset = 0, end = 0;  // what is left of it in the file
    std::vector<OverlapRecord> buffer;
    std::size_t used = 0;
  };
  bool before(const OverlapRecord& a, const OverlapRecord& b) const;
  void sort_records();
  void write_run();
  bool refill(Run& run) const;

  OverlapOrder order_;
  std::size_t capacity_;  // records
  std::vector<OverlapRecord> records_;
  std::size_t used_ = 0;
  std::vector<Run> runs_;
  std::vector<std::size_t> heap_;  // runs by their first record
  std::unique_ptr<TemporaryFile> run_file_, cigar_file_;
  std::vector<std::uint32_t> cigars_;  // the end of cigar_file_ that is not written yet
};

}  // namespace sluice::overlap_reader
