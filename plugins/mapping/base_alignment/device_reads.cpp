// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/device_reads.hpp"

#include <algorithm>

#include "base_alignment/kernel/equal_ends.hpp"

namespace sluice::base_alignment {
namespace {

class RoundAnswers final : public PieceAnswers {
 public:
  RoundAnswers(const cuda::Answers& answers, const RoundHit& hit, std::size_t& unproven) : answers_(answers), hit_(hit), unproven_(unproven) {}
  bool take(std::size_t number, Sites sites, Alignment& made, PieceAnswer& piece_answer) const override {
    const auto way = std::find_if(hit_.ways.begin(), hit_.ways.end(), [&](const RoundWay& of_sites) { return of_sites.sites == sites; });
    if (way == hit_.ways.end()) return false;
    const std::int64_t problem = way->problem_of[number];
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
    piece_answer = {.deepest_fall = answer.deepest_fall,
                    .cuts = !hit_.cuts.empty() && hit_.cuts[number].any() ? &hit_.cuts[number] : nullptr,
                    .highest_through_cuts = answer.highest_through_cuts};
    return true;
  }
  void count_unproven() const override { ++unproven_; }

 private:
  const cuda::Answers& answers_;
  const RoundHit& hit_;
  std::size_t& unproven_;
};

// Codes in the order of the alignment.
Piece piece_of(Codes strand, std::size_t number, RoundHit& round) {
  Piece piece = round.plan.piece(strand, number);
  if (round.plan.pieces[number].ties != TieOrder::gap_left) return piece;
  if (round.reversed.empty()) {  // the same in each way
    round.reversed.assign(piece.query.rbegin(), piece.query.rend());
    round.reversed.insert(round.reversed.end(), piece.target.rbegin(), piece.target.rend());
  }
  const Codes reversed = round.reversed;
  piece.target = reversed.subspan(piece.query.size());
  piece.query = reversed.first(piece.query.size());
  return piece;
}

// What a device gets of a target across introns: without the cuts, with its sites.
std::vector<cuda::SiteWord> target_words(const AlignmentSettings& settings, const SitePiece& piece, const Cuts& cuts) {
  ShortTarget target;
  std::span<const std::uint8_t> codes = piece.codes;
  if (cuts.any()) {
    cut_out(settings.splice.costs, piece, cuts.of_target, target);
    codes = target.codes;
  } else {
    score_sites(settings.splice.costs, piece, {settings.splice.known.get(), settings.splice.site_scores.get()}, target.sites);
  }
  std::vector<cuda::SiteWord> words(codes.size());
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = cuda::site_word(codes[i], target.sites.donor[i], target.sites.acceptor[i]);
  return words;
}

void add_problems(const AlignmentSettings& settings, Codes strand, RoundHit& round) {
  RoundWay& way = round.ways.emplace_back();
  for (std::size_t i = 0; i < round.plan.pieces.size(); ++i) {
    const Piece piece = piece_of(strand, i, round);
    const Problem problem = problem_of(piece, round.plan.pieces[i].ties);
    const bool goes = !piece.query.empty() && !piece.target.empty() && !too_large(settings, problem) && !needs_no_matrix(settings.scores, problem);
    way.problem_of.push_back(goes ? static_cast<std::int64_t>(round.problems.size()) : -1);
    if (goes) round.problems.push_back(problem);
  }
}

// Across introns: those from end to end that something can be cut out of, or all where that is not known to be right. What else there is the CPU
// knows to be without introns, or it is short.
void add_spliced_problems(const AlignmentSettings& settings, Codes strand, Sites sites, CutScratch& scratch, RoundHit& round) {
  round.plan.sites = sites;
  const bool is_first = round.ways.empty();
  RoundWay& way = round.ways.emplace_back();
  way.sites = sites;
  round.cuts.resize(round.plan.pieces.size());
  for (std::size_t i = 0; i < round.plan.pieces.size(); ++i) {
    way.problem_of.push_back(-1);
    if (round.plan.pieces[i].goal != Goal::ends) continue;
    const Piece piece = round.plan.piece(strand, i);
    Problem problem = problem_of(piece, TieOrder::gap_right);
    if (piece.query.empty() || piece.target.empty() || too_large(settings, problem)) continue;
    Cuts& cuts = round.cuts[i];
    if (is_first) find_cuts(settings, problem, scratch, cuts);
    if (!cuts.any() && !sites_may_gain(settings)) continue;
    way.problem_of.back() = static_cast<std::int64_t>(round.problems.size());
    round.targets.push_back(target_words(settings, site_piece_of(piece, TieOrder::gap_right), cuts));
    problem.target_length -= cuts.bases();
    round.problems.push_back(problem);
    std::vector<std::int32_t>& numbers = round.of_cuts.emplace_back();
    want_edges(cuts, scratch);
    if (cuts.any())
      for (const SplicedEdge& edge : scratch.edges) numbers.push_back(edge.column);
    for (const Cut& cut : cuts.of_target) numbers.insert(numbers.end(), cut.losses.begin(), cut.losses.end());
  }
}

// Numbers of problems become those of the round; take(hit): puts the hit's problems behind the others.
template <class Take>
void number_problems(std::span<RoundRead> reads, const Take& take) {
  std::int64_t before = 0;
  for (RoundRead& read : reads) {
    for (RoundHit& hit : read.round) {
      for (RoundWay& way : hit.ways)
        for (std::int64_t& problem : way.problem_of)
          if (problem >= 0) problem += before;
      before += static_cast<std::int64_t>(hit.problems.size());
      take(hit);
    }
  }
}

}  // namespace

void plan_round(const AlignmentSettings& settings, ReadAligner& aligner, RoundRead& read) {
  read.round.clear();
  CutScratch scratch;
  for (std::size_t i = 0; i < read.state.hits.size(); ++i) {
    if (read.state.is_aligned[i] != 0) continue;
    RoundHit& round = read.round.emplace_back();
    round.hit = i;
    aligner.plan_hit(read.state, i, round.plan);
    const AlignedHit& hit = read.state.hits[i];
    const Codes strand = read.state.strands.strand(hit.reverse);
    if (!settings.splice.enabled) {
      add_problems(settings, strand, round);
      continue;
    }
    for (const Sites sites : ways_of(settings.splice, hit)) add_spliced_problems(settings, strand, sites, scratch, round);
  }
}

std::vector<Problem> problems_of(std::span<RoundRead> reads) {
  std::vector<Problem> all;
  number_problems(reads, [&](const RoundHit& hit) { all.insert(all.end(), hit.problems.begin(), hit.problems.end()); });
  return all;
}
std::vector<cuda::SplicedProblem> spliced_problems_of(std::span<RoundRead> reads) {
  std::vector<cuda::SplicedProblem> all;
  number_problems(reads, [&](const RoundHit& hit) {
    for (std::size_t i = 0; i < hit.problems.size(); ++i) {
      all.push_back({hit.problems[i], hit.targets[i].data(),
                     static_cast<std::int32_t>(hit.of_cuts[i].size() / (2 + static_cast<std::size_t>(hit.problems[i].query_length))),
                     hit.of_cuts[i].data()});
    }
  });
  return all;
}

bool take_round(ReadAligner& aligner, const cuda::Answers& answers, RoundRead& read, std::size_t& unproven) {
  const std::size_t before = read.state.hits.size();
  // From the last on: what is split off moves the hits behind it.
  for (auto hit = read.round.rbegin(); hit != read.round.rend(); ++hit) {
    const RoundAnswers of_hit(answers, *hit, unproven);
    aligner.align_hit(read.state, hit->hit, hit->plan, &of_hit);
  }
  read.round.clear();
  return read.state.hits.size() > before;
}

}  // namespace sluice::base_alignment
