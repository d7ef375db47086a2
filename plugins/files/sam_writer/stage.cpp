// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cstdint>
#include <optional>
#include <sluice/allocated.hpp>
#include <sluice/file_joining.hpp>
#include <sluice/hts/bam_bytes.hpp>
#include <sluice/hts/bgzf_output.hpp>
#include <sluice/hts/contig_lines.hpp>
#include <sluice/hts/cram_output.hpp>
#include <sluice/hts/join_bam.hpp>
#include <sluice/hts/join_text.hpp>
#include <sluice/hts/sorted_alignments.hpp>
#include <sluice/hts/text_output.hpp>
#include <sluice/minimizer_index.hpp>
#include <sluice/overlap/alignment_figures.hpp>
#include <sluice/resume.hpp>
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
  struct Parameters {
    Path output;
    std::optional<Path> reference;
    std::string format = "auto";
    bool sort = false;
    std::string read_group, command;
    bool secondary = true, secondary_bases = false, soft_clip = false, long_cigar_tag = false, cs = false, cs_long = false, ds = false, md = false,
         comments = false, hits_only = false;
    std::int64_t compression = -1;
  };

  static void describe(Describe<SamWriter>& d) {
    d.id("sam_writer")
        .sink("read")
        .concatenates()
        .summary("writes mapped reads as SAM, BAM or CRAM")
        .doc(
            "One record per alignment, in the order of the reads, as minimap2 writes them: the best one, supplementary ones for the read's other "
            "parts "
            "(hard-clipped, listed in SA), secondary ones without bases. Reads without an alignment are written as unmapped. Records "
            "are formatted and compressed in parallel; blocks of BAM depend on the records alone.\n\n"
            "With `sort` they come in the order of `samtools sort`, by contig, position and strand, and OUTPUT.bai (.csi where a contig has more "
            "than "
            "2^29 bases, .crai of CRAM) lies beside the file. What half of the run's memory does not hold waits in a temporary file beside the "
            "output.\n\n"
            "A read that the format can't hold ends the run: its name is longer than 254 characters or has other than printable ones, say.")
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
    d.option("secondary_bases", &Parameters::secondary_bases,
             "bases and qualities of their part of the read in secondary records, with hard clips (minimap2's --secondary-seq)");
    d.option("soft_clip", &Parameters::soft_clip, "soft clips in supplementary records, bases in secondary ones (minimap2's -Y)");
    d.option("long_cigar_tag", &Parameters::long_cigar_tag,
             "move CIGARs of more than 65,535 operations to the tag CG of SAM, as BAM always has them (minimap2's -L)");
    d.option("cs", &Parameters::cs, "write cs tags (minimap2's --cs)");
    d.option("cs_long", &Parameters::cs_long, "the same, made with cs_long by base_alignment (--cs=long)");
    d.option("ds", &Parameters::ds, "write ds tags, made with ds by base_alignment, instead of cs tags (minimap2's --ds)");
    d.option("md", &Parameters::md, "write MD tags, instead of cs tags if both are wanted (minimap2's --MD)");
    d.option("comments", &Parameters::comments,
             "append what follows the names of reads without a column tags, or with no tags in it (minimap2's -y)");
    d.option("hits_only", &Parameters::hits_only, "leave unmapped reads out (minimap2's --sam-hit-only)");
    d.option("compression", &Parameters::compression, "level of BAM, as HTSlib's; -1: its default, but smaller and faster for long reads")
        .range(-1, 9);
  }

  static void check_parameters(const Parameters& p) {
    const Form form = form_of(p);
    if (p.sort && form == Form::sam) throw Failure::usage("SAM is written as it comes: sort is for BAM and CRAM", "set format to bam or cram");
    if (form == Form::cram && (!p.reference || p.reference->empty())) throw Failure::usage("CRAM needs the reference", "give it as a FASTA file");
  }

  static std::string joined_form(const Parameters& p) {
    if (form_of(p) == Form::cram) throw Failure::usage("CRAM is compressed as a whole", "write BAM");
    return form_of(p) != Form::bam ? hts::joined_text_form(p.output) : p.sort ? "sorted BAM" : "BAM";
  }
  static void join_files(const Call& call, const Parameters& p, const FilesToJoin& files) {
    if (p.sort) return hts::join_sorted_bam(call, files, static_cast<int>(p.compression));
    if (form_of(p) == Form::bam) return hts::join_bam(call, files, static_cast<int>(p.compression), hts::JoinedIndex::none);
    hts::join_text(call, files);
  }

  SamWriter(const Setup& setup, const Parameters& p)
      : path_(p.output),
        form_(form_of(p)),
        sort_(p.sort),
        level_(static_cast<int>(p.compression)),
        fasta_(form_ == Form::cram ? std::string(*p.reference) : std::string()),
        has_qualities_(setup.available("qualities")),
        has_written_bases_(form_ == Form::sam && setup.available("written_bases")),
        has_comments_(p.comments && setup.available("comment")),
        has_tags_(setup.available("tags")),
        hits_only_(p.hits_only),
        index_(minimizer_index_view(setup.resource("index"))),
        figures_(index_),
        group_(parse_read_group(p.read_group)),
        command_(p.command),
        contig_lines_(hts::contig_lines(index_)),
        contigs_(allocated(sam_hdr_init())) {
    hts::silence();
    options_.clipping = p.soft_clip ? Clipping::soft : Clipping::hard;
    options_.secondary = p.secondary ? Secondary::written : Secondary::left_out;
    options_.secondary_bases = p.secondary_bases ? SecondaryBases::written : SecondaryBases::left_out;
    options_.long_cigar = p.long_cigar_tag && form_ == Form::sam ? LongCigar::tag : LongCigar::field;
    options_.read_group = group_.id;
    if ((p.cs || p.cs_long) && setup.available("difference_text")) options_.text = TagText::difference;
    if (p.ds && setup.available("difference_text")) options_.text = TagText::difference_and_shifts;
    if (p.md && setup.available("mismatch_text")) options_.text = TagText::mismatches;
    make_header("");  // so that what is wrong with the options is said before there are reads
    if (hts::add_header_lines(*contigs_, contig_lines_) != 0)
      throw Failure::output("cannot make the header of '" + path_ + "'", "contig names must be valid in SAM");
    if (form_ != Form::sam) hts::refuse_unless_bam_holds(*contigs_);
    if (form_ == Form::sam) sam_.emplace(setup, path_);
    if (!sort_) setup.progress(1);  // nothing is left for the end
    if (form_ == Form::bam && !sort_) bam_.emplace(OutputFile(setup, path_), level_);
    resume(setup, [this](StateReader& from) { restore(from); });
  }

  void process(const Call& call, const Batch& in, Output& out) {
    std::vector<std::string> made(static_cast<std::size_t>(in.rows()));
    std::vector<std::uint8_t> fits(made.size(), 1);
    const overlap::ReadAlignments alignments(in, options_.text);
    const std::span<std::uint32_t> uncut = out.column<std::uint32_t>("_uncut");
    call.parallel_for(made.size(), 16, [&](std::size_t begin, std::size_t end) {
      auto workspace = workspaces_.take();
      for (std::size_t i = begin; i < end; ++i)
        if (const auto row = static_cast<std::int64_t>(i); in.ok(row))
          fits[i] = append_row(in, alignments, row, *workspace, made[i], uncut[i]) ? 1 : 0;
    });
    if (const auto first = std::find(fits.begin(), fits.end(), 0); first != fits.end())
      refuse_read("'" + path_ + "'", in.text("read_id")[first - fits.begin()],
                  has_comments_ ? in.text("comment")[first - fits.begin()] : std::string_view());
    out.text_rows("_records", made, "binary");
    count_figures(call, in, alignments);
  }

  void commit(const Call& call, const Batch& in) {
    begin_file(call, in.attribute("sam_header"));
    say_uncut(call, in);
    say_no_tags(call, in);
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
    begin_file(call, {});
    figures_.describe(call, true);
    if (bam_) bam_->finish(call);
    if (sorted_) sorted_->finish(call);
    if (cram_) cram_->finish();
    if (sam_) sam_->finish(call);
  }
  // Sorted records are in files of their own until the end, and HTSlib's state of a CRAM is its own.
  bool can_save() const { return !sort_ && form_ != Form::cram; }
  void save(const Call& call, StateWriter& to) {
    for (const bool flag : {begun_, said_late_, said_uncut_}) to.value(std::uint8_t{flag});
    to.text(input_header_);
    sam_ ? sam_->save(call, to) : bam_->save(call, to);
  }

 private:
  enum class Form : std::uint8_t { sam, bam, cram };
  static Form form_of(const Parameters& p) {
    const std::string path = p.output;
    if (p.format == "bam" || (p.format == "auto" && path.ends_with(".bam"))) return Form::bam;
    return p.format == "cram" || (p.format == "auto" && path.ends_with(".cram")) ? Form::cram : Form::sam;
  }
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
    if (sam_) return sam_->header(text);
    header_.reset(allocated(sam_hdr_init()));
    if (hts::add_header_lines(*header_, text) != 0) throw Failure::output("cannot make the header of '" + path_ + "'");
    if (sort_) {
      const auto format = form_ == Form::cram ? hts::AlignmentFormat::cram : hts::AlignmentFormat::bam;
      sorted_.emplace(call, hts::SortedAlignments::Options{.path = path_, .format = format, .fasta = fasta_, .level = level_}, *header_);
    } else if (form_ == Form::cram) {
      cram_.emplace(call, path_, fasta_, *header_, hts::CramIndex::none);
    } else {
      bam_->header(hts::bam_header_bytes(*header_));
      bam_->blocks().end_block();
    }
  }

  void restore(StateReader& from) {
    for (bool* flag : {&begun_, &said_late_, &said_uncut_}) *flag = from.value<std::uint8_t>() != 0;
    input_header_ = from.text();
    if (sam_) return sam_->restore(from);
    if (!bam_) throw damaged_state();
    bam_->restore(from);
  }

  void count_figures(const Call& call, const Batch& in, const overlap::ReadAlignments& alignments) const {
    overlap::AlignmentFigures::Counts found(figures_);
    const TextView bases = in.text("bases");
    std::vector<ReadAlignment> of_read;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      found.add_read(static_cast<std::int64_t>(bases[row].size()));
      alignments.read(row, index_.contigs(), of_read);
      for (const ReadAlignment& alignment : of_read) found.add(alignment);
    }
    found.give(call);
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

  // SAM text takes any comment, but who reads it takes tags only.
  void say_no_tags(const Call& call, const Batch& in) {
    if (!has_comments_ || form_ != Form::sam) return;
    const TextView comments = in.text("comment");
    for (std::int64_t row = 0; row < in.rows() && !said_no_tags_; ++row) {
      said_no_tags_ = in.ok(row) && !comments[row].empty() && !is_sam_tags(comments[row]);
      if (said_no_tags_)
        call.warn("what follows the name of read '" + std::string(in.text("read_id")[row]) + "' is no tag of SAM, and is copied all the same: '" +
                  path_ + "' can't be read by programs that take tags only");
    }
  }

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
    std::string& lines = form_ != Form::sam ? workspace.lines : bytes;
    lines.clear();
    workspace.tags.clear();
    append_sam(lines, index_, read, options_, more_tags(tags, in.text("bases")[row], workspace));
    if (!tags.empty()) uncut = workspace.carried.uncut();
    return form_ == Form::sam || workspace.records.append(*contigs_, lines, workspace.tags, bytes);
  }

  // BAM takes them as they are.
  MoreTags more_tags(std::string_view tags, std::string_view bases, Workspace& workspace) const {
    if (tags.empty()) return {};
    workspace.carried.begin_read(tags, bases, options_.read_group.empty() ? ReadGroupTag::taken : ReadGroupTag::replaced);
    if (form_ == Form::sam) return [&carried = workspace.carried](std::string& line, ReadPart part) { carried.append_text(part, line); };
    return [&workspace](std::string&, ReadPart part) { workspace.tags.emplace_back(workspace.carried.bytes(part)); };
  }

  // BAM has no case.
  std::string_view bases_of(const Batch& in, std::int64_t row) const {
    const std::string_view bases = in.text("bases")[row], written = has_written_bases_ ? in.text("written_bases")[row] : std::string_view();
    return written.size() == bases.size() ? written : bases;
  }

  std::string path_;
  Form form_;
  bool sort_;
  int level_;          // of BAM
  std::string fasta_;  // CRAM: what the records are aligned to
  bool has_qualities_, has_written_bases_, has_comments_, has_tags_, hits_only_;
  MinimizerIndexView index_;
  overlap::AlignmentFigures figures_;
  ReadGroup group_;
  std::string command_, contig_lines_;
  RecordOptions options_;
  hts::Header contigs_;  // what records are made with
  hts::Header header_;   // of the file
  bool begun_ = false, said_late_ = false, said_uncut_ = false, said_no_tags_ = false;
  std::string input_header_;  // that the file was begun with
  std::optional<hts::TextOutput> sam_;
  std::optional<hts::BgzfOutput> bam_;
  std::optional<hts::SortedAlignments> sorted_;
  std::optional<hts::CramOutput> cram_;
  Workspaces<Workspace> workspaces_;
};

}  // namespace
}  // namespace sluice::sam_writer

SLUICE_PLUGIN_WITH(sluice::file_joining<sluice::sam_writer::SamWriter>, "sam_writer", "0.1.0", "MIT", sluice::sam_writer::SamWriter,
                   sluice::sam_writer::AlignmentRecords);
