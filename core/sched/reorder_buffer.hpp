// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Puts a stream of numbered items back into order. Every number from `first` on must arrive exactly once (batches that became empty arrive as
// tombstones), so nothing waits for ever. Not thread-safe.

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace sluice {

template <class Item>
class ReorderBuffer {
 public:
  explicit ReorderBuffer(std::uint64_t first = 0) : next_(first) {}
  void put(std::uint64_t sequence, Item item) { waiting_.emplace(sequence, std::move(item)); }
  // The next item in order, if it has come.
  std::optional<Item> take() {
    const auto first = waiting_.begin();
    if (first == waiting_.end() || first->first != next_) return std::nullopt;
    std::optional<Item> item(std::move(first->second));
    waiting_.erase(first);
    ++next_;
    return item;
  }
  std::size_t size() const { return waiting_.size(); }
  std::uint64_t next() const { return next_; }

 private:
  std::map<std::uint64_t, Item> waiting_;
  std::uint64_t next_;
};

}  // namespace sluice
