// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/oriented_reads.hpp"

#include <algorithm>
#include <array>
#include <sluice/sequence/bases.hpp>

namespace sluice::read_correction {
namespace {

// Tables, because which of four cases a base is no branch predictor knows.
using LetterTable = std::array<char, 256>;
template <class Change>
constexpr LetterTable table_of(Change&& change) {
  LetterTable table{};
  for (std::size_t letter = 0; letter < table.size(); ++letter) table[letter] = change(static_cast<char>(letter));
  return table;
}
constexpr char normal(char base) { return "ACGTN"[nucleotide_code(base)]; }
constexpr LetterTable normal_letters = table_of(normal);
constexpr LetterTable normal_complements = table_of([](char base) { return normal(complement_of(base)); });

void change_letters(const LetterTable& table, char* bases, std::size_t letters) {
  std::transform(bases, bases + letters, bases, [&](char base) { return table[static_cast<unsigned char>(base)]; });
}

}  // namespace

void OrientedReads::fetch_bases(std::int64_t read, std::int64_t begin, std::int64_t end, Strand strand, char* out) {
  reads_->fetch_bases(read, begin, end, out, scratch_);
  if (strand == Strand::reverse) std::reverse(out, out + (end - begin));
  change_letters(strand == Strand::reverse ? normal_complements : normal_letters, out, static_cast<std::size_t>(end - begin));
}

}  // namespace sluice::read_correction
