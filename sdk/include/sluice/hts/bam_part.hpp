// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The records of a BAM file that begin in a range of its bytes, which is: in its blocks that begin there. Records have no mark by which they could be
// found, so one is looked for that is followed by others; where nothing is found, or little lies before, the file is read from its first record.
// Whoever reads the part before finds the records for certain, and compares: so nothing found wrongly goes unnoticed. The user links libdeflate.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <sluice/failure.hpp>
#include <sluice/hts/alignment_record.hpp>
#include <sluice/hts/bgzf_search.hpp>
#include <sluice/input_part.hpp>
#include <string>
#include <utility>
#include <vector>

namespace sluice::hts {

struct RecordSearchRules {
  std::uint64_t exact_below = std::uint64_t{1} << 20;  // compressed bytes before the range: rather read than looked through
  std::uint64_t look_back = std::uint64_t{1} << 18;    // at first
  std::size_t records = 4;                             // that follow each other
};

// Text of blocks from one on, as much as is asked for.
class InflatedBlocks {
 public:
  InflatedBlocks(int descriptor, std::uint64_t begin) : descriptor_(descriptor), next_(begin) {}
  // At least so many bytes of text; false: there are no more whole blocks.
  bool reach(std::size_t bytes) {
    while (text_.size() < bytes)
      if (!add_block()) return false;
    return true;
  }
  const std::vector<std::uint8_t>& text() const { return text_; }
  std::int64_t virtual_offset(std::size_t at) const {
    const auto behind = std::upper_bound(begins_.begin(), begins_.end(), at, [](std::size_t place, const auto& b) { return place < b.first; });
    return (static_cast<std::int64_t>(std::prev(behind)->second) << 16) + static_cast<std::int64_t>(at - std::prev(behind)->first);
  }

 private:
  bool add_block() {
    std::vector<char> block(BgzfBlock::most_bytes);
    const std::size_t there = read_at(descriptor_, next_, block.data(), block.size());
    const std::size_t bytes = there < BgzfBlock::header_bytes ? 0 : BgzfBlock::bytes(block.data());
    if (bytes == 0 || bytes > there) return false;
    const std::size_t before = text_.size(), text_bytes = BgzfBlock::text_bytes({block.data(), bytes});
    if (text_bytes > BgzfBlock::most_bytes) return false;
    text_.resize(before + text_bytes);
    if (!inflater_.inflate({block.data(), bytes}, reinterpret_cast<char*>(text_.data()) + before, text_bytes)) return text_.resize(before), false;
    if (text_bytes > 0) begins_.emplace_back(before, next_);
    next_ += bytes;
    return true;
  }
  int descriptor_;
  std::uint64_t next_;
  BgzfInflater inflater_;
  std::vector<std::uint8_t> text_;
  std::vector<std::pair<std::size_t, std::uint64_t>> begins_;  // of blocks: in the text, in the file
};

// Are these all bytes of tags as BAM has them, up to the end?
inline bool are_tags(std::span<const std::uint8_t> bytes) {
  const auto size_of = [](std::uint8_t type) -> std::size_t {
    return type == 'A' || type == 'c' || type == 'C' ? 1 : type == 's' || type == 'S' ? 2 : type == 'i' || type == 'I' || type == 'f' ? 4 : 0;
  };
  const auto is_letter = [](std::uint8_t c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
  std::size_t at = 0;
  while (at < bytes.size()) {
    if (bytes.size() - at < 4 || !is_letter(bytes[at])) return false;
    const std::uint8_t type = bytes[at + 2];
    at += 3;
    if (type == 'Z' || type == 'H') {
      const auto end = std::find(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end(), 0);
      if (end == bytes.end()) return false;
      at = static_cast<std::size_t>(end - bytes.begin()) + 1;
    } else if (type == 'B') {
      if (bytes.size() - at < 5 || size_of(bytes[at]) == 0 || bytes[at] == 'A') return false;
      const std::uint64_t all = 5 + std::uint64_t{record_detail::load<std::uint32_t>(bytes.data() + at + 1)} * size_of(bytes[at]);
      if (all > bytes.size() - at) return false;
      at += static_cast<std::size_t>(all);
    } else {
      if (size_of(type) == 0 || size_of(type) > bytes.size() - at) return false;
      at += size_of(type);
    }
  }
  return true;
}

// Does a sound record of so many bytes lie here? Stricter than HTSlib, which reads what nobody writes.
inline bool is_sound_record(std::span<const std::uint8_t> bytes, int contigs) {
  AlignmentRecord record;
  if (parse_record(bytes, contigs, record) == RecordOutcome::damaged) return false;
  const std::size_t name_bytes = bytes[8], fields = record_detail::field_bytes;
  const auto flag = record_detail::load<std::uint16_t>(bytes.data() + 14);
  if (name_bytes < 2 || flag >= 4096 || bytes[fields + name_bytes - 1] != 0 || record_detail::load<std::int32_t>(bytes.data() + 4) < -1) return false;
  const auto name = bytes.subspan(fields, name_bytes - 1);
  if (!std::all_of(name.begin(), name.end(), [](std::uint8_t c) { return c >= '!' && c <= '~'; })) return false;
  const std::size_t operations = record_detail::load<std::uint16_t>(bytes.data() + 12);
  const auto bases = static_cast<std::size_t>(record_detail::load<std::int32_t>(bytes.data() + 16));
  for (std::size_t i = 0; i < operations; ++i)
    if (bam_cigar_op(record_detail::load<std::uint32_t>(bytes.data() + fields + name_bytes + 4 * i)) > BAM_CBACK) return false;
  return are_tags(bytes.subspan(fields + name_bytes + 4 * operations + (bases + 1) / 2 + bases));
}

// Where a record begins before `from`, as a virtual offset; none: read from the first record on.
inline std::optional<std::int64_t> find_bam_record(int descriptor, std::uint64_t from, int contigs, const RecordSearchRules& rules) {
  constexpr std::size_t length_bytes = 4, least_bytes = 36, most_looked_through = std::size_t{32} << 20;
  if (from <= rules.exact_below) return std::nullopt;
  for (std::uint64_t back = rules.look_back; back < from && back <= most_looked_through; back *= 8) {
    const std::optional<std::uint64_t> block = find_bgzf_block(descriptor, from - back);
    if (!block || *block > from) continue;
    InflatedBlocks blocks(descriptor, *block);
    for (std::size_t first = 0; first < most_looked_through && blocks.reach(first + least_bytes); ++first) {
      std::size_t at = first, records = 0;
      for (; records < rules.records && blocks.reach(at + least_bytes); ++records) {
        const auto stated = record_detail::load<std::int32_t>(blocks.text().data() + at);
        const auto bytes = static_cast<std::size_t>(std::max(stated, 0));
        if (!is_possible(blocks.text().data() + at + length_bytes, bytes) || bytes > most_looked_through) break;
        if (!blocks.reach(at + length_bytes + bytes)) break;
        if (!is_sound_record(std::span(blocks.text()).subspan(at + length_bytes, bytes), contigs)) break;
        at += length_bytes + bytes;
      }
      if (records < rules.records) continue;
      const std::int64_t found = blocks.virtual_offset(first);
      if (static_cast<std::uint64_t>(found) >> 16 < from) return found;
      break;  // there may be one between, which is not as sound
    }
  }
  return std::nullopt;
}

class BamPart {
 public:
  // The file has so many contigs. `first_record`: its virtual offset.
  BamPart(std::string path, ByteRange range, int contigs, std::int64_t first_record, RecordSearchRules rules = {})
      : path_(std::move(path)), range_(range), start_(first_record) {
    const int descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    if (range.begin > 0) start_ = std::max(first_record, find_bam_record(descriptor, range.begin, contigs, rules).value_or(first_record));
    if (range.end != ByteRange::no_end) expected_ = find_bam_record(descriptor, range.end, contigs, rules);
    // Whichever comes first must lead to the other.
    if (expected_ && *expected_ < start_) std::swap(*expected_, start_);
    ::close(descriptor);
  }
  // Where to begin to read.
  std::int64_t start() const { return start_; }
  // Reading begins further on.
  void begin_at(std::int64_t record) {
    if (expected_ && *expected_ < record) expected_.reset();
  }
  // Does whatever comes next, from this place on, lie behind the part?
  bool is_behind(std::int64_t next) {
    const bool behind = static_cast<std::uint64_t>(next) >> 16 >= range_.end;
    if (behind && expected_) fail();
    return behind;
  }
  enum class Where : std::uint8_t { before, within, behind };
  // Of the records in turn, where they begin. What is within is of the part.
  Where where(std::int64_t record) {
    if (expected_ && record >= *expected_) {
      if (record != *expected_) fail();
      expected_.reset();
    }
    const auto block = static_cast<std::uint64_t>(record) >> 16;
    return block < range_.begin ? Where::before : block < range_.end ? Where::within : Where::behind;
  }

 private:
  [[noreturn]] void fail() const {
    throw Failure::input("'" + path_ + "' can't be cut at byte " + std::to_string(range_.end) + ": what lies there looks like other records",
                         "choose another number of parts");
  }
  std::string path_;
  ByteRange range_;
  std::int64_t start_;
  std::optional<std::int64_t> expected_;  // a record that must begin there: where the part behind this one is read from
};

}  // namespace sluice::hts
