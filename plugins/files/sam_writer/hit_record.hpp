// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// SAM records of mapped reads, through HTSlib.

#include <htslib/sam.h>

#include <cstdint>
#include <sluice/hts/handles.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::sam_writer {

// One alignment of a read, coordinates as base_alignment gives them.
struct HitRecord {
  std::int32_t target = 0, query_start = 0, query_end = 0, target_start = 0;
  bool is_reverse = false, is_primary = false;
  std::uint8_t mapq = 0;
  std::span<const std::uint32_t> cigar;  // without clips, in reference orientation
  std::int32_t edit_distance = 0, alignment_score = 0, anchors = 0, chain_score = 0;
  std::int32_t second_chain_score = -1;  // -1: none
  std::string_view difference, mismatches;
};

struct ReadRecord {
  std::string_view id, bases, qualities;  // qualities: "" if there are none
  std::int32_t repeat_length = 0;
  std::span<const HitRecord> hits;  // aligned ones, best first
};

enum class Clipping { hard, soft };  // of supplementary records
struct RecordOptions {
  Clipping supplementary_clipping = Clipping::hard;
  std::string read_group;  // "" none
  bool write_difference = false, write_mismatches = false;
};

// Makes the records of one read and appends them. Not thread-safe: one object per thread.
class RecordWriter {
 public:
  RecordWriter() : record_(bam_init1()) {}

  // Text lines, with newlines. False: HTSlib can't make a record of this read.
  bool append_sam(const sam_hdr_t& header, const ReadRecord& read, const RecordOptions& options, std::string& text);
  // BAM records as they stand in a file, uncompressed.
  bool append_bam(const sam_hdr_t& header, const ReadRecord& read, const RecordOptions& options, std::string& bytes);

 private:
  enum class Form { sam, bam };
  bool make_records(const sam_hdr_t& header, const ReadRecord& read, const RecordOptions& options, Form form, std::string& output);
  bool make_record(const sam_hdr_t& header, const ReadRecord& read, const HitRecord* hit, const RecordOptions& options);
  bool add_tags(const sam_hdr_t& header, const ReadRecord& read, const HitRecord& hit, const RecordOptions& options);

  hts::Record record_;
  std::vector<std::uint32_t> cigar_;
  std::string bases_, qualities_, others_;
};

}  // namespace sluice::sam_writer
