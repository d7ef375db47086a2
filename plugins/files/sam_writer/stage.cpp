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

#include "sam_writer/hit_record.hpp"

namespace sluice::sam_writer {
namespace {

std::string_view take_line(std::string_view& lines) {
  const std::size_t end = std::min(lines.find('\n'), lines.size());
  const std::string_view line = lines.substr(0, end);
  lines.remove_prefix(std::min(end + 1, lines.size()));
  return line;
}

class SamWriter {
 public:
  enum class Reason { cannot_encode };
  struct Parameters {
    Path output;
    std::string format = "auto";
    std::string read_group;
    bool secondary = true, soft_clip = false, cs = false, md = false, hits_only = false;
    std::int64_t compression = -1;
  };

  static void describe(Describe<SamWriter>& d) {
    d.id("sam_writer")
        .sink("read")
        .summary("writes mapped reads as SAM or BAM")
        .doc(
            "One record per aligned hit, in the order of the reads: the best one, supplementary ones for the read's other parts (hard-clipped, "
            "listed "
            "in SA), secondary ones without bases. Reads without a hit are written as unmapped. Records are not sorted. They are formatted and "
            "compressed in parallel; blocks of BAM depend on the records alone.")
        .work_unit("base");
    d.uses("index", "minimizer_index", "names and lengths of the contigs");
    d.needs("read_id", "utf8", "name of the read")
        .needs("bases", "utf8", "the read in sequencing orientation")
        .needs("qualities", "utf8", "Phred scores + 33", Needed::optional)
        .needs("repeat_length", "i32", "bases under seeds that are too frequent")
        .needs("hit_target", "list<i32>", "contig of each hit")
        .needs("hit_is_reverse", "list<u8>", "1: reverse strand")
        .needs("aligned_is_primary", "list<u8>", "0: secondary")
        .needs("aligned_mapq", "list<u8>", "mapping quality")
        .needs("hit_score", "list<i32>", "chain score")
        .needs("hit_second_score", "list<i32>", "chain score of the best secondary hit, -1: none")
        .needs("hit_anchors", "list<i32>", "anchors of the chain")
        .needs("cigar_count", "list<i32>", "operations of each hit; 0: not aligned, and not written")
        .needs("hit_cigar", "list<u32>", "operations of all hits")
        .needs("aligned_query_start", "list<i32>", "first aligned base of the read")
        .needs("aligned_query_end", "list<i32>", "end of the aligned part")
        .needs("aligned_target_start", "list<i32>", "first aligned base of the contig")
        .needs("edit_distance", "list<i32>", "mismatches and gap bases")
        .needs("alignment_score", "list<i32>", "score of the alignment")
        .needs("difference_text", "utf8", "cs tags, for cs", Needed::optional)
        .needs("mismatch_text", "utf8", "MD tags, for md", Needed::optional);
    d.option("output", &Parameters::output, "file to write; - is standard output, then SAM unless format says otherwise").required().writes();
    d.option("format", &Parameters::format, "auto: BAM if the name ends in .bam, else SAM").choices({"auto", "sam", "bam"});
    d.option("read_group", &Parameters::read_group, "read group of all reads: its ID (minimap2's -R)");
    d.option("secondary", &Parameters::secondary, "write secondary alignments (minimap2's --secondary)");
    d.option("soft_clip", &Parameters::soft_clip, "soft clips in supplementary records (minimap2's -Y)");
    d.option("cs", &Parameters::cs, "write cs tags (minimap2's --cs)");
    d.option("md", &Parameters::md, "write MD tags (minimap2's --MD)");
    d.option("hits_only", &Parameters::hits_only, "leave unmapped reads out (minimap2's --sam-hit-only)");
    d.option("compression", &Parameters::compression, "level of BAM; -1: HTSlib's default").range(-1, 9);
    d.reason("cannot_encode", "SAM can't hold the read: its name is longer than 254 characters or has other than printable ones");
  }

  SamWriter(const Setup& setup, const Parameters& p)
      : path_(p.output),
        is_bam_(p.format == "bam" || (p.format == "auto" && path_.ends_with(".bam"))),
        has_qualities_(setup.available("qualities")),
        secondary_(p.secondary),
        hits_only_(p.hits_only),
        header_(sam_hdr_init()) {
    options_.supplementary_clipping = p.soft_clip ? Clipping::soft : Clipping::hard;
    options_.read_group = p.read_group;
    options_.write_difference = p.cs && setup.available("difference_text");
    options_.write_mismatches = p.md && setup.available("mismatch_text");
    const MinimizerIndexView index = minimizer_index_view(setup.resource("index"));
    std::string text = "@HD\tVN:1.6\tSO:unsorted\tGO:query\n";
    for (std::size_t contig = 0; contig < index.contigs(); ++contig)
      text += "@SQ\tSN:" + std::string(index.contig_name(contig)) + "\tLN:" + std::to_string(index.contig_length[contig]) + "\n";
    if (!p.read_group.empty()) text += "@RG\tID:" + p.read_group + "\n";
    text += "@PG\tID:sluice\tPN:sluice\n";
    if (!header_ || sam_hdr_add_lines(header_.get(), text.data(), text.size()) != 0)
      throw Failure::output("cannot make the header of '" + path_ + "'", "contig names and the read group must be valid in SAM");
    OutputFile file(setup, p.output);
    if (is_bam_) {
      bam_.emplace(std::move(file), static_cast<int>(p.compression));
      bam_->blocks().add(hts::bam_header_bytes(*header_));
      bam_->blocks().end_block();
    } else {
      sam_ = std::move(file);
      sam_.write({sam_hdr_str(header_.get()), sam_hdr_length(header_.get())});
    }
  }

  void process(const Call& call, const Batch& in, Output& out) {
    std::vector<std::string> made(static_cast<std::size_t>(in.rows()));
    call.parallel_for(made.size(), 16, [&](std::size_t begin, std::size_t end) {
      auto workspace = workspaces_.take();
      for (std::size_t i = begin; i < end; ++i)
        if (const auto row = static_cast<std::int64_t>(i); in.ok(row) && !append_row(in, row, *workspace, made[i]))
          out.fail(row, Reason::cannot_encode);
    });
    out.text_rows("_records", made, "binary");
  }

  void commit(const Call& call, const Batch& in) {
    const TextView records = in.text("_records");
    const auto operations = in.list<std::int32_t>("cigar_count");
    std::uint64_t mapped = 0;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (is_bam_) add_records(records[row]);
      if (in.ok(row) && std::any_of(operations[row].begin(), operations[row].end(), [](std::int32_t count) { return count > 0; })) ++mapped;
    }
    call.outcome("mapped", mapped, static_cast<std::uint64_t>(in.rows()));
    if (is_bam_)
      bam_->write(call);
    else if (in.rows() > 0)
      sam_.write({records[0].data(), static_cast<std::size_t>(records.offsets().back() - records.offsets().front())});
  }

  void finish(const Call& call, Output&) {
    if (is_bam_)
      bam_->finish(call);
    else
      sam_.close();
  }

 private:
  struct Workspace {
    RecordWriter writer;
    std::vector<HitRecord> hits;
  };

  // A row has several; each says how long it is.
  void add_records(std::string_view records) {
    while (!records.empty()) {
      const std::size_t bytes = hts::BgzfBlock::load<std::uint32_t>(records.data()) + sizeof(std::uint32_t);
      bam_->blocks().add_record(records.substr(0, bytes));
      records.remove_prefix(bytes);
    }
  }

  bool append_row(const Batch& in, std::int64_t row, Workspace& workspace, std::string& bytes) const {
    const auto target = in.list<std::int32_t>("hit_target")[row], operations = in.list<std::int32_t>("cigar_count")[row];
    const auto cigar = in.list<std::uint32_t>("hit_cigar")[row];
    std::string_view differences = options_.write_difference ? in.text("difference_text")[row] : std::string_view();
    std::string_view mismatches = options_.write_mismatches ? in.text("mismatch_text")[row] : std::string_view();
    workspace.hits.clear();
    std::size_t at = 0;
    for (std::size_t i = 0; i < target.size(); ++i) {
      const auto count = static_cast<std::size_t>(operations[i]);
      const std::string_view difference = take_line(differences), mismatch = take_line(mismatches);
      HitRecord hit;
      hit.cigar = cigar.subspan(at, count);
      at += count;
      hit.is_primary = in.list<std::uint8_t>("aligned_is_primary")[row][i] != 0;
      if (count == 0 || (!hit.is_primary && !secondary_)) continue;
      hit.target = target[i];
      hit.query_start = in.list<std::int32_t>("aligned_query_start")[row][i];
      hit.query_end = in.list<std::int32_t>("aligned_query_end")[row][i];
      hit.target_start = in.list<std::int32_t>("aligned_target_start")[row][i];
      hit.is_reverse = in.list<std::uint8_t>("hit_is_reverse")[row][i] != 0;
      hit.mapq = in.list<std::uint8_t>("aligned_mapq")[row][i];
      hit.edit_distance = in.list<std::int32_t>("edit_distance")[row][i];
      hit.alignment_score = in.list<std::int32_t>("alignment_score")[row][i];
      hit.anchors = in.list<std::int32_t>("hit_anchors")[row][i];
      hit.chain_score = in.list<std::int32_t>("hit_score")[row][i];
      hit.second_chain_score = hit.is_primary ? in.list<std::int32_t>("hit_second_score")[row][i] : -1;
      hit.difference = difference;
      hit.mismatches = mismatch;
      workspace.hits.push_back(hit);
    }
    if (workspace.hits.empty() && hits_only_) return true;
    // The first record must be primary; a hit that could not be aligned may have been the read's best one.
    std::stable_sort(workspace.hits.begin(), workspace.hits.end(),
                     [](const HitRecord& a, const HitRecord& b) { return a.alignment_score > b.alignment_score; });
    const auto best = std::find_if(workspace.hits.begin(), workspace.hits.end(), [](const HitRecord& hit) { return hit.is_primary; });
    if (best == workspace.hits.end()) workspace.hits.clear();
    if (best != workspace.hits.begin() && best != workspace.hits.end()) std::rotate(workspace.hits.begin(), best, best + 1);
    const std::string_view qualities = has_qualities_ ? in.text("qualities")[row] : std::string_view();
    const ReadRecord read{in.text("read_id")[row], in.text("bases")[row], qualities,
                          in.column<std::int32_t>("repeat_length")[static_cast<std::size_t>(row)], workspace.hits};
    return is_bam_ ? workspace.writer.append_bam(*header_, read, options_, bytes) : workspace.writer.append_sam(*header_, read, options_, bytes);
  }

  std::string path_;
  bool is_bam_, has_qualities_, secondary_, hits_only_;
  RecordOptions options_;
  hts::Header header_;
  OutputFile sam_;
  std::optional<hts::BgzfOutput> bam_;
  Workspaces<Workspace> workspaces_;
};

}  // namespace
}  // namespace sluice::sam_writer

SLUICE_PLUGIN("sam_writer", "0.1.0", "MIT", sluice::sam_writer::SamWriter);
