// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The column bam_record: one alignment record of HTSlib as bytes, little-endian and packed, in this order:
//   int32 tid, int64 pos, uint16 bin, uint8 qual, uint8 l_extranul, uint16 flag, uint16 l_qname, uint32 n_cigar, int32 l_qseq, int32 mtid,
//   int64 mpos, int64 isize, int32 l_data, then l_data bytes: name, CIGAR, bases, qualities, optional fields as in BAM.
// l_extranul of the l_qname bytes are NUL padding behind the name's own NUL, so that the CIGAR is aligned to four bytes.

#include <htslib/sam.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace sluice::hts {

enum class RecordStatus : std::uint8_t {
  ok,
  corrupt,  // sizes or optional fields that do not fit, or a contig index that the header lacks
  no_memory,
};

namespace stored_record {

static_assert(std::endian::native == std::endian::little, "the fields are copied as they lie in memory");

inline constexpr std::size_t header_bytes = 52;

class FieldReader {
 public:
  explicit FieldReader(const char* at) : at_(at) {}
  template <class Stored, class Field>
  void operator()(Field& field, Stored = {}) {
    Stored value;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    field = value;
  }

 private:
  const char* at_;
};

template <class Stored>
void append(std::string& bytes, Stored value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  bytes.append(raw, sizeof value);
}

}  // namespace stored_record

// Replaces `record` by the one in `bytes`; contig_count is the header's. On failure the record is unusable until the next success.
inline RecordStatus load_record(std::string_view bytes, std::int32_t contig_count, bam1_t& record) {
  using stored_record::header_bytes;
  if (bytes.size() < header_bytes) return RecordStatus::corrupt;
  bam1_core_t core{};
  std::int32_t data_bytes = 0;
  stored_record::FieldReader next(bytes.data());
  next(core.tid, std::int32_t{});
  next(core.pos, std::int64_t{});
  next(core.bin, std::uint16_t{});
  next(core.qual, std::uint8_t{});
  next(core.l_extranul, std::uint8_t{});
  next(core.flag, std::uint16_t{});
  next(core.l_qname, std::uint16_t{});
  next(core.n_cigar, std::uint32_t{});
  next(core.l_qseq, std::int32_t{});
  next(core.mtid, std::int32_t{});
  next(core.mpos, std::int64_t{});
  next(core.isize, std::int64_t{});
  next(data_bytes, std::int32_t{});
  if (data_bytes < 0 || static_cast<std::size_t>(data_bytes) > bytes.size() - header_bytes) return RecordStatus::corrupt;
  const std::string_view data = bytes.substr(header_bytes, static_cast<std::size_t>(data_bytes));
  if (core.tid < -1 || core.tid >= contig_count || core.mtid < -1 || core.mtid >= contig_count || core.pos < -1 || core.mpos < -1)
    return RecordStatus::corrupt;
  if (core.l_qseq < 0 || core.l_qname < 1 || core.l_extranul >= core.l_qname || core.l_qname % 4 != 0) return RecordStatus::corrupt;
  const std::uint64_t needed = std::uint64_t{core.l_qname} + std::uint64_t{core.n_cigar} * 4 + (static_cast<std::uint64_t>(core.l_qseq) + 1) / 2 +
                               static_cast<std::uint64_t>(core.l_qseq);
  if (needed > data.size()) return RecordStatus::corrupt;
  const std::size_t name_bytes = core.l_qname - core.l_extranul;  // with its NUL
  if (data.substr(0, core.l_qname).find('\0') != name_bytes - 1) return RecordStatus::corrupt;
  if (data.size() > record.m_data) {
    void* memory = std::realloc(record.data, data.size());  // HTSlib's own allocator, and it may grow the record again
    if (memory == nullptr) return RecordStatus::no_memory;
    record.data = static_cast<std::uint8_t*>(memory);
    record.m_data = static_cast<std::uint32_t>(data.size());
  }
  std::memcpy(record.data, data.data(), data.size());
  record.core = core;
  record.l_data = data_bytes;
  // A search for a tag that no record has walks over all optional fields.
  errno = 0;
  if (bam_aux_get(&record, "!!") == nullptr && errno == EINVAL) return RecordStatus::corrupt;
  return RecordStatus::ok;
}

// Appends the record's bytes.
inline void store_record(const bam1_t& record, std::string& bytes) {
  using stored_record::append, stored_record::header_bytes;
  const bam1_core_t& core = record.core;
  bytes.reserve(bytes.size() + header_bytes + static_cast<std::size_t>(record.l_data));
  append<std::int32_t>(bytes, core.tid);
  append<std::int64_t>(bytes, core.pos);
  append<std::uint16_t>(bytes, core.bin);
  append<std::uint8_t>(bytes, core.qual);
  append<std::uint8_t>(bytes, core.l_extranul);
  append<std::uint16_t>(bytes, core.flag);
  append<std::uint16_t>(bytes, core.l_qname);
  append<std::uint32_t>(bytes, core.n_cigar);
  append<std::int32_t>(bytes, core.l_qseq);
  append<std::int32_t>(bytes, core.mtid);
  append<std::int64_t>(bytes, core.mpos);
  append<std::int64_t>(bytes, core.isize);
  append<std::int32_t>(bytes, record.l_data);
  bytes.append(reinterpret_cast<const char*>(record.data), static_cast<std::size_t>(record.l_data));
}

}  // namespace sluice::hts
