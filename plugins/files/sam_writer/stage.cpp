// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cstdint>
#include <optional>
#include <sluice/hts/bam_bytes.hpp>
#include <sluice/hts/bgzf_output.hpp>
#include <sluice/minimizer_index.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sam_writer/alignment_records.hpp"
#include "sam_writer/carried_tags.hpp"
#include "sam_writer/output_header.hpp"
#include "sam_writer/sam_records.hpp"

namespace sluice::sam_writer {
namespace {

class SamWriter {
 public:
  enum class Reason { cannot_encode };
  struct Parameters {
    Path output;
    std::string format = "auto";
    std::string read_group, command;
    bool secondary = true, soft_clip = false, long_cigar_tag = false, cs = false, cs_long = false, md = false, comments = false, hits_only = false;
    std::int64_t compression = -1;
  };

  static void describe(Describe<SamWriter>& d) {
    d.id("sam_writer")
        .sink("read")
        .summary("writes mapped reads as SAM or BAM")
        .doc(
            "One record per alignment, in the order of the reads, as minimap2 writes them: the best one, supplementary ones for the read's other "
            "parts "
            "(hard-clipped, listed in SA), secondary ones without bases. Reads without an alignment are written as unmapped. Records are not sorted. "
            "They "
            "are formatted and compressed in parallel; blocks of BAM depend on the records alone.")
        .work_unit("base");
    d.uses("index", "minimizer_index", "names and lengths of the contigs");
    d.needs("read_id", "utf8", "name of the read")
        .needs("bases", "utf8", "the read in sequencing orientation")
        .needs("qualities", "utf8", "Phred scores + 33", Needed::optional)
        .needs("written_bases", "utf8", "the bases in the case that they have in the file, for SAM; \"\": as bases", Needed::optional)
        .needs("repeat_length", "i32", "bases under seeds that are too frequent");
    overlap::needs_read_alignments(d);
    d.needs("comment", "utf8", "what follows the reads' names, for comments", Needed::optional);
    d.needs("tags", "binary", "tags that the reads have in their files, as BAM has them", Needed::optional);
    d.needs("difference_text", "utf8", "cs tags, for cs", Needed::optional).needs("mismatch_text", "utf8", "MD tags, for md", Needed::optional);
    d.option("output", &Parameters::output, "file to write; - is standard output, then SAM unless format says otherwise").required().writes();
    d.option("format", &Parameters::format, "auto: BAM if the name ends in .bam, else SAM").choices({"auto", "sam", "bam"});
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
    d.option("comments", &Parameters::comments,
             "append what follows the names of reads without a column tags, or with no tags in it (minimap2's -y)");
    d.option("hits_only", &Parameters::hits_only, "leave unmapped reads out (minimap2's --sam-hit-only)");
    d.option("compression", &Parameters::compression, "level of BAM; -1: HTSlib's default").range(-1, 9);
    d.reason("cannot_encode", "SAM can't hold the read: its name is longer than 254 characters or has other than printable ones");
  }

  SamWriter(const Setup& setup, const Parameters& p)
      : path_(p.output),
        is_bam_(p.format == "bam" || (p.format == "auto" && path_.ends_with(".bam"))),
        has_qualities_(setup.available("qualities")),
        has_written_bases_(!is_bam_ && setup.available("written_bases")),
        has_comments_(p.comments && setup.available("comment")),
        has_tags_(setup.available("tags")),
        hits_only_(p.hits_only),
        index_(minimizer_index_view(setup.resource("index"))),
        group_(parse_read_group(p.read_group)),
        command_(p.command),
        contig_lines_(contig_lines(index_)),
        contigs_(sam_hdr_init()) {
    options_.clipping = p.soft_clip ? Clipping::soft : Clipping::hard;
    options_.secondary = p.secondary ? Secondary::written : Secondary::left_out;
    options_.long_cigar = p.long_cigar_tag && !is_bam_ ? LongCigar::tag : LongCigar::field;
    options_.read_group = group_.id;
    if ((p.cs || p.cs_long) && setup.available("difference_text")) options_.text = TagText::difference;
    if (p.md && setup.available("mismatch_text")) options_.text = TagText::mismatches;
    make_header("");  // so that what is wrong with the options is said before there are reads
    if (!contigs_ || sam_hdr_add_lines(contigs_.get(), contig_lines_.data(), contig_lines_.size()) != 0)
      throw Failure::output("cannot make the header of '" + path_ + "'", "contig names must be valid in SAM");
    OutputFile file(setup, p.output);
    if (is_bam_)
      bam_.emplace(std::move(file), static_cast<int>(p.compression));
    else
      sam_ = std::move(file);
  }

  void process(const Call& call, const Batch& in, Output& out) {
    std::vector<std::string> made(static_cast<std::size_t>(in.rows()));
    const overlap::ReadAlignments alignments(in, options_.text);
    const std::span<std::uint32_t> uncut = out.column<std::uint32_t>("_uncut");
    call.parallel_for(made.size(), 16, [&](std::size_t begin, std::size_t end) {
      auto workspace = workspaces_.take();
      for (std::size_t i = begin; i < end; ++i)
        if (const auto row = static_cast<std::int64_t>(i); in.ok(row) && !append_row(in, alignments, row, *workspace, made[i], uncut[i]))
          out.fail(row, Reason::cannot_encode);
    });
    out.text_rows("_records", made, "binary");
  }

  void commit(const Call& call, const Batch& in) {
    begin_file(call, in.attribute("sam_header"));
    say_uncut(call, in);
    const TextView records = in.text("_records");
    const auto targets = in.list<std::int32_t>("aligned_target");
    std::uint64_t mapped = 0;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (is_bam_) add_records(records[row]);
      if (in.ok(row) && !targets[row].empty()) ++mapped;
    }
    call.outcome("mapped", mapped, static_cast<std::uint64_t>(in.rows()));
    if (is_bam_)
      bam_->write(call);
    else if (in.rows() > 0)
      sam_.write({records[0].data(), static_cast<std::size_t>(records.offsets().back() - records.offsets().front())});
  }

  void finish(const Call& call, Output&) {
    begin_file(call, {});
    if (is_bam_)
      bam_->finish(call);
    else
      sam_.close();
  }

 private:
  struct Workspace {
    BamRecords records;
    std::string lines;
    std::vector<ReadAlignment> alignments;
    CarriedTags carried;
    std::vector<std::string> tags;  // by line
  };

  // `input`: lines of the headers of the reads' files, which the first batch brings.
  std::string make_header(std::string_view input) const {
    const std::string_view build = SLUICE_BUILD_ID;
    return header_text({contig_lines_, group_, input, build.substr(0, build.find('-')), command_});
  }
  void begin_file(const Call& call, std::string_view input) {
    if (begun_) {
      if (!input.empty() && input != input_header_ && !std::exchange(said_late_, true))
        call.warn("'" + path_ + "' has no @RG and @PG lines of files that came when it had been begun");
      return;
    }
    begun_ = true;
    input_header_ = input;
    const std::string text = make_header(input);
    if (!is_bam_) return sam_.write(text);
    const hts::Header header(sam_hdr_init());
    if (!header || sam_hdr_add_lines(header.get(), text.data(), text.size()) != 0) throw Failure::output("cannot make the header of '" + path_ + "'");
    bam_->blocks().add(hts::bam_header_bytes(*header));
    bam_->blocks().end_block();
  }

  // The first read is named, all records are counted.
  void say_uncut(const Call& call, const Batch& in) {
    const auto uncut = in.column<std::uint32_t>("_uncut");
    for (std::size_t row = 0; row < uncut.size(); ++row) {
      if (uncut[row] == 0) continue;
      call.count("records without MM and ML, which do not fit their reads", uncut[row]);
      if (!std::exchange(said_uncut_, true))
        call.warn("MM and ML of read '" + std::string(in.text("read_id")[static_cast<std::int64_t>(row)]) +
                  "' do not fit its bases and can't be cut: its records of a part of it are without them; the report counts such records");
    }
  }

  // A row has several; each says how long it is.
  void add_records(std::string_view records) {
    while (!records.empty()) {
      const std::size_t bytes = hts::BgzfBlock::load<std::uint32_t>(records.data()) + sizeof(std::uint32_t);
      bam_->blocks().add_record(records.substr(0, bytes));
      records.remove_prefix(bytes);
    }
  }

  bool append_row(const Batch& in, const overlap::ReadAlignments& alignments, std::int64_t row, Workspace& workspace, std::string& bytes,
                  std::uint32_t& uncut) const {
    alignments.read(row, index_.contigs(), workspace.alignments);
    if (workspace.alignments.empty() && hits_only_) return true;
    const std::string_view id = in.text("read_id")[row];
    if (!is_sam_name(id)) return false;
    const std::string_view tags = has_tags_ ? in.text("tags")[row] : std::string_view();
    const ReadRecord read{id,
                          bases_of(in, row),
                          has_qualities_ ? in.text("qualities")[row] : std::string_view(),
                          in.column<std::int32_t>("repeat_length")[static_cast<std::size_t>(row)],
                          workspace.alignments,
                          has_comments_ && tags.empty() ? in.text("comment")[row] : std::string_view()};
    std::string& lines = is_bam_ ? workspace.lines : bytes;
    lines.clear();
    workspace.tags.clear();
    append_sam(lines, index_, read, options_, more_tags(tags, in.text("bases")[row], workspace));
    if (!tags.empty()) uncut = workspace.carried.uncut();
    return !is_bam_ || workspace.records.append(*contigs_, lines, workspace.tags, bytes);
  }

  // BAM takes them as they are.
  MoreTags more_tags(std::string_view tags, std::string_view bases, Workspace& workspace) const {
    if (tags.empty()) return {};
    workspace.carried.begin_read(tags, bases, options_.read_group.empty() ? ReadGroupTag::taken : ReadGroupTag::replaced);
    if (!is_bam_) return [&carried = workspace.carried](std::string& line, ReadPart part) { carried.append_text(part, line); };
    return [&workspace](std::string&, ReadPart part) { workspace.tags.emplace_back(workspace.carried.bytes(part)); };
  }

  // BAM has no case.
  std::string_view bases_of(const Batch& in, std::int64_t row) const {
    const std::string_view bases = in.text("bases")[row], written = has_written_bases_ ? in.text("written_bases")[row] : std::string_view();
    return written.size() == bases.size() ? written : bases;
  }

  std::string path_;
  bool is_bam_, has_qualities_, has_written_bases_, has_comments_, has_tags_, hits_only_;
  MinimizerIndexView index_;
  ReadGroup group_;
  std::string command_, contig_lines_;
  RecordOptions options_;
  hts::Header contigs_;  // what records are made with
  bool begun_ = false, said_late_ = false, said_uncut_ = false;
  std::string input_header_;  // that the file was begun with
  OutputFile sam_;
  std::optional<hts::BgzfOutput> bam_;
  Workspaces<Workspace> workspaces_;
};

}  // namespace
}  // namespace sluice::sam_writer

SLUICE_PLUGIN("sam_writer", "0.1.0", "MIT", sluice::sam_writer::SamWriter, sluice::sam_writer::AlignmentRecords);
