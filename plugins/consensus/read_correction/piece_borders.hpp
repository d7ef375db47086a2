// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where a template is divided into pieces: at places that many of its reads have anchors at, so that all sequences of a piece begin and end with the
// same base.

#include <cstdint>
#include <span>
#include <vector>

#include "read_correction/read_anchors.hpp"

namespace sluice::read_correction {

// Per place between two bases of the template: anchors that reach at least `margin` bases to both sides of it.
class AnchorSupport {
 public:
  void reset(std::int32_t template_length);
  void add(std::span<const Anchor> anchors, std::int32_t margin);
  // template_length + 1 numbers. Ends the counting.
  std::span<const std::int32_t> finish();

 private:
  std::vector<std::int32_t> change_;
};

// Borders 0 = b0 < b1 < ... = template_length: each the best supported place between half a piece and one and a half behind the last border, of
// equally supported ones that nearest to a whole piece, then the first. All pieces but a short template's have between half and three halves of
// piece_length (>= 2) bases.
void choose_borders(std::span<const std::int32_t> support, std::int32_t piece_length, std::vector<std::int32_t>& borders);

}  // namespace sluice::read_correction
