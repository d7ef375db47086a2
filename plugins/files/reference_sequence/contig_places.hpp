// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where the contigs of a plain FASTA file lie, so that any base can be read alone: from its .fai index, or by reading the file once.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference_sequence/fasta.hpp"

namespace sluice::reference_sequence {

// The lines of a .fai (samtools faidx): base b is byte first_byte + b / line_bases * line_bytes + b % line_bases.
struct ContigPlaces {
  std::vector<std::string> name;
  std::vector<std::int64_t> length, first_byte, line_bases, line_bytes;

  std::size_t size() const { return name.size(); }
  void add(std::string_view contig, std::int64_t bases, std::int64_t first, std::int64_t bases_of_line, std::int64_t bytes_of_line);
};

// Bytes [offset, offset + bytes) of the file, fewer at its end.
using BytesAt = std::function<std::string(std::int64_t offset, std::int64_t bytes)>;

// The places that a .fai tells, if it is one of this file: its contigs are all the file has, in its order, each begins behind its own header and ends
// before the next one. What is between their ends is not looked at. Nothing: it is none, or of another file.
std::optional<ContigPlaces> places_of_index(std::string_view fai, std::int64_t file_bytes, const BytesAt& bytes_at);

// The same by reading the whole text (next(): a piece of it, "" at its end), with every letter looked at.
enum class Scanned : std::uint8_t { even, uneven, malformed };  // uneven: lines of different lengths; malformed: `problem` is set
Scanned scan_places(const std::function<std::string_view()>& next, ContigPlaces& places, FastaProblem& problem);

}  // namespace sluice::reference_sequence
