// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A BAM, SAM or CRAM file, or the part of one that overlaps regions, record by record. Throws sluice::Failure (input) naming the file.

#include <htslib/hts.h>
#include <htslib/sam.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <sluice/failure.hpp>
#include <sluice/hts/alignment_record.hpp>
#include <sluice/hts/bam_part.hpp>
#include <sluice/hts/bam_text.hpp>
#include <sluice/hts/basecaller_tags.hpp>
#include <sluice/hts/cram_reference.hpp>
#include <sluice/hts/handles.hpp>
#include <sluice/hts/input_end.hpp>
#include <sluice/hts/sam_lines.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "alignment_reader/index_check.hpp"
#include "alignment_reader/regions.hpp"

namespace sluice::alignment_reader {

using hts::AlignmentRecord, hts::BamText, hts::ParallelFor;

struct OpenOptions {
  std::string path;              // "-": standard input
  std::string reference;         // for CRAM; "": what the file itself says
  std::string region;            // "": all; "contig" or "contig:first-last", 1-based, both inclusive
  std::string bed;               // "": all; a BED file of regions
  int threads = 0;               // further threads of HTSlib for decompression
  bool grows = false;            // it is BAM that is being written, until end_here()
  std::size_t window_bytes = 0;  // compressed bytes of a BAM file to read at a time; 0: as many as give each thread something to do
};

struct Contig {
  std::string name;
  std::int64_t length = 0;  // bases
};

// Between two records of a file: of BAM a virtual offset, of SAM that is plain text a byte; and how many records were read before it.
struct RecordMark {
  std::uint64_t place = 0, read = 0;
};

class AlignmentFile {
 public:
  explicit AlignmentFile(const OpenOptions& options);
  // Before the first record: only those that begin in a range of the file's bytes (with a region and an index: that end there), or none. Of SAM
  // that is compressed and of CRAM a range is all or nothing.
  enum class Numbering : std::uint8_t {
    all,       // what lies before is read, too, for take_passed()
    of_range,  // it is not
  };
  void set_range(std::optional<ByteRange> range, Numbering numbering, const hts::RecordSearchRules& rules = {});
  bool can_be_cut() const { return has_blocks() || is_plain_sam(); }
  // Goes on where mark() or last_mark() said, at the next record or at the last that next() gave.
  void begin_at(RecordMark mark);
  RecordMark mark() { return placed(here()); }
  RecordMark last_mark() { return placed(last_); }
  // Records before the range that next() would have given, since this was last asked.
  std::uint64_t take_passed() { return std::exchange(passed_, 0); }
  std::uint64_t passed() const { return passed_; }
  ~AlignmentFile();
  AlignmentFile(const AlignmentFile&) = delete;

  const std::string& path() const { return path_; }
  sam_hdr_t& header() const { return *header_; }
  // What knows its header.
  const std::shared_ptr<const hts::BasecallerTags>& basecaller_tags() {
    if (!basecaller_tags_) basecaller_tags_ = std::make_shared<const hts::BasecallerTags>(*header_);
    return basecaller_tags_;
  }
  bool sorted_by_coordinate() const;  // says its header
  std::vector<Contig> contigs() const;
  const char* contig_name(int contig) const { return sam_hdr_tid2name(header_.get(), contig); }
  const std::optional<Regions>& regions() const { return regions_; }
  // What the user should be told about the index; "" if nothing.
  const std::string& note() const { return note_; }
  // Since this was last asked: what is to be warned of, regions first, then records; "" if nothing.
  std::string take_warning();

  // The next record of the file or the region; nullptr at the end. Valid until the next call.
  const bam1_t* next();
  // The same records in the same order, those of a BAM file inflated and looked at on several threads. One file is read in one of the two ways.
  const AlignmentRecord* next(const ParallelFor& parallel_for, int threads);
  // Of a file that grows: it is as long as it will be.
  void end_here();
  // Has next() given null because there are no more whole records yet?
  bool waits() const { return waits_; }
  // Bytes of the file that have been read; < 0: unknown.
  std::int64_t consumed() const { return text_ ? text_->file_offset() : -1; }
  // Records given so far, and their bytes with those outside the region.
  std::uint64_t visited() const { return visited_; }
  // At the end of a file that was read from its beginning on: what the user should be warned of; "": nothing.
  std::string end_warning() const;
  std::uint64_t visited_bytes() const { return visited_bytes_; }
  // Share of the file's bytes that has been read, 0 to 1; < 0: unknown (a pipe, a region, a text file).
  double share_read() const;
  // What it keeps, in bytes.
  std::uint64_t memory() const { return text_ ? text_->memory() : 0; }
  // Records outside the region that were read without an index.
  std::uint64_t outside_region() const { return outside_region_; }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& remedy) const;
  [[noreturn]] void fail_damaged(const std::string& problem = {}) const;
  bool has_blocks() const;
  bool is_plain_sam() const;
  RecordMark here() const;
  RecordMark placed(RecordMark mark);
  bool read_record();
  void seek(std::uint64_t place);
  void skip_chunks(std::uint64_t place);
  hts::BamPart::Where where(RecordMark mark);
  bool is_passed(hts::BamPart::Where where) const { return where == hts::BamPart::Where::before || read_ <= first_read_; }
  void pass(bool is_in_region);
  void open_regions();
  void say(const std::string& note);
  IndexedFile indexed_file() const;
  bool load_index();
  bool build_index(const std::string& index_path, int shift);
  bool take_index(const std::string& index_path);

  std::string path_, fasta_;
  hts::File file_;
  hts::Header header_;
  std::shared_ptr<const hts::BasecallerTags> basecaller_tags_;
  hts::Record record_;
  std::optional<hts::CramReference> reference_;  // of CRAM that an iterator reads
  std::optional<hts::RecordsInOrder> in_order_;
  hts::Index index_;
  hts::Iterator iterator_;
  std::optional<Regions> regions_;
  std::string note_, warning_, bed_warning_;
  std::uint64_t taken_as_unmapped_ = 0;  // of SAM: HTSlib sets their flag
  std::string first_unmapped_;
  std::int64_t file_bytes_ = 0;  // 0: no regular file
  std::uint64_t visited_ = 0, visited_bytes_ = 0, outside_region_ = 0;
  std::size_t window_bytes_ = 0;
  int growing_ = -1;  // descriptor of a file that has grown
  bool begun_ = false, grows_ = false, waits_ = false;
  std::optional<BamText> text_;
  AlignmentRecord by_htslib_;

  ByteRange range_;
  std::optional<hts::BamPart> part_;  // of BAM that is read without an index
  RecordMark last_;
  std::uint64_t read_ = 0, passed_ = 0;
  std::uint64_t first_read_ = 0, end_read_ = std::numeric_limits<std::uint64_t>::max();  // of the records of the file: the range
  std::optional<hts::SamLines> lines_;                                                   // of plain SAM
  RecordMark lines_at_;                                                                  // what they have been counted up to
};

// Compares the header's contigs with those of a reference ("" if they fit): the first contig that the reference lacks or has in another length.
std::string contig_mismatch(const std::vector<Contig>& alignment, const std::vector<Contig>& reference);

}  // namespace sluice::alignment_reader
