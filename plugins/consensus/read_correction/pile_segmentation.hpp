// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <optional>
#include <sluice/sequence_store.hpp>
#include <sluice/stage.hpp>
#include <vector>

#include "read_correction/oriented_reads.hpp"
#include "read_correction/overlap_selection.hpp"
#include "read_correction/pile.hpp"

namespace sluice::read_correction {

// Map: where a read is cut into pieces, and where the pieces lie on the reads that overlap it.
class PileSegmentation {
 public:
  enum class Reason : std::uint32_t { bad_pile };
  struct Parameters {
    std::optional<std::int64_t> piece_length, k;
    std::int64_t margin = 4, min_layers = 2, max_layers = 40;
  };
  static void describe(Describe<PileSegmentation>& d);
  PileSegmentation(const Setup& setup, const Parameters& p);
  Estimate estimate(const Batch& in) const;
  void process(const Call& call, const Batch& in, Output& out);

 private:
  // What a pile gives.
  struct Pieces {
    std::vector<std::int32_t> begin, end, layers;
    std::vector<std::int64_t> query;  // this and the next: per layer
    std::vector<std::int32_t> query_begin, query_end;
    std::vector<std::uint8_t> is_reverse;
    std::int64_t unanchored = 0;
    OverlapIdentity identity;
  };
  // Bases [begin, end) of a read.
  struct Fetched {
    std::int64_t begin, end;
  };
  struct Workspace {
    std::unique_ptr<PileCutter> cutter;
    std::unique_ptr<OrientedReads> reads;
    std::vector<PileOverlap> overlaps;
    PackedBases template_bases;
    std::vector<PackedBases> bases;  // of the first reads of the pile, and others that were there before
    std::vector<PileRead> pile;
    std::vector<Fetched> fetched;
    std::size_t bytes() const;
  };

  bool read_pile(const Batch& in, std::int64_t row, std::vector<PileOverlap>& overlaps) const;
  void cut_pile(std::int64_t target, Workspace& workspace, Pieces& result) const;
  void fetch_reads(std::int64_t length, Workspace& workspace) const;
  static void list_pieces(const Workspace& workspace, Pieces& result);
  void give_figures(const Call& call, const std::vector<Pieces>& results) const;

  SequenceStoreView reads_;
  PileParameters parameters_;
  std::string title_of_noisy_;  // of the figure: how noisy reads are cut
  Workspaces<Workspace> workspaces_;
};

}  // namespace sluice::read_correction
