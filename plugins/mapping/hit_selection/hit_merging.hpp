// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <cstdint>
#include <optional>
#include <sluice/overlap/hit_columns.hpp>
#include <sluice/spill_file.hpp>
#include <sluice/stage.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::hit_selection {

// The hits of reads with one part of an index after the other, on disk: of each part the rows in their order, which is the same for all parts.
class PartHits {
 public:
  void add(std::uint32_t part, std::optional<std::span<const overlap::ReadHit>> hits);
  // Behind the last add(): of each of the parts the next row's hits are appended; false: the row failed in one of them. Throws Failure::input if a
  // part has no further row.
  bool take(std::uint32_t parts, std::vector<overlap::ReadHit>& hits);
  // Throws Failure::input if a part has rows that were not taken.
  void check_all_taken() const;
  std::uint64_t bytes() const { return file_ ? file_->bytes() : 0; }

 private:
  struct Cursor {
    std::uint64_t next, end;  // on disk
    std::string bytes;
    std::size_t used = 0;
  };
  std::string_view read(Cursor& cursor, std::size_t bytes) const;
  void write_pending();

  std::optional<SpillFile> file_;
  std::string pending_;
  std::uint64_t written_ = 0;
  std::vector<std::uint64_t> part_begin_;
  std::vector<Cursor> cursors_;  // of the parts, from the first take() on
};

// Regroup: reads whose hits were found with one part of an index after the other become reads with all their hits.
class HitMerging {
 public:
  using Parameters = NoParameters;
  static void describe(Describe<HitMerging>& d);
  HitMerging(const Setup& setup, const Parameters& p);
  void process(const Call& call, const Batch& in, Output& out);
  void finish(const Call& call, Output&) const;
  // Nothing: a source that goes on gives all parts of the rows that the last part has not had.
  void save(const Call&, StateWriter&) const {}

 private:
  struct Row {
    std::string_view read_id;
    std::int32_t length, repeat_length;
    std::size_t hits_end;
  };
  void emit(Output& out);

  std::uint32_t parts_;
  PartHits part_hits_;
  std::vector<Row> rows_;  // of the batch, and their hits
  std::vector<overlap::ReadHit> hits_;
};

}  // namespace sluice::hit_selection
