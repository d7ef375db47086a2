// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_until_decision/built_in_thresholds.hpp"

#include <array>
#include <cmath>

namespace sluice::read_until_decision {
namespace {

constexpr std::array r9_rows = {Threshold{148, 0.253801, 0.242399, 0.315667}, Threshold{296, 0.281039, 0.281039, 0.300148},
                                Threshold{444, 0.293778, 0.293778, 0.293778}, Threshold{592, 0.299831, 0.299831, 0.299831},
                                Threshold{740, 0.303378, 0.303378, 0.303378}};
constexpr std::array r9_seeds_rows = {Threshold{148, 0.346495, 0.254012, 0.355152}, Threshold{296, 0.275760, 0.275760, 0.348923},
                                      Threshold{444, 0.278576, 0.278576, 0.355434}, Threshold{592, 0.285209, 0.285209, 0.344436},
                                      Threshold{740, 0.280405, 0.280405, 0.345186}};
constexpr std::array r10_rows = {Threshold{156, 0.233574, 0.200521, 0.310497}, Threshold{312, 0.248798, 0.234876, 0.300180},
                                 Threshold{468, 0.257011, 0.248998, 0.302417}, Threshold{625, 0.259950, 0.256900, 0.304650},
                                 Threshold{781, 0.263524, 0.263524, 0.294214}};
constexpr std::array r10_seeds_rows = {Threshold{156, 0.323718, 0.217948, 0.330128}, Threshold{312, 0.276042, 0.248999, 0.323718},
                                       Threshold{468, 0.260951, 0.260951, 0.337006}, Threshold{625, 0.259400, 0.259400, 0.331000},
                                       Threshold{781, 0.276369, 0.276369, 0.331346}};
constexpr std::array rna004_rows = {Threshold{153, 0.225082, 0.184845, 0.282475}, Threshold{307, 0.235953, 0.222821, 0.285220},
                                    Threshold{461, 0.243696, 0.237392, 0.288097}, Threshold{615, 0.249492, 0.249492, 0.283435},
                                    Threshold{769, 0.254267, 0.254267, 0.276333}};
constexpr std::array rna004_seeds_rows = {Threshold{153, 0.318015, 0.194649, 0.318015}, Threshold{307, 0.232695, 0.232695, 0.313314},
                                          Threshold{461, 0.218886, 0.218886, 0.325583}, Threshold{615, 0.241768, 0.241768, 0.325610},
                                          Threshold{769, 0.235940, 0.235940, 0.321318}};
constexpr std::array<BuiltInThresholds, 6> all = {{
    {"r9", "R9.4.1", Search::sdtw, 4000, 3, 50'000, 12.6, 8.9, r9_rows},
    {"r9", "R9.4.1", Search::seeds, 4000, 3, 5'000'000, 12.9, 8.9, r9_seeds_rows},
    {"r10", "R10.4.1", Search::sdtw, 5000, 4, 50'000, 23.4, 12.5, r10_rows},
    {"r10", "R10.4.1", Search::seeds, 5000, 4, 5'000'000, 23.1, 12.5, r10_seeds_rows},
    {"rna004", "RNA004", Search::sdtw, 4000, 10, 50'000, 12.4, 30.8, rna004_rows},
    {"rna004", "RNA004", Search::seeds, 4000, 10, 5'000'000, 12.7, 30.8, rna004_seeds_rows},
}};

constexpr double target_factor = 4, relative_difference = 0.1, least_bases_of_seeds = 600'000;

bool differ(double a, double b) { return a > 0 && b > 0 && std::abs(a - b) > relative_difference * b; }
std::string whole(double number) { return std::to_string(static_cast<std::int64_t>(number)); }

}  // namespace

const BuiltInThresholds* built_in_thresholds(std::string_view pore, Search search) {
  const BuiltInThresholds* found = nullptr;
  for (const BuiltInThresholds& thresholds : all) {
    if (thresholds.pore != pore) continue;
    if (found == nullptr || thresholds.search == search) found = &thresholds;
  }
  return found;
}

std::string misfits(const BuiltInThresholds& thresholds, const Circumstances& run) {
  std::string list;
  const auto differs = [&](const std::string& what) { list += (list.empty() ? "" : ", ") + what; };
  if (run.search != thresholds.search) differs(run.search == Search::seeds ? "the search is by seeds" : "the search is that of all of the targets");
  const bool size_differs = thresholds.search == Search::seeds ? run.target_bases < least_bases_of_seeds
                                                               : run.target_bases > thresholds.target_bases * target_factor ||
                                                                     run.target_bases < thresholds.target_bases / target_factor;
  if (run.target_bases > 0 && size_differs) differs("the targets have " + whole(run.target_bases) + " bases");
  if (differ(run.rate_hz, thresholds.rate_hz)) differs("the signal has " + whole(run.rate_hz) + " samples a second");
  if (run.samples_per_level > 0 && run.samples_per_level != thresholds.samples_per_level)
    differs("levels are means of " + std::to_string(run.samples_per_level) + " samples");
  if (differ(run.level_spread, thresholds.level_spread)) {
    const auto tenths = [](double value) { return whole(value) + "." + whole(std::floor(value * 10) - 10 * std::floor(value)); };
    differs("the targets' composition gives their levels a standard deviation of " + tenths(run.level_spread) + " pA instead of " +
            tenths(thresholds.level_spread));
  }
  return list;
}

}  // namespace sluice::read_until_decision
