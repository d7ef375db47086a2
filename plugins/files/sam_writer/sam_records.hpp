// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// SAM records of mapped reads: minimap2's lines, byte for byte; BAM holds what HTSlib reads in them.

#include <htslib/kstring.h>
#include <htslib/sam.h>

#include <cstdint>
#include <functional>
#include <sluice/allocated.hpp>
#include <sluice/hts/handles.hpp>
#include <sluice/minimizer_index.hpp>
#include <sluice/overlap/read_alignments.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sam_writer/modification_cut.hpp"

namespace sluice::sam_writer {

using overlap::ReadAlignment;
using overlap::TagText;

struct ReadRecord {
  std::string_view id, bases, qualities;  // qualities: "" if there are none
  std::int32_t repeat_length = 0;
  std::span<const ReadAlignment> alignments;  // in the order of their records
  std::string_view comment;                   // behind all tags; "" none
};

enum class Clipping : std::uint8_t { hard, soft };  // of supplementary records; soft: secondary ones have bases, too
enum class Secondary : std::uint8_t { left_out, written };
enum class SecondaryBases : std::uint8_t { left_out, written };  // of the aligned part, with hard clips; Clipping::soft goes before it
enum class LongCigar : std::uint8_t { field, tag };              // of more operations than BAM's field can hold; tag: CG
struct RecordOptions {
  Clipping clipping = Clipping::hard;
  Secondary secondary = Secondary::written;
  SecondaryBases secondary_bases = SecondaryBases::left_out;
  LongCigar long_cigar = LongCigar::field;
  std::string read_group;  // its ID; "" none
  TagText text = TagText::none;
};

// May append further tags to a line, each with a tab in front; the record has the bases of `part`.
using MoreTags = std::function<void(std::string& line, ReadPart part)>;

// Appends the lines of one read, or that of an unmapped one.
void append_sam(std::string& text, const MinimizerIndexView& index, const ReadRecord& read, const RecordOptions& options,
                const MoreTags& more_tags = {});

// Can SAM hold a read of this name? A line that begins with @ is one of the header.
bool is_sam_name(std::string_view name);
// Is all of it NAME:TYPE:VALUE, with tabs between them?
bool is_sam_tags(std::string_view comment);
// A read that has no record. Throws Failure (input), which says why. `what`: what its record is for.
[[noreturn]] void refuse_read(const std::string& what, std::string_view name, std::string_view comment = {});

// Makes BAM records of lines. Not thread-safe: one object per thread.
class BamRecords {
 public:
  BamRecords() : record_(allocated(bam_init1())) {}
  BamRecords(const BamRecords&) = delete;
  ~BamRecords() { ks_free(&line_); }

  // Appends the records as they stand in a file, uncompressed. `tags`: for each line those that it has besides, as BAM has them; {}: none. False:
  // HTSlib can't make them.
  bool append(sam_hdr_t& header, std::string_view lines, std::span<const std::string> tags, std::string& bytes);
  // The same as the column bam_record has them (sluice/hts/stored_record.hpp), each with its length (u32) in front.
  bool store(sam_hdr_t& header, std::string_view lines, std::span<const std::string> tags, std::string& bytes);

 private:
  bool make(sam_hdr_t& header, std::string_view lines, std::span<const std::string> tags, const std::function<bool(const bam1_t&)>& take);
  bool append_tags(std::string_view tags);

  hts::Record record_;
  kstring_t line_ = KS_INITIALIZE;
};

// The @RG line and its ID from minimap2's -R ("@RG\tID:x\tSM:y", with \t for tabs), or from an ID alone.
struct ReadGroup {
  std::string line, id;  // both "" if there is none
};
ReadGroup parse_read_group(std::string_view text);

}  // namespace sluice::sam_writer
