// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cstdint>
#include <sluice/stage.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "pair_alignment/pair_aligner.hpp"

namespace sluice::pair_alignment {
namespace {

// Pairs of several kilobases take about a tenth of a millisecond each.
constexpr std::size_t pairs_per_part = 4;

class PairAlignment {
 public:
  using Parameters = NoParameters;
  static void describe(Describe<PairAlignment>& d) {
    d.id("pair_alignment").summary("aligns the two parts of each overlap from end to end with the fewest edits").map("overlap").work_unit("base");
    d.doc(
        "Global alignment with unit costs. Of the alignments with the fewest edits it gives the one that edlib 1.2.7 and therefore racon 1.5 take: "
        "see "
        "plugins/consensus/pair_alignment/README.md. An overlap that came with an alignment keeps that.");
    d.needs("query_bases", "utf8", "the read's part, in the target's orientation").needs("target_bases", "utf8", "the target's part");
    d.needs("given_cigar", "list<u32>", "alignment that is kept; empty: none", Needed::optional);
    d.gives("cigar", "list<u32>", "M, I (of the query) and D in BAM encoding")
        .gives("edit_distance", "i32", "edits; -1: the alignment was given", Needed::optional);
  }
  PairAlignment(const Setup& setup, const Parameters&) : has_given_(setup.available("given_cigar")), wants_distance_(setup.wanted("edit_distance")) {}

  Estimate estimate(const Batch& in) const {
    const TextView query = in.text("query_bases");
    const TextView target = in.text("target_bases");
    Estimate e;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      // A band of a tenth of the length, whose width is what the shorter one leaves over at least.
      const double work = in.ok(row) ? static_cast<double>(query[row].size() + target[row].size()) : 0;
      e.work += work;
      e.largest_row_work = std::max(e.largest_row_work, work);
    }
    e.output_bytes = static_cast<std::uint64_t>(e.work);
    e.scratch_bytes = PairAligner::memory_bytes(e.largest_row_work / 2);
    return e;
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const TextView query = in.text("query_bases");
    const TextView target = in.text("target_bases");
    const auto rows = static_cast<std::size_t>(in.rows());
    std::vector<std::vector<std::uint32_t>> cigars(rows);
    std::vector<std::int32_t> distances(rows, -1);
    call.parallel_for(rows, pairs_per_part, [&](std::size_t begin, std::size_t end) {
      auto workspace = workspaces_.take();
      for (std::size_t r = begin; r < end; ++r) {
        const auto row = static_cast<std::int64_t>(r);
        if (!in.ok(row) || call.cancelled()) continue;
        if (has_given_) {
          const auto given = in.list<std::uint32_t>("given_cigar")[row];
          cigars[r].assign(given.begin(), given.end());
          if (!given.empty()) continue;
        }
        distances[r] = static_cast<std::int32_t>(workspace->aligner.align(query[row], target[row], workspace->cigar));
        cigars[r] = workspace->cigar;
      }
    });
    out.gather<std::uint32_t>("cigar", out.offsets([&](std::int64_t row) { return cigars[static_cast<std::size_t>(row)].size(); }), cigars);
    if (wants_distance_) std::copy(distances.begin(), distances.end(), out.column<std::int32_t>("edit_distance").begin());
  }

 private:
  struct Workspace {
    PairAligner aligner;
    std::vector<std::uint32_t> cigar;
  };
  bool has_given_, wants_distance_;
  Workspaces<Workspace> workspaces_;
};

}  // namespace
}  // namespace sluice::pair_alignment

SLUICE_PLUGIN("pair_alignment", "0.1.0", "MIT", sluice::pair_alignment::PairAlignment);
