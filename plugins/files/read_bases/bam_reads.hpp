// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The reads of a BAM, SAM or CRAM file in file order, in batches. Of BAM only the boundaries of blocks and records are found in order; the rest, and
// the columns of some batches at once, are made on all threads. SAM and CRAM are read by HTSlib.

#include <htslib/sam.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <optional>
#include <sluice/column.hpp>
#include <sluice/hts/alignment_record.hpp>
#include <sluice/hts/bam_part.hpp>
#include <sluice/hts/bam_text.hpp>
#include <sluice/hts/basecaller_tags.hpp>
#include <sluice/hts/handles.hpp>
#include <sluice/hts/input_end.hpp>
#include <sluice/hts/sam_lines.hpp>
#include <string>
#include <vector>

#include "read_bases/sam_tags.hpp"

namespace sluice::read_bases {

// Between two records: of BAM a virtual offset, of SAM that is plain text a byte, else as many records as are before it.
struct RecordMark {
  std::uint64_t place = 0, records = 0;
};

struct BamBatch {
  std::int64_t rows = 0;
  std::uint64_t bases_in_all = 0;
  Buffer name_ends, names, base_ends, bases;
  Buffer quality_ends, qualities;                       // if they are wanted
  Buffer comment_ends, comments;                        // likewise: the tags, as SAM has them
  Buffer tag_ends, tags;                                // likewise: as BAM has them
  Buffer basecaller_tag_ends, basecaller_tags;          // likewise
  std::vector<std::string> without_bases, not_primary;  // records that are no rows
  std::vector<std::string> with_damaged_tags;           // rows
  RecordMark begin;                                     // of the first record, be it a row or not
};

class BamReads {
 public:
  // `opened` is `path`. Throws Failure (input), also next().
  struct Wanted {
    bool qualities = true, comments = false;
    const TagChoice* tags = nullptr;  // null: not at all
    bool basecaller_tags = false;
  };
  // has_ended: it was followed, and who follows files says how they end.
  enum class Growth : std::uint8_t { none, possible, has_ended };
  BamReads(hFILE* opened, std::string path, Wanted wanted, int threads, Growth growth = Growth::none);
  // Before the first batch: only the records that begin in a range of a file (BAM, plain SAM); those from a place that next_place() said.
  void set_range(ByteRange range, const hts::RecordSearchRules& rules = {});
  void begin_at(RecordMark mark);
  RecordMark next_place();
  ~BamReads();
  BamReads(const BamReads&) = delete;

  struct Sizes {
    double work = 0;  // a batch ends with the read that reaches this or `bytes`; a read of so many bases travels alone
    std::uint64_t bytes = 0;
    std::size_t batches = 1;       // that are made at once
    std::size_t window_bytes = 0;  // of a BAM file, to be read at a time
  };
  // The next one; none: that was all, all that is there yet, or `cancelled`.
  std::optional<BamBatch> next(const Sizes& sizes, const MemorySource& memory, const hts::ParallelFor& parallel_for,
                               const std::function<bool()>& cancelled);
  sam_hdr_t& header() { return *header_; }
  // The file (BAM) does not grow any more.
  void end_here();
  bool ended() const { return ready_.empty() && ended_; }
  // Then: of records from the beginning of the file; does it end inside a line?
  std::uint64_t records() const { return records_; }
  bool ends_inside_line() const { return in_order_ && in_order_->ends_inside_line(); }
  // Bytes of the file that have been read; < 0: unknown.
  std::int64_t consumed() const;
  std::uint64_t kept_bytes() const { return text_ ? text_->memory() : 0; }

 private:
  // A batch that is about to be made.
  struct Rows {
    std::vector<hts::AlignmentRecord> records;
    std::vector<std::string> comments, tags, basecaller_tags;
    std::vector<std::string> without_bases, not_primary, with_damaged_tags;
    RecordMark begin;
    bool is_empty() const { return records.empty() && without_bases.empty() && not_primary.empty(); }
  };
  const hts::AlignmentRecord* next_record(const Sizes& sizes, const hts::ParallelFor& parallel_for);
  const hts::AlignmentRecord* next_of_file(const Sizes& sizes, const hts::ParallelFor& parallel_for);
  const hts::AlignmentRecord* next_by_htslib();
  bool has_blocks() const { return file_->format.format == bam && file_->format.compression == bgzf; }
  bool is_plain_sam() const { return file_->format.format == sam && file_->format.compression == no_compression; }
  void seek(std::uint64_t place);
  RecordMark mark();
  Rows next_rows(const Sizes& sizes, const hts::ParallelFor& parallel_for, const std::function<bool()>& cancelled);
  BamBatch make_columns(Rows& rows, const MemorySource& memory) const;
  void copy(const hts::AlignmentRecord& record, std::size_t row, const BamBatch& batch) const;
  [[noreturn]] void fail_damaged(const std::string& problem = {}) const;

  std::string path_;
  Wanted wanted_;
  hts::File file_;
  hts::Header header_;
  hts::BasecallerTags basecaller_tags_;  // if they are wanted
  int growing_ = -1;                     // descriptor of a file that grows
  bool is_followed_;
  bool begun_ = false, waits_ = false, ended_ = false;
  std::optional<hts::BamText> text_;
  std::optional<hts::RecordsInOrder> in_order_;  // by HTSlib
  hts::AlignmentRecord read_;                    // of these
  std::optional<hts::AlignmentRecord> ahead_;    // in no batch yet
  RecordMark ahead_begin_;
  std::optional<hts::BamPart> part_;    // of BAM
  std::optional<hts::SamLines> lines_;  // of plain SAM
  RecordMark lines_at_;                 // what they have been counted up to
  std::uint64_t most_records_ = std::numeric_limits<std::uint64_t>::max();
  std::exception_ptr failure_;  // behind ready_
  std::uint64_t records_ = 0;
  std::deque<BamBatch> ready_;
};

}  // namespace sluice::read_bases
