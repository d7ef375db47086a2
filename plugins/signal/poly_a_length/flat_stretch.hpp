// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The longest flat stretch of a signal, which a homopolymer is.

#include <cstdint>
#include <optional>
#include <span>

namespace sluice::poly_a_length {

struct Stretch {
  std::int64_t begin = 0, end = 0;  // samples
};

// Of 12 bases or more, among those that begin within 300 bases. samples_per_base: usual ones. step: pA of a step of the converter, above 0.
std::optional<Stretch> flat_stretch(std::span<const std::int16_t> raw, double samples_per_base, double step);

// Bases of a stretch of so many samples, at the speed of the rest of the read, as far as that tells it. At least 1.
std::int32_t bases_of_stretch(std::int64_t samples, std::int64_t rest_samples, std::int64_t rest_bases, double usual_samples_per_base);

}  // namespace sluice::poly_a_length
