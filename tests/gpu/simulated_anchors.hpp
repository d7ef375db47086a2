// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Anchors of noisy reads on a repetitive reference, without any file: families of interspersed repeats, segmental duplications and satellite arrays
// as genomes have them, reads with 8 % errors, and their minimizer matches (k 15, w 10) up to the number of occurrences that 2 of 10,000 minimizers
// pass. Simplified where the load of chaining does not care: one contig, minimizers of k-mers that occur too often are all left out.

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace simulated {

using Random = std::mt19937_64;

inline double share(Random& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }
inline std::size_t below(Random& random, std::size_t limit) { return limit == 0 ? 0 : random() % limit; }

inline std::string bases(Random& random, std::size_t count) {
  std::string result(count, 'A');
  for (char& base : result) base = "ACGT"[random() & 3];
  return result;
}

inline std::string reverse_complement(const std::string& from) {
  std::string result(from.rbegin(), from.rend());
  for (char& base : result) base = base == 'A' ? 'T' : base == 'C' ? 'G' : base == 'G' ? 'C' : 'A';
  return result;
}

// `rate` changes a base: substitutions, deletions and insertions as `shares` says.
struct ErrorShares {
  double substitution, deletion;
};
inline std::string with_errors(Random& random, const std::string& from, double rate, ErrorShares shares) {
  std::string result;
  result.reserve(from.size() + from.size() / 8);
  for (const char base : from) {
    const double dice = share(random) / rate;
    if (dice >= 1) {
      result.push_back(base);
    } else if (dice < shares.substitution) {
      char other = base;
      while (other == base) other = "ACGT"[random() & 3];
      result.push_back(other);
    } else if (dice >= shares.substitution + shares.deletion) {
      result.push_back(base);
      result.push_back("ACGT"[random() & 3]);
    }
  }
  return result;
}

inline std::string repetitive_reference(Random& random, std::size_t length) {
  std::string reference = bases(random, length);
  constexpr ErrorShares evolution{0.7, 0.2};
  const auto insert = [&](std::string copy) {
    if (copy.size() >= length) return copy.size();
    if (random() & 1) copy = reverse_complement(copy);
    std::copy(copy.begin(), copy.end(), reference.begin() + static_cast<std::ptrdiff_t>(below(random, length - copy.size())));
    return copy.size();
  };
  const auto fill = [&](double part, auto&& copy) {
    for (std::size_t done = 0; static_cast<double>(done) < part * static_cast<double>(length);) done += insert(copy());
  };
  const std::string line = bases(random, 6000);
  fill(0.15, [&] {
    const auto kept = static_cast<std::size_t>(share(random) < 0.05 ? 6000 : 300 * std::pow(20, share(random)));
    return with_errors(random, line.substr(6000 - kept), 0.04 + 0.16 * share(random), evolution);
  });
  const std::string ends = bases(random, 500), middle = bases(random, 6500);
  fill(0.08, [&] { return with_errors(random, share(random) < 0.3 ? ends : ends + middle + ends, 0.01 + 0.14 * share(random), evolution); });
  const std::string alu = bases(random, 280);
  fill(0.10, [&] { return with_errors(random, alu, 0.1 + 0.15 * share(random), evolution); });
  fill(0.05, [&] {
    const std::size_t copied = std::min(length, static_cast<std::size_t>(10000 * std::pow(8, share(random))));
    return with_errors(random, reference.substr(below(random, length - copied), copied), 0.01 + 0.03 * share(random), evolution);
  });
  fill(0.04, [&] {
    const std::string monomer = bases(random, 171);
    std::string unit, array;
    for (int i = 0; i < 8; ++i) unit += with_errors(random, monomer, 0.2, evolution);
    const auto size = static_cast<std::size_t>(30000 * std::pow(10, share(random)));
    const double divergence = 0.01 + 0.01 * share(random);
    while (array.size() < size) array += with_errors(random, unit, divergence, evolution);
    return array;
  });
  return reference;
}

struct Minimizer {
  std::uint64_t hash;
  std::uint32_t end;  // place of the k-mer's last base
  bool is_reverse;
};

inline constexpr std::uint32_t k = 15, w = 10;

inline std::vector<Minimizer> minimizers(const std::string& sequence) {
  constexpr std::uint64_t mask = (std::uint64_t{1} << 2 * k) - 1;
  std::vector<Minimizer> result;
  std::deque<Minimizer> window;  // ascending in hash
  std::uint64_t forward = 0, reverse = 0;
  for (std::uint32_t i = 0; i < sequence.size(); ++i) {
    const std::uint64_t base = sequence[i] == 'A' ? 0 : sequence[i] == 'C' ? 1 : sequence[i] == 'G' ? 2 : 3;
    forward = (forward << 2 | base) & mask;
    reverse = reverse >> 2 | (3 - base) << 2 * (k - 1);
    if (i + 1 < k || forward == reverse) continue;
    std::uint64_t hash = (std::min(forward, reverse) * 0x9E3779B97F4A7C15ULL) >> 20;
    hash ^= hash >> 21;
    while (!window.empty() && window.back().hash > hash) window.pop_back();
    window.push_back({hash, i, reverse < forward});
    while (window.front().end + w <= i) window.pop_front();
    if (i + 1 >= k + w - 1 && (result.empty() || result.back().end != window.front().end)) result.push_back(window.front());
  }
  return result;
}

class Index {
 public:
  explicit Index(const std::string& reference) : all_(minimizers(reference)) {
    std::sort(all_.begin(), all_.end(), [](const Minimizer& a, const Minimizer& b) { return a.hash != b.hash ? a.hash < b.hash : a.end < b.end; });
    std::vector<std::size_t> counts;
    for (std::size_t i = 0, begin = 0; i < all_.size(); ++i) {
      if (i + 1 < all_.size() && all_[i + 1].hash == all_[i].hash) continue;
      counts.push_back(i + 1 - begin);
      begin = i + 1;
    }
    if (counts.empty()) return;
    const auto rank = static_cast<std::size_t>((1 - 2e-4) * static_cast<double>(counts.size()));
    std::nth_element(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(rank), counts.end());
    most_ = std::max<std::size_t>(10, counts[rank] + 1);
    constexpr std::size_t buckets = std::size_t{1} << 20;
    bucket_.assign(buckets + 1, 0);
    for (const Minimizer& m : all_) ++bucket_[(m.hash >> 24) % buckets + 1];
    for (std::size_t i = 1; i <= buckets; ++i) bucket_[i] += bucket_[i - 1];
  }

  // x and y of a read's anchors, ascending in x.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> anchors(const std::string& read) const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> result;
    for (const Minimizer& m : minimizers(read)) {
      const auto bucket = static_cast<std::size_t>(m.hash >> 24);
      const auto first = std::lower_bound(all_.begin() + bucket_[bucket], all_.begin() + bucket_[bucket + 1], m.hash,
                                          [](const Minimizer& a, std::uint64_t hash) { return a.hash < hash; });
      auto last = first;
      while (last != all_.end() && last->hash == m.hash) ++last;
      if (static_cast<std::size_t>(last - first) > most_) continue;
      for (auto it = first; it != last; ++it) {
        const bool is_reverse = it->is_reverse != m.is_reverse;
        const std::uint32_t query = is_reverse ? static_cast<std::uint32_t>(read.size()) - (m.end + 1 - k) - 1 : m.end;
        result.emplace_back((is_reverse ? std::uint64_t{1} << 63 : 0) | it->end, std::uint64_t{k} << 32 | query);
      }
    }
    std::stable_sort(result.begin(), result.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    return result;
  }

 private:
  std::vector<Minimizer> all_;
  std::vector<std::ptrdiff_t> bucket_;  // by the upper 20 of 44 bits of the hash
  std::size_t most_ = 10;
};

// A list column pair of anchors.
struct AnchorRows {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::uint64_t> x, y;

  std::size_t rows() const { return offsets.size() - 1; }
  // Sorts the anchors by x, and keeps the order of equal ones.
  void add(std::vector<std::pair<std::uint64_t, std::uint64_t>> anchors) {
    std::stable_sort(anchors.begin(), anchors.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [anchor_x, anchor_y] : anchors) {
      x.push_back(anchor_x);
      y.push_back(anchor_y);
    }
    offsets.push_back(static_cast<std::int64_t>(x.size()));
  }
};

// Reads of `shortest` to `longest` bases, `total` in all, and their anchors.
inline AnchorRows read_anchors(const std::string& reference, const Index& index, std::size_t total, std::size_t shortest, std::size_t longest,
                               std::uint64_t seed) {
  const std::size_t reads = std::max<std::size_t>(1, total / ((shortest + longest) / 2));
  std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>> anchors(reads);
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (unsigned int t = 0; t < std::max(1U, std::thread::hardware_concurrency()); ++t) {
    threads.emplace_back([&] {
      for (std::size_t read = next++; read < reads; read = next++) {
        Random random(seed * 1000003 + read);
        const std::size_t length = std::min(reference.size(), shortest + below(random, longest - shortest + 1));
        std::string sequence = reference.substr(below(random, reference.size() - length + 1), length);
        if (random() & 1) sequence = reverse_complement(sequence);
        anchors[read] = index.anchors(with_errors(random, sequence, 0.08, {0.375, 0.375}));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  AnchorRows rows;
  for (auto& row : anchors) {
    rows.add(std::move(row));
    row = {};
  }
  return rows;
}

// Reads of a sequence without repeats, 30 times its length, each against all of them, itself as well, as one reference.
inline AnchorRows overlap_anchors(std::size_t bases_of_sequence, std::size_t shortest, std::size_t longest, std::uint64_t seed) {
  Random random(seed);
  const std::string sequence = bases(random, bases_of_sequence);
  std::vector<std::string> reads;
  std::string all;
  while (all.size() < 30 * bases_of_sequence) {
    const std::size_t length = std::min(sequence.size(), shortest + below(random, longest - shortest + 1));
    std::string read = with_errors(random, sequence.substr(below(random, sequence.size() - length + 1), length), 0.08, {0.375, 0.375});
    if (random() & 1) read = reverse_complement(read);
    all += read;
    reads.push_back(std::move(read));
  }
  const Index index(all);
  AnchorRows rows;
  for (const std::string& read : reads) rows.add(index.anchors(read));
  return rows;
}

}  // namespace simulated
