// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What m6anet 2.1 and xpore 2.2 make of the event table (eventalign with scaled events) before they look for modified bases: the levels of a read at
// each position, from the numbers as the table prints them.

#include <cstdint>
#include <vector>

#include "event_alignment_writer/event_path.hpp"

namespace sluice::event_alignment_writer {

// Both tools know 5-mers only.
inline constexpr std::uint32_t site_kmer = 5;

// Means over the events of a position, weighted by their samples.
struct SiteLevel {
  std::int64_t position = 0;               // of the 5-mer's first base, 0-based
  double mean = 0, stdv = 0, seconds = 0;  // mean: scaled to the model, rounded to one decimal
};

// Appends the positions at which events match the reference's 5-mer, ascending. None of a reverse alignment: its 5-mers are not the reference's.
void append_site_levels(const Alignment& alignment, std::vector<SiteLevel>& levels);

}  // namespace sluice::event_alignment_writer
