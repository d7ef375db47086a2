// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Lines of the pairwise mapping format PAF: tab-separated text. They are minimap2's, byte for byte.

#include <cstdint>
#include <optional>
#include <sluice/overlap/read_alignments.hpp>
#include <string>
#include <string_view>

namespace sluice::paf_writer {

// The part of a line that is the same for all hits of a read.
struct PafRead {
  std::string_view id;
  std::int32_t length = 0;         // bases
  std::int32_t repeat_length = 0;  // tag rl
};

// The tags of a base-level alignment.
struct PafAlignment {
  overlap::ReadAlignment of;
  bool with_cigar = true;  // tag cg
  overlap::TagText text = overlap::TagText::none;
};

// Intervals are 0-based and end-exclusive, on the forward strands.
struct PafHit {
  std::int32_t query_start = 0, query_end = 0;
  bool reverse = false;
  std::string_view target;
  std::int32_t target_length = 0, target_start = 0, target_end = 0;
  std::int32_t matches = 0, block = 0;  // columns 10 and 11
  std::int32_t mapping_quality = 0;
  bool primary = false;                   // tag tp: P or S
  std::int32_t anchors = 0;               // tag cm
  std::int32_t score = 0;                 // tag s1
  std::int32_t second_score = -1;         // tag s2; below 0: none
  float divergence = -1;                  // tag dv; outside [0, 1]: none
  std::optional<PafAlignment> alignment;  // takes the place of the tags above
};

// Appends the line of one hit, with its newline.
void append_hit(std::string& text, const PafRead& read, const PafHit& hit);

// Appends the line of a read without hits (--paf-no-hit), with its newline.
void append_no_hit(std::string& text, const PafRead& read);

// Appends a value from 0 to 1 as printf's %.4f prints it, but 0 as "0".
void append_divergence(std::string& text, float value);

}  // namespace sluice::paf_writer
