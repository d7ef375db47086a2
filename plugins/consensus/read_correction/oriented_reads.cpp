// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/oriented_reads.hpp"

#include <algorithm>
#include <array>
#include <sluice/sequence/bases.hpp>

namespace sluice::read_correction {
namespace {

constexpr char weight_one = '"';  // Phred + 33, of a read without qualities

// A table, because which of four cases a base is no branch predictor knows.
constexpr std::array<char, 256> complements = [] {
  std::array<char, 256> table{};
  for (std::size_t letter = 0; letter < table.size(); ++letter) table[letter] = complement_of(static_cast<char>(letter));
  return table;
}();

}  // namespace

void reverse_complement(char* bases, std::size_t letters) {
  const auto complement = [](char base) { return complements[static_cast<unsigned char>(base)]; };
  std::reverse(bases, bases + letters);
  std::transform(bases, bases + letters, bases, complement);
}

void OrientedReads::fetch_bases(std::int64_t read, std::int64_t begin, std::int64_t end, Strand strand, char* out) {
  reads_->fetch_bases(read, begin, end, out, scratch_);
  if (strand == Strand::reverse) reverse_complement(out, static_cast<std::size_t>(end - begin));
}

void OrientedReads::fetch_qualities(std::int64_t read, std::int64_t begin, std::int64_t end, Strand strand, char* out) {
  if (!reads_->has_qualities(read)) return std::fill(out, out + (end - begin), weight_one), void();
  reads_->fetch_qualities(read, begin, end, out, scratch_);
  if (strand == Strand::reverse) std::reverse(out, out + (end - begin));
}

}  // namespace sluice::read_correction
