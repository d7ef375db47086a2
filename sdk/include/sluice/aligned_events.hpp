// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What methylation_hmm and event_alignment need: a read that is aligned to a reference, and its events that are aligned to its bases.

#include <sluice/describe.hpp>

namespace sluice {

template <class Stage>
void needs_aligned_events(Describe<Stage>& d) {
  d.needs("contig", "utf8", "reference name")
      .needs("ref_start", "i64", "0-based")
      .needs("ref_end", "i64", "exclusive")
      .needs("is_reverse", "u8", "1: aligned to the reverse strand")
      .needs("cigar", "list<u32>", "BAM encoding");
  d.needs("bases", "utf8", "the whole read")
      .needs("event_mean", "list<f32>", "pA")
      .needs("first_event", "list<i32>", "per k-mer, -1: none")
      .needs("events_per_base", "f64", "aligned events per k-mer");
  d.needs("shift", "f32", "pA")
      .needs("scale", "f32", "pA per model unit")
      .needs("var", "f32", "factor on level_stdv")
      .needs("log_var", "f32", "natural logarithm of var");
}

}  // namespace sluice
