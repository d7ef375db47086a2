// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "fm_index/suffix_sort.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <sluice/fm_index.hpp>
#include <vector>

#include "fm_index/suffix_ranks.hpp"

namespace sluice::fm_index {
namespace {

constexpr std::uint64_t max_bucket_bases = 12;  // 4^12 counters of 4 bytes: 64 MiB
constexpr std::uint64_t bases_per_key = 32;
// Bases after which words give way to prefix doubling. Random text of 2^32 bases is resolved by about 40; what takes more than this is a long repeat.
constexpr std::uint64_t max_keys = 16;
constexpr std::size_t text_grain = std::size_t{1} << 20;
constexpr std::size_t buckets_grain = std::size_t{1} << 10;

struct Keyed {
  std::uint64_t key;
  std::uint32_t place;
};

class SuffixSorter {
 public:
  SuffixSorter(const std::uint64_t* packed, std::uint64_t length, std::span<std::uint32_t> rows, const ParallelFor& parallel_for)
      : packed_(packed), length_(length), rows_(rows), parallel_for_(parallel_for) {
    while (bucket_bases_ < max_bucket_bases && std::uint64_t{1} << (2 * bucket_bases_ + 2) <= length) ++bucket_bases_;
  }

  void sort() {
    rows_[0] = static_cast<std::uint32_t>(length_);
    deal_out();
    std::vector<Group> unresolved = sort_buckets();
    bucket_end_ = {};
    if (!unresolved.empty()) double_prefixes(std::move(unresolved));
  }

 private:
  std::uint64_t bases_at(std::uint64_t place) const { return FmIndexTables::packed_bases_at(packed_, static_cast<std::int64_t>(place)); }
  std::uint64_t buckets() const { return std::uint64_t{1} << (2 * bucket_bases_); }

  // Calls body(place, bucket) for the places of [begin, end).
  template <class Body>
  void for_each_bucket(std::size_t begin, std::size_t end, Body&& body) const {
    const std::uint64_t shift = 64 - 2 * bucket_bases_;
    for (std::size_t place = begin; place < end;) {
      // A word of 32 bases holds the buckets of its first 33 - bucket_bases places.
      std::uint64_t word = bases_at(place);
      const std::size_t stop = std::min<std::size_t>(end, place + 33 - bucket_bases_);
      for (; place < stop; ++place, word <<= 2) body(place, word >> shift);
    }
  }

  // Calls body(place, buckets, count) for `count` places of [begin, end) at a time, from `place` on. Their counters are on the way into the cache:
  // adding to an atomic number waits for everything before it, so that otherwise each would wait for the memory by itself.
  template <class Body>
  void for_many_buckets(std::size_t begin, std::size_t end, Body&& body) {
    constexpr std::size_t at_once = 256;
    std::uint64_t buckets[at_once];
    for (std::size_t first = begin; first < end; first += at_once) {
      const std::size_t count = std::min(at_once, end - first);
      for_each_bucket(first, first + count, [&](std::size_t place, std::uint64_t bucket) {
        buckets[place - first] = bucket;
        __builtin_prefetch(&bucket_end_[bucket], 1);
      });
      body(first, buckets, count);
    }
  }
  std::uint32_t next_of(std::uint64_t bucket) { return std::atomic_ref<std::uint32_t>(bucket_end_[bucket]).fetch_add(1, std::memory_order_relaxed); }

  void deal_out() {
    bucket_end_.assign(buckets() + 1, 0);
    parallel_for_(length_, text_grain, [&](std::size_t begin, std::size_t end) {
      for_many_buckets(begin, end, [&](std::size_t, const std::uint64_t* buckets, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) next_of(buckets[i]);
      });
    });
    std::uint32_t row = 1;
    for (std::uint32_t& count : bucket_end_) {
      const std::uint32_t first = row;
      row += count;
      count = first;
    }
    // Which of a bucket's rows a suffix gets depends on the threads; sorting takes that away again.
    parallel_for_(length_, text_grain, [&](std::size_t begin, std::size_t end) {
      for_many_buckets(begin, end, [&](std::size_t first, std::uint64_t* bucket_then_row, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) bucket_then_row[i] = next_of(bucket_then_row[i]);
        for (std::size_t i = 0; i < count; ++i) rows_[bucket_then_row[i]] = static_cast<std::uint32_t>(first + i);
      });
    });
  }

  std::vector<Group> sort_buckets() {
    std::vector<Group> unresolved;
    std::mutex mutex;  // guards unresolved
    parallel_for_(buckets(), buckets_grain, [&](std::size_t begin, std::size_t end) {
      std::vector<Keyed> keyed;
      std::vector<Group> left, pending;
      std::uint64_t row = begin == 0 ? 1 : bucket_end_[begin - 1];
      constexpr std::uint64_t ahead = 16;
      for (std::size_t bucket = begin; bucket < end; ++bucket) {
        const std::uint64_t bucket_end = bucket_end_[bucket];
        if (bucket_end + ahead < rows_.size()) __builtin_prefetch(packed_ + rows_[bucket_end + ahead] / 32 + 1);
        if (bucket_end - row > 1) sort_group({static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(bucket_end)}, keyed, pending, left);
        row = bucket_end;
      }
      const std::lock_guard lock(mutex);
      unresolved.insert(unresolved.end(), left.begin(), left.end());
    });
    std::sort(unresolved.begin(), unresolved.end(), [](const Group& a, const Group& b) { return a.begin < b.begin; });
    return unresolved;
  }

  // Sorts rows whose suffixes share bucket_bases_ bases. `keyed` and `pending` are scratch; what is still equal after max_keys words goes to `left`.
  void sort_group(Group group, std::vector<Keyed>& keyed, std::vector<Group>& pending, std::vector<Group>& left) {
    pending.assign(1, group);
    for (std::uint64_t round = 0; round < max_keys && !pending.empty(); ++round) {
      const std::uint64_t depth = bucket_bases_ + round * bases_per_key;
      const std::size_t groups = pending.size();
      for (std::size_t i = 0; i < groups; ++i) sort_by_word(pending[i], depth, keyed, pending);
      pending.erase(pending.begin(), pending.begin() + static_cast<std::ptrdiff_t>(groups));
    }
    left.insert(left.end(), pending.begin(), pending.end());
  }

  // Sorts by the 32 bases at `depth`, and appends the groups that remain.
  void sort_by_word(Group group, std::uint64_t depth, std::vector<Keyed>& keyed, std::vector<Group>& remaining) {
    const std::size_t size = group.end - group.begin;
    keyed.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint32_t place = rows_[group.begin + i];
      // A suffix may be shorter than `depth`: buckets take what is behind the text's end for A's.
      keyed[i] = {place + depth < length_ ? bases_at(place + depth) : 0, place};
    }
    // Of equal words those that the end of the text cuts come first, the shortest of them before the others.
    const std::uint64_t cut = length_ < depth + bases_per_key ? 0 : length_ - depth - bases_per_key + 1;
    const std::uint64_t last_whole = cut == 0 ? 0 : cut - 1;
    const auto before = [last_whole](const Keyed& a, const Keyed& b) {
      if (a.key != b.key) return a.key < b.key;
      return std::max<std::uint64_t>(a.place, last_whole) > std::max<std::uint64_t>(b.place, last_whole);
    };
    if (size <= 16) {
      for (std::size_t i = 1; i < size; ++i) {
        const Keyed moving = keyed[i];
        std::size_t at = i;
        for (; at > 0 && before(moving, keyed[at - 1]); --at) keyed[at] = keyed[at - 1];
        keyed[at] = moving;
      }
    } else {
      std::sort(keyed.begin(), keyed.end(), before);
    }
    for (std::size_t i = 0; i < size;) {
      std::size_t end = i + 1;
      if (keyed[i].place < cut)
        while (end < size && keyed[end].key == keyed[i].key && keyed[end].place < cut) ++end;
      if (end - i > 1) remaining.push_back(part_of(group, i, end));
      for (; i < end; ++i) rows_[group.begin + i] = keyed[i].place;
    }
  }

  static Group part_of(Group group, std::size_t begin, std::size_t end) {
    return {static_cast<std::uint32_t>(group.begin + begin), static_cast<std::uint32_t>(group.begin + end)};
  }

  // Each round sorts the groups by the ranks of the suffixes `depth` bases further on, so that `depth` doubles.
  void double_prefixes(std::vector<Group> groups) {
    SuffixRanks ranks(rows_, parallel_for_);
    for (std::uint64_t depth = bucket_bases_ + max_keys * bases_per_key; !groups.empty(); depth *= 2) {
      ranks.find(groups, depth);
      // Ranks are those from before the round, so that the order of the groups makes no difference.
      std::vector<Group> parts;
      std::mutex mutex;  // guards parts
      parallel_for_(groups.size(), 64, [&](std::size_t begin, std::size_t end) {
        std::vector<Keyed> keyed;
        std::vector<Group> found;
        for (std::size_t i = begin; i < end; ++i) split_by_rank(groups[i], depth, ranks, keyed, found);
        const std::lock_guard lock(mutex);
        parts.insert(parts.end(), found.begin(), found.end());
      });
      ranks.forget(groups);
      groups = std::move(parts);
    }
  }

  // Appends the parts that are still equal.
  void split_by_rank(Group group, std::uint64_t depth, const SuffixRanks& ranks, std::vector<Keyed>& keyed, std::vector<Group>& parts) {
    const std::size_t size = group.end - group.begin;
    keyed.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint32_t place = rows_[group.begin + i];
      keyed[i] = {ranks.of(place + depth), place};
    }
    std::sort(keyed.begin(), keyed.end(), [](const Keyed& a, const Keyed& b) { return a.key < b.key; });
    for (std::size_t i = 0; i < size;) {
      std::size_t end = i;
      for (; end < size && keyed[end].key == keyed[i].key; ++end) rows_[group.begin + end] = keyed[end].place;
      if (end - i > 1) parts.push_back(part_of(group, i, end));
      i = end;
    }
  }

  const std::uint64_t* packed_;
  std::uint64_t length_;
  std::span<std::uint32_t> rows_;
  const ParallelFor& parallel_for_;
  std::uint64_t bucket_bases_ = 1;
  std::vector<std::uint32_t> bucket_end_;  // first the rows where buckets begin, then where they end
};

}  // namespace

void sort_suffixes(const std::uint64_t* packed, std::uint64_t length, std::span<std::uint32_t> rows, const ParallelFor& parallel_for) {
  SuffixSorter(packed, length, rows, parallel_for).sort();
}

}  // namespace sluice::fm_index
