// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A regroup that gives each read several times, to be judged by prefixes of several lengths.

#include <sluice/stage.hpp>
#include <string>
#include <vector>

namespace sluice::signal_normalization {

class PrefixSeries {
 public:
  struct Parameters {
    std::string prefix_bases = "50,100,150,200,250";
  };
  static void describe(Describe<PrefixSeries>& d);
  static void check_parameters(const Parameters& parameters);
  PrefixSeries(const Setup& setup, const Parameters& parameters);
  void process(const Call& call, const Batch& in, Output& out) const;
  void finish(const Call&, Output&) {}
  void save(const Call&, StateWriter&) const {}

 private:
  std::vector<double> prefix_bases_;  // ascending
};

}  // namespace sluice::signal_normalization
