// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where each read's sequence lies in a FASTA or FASTQ file, in memory and in the .fai format of samtools faidx.

#include <cstdint>
#include <optional>
#include <sluice/repeated_reads.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::read_bases {

// In the uncompressed text.
struct SequencePlace {
  std::uint64_t offset = 0;  // of the first base, bytes
  std::uint64_t bases = 0;
  std::uint64_t line_bases = 0;  // bases in each full line
  std::uint64_t line_bytes = 0;  // the same with the line end

  // Bytes of text from the first base to the last; nothing when that overflows.
  std::optional<std::uint64_t> text_bytes() const;
};

// Read id -> place. About 60 bytes a read on top of its name.
class SequenceIndex {
 public:
  enum class Added : std::uint8_t { yes, duplicate };

  // The first sequence of an id wins.
  Added add(std::string_view id, const SequencePlace& place);
  const SequencePlace* find(std::string_view id) const;  // nullptr: not there
  std::size_t size() const { return entries_.size(); }
  std::string_view id(std::size_t entry) const { return {names_.data() + entries_[entry].name_begin, entries_[entry].name_length}; }

 private:
  struct Entry {
    std::uint64_t name_begin;
    std::uint64_t name_length;
    SequencePlace place;
  };
  std::size_t slot_of(std::string_view id) const;

  std::vector<Entry> entries_;
  std::string names_;
  std::vector<std::uint32_t> slots_;  // open addressing, linear probing; 0 = free, else entry + 1
};

enum class IndexStatus : std::uint8_t { ok, malformed, other_file };

// Parses a .fai text (5 columns for FASTA, 6 for FASTQ). `text_bytes`: size of the uncompressed file, which all places must lie in.
IndexStatus parse_index(std::string_view fai, std::uint64_t text_bytes, SequenceIndex& index, std::uint64_t& duplicates);
// The lines of a .fai, which made `index`, whose names earlier ones have.
void find_repeated(std::string_view fai, const SequenceIndex& index, RepeatedReads& repeated);

}  // namespace sluice::read_bases
