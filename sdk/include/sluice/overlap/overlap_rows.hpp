// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Rows of the type "overlap": which stretches of a read (the query) and of a target belong together. Both are rows of sequence stores.

#include <cstddef>
#include <cstdint>
#include <sluice/stage.hpp>

namespace sluice::overlap {

// 0-based, on forward strands, ends exclusive.
struct OverlapRow {
  std::int64_t query = 0, target = 0;
  std::int64_t query_start = 0, query_end = 0;
  std::int64_t target_start = 0, target_end = 0;
  std::int64_t ordinal = 0;          // of the overlap among all
  std::int64_t target_overlaps = 0;  // overlaps on the same target
  std::int64_t matches = 0;          // matching bases; 0: unknown
  bool is_reverse = false;           // the query's reverse complement matches
};

template <class Stage>
void describe_overlap_columns(Describe<Stage>& d) {
  d.gives("query_index", "i64", "row of the read in the store of reads").gives("target_index", "i64", "row of the target in its store");
  d.gives("query_start", "i64", "first base on the read, forward strand").gives("query_end", "i64", "end on the read, exclusive");
  d.gives("target_start", "i64", "first base on the target").gives("target_end", "i64", "end on the target, exclusive");
  d.gives("is_reverse", "u8", "1: the read's reverse complement matches").gives("overlap_index", "i64", "ordinal of the overlap among all");
  d.gives("target_overlaps", "i64", "overlaps that are kept on this target");
  d.gives("overlap_matches", "i64", "matching bases; 0: unknown", Needed::optional);
}

enum class Matches : std::uint8_t { unwanted, wanted };

// The columns above, of an output whose rows have been set. row_of(r): the OverlapRow of row r.
template <class RowOf>
void write_overlap_columns(std::size_t rows, RowOf&& row_of, Matches matches, Output& out) {
  const auto fill = [&](const char* column, std::int64_t OverlapRow::*value) {
    const auto values = out.column<std::int64_t>(column);
    for (std::size_t r = 0; r < rows; ++r) values[r] = row_of(r).*value;
  };
  fill("query_index", &OverlapRow::query);
  fill("target_index", &OverlapRow::target);
  fill("query_start", &OverlapRow::query_start);
  fill("query_end", &OverlapRow::query_end);
  fill("target_start", &OverlapRow::target_start);
  fill("target_end", &OverlapRow::target_end);
  fill("overlap_index", &OverlapRow::ordinal);
  fill("target_overlaps", &OverlapRow::target_overlaps);
  if (matches == Matches::wanted) fill("overlap_matches", &OverlapRow::matches);
  const auto is_reverse = out.column<std::uint8_t>("is_reverse");
  for (std::size_t r = 0; r < rows; ++r) is_reverse[r] = row_of(r).is_reverse ? 1 : 0;
}

}  // namespace sluice::overlap
