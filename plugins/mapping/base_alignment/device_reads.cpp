// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/device_reads.hpp"

#include <algorithm>

#include "base_alignment/kernel/equal_ends.hpp"

namespace sluice::base_alignment {
namespace {

class RoundAnswers final : public PieceAnswers {
 public:
  RoundAnswers(const cuda::Answers& answers, const RoundHit& hit) : answers_(answers), hit_(hit) {}
  bool take(std::size_t piece, Alignment& made, std::int64_t& deepest_fall) const override {
    const std::int64_t problem = hit_.problem_of[piece];
    if (problem < 0 || answers_.is_done[static_cast<std::size_t>(problem)] == 0) return false;
    const cuda::Answer& answer = answers_.of[static_cast<std::size_t>(problem)];
    const std::span<const std::uint32_t> cigar = answers_.cigar(static_cast<std::size_t>(problem));
    made.best = answer.best;
    made.best_target = answer.best_target;
    made.best_query = answer.best_query;
    made.query_end_score = answer.query_end_score;
    made.query_end_target = answer.query_end_target;
    made.score = answer.score;
    made.dropped = answer.dropped;
    made.reached_end = answer.reached_end;
    made.cigar.assign(cigar.begin(), cigar.end());
    deepest_fall = answer.deepest_fall;
    return true;
  }

 private:
  const cuda::Answers& answers_;
  const RoundHit& hit_;
};

void add_problems(const AlignmentSettings& settings, Codes strand, RoundHit& round) {
  for (std::size_t i = 0; i < round.plan.pieces.size(); ++i) {
    Piece piece = round.plan.piece(strand, i);
    const TieOrder ties = round.plan.pieces[i].ties;
    if (ties == TieOrder::gap_left) {
      round.reversed.assign(piece.query.rbegin(), piece.query.rend());
      round.reversed.insert(round.reversed.end(), piece.target.rbegin(), piece.target.rend());
      const Codes reversed = round.reversed;
      piece.target = reversed.subspan(piece.query.size());
      piece.query = reversed.first(piece.query.size());
    }
    const Problem problem = problem_of(piece, ties);
    const bool goes = !piece.query.empty() && !piece.target.empty() && !too_large(settings, problem) && !needs_no_matrix(settings.scores, problem);
    round.problem_of.push_back(goes ? static_cast<std::int64_t>(round.problems.size()) : -1);
    if (goes) round.problems.push_back(problem);
  }
}

}  // namespace

void plan_round(const AlignmentSettings& settings, ReadAligner& aligner, RoundRead& read) {
  read.round.clear();
  for (std::size_t i = 0; i < read.state.hits.size(); ++i) {
    if (read.state.is_aligned[i] != 0) continue;
    RoundHit& round = read.round.emplace_back();
    round.hit = i;
    aligner.plan_hit(read.state, i, round.plan);
    add_problems(settings, read.state.strands.strand(read.state.hits[i].reverse), round);
  }
}

std::vector<Problem> problems_of(std::span<RoundRead> reads) {
  std::vector<Problem> all;
  for (RoundRead& read : reads) {
    for (RoundHit& hit : read.round) {
      const auto before = static_cast<std::int64_t>(all.size());
      for (std::int64_t& problem : hit.problem_of)
        if (problem >= 0) problem += before;
      all.insert(all.end(), hit.problems.begin(), hit.problems.end());
    }
  }
  return all;
}

bool take_round(ReadAligner& aligner, const cuda::Answers& answers, RoundRead& read) {
  const std::size_t before = read.state.hits.size();
  // From the last on: what is split off moves the hits behind it.
  for (auto hit = read.round.rbegin(); hit != read.round.rend(); ++hit) {
    const RoundAnswers of_hit(answers, *hit);
    aligner.align_hit(read.state, hit->hit, hit->plan, &of_hit);
  }
  read.round.clear();
  return read.state.hits.size() > before;
}

}  // namespace sluice::base_alignment
