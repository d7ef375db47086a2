// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How many of a read's samples signal_normalization will look at, given the same options. It depends on the samples: the prefix is counted from where
// the molecule begins. So a decoder decodes what every read needs, asks, and decodes the rest.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <sluice/molecule_start.hpp>
#include <span>
#include <string>

#include "signal_reader/slow5_format.hpp"

namespace sluice::signal_reader {

struct BeginningParameters {
  double prefix_bases = 0;  // 0: all samples are wanted
  double adapter_bases = 90;
  double bases_per_second = 450;
  double stall_stdv = 4;  // pA
  std::string tail = "none";
};

// A function for RecordDecoder::decode_beginning(). One record at a time.
class BeginningWanted {
 public:
  explicit BeginningWanted(const BeginningParameters& parameters) : parameters_(parameters), tail_(tail_named(parameters.tail)) {}

  // Enough for a read whose strand begins within the first 500 samples, and whose adapter is of usual length, if a tail comes behind it. `all` where
  // the calibration is none.
  std::size_t at_first(double sampling_rate) const {
    if (parameters_.prefix_bases == 0 || !std::isfinite(sampling_rate) || !(sampling_rate > 0)) return all;
    const std::int64_t tail = tail_ == Tail::none ? 0 : PolyATail::search_samples(samples_per_base(sampling_rate));
    return static_cast<std::size_t>(std::max({adapter(sampling_rate), shortest_adapter, tail}) + prefix(sampling_rate)) + usual_wait;
  }

  std::size_t operator()(const SignalRecord& record, std::span<const std::int16_t> first) {
    if (first.empty()) {
      looked_at_ = 0;
      first_wanted_ = at_first(record.sampling_rate);
      const MoleculeStartParameters start{parameters_.adapter_bases, parameters_.stall_stdv, parameters_.bases_per_second, tail_};
      if (first_wanted_ != all && !start_.begin(start, record.digitisation, record.range, record.sampling_rate)) first_wanted_ = all;
      return first_wanted_;
    }
    if (first_wanted_ == all) return all;
    start_.take(first.subspan(looked_at_));
    looked_at_ = first.size();
    if (start_.found()) return static_cast<std::size_t>(std::max(start_.first() + prefix(record.sampling_rate), start_.taken()));
    return first.size() * 2;
  }

 private:
  static constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t usual_wait = 500;
  static constexpr std::int64_t shortest_adapter = StrandStart::window_samples * StrandStart::moving_windows;
  double samples_per_base(double sampling_rate) const { return sampling_rate / parameters_.bases_per_second; }
  std::int64_t adapter(double sampling_rate) const { return samples_in(parameters_.adapter_bases, samples_per_base(sampling_rate)); }
  // Whole levels of any length fit in it.
  std::int64_t prefix(double sampling_rate) const {
    return std::max<std::int64_t>(most_samples_per_level, samples_in(parameters_.prefix_bases, samples_per_base(sampling_rate)));
  }
  BeginningParameters parameters_;
  Tail tail_;
  MoleculeStart start_;
  std::size_t first_wanted_ = 0, looked_at_ = 0;
};

}  // namespace sluice::signal_reader
