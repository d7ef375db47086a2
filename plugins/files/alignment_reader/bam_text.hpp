// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The records of a BAM file in windows of some MiB: blocks are read in order and inflated beside each other, records are found in order by their
// lengths and looked at beside each other.

#include <htslib/bgzf.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <sluice/call.hpp>
#include <sluice/hts/bgzf_block.hpp>
#include <vector>

#include "alignment_reader/alignment_record.hpp"

namespace sluice::alignment_reader {

// body(begin, end) over parts of [0, count), each about `grain` long, on any thread and in any order; back when all are done.
using ParallelFor = std::function<void(std::size_t count, std::size_t grain, const std::function<void(std::size_t, std::size_t)>& body)>;

class BamText {
 public:
  // `file` stands behind the header and has read nothing but blocks. Windows are of so many compressed bytes.
  BamText(BGZF* file, int contigs, std::size_t window_bytes);

  enum class Outcome : std::uint8_t {
    record,
    end,
    end_without_mark,  // the file lacks its empty block at the end
    damaged,
  };
  // On `record`, `found` is the next one; its memory stays as long as somebody has it.
  Outcome next(const ParallelFor& parallel_for, const AlignmentRecord*& found);
  // Where the first record begins that next() has not given: a virtual file offset.
  std::int64_t position() const;
  // The last that has been read of the file: its offset.
  std::int64_t file_offset() const { return next_block_; }
  std::uint64_t memory() const { return memory_; }

 private:
  struct Block {
    std::size_t begin, bytes;      // in compressed_
    std::size_t text, text_bytes;  // in the text of all these blocks
    std::int64_t file_offset;
  };
  struct Window {
    std::unique_ptr<char[]> text;
    std::size_t capacity = 0;
  };
  // From here on, up to the next one, the text is a block's.
  struct Origin {
    std::size_t text;    // place in the window
    std::int64_t block;  // file offset
    std::size_t within;  // place in the block's text
  };
  struct Place {
    std::size_t begin, bytes;  // in the text, without the four bytes of its length
  };
  void next_window(const ParallelFor& parallel_for);
  void read_blocks(std::size_t wanted);
  bool read_compressed();
  void remember_origins();
  std::shared_ptr<Window> window_of(std::size_t bytes);
  void find_records(std::size_t text_bytes);

  BGZF* file_;
  int contigs_;
  std::size_t window_bytes_;
  std::vector<char> compressed_;
  std::size_t used_ = 0, filled_ = 0;  // of compressed_
  std::int64_t next_block_;            // file offset of compressed_[used_], or of the block that is damaged
  bool ended_ = false, broken_ = false;
  bool last_was_empty_;  // the last block
  std::vector<Block> blocks_;

  std::vector<std::shared_ptr<Window>> windows_;  // this one, those of which somebody has records, and some to be used again
  std::shared_ptr<Window> window_;
  std::size_t rest_begin_ = 0, rest_bytes_ = 0;  // of its text: what no whole record has
  std::size_t needed_ = 0;                       // bytes of the record that the rest begins with, as far as they are known
  std::vector<Origin> origins_;                  // of its text, in order
  std::vector<Place> places_;
  std::vector<AlignmentRecord> records_;
  std::vector<RecordOutcome> outcomes_;
  std::size_t given_ = 0;
  std::optional<Outcome> final_;  // what comes behind the records of the window
  std::uint64_t memory_ = 0;
  Workspaces<hts::BgzfInflater> inflaters_;
};

}  // namespace sluice::alignment_reader
