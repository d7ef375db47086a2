// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "modbam_writer/alignment_record.hpp"

#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace sluice::modbam_writer {
namespace {

static_assert(std::endian::native == std::endian::little, "the fields are copied as they lie in memory");

constexpr std::size_t header_bytes = 52;

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

}  // namespace

RecordStatus load_record(std::string_view bytes, std::int32_t contig_count, bam1_t& record) {
  if (bytes.size() < header_bytes) return RecordStatus::corrupt;
  bam1_core_t core{};
  std::int32_t data_bytes = 0;
  FieldReader next(bytes.data());
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

void store_record(const bam1_t& record, std::string& bytes) {
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

}  // namespace sluice::modbam_writer
