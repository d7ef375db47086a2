// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "overlap_reader/overlap_file.hpp"

#include <htslib/hfile.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <sluice/allocated.hpp>
#include <sluice/failure.hpp>
#include <sluice/hts/header_input.hpp>
#include <sluice/hts/input_end.hpp>
#include <sluice/hts/open_input.hpp>
#include <sluice/hts/text_file.hpp>
#include <utility>

namespace sluice::overlap_reader {
namespace {

class TextOverlaps final : public OverlapFile {
 public:
  TextOverlaps(std::string path, hts::Bgzf file, FileFormat format) : path_(std::move(path)), lines_(std::move(file), {path_}) {
    if (format == FileFormat::paf) format_ = LineFormat::paf;
    if (format == FileFormat::mhap) format_ = LineFormat::mhap;
    has_line_ = read_line();
    if (has_line_ && !format_) format_ = guess_line_format(lines_.line());
  }

  bool next(Overlap& overlap) override {
    if (!has_line_ && !read_line()) return false;
    has_line_ = false;
    const char* problem = format_ == LineFormat::paf ? parse_paf_line(lines_.line(), overlap) : parse_mhap_line(lines_.line(), overlap);
    if (problem != nullptr)
      throw Failure::input("'" + path_ + "', " + place() + ": " + problem, "the file is damaged, truncated, or of another format: make it again");
    return true;
  }
  std::string place() const override { return "line " + std::to_string(lines_.number()); }
  bool ends_inside_line() const override { return lines_.ends_inside_line(); }

 private:
  // Blank lines are passed over.
  bool read_line() {
    while (lines_.next())
      if (!lines_.line().empty()) return true;
    return false;
  }
  std::string path_;
  hts::TextLines lines_;
  std::optional<LineFormat> format_;
  bool has_line_ = false;
};

class AlignmentOverlaps final : public OverlapFile {
 public:
  AlignmentOverlaps(const std::string& path, hFILE* opened) : file_(hts_hopen(opened, path.c_str(), "r")), record_(allocated(bam_init1())) {
    const std::string name = "'" + path + "'";
    if (!file_ || !record_) throw Failure::input(name + " has no readable header", "copy the file again and compare checksums");
    hts::RecordsInOrder::check_mark(*file_, name);
    header_ = hts::read_header(*file_, name);
    records_.emplace(*file_, *header_, path, name);
  }
  bool next(Overlap& overlap) override {
    while (records_->next(*record_)) {
      if (convert(overlap)) return true;
      unmapped_(bam_get_qname(record_.get()));
    }
    return false;
  }
  std::string place() const override { return "record " + std::to_string(records_->records()); }
  bool ends_inside_line() const override { return records_->ends_inside_line(); }

 private:
  // False: the record is no alignment.
  bool convert(Overlap& o) const {
    const bam1_core_t& core = record_->core;
    if ((core.flag & BAM_FUNMAP) != 0 || core.tid < 0 || core.pos < 0 || core.n_cigar == 0) return false;
    const std::uint32_t* cigar = bam_get_cigar(record_.get());
    std::int64_t before = 0, after = 0, on_query = 0, on_target = 0;
    o = {};
    for (std::uint32_t i = 0; i < core.n_cigar; ++i) {
      const std::uint32_t operation = bam_cigar_op(cigar[i]);
      const std::uint32_t length = bam_cigar_oplen(cigar[i]);
      if (operation == BAM_CSOFT_CLIP || operation == BAM_CHARD_CLIP) (on_query == 0 && on_target == 0 ? before : after) += length;
      const int consumes = bam_cigar_type(operation);
      if (operation == BAM_CSOFT_CLIP || (consumes & 3) == 0 || length == 0) continue;
      if ((consumes & 1) != 0) on_query += length;
      if ((consumes & 2) != 0) on_target += length;
      o.cigar.push_back(bam_cigar_gen(length, consumes == 3 ? BAM_CMATCH : consumes == 1 ? BAM_CINS : BAM_CDEL));
    }
    if (o.cigar.empty()) return false;
    o.query = bam_get_qname(record_.get());
    o.target = sam_hdr_tid2name(header_.get(), core.tid);
    o.query_length = before + on_query + after;
    o.target_length = sam_hdr_tid2len(header_.get(), core.tid);
    o.is_reverse = bam_is_rev(record_.get());
    o.query_start = o.is_reverse ? after : before;
    o.query_end = o.query_start + on_query;
    o.target_start = core.pos;
    o.target_end = core.pos + on_target;
    return true;
  }
  hts::File file_;
  hts::Header header_;
  hts::Record record_;
  std::optional<hts::RecordsInOrder> records_;
};

}  // namespace

std::unique_ptr<OverlapFile> open_overlap_file(const std::string& path, FileFormat format) {
  hts::silence();
  hFILE* opened = hts::open_input(path);
  if (opened == nullptr) throw Failure::input("cannot open '" + path + "': " + std::strerror(errno), "check the path of the overlaps");
  htsFormat content{};
  const bool known = hts_detect_format(opened, &content) == 0;
  const bool alignments = known && content.category == sequence_data && (content.format == bam || content.format == sam || content.format == cram);
  if (format == FileFormat::sam || (format == FileFormat::automatic && alignments)) return std::make_unique<AlignmentOverlaps>(path, opened);
  hts::Bgzf text(bgzf_hopen(opened, "r"));
  if (!text) throw Failure::input("'" + path + "' is neither plain nor gzip text", "give a PAF, MHAP, SAM or BAM file");
  return std::make_unique<TextOverlaps>(path, std::move(text), format);
}

}  // namespace sluice::overlap_reader
