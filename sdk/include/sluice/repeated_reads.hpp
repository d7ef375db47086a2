// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Reads whose name an earlier read has: named in the account, counted in the report (`repeated_reads`), and a warning with the first of them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <sluice/call.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

class RepeatedReads {
 public:
  using Each = std::function<void(std::string_view read_id)>;
  // Each is told of every one.
  explicit RepeatedReads(Each each = {}) : each_(std::move(each)) {}
  void add(std::string_view read_id) {
    ++count_;
    if (first_.size() < most_named) first_.emplace_back(read_id);
    if (each_) each_(read_id);
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
  Each each_;
};

// Names every one in the account under this reason of the stage, of which none is lost, and counts it.
inline RepeatedReads::Each to_account(const Host& host, std::uint32_t reason) {
  return [host, reason](std::string_view read_id) {
    host.account(reason, 0, std::string(read_id));
    host.count("repeated_reads", 1);
  };
}

// Which names have been there: by 64 bits of each, 16 to 32 bytes a read. Of 4 million reads one in two million runs takes two names for one. What
// comes behind the first `most` of them is compared with those, and no longer kept.
class SeenReads {
 public:
  static constexpr std::size_t most_reads = std::size_t{1} << 22;  // 64 MiB
  explicit SeenReads(std::size_t most = most_reads) : most_(most) {}
  // False: it was there before.
  bool add(std::string_view read_id) {
    if (size_ < most_ && (size_ + 1) * 2 > slots_.size()) grow();
    const std::uint64_t hash = std::max<std::uint64_t>(std::hash<std::string_view>()(read_id), 1);
    std::uint64_t& slot = slot_of(hash);
    if (slot == hash) return false;
    if (size_ < most_) slot = hash, ++size_;
    return true;
  }
  std::uint64_t bytes() const { return slots_.capacity() * sizeof(std::uint64_t); }

 private:
  // Where the hash is, or would be.
  std::uint64_t& slot_of(std::uint64_t hash) {
    std::size_t slot = hash & (slots_.size() - 1);
    while (slots_[slot] != 0 && slots_[slot] != hash) slot = (slot + 1) & (slots_.size() - 1);
    return slots_[slot];
  }
  void grow() {
    std::vector<std::uint64_t> old(std::max<std::size_t>(64, slots_.size() * 2));
    old.swap(slots_);
    for (const std::uint64_t hash : old)
      if (hash != 0) slot_of(hash) = hash;
  }
  std::size_t most_, size_ = 0;
  std::vector<std::uint64_t> slots_;  // 0: free; a power of two of them
};

// Of a source that gives them all.
class RepeatsInStream {
 public:
  // `what`: "the reads have", for the warning; `reason`: of the stage.
  RepeatsInStream(std::uint32_t reason, std::string what) : reason_(reason), what_(std::move(what)) {}
  void look_at(const Call& call, std::string_view read_id) {
    if (seen_.add(read_id)) return;
    repeated_.add(read_id);
    to_account(call, reason_)(read_id);
  }
  // At the end.
  void say(const Call& call) const {
    if (repeated_.count() > 0)
      call.warn(what_ + " " + std::to_string(repeated_.count()) +
                " records of reads that an earlier record has, and all are given: " + repeated_.names());
  }
  std::uint64_t bytes() const { return seen_.bytes(); }

 private:
  std::uint32_t reason_;
  std::string what_;
  SeenReads seen_;
  RepeatedReads repeated_;
};

}  // namespace sluice
