// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How long the poly(A) tail of a cDNA read is. The bases say where it lies: a run of T near their begin, or of A near their end, between the primers
// and what is left of the adapters. How long it is the signal says, as basecallers shorten runs of one base. That the primers' side is told first,
// and the tail is measured in the signal behind, is the idea of tailfindr (Krause et al. 2019) and of dorado's estimate.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "poly_a_length/tail_length.hpp"

namespace sluice::poly_a_length {

enum class TailSide : std::uint8_t { front, rear };

// Bases [begin, end) of the run; on the front they are T, on the rear A, but for a few errors.
struct TailBases {
  TailSide side = TailSide::front;
  std::size_t begin = 0, end = 0;
};
// The better of the runs within 200 bases of either end; none: neither has ten bases more than twice as many errors.
std::optional<TailBases> find_tail_bases(std::string_view bases);

// pA = (raw + offset) * range / digitisation; range, digitisation and sampling_rate above 0. moves: as the column `moves`; empty: unknown, the bases
// then pass at one speed. no_adapter: the bases have no tail.
TailLength cdna_tail_length(std::span<const std::int16_t> raw, double digitisation, double range, double sampling_rate, std::string_view bases,
                            std::span<const std::int8_t> moves);

}  // namespace sluice::poly_a_length
