// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The methylation calls of reads as methylation_hmm and methylation_table_reader give them: for stages that write, count or compare them.

#include <cstddef>
#include <cstdint>
#include <sluice/failure.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>

namespace sluice {

template <class Stage>
void needs_site_calls(Describe<Stage>& d) {
  d.needs("site_start", "list<i64>", "first base of the first site of each group, 0-based")
      .needs("site_end", "list<i64>", "first base of the last site of each group")
      .needs("site_motifs", "list<i32>", "sites of each group")
      .needs("log_lik_methylated", "list<f32>", "log-likelihood of the events if the group is methylated, natural logarithm")
      .needs("log_lik_unmethylated", "list<f32>", "log-likelihood of the events if it is not, natural logarithm");
}

// Of the rows of a batch: lists of a row have an element for each group of sites.
struct SiteCalls {
  explicit SiteCalls(const Batch& in)
      : start(in.list<std::int64_t>("site_start")),
        end(in.list<std::int64_t>("site_end")),
        motifs(in.list<std::int32_t>("site_motifs")),
        methylated(in.list<float>("log_lik_methylated")),
        unmethylated(in.list<float>("log_lik_unmethylated")) {}

  // Groups of the row. Throws Failure::input if its lists differ in length.
  std::size_t groups(std::int64_t row, std::string_view read_id) const {
    const std::size_t groups = start[row].size();
    if (end[row].size() != groups || motifs[row].size() != groups || methylated[row].size() != groups || unmethylated[row].size() != groups)
      throw Failure::input("read '" + std::string(read_id) + "': the lists of its methylation calls differ in length",
                           "use the rows of methylation_hmm");
    return groups;
  }
  // Of a group, natural logarithm; NaN: no call.
  double log_lik_ratio(std::int64_t row, std::size_t group) const {
    return static_cast<double>(methylated[row][group]) - static_cast<double>(unmethylated[row][group]);
  }

  ListView<std::int64_t> start, end;
  ListView<std::int32_t> motifs;
  ListView<float> methylated, unmethylated;
};

}  // namespace sluice
