// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Map: from the tags MM and ML of an alignment record to what it says at each position of the reference.

#include <algorithm>
#include <cmath>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "modification_pileup/call_options.hpp"
#include "modification_pileup/record_calls.hpp"
#include "modification_pileup/state_rows.hpp"

namespace sluice::modification_pileup {

class ModificationCalls {
 public:
  struct Parameters : CallOptions {
    std::string filter_threshold = "0.75";
    std::string partition = "none";
  };
  static void describe(Describe<ModificationCalls>& d) {
    d.id("modification_calls").summary("what alignment records say of base modifications, from the tags MM and ML");
    d.doc(
        "Lays what the tags of a record say along the reference: for each position whether the read has a call there, and which, another base, no "
        "call or a deletion. Any code, several in a group, both strands, both meanings of bases that are not listed. A call is the most probable of "
        "canonical and modified; it fails if that is less probable than filter_threshold. Records without MM have no calls, but their bases count.");
    d.map("read").work_unit("base");
    d.needs("bam_record", "binary", "the alignment record, as alignment_reader gives it");
    describe_states(d);
    d.uses("threshold", "modification_threshold", "thresholds in place of filter_threshold", Needed::optional);
    describe_filtered_calls(d);
    d.option("partition", &Parameters::partition, "what reads are told apart by: the tag HP (haplotype) or RG (read group)")
        .choices({"none", "hp", "rg"});
    describe_call_reasons(d);
  }
  static void check_parameters(const Parameters& p) { check_call_parameters(p); }

  ModificationCalls(const Setup& setup, const Parameters& parameters)
      : rules_(parameters.rules()), partition_tag_(partition_tag(parameters.partition)), wants_partition_(setup.wanted("partition")) {
    rules_.thresholds = setup.has_resource("threshold") ? thresholds_of(setup.resource("threshold"))
                                                        : parse_thresholds(parameters.filter_threshold).value_or(FilterThresholds());
  }

  Estimate estimate(const Batch& in) const { return estimate_of_records(in); }

  void process(const Call& call, const Batch& in, Output& out) {
    const TextView records = in.text("bam_record");
    std::vector<Row> rows(static_cast<std::size_t>(in.rows()));
    call.parallel_for(rows.size(), 4, [&](std::size_t begin, std::size_t end) {
      auto workspace = workspaces_.take();
      for (std::size_t i = begin; i < end; ++i) {
        const auto row = static_cast<std::int64_t>(i);
        if (in.ok(row) && !fill(records[row], *workspace, rows[i], row, out)) rows[i] = {};
      }
    });
    give_states(
        call, out, rows.size(), [&](std::size_t i) -> const StateRow& { return rows[i]; }, wants_partition_);
    std::uint64_t without_tags = 0;
    for (const Row& row : rows) without_tags += row.without_tags ? 1 : 0;
    if (without_tags > 0) call.count("records without MM", static_cast<double>(without_tags));
    call.outcome("with_MM", rows.size() - without_tags, rows.size());
  }

 private:
  struct Row : StateRow {
    bool without_tags = false;
  };
  bool fill(std::string_view cell, RecordCalls& calls, Row& result, std::int64_t row, Output& out) const {
    const bool is_whole = calls.record.parse(cell);
    if (const std::optional<CallsReason> reason = is_whole ? calls.decode(rules_) : std::optional(CallsReason::corrupt_record)) {
      if (is_filtered(*reason))
        out.filter(row, *reason);
      else
        out.fail(row, *reason);
      return false;
    }
    if (!align_states(calls.record, calls.decoder.sequenced(), calls.decoder.opposite(), result.states)) {
      out.fail(row, CallsReason::corrupt_record);
      return false;
    }
    result.without_tags = calls.without_tags;
    result.kinds = calls.decoder.kinds().numbers;
    if (wants_partition_ && !partition_tag_.empty()) result.partition = partition_of(calls.record, partition_tag_);
    return true;
  }
  static FilterThresholds thresholds_of(const Batch& resource) {
    FilterThresholds thresholds;
    const std::span<const double> least = resource.column<double>("least_probability");
    for (std::size_t base = 0; base < std::min(least.size(), thresholds.least.size()); ++base) {
      if (!(least[base] >= 0 && least[base] <= 1)) throw Failure::input("a threshold that is no probability", "use modification_threshold");
      thresholds.least[base] = static_cast<std::uint32_t>(std::ceil(least[base] * certain));
    }
    return thresholds;
  }

  CallRules rules_;
  std::string partition_tag_;
  bool wants_partition_;
  Workspaces<RecordCalls> workspaces_;
};

}  // namespace sluice::modification_pileup
