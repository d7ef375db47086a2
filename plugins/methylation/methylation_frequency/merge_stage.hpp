// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Regroup: sites of several tables of frequencies, added up.

#include <cstdint>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <vector>

#include "methylation_frequency/frequency.hpp"
#include "methylation_frequency/site_rows.hpp"

namespace sluice::methylation_frequency {

class FrequencyMerge {
 public:
  enum class Reason : std::uint32_t { invalid_site };
  using Parameters = NoParameters;

  static void describe(Describe<FrequencyMerge>& d) {
    d.id("frequency_merge").summary("adds up sites of several tables of frequencies");
    d.doc(
        "Sites with the same contig, start and end are one: their counts are added, size and sequence are those of the first. They come sorted as "
        "from "
        "methylation_frequency, so that merging the tables of parts of the reads gives the table of all reads.");
    d.regroup("site", "site").rows_are("site").work_unit("row").sums();
    for (const auto& [name, type] : columns) d.needs(name, type, "see methylation_frequency");
    for (const auto& [name, type] : columns) d.gives(name, type, "see methylation_frequency");
    d.reason("invalid_site", "a site with a place or counts that can't be");
  }

  FrequencyMerge(const Setup& setup, const Parameters&) {
    resume(setup, [this](StateReader& from) {
      const auto sites = from.value<std::uint64_t>();
      sums_.restore(from, sites_seen_);
      sites_seen_ += sites;
    });
  }

  void process(const sluice::Call& call, const Batch& in, Output&) {
    const TextView contig = in.text("contig"), sequence = in.text("sequence");
    const auto start = in.column<std::int64_t>("start"), end = in.column<std::int64_t>("end");
    const auto motifs = in.column<std::int32_t>("motifs");
    const auto called = in.column<std::int64_t>("called_sites"), methylated = in.column<std::int64_t>("called_sites_methylated");
    const auto forward = in.column<std::int64_t>("called_forward"), methylated_forward = in.column<std::int64_t>("methylated_forward");
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      const auto i = static_cast<std::size_t>(row);
      // Negative counts become too large ones.
      const Site site{.contig = contig[row],
                      .start = start[i],
                      .end = end[i],
                      .motifs = motifs[i],
                      .called_sites = static_cast<std::uint64_t>(called[i]),
                      .called_sites_methylated = static_cast<std::uint64_t>(methylated[i]),
                      .called_forward = static_cast<std::uint64_t>(forward[i]),
                      .methylated_forward = static_cast<std::uint64_t>(methylated_forward[i]),
                      .sequence = sequence[row]};
      if (!sums_.add(site, sites_seen_++)) call.account(Reason::invalid_site, 1, std::string(site.contig) + ":" + std::to_string(site.start));
    }
    call.keeps(sums_.memory_bytes());
  }

  void finish(const sluice::Call&, Output& out) {
    std::vector<std::uint32_t> order;
    sums_.sort(order);
    emit_sites(
        order.size(), [&](std::size_t i) { return sums_.site(order[i]); }, out);
  }
  void save(const sluice::Call&, StateWriter& to) const {
    to.value(sites_seen_);
    sums_.save(to);
  }

 private:
  static constexpr std::pair<const char*, const char*> columns[] = {{"contig", "utf8"},
                                                                    {"start", "i64"},
                                                                    {"end", "i64"},
                                                                    {"motifs", "i32"},
                                                                    {"called_sites", "i64"},
                                                                    {"called_sites_methylated", "i64"},
                                                                    {"called_forward", "i64"},
                                                                    {"methylated_forward", "i64"},
                                                                    {"sequence", "utf8"}};
  FrequencyAccumulator sums_;
  std::uint64_t sites_seen_ = 0;
};

}  // namespace sluice::methylation_frequency
