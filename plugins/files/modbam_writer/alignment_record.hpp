// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The column bam_record: one alignment record of HTSlib as bytes, little-endian and packed, in this order:
//   int32 tid, int64 pos, uint16 bin, uint8 qual, uint8 l_extranul, uint16 flag, uint16 l_qname, uint32 n_cigar, int32 l_qseq, int32 mtid,
//   int64 mpos, int64 isize, int32 l_data, then l_data bytes: name, CIGAR, bases, qualities, optional fields as in BAM.
// l_extranul of the l_qname bytes are NUL padding behind the name's own NUL, so that the CIGAR is aligned to four bytes.

#include <htslib/sam.h>

#include <cstdint>
#include <sluice/hts/handles.hpp>
#include <string>
#include <string_view>

namespace sluice::modbam_writer {

enum class RecordStatus : std::uint8_t {
  ok,
  corrupt,  // sizes or optional fields that do not fit, or a contig index that the header lacks
  no_memory,
};

// Replaces `record` by the one in `bytes`; contig_count is the header's. On failure the record is unusable until the next success.
RecordStatus load_record(std::string_view bytes, std::int32_t contig_count, bam1_t& record);

// Appends the record's bytes.
void store_record(const bam1_t& record, std::string& bytes);

}  // namespace sluice::modbam_writer
