// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Matches of a read as text.

#include <cstdint>
#include <sluice/fm_index.hpp>
#include <span>
#include <string>
#include <string_view>

namespace sluice::match_writer {

// table:   read, strand, start, end (inclusive), occurrences, places; tab-separated, from 0. Strand . if the index has both strands.
// fastmap: as bwa 0.7.17 fastmap; needs an index of both strands.
// mummer:  as mummer 3.23 -maxmatch -b; needs an index of the forward strand. A read's lines are in the order of its bases.
enum class Format : std::uint8_t { table, fastmap, mummer };
// How the table names places. text: in the text of the index; contig: as CONTIG:strand:place, with the first base on the contig's forward strand.
enum class Places : std::uint8_t { text, contig };

// The columns of mem_seeding for one read.
struct ReadMatches {
  std::string_view read_id;
  std::int32_t read_length = 0;
  std::span<const std::uint8_t> reverse;
  std::span<const std::int32_t> start, end;
  std::span<const std::uint32_t> count, places, place;
};

// False: the columns do not fit each other or the index.
bool fits(const ReadMatches& matches, const FmIndexView& index);
// Appends the lines of a read. `matches` must fit.
void append_lines(const ReadMatches& matches, const FmIndexView& index, Format format, Places places, std::string& out);

}  // namespace sluice::match_writer
