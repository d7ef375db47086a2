// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// One alignment record where it lies: in the text of a BAM file, or in HTSlib's memory.

#include <htslib/sam.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <sluice/hts/handles.hpp>
#include <span>

namespace sluice::alignment_reader {

struct AlignmentRecord {
  bam1_core_t core{};
  const char* name = nullptr;          // up to its first NUL
  const std::uint8_t* rest = nullptr;  // behind the name: CIGAR, packed SEQ, QUAL and tags, at any address
  std::size_t rest_bytes = 0;
  std::int64_t reference_bases = 0;    // that the CIGAR spans
  std::int64_t read_bases = 0;         // of the whole read: those of the CIGAR with all clips, or of SEQ when there is no CIGAR
  std::shared_ptr<const void> memory;  // keeps all of this

  const std::uint8_t* packed_bases() const { return rest + std::size_t{4} * core.n_cigar; }
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

// Reads a record of a BAM file, without its first four bytes, by the rules of HTSlib's bam_read1() and sam_read1(). `memory` stays as it is.
RecordOutcome parse_record(std::span<const std::uint8_t> bytes, int contigs, AlignmentRecord& record);
// Could the record that begins so be one of so many bytes? `fields`: the first 32 bytes.
bool is_possible(const std::uint8_t* fields, std::size_t bytes);
// The same by HTSlib, for unusual ones. False: damaged.
bool parse_by_htslib(std::span<const std::uint8_t> bytes, int contigs, AlignmentRecord& record);
// A view of what HTSlib has read, which it takes over.
AlignmentRecord as_alignment_record(hts::Record record);
// For functions that take one of HTSlib's.
hts::Record as_htslib_record(const AlignmentRecord& record);

}  // namespace sluice::alignment_reader
