// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sequence_store/overlap_sequences.hpp"

#include <algorithm>
#include <array>
#include <sluice/sequence/bases.hpp>

namespace sluice::sequence_store {
namespace {

constexpr std::size_t overlaps_per_part = 4;

// complement_of() of each character: which of four cases a base is no branch predictor knows.
constexpr std::array<char, 256> complements = [] {
  std::array<char, 256> table{};
  for (std::size_t letter = 0; letter < table.size(); ++letter) table[letter] = complement_of(static_cast<char>(letter));
  return table;
}();

struct Part {
  Part(const Batch& in, const char* index_column, const char* start_column, const char* end_column)
      : index(in.column<std::int64_t>(index_column)), start(in.column<std::int64_t>(start_column)), end(in.column<std::int64_t>(end_column)) {}
  bool lies_in(const SequenceStoreView& store, std::size_t r) const {
    return index[r] >= 0 && index[r] < store.size() && start[r] >= 0 && start[r] <= end[r] && end[r] <= store.length(index[r]);
  }
  std::span<const std::int64_t> index, start, end;
};

}  // namespace

void OverlapSequences::describe(Describe<OverlapSequences>& d) {
  d.id("overlap_sequences").summary("fetches the bases that each overlap joins").map("overlap").work_unit("base");
  d.doc(
      "The query's part is given in the target's orientation: reverse-complemented (its qualities reversed) if is_reverse. Letters are upper "
      "case; those other than A, C, G and T stay in a reverse complement.");
  d.needs("query_index", "i64", "row of the read in the store of reads").needs("target_index", "i64", "row of the target in its store");
  d.needs("query_start", "i64", "first base on the read, forward strand").needs("query_end", "i64", "end on the read");
  d.needs("target_start", "i64", "first base on the target").needs("target_end", "i64", "end on the target");
  d.needs("is_reverse", "u8", "1: the read's reverse complement matches");
  d.gives("query_bases", "utf8", "the query's part, in the target's orientation");
  d.gives("query_qualities", "utf8", "Phred + 33 of query_bases; empty: unknown", Needed::optional);
  d.gives("target_bases", "utf8", "the target's part", Needed::optional);
  d.uses("reads", "sequence", "the queries").uses("targets", "sequence", "the targets");
  d.reason("past_the_end", "the overlap lies outside its read or its target");
}

OverlapSequences::OverlapSequences(const Setup& setup, const Parameters&)
    : reads_(setup.resource("reads")),
      targets_(setup.resource("targets")),
      wants_qualities_(setup.wanted("query_qualities")),
      wants_target_(setup.wanted("target_bases")) {}

Estimate OverlapSequences::estimate(const Batch& in) const {
  const auto start = in.column<std::int64_t>("query_start");
  const auto end = in.column<std::int64_t>("query_end");
  Estimate e;
  for (std::int64_t row = 0; row < in.rows(); ++row) {
    const auto r = static_cast<std::size_t>(row);
    if (!in.ok(row) || start[r] < 0 || end[r] < start[r]) continue;
    const double bases = static_cast<double>(end[r]) - static_cast<double>(start[r]);
    e.work += bases;
    e.largest_row_work = std::max(e.largest_row_work, bases);
  }
  e.output_bytes = static_cast<std::uint64_t>(e.work * (1.0 + (wants_qualities_ ? 1 : 0) + (wants_target_ ? 1 : 0)));
  return e;
}

void OverlapSequences::process(const Call& call, const Batch& in, Output& out) {
  const Part query(in, "query_index", "query_start", "query_end");
  const Part target(in, "target_index", "target_start", "target_end");
  const auto is_reverse = in.column<std::uint8_t>("is_reverse");
  const auto rows = static_cast<std::size_t>(in.rows());
  std::vector<char> usable(rows);
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = static_cast<std::int64_t>(r);
    if (!in.ok(row)) continue;
    usable[r] = query.lies_in(reads_, r) && target.lies_in(targets_, r) ? 1 : 0;
    if (usable[r] == 0) out.fail(row, Reason::past_the_end);
  }
  const auto letters = [&](const char* column, const Part& part, auto&& has) {
    const Buffer offsets = out.offsets([&](std::int64_t row) {
      const auto r = static_cast<std::size_t>(row);
      return usable[r] != 0 && has(part.index[r]) ? part.end[r] - part.start[r] : 0;
    });
    return Letters{offsets.template as<std::int64_t>(), out.text(column, offsets), offsets};
  };
  const auto always = [](std::int64_t) { return true; };
  const Letters bases = letters("query_bases", query, always);
  const Letters qualities =
      wants_qualities_ ? letters("query_qualities", query, [&](std::int64_t read) { return reads_.has_qualities(read); }) : Letters{};
  const Letters target_bases = wants_target_ ? letters("target_bases", target, always) : Letters{};
  call.parallel_for(rows, overlaps_per_part, [&](std::size_t first, std::size_t last) {
    auto scratch = scratch_.take();
    for (std::size_t r = first; r < last && !call.cancelled(); ++r) {
      if (bases.has(r)) {
        reads_.fetch_bases(query.index[r], query.start[r], query.end[r], bases.begin(r), *scratch);
        if (is_reverse[r] != 0) {
          std::reverse(bases.begin(r), bases.end(r));
          std::transform(bases.begin(r), bases.end(r), bases.begin(r), [](char base) { return complements[static_cast<unsigned char>(base)]; });
        }
      }
      if (qualities.has(r)) {
        reads_.fetch_qualities(query.index[r], query.start[r], query.end[r], qualities.begin(r), *scratch);
        if (is_reverse[r] != 0) std::reverse(qualities.begin(r), qualities.end(r));
      }
      if (target_bases.has(r)) targets_.fetch_bases(target.index[r], target.start[r], target.end[r], target_bases.begin(r), *scratch);
    }
  });
  if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "the sequences were cancelled");
}

}  // namespace sluice::sequence_store
