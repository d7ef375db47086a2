// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Thresholds that come with the program, and what each was made for; README.md says from which reads.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "read_until_decision/decision.hpp"

namespace sluice::read_until_decision {

// How the reads were aligned to the targets.
enum class Search : std::uint8_t { sdtw, seeds };

struct BuiltInThresholds {
  std::string_view pore;  // as in the attribute of a squiggle reference
  std::string_view name;  // of the pore, for people
  Search search = Search::sdtw;
  double rate_hz = 0;
  std::int32_t samples_per_level = 0;
  double target_bases = 0;
  double level_spread = 0;  // standard deviation of the targets' levels, pA: what noise is measured in depends on it
  double dwell = 0;         // samples that a base stays in the pore
  std::span<const Threshold> rows;
};

// Null: there are none for the pore. Without thresholds for this search those of the other.
const BuiltInThresholds* built_in_thresholds(std::string_view pore, Search search);

// What is known of a run; empty or 0: unknown.
struct Circumstances {
  std::string_view pore;
  Search search = Search::sdtw;
  double rate_hz = 0;
  std::int32_t samples_per_level = 0;
  double target_bases = 0;
  double level_spread = 0;
};
// What thresholds were not made for, as a list for a sentence; empty: they fit. By alignment to all of the targets a target four times as large or
// small as the one they were made for, by seeds one of less than 600,000 bases; a sampling rate or a spread of levels that differs by more than a
// tenth.
std::string misfits(const BuiltInThresholds& thresholds, const Circumstances& run);

}  // namespace sluice::read_until_decision
