// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <sluice/sequence_store.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <vector>

#include "read_correction/overlap_selection.hpp"
#include "read_correction/pile.hpp"

namespace sluice::read_correction {

// Regroup: overlaps, ordered by the read that is corrected, to windows of its pieces.
class PileSegmentation {
 public:
  enum class Reason : std::uint32_t { bad_overlap, inside };
  struct Parameters {
    std::int64_t piece_length = 100, k = 11, margin = 4, min_layers = 2, max_layers = 40;
    double max_overhang = 1.0;
  };
  static void describe(Describe<PileSegmentation>& d);
  PileSegmentation(const Setup& setup, const Parameters& p);
  void process(const Call& call, const Batch& in, Output& out);
  void finish(const Call& call, Output& out);

 private:
  struct Pile {
    std::int64_t target = 0, overlaps = 0;
    std::vector<PileOverlap> used;
  };
  // A row to give; its cells end at these places of the text and of the list.
  struct Row {
    std::int64_t target, window, begin, end, overlaps;
    std::size_t letters_end, lengths_end;
  };
  struct Rows {
    std::vector<Row> rows;
    std::string sequences, qualities;
    std::vector<std::int32_t> lengths;
    void clear();
  };
  struct Workspace {
    std::unique_ptr<PileCutter> cutter;
    std::string template_bases, template_qualities, bases, qualities;
    std::vector<PileRead> reads;
    std::vector<std::size_t> begin;  // of each read in bases and qualities
    std::vector<char> scratch;
  };

  void cut_piles(const Call& call, Output& out);
  void cut_pile(Pile& pile, Workspace& workspace, Rows& result) const;
  void fetch_template(std::int64_t target, Workspace& workspace) const;
  void fetch_reads(const Pile& pile, std::int64_t length, Workspace& workspace) const;
  void fetch_qualities(std::int64_t read, std::int64_t begin, std::int64_t end, char* to, std::vector<char>& scratch) const;
  void append_rows(const Pile& pile, const Workspace& workspace, Rows& result) const;
  void emit(Output& out);

  SequenceStoreView reads_;
  PileParameters parameters_;
  double max_overhang_;
  Workspaces<Workspace> workspaces_;
  std::vector<Pile> piles_;  // the last one may get more overlaps
  std::int64_t waiting_bases_ = 0;
  Rows rows_;
};

}  // namespace sluice::read_correction
