// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The records of a BAM file in windows of some MiB: blocks are read in order and inflated beside each other, records are found in order by their
// lengths and looked at beside each other. The user links libdeflate.

#include <htslib/bgzf.h>
#include <htslib/hfile.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <sluice/call.hpp>
#include <sluice/hts/alignment_record.hpp>
#include <sluice/hts/bgzf_block.hpp>
#include <string>
#include <utility>
#include <vector>

namespace sluice::hts {

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
    nothing_yet,  // only of a file that grows
  };
  // On `record`, `found` is the next one; its memory stays as long as somebody has it.
  Outcome next(const ParallelFor& parallel_for, const AlignmentRecord*& found);
  // Behind the last record that next() gave: what is wrong with the one that made it `damaged`; "": the file breaks there.
  std::string problem() const;
  // From now on the file is read by this descriptor (which stays the caller's) and grows, until it is said that it does not.
  void follow(int descriptor) { descriptor_ = descriptor, grows_ = true; }
  void end_here() { grows_ = false; }
  // Where the first record begins that next() has not given: a virtual file offset.
  std::int64_t position() const;
  // Where the record begins that next() gave last. Unlike position() never at a block without text.
  std::int64_t last_position() const { return virtual_offset(places_[given_ - 1].begin - length_bytes); }
  // The last that has been read of the file: its offset.
  std::int64_t file_offset() const { return next_block_; }
  std::uint64_t memory() const { return memory_; }

 private:
  static constexpr std::size_t length_bytes = 4;  // what stands in front of a record
  static constexpr std::size_t least_record_bytes = 32;
  // Blocks of 64 KiB take 0.1 to 0.2 ms, records of 8 kb some microseconds: parts of a quarter of a millisecond.
  static constexpr std::size_t blocks_at_once = 2, records_at_once = 32;
  static constexpr std::size_t spare_windows = 2;
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
  std::int64_t virtual_offset(std::size_t begin) const;  // of a place in the window

  BGZF* file_;
  int contigs_;
  std::size_t window_bytes_;
  int descriptor_ = -1;  // of a file that grows
  bool grows_ = false;
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
  Workspaces<BgzfInflater> inflaters_;
};

inline BamText::BamText(BGZF* file, int contigs, std::size_t window_bytes)
    : file_(file), contigs_(contigs), window_bytes_(window_bytes), next_block_(htell(file->fp)), last_was_empty_(file->last_block_eof != 0) {
  // What HTSlib has inflated behind the header.
  rest_bytes_ = static_cast<std::size_t>(std::max(file->block_length - file->block_offset, 0));
  const auto begin = static_cast<std::size_t>(file->block_offset);
  window_ = window_of(rest_bytes_);
  if (rest_bytes_ > 0) std::memcpy(window_->text.get(), static_cast<const char*>(file->uncompressed_block) + begin, rest_bytes_);
  origins_ = {{0, file->block_address, begin}};
}

inline BamText::Outcome BamText::next(const ParallelFor& parallel_for, const AlignmentRecord*& found) {
  while (true) {
    if (given_ < records_.size()) {
      if (outcomes_[given_] != RecordOutcome::fine) return Outcome::damaged;
      found = &records_[given_++];
      return Outcome::record;
    }
    if (final_) return *final_;
    next_window(parallel_for);
    if (grows_ && !final_ && blocks_.empty() && records_.empty()) return Outcome::nothing_yet;
  }
}

inline std::string BamText::problem() const {
  if (given_ >= records_.size()) return {};
  // What can't be a record has no name, and no others are looked at behind it.
  const AlignmentRecord& record = records_[given_];
  return record.rest == nullptr ? std::string() : contradiction_of(record.core, record.name, record.rest, contigs_);
}

inline std::int64_t BamText::position() const {
  const std::size_t begin = given_ < places_.size() ? places_[given_].begin - length_bytes : rest_begin_;
  if (given_ == places_.size() && rest_bytes_ == 0) return next_block_ << 16;
  return virtual_offset(begin);
}

inline std::int64_t BamText::virtual_offset(std::size_t begin) const {
  const auto behind = std::upper_bound(origins_.begin(), origins_.end(), begin, [](std::size_t at, const Origin& o) { return at < o.text; });
  const Origin& origin = *std::prev(behind);
  return (origin.block << 16) + static_cast<std::int64_t>(origin.within + begin - origin.text);
}

inline bool BamText::read_compressed() {
  if (ended_) return false;
  compressed_.resize(std::max(compressed_.size(), filled_ + window_bytes_));
  char* const to = compressed_.data() + filled_;
  const ssize_t got = descriptor_ < 0 ? bgzf_raw_read(file_, to, window_bytes_)
                                      : ::pread(descriptor_, to, window_bytes_, next_block_ + static_cast<std::int64_t>(filled_ - used_));
  if (got < 0) broken_ = true;
  const std::size_t taken = got < 0 ? 0 : static_cast<std::size_t>(got);
  filled_ += taken;
  ended_ = descriptor_ < 0 ? taken < window_bytes_ : !grows_ && taken == 0;
  return taken > 0;
}

// Blocks of a buffer, and of as many more as have `wanted` bytes of text.
inline void BamText::read_blocks(std::size_t wanted) {
  blocks_.clear();
  if (used_ < filled_) std::memmove(compressed_.data(), compressed_.data() + used_, filled_ - used_);
  filled_ -= std::exchange(used_, 0);
  if (compressed_.size() > 4 * window_bytes_ && filled_ <= window_bytes_)
    compressed_ = {compressed_.begin(), compressed_.begin() + static_cast<std::ptrdiff_t>(filled_)};
  std::size_t text = 0;
  while (!broken_) {
    const std::size_t left = filled_ - used_;
    const std::size_t bytes = left < BgzfBlock::header_bytes ? 0 : BgzfBlock::bytes(compressed_.data() + used_);
    if (left >= BgzfBlock::header_bytes && bytes == 0) {
      broken_ = true;
    } else if (bytes == 0 || bytes > left) {
      if (!blocks_.empty() && text >= wanted) return;
      if (!read_compressed()) {
        broken_ = broken_ || (left > 0 && !grows_);
        return;
      }
    } else {
      const std::size_t text_bytes = BgzfBlock::text_bytes({compressed_.data() + used_, bytes});
      if (text_bytes > BgzfBlock::most_bytes) {
        broken_ = true;
        return;
      }
      blocks_.push_back({used_, bytes, text, text_bytes, next_block_});
      used_ += bytes;
      next_block_ += static_cast<std::int64_t>(bytes);
      text += text_bytes;
    }
  }
}

inline std::shared_ptr<BamText::Window> BamText::window_of(std::size_t bytes) {
  // Those that are not used any more, but for some of about this size.
  std::size_t spare = 0;
  std::erase_if(windows_, [&](const std::shared_ptr<Window>& window) {
    return window.use_count() == 1 && (++spare > spare_windows || window->capacity / 4 > bytes + window_bytes_);
  });
  const auto found = std::find_if(windows_.begin(), windows_.end(),
                                  [&](const std::shared_ptr<Window>& window) { return window.use_count() == 1 && window->capacity >= bytes; });
  if (found != windows_.end()) return *found;
  auto window = std::make_shared<Window>();
  window->capacity = bytes + bytes / 4;
  window->text = std::make_unique_for_overwrite<char[]>(window->capacity);
  return windows_.emplace_back(std::move(window));
}

inline void BamText::next_window(const ParallelFor& parallel_for) {
  records_.clear();
  outcomes_.clear();
  places_.clear();
  given_ = 0;
  read_blocks(std::max(needed_, rest_bytes_) - rest_bytes_);

  const std::size_t new_bytes = blocks_.empty() ? 0 : blocks_.back().text + blocks_.back().text_bytes;
  const std::shared_ptr<Window> old = std::move(window_);
  window_ = window_of(rest_bytes_ + new_bytes);
  char* const text = window_->text.get();
  std::memcpy(text, old->text.get() + rest_begin_, rest_bytes_);
  std::vector<char> failed(blocks_.size());
  parallel_for(blocks_.size(), blocks_at_once, [&](std::size_t begin, std::size_t end) {
    const auto inflater = inflaters_.take();
    for (std::size_t i = begin; i < end; ++i) {
      const Block& block = blocks_[i];
      failed[i] = inflater->inflate({compressed_.data() + block.begin, block.bytes}, text + rest_bytes_ + block.text, block.text_bytes) ? 0 : 1;
    }
  });
  const auto whole = static_cast<std::size_t>(std::find(failed.begin(), failed.end(), 1) - failed.begin());
  if (whole < blocks_.size()) {
    broken_ = true;
    next_block_ = blocks_[whole].file_offset;
    blocks_.resize(whole);
  }
  remember_origins();
  if (!blocks_.empty()) last_was_empty_ = blocks_.back().text_bytes == 0;
  const std::size_t text_bytes = rest_bytes_ + (blocks_.empty() ? 0 : blocks_.back().text + blocks_.back().text_bytes);

  find_records(text_bytes);
  records_.resize(places_.size());
  outcomes_.resize(places_.size());
  parallel_for(places_.size(), records_at_once, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(text) + places_[i].begin, places_[i].bytes);
      records_[i].memory = window_;
      outcomes_[i] = parse_record(bytes, contigs_, records_[i]);
      if (outcomes_[i] == RecordOutcome::unusual)
        outcomes_[i] = parse_by_htslib(bytes, contigs_, records_[i]) ? RecordOutcome::fine : RecordOutcome::damaged;
    }
  });
  if (broken_ || (ended_ && used_ == filled_ && rest_bytes_ > 0))
    final_ = Outcome::damaged;
  else if (ended_ && used_ == filled_)
    final_ = last_was_empty_ ? Outcome::end : Outcome::end_without_mark;

  memory_ = compressed_.capacity();
  for (const std::shared_ptr<Window>& window : windows_) memory_ += window->capacity;
}

// The text of the last window's rest is the beginning of the new one's.
inline void BamText::remember_origins() {
  const auto behind = std::upper_bound(origins_.begin(), origins_.end(), rest_begin_, [](std::size_t at, const Origin& o) { return at < o.text; });
  origins_.erase(origins_.begin(), std::prev(behind));
  for (Origin& origin : origins_) {
    if (origin.text < rest_begin_) origin.within += rest_begin_ - origin.text;
    origin.text = std::max(origin.text, rest_begin_) - rest_begin_;
  }
  for (const Block& block : blocks_) origins_.push_back({rest_bytes_ + block.text, block.file_offset, 0});
}

inline void BamText::find_records(std::size_t text_bytes) {
  const auto* text = reinterpret_cast<const std::uint8_t*>(window_->text.get());
  std::size_t at = 0;
  needed_ = 0;
  while (text_bytes - at >= length_bytes) {
    std::int32_t stated = 0;
    std::memcpy(&stated, text + at, sizeof stated);
    const auto bytes = static_cast<std::size_t>(std::max(stated, 0));
    const std::size_t there = text_bytes - at - length_bytes;
    if (bytes < least_record_bytes || (there >= least_record_bytes && !is_possible(text + at + length_bytes, bytes))) {
      broken_ = true;
      break;
    }
    if (bytes > there) {
      // Before it is known to be one, no more than its first fields.
      needed_ = length_bytes + (there >= least_record_bytes ? bytes : least_record_bytes);
      break;
    }
    places_.push_back({at + length_bytes, bytes});
    at += length_bytes + bytes;
  }
  rest_begin_ = at;
  rest_bytes_ = text_bytes - at;
}

}  // namespace sluice::hts
