// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "overlap_reader/overlap_selection.hpp"

#include <utility>

namespace sluice::overlap_reader {

bool OverlapSelection::is_acceptable(const CandidateOverlap& candidate) {
  if (candidate.error > max_error_) return drop_(candidate, Drop::too_different), false;
  if (candidate.is_itself) return drop_(candidate, Drop::itself), false;
  return true;
}

void OverlapSelection::add(CandidateOverlap& candidate) {
  if (keep_ == Keep::all) {
    if (is_acceptable(candidate)) take_(candidate);
    return;
  }
  if (longest_ && longest_->record.query != candidate.record.query) finish();
  if (longest_) {
    const bool stays = longest_->length >= candidate.length;
    drop_(stays ? candidate : *longest_, Drop::not_the_longest);
    if (stays) return;
    longest_.reset();
  }
  if (is_acceptable(candidate)) longest_ = std::move(candidate);
}

void OverlapSelection::finish() {
  if (longest_) take_(*longest_);
  longest_.reset();
}

}  // namespace sluice::overlap_reader
