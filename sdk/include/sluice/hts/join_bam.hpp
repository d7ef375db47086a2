// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// BAM files of shards become one, with blocks and index as one run would cut and make them: see sluice/file_joining.hpp. The user links HTSlib and
// libdeflate.

#include <cstdint>
#include <cstring>
#include <optional>
#include <sluice/call.hpp>
#include <sluice/failure.hpp>
#include <sluice/file_parts.hpp>
#include <sluice/hts/alignment_header.hpp>
#include <sluice/hts/bam_bytes.hpp>
#include <sluice/hts/bam_index.hpp>
#include <sluice/hts/bgzf_output.hpp>
#include <sluice/hts/join_text.hpp>
#include <sluice/hts/part_text.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::hts {

enum class JoinedIndex : std::uint8_t { none, if_sorted };  // if_sorted: where the header says so, and it holds

namespace join_detail {

// Whole records of bytes that come in pieces.
class WholeRecords {
 public:
  template <class Take>
  void add(std::string_view piece, const std::string& output, Take&& take) {
    bytes_ += piece;
    std::size_t at = 0;
    while (bytes_.size() - at >= length_bytes) {
      std::uint32_t length = 0;
      std::memcpy(&length, bytes_.data() + at, length_bytes);
      if (length < least_record || length > most_record) throw damaged(output);
      if (bytes_.size() - at < length_bytes + length) break;
      const std::string_view record = std::string_view(bytes_).substr(at, length_bytes + length);
      if (!is_possible(record)) throw damaged(output);
      take(record);
      at += record.size();
    }
    bytes_.erase(0, at);
  }
  bool is_empty() const { return bytes_.empty(); }
  static Failure damaged(const std::string& output) {
    return Failure::input("a part of '" + output + "' has a damaged record", "make the shards again");
  }

 private:
  static constexpr std::size_t length_bytes = 4, least_record = 32, most_record = std::size_t{1} << 30;
  // Do name and CIGAR, which an index looks at, lie in it?
  static bool is_possible(std::string_view record) {
    std::uint16_t operations = 0;
    std::memcpy(&operations, record.data() + length_bytes + 12, sizeof operations);
    return length_bytes + least_record + static_cast<unsigned char>(record[length_bytes + 8]) + std::size_t{operations} * 4 <= record.size();
  }
  std::string bytes_;
};

// The header of a part with the new file's name in its text.
inline std::string renamed_bam_header(const std::string& header, const FilePart& part, const std::string& output) {
  constexpr std::size_t front = 8;
  std::uint32_t length = 0;
  if (header.size() >= front) std::memcpy(&length, header.data() + 4, sizeof length);
  if (header.size() < front || !header.starts_with("BAM\1") || length > header.size() - front)
    throw Failure::input("'" + part.path + "' is no BAM file", "name the output .bam if the shards are BAM, and as they are named else");
  const std::string text = with_new_name(std::string_view(header).substr(front, length), part.written_as, output);
  std::string result = header.substr(0, 4);
  append_u32(result, text.size());
  return result + text + header.substr(front + length);
}

}  // namespace join_detail

// `level` as the sink gives it to its output.
inline void join_bam(const Call& call, const FilesToJoin& files, int level, JoinedIndex wish) {
  silence();
  BgzfOutput output(OutputFile(call, files.output), level);
  Header header;
  std::optional<BamIndex> index;
  BamIndex::Entry last{.contig = 0};
  const auto index_failure = [&] { return Failure::output("cannot write the index of '" + files.output + "'", "is the disk full?"); };
  const auto begin = [&](std::string_view bytes) {
    output.header(bytes);
    output.blocks().end_block();
    header = read_alignment_header(files.parts.front().path);  // contigs and order, in which all parts are alike
    if (wish == JoinedIndex::if_sorted && is_sorted(*header) && has_place_for_index(files.output))
      index.emplace(*header, BamIndex::format_for(*header));
  };
  const auto add = [&](std::string_view record) {
    output.blocks().begin_record(record.size());
    if (index) {
      BamIndex::Entry entry = BamIndex::entry_of(record);
      entry.begin = output.blocks().place();
      if (entry.follows(last))
        index->add(last = entry);
      else
        index.reset();
    }
    output.blocks().add(record);
  };
  join_detail::WholeRecords records;
  join_parts<PartText>(
      files, [&](const std::string& own, const FilePart& part) { return join_detail::renamed_bam_header(own, part, files.output); }, begin,
      [&](std::string_view piece) {
        throw_if_cancelled(call);
        records.add(piece, files.output, add);
        if (output.write(call) && index && !index->take_known(output.blocks())) throw index_failure();
      });
  if (!records.is_empty()) throw join_detail::WholeRecords::damaged(files.output);
  output.finish(call);
  if (!index) return;
  OutputFile file(call, files.output + BamIndex::suffix(BamIndex::format_for(*header)));
  if (!index->finish(output.blocks(), std::move(file))) throw index_failure();
}

}  // namespace sluice::hts
