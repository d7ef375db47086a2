// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where the molecule begins in raw signal, behind what is in no target: stall and adapter, and of direct RNA the poly(A) tail. One rule for stages
// that judge a read by its beginning (signal_normalization), and for those that decode no more than such a stage will look at (signal_decode).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <sluice/poly_a_tail.hpp>
#include <sluice/strand_start.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace sluice {

enum class Tail : std::uint8_t { none, poly_a };
inline Tail tail_named(std::string_view name) { return name == "poly_a" ? Tail::poly_a : Tail::none; }

struct MoleculeStartParameters {
  double adapter_bases = 90;
  double stall_stdv = 4;  // pA; of samples at rest, and of the means of a tail's bases
  double bases_per_second = 450;
  Tail tail = Tail::none;
};

// One read at a time.
//
//   none    the molecule begins `adapter_bases` behind the beginning of the strand (sluice/strand_start.hpp).
//   poly_a  it begins at the end of the tail (sluice/poly_a_tail.hpp), which is looked for from where the strand was found to move. Without a tail it
//           begins as with `none`: what was looked at in the meantime is kept.
class MoleculeStart {
 public:
  // Begins a read. digitisation and range (pA) as in a SLOW5 record; sampling_rate (Hz): above 0. False: digitisation or range is no positive number.
  bool begin(const MoleculeStartParameters& parameters, double digitisation, double range, double sampling_rate) {
    const double samples_per_base = sampling_rate / parameters.bases_per_second;
    tail_wanted_ = parameters.tail;
    taken_ = searched_from_ = 0;
    first_ = -1;
    kept_.clear();
    if (!strand_.begin(digitisation, range, parameters.stall_stdv, samples_in(parameters.adapter_bases, samples_per_base))) return false;
    tail_.begin(samples_per_base, parameters.stall_stdv / (range / digitisation));
    return true;
  }

  // Takes the read's next samples, and returns how many of them it has looked at: all, unless the molecule was found before their end.
  std::size_t take(std::span<const std::int16_t> samples) {
    if (found()) return 0;
    const std::size_t before = strand_.take(samples);
    taken_ += static_cast<std::int64_t>(before);
    if (!strand_.found()) return before;
    if (tail_wanted_ == Tail::none) return first_ = strand_.first(), before;
    if (searched_from_ == 0) searched_from_ = taken_;
    const std::size_t looked_at = tail_.take(samples.subspan(before));
    keep(samples.subspan(before, looked_at));
    if (tail_.is_decided()) decide();
    return before + looked_at;
  }
  // The read has ended: decides by what there was. Of a strand that never moved nothing is found.
  void finish() {
    if (found() || !strand_.found()) return;
    tail_.finish();
    decide();
  }

  bool found() const { return first_ >= 0; }
  // The first sample of the molecule; -1: not found. It may lie before samples that were looked at: those are kept().
  std::int64_t first() const { return first_; }
  // Samples that were looked at.
  std::int64_t taken() const { return taken_; }
  // When found: the samples from first() up to those that were looked at.
  std::span<const std::int16_t> kept() const { return kept_; }

 private:
  void keep(std::span<const std::int16_t> samples) {
    kept_.insert(kept_.end(), samples.begin(), samples.end());
    taken_ += static_cast<std::int64_t>(samples.size());
  }
  void decide() {
    first_ = tail_.is_found() ? searched_from_ + tail_.end() : strand_.first();
    const std::int64_t skipped = std::min(first_ - searched_from_, static_cast<std::int64_t>(kept_.size()));
    kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(skipped));
  }

  StrandStart strand_;
  PolyATail tail_;
  Tail tail_wanted_ = Tail::none;
  std::int64_t taken_ = 0, searched_from_ = 0;
  std::int64_t first_ = -1;
  std::vector<std::int16_t> kept_;  // from searched_from_ on: some 10,000 samples until there is a tail, and the tail
};

}  // namespace sluice
