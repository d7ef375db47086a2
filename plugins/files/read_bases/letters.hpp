// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What is done to every byte of a file of reads, with vectors.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice::read_bases {

// A newline within a piece of text, with what the walk over the lines would have to fetch from the text.
struct LineEnd {
  std::uint32_t at : 23;           // in the piece
  std::uint32_t after_return : 1;  // the character before it is '\r'; 0 if it is the first of the piece
  std::uint32_t next : 8;          // the character behind it; 0 if it is the last of the piece
};
inline constexpr std::size_t largest_piece = std::size_t{1} << 23;

// The newlines of a piece, in order. `ends` is overwritten, and larger than need be: returns how many there are.
std::size_t find_line_ends(std::string_view piece, std::vector<LineEnd>& ends);

// Letters that lie in lines of one length.
struct LetterLines {
  const char* text;     // the first of them
  std::size_t in_line;  // letters in front of it in its line
  std::size_t line_letters;
  std::size_t line_bytes;  // with the line end
};

// Copies so many letters without line ends, in upper case, U as T. False if a character is no base (sequence/bases.hpp); then what is written means
// nothing.
bool copy_bases(const LetterLines& lines, std::size_t letters, char* to);
// Is one of so many bases in lower case?
bool any_lower_case(const LetterLines& lines, std::size_t letters);
// Copies them as they are. False if a character is outside '!' to '~'. `to` may be null.
bool copy_qualities(const LetterLines& lines, std::size_t letters, char* to);

}  // namespace sluice::read_bases
