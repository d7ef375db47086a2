// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "chaining/reachable_tree.hpp"

namespace sluice::chaining {

void ReachableTree::begin(std::span<const std::uint64_t> x, std::span<const std::uint64_t> y, const Rules& rules) {
  x_ = x;
  y_ = y;
  rules_ = rules;
  query_.resize(x.size());
  cost_.resize(x.size());
  for (std::size_t i = 0; i < y.size(); ++i) query_[i] = query_position(y[i]);
  tree_.reset(query_, cost_);
  next_ = inserted_ = start_ = 0;
}

void ReachableTree::move_to(std::int32_t i, const std::int32_t* score) {
  const auto x = [&](std::int32_t anchor) { return x_[static_cast<std::size_t>(anchor)]; };
  for (; next_ <= i; ++next_) {
    if (x(inserted_) != x(next_)) {
      for (; inserted_ < next_; ++inserted_) {
        const auto at = static_cast<std::size_t>(inserted_);
        cost_[at] = join_cost(score[inserted_], point_of(x_[at], y_[at]), rules_.costs);
        tree_.insert(inserted_);
      }
    }
    while (start_ < inserted_ && (x(next_) > x(start_) + static_cast<std::uint64_t>(rules_.distance) || tree_.size() > rules_.size_cap))
      tree_.remove(start_++);
  }
}

std::int32_t ReachableTree::lowest_cost(std::int32_t query) const {
  // The upper key is (query, 0), so that only the read's very first anchor counts with an equal position.
  return tree_.lowest_cost({query - rules_.distance, INT32_MAX}, {query, rules_.begins_read ? 0 : -1});
}

}  // namespace sluice::chaining
