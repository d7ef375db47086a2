// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "chaining/ordered_anchor_tree.hpp"

namespace sluice::chaining {

void OrderedAnchorTree::reset(std::span<const std::int32_t> query, std::span<const double> cost) {
  query_ = query;
  cost_ = cost;
  if (nodes_.size() < query.size()) nodes_.resize(query.size());
  root_ = none;
  size_ = 0;
}

int OrderedAnchorTree::compare(Key key, std::int32_t anchor) const {
  const std::int32_t query = query_of(anchor);
  if (key.query != query) return key.query < query ? -1 : 1;
  return key.index < anchor ? -1 : key.index > anchor ? 1 : 0;
}

// `kept` unless the subtree has a strictly lower cost.
std::int32_t OrderedAnchorTree::lower_of(std::int32_t kept, std::int32_t subtree) const {
  if (subtree == none) return kept;
  const std::int32_t other = node(subtree).lowest;
  return cost_of(other) < cost_of(kept) ? other : kept;
}

// Of equal costs the second child's counts, then the first child's: unlike in a search of an interval, where the first that is met counts.
void OrderedAnchorTree::update_lowest(std::int32_t anchor, std::int32_t first_child, std::int32_t second_child) {
  std::int32_t lowest = anchor;
  for (const std::int32_t child : {first_child, second_child})
    if (child != none && cost_of(node(child).lowest) <= cost_of(lowest)) lowest = node(child).lowest;
  node(anchor).lowest = lowest;
}

// Lifts the child of `top` on the other side into its place, so that `top` moves to `side`. Returns the new top.
std::int32_t OrderedAnchorTree::rotate_once(std::int32_t top, int side) {
  const auto here = static_cast<std::size_t>(side), there = static_cast<std::size_t>(1 - side);
  const std::int32_t lifted = node(top).child[there];
  const std::int32_t moved = node(lifted).child[here];
  const std::int32_t lowest = node(top).lowest;
  update_lowest(top, node(top).child[here], moved);
  node(lifted).lowest = lowest;
  node(top).child[there] = moved;
  node(lifted).child[here] = top;
  return lifted;
}

// Lifts the grandchild between `top` and its child on the other side, and sets the balances of all three.
std::int32_t OrderedAnchorTree::rotate_twice(std::int32_t top, int side) {
  const auto here = static_cast<std::size_t>(side), there = static_cast<std::size_t>(1 - side);
  const std::int32_t child = node(top).child[there];
  const std::int32_t lifted = node(child).child[here];
  const std::int32_t to_top = node(lifted).child[here], to_child = node(lifted).child[there];
  const std::int32_t lowest = node(top).lowest;
  update_lowest(top, node(top).child[here], to_top);
  update_lowest(child, node(child).child[there], to_child);
  node(lifted).lowest = lowest;
  node(top).child[there] = to_top;
  node(child).child[here] = to_child;
  node(lifted).child[here] = top;
  node(lifted).child[there] = child;
  const std::int32_t towards_there = side == 0 ? 1 : -1;
  const std::int32_t balance = node(lifted).balance;
  node(top).balance = balance == towards_there ? -towards_there : 0;
  node(child).balance = balance == -towards_there ? towards_there : 0;
  node(lifted).balance = 0;
  return lifted;
}

void OrderedAnchorTree::insert(std::int32_t anchor) {
  const Key key{query_of(anchor), anchor};
  node(anchor) = {{none, none}, anchor, 0};
  ++size_;
  if (root_ == none) {
    root_ = anchor;
    return;
  }
  std::array<std::int32_t, max_depth> path;
  std::array<std::uint8_t, max_depth> side;
  std::size_t depth = 0;
  std::size_t unbalanced = 0;  // the lowest place on the path that leans to a side; above it no height changes
  for (std::int32_t at = root_; at != none;) {
    if (node(at).balance != 0) unbalanced = depth;
    path[depth] = at;
    side[depth] = compare(key, at) > 0 ? 1 : 0;
    at = node(at).child[side[depth++]];
  }
  node(path[depth - 1]).child[side[depth - 1]] = anchor;
  for (std::size_t level = depth; level-- > 0;) {
    const std::int32_t at = path[level];
    update_lowest(at, node(at).child[0], node(at).child[1]);
    if (node(at).lowest != anchor) break;
  }
  for (std::size_t level = unbalanced; level < depth; ++level) node(path[level]).balance += side[level] == 0 ? -1 : 1;
  const std::int32_t top = path[unbalanced];
  const std::int32_t balance = node(top).balance;
  if (balance > -2 && balance < 2) return;
  const int to_side = balance < 0 ? 1 : 0;
  const std::int32_t outwards = to_side == 0 ? 1 : -1;
  const std::int32_t child = node(top).child[static_cast<std::size_t>(1 - to_side)];
  std::int32_t lifted = child;
  if (node(child).balance == outwards) {
    lifted = rotate_once(top, to_side);
    node(top).balance = node(child).balance = 0;
  } else {
    lifted = rotate_twice(top, to_side);
  }
  if (unbalanced == 0) {
    root_ = lifted;
  } else {
    node(path[unbalanced - 1]).child[side[unbalanced - 1]] = lifted;
  }
}

void OrderedAnchorTree::remove(std::int32_t anchor) {
  const Key key{query_of(anchor), anchor};
  // path[0] stands for the place above the root.
  std::array<std::int32_t, max_depth> path;
  std::array<std::uint8_t, max_depth> side;
  const auto link = [&](std::size_t level) -> std::int32_t& { return level == 0 ? root_ : node(path[level]).child[side[level]]; };
  std::size_t depth = 1;
  for (std::int32_t at = root_; at != anchor;) {
    path[depth] = at;
    side[depth] = compare(key, at) > 0 ? 1 : 0;
    at = node(at).child[side[depth++]];
  }
  --size_;
  const Node removed = node(anchor);
  if (removed.child[1] == none) {
    link(depth - 1) = removed.child[0];
  } else {
    const std::int32_t right = removed.child[1];
    if (node(right).child[0] == none) {
      node(right).child[0] = removed.child[0];
      node(right).balance = removed.balance;
      link(depth - 1) = right;
      path[depth] = right;
      side[depth++] = 1;
    } else {
      // The next larger anchor takes the place of the removed one.
      const std::size_t place = depth++;
      std::int32_t parent = right, successor = none;
      for (;;) {
        path[depth] = parent;
        side[depth++] = 0;
        successor = node(parent).child[0];
        if (node(successor).child[0] == none) break;
        parent = successor;
      }
      node(successor).child[0] = removed.child[0];
      node(parent).child[0] = node(successor).child[1];
      node(successor).child[1] = right;
      node(successor).balance = removed.balance;
      link(place - 1) = successor;
      path[place] = successor;
      side[place] = 1;
    }
  }
  for (std::size_t level = depth; level-- > 1;) update_lowest(path[level], node(path[level]).child[0], node(path[level]).child[1]);
  for (std::size_t level = depth; level-- > 1;) {
    const std::int32_t at = path[level];
    const int from_side = side[level];
    const std::int32_t towards_other = from_side == 0 ? 1 : -1;
    node(at).balance += towards_other;
    if (node(at).balance == towards_other) break;
    if (node(at).balance != 2 * towards_other) continue;
    const std::int32_t other = node(at).child[static_cast<std::size_t>(1 - from_side)];
    if (node(other).balance == -towards_other) {
      link(level - 1) = rotate_twice(at, from_side);
      continue;
    }
    link(level - 1) = rotate_once(at, from_side);
    if (node(other).balance == 0) {
      node(other).balance = -towards_other;
      node(at).balance = towards_other;
      break;
    }
    node(other).balance = node(at).balance = 0;
  }
}

std::int32_t OrderedAnchorTree::lowest_cost(Key low, Key high) const {
  struct Step {
    std::int32_t anchor;
    int comparison;
  };
  std::array<Step, max_depth> to_low, to_high;
  const auto walk = [&](Key key, std::array<Step, max_depth>& steps) {
    std::size_t length = 0;
    for (std::int32_t at = root_; at != none;) {
      const int comparison = compare(key, at);
      steps[length++] = {at, comparison};
      if (comparison == 0) break;
      at = node(at).child[comparison < 0 ? 0 : 1];
    }
    return length;
  };
  const std::size_t low_length = walk(low, to_low), high_length = walk(high, to_high);
  std::size_t common = 0;
  while (common < low_length && common < high_length &&
         !(to_low[common].anchor == to_high[common].anchor && to_low[common].comparison <= 0 && to_high[common].comparison >= 0))
    ++common;
  if (common == low_length || common == high_length) return none;
  std::int32_t lowest = to_low[common].anchor;
  const auto take_lower = [&](std::int32_t other) {
    if (cost_of(other) < cost_of(lowest)) lowest = other;
  };
  for (std::size_t i = common + 1; i < low_length; ++i) {
    if (to_low[i].comparison > 0) continue;
    take_lower(to_low[i].anchor);
    lowest = lower_of(lowest, node(to_low[i].anchor).child[1]);
  }
  for (std::size_t i = common + 1; i < high_length; ++i) {
    if (to_high[i].comparison < 0) continue;
    take_lower(to_high[i].anchor);
    lowest = lower_of(lowest, node(to_high[i].anchor).child[0]);
  }
  return lowest;
}

OrderedAnchorTree::Descent OrderedAnchorTree::descend(Key from) const {
  Descent descent;
  descent.tree_ = this;
  std::int32_t kept = 0;  // the path up to the largest anchor that is at most `from`
  for (std::int32_t at = root_; at != none;) {
    const int comparison = compare(from, at);
    descent.push(at);
    if (comparison >= 0) kept = descent.depth_;
    if (comparison == 0) break;
    at = node(at).child[comparison < 0 ? 0 : 1];
  }
  descent.depth_ = kept;
  return descent;
}

void OrderedAnchorTree::Descent::next() {
  std::int32_t at = anchor();
  if (tree_->node(at).child[0] != none) {
    for (at = tree_->node(at).child[0]; at != none; at = tree_->node(at).child[1]) push(at);
    return;
  }
  for (--depth_; depth_ > 0 && tree_->node(anchor()).child[1] != at; --depth_) at = anchor();
}

}  // namespace sluice::chaining
