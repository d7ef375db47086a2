// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How long the poly(A) tail of a direct-RNA read is: the flat stretch of signal between adapter and transcript, in bases of the speed of the rest of
// the read. The idea of nanopolish polya (Workman et al. 2019), tailfindr (Krause et al. 2019) and dorado's estimate; the finders are those of
// sluice/rna_adapter.hpp and sluice/poly_a_tail.hpp.

#include <cstdint>
#include <span>

namespace sluice::poly_a_length {

struct TailLength {
  static constexpr std::int32_t no_adapter = -1, no_tail = 0;
  std::int32_t bases = no_adapter;    // above 0: of the tail
  std::int64_t begin = -1, end = -1;  // samples; -1: not found
  std::int64_t anchor = -1;           // sample behind which the tail was looked for; -1: nowhere
};

enum class Front : std::uint8_t { whole, cut };  // cut: the signal begins behind the adapter

// pA = (raw + offset) * range / digitisation; range, digitisation and sampling_rate above 0. `bases`: of the read, tail included or not.
TailLength tail_length(std::span<const std::int16_t> raw, double digitisation, double range, double offset, double sampling_rate, std::int64_t bases,
                       Front front);

}  // namespace sluice::poly_a_length
