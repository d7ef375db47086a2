// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The sink of SAM and BAM.

#include <htslib/sam.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <sluice/allocated.hpp>
#include <sluice/hts/alignment_header.hpp>
#include <sluice/hts/bam_bytes.hpp>
#include <sluice/hts/bgzf_output.hpp>
#include <sluice/hts/join_bam.hpp>
#include <sluice/hts/join_text.hpp>
#include <sluice/hts/stored_record.hpp>
#include <sluice/hts/text_output.hpp>
#include <sluice/input_files.hpp>
#include <sluice/kmer_model.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "event_alignment_writer/alignment_figures.hpp"
#include "event_alignment_writer/alignment_rows.hpp"
#include "event_alignment_writer/event_cigar.hpp"
#include "event_alignment_writer/refusals.hpp"
#include "event_alignment_writer/signal_alignment.hpp"

namespace sluice::event_alignment_writer {

inline constexpr const char* plugin_version = "0.1.0";

class EventSam {
 public:
  enum class Reason : std::uint32_t { unsound_path, corrupt_record };
  struct Parameters {
    Path output;
    Path alignments;
    bool merge = false;
    bool follow = false;
    int version = 2;
    std::string command, table_options;
  };
  static constexpr Columns columns{};

  static void describe(Describe<EventSam>& d) {
    d.id("event_alignment_sam").summary("writes the alignments with their signal (SAM or BAM)");
    d.doc(
        "Version 2: the records as they are, with the tags si (samples and k-mers that are aligned), ss (samples of every k-mer), sc and sh (scale "
        "and "
        "shift). Version 1: nanopolish's records, whose CIGAR counts events instead of bases. Records are f5c 1.6's, eventalign --sam. Records of "
        "reads that failed, or without aligned events, are not written.");
    describe_rows(d, columns);
    d.concatenates();
    d.needs("bam_record", "binary", "the alignment record, as alignment_reader gives it").needs("mapq", "u8", "mapping quality");
    d.uses("model", "kmer", "the nucleotide model that the events were aligned with");
    d.option("output", &Parameters::output, "where to write: .bam by the name, else SAM; .gz: SAM as BGZF; - is standard output, as SAM")
        .required()
        .writes();
    d.option("alignments", &Parameters::alignments, "what alignment_reader reads: the header is copied")
        .required()
        .reads()
        .several(".bam .sam .cram");
    d.option("merge", &Parameters::merge, "alignment_reader's: sorted files are read as one");
    d.option("follow", &Parameters::follow, "alignment_reader's: the header is that of the first file that can be read");
    d.option("version", &Parameters::version, "2: tags of the input's records; 1: records of events").range(1, 2);
    d.option("command", &Parameters::command, "what the header says of the run (CL of @PG)");
    d.option("table_options", &Parameters::table_options, "options of the event table, as words like samples=true: refused");
    describe_reasons(d);
    d.reason("corrupt_record", "the alignment record contradicts itself or the header");
  }
  static void check_parameters(const Parameters& p) {
    refuse_table_options(p.table_options, "SAM");
    if (p.output.ends_with(".cram")) throw Failure::usage("'" + p.output + "': CRAM is not written here", "write .bam, and convert it with samtools");
  }

  static std::string joined_form(const Parameters& p) { return p.output.ends_with(".bam") ? "BAM" : hts::joined_text_form(p.output); }
  static void join_files(const Call& call, const Parameters& p, const FilesToJoin& files) {
    if (p.output.ends_with(".bam")) return hts::join_bam(call, files, -1, hts::JoinedIndex::none);
    hts::join_text(call, files, fast_compression);
  }

  EventSam(const Setup& setup, const Parameters& p)
      : path_(p.output), version_(p.version), contigs_(setup.resource("reference")), k_(kmer_size(setup.resource("model"))), header_(read_header(p)) {
    hts::silence();
    if (!hts::add_program(*header_, plugin_version, "signal on the reference (event_alignment_sam)", p.command))
      throw Failure::input("the header of the alignments takes no @PG line");
    if (path_.ends_with(".bam")) {
      bam_.emplace(OutputFile(setup, path_));
      bam_->header(hts::bam_header_bytes(*header_));
      bam_->blocks().end_block();
    } else {
      sam_.emplace(setup, path_, fast_compression);
      sam_->header(hts::sam_header_text(*header_));
    }
    resume(setup, [this](StateReader& from) { bam_ ? bam_->restore(from) : sam_->restore(from); });
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const AlignmentRows rows(call, in, contigs_, k_, columns);
    std::vector<std::string> records(static_cast<std::size_t>(in.rows()));
    call.parallel_for(records.size(), 1, [&](std::size_t begin, std::size_t end) {
      auto workspace = workspaces_.take();
      for (std::size_t i = begin; i < end; ++i) {
        const auto row = static_cast<std::int64_t>(i);
        if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "the run ends");
        if (!in.ok(row)) continue;
        const auto alignment = rows.alignment(row);
        if (!alignment)
          out.fail(row, Reason::unsound_path);
        else if (alignment->path.rows() > 0 && !make_record(in, row, *alignment, *workspace, records[i]))
          out.fail(row, Reason::corrupt_record);
      }
    });
    out.text_rows("_record", records, "binary");
  }

  void commit(const Call& call, const Batch& in) {
    const TextView records = in.text("_record");
    if (bam_) {
      for (std::int64_t row = 0; row < in.rows(); ++row)
        if (!records[row].empty()) bam_->blocks().add_record(records[row]);
      bam_->write(call);
    } else {
      sam_->write_rows(call, records);
    }
    say_written(call, in);
  }

  void finish(const Call& call, Output&) {
    bam_ ? bam_->finish(call) : sam_->finish(call);
    describe_figures(call);
  }
  void save(const Call& call, StateWriter& to) { bam_ ? bam_->save(call, to) : sam_->save(call, to); }

 private:
  static hts::Header read_header(const Parameters& p) {
    const std::string inputs = p.alignments;
    return hts::header_of_inputs(inputs, input_files(inputs, ".bam .sam .cram"),
                                 p.merge ? hts::SeveralFiles::merged_if_sorted : hts::SeveralFiles::one_after_the_other, p.follow);
  }
  struct Workspace {
    hts::Record record{allocated(bam_init1())};
    hts::Line line;
    TextBuffer text;
  };

  // False: the record can't be read, or not be written.
  bool make_record(const Batch& in, std::int64_t row, const Alignment& alignment, Workspace& workspace, std::string& result) const {
    workspace.text.clear();
    bam1_t& record = *workspace.record;
    if (version_ == 1) {
      append_event_record(alignment, in.column<std::uint8_t>("mapq")[static_cast<std::size_t>(row)], workspace.text);
      if (!bam_) return result = workspace.text.view(), true;
      return parse(workspace, record) && append(record, workspace, result);
    }
    const hts::RecordStatus status = hts::load_record(in.text("bam_record")[row], sam_hdr_nref(header_.get()), record);
    if (status == hts::RecordStatus::no_memory) throw no_memory();
    return status == hts::RecordStatus::ok && tag(alignment, workspace, record) && append(record, workspace, result);
  }

  bool parse(Workspace& workspace, bam1_t& record) const {
    workspace.line.l = 0;
    if (kputsn(workspace.text.data(), workspace.text.size() - 1, &workspace.line) < 0) throw no_memory();  // without the newline
    return hts::with_memory([&] { return sam_parse1(&workspace.line, header_.get(), &record); }) >= 0;
  }

  static bool tag(const Alignment& alignment, Workspace& workspace, bam1_t& record) {
    for (const char* name : {"si", "ss", "sc", "sh"})
      if (std::uint8_t* found = bam_aux_get(&record, name)) bam_aux_del(&record, found);
    const SignalAlignment aligned = append_signal_alignment(alignment.path, alignment.events, workspace.text);
    const std::string places = std::to_string(alignment.signal_begin + aligned.start_sample) + ',' +
                               std::to_string(alignment.signal_begin + aligned.end_sample) + ',' + std::to_string(aligned.start_kmer) + ',' +
                               std::to_string(aligned.end_kmer);
    const auto add_number = [&](const char* name, float number) {
      return bam_aux_append(&record, name, 'f', sizeof number, reinterpret_cast<const std::uint8_t*>(&number)) == 0;
    };
    const auto add_text = [&](const char* name, const char* text, std::size_t size_with_end) {
      return bam_aux_append(&record, name, 'Z', static_cast<int>(size_with_end), reinterpret_cast<const std::uint8_t*>(text)) == 0;
    };
    workspace.text.add({"\0", 1});
    errno = 0;
    if (add_text("si", places.c_str(), places.size() + 1) && add_text("ss", workspace.text.data(), workspace.text.size()) &&
        add_number("sc", alignment.scaling.scale) && add_number("sh", alignment.scaling.shift))
      return true;
    if (errno == ENOMEM) throw no_memory();
    return false;
  }

  bool append(const bam1_t& record, Workspace& workspace, std::string& result) const {
    if (bam_) return hts::append_bam_record(record, result);
    if (sam_format1(header_.get(), &record, &workspace.line) < 0) throw no_memory();
    result.assign(workspace.line.s, workspace.line.l).push_back('\n');
    return true;
  }

  static Failure no_memory() { return Failure::memory("no memory for an alignment record with its signal"); }

  std::string path_;
  int version_;
  Contigs contigs_;
  std::uint32_t k_;
  hts::Header header_;
  std::optional<hts::BgzfOutput> bam_;
  std::optional<hts::TextOutput> sam_;
  Workspaces<Workspace> workspaces_;
};

}  // namespace sluice::event_alignment_writer
