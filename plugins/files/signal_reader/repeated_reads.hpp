// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Read ids that come more than once in the signal.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::signal_reader {

class RepeatedReads {
 public:
  void add(std::string_view read_id) {
    ++count_;
    if (first_.size() < most_named) first_.emplace_back(read_id);
  }
  std::uint64_t count() const { return count_; }
  // "'a', 'b', 'c' and 4 more"
  std::string names() const {
    std::string text;
    for (const std::string& name : first_) text += (text.empty() ? "'" : ", '") + name + "'";
    return count_ > first_.size() ? text + " and " + std::to_string(count_ - first_.size()) + " more" : text;
  }

 private:
  static constexpr std::size_t most_named = 3;
  std::uint64_t count_ = 0;
  std::vector<std::string> first_;
};

// Which ids have been there: by 64 bits of each, 16 to 32 bytes a read. Of 4 million reads one in two million runs takes two ids for one.
class SeenReads {
 public:
  // False: it was there before.
  bool add(std::string_view read_id) {
    if ((size_ + 1) * 2 > slots_.size()) grow();
    const bool is_new = put(std::max<std::uint64_t>(std::hash<std::string_view>()(read_id), 1));
    size_ += is_new ? 1 : 0;
    return is_new;
  }
  std::uint64_t bytes() const { return slots_.capacity() * sizeof(std::uint64_t); }

 private:
  bool put(std::uint64_t hash) {
    std::size_t slot = hash & (slots_.size() - 1);
    while (slots_[slot] != 0 && slots_[slot] != hash) slot = (slot + 1) & (slots_.size() - 1);
    const bool is_new = slots_[slot] == 0;
    slots_[slot] = hash;
    return is_new;
  }
  void grow() {
    std::vector<std::uint64_t> old(std::max<std::size_t>(64, slots_.size() * 2));
    old.swap(slots_);
    for (const std::uint64_t hash : old)
      if (hash != 0) put(hash);
  }
  std::size_t size_ = 0;
  std::vector<std::uint64_t> slots_;  // 0: free
};

}  // namespace sluice::signal_reader
