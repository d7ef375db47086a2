// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Map: from the calls of methylation_hmm to what each read says at each position of the reference.

#include <sluice/motif.hpp>
#include <sluice/reference_text.hpp>
#include <sluice/site_calls.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "modification_pileup/record_calls.hpp"
#include "modification_pileup/site_states.hpp"
#include "modification_pileup/state_rows.hpp"

namespace sluice::modification_pileup {

class MethylationStates {
 public:
  enum class Reason : std::uint32_t { corrupt_record, sites_not_on_reference, alignment_without_read, qc_fail, duplicate, without_bases };
  struct Parameters {
    std::string motif = "cpg";
    double call_threshold = 2.5;
    std::string partition = "none";
  };
  static void describe(Describe<MethylationStates>& d) {
    d.id("methylation_states").summary("what reads with methylation calls say at each position, for modification_pileup");
    d.doc(
        "As modification_calls, but from the calls themselves and without their rounding to 256 probabilities: a read has a call at the modified "
        "base of each called site whose motif it shows in neighbouring bases; it fails if its log-likelihood ratio, as the table prints it, is less "
        "than call_threshold away from 0. All else that the read covers has no call, is another base or a deletion.");
    d.map("read").work_unit("base");
    d.needs("read_id", "utf8", "name of the read").needs("bam_record", "binary", "the alignment record, as alignment_reader gives it");
    d.needs("contig", "utf8", "reference sequence it aligns to");
    needs_site_calls(d);
    describe_states(d);
    d.uses("reference", "contig", "the sequences that the reads are aligned to");
    d.option("motif", &Parameters::motif, "what was called: cpg, gpc, dam, dcm, or LETTERS:POSITION:CODE");
    d.option("call_threshold", &Parameters::call_threshold, "least distance of the log-likelihood ratio from 0 for a call to count").range(0, 1e6);
    d.option("partition", &Parameters::partition, "what reads are told apart by: the tag HP (haplotype) or RG (read group)")
        .choices({"none", "hp", "rg"});
    d.reason("corrupt_record", "the alignment record contradicts itself");
    d.reason("sites_not_on_reference", "the called sites are none of the motif on this reference");
    d.reason("alignment_without_read", "CIGAR and bases of the record do not fit each other");
    d.reason("qc_fail", "the record is marked as failing quality checks");
    d.reason("duplicate", "the record is marked as a duplicate");
    d.reason("without_bases", "the record has no bases (SEQ is *)");
  }
  static void check_parameters(const Parameters& p) { parse_motif(p.motif); }

  MethylationStates(const Setup& setup, const Parameters& p)
      : motif_(parse_motif(p.motif)),
        call_threshold_(p.call_threshold),
        partition_tag_(partition_tag(p.partition)),
        wants_partition_(setup.wanted("partition")),
        reference_(setup.resource("reference")) {
    for (std::int64_t row = 0; row < reference_.contigs(); ++row) contigs_.emplace(reference_.name(row), reference_.bases(row));
  }

  Estimate estimate(const Batch& in) const { return estimate_of_records(in); }

  void process(const Call& call, const Batch& in, Output& out) const {
    const Columns columns(in);
    std::vector<StateRow> rows(static_cast<std::size_t>(in.rows()));
    call.parallel_for(rows.size(), 4, [&](std::size_t begin, std::size_t end) {
      SiteStates states(motif_, call_threshold_);
      for (std::size_t i = begin; i < end; ++i) {
        const auto row = static_cast<std::int64_t>(i);
        if (in.ok(row) && !fill(call, columns, row, states, rows[i], out)) rows[i] = {};
      }
    });
    give_states(
        call, out, rows.size(), [&](std::size_t i) -> const StateRow& { return rows[i]; }, wants_partition_);
  }

 private:
  struct Columns {
    explicit Columns(const Batch& in) : read_ids(in.text("read_id")), records(in.text("bam_record")), contigs(in.text("contig")), calls(in) {}
    TextView read_ids, records, contigs;
    SiteCalls calls;
  };

  bool fill(const Call& call, const Columns& columns, std::int64_t row, SiteStates& states, StateRow& result, Output& out) const {
    const auto fail = [&](Reason reason) { return out.fail(row, reason), false; };
    AlignmentRecord record;
    if (!record.parse(columns.records[row])) return fail(Reason::corrupt_record);
    if (const std::optional<CallsReason> reason = reason_to_leave_out(record)) {
      out.filter(row, *reason == CallsReason::qc_fail     ? Reason::qc_fail
                      : *reason == CallsReason::duplicate ? Reason::duplicate
                                                          : Reason::without_bases);
      return false;
    }
    columns.calls.groups(row, columns.read_ids[row]);
    const GroupCalls calls{columns.calls.start[row], columns.calls.end[row], columns.calls.motifs[row], columns.calls.methylated[row],
                           columns.calls.unmethylated[row]};
    const auto contig = contigs_.find(columns.contigs[row]);
    if (contig == contigs_.end())
      throw Failure::input("contig '" + std::string(columns.contigs[row]) + "' is not in the reference",
                           "give the reference that the reads were aligned to");
    for (std::size_t group = 0; group < calls.start.size(); ++group)
      reference_.read_near(contig->second, calls.start[group], calls.end[group] + motif_.forward.length, call);
    switch (states.fill(record, contig->second, calls, result.states)) {
      case SiteStatus::not_on_reference:
        return fail(Reason::sites_not_on_reference);
      case SiteStatus::alignment_without_read:
        return fail(Reason::alignment_without_read);
      case SiteStatus::fine:
        break;
    }
    result.kinds = states.kinds();
    if (wants_partition_ && !partition_tag_.empty()) result.partition = partition_of(record, partition_tag_);
    return true;
  }

  Motif motif_;
  double call_threshold_;
  std::string partition_tag_;
  bool wants_partition_;
  ReferenceText reference_;
  std::unordered_map<std::string_view, std::string_view> contigs_;  // owned by the reference
};

}  // namespace sluice::modification_pileup
