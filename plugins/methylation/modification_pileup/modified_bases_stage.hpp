// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Regroup: from alignment records to a row for each base and modification that their tags speak of.

#include <algorithm>
#include <array>
#include <optional>
#include <sluice/hts/region_file.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <sluice/work_sharing.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "modification_pileup/aligned_states.hpp"
#include "modification_pileup/call_options.hpp"
#include "modification_pileup/record_calls.hpp"
#include "modification_pileup/state_rows.hpp"

namespace sluice::modification_pileup {

class ModifiedBases {
 public:
  struct Parameters : CallOptions {
    std::string filter_threshold = "0.75";
    std::optional<Path> include_bed;
    bool inferred = false;
    bool aligned = false;
  };
  static void describe(Describe<ModifiedBases>& d) {
    d.id("modified_bases").summary("a row for each base and modification that the tags MM and ML of alignment records speak of");
    d.doc(
        "Rows of a read are by strand of the molecule, place in the read (as it was sequenced) and code. The probability is that of ML: q means "
        "(q + 0.5)/256. The call is the most probable of canonical and modified, as modification_calls has it. Bases that MM infers to be canonical "
        "have rows with inferred = true only. A read that is not aligned has no contig, position -1 and strands of the molecule: + is the one that "
        "was "
        "sequenced. Records that contradict themselves are counted and named, and have no rows.");
    d.regroup("read", "modified_base").rows_are("modified base").rows_named_by("read_id").work_unit("base").concatenates();
    d.needs("read_id", "utf8", "name of the read").needs("contig", "utf8", "reference sequence it aligns to; *: none");
    d.needs("is_reverse", "u8", "1: aligned to the reverse strand").needs("bam_record", "binary", "the record, as alignment_reader gives it");
    d.gives("read_id", "utf8", "name of the read").gives("read_position", "i64", "the base in the read as it was sequenced, from 0");
    d.gives("contig", "utf8", "reference sequence that the read aligns to; empty: none");
    d.gives("position", "i64", "0-based, on the forward strand; -1: the base is inserted or clipped");
    d.gives("strand", "utf8", "of the reference, or of a read that is not aligned, on which the modification is: + or -");
    d.gives("is_reverse", "u8", "1: the read is aligned to the reverse strand");
    d.gives("read_length", "i64", "bases of the read in the record");
    d.gives("modification", "utf8", "its code: a letter or a ChEBI number")
        .gives("canonical_base", "utf8", "A, C, G or T, on the strand of the modification");
    d.gives("probability", "f64", "that the base is so modified");
    d.gives("call", "utf8", "the code of the most probable modification; - for canonical, failed if that is less probable than filter_threshold");
    d.gives("inferred", "u8", "1: canonical, because MM does not list it");
    d.gives("base_quality", "u8", "Phred; 255: the record has none");
    d.gives("context", "utf8", "five bases of the read with this one in the middle, on the strand of the modification; - beyond its ends");
    d.gives("haplotype", "utf8", "the tag HP; ungrouped without it", Needed::optional);
    describe_filtered_calls(d);
    d.option("include_bed", &Parameters::include_bed, "only positions in regions of this BED file, on their strands; .gz allowed").reads();
    d.option("inferred", &Parameters::inferred, "rows of bases that MM does not list and so calls canonical, too");
    d.option("aligned", &Parameters::aligned, "only bases that are aligned to a position");
    describe_call_reasons(d);
    d.reason("without_tags", "the record has no tag MM");
  }
  static void check_parameters(const Parameters& p) { check_call_parameters(p); }

  ModifiedBases(const Setup& setup, const Parameters& p)
      : rules_(p.rules()), inferred_(p.inferred), aligned_(p.aligned), wants_haplotype_(setup.wanted("haplotype")) {
    rules_.thresholds = parse_thresholds(p.filter_threshold).value_or(FilterThresholds());
    if (p.include_bed && !p.include_bed->empty()) included_.emplace(merged_regions(hts::read_region_table(setup, *p.include_bed)));
    resume(setup, [](StateReader&) {});
  }

  void process(const Call& call, const Batch& in, Output& out) {
    constexpr std::int64_t reads_at_once = 64;                   // some 100,000 rows of 8 kb reads
    constexpr std::size_t bytes_at_once = std::size_t{1} << 20;  // of records: rows of one long read may take as much as those of many
    const TextView records = in.text("bam_record");
    std::size_t count = 0;
    for (std::int64_t begin = 0; begin < in.rows(); begin += static_cast<std::int64_t>(count)) {
      count = 0;
      for (std::size_t bytes = 0;
           bytes < bytes_at_once && static_cast<std::int64_t>(count) < reads_at_once && begin + static_cast<std::int64_t>(count) < in.rows(); ++count)
        bytes += records[begin + static_cast<std::int64_t>(count)].size();
      std::vector<ReadRows> reads(count);
      sharing_.begin();
      const auto some = [&](std::size_t from, std::size_t to) {
        auto workspace = workspaces_.take();
        workspace->calls.decoder.collect_said();
        for (std::size_t i = from; i < to; ++i)
          if (const auto row = begin + static_cast<std::int64_t>(i); in.ok(row)) fill(call, in, row, *workspace, reads[i]);
      };
      sharing_.share(count, some, [&](const auto& body) { call.parallel_for(count, 4, body); });
      emit(in, begin, reads, out);
      if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "cancelled");
    }
  }
  void finish(const Call&, Output&) {}
  void save(const Call&, StateWriter&) const {}

 private:
  static constexpr std::uint32_t without_tags = static_cast<std::uint32_t>(CallsReason::without_bases) + 1;
  struct Row {
    std::int64_t read_position, position;
    bool is_reverse;  // the strand of the reference that it is on
    std::uint8_t base, quality, is_inferred;
    ModificationCode code;
    double probability;
    std::int32_t call;  // a code; CallKinds::canonical or failed
    std::array<char, 5> context;
  };
  struct ReadRows {
    std::vector<Row> rows;
    std::int64_t length = 0;
    std::string haplotype;
  };
  struct Workspace {
    RecordCalls calls;
    std::vector<std::int64_t> positions;
    std::vector<std::int32_t> calls_of_states;
  };

  void fill(const Call& call, const Batch& in, std::int64_t row, Workspace& workspace, ReadRows& read) const {
    RecordCalls& calls = workspace.calls;
    const std::string_view name = in.text("read_id")[row];
    const bool is_whole = calls.record.parse(in.text("bam_record")[row]);
    std::optional<CallsReason> reason = is_whole ? calls.decode(rules_) : std::optional(CallsReason::corrupt_record);
    if (!reason && !align_positions(calls.record, workspace.positions)) reason = CallsReason::corrupt_record;
    if (reason) return call.account(*reason, 1, std::string(name));
    if (calls.without_tags) return call.account(without_tags, 1, std::string(name));
    find_calls(calls.decoder.kinds(), workspace.calls_of_states);
    const std::string_view contig = in.text("contig")[row];
    const bool is_aligned = contig != "*", is_turned = is_aligned && calls.record.is_reverse();
    if (!is_aligned) std::fill(workspace.positions.begin(), workspace.positions.end(), -1);
    const std::string_view qualities = calls.record.qualities();
    read.length = static_cast<std::int64_t>(calls.record.base_count());
    if (wants_haplotype_) read.haplotype = partition_of(calls.record, "HP");
    for (const BaseCallDecoder::Said& said : calls.decoder.said()) {
      const std::int64_t position = workspace.positions[said.position];
      const bool is_reverse = is_turned == (said.strand == MoleculeStrand::sequenced);
      if ((said.is_inferred && !inferred_) || (aligned_ && position < 0)) continue;
      if (included_ && (position < 0 || !is_included(*included_, contig, position, is_reverse))) continue;
      const std::size_t stored = calls.record.is_reverse() ? qualities.size() - 1 - said.position : said.position;
      read.rows.push_back({.read_position = said.position,
                           .position = position,
                           .is_reverse = is_reverse,
                           .base = said.base,
                           .quality = static_cast<std::uint8_t>(qualities[stored]),
                           .is_inferred = static_cast<std::uint8_t>(said.is_inferred ? 1 : 0),
                           .code = said.code,
                           .probability = said.probability,
                           .call = workspace.calls_of_states[said.state - state_call],
                           .context = context_of(calls.bases, said)});
    }
  }
  // What is called in each state from state_call on.
  static void find_calls(const CallKinds& kinds, std::vector<std::int32_t>& calls) {
    calls.clear();
    for (std::size_t at = 0; at < kinds.numbers.size();) {
      const std::int32_t outcome = kinds.numbers[at + 1], codes = kinds.numbers[at + 2];
      calls.push_back(outcome < 0 ? outcome_mark(outcome) : kinds.numbers[at + 3 + static_cast<std::size_t>(outcome)]);
      at += 3 + static_cast<std::size_t>(codes);
    }
  }
  // Apart from all codes.
  static constexpr std::int32_t outcome_mark(std::int32_t outcome) { return std::numeric_limits<std::int32_t>::min() - CallKinds::failed + outcome; }
  static std::array<char, 5> context_of(std::span<const std::uint8_t> bases, const BaseCallDecoder::Said& said) {
    std::array<char, 5> context{};
    for (std::size_t i = 0; i < context.size(); ++i) {
      const bool is_opposite = said.strand == MoleculeStrand::opposite;
      const std::int64_t at =
          static_cast<std::int64_t>(said.position) + (is_opposite ? 2 - static_cast<std::int64_t>(i) : static_cast<std::int64_t>(i) - 2);
      const bool is_there = at >= 0 && at < static_cast<std::int64_t>(bases.size());
      const std::uint8_t base = is_there ? bases[static_cast<std::size_t>(at)] : std::uint8_t{0};
      context[i] = !is_there ? '-' : (is_opposite ? "TGCAN" : "ACGTN")[std::min<std::uint8_t>(base, base_count)];
    }
    return context;
  }
  std::string_view text_of(ModificationCode code) {
    auto found = code_texts_.find(code);
    if (found == code_texts_.end()) found = code_texts_.emplace(code, code_text(code)).first;
    return found->second;
  }

  void emit(const Batch& in, std::int64_t begin, const std::vector<ReadRows>& reads, Output& out) {
    std::size_t rows = 0;
    for (const ReadRows& read : reads) rows += read.rows.size();
    if (rows == 0) return;
    out.set_rows(static_cast<std::int64_t>(rows));
    const TextView names = in.text("read_id"), contigs = in.text("contig");
    const auto reversed = in.column<std::uint8_t>("is_reverse");
    const auto read_position = out.column<std::int64_t>("read_position"), position = out.column<std::int64_t>("position");
    const auto read_length = out.column<std::int64_t>("read_length");
    const auto is_reverse = out.column<std::uint8_t>("is_reverse"), inferred = out.column<std::uint8_t>("inferred");
    const auto quality = out.column<std::uint8_t>("base_quality");
    const auto probability = out.column<double>("probability");
    std::vector<std::string_view> name, contig, strand, modification, base, called, context, haplotype;
    for (auto* texts : {&name, &contig, &strand, &modification, &base, &called, &context, &haplotype}) texts->reserve(rows);
    std::size_t at = 0;
    for (std::size_t i = 0; i < reads.size(); ++i)
      for (const Row& row : reads[i].rows) {
        const auto of = begin + static_cast<std::int64_t>(i);
        read_position[at] = row.read_position;
        position[at] = row.position;
        read_length[at] = reads[i].length;
        is_reverse[at] = reversed[static_cast<std::size_t>(of)];
        inferred[at] = row.is_inferred;
        quality[at] = row.quality;
        probability[at++] = row.probability;
        name.push_back(names[of]);
        contig.push_back(contigs[of] == "*" ? std::string_view() : contigs[of]);
        strand.push_back(row.is_reverse ? "-" : "+");
        modification.push_back(text_of(row.code));
        base.push_back(std::string_view("ACGT").substr(row.base, 1));
        called.push_back(row.call == outcome_mark(CallKinds::canonical) ? "-"
                         : row.call == outcome_mark(CallKinds::failed)  ? "failed"
                                                                        : text_of(row.call));
        context.emplace_back(row.context.data(), row.context.size());
        haplotype.push_back(reads[i].haplotype);
      }
    out.text_rows("read_id", name), out.text_rows("contig", contig), out.text_rows("strand", strand);
    out.text_rows("modification", modification), out.text_rows("canonical_base", base), out.text_rows("call", called);
    out.text_rows("context", context);
    if (wants_haplotype_) out.text_rows("haplotype", haplotype);
    out.emit();
  }

  CallRules rules_;
  std::optional<RegionIndex> included_;  // none: all positions
  bool inferred_, aligned_, wants_haplotype_;
  std::map<ModificationCode, std::string> code_texts_;
  Workspaces<Workspace> workspaces_;
  WorkSharing sharing_;
};

}  // namespace sluice::modification_pileup
