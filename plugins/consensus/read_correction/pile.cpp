// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/pile.hpp"

#include <algorithm>

namespace sluice::read_correction {

void PileCutter::cut(const PackedBases& template_bases, std::span<const PileRead> reads) {
  pieces_.clear();
  layers_.clear();
  unanchored_ = 0;
  anchors_.clear();
  anchors_end_.clear();
  order_.clear();
  const std::int32_t length = template_bases.size();
  kmers_.build(template_bases, parameters_.k);
  support_.reset(length);
  for (std::size_t r = 0; r < reads.size(); ++r) {
    find_anchors(kmers_, *reads[r].bases, reads[r].place, overlap_reach, anchor_workspace_, anchors_of_read_);
    support_.add(anchors_of_read_, parameters_.margin);
    AnchoredRead anchored{static_cast<std::int32_t>(r), 0, std::max(reads[r].place.template_end - reads[r].place.template_begin, 1)};
    for (const Anchor& anchor : anchors_of_read_) anchored.letters_anchored += anchor.length;
    anchors_.insert(anchors_.end(), anchors_of_read_.begin(), anchors_of_read_.end());
    anchors_end_.push_back(anchors_.size());
    if (anchors_of_read_.empty())
      ++unanchored_;
    else
      order_.push_back(anchored);
  }
  choose_borders(support_.finish(), parameters_.piece_length, borders_);
  std::stable_sort(order_.begin(), order_.end(),
                   [](const AnchoredRead& a, const AnchoredRead& b) { return a.letters_anchored * b.letters > b.letters_anchored * a.letters; });

  // Per piece the number of layers, then their places, so that each piece's lie together.
  const std::size_t pieces = borders_.size() - 1;
  pieces_.resize(pieces);
  for (std::size_t p = 0; p < pieces; ++p) pieces_[p] = {borders_[p], borders_[p + 1], p * static_cast<std::size_t>(parameters_.max_layers), 0};
  for (Piece& piece : pieces_) piece.end_layer = piece.first_layer;
  layers_.resize(pieces * static_cast<std::size_t>(parameters_.max_layers));
  for (const AnchoredRead& read : order_) {
    const auto r = static_cast<std::size_t>(read.read);
    const std::size_t first = r == 0 ? 0 : anchors_end_[r - 1];
    find_border_places(borders_, template_bases, *reads[r].bases, std::span(anchors_).subspan(first, anchors_end_[r] - first), border_workspace_,
                       places_);
    for (std::size_t p = 0; p < pieces; ++p) {
      Piece& piece = pieces_[p];
      if (places_[p] == unknown_place || places_[p + 1] == unknown_place ||
          piece.end_layer - piece.first_layer == static_cast<std::size_t>(parameters_.max_layers))
        continue;
      // Sequences of another length do not tell about the same bases (CONSENT: a factor of 2, or 5 bases).
      const std::int32_t letters = places_[p + 1] - places_[p], bases = piece.end - piece.begin;
      if (letters <= 0 || letters > 2 * bases + 5 || bases > 2 * letters + 5) continue;
      layers_[piece.end_layer++] = {read.read, places_[p], places_[p + 1]};
    }
  }
  std::erase_if(pieces_,
                [this](const Piece& piece) { return piece.end_layer - piece.first_layer < static_cast<std::size_t>(parameters_.min_layers); });
}

}  // namespace sluice::read_correction
