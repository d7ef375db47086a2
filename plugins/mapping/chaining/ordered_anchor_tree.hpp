// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A balanced (AVL) tree of anchors, ordered by (query position, index), that answers: which anchor of an interval has the lowest cost? Of equal costs
// the shape of the tree decides, so insertion, removal and rotations are those of minimap2's tree.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::chaining {

class OrderedAnchorTree {
 public:
  static constexpr std::int32_t none = -1;

  // An empty tree for anchors 0 .. query.size() - 1; `query` and `cost` stay the caller's and must outlive the tree's use.
  void reset(std::span<const std::int32_t> query, std::span<const double> cost);
  void insert(std::int32_t anchor);
  // `anchor` must be in the tree.
  void remove(std::int32_t anchor);
  bool empty() const { return root_ == none; }
  std::int32_t size() const { return size_; }

  // Of the anchors with a key in [low, high], keys being (query position, index).
  struct Key {
    std::int32_t query, index;
  };
  std::int32_t lowest_cost(Key low, Key high) const;

  // Anchors in descending order of keys, from the largest that is at most `from` on.
  class Descent {
   public:
    std::int32_t anchor() const { return depth_ == 0 ? none : path_[static_cast<std::size_t>(depth_ - 1)]; }
    void next();

   private:
    friend class OrderedAnchorTree;
    void push(std::int32_t anchor) { path_[static_cast<std::size_t>(depth_++)] = anchor; }
    const OrderedAnchorTree* tree_ = nullptr;
    std::array<std::int32_t, 64> path_;
    std::int32_t depth_ = 0;
  };
  Descent descend(Key from) const;

 private:
  struct Node {
    std::array<std::int32_t, 2> child;
    std::int32_t lowest;   // the anchor of the lowest cost in this subtree
    std::int32_t balance;  // height of the right subtree less that of the left
  };
  // 1.44 log2(2^31) levels at most.
  static constexpr std::size_t max_depth = 64;

  Node& node(std::int32_t anchor) { return nodes_[static_cast<std::size_t>(anchor)]; }
  const Node& node(std::int32_t anchor) const { return nodes_[static_cast<std::size_t>(anchor)]; }
  std::int32_t query_of(std::int32_t anchor) const { return query_[static_cast<std::size_t>(anchor)]; }
  double cost_of(std::int32_t anchor) const { return cost_[static_cast<std::size_t>(anchor)]; }
  int compare(Key key, std::int32_t anchor) const;
  std::int32_t lower_of(std::int32_t kept, std::int32_t subtree) const;
  void update_lowest(std::int32_t anchor, std::int32_t first_child, std::int32_t second_child);
  std::int32_t rotate_once(std::int32_t top, int side);
  std::int32_t rotate_twice(std::int32_t top, int side);

  std::span<const std::int32_t> query_;
  std::span<const double> cost_;
  std::vector<Node> nodes_;
  std::int32_t root_ = none;
  std::int32_t size_ = 0;
};

}  // namespace sluice::chaining
