// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/gap_filling.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "base_alignment/kernel/path_score.hpp"

namespace sluice::base_alignment {
namespace {

// The deepest fall of the score from a peak, a shift of the diagonal being free of extension costs.
class FallSearch {
 public:
  explicit FallSearch(std::int32_t gap_extend) : extend_(gap_extend) {}

  void change(std::int32_t by) { score_ += by; }
  void look(std::int32_t target, std::int32_t query) {
    if (score_ >= peak_) {
      peak_ = score_;
      peak_target_ = target;
      peak_query_ = query;
      return;
    }
    const std::int64_t shift = std::abs((target - peak_target_) - (query - peak_query_));
    const std::int64_t fall = std::int64_t{peak_} - score_ - extend_ * shift;
    if (fall <= deepest) return;
    deepest = fall;
    target_begin = peak_target_;
    query_begin = peak_query_;
    target_end = target;
    query_end = query;
  }

  std::int64_t deepest = 0;
  std::int32_t target_begin = -1, target_end = -1, query_begin = -1, query_end = -1;

 private:
  std::int32_t extend_, score_ = 0, peak_ = std::numeric_limits<std::int32_t>::min(), peak_target_ = -1, peak_query_ = -1;
};

// No score falls deeper than this, along a path whose score is known: what it has less than equal bases would have is lost in gaps and in columns.
std::int64_t all_losses(const Scores& scores, const Piece& piece, const Alignment& made) {
  std::int64_t gaps = 0, cheapest_gaps = 0, columns = 0;
  for (const std::uint32_t operation : made.cigar) {
    const std::int64_t bases = bases_of(operation);
    if (code_of(operation) == match_or_mismatch) {
      columns += bases;
    } else {
      gaps += scores.gap_open + scores.gap_extend * bases;
      cheapest_gaps += gap_cost(scores, bases);
    }
  }
  const bool is_exact = piece.band < 0 || piece.band >= static_cast<std::int64_t>(std::max(piece.query.size(), piece.target.size())) - 1;
  if (!is_exact) return std::numeric_limits<std::int64_t>::max();
  // Of each column that is lost, at most this share is a fall; the rest is the match that it is not.
  const std::int64_t fall = scores.worst_column(), less = scores.match + std::min({scores.mismatch, scores.transition_penalty(), scores.ambiguous});
  const std::int64_t less_in_columns = columns * scores.match - cheapest_gaps - made.score;
  return gaps + (less_in_columns * fall + less - 1) / less;
}

// Is memory.piece the alignment, or a doubt that is allowed? highest: score of other paths.
bool leaves(const Piece& piece, std::int32_t highest, AlignmentMemory& memory) {
  if (memory.piece.score > highest) return true;
  if (!piece.may_be_doubtful) return false;
  memory.doubt = {true, highest - memory.piece.score};
  return true;
}

// Across introns, from end to end; false: it is not proven that the cuts do not matter.
bool align_without_cuts(const AlignmentSettings& settings, const Piece& piece, const Cuts& cuts, AlignmentMemory& memory) {
  const ShortTarget& target = memory.short_target;
  cut_out(settings.splice.costs, site_piece_of(piece, TieOrder::gap_right), cuts.of_target, memory.short_target);
  Problem problem = problem_of(piece, TieOrder::gap_right);
  problem.target = target.codes.data();
  problem.target_length -= cuts.bases();
  want_edges(cuts, memory.cut_scratch);
  align_spliced(settings.scores, problem, {target.sites.donor, target.sites.acceptor}, memory.spliced_rows, memory.piece, memory.cut_scratch.edges);
  if (!put_back(cuts.of_target, memory.piece.cigar)) return false;
  const Problem whole = problem_of(piece, TieOrder::gap_right);
  return memory.piece.score > highest_with_two_introns(settings.scores, whole) ||
         leaves(piece, highest_through_cuts(settings.scores, whole, cuts, target, memory.spliced_rows, memory.cut_scratch), memory);
}

// piece: in the order of its codes.
void align_codes(const AlignmentSettings& settings, const Piece& piece, TieOrder ties, AlignmentMemory& memory) {
  Alignment& result = memory.piece;
  result.cigar.clear();
  memory.doubt = {};
  const Problem problem = problem_of(piece, ties);
  if (too_large(settings, problem)) {
    result = Alignment();
    result.dropped = true;
    return;
  }
  if (!settings.splice.enabled) return align(settings.scores, problem, memory.rows, result);
  const SitePiece sites = site_piece_of(piece, ties);
  if (problem.goal == Goal::ends) {
    const Cuts* cuts = piece.cuts;
    if (cuts == nullptr) {
      find_cuts(settings, problem, memory.cut_scratch, memory.cuts);
      cuts = &memory.cuts;
    }
    if (cuts->any() && align_without_cuts(settings, piece, *cuts, memory)) return;
    result.cigar.clear();
  }
  score_sites(settings.splice.costs, sites, {settings.splice.known.get(), settings.splice.site_scores.get()}, memory.sites);
  align_spliced(settings.scores, problem, {memory.sites.donor, memory.sites.acceptor}, memory.spliced_rows, result);
}

// Does the reverse complement align locally, with that score at least?
bool opposite_strand_aligns(const Scores& scores, Codes query, Codes target, std::int32_t wanted, AlignmentMemory& memory) {
  memory.query.resize(query.size());
  std::transform(query.rbegin(), query.rend(), memory.query.begin(),
                 [](std::uint8_t code) { return code < 4 ? static_cast<std::uint8_t>(3 - code) : code; });
  return aligns_locally(scores, memory.query, target, wanted, memory.local);
}

}  // namespace

Problem problem_of(const Piece& piece, TieOrder ties) {
  return {.query = piece.query.data(),
          .target = piece.target.data(),
          .query_length = static_cast<std::int32_t>(piece.query.size()),
          .target_length = static_cast<std::int32_t>(piece.target.size()),
          .band = piece.band,
          .z_drop = piece.z_drop,
          .end_bonus = piece.end_bonus,
          .goal = piece.goal,
          .ties = ties};
}
bool too_large(const AlignmentSettings& settings, const Problem& problem) {
  return settings.max_cells > 0 && std::int64_t{problem.query_length} * problem.target_length > settings.max_cells;
}

bool sites_may_gain(const AlignmentSettings& settings) { return settings.splice.known != nullptr || settings.splice.site_scores != nullptr; }
void find_cuts(const AlignmentSettings& settings, const Problem& problem, CutScratch& scratch, Cuts& cuts) {
  cuts.of_target.clear();
  if (!sites_may_gain(settings)) find_cuts(settings.scores, problem, scratch, cuts);
}
SitePiece site_piece_of(const Piece& piece, TieOrder ties) {
  return {.codes = piece.target,
          .contig = piece.contig,
          .begin = piece.target_begin,
          .direction = ties == TieOrder::gap_left ? Direction::backward : Direction::forward,
          .sites = piece.sites};
}

bool align_piece_without_introns(const AlignmentSettings& settings, const Piece& piece, TieOrder ties, AlignmentMemory& memory) {
  const Problem problem = problem_of(piece, ties);
  return !sites_may_gain(settings) && !too_large(settings, problem) && align_without_introns(settings.scores, problem, memory.rows, memory.piece);
}
bool put_cuts_back(const AlignmentSettings& settings, const Piece& piece, std::int32_t highest_through_cuts, AlignmentMemory& memory) {
  if (!put_back(piece.cuts->of_target, memory.piece.cigar)) return false;
  const std::int32_t at_once = highest_with_two_introns(settings.scores, problem_of(piece, TieOrder::gap_right));
  return leaves(piece, highest_through_cuts == Alignment::unreached ? at_once : std::min(highest_through_cuts, at_once), memory);
}

void align_piece(const AlignmentSettings& settings, const Piece& piece, AlignmentMemory& memory) {
  align_codes(settings, piece, TieOrder::gap_right, memory);
}

void align_piece_backwards(const AlignmentSettings& settings, const Piece& piece, AlignmentMemory& memory) {
  memory.query.assign(piece.query.rbegin(), piece.query.rend());
  memory.target.assign(piece.target.rbegin(), piece.target.rend());
  Piece backwards = piece;
  backwards.query = memory.query;
  backwards.target = memory.target;
  align_codes(settings, backwards, TieOrder::gap_left, memory);
}

void append(std::vector<std::uint32_t>& cigar, const std::vector<std::uint32_t>& later) {
  auto from = later.begin();
  if (!cigar.empty() && from != later.end() && code_of(cigar.back()) == code_of(*from)) cigar.back() += *from++ & ~15U;
  cigar.insert(cigar.end(), from, later.end());
}

Fall look_for_fall(const AlignmentSettings& settings, const Piece& piece, AlignmentMemory& memory) {
  const Scores& scores = settings.scores;
  const std::vector<std::uint32_t>& cigar = memory.piece.cigar;
  if (!settings.splice.enabled && all_losses(scores, piece, memory.piece) <= std::min(settings.z_drop, settings.z_drop_inversion)) return Fall::none;
  FallSearch search(scores.gap_extend);
  std::int32_t target = 0, query = 0;
  for (const std::uint32_t operation : cigar) {
    const std::int32_t bases = bases_of(operation);
    if (code_of(operation) == match_or_mismatch) {
      for (std::int32_t i = 0; i < bases; ++i, ++target, ++query) {
        const std::uint8_t on_target = piece.target[static_cast<std::size_t>(target)], on_query = piece.query[static_cast<std::size_t>(query)];
        search.change(on_target > 3 || on_query > 3 ? -scores.ambiguous : column_score(scores, on_target, on_query));
        search.look(target, query);
      }
    } else {
      search.change(-(scores.gap_open + scores.gap_extend * bases));
      (code_of(operation) == insertion ? query : target) += bases;
      search.look(target, query);
    }
  }
  const std::int32_t on_query = search.query_end - search.query_begin, on_target = search.target_end - search.target_begin;
  if (settings.find_inversions && search.deepest > settings.z_drop_inversion && on_query < settings.max_gap && on_target < settings.max_gap &&
      on_query > 0 && on_target > 0) {
    const std::int32_t wanted = std::max(settings.min_chain_score * scores.match, settings.min_score);
    if (opposite_strand_aligns(scores, part(piece.query, search.query_begin, search.query_end),
                               part(piece.target, search.target_begin, search.target_end), wanted, memory))
      return Fall::inversion;
  }
  return search.deepest > settings.z_drop ? Fall::break_off : Fall::none;
}

}  // namespace sluice::base_alignment
