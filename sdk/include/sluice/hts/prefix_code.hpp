// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The Huffman codes of DEFLATE (RFC 1951, section 3.2.2): lengths from counts, limited, and the bits that follow from the lengths.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::hts {

// Symbols 0 to 285 at most.
class PrefixCode {
 public:
  static constexpr std::size_t most_symbols = 286;
  struct Entry {
    std::uint16_t bits = 0;  // the first one lowest, as DEFLATE stores them
    std::uint16_t length = 0;
  };

  // counts: how often each symbol occurs; the length of those that do is between 1 and `longest`. A single symbol has one bit.
  void make(std::span<const std::uint32_t> counts, std::size_t longest) {
    used_ = 0;
    for (std::size_t symbol = 0; symbol < counts.size(); ++symbol) {
      entries_[symbol] = {};
      if (counts[symbol] > 0) sorted_[used_++] = {counts[symbol], static_cast<std::uint32_t>(symbol)};
    }
    symbols_ = counts.size();
    if (used_ == 0) return;
    std::sort(sorted_.begin(), sorted_.begin() + static_cast<std::ptrdiff_t>(used_),
              [](const Leaf& a, const Leaf& b) { return a.count != b.count ? a.count < b.count : a.symbol < b.symbol; });
    set_lengths(longest);
    set_bits();
  }
  const Entry& operator[](std::size_t symbol) const { return entries_[symbol]; }
  // The symbols with a code.
  std::size_t used() const { return used_; }
  // One behind the last symbol with a code.
  std::size_t end() const {
    std::size_t end = symbols_;
    while (end > 0 && entries_[end - 1].length == 0) --end;
    return end;
  }

 private:
  static constexpr std::size_t most_bits = 15;
  struct Leaf {
    std::uint32_t count, symbol;
  };

  // Joins the two rarest trees until one is left; leaves and joined trees are both in ascending order, so each is a queue.
  void set_lengths(std::size_t longest) {
    std::array<std::uint32_t, 2 * most_symbols> weight, parent;
    const std::size_t leaves = used_;
    for (std::size_t i = 0; i < leaves; ++i) weight[i] = sorted_[i].count;
    std::size_t leaf = 0, joined = leaves, end = leaves;
    const auto rarest = [&] { return leaf < leaves && (joined == end || weight[leaf] <= weight[joined]) ? leaf++ : joined++; };
    while (end < 2 * leaves - 1) {
      const std::size_t a = rarest(), b = rarest();
      weight[end] = weight[a] + weight[b];
      parent[a] = parent[b] = static_cast<std::uint32_t>(end++);
    }
    std::array<std::uint32_t, 2 * most_symbols>& depth = weight;
    std::array<std::uint32_t, most_bits + 2> of_length{};
    depth[end - 1] = 0;
    for (std::size_t i = end - 1; i-- > 0;) depth[i] = depth[parent[i]] + 1;
    for (std::size_t i = 0; i < leaves; ++i) ++of_length[std::clamp<std::size_t>(depth[i], 1, longest)];
    limit(of_length, longest);
    std::size_t length = longest;
    for (std::size_t i = 0; i < leaves; ++i) {
      while (of_length[length] == 0) --length;
      --of_length[length];
      entries_[sorted_[i].symbol].length = static_cast<std::uint16_t>(length);
    }
  }
  // Codes that were cut to `longest` bits may be too many. Each step makes room for one: it becomes the brother of a shorter one, which goes down to
  // it.
  static void limit(std::array<std::uint32_t, most_bits + 2>& of_length, std::size_t longest) {
    std::uint64_t taken = 0;
    for (std::size_t length = 1; length <= longest; ++length) taken += std::uint64_t{of_length[length]} << (longest - length);
    while (taken > std::uint64_t{1} << longest) {
      std::size_t length = longest - 1;
      while (of_length[length] == 0) --length;
      --of_length[length];
      --of_length[longest];
      of_length[length + 1] += 2;
      --taken;
    }
  }
  void set_bits() {
    std::array<std::uint32_t, most_bits + 1> of_length{}, first{};
    for (std::size_t symbol = 0; symbol < symbols_; ++symbol) ++of_length[entries_[symbol].length];
    of_length[0] = 0;
    for (std::size_t length = 1; length <= most_bits; ++length) first[length] = (first[length - 1] + of_length[length - 1]) << 1;
    for (std::size_t symbol = 0; symbol < symbols_; ++symbol) {
      Entry& entry = entries_[symbol];
      if (entry.length > 0) entry.bits = reversed(first[entry.length]++, entry.length);
    }
  }
  static std::uint16_t reversed(std::uint32_t bits, std::uint32_t length) {
    std::uint32_t result = 0;
    for (std::uint32_t i = 0; i < length; ++i) result |= ((bits >> i) & 1U) << (length - 1 - i);
    return static_cast<std::uint16_t>(result);
  }

  std::array<Entry, most_symbols> entries_{};
  std::array<Leaf, most_symbols> sorted_{};
  std::size_t used_ = 0, symbols_ = 0;
};

}  // namespace sluice::hts
