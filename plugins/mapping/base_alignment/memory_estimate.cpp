// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/memory_estimate.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace sluice::base_alignment {
namespace {

// Bases between the first and the last anchor of each hit's chain, summed over the hits; of the read (chain_anchor_y) or of the targets
// (chain_anchor_x).
std::uint64_t bases_in_hits(const Batch& in, std::string_view places, std::int64_t row) {
  const auto anchors = in.list<std::uint64_t>(places)[row];
  const auto place = [&](std::size_t anchor) { return anchors[anchor] & 0xffffffffU; };
  std::vector<std::uint64_t> of_chain;
  std::size_t begin = 0;
  for (const std::int32_t count : in.list<std::int32_t>("chain_anchor_count")[row]) {
    const auto size = static_cast<std::size_t>(std::max(count, 0));
    if (size > anchors.size() - begin) break;
    of_chain.push_back(size > 0 ? std::max(place(begin), place(begin + size - 1)) - place(begin) : 0);
    begin += size;
  }
  std::uint64_t sum = 0;
  for (const std::int32_t chain : in.list<std::int32_t>("hit_chain")[row])
    if (chain >= 0 && static_cast<std::size_t>(chain) < of_chain.size()) sum += of_chain[static_cast<std::size_t>(chain)];
  return sum;
}

// Cells of the largest matrix over an intron: from anchor to anchor, and as many bases of the read as are gathered before a gap is filled.
std::uint64_t cells_over_introns(const Batch& in, std::int64_t row) {
  constexpr std::uint64_t gathered = 400;
  const auto x = in.list<std::uint64_t>("chain_anchor_x")[row], y = in.list<std::uint64_t>("chain_anchor_y")[row];
  std::uint64_t most = 0;
  std::size_t begin = 0;
  for (const std::int32_t count : in.list<std::int32_t>("chain_anchor_count")[row]) {
    const std::size_t end = std::min({begin + static_cast<std::size_t>(std::max(count, 0)), x.size(), y.size()});
    for (std::size_t i = begin + 1; i < end; ++i) {
      const std::uint64_t before = y[i - 1] & 0xffffffffU, here = y[i] & 0xffffffffU;
      if (x[i] < x[i - 1] || here < before) continue;
      most = std::max(most, ((x[i] - x[i - 1]) % (std::uint64_t{1} << 32) + gathered) * (here - before + gathered));
    }
    begin = end;
  }
  return most;
}

// CIGARs take 0.03 bytes a base (HiFi) to 0.65 (a fifth of errors), cs tags 0.03 to 0.71, MD tags half of that; with =, X or all bases twice as much.
std::uint64_t column_bytes(std::uint64_t in_hits, std::size_t hits, const MadeOfAlignment& made) {
  constexpr std::uint64_t numbers_of_hit = 128;
  const std::uint64_t cigar = made.eqx ? 2 : 1, mismatches = made.texts.mismatches ? 1 : 0;
  const std::uint64_t difference = !made.texts.difference ? 0 : made.form == DifferenceForm::long_form ? 2 : 1;
  return in_hits * (cigar + difference + mismatches) + hits * numbers_of_hit;
}

// The read on both strands, its place on the contig, and the trace of an extension; gaps of many bases need more, but are rare.
std::uint64_t thread_bytes(double largest_read) {
  constexpr std::uint64_t usual_trace = std::uint64_t{8} << 20;
  return usual_trace + 4 * static_cast<std::uint64_t>(largest_read);
}

// What a round for a device keeps on the host, of all reads at once. Of a base of a read: its two strands, and as much where an end is extended. Of a
// base in a hit: the contig's code, both codes as they go to the device, two bytes of operations, two and a half of anchors (24 bytes every ten
// bases), and two of pieces (300 bytes with its problem, its job and its answer, and one every 150 bases).
std::uint64_t round_bytes(double bases, std::uint64_t in_hits) { return 4 * static_cast<std::uint64_t>(bases) + 10 * in_hits; }
// What comes on top across introns. Of a base in a hit: 4 to 8 bases around it in words of four bytes, and the losses in cuts, in two ways. Of a base
// of the contig between a hit's ends: its code, and its word in two ways where sites are known, so that nothing is cut out.
std::uint64_t spliced_round_bytes(std::uint64_t in_hits, std::uint64_t on_targets, bool sites_are_known) {
  return 64 * in_hits + (sites_are_known ? 9 : 1) * on_targets;
}

}  // namespace

Estimate estimate_alignment(const Batch& in, const MadeOfAlignment& made) {
  const auto bases = in.text("bases").offsets();
  Estimate e;
  std::uint64_t in_hits = 0, over_introns = 0, on_targets = 0;
  for (std::size_t row = 0; row + 1 < bases.size(); ++row) {
    const auto work = static_cast<double>(bases[row + 1] - bases[row]);
    e.work += work;
    e.largest_row_work = std::max(e.largest_row_work, work);
    in_hits += bases_in_hits(in, "chain_anchor_y", static_cast<std::int64_t>(row));
    if (!made.splice) continue;
    over_introns = std::max(over_introns, cells_over_introns(in, static_cast<std::int64_t>(row)));
    on_targets += bases_in_hits(in, "chain_anchor_x", static_cast<std::int64_t>(row));
  }
  e.output_bytes = column_bytes(in_hits, in.list<std::int32_t>("hit_chain").values().size(), made);
  const std::uint64_t of_introns = made.splice ? spliced_round_bytes(in_hits, on_targets, made.sites_are_known) : 0;
  e.scratch_bytes = std::max(thread_bytes(e.largest_row_work) + over_introns, round_bytes(e.work, in_hits) + of_introns);
  return e;
}

}  // namespace sluice::base_alignment
