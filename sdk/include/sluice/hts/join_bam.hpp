// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// BAM files of shards become one, with blocks and index as one run would cut and make them: see sluice/file_joining.hpp. The user links HTSlib and
// libdeflate.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <sluice/call.hpp>
#include <sluice/failure.hpp>
#include <sluice/file_parts.hpp>
#include <sluice/hts/alignment_header.hpp>
#include <sluice/hts/bam_bytes.hpp>
#include <sluice/hts/bam_index.hpp>
#include <sluice/hts/bgzf_output.hpp>
#include <sluice/hts/part_text.hpp>
#include <sluice/hts/record_runs.hpp>
#include <sluice/hts/run_merge.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::hts {

enum class JoinedIndex : std::uint8_t { none, if_sorted };  // if_sorted: where the header says so, and it holds

namespace join_detail {

inline Failure damaged_part(const std::string& path) { return Failure::input("'" + path + "' has a damaged record", "make this shard again"); }
inline void check_bam_header(std::string_view header, const std::string& path) {
  if (!header.starts_with("BAM\1"))
    throw Failure::input("'" + path + "' is no BAM file", "name the output .bam if the shards are BAM, and as they are named else");
}

// The records of a part, one after the other, behind its header.
class PartRecords {
 public:
  explicit PartRecords(const FilePart& part, std::size_t buffer_bytes = PartText::usual_bytes) : path_(part.path), text_(part, buffer_bytes) {
    std::string_view piece;
    header_ = take_header(text_, part, piece);
    check_bam_header(header_, path_);
    bytes_ = piece;
  }
  const std::string& header() const { return header_; }
  bool is_empty() const { return at_ == bytes_.size(); }
  // As it stands in the file, with its length; "" at the end. Valid until the next call. Throws Failure::input where the part is damaged or cut.
  std::string_view next() {
    while (true) {
      const std::string_view rest = std::string_view(bytes_).substr(at_);
      if (const std::size_t bytes = whole_record(rest); bytes > 0) {
        at_ += bytes;
        return rest.substr(0, bytes);
      }
      bytes_.erase(0, at_);
      at_ = 0;
      const std::string_view piece = text_.next();
      if (piece.empty() && !bytes_.empty()) throw damaged_part(path_);
      if (piece.empty()) return {};
      bytes_ += piece;
    }
  }

 private:
  static constexpr std::size_t length_bytes = 4, least_record = 32, most_record = std::size_t{1} << 30;
  // The bytes of the record that begins here; 0: not all of them are there.
  std::size_t whole_record(std::string_view bytes) const {
    if (bytes.size() < length_bytes) return 0;
    std::uint32_t length = 0;
    std::memcpy(&length, bytes.data(), length_bytes);
    if (length < least_record || length > most_record) throw damaged_part(path_);
    if (bytes.size() - length_bytes < length) return 0;
    // Do name and CIGAR, which an index looks at, lie in it?
    std::uint16_t operations = 0;
    std::memcpy(&operations, bytes.data() + length_bytes + 12, sizeof operations);
    if (least_record + static_cast<unsigned char>(bytes[length_bytes + 8]) + std::size_t{operations} * 4 > length) throw damaged_part(path_);
    return length_bytes + length;
  }

  std::string path_;
  PartText text_;
  std::string header_, bytes_;
  std::size_t at_ = 0;
};

// The file that they become.
class JoinedBam {
 public:
  JoinedBam(const Call& call, const std::string& path, int level) : path_(path), output_(OutputFile(call, path), level) {}
  // Before all records. like: a part, which has the same contigs and order.
  void begin(std::string_view header, const std::string& like, JoinedIndex wish) {
    output_.header(header);
    output_.blocks().end_block();
    header_ = read_alignment_header(like);
    if (wish == JoinedIndex::if_sorted && is_sorted(*header_) && has_place_for_index(path_)) index_.emplace(*header_, BamIndex::format_for(*header_));
  }
  void add(std::string_view record) {
    output_.blocks().begin_record(record.size());
    if (index_) {
      BamIndex::Entry entry = BamIndex::entry_of(record);
      entry.begin = output_.blocks().place();
      if (entry.follows(last_))
        index_->add(last_ = entry);
      else
        index_.reset();
    }
    output_.blocks().add_record(record);
  }
  // Now and then between two records.
  void write(const Call& call) {
    if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "the run ends");
    if (output_.write(call) && index_ && !index_->take_known(output_.blocks())) throw index_failure("'" + path_ + "'");
  }
  void finish(const Call& call) {
    output_.finish(call);
    if (!index_) return;
    OutputFile file(call, path_ + BamIndex::suffix(BamIndex::format_for(*header_)));
    if (!index_->finish(output_.blocks(), std::move(file))) throw index_failure("'" + path_ + "'");
  }

 private:
  std::string path_;
  BgzfOutput output_;
  Header header_;
  std::optional<BamIndex> index_;
  BamIndex::Entry last_{.contig = 0};
};

}  // namespace join_detail

// `level` as the sink gives it to its output.
inline void join_bam(const Call& call, const FilesToJoin& files, int level, JoinedIndex wish) {
  silence();
  constexpr std::size_t records_at_once = 256;
  join_detail::JoinedBam output(call, files.output, level);
  CommonHeader header;
  const auto begin = [&] { output.begin(header.text(), files.parts.front().path, wish); };
  for (const FilePart& part : files.parts) {
    join_detail::PartRecords records(part);
    if (header.add(records.header(), part, !records.is_empty())) begin();
    std::size_t count = 0;
    for (std::string_view record = records.next(); !record.empty(); record = records.next()) {
      output.add(record);
      if (++count % records_at_once == 0) output.write(call);
    }
    output.write(call);
  }
  if (!header.has_rows()) begin();
  output.finish(call);
}

// Of files that are sorted by coordinate: merged. Records of one place stay in the order of the parts, as a run over all rows leaves them in that of
// its input.
inline void join_sorted_bam(const Call& call, const FilesToJoin& files, int level) {
  silence();
  constexpr std::size_t records_at_once = 256, buffers_bytes = std::size_t{256} << 20;
  join_detail::JoinedBam output(call, files.output, level);
  CommonHeader header;
  std::deque<join_detail::PartRecords> parts;
  std::vector<std::string_view> first;
  std::vector<std::optional<std::uint64_t>> keys;
  const auto key_of = [](std::string_view record) { return record.empty() ? std::nullopt : std::optional(coordinate_key(record)); };
  for (const FilePart& part : files.parts) {
    join_detail::PartRecords& records = parts.emplace_back(part, buffers_bytes / files.parts.size());
    header.add(records.header(), part, !records.is_empty());
    keys.push_back(key_of(first.emplace_back(records.next())));
  }
  output.begin(header.text(), files.parts.front().path, JoinedIndex::if_sorted);
  RunMerge merge(keys);
  std::size_t count = 0;
  while (const std::optional<std::size_t> part = merge.next()) {
    output.add(first[*part]);
    const std::uint64_t key = coordinate_key(first[*part]);
    first[*part] = parts[*part].next();
    const std::optional<std::uint64_t> next = key_of(first[*part]);
    if (next && *next < key) throw Failure::input("'" + files.parts[*part].path + "' is not sorted by coordinate", "make this shard again");
    merge.replace(next);
    if (++count % records_at_once == 0) output.write(call);
  }
  output.write(call);
  output.finish(call);
}

}  // namespace sluice::hts
