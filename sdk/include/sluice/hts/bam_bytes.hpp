// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Headers and records as they stand in BAM files (SAM specification, section 4.2), for who compresses them elsewhere.

#include <htslib/sam.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <sluice/failure.hpp>
#include <sluice/hts/handles.hpp>
#include <string>
#include <string_view>

namespace sluice::hts {

inline void append_u32(std::string& bytes, std::uint64_t value) {
  const auto low = static_cast<std::uint32_t>(value);
  char raw[sizeof low];
  std::memcpy(raw, &low, sizeof low);
  bytes.append(raw, sizeof low);
}

// Positions and lengths have 31 bits in BAM, and in CRAM.
inline constexpr std::int64_t furthest_bam_position = std::numeric_limits<std::int32_t>::max();

// Before there are records: throws Failure (input) where no BAM or CRAM can have this header.
inline void refuse_unless_bam_holds(const sam_hdr_t& header) {
  for (int contig = 0; contig < sam_hdr_nref(&header); ++contig)
    if (const hts_pos_t length = sam_hdr_tid2len(&header, contig); length > furthest_bam_position)
      throw Failure::input(std::string("contig '") + sam_hdr_tid2name(&header, contig) + "' has " + std::to_string(length) +
                               " bases, and BAM and CRAM hold positions up to " + std::to_string(furthest_bam_position),
                           "write SAM, or cut the contig into pieces");
}
inline void refuse_header_text(std::uint64_t bytes) {
  constexpr std::uint64_t most_bytes = std::numeric_limits<std::int32_t>::max();
  if (bytes > most_bytes)
    throw Failure::input("the header has " + std::to_string(bytes) + " bytes, and BAM holds " + std::to_string(most_bytes),
                         "leave @CO and @PG lines out, for instance with `samtools reheader`");
}

inline std::string bam_header_bytes(sam_hdr_t& header) {
  refuse_unless_bam_holds(header);
  const std::string_view text = header_text(header);
  refuse_header_text(text.size());
  std::string bytes("BAM\1", 4);
  append_u32(bytes, text.size());
  bytes += text;
  const int contigs = sam_hdr_nref(&header);
  append_u32(bytes, static_cast<std::uint64_t>(contigs));
  for (int contig = 0; contig < contigs; ++contig) {
    const std::string_view name = sam_hdr_tid2name(&header, contig);
    append_u32(bytes, name.size() + 1);
    bytes.append(name).push_back('\0');
    append_u32(bytes, static_cast<std::uint64_t>(sam_hdr_tid2len(&header, contig)));
  }
  return bytes;
}

// More go into the tag CG.
inline constexpr std::uint32_t most_bam_operations = 0xFFFF;

// Appends a record. False: BAM can't hold it, because its positions are beyond 2^31 or its many operations span more than 2^28 bases.
inline bool append_bam_record(const bam1_t& record, std::string& bytes) {
  const bam1_core_t& core = record.core;
  constexpr hts_pos_t furthest = std::numeric_limits<std::int32_t>::max(), least = std::numeric_limits<std::int32_t>::min();
  if (core.pos > furthest || core.mpos > furthest || core.isize < least || core.isize > furthest) return false;
  const std::uint32_t* const cigar = bam_get_cigar(&record);
  // Two operations that say as much about the place stand for those in the tag.
  constexpr std::size_t stand_ins = 2, tag_bytes = 8;
  const bool is_long = core.n_cigar > most_bam_operations;
  const hts_pos_t span = is_long ? bam_cigar2rlen(static_cast<int>(core.n_cigar), cigar) : 0;
  if (span >= hts_pos_t{1} << 28) return false;
  const std::size_t name = core.l_qname - std::size_t{core.l_extranul}, operations = std::size_t{core.n_cigar} * sizeof(std::uint32_t);
  const std::size_t data = static_cast<std::size_t>(record.l_data) - core.l_extranul + (is_long ? stand_ins * sizeof(std::uint32_t) + tag_bytes : 0);
  append_u32(bytes, data + 32);
  append_u32(bytes, static_cast<std::uint32_t>(core.tid));
  append_u32(bytes, static_cast<std::uint64_t>(core.pos));
  append_u32(bytes, std::uint32_t{core.bin} << 16 | std::uint32_t{core.qual} << 8 | static_cast<std::uint32_t>(name));
  append_u32(bytes, std::uint32_t{core.flag} << 16 | (is_long ? static_cast<std::uint32_t>(stand_ins) : core.n_cigar));
  append_u32(bytes, static_cast<std::uint32_t>(core.l_qseq));
  append_u32(bytes, static_cast<std::uint32_t>(core.mtid));
  append_u32(bytes, static_cast<std::uint64_t>(core.mpos));
  append_u32(bytes, static_cast<std::uint64_t>(core.isize));
  const char* const in_memory = reinterpret_cast<const char*>(record.data);
  bytes.append(in_memory, name);
  if (!is_long) {
    bytes.append(in_memory + core.l_qname, static_cast<std::size_t>(record.l_data) - core.l_qname);
    return true;
  }
  append_u32(bytes, static_cast<std::uint32_t>(core.l_qseq) << BAM_CIGAR_SHIFT | BAM_CSOFT_CLIP);
  append_u32(bytes, static_cast<std::uint32_t>(span) << BAM_CIGAR_SHIFT | BAM_CREF_SKIP);
  bytes.append(in_memory + core.l_qname + operations, static_cast<std::size_t>(record.l_data) - core.l_qname - operations);
  bytes.append("CGBI", 4);
  append_u32(bytes, core.n_cigar);
  bytes.append(reinterpret_cast<const char*>(cigar), operations);
  return true;
}

}  // namespace sluice::hts
