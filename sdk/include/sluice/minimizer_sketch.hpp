// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Minimizers of a sequence, exactly those of minimap2 2.24 (Li 2016, Bioinformatics 32:2103, with minimap2's rules for ties, palindromes, ambiguous
// bases and the ends of sequences). A plugin that sketches compiles minimizer_sketch-inl.hpp, once per instruction set, and passes its kernels to
// sketch().
//
// The sequential definition, from which sketch_one_by_one() is written: every base makes a step that puts an element into a window of the last w: its
// k-mer's hash, or nothing while fewer than k bases follow each other. A base whose k-mer is its own reverse complement makes no step. The tracked
// minimum is the rightmost smallest element of the window; it is reported when a new one replaces it or when it leaves the window, and on leaving,
// elements equal to its successor are reported too. Nothing is reported before w + k - 1 bases follow each other; at the end of the sequence the
// tracked minimum is.
//
// From that, the parallel form: an element is reported exactly if it is the smallest of some window of w elements between two ambiguous bases, with
// three exceptions that are put right one by one (open_run, close_run, last_minimum). So every element is decided by its 2 w - 2 neighbours, in any
// order.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <sluice/minimizer_index.hpp>
#include <sluice/sequence/bases.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace sluice {

enum class HomopolymerCompression : std::uint8_t { off, on };  // on: a run of one base counts as one base

struct SketchParameters {
  std::uint32_t k = 15;  // 1 to 28
  std::uint32_t w = 10;  // 1 to 255
  HomopolymerCompression homopolymers = HomopolymerCompression::off;
};

struct Minimizer {
  std::uint64_t x;  // hash << 8 | span: bases of the read that the k-mer covers, k without homopolymer compression
  std::uint64_t y;  // place of the k-mer's last base << 1 | strand (1: the reverse complement is the canonical k-mer)
  bool operator==(const Minimizer&) const = default;
};

struct BaseInterval {
  std::int64_t begin, end;
};

// A sequence of 2 bits a base, 32 to a word, the first in the lowest bits; ambiguous bases are 0 there. 32 bytes behind the last word are readable.
struct PackedSequence {
  const std::uint64_t* words = nullptr;
  std::int64_t length = 0;
  std::span<const BaseInterval> ambiguous;  // ascending, apart, not empty

  std::uint64_t base(std::int64_t place) const { return words[place / 32] >> 2 * (place % 32) & 3U; }
};
// Words that a sequence takes, with the readable ones behind it.
constexpr std::size_t packed_words(std::int64_t length) { return static_cast<std::size_t>(length + 31) / 32 + 4; }

// Elements between two ambiguous bases, for the vector kernel: the k-mers that end at the bases [first, end).
struct SketchRun {
  enum class Begin : std::uint8_t { inside, at_run_begin };  // at_run_begin: no element comes before
  enum class End : std::uint8_t { inside, at_run_end };      // at_run_end: no element comes behind
  const std::uint64_t* words;
  std::uint32_t k, w;
  std::int64_t first, end;
  Begin at_begin;
  End at_end;
};

inline constexpr std::size_t sketch_block = 2048;  // elements decided at once: their arrays stay in 48 KiB
inline constexpr std::size_t sketch_slack = 256;   // vectors read and write behind the last element
inline constexpr std::uint32_t largest_vector_k = 25;

struct SketchScratch {
  static constexpr std::size_t elements = sketch_block + 3 * 256 + sketch_slack;
  std::vector<std::uint64_t> words;     // of a packed read
  std::vector<BaseInterval> ambiguous;  // of a packed read
  alignas(64) std::array<std::uint64_t, elements> hash{};
  alignas(64) std::array<std::uint64_t, elements + 512> smallest{};
  alignas(64) std::array<std::uint32_t, elements> place{};
  alignas(64) std::array<std::uint64_t, elements> chosen_hash{};
  alignas(64) std::array<std::uint64_t, elements> chosen_place{};
  alignas(64) std::array<std::uint64_t, (sketch_block + 512) / 32 + 32> reversed{};
};

// Made by minimizer_sketch-inl.hpp for the processor at hand.
struct SketchKernels {
  // Packs bases [0, length) into words; false if some are ambiguous.
  bool (*pack)(const char* bases, std::size_t length, std::uint64_t* words);
  // Appends the run's minimizers; null where there are no vectors.
  void (*run)(const SketchRun& run, SketchScratch& scratch, std::vector<Minimizer>& out);
};

namespace detail {

struct KmerPair {
  std::uint64_t forward = 0, reverse = 0;
  void push(std::uint64_t code, std::uint32_t k) {
    forward = (forward << 2 | code) & ((std::uint64_t{1} << 2 * k) - 1);
    reverse = reverse >> 2 | (3U - code) << 2 * (k - 1);
  }
  bool palindromic() const { return forward == reverse; }
};

inline KmerPair kmer_at(const PackedSequence& s, std::int64_t last, std::uint32_t k) {
  KmerPair kmer;
  for (std::int64_t i = last + 1 - k; i <= last; ++i) kmer.push(s.base(i), k);
  return kmer;
}
// The element whose k-mer ends at `last`, without homopolymer compression.
inline Minimizer element_at(const PackedSequence& s, std::int64_t last, std::uint32_t k) {
  const KmerPair kmer = kmer_at(s, last, k);
  const bool reverse = kmer.forward >= kmer.reverse;
  const std::uint64_t mask = (std::uint64_t{1} << 2 * k) - 1;
  return {minimizer_hash(reverse ? kmer.reverse : kmer.forward, mask) << 8 | k, static_cast<std::uint64_t>(last) << 1 | (reverse ? 1U : 0U)};
}
inline bool steps(const PackedSequence& s, std::int64_t last, std::uint32_t k) { return k % 2 != 0 || !kmer_at(s, last, k).palindromic(); }

// Bases between ambiguous ones.
struct BaseRun {
  std::int64_t begin, end;
  std::int64_t first;        // base of the first element; end or more: there is none
  std::int64_t empty_steps;  // steps of its bases before that
};

// Run number r of the sequence (r = 0 .. ambiguous.size()). The first k - 1 steps have no element yet. Of an even k some bases there may make no
// step: the k-mer that is asked for being a palindrome then still has bases from before the ambiguous ones.
inline BaseRun base_run(const PackedSequence& s, std::size_t r, std::uint32_t k) {
  BaseRun run{r == 0 ? 0 : s.ambiguous[r - 1].end, r == s.ambiguous.size() ? s.length : s.ambiguous[r].begin, 0, 0};
  const std::int64_t before = k - 1;
  run.empty_steps = std::min(before, run.end - run.begin);
  run.first = run.begin + before;
  if (k % 2 != 0 || r == 0 || run.begin >= run.end) return run;
  std::array<std::uint8_t, 32> history{};
  std::size_t known = 0;
  std::size_t gap = r;
  for (std::int64_t i = run.begin; known < k;) {
    while (gap > 0 && i == s.ambiguous[gap - 1].end) i = s.ambiguous[--gap].begin;
    if (i == 0) break;
    history[known++] = static_cast<std::uint8_t>(s.base(--i));
  }
  KmerPair kmer;
  while (known > 0) kmer.push(history[--known], k);
  run.empty_steps = 0;
  for (run.first = run.begin; run.first < run.end && run.empty_steps < before; ++run.first) {
    kmer.push(s.base(run.first), k);
    if (!kmer.palindromic()) ++run.empty_steps;
  }
  return run;
}

// The tracked minimum at the end of the sequence, which is reported last: the rightmost smallest element of the last w steps. False: there is none.
inline bool last_minimum(const PackedSequence& s, std::uint32_t k, std::uint32_t w, Minimizer& minimum) {
  minimum.x = std::numeric_limits<std::uint64_t>::max();
  std::int64_t left = w;
  for (std::size_t r = s.ambiguous.size() + 1; r-- > 0 && left > 0;) {
    const BaseRun run = base_run(s, r, k);
    for (std::int64_t i = run.end; left > 0 && i-- > run.first;) {
      if (!steps(s, i, k)) continue;
      const Minimizer element = element_at(s, i, k);
      if (element.x < minimum.x) minimum = element;
      --left;
    }
    left -= run.empty_steps;
    if (r > 0) left -= s.ambiguous[r - 1].end - s.ambiguous[r - 1].begin;
  }
  return minimum.x != std::numeric_limits<std::uint64_t>::max();
}

// Appends the minimizers, without the last one, of the elements at the bases [begin, end) of a run.
inline void sketch_run(const PackedSequence& s, const BaseRun& run, const SketchParameters& p, std::int64_t begin, std::int64_t end,
                       const SketchKernels& kernels, SketchScratch& scratch, std::vector<Minimizer>& out) {
  begin = std::max(begin, run.first);
  end = std::min(end, run.end);
  if (begin >= end) return;
  SketchRun part{s.words, p.k, p.w, begin, end, SketchRun::Begin::inside, SketchRun::End::inside};
  for (std::uint32_t steps_before = 1; steps_before < p.w && part.first > run.first; steps_before += steps(s, part.first, p.k) ? 1U : 0U)
    --part.first;
  while (part.first > run.first && !steps(s, part.first - 1, p.k)) --part.first;
  if (part.first == run.first) part.at_begin = SketchRun::Begin::at_run_begin;
  for (std::uint32_t steps_behind = 1; steps_behind < p.w && part.end < run.end; ++part.end) steps_behind += steps(s, part.end, p.k) ? 1U : 0U;
  while (part.end < run.end && !steps(s, part.end, p.k)) ++part.end;
  if (part.end == run.end) part.at_end = SketchRun::End::at_run_end;
  const std::size_t from = out.size();
  kernels.run(part, scratch, out);
  while (out.size() > from && static_cast<std::int64_t>(out.back().y >> 1) >= end) out.pop_back();
  std::size_t outside = from;
  while (outside < out.size() && static_cast<std::int64_t>(out[outside].y >> 1) < begin) ++outside;
  out.erase(out.begin() + static_cast<std::ptrdiff_t>(from), out.begin() + static_cast<std::ptrdiff_t>(outside));
}

}  // namespace detail

// Appends the minimizers of the sequence in the order of their places, one base after the other. Any parameters.
inline void sketch_one_by_one(const PackedSequence& s, const SketchParameters& p, std::vector<Minimizer>& out) {
  constexpr Minimizer none{std::numeric_limits<std::uint64_t>::max(), std::numeric_limits<std::uint64_t>::max()};
  const std::uint64_t mask = (std::uint64_t{1} << 2 * p.k) - 1;
  std::array<Minimizer, 256> window;
  window.fill(none);
  Minimizer minimum = none;
  std::uint32_t at = 0, minimum_at = 0;
  std::array<std::int64_t, 32> run_lengths{};  // of the last k homopolymers, a ring
  std::uint32_t runs = 0, next_run = 0;
  std::int64_t span = 0, length = 0;
  detail::KmerPair kmer;
  std::size_t gap = 0;
  const auto report_equals = [&](std::uint32_t oldest_elements) {
    for (std::uint32_t n = 1; n <= oldest_elements; ++n) {
      const Minimizer& element = window[(at + n) % p.w];
      if (element.x == minimum.x && element.y != minimum.y) out.push_back(element);
    }
  };
  for (std::int64_t i = 0; i < s.length; ++i) {
    while (gap < s.ambiguous.size() && s.ambiguous[gap].end <= i) ++gap;
    const std::int64_t run_end = gap < s.ambiguous.size() ? s.ambiguous[gap].begin : s.length;
    Minimizer element = none;
    if (i < run_end) {
      const std::uint64_t code = s.base(i);
      if (p.homopolymers == HomopolymerCompression::on) {
        const std::int64_t first = i;
        while (i + 1 < run_end && s.base(i + 1) == code) ++i;
        if (runs == p.k)
          span -= run_lengths[(next_run + 32 - p.k) % 32];
        else
          ++runs;
        run_lengths[next_run] = i - first + 1;
        span += run_lengths[next_run];
        next_run = (next_run + 1) % 32;
      } else {
        span = p.k;
      }
      kmer.push(code, p.k);
      if (kmer.palindromic()) continue;
      ++length;
      if (length >= p.k && span < 256) {
        const bool reverse = kmer.forward >= kmer.reverse;
        element = {minimizer_hash(reverse ? kmer.reverse : kmer.forward, mask) << 8 | static_cast<std::uint64_t>(span),
                   static_cast<std::uint64_t>(i) << 1 | (reverse ? 1U : 0U)};
      }
    } else {
      length = span = runs = 0;
    }
    window[at] = element;
    const std::int64_t full = p.w + p.k - 1;
    if (length == full && minimum.x != none.x) report_equals(p.w - 1);
    if (element.x <= minimum.x) {
      if (length > full && minimum.x != none.x) out.push_back(minimum);
      minimum = element;
      minimum_at = at;
    } else if (at == minimum_at) {
      if (length >= full && minimum.x != none.x) out.push_back(minimum);
      minimum.x = none.x;
      for (std::uint32_t n = 1; n <= p.w; ++n)
        if (minimum.x >= window[(at + n) % p.w].x) minimum_at = (at + n) % p.w, minimum = window[minimum_at];
      if (length >= full && minimum.x != none.x) report_equals(p.w);
    }
    at = (at + 1) % p.w;
  }
  if (minimum.x != none.x) out.push_back(minimum);
}

// Whether parts of a sequence can be sketched apart with these parameters, and in vectors.
inline bool sketches_in_parts(const SketchParameters& p, const SketchKernels& kernels) {
  return p.homopolymers == HomopolymerCompression::off && p.k <= largest_vector_k && kernels.run != nullptr;
}

// Appends the minimizers of the sequence whose last base lies in [begin, end), in the order of their places. Parts of a sequence: only if
// sketches_in_parts(). Otherwise begin = 0 and end = length.
inline void sketch(const PackedSequence& s, const SketchParameters& p, std::int64_t begin, std::int64_t end, const SketchKernels& kernels,
                   SketchScratch& scratch, std::vector<Minimizer>& out) {
  if (!sketches_in_parts(p, kernels)) return sketch_one_by_one(s, p, out);
  // The first run that ends behind `begin`.
  const auto gap = std::upper_bound(s.ambiguous.begin(), s.ambiguous.end(), begin,
                                    [](std::int64_t place, const BaseInterval& interval) { return place < interval.begin; });
  for (auto r = static_cast<std::size_t>(gap - s.ambiguous.begin()); r <= s.ambiguous.size(); ++r) {
    const detail::BaseRun run = detail::base_run(s, r, p.k);
    if (run.begin >= end) break;
    detail::sketch_run(s, run, p, begin, end, kernels, scratch, out);
  }
  Minimizer last;
  if (end == s.length && detail::last_minimum(s, p.k, p.w, last)) out.push_back(last);
}

// Packs a text into the scratch memory; the view is valid until the next call.
inline PackedSequence pack_bases(std::string_view bases, const SketchKernels& kernels, SketchScratch& scratch) {
  const auto length = static_cast<std::int64_t>(bases.size());
  scratch.words.resize(std::max(scratch.words.size(), packed_words(length)));
  scratch.ambiguous.clear();
  if (!kernels.pack(bases.data(), bases.size(), scratch.words.data())) {
    for (std::int64_t i = 0; i < length; ++i) {
      if (nucleotide_code(bases[static_cast<std::size_t>(i)]) < 4) continue;
      if (!scratch.ambiguous.empty() && scratch.ambiguous.back().end == i)
        ++scratch.ambiguous.back().end;
      else
        scratch.ambiguous.push_back({i, i + 1});
    }
  }
  return {scratch.words.data(), length, scratch.ambiguous};
}

}  // namespace sluice
