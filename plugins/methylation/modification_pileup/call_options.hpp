// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which calls count, as options of the stages that read MM and ML. Source of `ignore` and `edge_filter`: modkit's book, pages "Removing modification
// calls from BAMs" and "Removing modification calls at the ends of reads".

#include <algorithm>
#include <sluice/region_table.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "modification_pileup/base_calls.hpp"

namespace sluice::modification_pileup {

struct CallOptions {
  std::string ignore, edge_filter;

  // Without thresholds. Throws Failure::usage.
  CallRules rules() const {
    CallRules rules;
    if (!parse_ignored(ignore, rules))
      throw Failure::usage("ignore '" + ignore + "' has what is no code", "write codes as the tag MM has them: h or h,76792");
    if (!parse_edges(edge_filter, rules)) throw Failure::usage("edge_filter '" + edge_filter + "' is no number of bases, nor two", "write 50 or 4,8");
    return rules;
  }
};
template <class Stage>
void describe_call_options(Describe<Stage>& d) {
  using Parameters = typename Stage::Parameters;
  d.option("ignore", &Parameters::ignore,
           "codes that are not looked at (h or h,76792): their probability goes to the other options of the base in equal parts");
  d.option("edge_filter", &Parameters::edge_filter, "no calls within so many bases of the read's ends, or of its start and its end: 50 or 4,8");
}

// The same, and the least probability, for stages that look at each call by itself.
template <class Stage>
void describe_filtered_calls(Describe<Stage>& d) {
  d.option("filter_threshold", &Stage::Parameters::filter_threshold,
           "least probability of a call that counts: for all bases (0.75), for single ones (C:0.8,A:0.9), or both (0.75,A:0.9)");
  describe_call_options(d);
}
void check_call_parameters(const auto& p) {
  if (!parse_thresholds(p.filter_threshold))
    throw Failure::usage("filter_threshold '" + p.filter_threshold + "' is no probability, nor one for each base", "write 0.75 or C:0.8,A:0.9");
  p.rules();
}
// In the order of CallsReason.
template <class Stage>
void describe_call_reasons(Describe<Stage>& d) {
  d.reason("corrupt_record", "the alignment record contradicts itself");
  d.reason("bad_mm", "the tag MM is not as the specification has it, or counts more bases than there are");
  d.reason("bad_ml", "the tag ML is missing, is no array of bytes, or has another length than MM asks for");
  d.reason("other_length", "the tag MN says that MM and ML were made for a sequence of another length");
  d.reason("hard_clipped", "bases have been clipped off, and no tag MN says that MM counts those that are left");
  d.reason("too_many_kinds", "the tags have more kinds of calls than anybody has");
  d.reason("qc_fail", "the record is marked as failing quality checks");
  d.reason("duplicate", "the record is marked as a duplicate");
  d.reason("without_bases", "the record has no bases (SEQ is *)");
}

// Regions of a strand that touch become one, and one of both strands is one of each: however many lie over each other, at most two are over a
// position.
inline RegionIndex merged_regions(const std::vector<TableRegion>& regions) {
  std::vector<TableRegion> merged;
  for (const RegionStrand strand : {RegionStrand::forward, RegionStrand::reverse}) {
    std::vector<TableRegion> own;
    for (const TableRegion& region : regions)
      if (region.strand == strand || region.strand == RegionStrand::both) own.push_back({region.contig, {}, region.start, region.end, strand});
    std::sort(own.begin(), own.end(),
              [](const TableRegion& a, const TableRegion& b) { return std::tie(a.contig, a.start) < std::tie(b.contig, b.start); });
    const std::size_t first = merged.size();
    for (TableRegion& region : own)
      if (merged.size() > first && merged.back().contig == region.contig && region.start <= merged.back().end)
        merged.back().end = std::max(merged.back().end, region.end);
      else
        merged.push_back(std::move(region));
  }
  return RegionIndex(std::move(merged));
}

// Does a position count for a strand of the reference? By the regions that overlap it.
inline bool is_included(const RegionIndex& regions, std::string_view contig, std::int64_t position, bool is_reverse) {
  bool any = false;
  regions.for_each(contig, position, position + 1, [&](std::size_t which) {
    any = any || regions.regions()[which].strand != (is_reverse ? RegionStrand::forward : RegionStrand::reverse);
  });
  return any;
}

}  // namespace sluice::modification_pileup
