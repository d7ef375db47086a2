// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// One alignment record as bytes. First the cells of the column `bam_record`, from which modbam_writer makes the record again.
//
// Layout, little-endian, without padding:
//   i32 tid, i64 pos, u16 bin, u8 qual, u8 l_extranul, u16 flag, u16 l_qname, u32 n_cigar, i32 l_qseq, i32 mtid, i64 mpos, i64 isize, i32 l_data,
//   then l_data bytes: name (l_qname bytes with its NULs), CIGAR, packed SEQ, QUAL, tags, as in HTSlib's bam1_t.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <sluice/hts/alignment_record.hpp>
#include <sluice/hts/bam_bytes.hpp>
#include <string>

namespace sluice::alignment_reader {

using hts::AlignmentRecord;

inline constexpr std::size_t bam_record_header_bytes = 52;

inline std::size_t serialised_bytes(const AlignmentRecord& record) { return bam_record_header_bytes + record.data_bytes(); }
// Writes that many bytes.
inline void serialise(const AlignmentRecord& record, char* at) {
  const auto put = [&at](auto value) {
    std::memcpy(at, &value, sizeof value);
    at += sizeof value;
  };
  const bam1_core_t& core = record.core;
  put(static_cast<std::int32_t>(core.tid));
  put(static_cast<std::int64_t>(core.pos));
  put(static_cast<std::uint16_t>(core.bin));
  put(static_cast<std::uint8_t>(core.qual));
  put(static_cast<std::uint8_t>(core.l_extranul));
  put(static_cast<std::uint16_t>(core.flag));
  put(static_cast<std::uint16_t>(core.l_qname));
  put(static_cast<std::uint32_t>(core.n_cigar));
  put(static_cast<std::int32_t>(core.l_qseq));
  put(static_cast<std::int32_t>(core.mtid));
  put(static_cast<std::int64_t>(core.mpos));
  put(static_cast<std::int64_t>(core.isize));
  put(static_cast<std::int32_t>(record.data_bytes()));
  const std::size_t name_bytes = std::size_t{core.l_qname} - core.l_extranul;
  std::memcpy(at, record.name, name_bytes);
  std::memset(at + name_bytes, 0, core.l_extranul);
  std::memcpy(at + core.l_qname, record.rest, record.rest_bytes);
}

// ---- the same as it stands in a BAM file: the column `bam_bytes`.

inline std::size_t bam_bytes(const AlignmentRecord& record) {
  // A CIGAR in a tag: what stands in its place, and the beginning of the tag.
  constexpr std::size_t fields = 36, tag = 16;
  return fields + record.data_bytes() - record.core.l_extranul + (record.core.n_cigar > hts::most_bam_operations ? tag : 0);
}
// SAM may have what BAM can't hold. Null: this record fits.
inline const char* bam_limit(const AlignmentRecord& record) {
  constexpr std::int64_t furthest = hts::furthest_bam_position, least = std::numeric_limits<std::int32_t>::min();
  const bam1_core_t& core = record.core;
  if (core.pos > furthest || core.mpos > furthest) return "its position, or that of its mate, is beyond 2^31 bases";
  if (core.isize < least || core.isize > furthest) return "its TLEN is beyond 2^31 bases";
  if (core.n_cigar > hts::most_bam_operations && record.reference_bases >= std::int64_t{1} << 28)
    return "its CIGAR has more than 65,535 operations, and spans more than 2^28 bases";
  return bam_bytes(record) > static_cast<std::size_t>(furthest) ? "it has more than 2^31 bytes" : nullptr;
}
// Writes that many bytes of a record that fits.
inline void write_bam_bytes(const AlignmentRecord& record, char* at) {
  const bam1_core_t& core = record.core;
  if (core.n_cigar > hts::most_bam_operations) {
    std::string bytes;
    hts::append_bam_record(*hts::as_htslib_record(record), bytes);
    std::memcpy(at, bytes.data(), bytes.size());
    return;
  }
  const auto put = [&at](auto value) {
    std::memcpy(at, &value, sizeof value);
    at += sizeof value;
  };
  const std::size_t name_bytes = std::size_t{core.l_qname} - core.l_extranul;
  put(static_cast<std::uint32_t>(bam_bytes(record) - sizeof(std::uint32_t)));
  put(static_cast<std::int32_t>(core.tid));
  put(static_cast<std::int32_t>(core.pos));
  put(static_cast<std::uint8_t>(name_bytes));
  put(static_cast<std::uint8_t>(core.qual));
  put(static_cast<std::uint16_t>(core.bin));
  put(static_cast<std::uint16_t>(core.n_cigar));
  put(static_cast<std::uint16_t>(core.flag));
  put(static_cast<std::int32_t>(core.l_qseq));
  put(static_cast<std::int32_t>(core.mtid));
  put(static_cast<std::int32_t>(core.mpos));
  put(static_cast<std::int32_t>(core.isize));
  std::memcpy(at, record.name, name_bytes);
  std::memcpy(at + name_bytes, record.rest, record.rest_bytes);
}

}  // namespace sluice::alignment_reader
