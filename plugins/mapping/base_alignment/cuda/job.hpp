// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// One alignment for the device, and what comes of it: plain data.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base_alignment/kernel/problem.hpp"

namespace sluice::base_alignment::cuda {

// A base of the target for an alignment across introns: its code in each of the four low nibbles, what is added to an intron that begins behind it,
// and to one that ends with it.
using SiteWord = std::uint32_t;
constexpr SiteWord site_word(std::uint8_t code, std::int8_t donor, std::int8_t acceptor) {
  return code * 0x1111U | static_cast<std::uint32_t>(static_cast<std::uint8_t>(donor)) << 16 |
         static_cast<std::uint32_t>(static_cast<std::uint8_t>(acceptor)) << 24;
}
// Codes of the target are in its words, as many as problem.target_length says; problem.target and problem.band are not read.
struct SplicedProblem {
  Problem problem;
  const SiteWord* target = nullptr;
  // Of a target that something was cut out of (splicing/cut_target.hpp): the columns before the cuts, then for each cut the least losses of paths in
  // it by bases of the read, from none to all.
  std::int32_t cuts = 0;
  const std::int32_t* of_cuts = nullptr;

  std::size_t numbers_of_cuts() const { return static_cast<std::size_t>(cuts) * (2 + static_cast<std::size_t>(problem.query_length)); }
};

struct Job {
  std::int64_t query = 0, target = 0;  // places of their first codes; across introns target: of its first word
  std::int32_t query_length = 0, target_length = 0;
  std::int32_t band = 0, z_drop = -1, end_bonus = -1;  // band: not below 0
  Goal goal = Goal::ends;
  TieOrder ties = TieOrder::gap_right;
  std::int32_t least_score = 0;  // narrow bands: a path that scores no more may be the wrong one
  std::int64_t steps = 0;        // place of the first row's steps
  std::int32_t step_stride = 0;  // bytes from row to row; not of bands
  std::int32_t ring = 0;         // cells of a row that are kept, a power of two; blocks only
  std::int64_t ring_place = -1;  // below 0: in shared memory
  std::int64_t operations = 0;   // place of the first of query_length + target_length
  std::int32_t cuts = 0;
  std::int64_t of_cuts = 0;  // place of their numbers
};

struct Answer {
  std::int32_t best = 0, best_target = -1, best_query = -1;
  std::int32_t query_end_score = Alignment::unreached, query_end_target = -1;
  std::int32_t score = Alignment::unreached;
  bool dropped = false, reached_end = false;
  bool too_narrow = false;        // the narrow band gives no answer
  std::int32_t deepest_fall = 0;  // along a path from end to end: see FallSearch
  std::int32_t highest_through_cuts = Alignment::unreached;
  std::int32_t operation_count = 0;
  std::int64_t operations = 0;  // place of the first one
};

// Of many problems.
struct Answers {
  std::vector<Answer> of;                 // of each problem; operations: place in the following
  std::vector<std::uint32_t> operations;  // in BAM encoding
  std::vector<std::uint8_t> is_done;      // 0: the CPU has to
  std::size_t in_wide_bands = 0, in_blocks = 0, left = 0;

  // For so many problems, of which none has an answer yet. Memory is kept.
  void begin(std::size_t problems) {
    of.assign(problems, {});
    is_done.assign(problems, 0);
    operations.clear();
    in_wide_bands = in_blocks = left = 0;
  }
  std::span<const std::uint32_t> cigar(std::size_t problem) const {
    return std::span(operations).subspan(static_cast<std::size_t>(of[problem].operations), static_cast<std::size_t>(of[problem].operation_count));
  }
};

}  // namespace sluice::base_alignment::cuda
