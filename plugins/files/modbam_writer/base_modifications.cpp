// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "modbam_writer/base_modifications.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace sluice::modbam_writer {
namespace {

void append_number(std::string& text, std::int64_t value) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  text.append(digits.data(), end);
}

}  // namespace

std::uint8_t probability_code(double log_lik_ratio) {
  const double probability = 1.0 / (1.0 + std::exp(-log_lik_ratio));
  if (!(probability > 0)) return 0;
  return static_cast<std::uint8_t>(std::min(255.0, std::floor(probability * 256.0)));
}

bool make_tags(const RecordAlignment& alignment, const Motif& motif, std::span<const SiteCall> calls, ModificationTags& tags) {
  tags.positions.assign(1, motif.base).append("+").append(motif.code).append("?");
  tags.probabilities.clear();
  std::vector<ReadCall> placed;
  placed.reserve(calls.size());
  if (!place_calls(alignment, motif.sites(alignment.strand), calls, placed)) return false;
  // In sequencing orientation a reverse record reads from its last base to its first, and a C of it is stored as G.
  const bool forward = alignment.strand == Strand::forward;
  if (!forward) std::reverse(placed.begin(), placed.end());
  const unsigned counted = motif_bit(forward ? motif.base : complement_of(motif.base));
  const std::int64_t step = forward ? 1 : -1;
  std::int64_t position = forward ? 0 : alignment.base_count - 1;
  for (const ReadCall& call : placed) {
    std::int64_t skipped = 0;
    for (; position != call.position; position += step) skipped += methylation::detail::base_at(alignment, position) == counted ? 1 : 0;
    position += step;
    tags.positions += ',';
    append_number(tags.positions, skipped);
    tags.probabilities.push_back(calls[call.call].probability);
  }
  tags.positions += ';';
  return true;
}

}  // namespace sluice::modbam_writer
