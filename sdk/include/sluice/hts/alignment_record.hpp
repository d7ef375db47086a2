// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// One alignment record where it lies: in the text of a BAM file, or in HTSlib's memory.

#include <htslib/bgzf.h>
#include <htslib/hfile.h>
#include <htslib/sam.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <sluice/allocated.hpp>
#include <sluice/hts/handles.hpp>
#include <sluice/hts/sam_line.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::hts {

struct AlignmentRecord {
  bam1_core_t core{};
  const char* name = nullptr;          // up to its first NUL
  const std::uint8_t* rest = nullptr;  // behind the name: CIGAR, packed SEQ, QUAL and tags, at any address
  std::size_t rest_bytes = 0;
  std::int64_t reference_bases = 0;    // that the CIGAR spans
  std::int64_t read_bases = 0;         // of the whole read: those of the CIGAR with all clips, or of SEQ when there is no CIGAR
  std::shared_ptr<const void> memory;  // keeps all of this

  const std::uint8_t* packed_bases() const { return rest + std::size_t{4} * core.n_cigar; }
  // All of them, as they stand in BAM.
  std::string_view tags() const {
    const auto bases = static_cast<std::size_t>(core.l_qseq);
    const std::size_t before = std::size_t{4} * core.n_cigar + (bases + 1) / 2 + bases;
    return {reinterpret_cast<const char*>(rest) + before, rest_bytes - before};
  }
  // As bam_endpos() has it: a record takes one base at least.
  std::int64_t end() const {
    const bool spans = (core.flag & BAM_FUNMAP) == 0 && reference_bases > 0;
    return core.pos + (spans ? reference_bases : 1);
  }
  bool is_reverse() const { return (core.flag & BAM_FREVERSE) != 0; }
  // Bytes of the record in HTSlib's layout, from the name on.
  std::size_t data_bytes() const { return core.l_qname + rest_bytes; }
};

enum class RecordOutcome : std::uint8_t {
  fine,
  unusual,  // whole, but only HTSlib knows how to read it: a CIGAR in a tag, a name without an end
  damaged,
};

namespace record_detail {

inline constexpr std::size_t field_bytes = 32;

template <class T>
T load(const std::uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

struct CigarBases {
  std::int64_t reference = 0, query = 0, hard_clipped = 0;
};
inline CigarBases bases_of(const std::uint8_t* cigar, std::uint32_t operations) {
  // By operation: is it of the reference, of the query, a hard clip? Sums of products, because which operation comes next can't be foreseen.
  CigarBases sums;
  for (std::uint32_t i = 0; i < operations; ++i) {
    const auto operation = load<std::uint32_t>(cigar + std::size_t{4} * i);
    const auto length = static_cast<std::int64_t>(bam_cigar_oplen(operation));
    const int code = static_cast<int>(bam_cigar_op(operation)), type = bam_cigar_type(code);
    sums.query += length * (type & 1);
    sums.reference += length * (type >> 1 & 1);
    sums.hard_clipped += length * (code == BAM_CHARD_CLIP ? 1 : 0);
  }
  return sums;
}

inline void set_bases(const CigarBases& cigar, AlignmentRecord& record) {
  record.reference_bases = cigar.reference;
  record.read_bases = record.core.n_cigar == 0 ? record.core.l_qseq : cigar.query + cigar.hard_clipped;
}

// Memory of malloc() that somebody else frees.
struct Free {
  void operator()(char* memory) const { std::free(memory); }
};

}  // namespace record_detail

// Could the record that begins so be one of so many bytes? `fields`: the first 32 bytes.
inline bool is_possible(const std::uint8_t* fields, std::size_t bytes) {
  const auto bases = record_detail::load<std::int32_t>(fields + 16);
  const std::uint64_t name = fields[8], padding = (4 - name % 4) % 4, cigar = record_detail::load<std::uint16_t>(fields + 12);
  if (bytes < record_detail::field_bytes || bases < 0 || name < 1) return false;
  const std::uint64_t data = bytes - record_detail::field_bytes + padding;
  return data <= static_cast<std::uint64_t>(std::numeric_limits<int>::max()) &&
         4 * cigar + name + padding + (static_cast<std::uint64_t>(bases) + 1) / 2 + static_cast<std::uint64_t>(bases) <= data;
}

// Reads a record of a BAM file, without its first four bytes, by the rules of HTSlib's bam_read1() and sam_read1(). `memory` stays as it is.
inline RecordOutcome parse_record(std::span<const std::uint8_t> bytes, int contigs, AlignmentRecord& record) {
  const std::uint8_t* at = bytes.data();
  if (bytes.size() < record_detail::field_bytes || !is_possible(at, bytes.size())) return RecordOutcome::damaged;
  bam1_core_t& core = record.core;
  core.tid = record_detail::load<std::int32_t>(at);
  core.pos = record_detail::load<std::int32_t>(at + 4);
  const std::size_t name_bytes = at[8];
  core.qual = at[9];
  core.bin = record_detail::load<std::uint16_t>(at + 10);
  core.n_cigar = record_detail::load<std::uint16_t>(at + 12);
  core.flag = record_detail::load<std::uint16_t>(at + 14);
  core.l_qseq = record_detail::load<std::int32_t>(at + 16);
  core.mtid = record_detail::load<std::int32_t>(at + 20);
  core.mpos = record_detail::load<std::int32_t>(at + 24);
  core.isize = record_detail::load<std::int32_t>(at + 28);
  core.l_extranul = static_cast<std::uint8_t>((4 - name_bytes % 4) % 4);
  core.l_qname = static_cast<std::uint16_t>(name_bytes + core.l_extranul);
  const std::uint8_t* name = at + record_detail::field_bytes;
  if (name[name_bytes - 1] != 0) return RecordOutcome::unusual;
  record.name = reinterpret_cast<const char*>(name);
  record.rest = name + name_bytes;
  record.rest_bytes = bytes.size() - record_detail::field_bytes - name_bytes;
  // A CIGAR of more than 65,535 operations is in a tag, and this one says only how long the read is.
  if (core.n_cigar > 0 && core.tid >= 0 && core.pos >= 0) {
    const auto first = record_detail::load<std::uint32_t>(record.rest);
    if (bam_cigar_op(first) == BAM_CSOFT_CLIP && bam_cigar_oplen(first) == static_cast<std::uint32_t>(core.l_qseq)) return RecordOutcome::unusual;
  }
  const bool is_mapped = (core.flag & BAM_FUNMAP) == 0;
  const record_detail::CigarBases cigar = record_detail::bases_of(record.rest, core.n_cigar);
  if (core.n_cigar > 0) {
    core.bin = static_cast<std::uint16_t>(hts_reg2bin(core.pos, core.pos + (is_mapped && cigar.reference > 0 ? cigar.reference : 1), 14, 5));
    if (core.l_qseq > 0 && is_mapped && cigar.query != core.l_qseq) return RecordOutcome::damaged;
  }
  if (core.tid < -1 || core.tid >= contigs || core.mtid < -1 || core.mtid >= contigs || core.pos < -1 || core.mpos < -1)
    return RecordOutcome::damaged;
  record_detail::set_bases(cigar, record);
  return RecordOutcome::fine;
}

// What a record that is whole says against itself or its header, as "record 'x': ..."; "": nothing.
inline std::string contradiction_of(const bam1_core_t& core, const char* name, const std::uint8_t* cigar, int contigs) {
  const std::string record = "record " + sam_line_detail::quoted(name) + ": ";
  for (const auto& [contig, whose] : {std::pair(core.tid, "it"), std::pair(core.mtid, "its mate")})
    if (contig < -1 || contig >= contigs)
      return record + whose + " is on contig number " + std::to_string(std::int64_t{contig} + 1) + ", and the header has " + std::to_string(contigs);
  if (core.pos < -1 || core.mpos < -1) return record + "its position, or that of its mate, is negative";
  const std::int64_t bases = record_detail::bases_of(cigar, core.n_cigar).query;
  if (core.n_cigar > 0 && core.l_qseq > 0 && (core.flag & BAM_FUNMAP) == 0 && bases != core.l_qseq)
    return record + "CIGAR and SEQ are of different lengths (" + std::to_string(bases) + " and " + std::to_string(core.l_qseq) + " bases)";
  return {};
}

// A view of what HTSlib has read, which it takes over.
inline AlignmentRecord as_alignment_record(Record read) {
  AlignmentRecord record;
  record.core = read->core;
  record.name = bam_get_qname(read.get());
  record.rest = read->data + read->core.l_qname;
  record.rest_bytes = static_cast<std::size_t>(read->l_data) - read->core.l_qname;
  record_detail::set_bases(record_detail::bases_of(record.rest, record.core.n_cigar), record);
  record.memory = std::shared_ptr<const bam1_t>(read.release(), [](const bam1_t* freed) { bam_destroy1(const_cast<bam1_t*>(freed)); });
  return record;
}

// The same by HTSlib, for unusual ones. False: damaged.
inline bool parse_by_htslib(std::span<const std::uint8_t> bytes, int contigs, AlignmentRecord& record) {
  // As an uncompressed file in memory. HTSlib looks at how it begins, and a record's length may look like gzip: so four other bytes come first.
  const auto size = static_cast<std::uint32_t>(bytes.size());
  std::unique_ptr<char, record_detail::Free> text(static_cast<char*>(allocated(std::malloc(bytes.size() + 8))));
  std::memcpy(text.get(), "text", 4);
  std::memcpy(text.get() + 4, &size, sizeof size);
  std::memcpy(text.get() + 8, bytes.data(), bytes.size());
  hFILE* opened = allocated(hopen("mem:", "r:", text.get(), bytes.size() + 8));
  text.release();  // it is the file's
  const Bgzf file(allocated(bgzf_hopen(opened, "r")));
  Record read(allocated(bam_init1()));
  char skipped[4];
  if (bgzf_read(file.get(), skipped, sizeof skipped) != sizeof skipped || bam_read1(file.get(), read.get()) < 0) return false;
  const bam1_core_t& core = read->core;
  if (core.tid < -1 || core.tid >= contigs || core.mtid < -1 || core.mtid >= contigs || core.pos < -1 || core.mpos < -1) return false;
  record = as_alignment_record(std::move(read));
  return true;
}

// For functions that take one of HTSlib's.
inline Record as_htslib_record(const AlignmentRecord& record) {
  Record made(allocated(bam_init1()));
  const std::size_t bytes = record.data_bytes();
  std::uint8_t* data = static_cast<std::uint8_t*>(allocated(std::calloc(bytes == 0 ? 1 : bytes, 1)));
  made->core = record.core;
  made->data = data;
  made->l_data = static_cast<int>(bytes);
  made->m_data = static_cast<std::uint32_t>(bytes);
  std::memcpy(data, record.name, record.core.l_qname - record.core.l_extranul);
  std::memcpy(data + record.core.l_qname, record.rest, record.rest_bytes);
  return made;
}

}  // namespace sluice::hts
