// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The anchors that the second engine's next one may follow, in minimap2's tree: of anchors of equal cost its shape, and so the order in which they
// came and went, decides which one counts.

#include <cstdint>
#include <span>
#include <vector>

#include "chaining/chain_score.hpp"
#include "chaining/ordered_anchor_tree.hpp"

namespace sluice::chaining {

class ReachableTree {
 public:
  struct Rules {
    std::int32_t distance;  // on either sequence, in bases
    std::int32_t size_cap;  // rmq_size_cap
    StepCosts costs;
    bool begins_read;  // the run has the read's first anchor
  };
  // An empty tree for a run of anchors, which stay the caller's.
  void begin(std::span<const std::uint64_t> x, std::span<const std::uint64_t> y, const Rules& rules);
  // What the method does with the tree up to anchor i, anchor by anchor. `score`: those of the anchors before i.
  void move_to(std::int32_t i, const std::int32_t* score);
  // The anchor that an anchor at `query` follows by the method; OrderedAnchorTree::none if there is none.
  std::int32_t lowest_cost(std::int32_t query) const;

  std::int32_t inserted() const { return inserted_; }
  std::span<const std::int32_t> queries() const { return query_; }
  std::span<const double> costs() const { return cost_; }

 private:
  std::span<const std::uint64_t> x_, y_;
  Rules rules_{};
  OrderedAnchorTree tree_;
  std::vector<std::int32_t> query_;
  std::vector<double> cost_;
  std::int32_t next_ = 0, inserted_ = 0, start_ = 0;
};

}  // namespace sluice::chaining
