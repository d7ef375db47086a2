// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/pile.hpp"

#include <algorithm>

namespace sluice::read_correction {

void PileCutter::cut(const PackedBases& template_bases, std::span<const PileRead> reads) {
  pieces_.clear();
  layers_.clear();
  cut_by_ = choose_cut(false, parameters_.k, parameters_.piece_length);
  anchor_reads(template_bases, reads);
  measure_identity(template_bases, reads);
  const std::int32_t k = cut_by_.k;
  cut_by_ = choose_cut(identity_.is_noisy(), parameters_.k, parameters_.piece_length);
  if (cut_by_.k != k) anchor_reads(template_bases, reads);
  choose_borders(support_.finish(), cut_by_.piece_length, borders_);
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
    find_border_places(borders_, template_bases, *reads[r].bases, anchors_of(r), cut_by_.differences_pct, border_workspace_, places_);
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

void PileCutter::anchor_reads(const PackedBases& template_bases, std::span<const PileRead> reads) {
  unanchored_ = 0;
  anchors_.clear();
  anchors_end_.clear();
  order_.clear();
  kmers_.build(template_bases, cut_by_.k);
  support_.reset(template_bases.size());
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
}

std::span<const Anchor> PileCutter::anchors_of(std::size_t read) const {
  const std::size_t first = read == 0 ? 0 : anchors_end_[read - 1];
  return std::span(anchors_).subspan(first, anchors_end_[read] - first);
}

void PileCutter::measure_identity(const PackedBases& template_bases, std::span<const PileRead> reads) {
  identity_ = {};
  if (reads.empty()) return;
  for (std::size_t i = 0, before = reads.size(); i < IdentityMeasure::reads; ++i) {
    const std::size_t r = IdentityMeasure::chosen(i, reads.size());
    if (r == before) continue;  // of a few reads one is not counted twice
    before = r;
    identity_measure_.add(template_bases, *reads[r].bases, reads[r].place, anchors_of(r), identity_);
  }
}

}  // namespace sluice::read_correction
