// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Rows of a pileup, as modification_pileup and bedmethyl_reader give them; the last one has failed.

#include <cstdint>
#include <sluice/testing.hpp>

namespace made_sites {

inline sluice::testing::TestBatch rows(std::uint64_t sequence = 0) {
  return sluice::testing::BatchBuilder("pileup", 7)
      .text("contig", {"a", "a", "a", "a", "b", "b", "b"})
      .column<std::int64_t>("position", {5, 5, 9, 9, 9, 10, 11})
      .text("strand", {"+", "+", "+", "-", ".", "+", "+"})
      .text("modification", {"h", "m", "m", "m", "m,CG,0", "m", "m"})
      .text("partition", {"", "", "", "", "", "", ""})
      .text("sample", {"x", "x", "x", "y", "y", "y", "y"})
      .column<std::int64_t>("modified", {1, 2, 3, 1, 5, 0, 9})
      .column<std::int64_t>("canonical", {1, 1, 1, 4, 5, 3, 9})
      .column<std::int64_t>("other_modified", {2, 1, 0, 0, 0, 0, 9})
      .failed(6)
      .sequence(sequence)
      .build();
}

}  // namespace made_sites
