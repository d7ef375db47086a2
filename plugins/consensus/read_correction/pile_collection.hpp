// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <sluice/sequence_store.hpp>
#include <sluice/stage.hpp>
#include <vector>

#include "read_correction/overlap_selection.hpp"

namespace sluice::read_correction {

// Regroup: overlaps, ordered by the read that is corrected, to one row a read.
class PileCollection {
 public:
  enum class Reason : std::uint32_t { bad_overlap, inside };
  struct Parameters {
    double max_overhang = 1.0;
  };
  static void describe(Describe<PileCollection>& d);
  PileCollection(const Setup& setup, const Parameters& p);
  void process(const Call& call, const Batch& in, Output& out);
  void finish(const Call& call, Output& out);
  void save(const Call& call, StateWriter& to) const;

 private:
  struct Pile {
    std::int64_t target;
    std::size_t end;  // of its overlaps in overlaps_
  };
  void restore(StateReader& from);
  void add(std::int64_t target, const PileOverlap& overlap, Output& out);
  void emit(Output& out);

  SequenceStoreView reads_;
  double max_overhang_;
  std::vector<Pile> piles_;  // the last one may get more overlaps
  std::vector<PileOverlap> overlaps_;
  std::int64_t waiting_bases_ = 0;  // of the template under all overlaps that wait
};

}  // namespace sluice::read_correction
