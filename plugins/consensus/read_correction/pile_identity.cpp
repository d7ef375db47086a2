// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/pile_identity.hpp"

#include <algorithm>

namespace sluice::read_correction {

OverlapIdentity& OverlapIdentity::operator+=(const OverlapIdentity& other) {
  differences += other.differences;
  letters += other.letters;
  return *this;
}

PileCut choose_cut(bool is_noisy, std::optional<std::int32_t> k, std::optional<std::int32_t> piece_length) {
  constexpr PileCut of_noisy = {.k = 8, .piece_length = 300, .differences_pct = 50};
  PileCut cut = is_noisy ? of_noisy : PileCut{};
  cut.k = k.value_or(cut.k);
  cut.piece_length = piece_length.value_or(cut.piece_length);
  return cut;
}

void IdentityMeasure::add(const PackedBases& template_bases, const PackedBases& read, const OverlapPlace& place, std::span<const Anchor> anchors,
                          OverlapIdentity& sum) {
  if (anchors.empty()) return;
  const std::int32_t middle = place.template_begin + (place.template_end - place.template_begin) / 2;
  const std::int32_t begin = middle - stretch / 2, end = begin + stretch;
  // From the last anchor that begins before the stretch to the first one behind it, or what is there. Within an anchor no more than the stretch.
  const auto is_before = [](const Anchor& anchor, std::int32_t at) { return anchor.template_begin < at; };
  auto first = std::lower_bound(anchors.begin(), anchors.end(), begin, is_before);
  if (first != anchors.begin()) --first;
  auto last = std::lower_bound(first, anchors.end(), end, is_before);
  if (last == anchors.end()) --last;
  const auto within = [](const Anchor& anchor, std::int32_t at) { return std::clamp(at - anchor.template_begin, 0, anchor.length); };
  const std::int32_t before = within(*first, begin), behind = within(*last, end);
  const std::int32_t on_template = last->template_begin + behind - first->template_begin - before;
  const std::int32_t on_read = last->read_begin + behind - first->read_begin - before;
  if (std::min(on_template, on_read) <= 0 || std::max(on_template, on_read) > longest) return;
  template_bases.letters(first->template_begin + before, last->template_begin + behind, of_template_);
  read.letters(first->read_begin + before, last->read_begin + behind, of_read_);
  aligner_.set_pattern(of_template_);
  sum += {aligner_.align(of_read_), std::max(on_template, on_read)};
}

}  // namespace sluice::read_correction
