// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Alignments sorted by coordinate, in the order of `samtools sort`, as the output of a sink: BAM or CRAM with its index. The bytes depend on the
// records alone. The user links libdeflate and libzstd.

#include <htslib/sam.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <sluice/call.hpp>
#include <sluice/failure.hpp>
#include <sluice/hts/alignment_header.hpp>
#include <sluice/hts/bam_bytes.hpp>
#include <sluice/hts/bam_index.hpp>
#include <sluice/hts/bgzf_writer.hpp>
#include <sluice/hts/cram_output.hpp>
#include <sluice/hts/record_sorter.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::hts {

enum class AlignmentFormat : std::uint8_t { bam, cram };

class SortedAlignments {
 public:
  struct Options {
    std::string path;
    AlignmentFormat format = AlignmentFormat::bam;
    std::string fasta;  // CRAM: what the records are aligned to
    int level = -1;     // BAM: HTSlib's
  };
  // The header is marked as sorted, and lives as long as this.
  SortedAlignments(const Host& host, Options options, sam_hdr_t& header) : path_(std::move(options.path)), blocks_(options.level) {
    if (!mark_sorted(header)) throw Failure::input("the header of '" + path_ + "' can't say that records are sorted");
    const bool is_indexed = has_place_for_index(path_);
    if (options.format == AlignmentFormat::cram) {
      cram_.emplace(host, path_, options.fasta, header, is_indexed ? CramIndex::crai : CramIndex::none);
      return;
    }
    file_ = OutputFile(host, path_);
    const std::string text = bam_header_bytes(header);
    file_.header(text.size());
    blocks_.add(text);
    blocks_.end_block();
    if (!is_indexed) return;
    const BamIndex::Format format = BamIndex::format_for(header);
    index_.emplace(header, format);
    index_file_ = OutputFile(host, path_ + BamIndex::suffix(format));
  }

  // A record as it stands in a BAM file. A sink's commit() may keep call.target_bytes(): with what is above, a temporary file is written.
  void add(const Call& call, std::string_view record) {
    added_bytes_ += record.size();
    sorter(call).add(call, record);
  }

  void finish(const Call& call) {
    RecordSorter& records = sorter(call);
    if (records.runs() > 0) {
      call.count("sorted runs on the disk", static_cast<double>(records.runs()));
      call.count("bytes of sorted runs", static_cast<double>(records.spilled_bytes()));
    }
    records.begin_reading(call);
    if (cram_)
      write_cram(call, records);
    else
      write_bam(call, records);
    call.keeps(0);
  }

 private:
  // What is merged while the records of before are compressed.
  static constexpr std::size_t merged_at_once = BgzfWriter::worth_compressing * BgzfWriter::block_text;
  struct Placed {
    std::string_view record;
    BamIndex::Entry entry;
  };

  RecordSorter& sorter(const Call& call) {
    if (!sorter_) {
      sorter_.emplace(path_, call.target_bytes());
      call.keeps(sorter_->memory_bytes());
    }
    return *sorter_;
  }
  static void check(const Call& call) {
    if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "the run ends");
  }

  // Of what finish() does.
  void say_progress(const Call& call) const {
    if (added_bytes_ > 0) call.progress(static_cast<double>(written_bytes_) / static_cast<double>(added_bytes_));
  }

  void write_cram(const Call& call, RecordSorter& records) {
    while (true) {
      const std::vector<std::string_view>& some = records.next(merged_at_once);
      if (some.empty()) return cram_->finish();
      cram_->add(call, some);
      for (const std::string_view record : some) written_bytes_ += record.size();
      say_progress(call);
      check(call);
    }
  }

  void write_bam(const Call& call, RecordSorter& records) {
    std::string bytes;
    std::vector<Placed> some = placed(records.next(merged_at_once));
    while (!some.empty()) {
      for (Placed& each : some) {
        blocks_.begin_record(each.record.size());
        each.entry.begin = blocks_.place();
        if (index_) index_->add(each.entry);
        blocks_.add_record(each.record);
        written_bytes_ += each.record.size();
      }
      // One part of the loop merges, and the others compress.
      bytes.clear();
      blocks_.compress(bytes, [&](std::size_t count, const auto& body) {
        call.parallel_for(count + 1, 1, [&](std::size_t begin, std::size_t end) {
          if (begin == 0) some = placed(records.next(merged_at_once));
          if (std::max<std::size_t>(begin, 1) < end) body(std::max<std::size_t>(begin, 1) - 1, end - 1);
        });
      });
      file_.write(bytes);
      say_progress(call);
      if (index_ && !index_->take_known(blocks_))
        throw index_failure("'" + path_ + "'", "is the disk full, or is an alignment behind the end of its contig?");
    }
    bytes.clear();
    blocks_.finish(bytes, [&](std::size_t count, const auto& body) { call.parallel_for(count, 1, body); });
    file_.write(bytes);
    file_.close();
    if (index_ && !index_->finish(blocks_, std::move(index_file_)))
      throw index_failure("'" + path_ + "'", "is the disk full, or is an alignment behind the end of its contig?");
  }

  std::vector<Placed> placed(const std::vector<std::string_view>& records) const {
    std::vector<Placed> result;
    result.reserve(records.size());
    for (const std::string_view record : records) result.push_back({record, index_ ? BamIndex::entry_of(record) : BamIndex::Entry()});
    return result;
  }

  std::string path_;
  BgzfWriter blocks_;
  OutputFile file_, index_file_;
  std::optional<BamIndex> index_;
  std::optional<CramOutput> cram_;
  std::optional<RecordSorter> sorter_;
  std::uint64_t added_bytes_ = 0, written_bytes_ = 0;
};

}  // namespace sluice::hts
