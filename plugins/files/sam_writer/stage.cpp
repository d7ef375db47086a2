// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cstdint>
#include <optional>
#include <sluice/hts/bam_bytes.hpp>
#include <sluice/hts/bgzf_output.hpp>
#include <sluice/hts/cram_output.hpp>
#include <sluice/hts/sorted_alignments.hpp>
#include <sluice/hts/text_output.hpp>
#include <sluice/minimizer_index.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sam_writer/sam_records.hpp"

namespace sluice::sam_writer {
namespace {

class SamWriter {
 public:
  enum class Reason { cannot_encode };
  struct Parameters {
    Path output;
    std::optional<Path> reference;
    std::string format = "auto";
    bool sort = false;
    std::string read_group, command;
    bool secondary = true, soft_clip = false, long_cigar_tag = false, cs = false, cs_long = false, md = false, comments = false, hits_only = false;
    std::int64_t compression = -1;
  };

  static void describe(Describe<SamWriter>& d) {
    d.id("sam_writer")
        .sink("read")
        .summary("writes mapped reads as SAM, BAM or CRAM")
        .doc(
            "One record per alignment, in the order of the reads, as minimap2 writes them: the best one, supplementary ones for the read's other "
            "parts "
            "(hard-clipped, listed in SA), secondary ones without bases. Reads without an alignment are written as unmapped. Records "
            "are formatted and compressed in parallel; blocks of BAM depend on the records alone.\n\n"
            "With `sort` they come in the order of `samtools sort`, by contig, position and strand, and OUTPUT.bai (.csi where a contig has more "
            "than "
            "2^29 bases, .crai of CRAM) lies beside the file. What half of the run's memory does not hold waits in a temporary file beside the "
            "output.")
        .work_unit("base");
    d.uses("index", "minimizer_index", "names and lengths of the contigs");
    d.needs("read_id", "utf8", "name of the read")
        .needs("bases", "utf8", "the read in sequencing orientation")
        .needs("qualities", "utf8", "Phred scores + 33", Needed::optional)
        .needs("written_bases", "utf8", "the bases in the case that they have in the file, for SAM; \"\": as bases", Needed::optional)
        .needs("repeat_length", "i32", "bases under seeds that are too frequent");
    overlap::needs_read_alignments(d);
    d.needs("comment", "utf8", "what follows the reads' names, for comments", Needed::optional);
    d.needs("difference_text", "utf8", "cs tags, for cs", Needed::optional).needs("mismatch_text", "utf8", "MD tags, for md", Needed::optional);
    d.option("output", &Parameters::output, "file to write; SAM: .gz: BGZF, .zst: zstd; - is standard output, then SAM unless format says otherwise")
        .required()
        .writes()
        .beside(".bai")
        .beside(".csi")
        .beside(".crai");
    d.option("format", &Parameters::format, "auto: by the end of the name (.bam, .cram, else SAM)").choices({"auto", "sam", "bam", "cram"});
    d.option("sort", &Parameters::sort, "BAM and CRAM: sorted by coordinate, with an index");
    d.option("reference", &Parameters::reference, "CRAM: the contigs as FASTA, which bases are compressed against").reads();
    d.option("read_group", &Parameters::read_group,
             "read group of all reads: a line as @RG\\tID:x\\tSM:y with \\t for tabs, or its ID alone (minimap2's -R)");
    d.option("command", &Parameters::command, "what the header says of the run (CL of @PG)");
    d.option("secondary", &Parameters::secondary, "write secondary alignments (minimap2's --secondary)");
    d.option("soft_clip", &Parameters::soft_clip, "soft clips in supplementary records, bases in secondary ones (minimap2's -Y)");
    d.option("long_cigar_tag", &Parameters::long_cigar_tag,
             "move CIGARs of more than 65,535 operations to the tag CG of SAM, as BAM always has them (minimap2's -L)");
    d.option("cs", &Parameters::cs, "write cs tags (minimap2's --cs)");
    d.option("cs_long", &Parameters::cs_long, "the same, made with cs_long by base_alignment (--cs=long)");
    d.option("md", &Parameters::md, "write MD tags, instead of cs tags if both are wanted (minimap2's --MD)");
    d.option("comments", &Parameters::comments, "append what follows the reads' names, or the tags that they had in BAM (minimap2's -y)");
    d.option("hits_only", &Parameters::hits_only, "leave unmapped reads out (minimap2's --sam-hit-only)");
    d.option("compression", &Parameters::compression, "level of BAM; -1: HTSlib's default").range(-1, 9);
    d.reason("cannot_encode", "SAM can't hold the read: its name is longer than 254 characters or has other than printable ones");
  }

  static void check_parameters(const Parameters& p) {
    const Form form = form_of(p);
    if (p.sort && form == Form::sam) throw Failure::usage("SAM is written as it comes: sort is for BAM and CRAM", "set format to bam or cram");
    if (form == Form::cram && (!p.reference || p.reference->empty())) throw Failure::usage("CRAM needs the reference", "give it as a FASTA file");
  }

  SamWriter(const Setup& setup, const Parameters& p)
      : path_(p.output),
        form_(form_of(p)),
        has_qualities_(setup.available("qualities")),
        has_written_bases_(form_ == Form::sam && setup.available("written_bases")),
        has_comments_(p.comments && setup.available("comment")),
        hits_only_(p.hits_only),
        index_(minimizer_index_view(setup.resource("index"))),
        header_(sam_hdr_init()) {
    const ReadGroup group = parse_read_group(p.read_group);
    options_.clipping = p.soft_clip ? Clipping::soft : Clipping::hard;
    options_.secondary = p.secondary ? Secondary::written : Secondary::left_out;
    options_.long_cigar = p.long_cigar_tag && form_ == Form::sam ? LongCigar::tag : LongCigar::field;
    options_.read_group = group.id;
    if ((p.cs || p.cs_long) && setup.available("difference_text")) options_.text = TagText::difference;
    if (p.md && setup.available("mismatch_text")) options_.text = TagText::mismatches;
    std::string text;
    for (std::size_t contig = 0; contig < index_.contigs(); ++contig)
      text += "@SQ\tSN:" + std::string(index_.contig_name(contig)) + "\tLN:" + std::to_string(index_.contig_length[contig]) + "\n";
    if (!group.line.empty()) text += group.line + "\n";
    const std::string_view build = SLUICE_BUILD_ID;
    text += "@PG\tID:sluice\tPN:sluice\tVN:" + std::string(build.substr(0, build.find('-')));
    std::string command = p.command;
    std::replace_if(
        command.begin(), command.end(), [](char c) { return c < ' ' && c >= 0; }, ' ');
    if (!command.empty()) text += "\tCL:" + command;
    text += '\n';
    if (!header_ || sam_hdr_add_lines(header_.get(), text.data(), text.size()) != 0)
      throw Failure::output("cannot make the header of '" + path_ + "'", "contig names and the read group must be valid in SAM");
    open(setup, p);
  }

  void process(const Call& call, const Batch& in, Output& out) {
    std::vector<std::string> made(static_cast<std::size_t>(in.rows()));
    const overlap::ReadAlignments alignments(in, options_.text);
    call.parallel_for(made.size(), 16, [&](std::size_t begin, std::size_t end) {
      auto workspace = workspaces_.take();
      for (std::size_t i = begin; i < end; ++i)
        if (const auto row = static_cast<std::int64_t>(i); in.ok(row) && !append_row(in, alignments, row, *workspace, made[i]))
          out.fail(row, Reason::cannot_encode);
    });
    out.text_rows("_records", made, "binary");
  }

  void commit(const Call& call, const Batch& in) {
    const TextView records = in.text("_records");
    const auto targets = in.list<std::int32_t>("aligned_target");
    std::uint64_t mapped = 0;
    std::vector<std::string_view> unsorted;  // of CRAM
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (form_ != Form::sam) add_records(call, records[row], unsorted);
      if (in.ok(row) && !targets[row].empty()) ++mapped;
    }
    call.outcome("mapped", mapped, static_cast<std::uint64_t>(in.rows()));
    if (bam_) bam_->write(call);
    if (cram_) cram_->add(call, unsorted);
    if (sam_) sam_->write_rows(call, records);
  }

  void finish(const Call& call, Output&) {
    if (bam_) bam_->finish(call);
    if (sorted_) sorted_->finish(call);
    if (cram_) cram_->finish();
    if (sam_) sam_->finish(call);
  }

 private:
  enum class Form : std::uint8_t { sam, bam, cram };
  static Form form_of(const Parameters& p) {
    const std::string path = p.output;
    if (p.format == "bam" || (p.format == "auto" && path.ends_with(".bam"))) return Form::bam;
    return p.format == "cram" || (p.format == "auto" && path.ends_with(".cram")) ? Form::cram : Form::sam;
  }
  void open(const Setup& setup, const Parameters& p) {
    hts::silence();
    const int level = static_cast<int>(p.compression);
    const std::string fasta = form_ == Form::cram ? std::string(*p.reference) : std::string();
    if (p.sort) {
      const auto format = form_ == Form::cram ? hts::AlignmentFormat::cram : hts::AlignmentFormat::bam;
      sorted_.emplace(setup, hts::SortedAlignments::Options{.path = path_, .format = format, .fasta = fasta, .level = level}, *header_);
    } else if (form_ == Form::cram) {
      cram_.emplace(setup, path_, fasta, *header_, hts::CramIndex::none);
    } else if (form_ == Form::bam) {
      bam_.emplace(OutputFile(setup, path_), level);
      bam_->blocks().add(hts::bam_header_bytes(*header_));
      bam_->blocks().end_block();
    } else {
      sam_.emplace(setup, path_);
      sam_->begin({sam_hdr_str(header_.get()), sam_hdr_length(header_.get())});
    }
  }
  struct Workspace {
    BamRecords records;
    std::string lines;
    std::vector<ReadAlignment> alignments;
  };

  // A row has several; each says how long it is.
  void add_records(const Call& call, std::string_view records, std::vector<std::string_view>& unsorted) {
    while (!records.empty()) {
      const std::string_view record = records.substr(0, hts::bam_record_bytes(records.data()));
      if (sorted_)
        sorted_->add(call, record);
      else if (cram_)
        unsorted.push_back(record);
      else
        bam_->blocks().add_record(record);
      records.remove_prefix(record.size());
    }
  }

  bool append_row(const Batch& in, const overlap::ReadAlignments& alignments, std::int64_t row, Workspace& workspace, std::string& bytes) const {
    alignments.read(row, index_.contigs(), workspace.alignments);
    if (workspace.alignments.empty() && hits_only_) return true;
    const std::string_view id = in.text("read_id")[row];
    if (!is_sam_name(id)) return false;
    const ReadRecord read{id,
                          bases_of(in, row),
                          has_qualities_ ? in.text("qualities")[row] : std::string_view(),
                          in.column<std::int32_t>("repeat_length")[static_cast<std::size_t>(row)],
                          workspace.alignments,
                          has_comments_ ? in.text("comment")[row] : std::string_view()};
    std::string& lines = form_ != Form::sam ? workspace.lines : bytes;
    lines.clear();
    append_sam(lines, index_, read, options_);
    return form_ == Form::sam || workspace.records.append(*header_, lines, bytes);
  }

  // BAM has no case.
  std::string_view bases_of(const Batch& in, std::int64_t row) const {
    const std::string_view bases = in.text("bases")[row], written = has_written_bases_ ? in.text("written_bases")[row] : std::string_view();
    return written.size() == bases.size() ? written : bases;
  }

  std::string path_;
  Form form_;
  bool has_qualities_, has_written_bases_, has_comments_, hits_only_;
  MinimizerIndexView index_;
  RecordOptions options_;
  hts::Header header_;
  std::optional<hts::TextOutput> sam_;
  std::optional<hts::BgzfOutput> bam_;
  std::optional<hts::SortedAlignments> sorted_;
  std::optional<hts::CramOutput> cram_;
  Workspaces<Workspace> workspaces_;
};

}  // namespace
}  // namespace sluice::sam_writer

SLUICE_PLUGIN("sam_writer", "0.1.0", "MIT", sluice::sam_writer::SamWriter);
