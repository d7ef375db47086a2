// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/vote_stage.hpp"

#include <algorithm>
#include <mutex>
#include <sluice/result_figures.hpp>
#include <vector>

#include "read_correction/window_letters.hpp"

namespace sluice::read_correction {
namespace {

constexpr Figure identity_before{
    0, FigureKind::share, "identity with overlapping reads, uncorrected", "base",
    "bases of reads that overlapping ones have, too, before the correction: of a sample of pieces, 1 - differences / length"};
constexpr Figure identity_after{1, FigureKind::share, "identity with overlapping reads, corrected", "base",
                                "the same of the corrected pieces and the overlapping reads as they were sequenced, whose own errors remain"};

}  // namespace

void VoteStage::describe(Describe<VoteStage>& d) {
  d.id("consensus_vote").summary("lets a window's sequences vote on each base of its consensus").map("window").work_unit("base");
  d.doc(
      "The sequences are aligned to the consensus at unit costs, gaps as far right as they can lie. A letter votes with its Phred score, a missing "
      "one with the "
      "lower score of its two neighbours; a base is replaced, removed or inserted where that has strictly more votes. Windows of one sequence, "
      "and those that were not polished, stay as they are.");
  d.option("rounds", &Parameters::rounds, "votes, each on the outcome of the one before; 0: none").range(0, 100);
  d.needs("sequences", "utf8", "the window's sequences, one after the other").needs("sequence_length", "list<i32>", "length of each");
  d.needs("sequence_qualities", "utf8", "Phred + 33 of all their letters; empty: every letter weighs 1", Needed::optional);
  d.needs("consensus", "utf8", "the window's consensus").needs("is_polished", "u8", "0: sequence 0 was kept");
  d.gives("voted_consensus", "utf8", "the consensus after the votes");
  d.gives("site_place", "list<i32>", "bases of voted_consensus for which many of the sequences have another one", Needed::optional);
  d.gives("site_letters", "utf8", "per site the letter of each sequence, '-' for none of A, C, G and T", Needed::optional);
#ifdef SLUICE_WITH_CUDA
  d.implementation<&VoteStage::process_cuda>(
      "cuda", "a warp a window, through all votes and its sites; windows of sequences that are not alike are left to the CPU");
#endif
  d.reason("bad_sequences", "lengths, letters and qualities of the sequences do not fit each other");
}

VoteStage::VoteStage(const Setup& setup, const Parameters& p)
    : rounds_(static_cast<std::int32_t>(p.rounds)),
      has_qualities_(setup.available("sequence_qualities")),
      wants_sites_(setup.wanted("site_place") || setup.wanted("site_letters")) {}

Estimate VoteStage::estimate(const Batch& in) const {
  const TextView sequences = in.text("sequences");
  Estimate e;
  e.row_work.reserve(static_cast<std::size_t>(in.rows()));
  for (std::int64_t row = 0; row < in.rows(); ++row) {
    const double work = in.ok(row) ? static_cast<double>(sequences[row].size()) : 0;
    e.row_work.push_back(work);
    e.work += work;
    e.largest_row_work = std::max(e.largest_row_work, work);
  }
  const auto consensus = in.text("consensus").offsets();
  e.output_bytes = static_cast<std::uint64_t>(consensus.back() - consensus.front());
  return e;
}

void VoteStage::vote(ConsensusVote& workspace, std::string_view sequences, std::span<const std::int32_t> lengths, std::string_view qualities,
                     std::string& voted, VariantSites& sites) const {
  workspace.refine(sequences, lengths, qualities, rounds_, voted);
  if (wants_sites_) workspace.find_sites(lengths, voted, sites);
}

// Described in every call: a stage that has no state has no end.
void VoteStage::give_figures(const Call& call, const PieceIdentity& identity) {
  ResultFigures figures;
  for (const Figure& figure : {identity_before, identity_after}) figures.describe(figure);
  figures.add_share(identity_before, identity.equal_before, identity.bases_before);
  figures.add_share(identity_after, identity.equal_after, identity.bases_after);
  figures.give(call);
}

void VoteStage::process(const Call& call, const Batch& in, Output& out) {
  const TextView sequences = in.text("sequences");
  const auto lengths = in.list<std::int32_t>("sequence_length");
  const TextView consensus = in.text("consensus");
  const auto is_polished = in.column<std::uint8_t>("is_polished");
  const auto rows = static_cast<std::size_t>(in.rows());
  std::vector<std::string> voted(rows);
  std::vector<VariantSites> sites(rows);
  PieceIdentity identity;
  std::mutex identity_mutex;
  call.parallel_for(rows, windows_per_part, [&](std::size_t begin, std::size_t end) {
    auto workspace = workspaces_.take();
    PieceIdentity of_part;
    for (std::size_t r = begin; r < end && !call.cancelled(); ++r) {
      const auto row = static_cast<std::int64_t>(r);
      if (!in.ok(row)) continue;
      const std::string_view qualities = has_qualities_ ? in.text("sequence_qualities")[row] : std::string_view();
      if (!fit_together(sequences[row], lengths[row], qualities)) {
        out.fail(row, Reason::bad_sequences);
        continue;
      }
      voted[r] = consensus[row];
      if (is_polished[r] == 0 || lengths[row].size() < 2) continue;
      if (rounds_ > 0) vote(*workspace, sequences[row], lengths[row], qualities, voted[r], sites[r]);
      if (PieceIdentity::is_sampled(sequences[row].size())) of_part.add(sequences[row], lengths[row], voted[r]);
    }
    if (workspace->bytes() > kept_bytes) workspace.discard();
    const std::lock_guard lock(identity_mutex);
    identity.add(of_part);
  });
  give_figures(call, identity);
  out.text_rows("voted_consensus", voted);
  if (!wants_sites_) return;
  std::vector<std::vector<std::int32_t>> places(rows);
  std::vector<std::string> letters(rows);
  for (std::size_t r = 0; r < rows; ++r) {
    places[r] = std::move(sites[r].places);
    letters[r] = std::move(sites[r].letters);
  }
  out.gather<std::int32_t>("site_place", out.offsets([&](std::int64_t row) { return places[static_cast<std::size_t>(row)].size(); }), places);
  out.text_rows("site_letters", letters);
}

}  // namespace sluice::read_correction
