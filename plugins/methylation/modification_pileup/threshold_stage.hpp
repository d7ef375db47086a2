// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Resource: the thresholds at which a given share of all calls of a file fails.

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <sluice/allocated.hpp>
#include <sluice/empty_inputs.hpp>
#include <sluice/hts/bam_text.hpp>
#include <sluice/hts/fasta_index.hpp>
#include <sluice/hts/handles.hpp>
#include <sluice/hts/header_input.hpp>
#include <sluice/hts/input_end.hpp>
#include <sluice/hts/open_input.hpp>
#include <sluice/hts/region_file.hpp>
#include <sluice/input_files.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <vector>

#include "modification_pileup/aligned_states.hpp"
#include "modification_pileup/call_options.hpp"
#include "modification_pileup/record_calls.hpp"

namespace sluice::modification_pileup {

class ModificationThreshold {
 public:
  struct Parameters : CallOptions {
    Path alignments;
    std::optional<Path> reference;
    std::optional<Path> include_bed;
    double percentile = 10;
    int min_mapq = 0;
    bool secondary = false;
    bool supplementary = false;
  };
  static void describe(Describe<ModificationThreshold>& d) {
    d.id("modification_threshold").summary("the probability below which a given percentage of all calls of base modifications is");
    d.doc(
        "Reads all alignments of the files once, before the run begins: the same records as alignment_reader with the same options, but those of all "
        "regions, where include_bed does not name some. For each canonical base the threshold is the highest below which at most so many percent of "
        "its calls are. Calls count that have a "
        "probability: bases that MM does not list do not.");
    d.resource("modification_threshold");
    d.gives("least_probability", "f64", "of A, C, G and T, in rows of this order");
    d.option("alignments", &Parameters::alignments, "BAM, SAM or CRAM files or folders").required().reads().several(".bam .sam .cram");
    d.option("reference", &Parameters::reference, "FASTA file to decode CRAM with").reads();
    d.option("percentile", &Parameters::percentile, "percentage of calls that may fail").range(0, 100);
    d.option("min_mapq", &Parameters::min_mapq, "least mapping quality").range(0, 255);
    d.option("secondary", &Parameters::secondary, "use secondary records, too");
    d.option("supplementary", &Parameters::supplementary, "use supplementary records, too");
    describe_call_options(d);
    d.option("include_bed", &Parameters::include_bed, "only calls at positions in regions of this BED file, on their strands").reads();
  }

  static void check_parameters(const Parameters& p) { p.rules(); }

  ModificationThreshold(const Setup& setup, const Parameters& parameters) : parameters_(parameters), rules_(parameters.rules()) {
    if (parameters.include_bed && !parameters.include_bed->empty())
      included_.emplace(merged_regions(hts::read_region_table(setup, *parameters.include_bed)));
  }

  void process(const Call& call, Output& out) {
    hts::silence();
    LevelCounts counts{};
    std::vector<std::string> paths = input_files(parameters_.alignments, ".bam .sam .cram");
    take_empty_files(paths);
    for (const std::string& path : paths) count_file(call, path, counts);
    const FilterThresholds thresholds = thresholds_at_percentile(counts, parameters_.percentile);
    out.set_rows(base_count);
    const std::span<double> least = out.column<double>("least_probability");
    for (std::size_t base = 0; base < base_count; ++base) {
      least[base] = static_cast<double>(thresholds.least[base]) / certain;
      std::uint64_t all = 0;
      for (const std::uint64_t calls : counts[base]) all += calls;
      if (all > 0)
        call.info(std::string("filter threshold of ") + "ACGT"[base] + ": " + std::to_string(least[base]) + ", from " + std::to_string(all) +
                  " calls");
    }
  }

 private:
  void count_file(const Call& call, const std::string& path, LevelCounts& counts) {
    open(path);
    std::vector<hts::AlignmentRecord> records;
    do {
      records.clear();
      read_some(call, records);
      count(call, records, counts);
      if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "cancelled");
    } while (!records.empty());
  }
  void open(const std::string& path) {
    path_ = path;
    records_ = 0;
    in_order_.reset(), text_.reset();  // it reads the file that is open
    errno = 0;
    file_ = hts::open_file(path_);
    if (!file_) throw Failure::input("cannot open '" + path_ + "': " + (errno != 0 ? std::strerror(errno) : "no alignment file"));
    // Of CRAM before HTSlib has the reference, after whose lengths it changes it; of SAM without contigs they come from there.
    const auto read_header = [&] { header_ = hts::read_header(*file_, "alignment file '" + path_ + "'"); };
    const bool is_cram = file_->format.format == cram;
    if (is_cram) read_header();
    if (is_cram && parameters_.reference)
      hts::renew_fasta_index(*parameters_.reference);  // what is to be said of it the reader of these alignments says
    if (parameters_.reference && hts_set_fai_filename(file_.get(), parameters_.reference->c_str()) != 0)
      throw Failure::input("cannot use the reference '" + *parameters_.reference + "'");
    if (!is_cram) read_header();
    const htsFormat& format = *hts_get_format(file_.get());
    constexpr std::size_t window_bytes = std::size_t{1} << 20;
    if (format.format == bam && format.compression == bgzf) text_.emplace(file_->fp.bgzf, sam_hdr_nref(header_.get()), window_bytes);
  }
  bool is_used(const bam1_core_t& core) const {
    return (core.flag & BAM_FUNMAP) == 0 && core.tid >= 0 && core.qual >= parameters_.min_mapq &&
           (parameters_.secondary || (core.flag & BAM_FSECONDARY) == 0) && (parameters_.supplementary || (core.flag & BAM_FSUPPLEMENTARY) == 0);
  }
  // Some of those that are used; none: the end.
  void read_some(const Call& call, std::vector<hts::AlignmentRecord>& records) {
    constexpr std::size_t at_once = 512;
    const hts::ParallelFor parallel = [&call](std::size_t count, std::size_t grain, const auto& body) { call.parallel_for(count, grain, body); };
    while (records.size() < at_once) {
      if (text_) {
        const hts::AlignmentRecord* found = nullptr;
        const hts::BamText::Outcome outcome = text_->next(parallel, found);
        if (outcome == hts::BamText::Outcome::end) return;
        if (outcome == hts::BamText::Outcome::end_without_mark) throw hts::lacks_end_failure("'" + path_ + "'");
        if (outcome != hts::BamText::Outcome::record) throw damaged(text_->problem());
        ++records_;
        if (is_used(found->core)) records.push_back(*found);
      } else {
        hts::Record read(allocated(bam_init1()));
        if (!in_order_) in_order_.emplace(*file_, *header_, path_, "alignment file '" + path_ + "'", parameters_.reference.value_or(Path()));
        if (!in_order_->next(*read)) return;
        if (is_used(read->core)) records.push_back(hts::as_alignment_record(std::move(read)));
      }
    }
  }
  Failure damaged(const std::string& problem) const { return hts::record_failure("alignment file '" + path_ + "'", *file_, records_, problem); }

  struct Workspace {
    RecordCalls calls;
    LevelCounts counts{};
    std::vector<std::int64_t> positions;  // of the read's bases
  };
  // Is the call at a base of the read where calls are asked for?
  bool counts_at(const Workspace& workspace, const hts::AlignmentRecord& record, const BaseCallDecoder::Level& level) const {
    if (!included_) return true;
    const std::int64_t position = workspace.positions[level.position];
    const bool is_reverse = workspace.calls.record.is_reverse() == (level.strand == MoleculeStrand::sequenced);
    return position >= 0 && is_included(*included_, sam_hdr_tid2name(header_.get(), record.core.tid), position, is_reverse);
  }
  void count(const Call& call, const std::vector<hts::AlignmentRecord>& records, LevelCounts& counts) {
    std::mutex mutex;  // guards counts
    call.parallel_for(records.size(), 8, [&](std::size_t begin, std::size_t end) {
      auto workspace = workspaces_.take();
      workspace->counts = {};
      workspace->calls.decoder.collect_levels();
      for (std::size_t i = begin; i < end; ++i) {
        const hts::AlignmentRecord& record = records[i];
        const bool is_whole = workspace->calls.record.assign(record.core.pos, record.core.flag, record.core.n_cigar,
                                                             static_cast<std::uint64_t>(std::max(record.core.l_qseq, 0)),
                                                             {reinterpret_cast<const char*>(record.rest), record.rest_bytes});
        if (!is_whole || workspace->calls.decode(rules_)) continue;
        if (included_ && !align_positions(workspace->calls.record, workspace->positions)) continue;
        for (const BaseCallDecoder::Level& level : workspace->calls.decoder.levels())
          if (counts_at(*workspace, record, level)) ++workspace->counts[level.base][level.probability];
      }
      const std::lock_guard lock(mutex);
      for (std::size_t base = 0; base < base_count; ++base)
        for (std::size_t level = 0; level <= certain; ++level) counts[base][level] += workspace->counts[base][level];
    });
  }

  Parameters parameters_;
  CallRules rules_;
  std::optional<RegionIndex> included_;  // none: all positions
  std::string path_;                     // the file that is open
  hts::File file_;
  hts::Header header_;
  std::uint64_t records_ = 0;  // of the file that have been read
  std::optional<hts::BamText> text_;
  std::optional<hts::RecordsInOrder> in_order_;
  Workspaces<Workspace> workspaces_;
};

}  // namespace sluice::modification_pileup
