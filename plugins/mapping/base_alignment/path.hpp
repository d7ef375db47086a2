// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// An alignment as a list of operations, in the orientation of the target.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base_alignment/scoring.hpp"

namespace sluice::base_alignment {

// Codes of BAM.
enum Operation : std::uint32_t { match_or_mismatch = 0, insertion = 1, deletion = 2, soft_clip = 4, equal = 7, different = 8 };

// Operations as in BAM (length << 4 | code); neighbours never have the same code.
class Path {
 public:
  void clear() { operations_.clear(); }
  void add(Operation operation, std::uint32_t bases) {
    if (bases == 0) return;
    if (!operations_.empty() && (operations_.back() & 15U) == operation)
      operations_.back() += bases << 4;
    else
      operations_.push_back(bases << 4 | operation);
  }
  // `later` behind this one.
  void append(const Path& later) {
    for (const std::uint32_t operation : later.operations_) add(static_cast<Operation>(operation & 15U), operation >> 4);
  }
  void append_reversed(const Path& later) {
    for (auto it = later.operations_.rbegin(); it != later.operations_.rend(); ++it) add(static_cast<Operation>(*it & 15U), *it >> 4);
  }
  std::span<const std::uint32_t> operations() const { return operations_; }
  std::vector<std::uint32_t>& operations() { return operations_; }

 private:
  std::vector<std::uint32_t> operations_;
};

// What SAM and PAF say of an alignment.
struct Summary {
  std::int32_t matches = 0;        // columns with equal bases
  std::int32_t columns = 0;        // matches, mismatches and gap bases
  std::int32_t edit_distance = 0;  // NM
  std::int32_t score = 0;          // AS
};

// The functions below take the aligned parts of both sequences: query and target begin at the path's first base. The path may use M or =/X.

// Moves every gap to the left as far as the alignment stays as good, as SAM readers expect, and merges what meets.
void left_align(Path& path, std::string_view query, std::string_view target);
// Replaces M by = and X.
void split_matches(Path& path, std::string_view query, std::string_view target);
Summary summarize(const Path& path, std::string_view query, std::string_view target, const Scoring& scoring);
// The cs tag's text (":6-ata:10+gtc*at").
void append_difference(std::string& text, const Path& path, std::string_view query, std::string_view target);
// The MD tag's text ("10A5^AC6").
void append_mismatched_reference(std::string& text, const Path& path, std::string_view query, std::string_view target);

}  // namespace sluice::base_alignment
