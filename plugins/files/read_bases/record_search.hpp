// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where a record of FASTA or FASTQ begins in the middle of a file. A line with '>' begins one of FASTA. A line with '@' may be qualities: of the four
// roles that a line may have in FASTQ only one goes on to fit when records have four lines each. Where none does (sections of several lines, blank
// lines), or little lies before, the file is read from its beginning. See ReadStream::Range for how what was found is checked.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <sluice/sequence/text.hpp>
#include <string>

#include "read_bases/text_input.hpp"

namespace sluice::read_bases {

struct TextSearchRules {
  std::uint64_t exact_below = std::uint64_t{1} << 20;  // bytes of the file before the place: rather read than looked through
  std::uint64_t look_back = std::uint64_t{1} << 18;    // at first
  std::size_t records = 4;                             // of FASTQ that follow each other
};

// What a file's first bytes say.
struct TextKind {
  TextPacking packing = TextPacking::plain;
  std::optional<SequenceFormat> format;  // none: that is for who reads it to say
};
TextKind kind_of_text(const std::string& path);

struct FoundRecord {
  enum class How : std::uint8_t {
    at_place,        // of FASTQ before the byte that was asked for
    from_beginning,  // the file has to be read from there
    nowhere,         // no record begins in [byte, limit), and none before it that is near
  } how = How::from_beginning;
  TextInput::Place place;
};
// From where a file, plain or BGZF, is to be read to have all records that begin at `byte` or behind it.
FoundRecord find_record(const std::string& path, const TextKind& kind, std::uint64_t byte, std::uint64_t limit, const TextSearchRules& rules);

}  // namespace sluice::read_bases
