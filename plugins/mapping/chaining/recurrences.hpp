// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The two recurrences, each twice: as the method is written, and fast. Both fill `score` and `predecessor` (-1: none), one per anchor.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "chaining/chain_score.hpp"
#include "chaining/chaining.hpp"

namespace sluice::chaining {

struct PredecessorTable {
  std::span<std::int32_t> score, predecessor;
};

// The first engine, one predecessor after the other, from the nearest on. `stamps` is scratch memory.
void scan_predecessors(Anchors anchors, const ChainingParameters& parameters, std::vector<std::int32_t>& stamps, PredecessorTable table);

// The second engine with a balanced tree. `band` takes the place of parameters.bw. `first` and `last`: the anchors to do, which have one target and
// strand, the run of anchors in full.
struct JoinLimits {
  std::int32_t distance, inner_distance, band;
};
JoinLimits join_limits(const ChainingParameters& parameters, std::int32_t band);

class TreeScratch {
 public:
  TreeScratch();
  ~TreeScratch();
  TreeScratch& operator=(TreeScratch&&) noexcept;
  struct Parts;
  Parts& parts() { return *parts_; }

 private:
  std::unique_ptr<Parts> parts_;
};
void scan_joins(Anchors anchors, std::size_t first, std::size_t last, const ChainingParameters& parameters, JoinLimits limits, TreeScratch& scratch,
                PredecessorTable table);

}  // namespace sluice::chaining
