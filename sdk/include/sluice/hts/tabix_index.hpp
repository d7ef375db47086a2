// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The index that tabix makes of a table in BGZF, made while the table is written: .tbi, or .csi where positions reach beyond 2^29. Lines that don't
// come sorted by contig and position have none.

#include <htslib/hts.h>
#include <htslib/tbx.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <deque>
#include <sluice/call.hpp>
#include <sluice/failure.hpp>
#include <sluice/hts/bam_index.hpp>
#include <sluice/hts/bgzf_writer.hpp>
#include <sluice/hts/handles.hpp>
#include <sluice/hts/written_blocks.hpp>
#include <sluice/saved_state.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace sluice::hts {

// Which columns, from 1, say where a line is on a contig: 0-based, end exclusive.
struct TabixColumns {
  int contig = 1, begin = 2, end = 3;
};
inline constexpr TabixColumns bed_columns{1, 2, 3}, paf_target_columns{6, 8, 9};

class TabixIndex {
 public:
  explicit TabixIndex(TabixColumns columns) : columns_(columns) {}

  // Lines that are about to be added to `blocks`, whole ones.
  void add(std::string_view lines, const BgzfWriter& blocks) {
    const BgzfWriter::Place begin = blocks.place();
    for (std::size_t at = 0; at < lines.size() && has_index_;) {
      const std::size_t end = std::min(lines.find('\n', at), lines.size());
      has_index_ = add_line(lines.substr(at, end - at), place_behind(begin, at));
      at = end + 1;
    }
    if (!has_index_) drop();
  }
  // After each time that `blocks` were compressed, or may have been.
  void take_known(const BgzfWriter& blocks) {
    begin(blocks);
    while (waiting_.size() > 1 && blocks.is_known(waiting_[1].place)) {
      const Entry entry = waiting_.front();
      waiting_.pop_front();
      push(entry, blocks.virtual_offset(waiting_.front().place));
    }
  }
  // When all blocks have been compressed. Writes `path`.tbi or .csi, if there were lines and they came sorted. Throws Failure::output.
  void finish(const Host& host, const std::string& path, const BgzfWriter& blocks) {
    take_known(blocks);
    if (waiting_.empty()) return;
    const Entry last = waiting_.front();
    const std::uint64_t end = blocks.virtual_offset(blocks.place());
    push(last, end);
    if (!has_index_) return;
    const bool is_short = furthest_ <= longest_tbi_contig;
    hts_idx_t* index = (is_short ? short_ : long_).get();
    OutputFile file(host, path + (is_short ? ".tbi" : ".csi"));
    const std::string meta = description();
    errno = 0;
    if (hts_idx_finish(index, end) < 0 ||
        hts_idx_set_meta(index, static_cast<std::uint32_t>(meta.size()), reinterpret_cast<std::uint8_t*>(const_cast<char*>(meta.data())), 1) < 0 ||
        hts_idx_save_as(index, nullptr, file.path().c_str(), is_short ? HTS_FMT_TBI : HTS_FMT_CSI) < 0)
      throw index_failure("'" + path + "'");
    file.close();
  }
  // After take_known(), when all blocks have been compressed. HTSlib's index can't be saved, so only where the first line stands is.
  void save(StateWriter& to) const {
    to.value(std::uint8_t{has_index_});
    to.value(std::uint8_t{long_ != nullptr});
    to.value(first_.block);
    to.value(first_.in_block);
  }
  // Reads the lines that have been written again. `path`: the file as it is now, with the blocks before those that wait in `blocks`.
  void restore(StateReader& from, const std::string& path, const BgzfWriter& blocks) {
    has_index_ = from.value<std::uint8_t>() != 0;
    const bool has_lines = from.value<std::uint8_t>() != 0;
    first_.block = from.value<std::uint64_t>();
    first_.in_block = from.value<std::uint16_t>();
    if (has_index_ && has_lines) read_again(path, blocks);
  }

 private:
  static constexpr std::int64_t longest_tbi_contig = std::int64_t{1} << 29, longest_csi_contig = std::int64_t{1} << 32;
  static constexpr int shift = 14, tbi_levels = 5, csi_levels = 6;
  struct Entry {
    std::int32_t contig;
    std::int64_t begin, end;
    BgzfWriter::Place place;
  };

  static BgzfWriter::Place place_behind(BgzfWriter::Place begin, std::size_t bytes) {
    const std::size_t place = begin.in_block + bytes;
    return {begin.block + place / BgzfWriter::block_text, static_cast<std::uint16_t>(place % BgzfWriter::block_text)};
  }

  // False: it is on no contig, or out of order.
  bool add_line(std::string_view line, BgzfWriter::Place place) {
    std::array<std::string_view, 3> fields;
    const int last = std::max({columns_.contig, columns_.begin, columns_.end});
    for (int column = 1; column <= last; ++column) {
      const std::size_t end = std::min(line.find('\t'), line.size());
      const std::string_view field = line.substr(0, end);
      if (column == columns_.contig) fields[0] = field;
      if (column == columns_.begin) fields[1] = field;
      if (column == columns_.end) fields[2] = field;
      line.remove_prefix(std::min(end + 1, line.size()));
    }
    const auto number = [](std::string_view digits, std::int64_t& value) {
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      return error == std::errc() && end == digits.data() + digits.size();
    };
    Entry entry{0, 0, 0, place};
    if (!number(fields[1], entry.begin) || !number(fields[2], entry.end) || entry.begin < 0 || entry.end <= entry.begin) return false;
    if (entry.end > longest_csi_contig || fields[0].empty()) return false;
    if (fields[0] != contig_) {
      contig_ = fields[0];
      if (!known_.emplace(contig_, 0).second) return false;
      names_.append(contig_).push_back('\0');
      ++contigs_;
    } else if (entry.begin < last_begin_) {
      return false;
    }
    last_begin_ = entry.begin;
    furthest_ = std::max(furthest_, entry.end);
    entry.contig = contigs_ - 1;
    waiting_.push_back(entry);
    return true;
  }
  // Places are known only until the next blocks are compressed, so the first one's is taken at once.
  void begin(const BgzfWriter& blocks) {
    if (long_ || waiting_.empty() || !blocks.is_known(waiting_.front().place)) return;
    begin_at(blocks.virtual_offset(waiting_.front().place));
  }
  void begin_at(std::uint64_t first) {
    first_ = waiting_.front().place;
    short_.reset(hts_idx_init(0, HTS_FMT_TBI, first, shift, tbi_levels));
    long_.reset(hts_idx_init(0, HTS_FMT_CSI, first, shift, csi_levels));
  }
  void read_again(const std::string& path, const BgzfWriter& blocks) {
    WrittenBlocks written(path, blocks);
    WrittenBlocks::Block block;
    std::string line;
    BgzfWriter::Place place;
    std::uint64_t offset = 0;  // of the line
    while (has_index_ && written.next(block)) {
      if (block.begin.block < first_.block) continue;
      std::size_t at = block.begin.block == first_.block ? first_.in_block : 0;
      while (at < block.text.size()) {
        if (line.empty()) {
          place = {block.begin.block, static_cast<std::uint16_t>(at)};
          offset = block.virtual_offset | at;
        }
        const std::size_t end = std::min(block.text.find('\n', at), block.text.size());
        line.append(block.text.substr(at, end - at));
        at = end + 1;
        if (end == block.text.size()) break;
        take_again(line, place, offset);
        line.clear();
      }
    }
  }
  void take_again(std::string_view line, BgzfWriter::Place place, std::uint64_t offset) {
    if (!add_line(line, place)) throw Failure::input("a table is not what the interrupted run had written", "begin the run anew, without --resume");
    if (!long_) begin_at(offset);
    if (waiting_.size() == 1) return;
    const Entry before = waiting_.front();
    waiting_.pop_front();
    push(before, offset);
  }
  // A line reaches to where the next one begins.
  void push(const Entry& entry, std::uint64_t next) {
    const auto take = [&](const Index& index) {
      return index != nullptr && hts_idx_push(index.get(), entry.contig, entry.begin, entry.end, next, 1) >= 0;
    };
    has_index_ = take(long_) && (furthest_ > longest_tbi_contig || take(short_));
    if (!has_index_) drop();
  }
  void drop() {
    waiting_.clear();
    short_.reset();
    long_.reset();
  }
  // What tabix writes behind the index: its options, and the names of the contigs.
  std::string description() const {
    const std::array<std::int32_t, 7> numbers = {
        TBX_UCSC, columns_.contig, columns_.begin, columns_.end, '#', 0, static_cast<std::int32_t>(names_.size())};
    std::string text(sizeof numbers, '\0');
    std::memcpy(text.data(), numbers.data(), sizeof numbers);
    return text + names_;
  }

  TabixColumns columns_;
  bool has_index_ = true;
  std::unordered_map<std::string, int> known_;  // contigs
  std::string contig_, names_;
  std::int32_t contigs_ = 0;
  std::int64_t last_begin_ = 0, furthest_ = 0;
  std::deque<Entry> waiting_;
  BgzfWriter::Place first_;  // the first line's
  Index short_, long_;       // both are made, as nobody knows how far positions will reach
};

}  // namespace sluice::hts
