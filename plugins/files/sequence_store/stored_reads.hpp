// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <cstdint>
#include <sluice/numbered_rows.hpp>
#include <sluice/sequence_store.hpp>
#include <sluice/stage.hpp>
#include <sluice/stored_part.hpp>
#include <string>
#include <vector>

namespace sluice::sequence_store {

// Source: the sequences of a store as reads; for an index in parts all of them once for each part.
class StoredReads {
 public:
  enum class Reason : std::uint32_t { empty_sequence };
  using Parameters = NoParameters;
  static void describe(Describe<StoredReads>& d);
  StoredReads(const Setup& setup, const Parameters& p);
  bool process(const Call& call, Output& out);
  // What is behind needs all parts of a row: who goes on begins with the first part again, for the rows that the last part has not had.
  std::string position() const { return in_last_part() ? rows_.position() : std::to_string(first_row_); }

 private:
  SequenceStoreView reads_;
  StoredPart part_;
  bool in_last_part() const { return index_part_ + 1 == index_parts_; }
  void report_progress(const Call& call) const;

  NumberedRows rows_;
  std::uint64_t first_row_;
  std::int32_t index_part_ = 0, index_parts_ = 1;
  bool wants_index_part_;
  std::vector<std::int64_t> given_;  // rows of the batch
  Workspaces<std::vector<char>> scratch_;
};

}  // namespace sluice::sequence_store
