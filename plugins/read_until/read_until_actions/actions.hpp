// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What is done with a read that has been judged, by the condition of its channel.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "read_until_actions/conditions.hpp"

namespace sluice::read_until_actions {

enum class Judgement : std::uint8_t { wait = 0, accept = 1, reject = 2 };  // the column `decision`

// What is known of a read.
struct Judged {
  Judgement judgement = Judgement::wait;
  bool is_on_target = false;  // where it was accepted: on a region, and on a strand, that the condition wants
  std::int32_t chunks = 1;    // that have come
  bool is_whole = false;      // nothing more comes
};

// proceed: nothing is done yet. Before the minimum of chunks nothing is done with a read that goes on.
ReadAction action_on(const Judged& read, std::int32_t minimum_chunks, std::int32_t maximum_chunks, const Actions& actions);

// A row of the targets, on its contig.
struct TargetRegion {
  std::string_view label, contig;
  std::int64_t start = 0, end = 0;
  std::uint8_t strand = 0;  // reads that are targets: 0 of both strands, 1 forward, 2 reverse
};

// The targets of one condition. Regions may overlap, of different strands and names: a read belongs to all that it lies on, whichever the alignment
// has named.
class WantedTargets {
 public:
  // `names`, separated by commas, are of regions or contigs; "": all. A name that no target has goes to `unknown`. Texts must outlive this.
  WantedTargets(std::span<const TargetRegion> targets, std::string_view names, std::string& unknown);
  // Is a read that lies on [start, end) of that target's contig wanted?
  bool has(std::size_t target, std::int64_t start, std::int64_t end, bool is_reverse) const;

 private:
  struct Place {
    std::int64_t start, end, furthest_end;  // furthest_end: of all before and this one
    std::uint8_t strand;
  };
  std::vector<std::size_t> contig_;         // by target
  std::vector<std::vector<Place>> places_;  // by contig, by start
};

}  // namespace sluice::read_until_actions
