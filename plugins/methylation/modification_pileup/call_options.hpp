// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which calls count, as options of the stages that read MM and ML. Source of `ignore` and `edge_filter`: modkit's book, pages "Removing modification
// calls from BAMs" and "Removing modification calls at the ends of reads".

#include <sluice/region_table.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>

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

// Does a position count for a strand of the reference? By the regions that overlap it.
inline bool is_included(const RegionIndex& regions, std::string_view contig, std::int64_t position, bool is_reverse) {
  bool any = false;
  regions.for_each(contig, position, position + 1, [&](std::size_t which) {
    any = any || regions.regions()[which].strand != (is_reverse ? RegionStrand::forward : RegionStrand::reverse);
  });
  return any;
}

}  // namespace sluice::modification_pileup
