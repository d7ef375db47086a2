// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where the borders of pieces lie on a read: read off where the read has an anchor, else by aligning the stretch between two anchors.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "read_correction/read_anchors.hpp"
#include "read_correction/stretch_alignment.hpp"
#include "read_correction/unit_cost_path.hpp"

namespace sluice::read_correction {

struct BorderWorkspace {
  StretchAlignment stretch;
  UnitCostAligner aligner;
  std::vector<PathRun> runs;
  std::string reversed_template, reversed_read, of_template, of_read;
};

// Longest stretch before the first anchor or behind the last one that is aligned to reach a border: half of the templates' ends are beyond the last
// anchor.
inline constexpr std::int32_t max_end_stretch = 100;

// Replaces `places`: per border (ascending) the read's base that follows it, unknown_place where the read does not reach or differs too much: by more
// than differences_pct % and 3 of the letters of a stretch. Bases that the read has and the template lacks at a border belong to the piece behind it.
inline constexpr std::int32_t unknown_place = -1;
void find_border_places(std::span<const std::int32_t> borders, const PackedBases& template_bases, const PackedBases& read,
                        std::span<const Anchor> anchors, std::int32_t differences_pct, BorderWorkspace& workspace, std::vector<std::int32_t>& places);

}  // namespace sluice::read_correction
