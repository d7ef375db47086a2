// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The index of a BAM file, made while the file is written. The user links libdeflate.

#include <htslib/hts.h>
#include <htslib/sam.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <sluice/call.hpp>
#include <sluice/failure.hpp>
#include <sluice/hts/alignment_record.hpp>
#include <sluice/hts/bgzf_writer.hpp>
#include <sluice/hts/handles.hpp>
#include <sluice/hts/written_blocks.hpp>
#include <sluice/saved_state.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::hts {

// Right after BamIndex has said false. `path`: the alignments', in quotes.
inline Failure index_failure(const std::string& path, const char* advice = "is the disk full?") {
  return Failure::output("cannot write the index of " + path + (errno != 0 ? std::string(": ") + std::strerror(errno) : std::string()), advice);
}

class BamIndex {
 public:
  enum class Format : std::uint8_t { bai, csi };
  // BAI reaches to 2^29 bases; longer contigs need CSI.
  static Format format_for(const sam_hdr_t& header) {
    constexpr hts_pos_t longest_bai_contig = hts_pos_t{1} << 29;
    for (int contig = 0; contig < sam_hdr_nref(&header); ++contig)
      if (sam_hdr_tid2len(&header, contig) > longest_bai_contig) return Format::csi;
    return Format::bai;
  }
  static const char* suffix(Format format) { return format == Format::csi ? ".csi" : ".bai"; }
  BamIndex(const sam_hdr_t& header, Format format) : header_(header), format_(format) {}

  struct Entry {
    std::int32_t contig = -1;
    std::int64_t start = -1, end = 0;  // on the contig
    bool is_mapped = false;
    BgzfWriter::Place begin;  // of the record

    // May it come behind the other one? What lies on no contig comes last.
    bool follows(const Entry& other) const {
      const auto order = [](const Entry& entry) { return std::pair(static_cast<std::uint32_t>(entry.contig), entry.start); };
      return order(*this) >= order(other);
    }
  };
  // Of a record as it stands in a BAM file, but for its place there.
  static Entry entry_of(std::string_view record) {
    const auto* const fields = reinterpret_cast<const std::uint8_t*>(record.data()) + 4;
    AlignmentRecord place;
    place.core.tid = record_detail::load<std::int32_t>(fields);
    place.core.pos = record_detail::load<std::int32_t>(fields + 4);
    place.core.flag = record_detail::load<std::uint16_t>(fields + 14);
    // Of a CIGAR in a tag two operations stand here, which reach as far.
    place.reference_bases = record_detail::bases_of(fields + 32 + fields[8], record_detail::load<std::uint16_t>(fields + 12)).reference;
    return {place.core.tid, place.core.pos, place.end(), (place.core.flag & BAM_FUNMAP) == 0, {}};
  }
  void add(const Entry& entry) {
    if (!std::exchange(has_first_, true)) first_ = entry.begin;
    waiting_.push_back(entry);
  }
  // Takes what has a place in the file by now. False: HTSlib refuses it.
  bool take_known(const BgzfWriter& blocks) {
    errno = 0;
    if (!index_) begin(blocks);
    if (!index_) return false;
    for (; waiting_.size() > 1 && blocks.is_known(waiting_[1].begin); waiting_.pop_front())
      if (!push(waiting_.front(), blocks.virtual_offset(waiting_[1].begin))) return false;
    return true;
  }
  // When all blocks have been written: writes the file. False: HTSlib cannot make or write it.
  bool finish(const BgzfWriter& blocks, OutputFile file) {
    if (!take_known(blocks)) return false;
    const std::uint64_t end = blocks.virtual_offset(blocks.place());
    if (!waiting_.empty() && !push(waiting_.front(), end)) return false;
    if (hts_idx_finish(index_.get(), end) < 0) return false;
    const std::string path = file.path();
    if (hts_idx_save_as(index_.get(), nullptr, path.c_str(), format_ == Format::bai ? HTS_FMT_BAI : HTS_FMT_CSI) < 0) return false;
    file.close();
    return true;
  }
  // After take_known(), when all blocks have been written. HTSlib's index can't be saved, so only where the first record stands is.
  void save(StateWriter& to) const {
    to.value(std::uint8_t{has_first_});
    to.value(first_.block);
    to.value(first_.in_block);
  }
  // Reads the records that have been written again. `path`: the file as it is now, with the blocks before those that wait in `blocks`.
  void restore(StateReader& from, const std::string& path, const BgzfWriter& blocks) {
    has_first_ = from.value<std::uint8_t>() != 0;
    first_.block = from.value<std::uint64_t>();
    first_.in_block = from.value<std::uint16_t>();
    if (has_first_) read_again(path, blocks);
  }
  // Of the last record.
  const Entry* last() const { return waiting_.empty() ? nullptr : &waiting_.back(); }

 private:
  static constexpr std::size_t length_bytes = 4, least_record_bytes = 36;  // with its length
  void read_again(const std::string& path, const BgzfWriter& blocks) {
    WrittenBlocks written(path, blocks);
    WrittenBlocks::Block block;
    std::string record;
    Entry entry;
    std::uint64_t offset = 0;  // of the record
    while (written.next(block)) {
      if (block.begin.block < first_.block) continue;
      std::size_t at = block.begin.block == first_.block ? first_.in_block : 0;
      while (at < block.text.size()) {
        if (record.empty()) {
          entry.begin = {block.begin.block, static_cast<std::uint16_t>(at)};
          offset = block.virtual_offset | at;
        }
        const std::size_t part = std::min(missing(record), block.text.size() - at);
        record.append(block.text.substr(at, part));
        at += part;
        if (record.size() < length_bytes || missing(record) > 0) continue;
        if (!is_possible(reinterpret_cast<const std::uint8_t*>(record.data()) + length_bytes, record.size() - length_bytes)) throw damaged();
        const BgzfWriter::Place begin = entry.begin;
        entry = entry_of(record);
        entry.begin = begin;
        take_again(entry, offset);
        record.clear();
      }
    }
  }
  static Failure damaged() {
    return Failure::input("a BAM file is not what the interrupted run had written", "begin the run anew, without --resume");
  }
  // Bytes up to the end of its length, or of the record.
  static std::size_t missing(std::string_view record) {
    if (record.size() < length_bytes) return length_bytes - record.size();
    const std::size_t bytes = record_detail::load<std::uint32_t>(reinterpret_cast<const std::uint8_t*>(record.data())) + length_bytes;
    if (bytes < std::max(record.size(), least_record_bytes)) throw damaged();
    return bytes - record.size();
  }
  void take_again(const Entry& entry, std::uint64_t offset) {
    waiting_.push_back(entry);
    if (!index_) begin_at(offset);
    if (waiting_.size() == 1) return;
    if (!push(waiting_.front(), offset)) throw damaged();
    waiting_.pop_front();
  }
  // A record reaches to where the next one begins.
  bool push(const Entry& entry, std::uint64_t next) {
    return hts_idx_push(index_.get(), entry.contig, entry.start, entry.end, next, entry.is_mapped ? 1 : 0) >= 0;
  }
  void begin(const BgzfWriter& blocks) { begin_at(blocks.virtual_offset(waiting_.empty() ? blocks.place() : waiting_.front().begin)); }
  // As sam_idx_init() does. The header is a block, or some, of its own.
  void begin_at(std::uint64_t first) {
    constexpr int shift = 14, bai_levels = 5;
    int levels = 0;
    hts_pos_t longest = 0;
    for (int contig = 0; contig < sam_hdr_nref(&header_); ++contig) longest = std::max(longest, sam_hdr_tid2len(&header_, contig));
    for (hts_pos_t size = hts_pos_t{1} << shift; longest + 256 > size; size <<= 3) ++levels;
    index_.reset(hts_idx_init(sam_hdr_nref(&header_), format_ == Format::bai ? HTS_FMT_BAI : HTS_FMT_CSI, first, shift,
                              format_ == Format::bai ? bai_levels : levels));
  }

  const sam_hdr_t& header_;
  Format format_;
  Index index_;
  std::deque<Entry> waiting_;
  bool has_first_ = false;
  BgzfWriter::Place first_;  // the first record's
};

}  // namespace sluice::hts
