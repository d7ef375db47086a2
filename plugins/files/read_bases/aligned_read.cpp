// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_bases/aligned_read.hpp"

#include <htslib/hts.h>
#include <htslib/sam.h>

#include <array>

namespace sluice::read_bases {
namespace {

// One bit for each base that a letter may be; all of them for what is no base, as '='.
constexpr std::array<std::uint8_t, 256> possible_bases = [] {
  constexpr std::string_view letters = "ACMGRSVTWYHKDBN";  // of the codes 1 to 15 in BAM
  std::array<std::uint8_t, 256> bits{};
  bits.fill(15);
  for (std::size_t i = 0; i < letters.size(); ++i)
    bits[static_cast<unsigned char>(letters[i])] = bits[static_cast<unsigned char>(letters[i]) + ('a' - 'A')] = static_cast<std::uint8_t>(i + 1);
  bits['U'] = bits['u'] = bits['T'];
  return bits;
}();

std::uint64_t hard_clip(std::uint32_t operation) { return bam_cigar_op(operation) == BAM_CHARD_CLIP ? bam_cigar_oplen(operation) : 0; }

}  // namespace

std::uint64_t read_length(std::span<const std::uint32_t> cigar) {
  std::uint64_t bases = 0;
  for (const std::uint32_t operation : cigar)
    if (const auto code = bam_cigar_op(operation); (bam_cigar_type(code) & 1) != 0 || code == BAM_CHARD_CLIP) bases += bam_cigar_oplen(operation);
  return bases;
}

bool is_aligned_read(std::string_view read, const AlignedRead& aligned) {
  if (aligned.cigar.empty()) return true;
  if (read.size() != read_length(aligned.cigar)) return false;
  // SEQ lacks what is clipped hard.
  const std::uint64_t begin = hard_clip(aligned.is_reverse ? aligned.cigar.back() : aligned.cigar.front());
  if (aligned.bases.empty() || begin > read.size() || aligned.bases.size() > read.size() - begin) return true;
  const std::string_view part = read.substr(begin, aligned.bases.size());
  if (part == aligned.bases) return true;
  std::size_t equal = 0;
  for (std::size_t i = 0; i < part.size(); ++i)
    equal += (possible_bases[static_cast<unsigned char>(part[i])] & possible_bases[static_cast<unsigned char>(aligned.bases[i])]) != 0 ? 1 : 0;
  return static_cast<double>(equal) >= least_equal_bases * static_cast<double>(part.size());
}

}  // namespace sluice::read_bases
