// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/piece_identity.hpp"

#include <algorithm>
#include <string>

#include "read_correction/strand_letters.hpp"
#include "read_correction/unit_cost_path.hpp"

namespace sluice::read_correction {
namespace {

std::string codes_of(std::string_view letters) {
  std::string codes(letters.size(), '\0');
  to_codes(letters.data(), letters.size(), codes.data());
  return codes;
}

}  // namespace

void PieceIdentity::add(std::string_view sequences, std::span<const std::int32_t> lengths, std::string_view consensus) {
  if (lengths.size() < 2) return;
  const std::string codes = codes_of(sequences), corrected = codes_of(consensus);
  const std::string_view own = std::string_view(codes).substr(0, static_cast<std::size_t>(lengths[0]));
  UnitCostAligner aligner;
  const auto compare = [&](std::string_view piece, std::uint64_t& equal, std::uint64_t& bases) {
    if (piece.empty()) return;
    aligner.set_pattern(piece);
    std::size_t begin = own.size();
    for (const std::int32_t length : lengths.subspan(1)) {
      const std::string_view other = std::string_view(codes).substr(begin, static_cast<std::size_t>(length));
      begin += other.size();
      if (other.empty()) continue;
      const std::size_t whole = std::max(piece.size(), other.size());
      bases += whole;
      equal += whole - static_cast<std::size_t>(aligner.align(other));
    }
  };
  compare(own, equal_before, bases_before);
  compare(corrected, equal_after, bases_after);
}

void PieceIdentity::add(const PieceIdentity& other) {
  equal_before += other.equal_before, bases_before += other.bases_before;
  equal_after += other.equal_after, bases_after += other.bases_after;
}

}  // namespace sluice::read_correction
