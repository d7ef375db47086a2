// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <sluice/minimizer_index.hpp>
#include <sluice/overlap/overlap_rows.hpp>
#include <sluice/sequence_store.hpp>
#include <sluice/stage.hpp>
#include <sluice/stored_part.hpp>
#include <string_view>
#include <vector>

namespace sluice::read_correction {

// Regroup: the hits of each read to one row each.
class HitOverlaps {
 public:
  using Parameters = NoParameters;
  static void describe(Describe<HitOverlaps>& d);
  HitOverlaps(const Setup& setup, const Parameters& p);
  void process(const Call& call, const Batch& in, Output& out);
  void finish(const Call&, Output&) {}
  void save(const Call&, StateWriter& to) const { to.value(next_read_); }

 private:
  static std::int64_t index_of(std::int64_t read, std::size_t hit);
  std::int64_t row_of_read(std::string_view name);
  void emit(const std::vector<overlap::OverlapRow>& rows, Output& out) const;

  SequenceStoreView reads_;
  SequenceNames names_;
  bool wants_matches_;
  std::vector<std::int64_t> row_of_contig_;
  StoredPart part_;
  std::int64_t next_read_;
};

}  // namespace sluice::read_correction
