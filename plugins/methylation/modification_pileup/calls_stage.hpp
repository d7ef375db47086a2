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

#include "modification_pileup/aligned_states.hpp"
#include "modification_pileup/record_calls.hpp"

namespace sluice::modification_pileup {

class ModificationCalls {
 public:
  struct Parameters {
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
    d.gives("block_start", "list<i64>", "first positions of the blocks of the reference that the read covers");
    d.gives("block_length", "list<i64>", "their lengths, deletions included");
    d.gives("base_state", "list<u8>",
            "per position of the blocks: 1 deletion, 2 no letter of ACGT, 3 to 6 A, C, G, T without a call, 7 and on: call_kinds");
    d.gives("opposite_state", "list<u8>", "the same on the other strand, from groups of MM with '-'; empty without them");
    d.gives("call_kinds", "list<i32>",
            "the kinds of calls one after the other: canonical base (0 to 3), outcome (-1 canonical, -2 failed, else which of the codes), number of "
            "codes, codes (a letter's character, or a ChEBI number as a negative one)");
    d.gives("partition", "utf8", "the value of the tag that partition names, 'ungrouped' without it; \"\" for none", Needed::optional);
    d.uses("threshold", "modification_threshold", "thresholds in place of filter_threshold", Needed::optional);
    d.option("filter_threshold", &Parameters::filter_threshold,
             "least probability of a call that counts: for all bases (0.75), for single ones (C:0.8,A:0.9), or both (0.75,A:0.9)");
    d.option("partition", &Parameters::partition, "what reads are told apart by: the tag HP (haplotype) or RG (read group)")
        .choices({"none", "hp", "rg"});
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
  static void check_parameters(const Parameters& p) {
    if (!parse_thresholds(p.filter_threshold))
      throw Failure::usage("filter_threshold '" + p.filter_threshold + "' is no probability, nor one for each base", "write 0.75 or C:0.8,A:0.9");
  }

  ModificationCalls(const Setup& setup, const Parameters& parameters)
      : thresholds_(setup.has_resource("threshold") ? thresholds_of(setup.resource("threshold"))
                                                    : parse_thresholds(parameters.filter_threshold).value_or(FilterThresholds())),
        partition_tag_(parameters.partition == "hp"   ? "HP"
                       : parameters.partition == "rg" ? "RG"
                                                      : ""),
        wants_partition_(setup.wanted("partition")) {}

  Estimate estimate(const Batch& in) const {
    Estimate estimate;
    const TextView records = in.text("bam_record");
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      // Two bytes of a record are about a base.
      const auto work = static_cast<double>(records[row].size()) / 2;
      estimate.work += work;
      estimate.largest_row_work = std::max(estimate.largest_row_work, work);
    }
    estimate.output_bytes = static_cast<std::uint64_t>(2 * estimate.work);
    return estimate;
  }

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
    const auto list = [&]<class T>(const char* name, const std::vector<T>& (*of)(const Row&)) {
      const Buffer offsets = out.offsets([&](std::int64_t row) { return of(rows[static_cast<std::size_t>(row)]).size(); });
      const std::span<T> values = out.list<T>(name, offsets);
      call.parallel_for(rows.size(), 16, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) std::copy(of(rows[i]).begin(), of(rows[i]).end(), values.begin() + offsets.as<std::int64_t>()[i]);
      });
    };
    list.template operator()<std::int64_t>("block_start", [](const Row& row) -> const std::vector<std::int64_t>& { return row.states.block_start; });
    list.template operator()<std::int64_t>("block_length",
                                           [](const Row& row) -> const std::vector<std::int64_t>& { return row.states.block_length; });
    list.template operator()<std::uint8_t>("base_state", [](const Row& row) -> const std::vector<std::uint8_t>& { return row.states.base; });
    list.template operator()<std::uint8_t>("opposite_state", [](const Row& row) -> const std::vector<std::uint8_t>& { return row.states.opposite; });
    list.template operator()<std::int32_t>("call_kinds", [](const Row& row) -> const std::vector<std::int32_t>& { return row.kinds; });
    if (wants_partition_) {
      std::vector<std::string_view> partitions;
      for (const Row& row : rows) partitions.push_back(row.partition);
      out.text_rows("partition", partitions);
    }
    std::uint64_t without_tags = 0;
    for (const Row& row : rows) without_tags += row.without_tags ? 1 : 0;
    if (without_tags > 0) call.count("records without MM", static_cast<double>(without_tags));
  }

 private:
  struct Row {
    AlignedStates states;
    std::vector<std::int32_t> kinds;
    std::string partition;
    bool without_tags = false;
  };
  bool fill(std::string_view cell, RecordCalls& calls, Row& result, std::int64_t row, Output& out) const {
    const bool is_whole = calls.record.parse(cell);
    if (const std::optional<CallsReason> reason = is_whole ? calls.decode(thresholds_) : std::optional(CallsReason::corrupt_record)) {
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
    if (wants_partition_ && !partition_tag_.empty()) result.partition = partition_of(calls.record);
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
  // A cell of a table: without tabs and line ends.
  std::string partition_of(const AlignmentRecord& record) const {
    if (const auto number = record.integer_tag(partition_tag_)) return std::to_string(*number);
    std::string text(record.text_tag(partition_tag_).value_or(std::string_view()));
    for (char& c : text)
      if (static_cast<unsigned char>(c) < ' ') c = '_';
    return text.empty() ? "ungrouped" : text;
  }

  FilterThresholds thresholds_;
  std::string partition_tag_;
  bool wants_partition_;
  Workspaces<RecordCalls> workspaces_;
};

}  // namespace sluice::modification_pileup
