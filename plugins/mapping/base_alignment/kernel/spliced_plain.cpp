// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>

#include "base_alignment/kernel/spliced_path.hpp"

namespace sluice::base_alignment {
namespace {

// Rows of the matrix are anti-diagonals, as in rows.hpp; a cell is its place on the target, and place -1 the border.
class SplicedMatrix {
 public:
  SplicedMatrix(const Scores& scores, const Problem& problem, const SiteColumns& sites, SplicedRows& rows)
      : scores_(scores), problem_(problem), sites_(sites), rows_(rows) {
    const auto width = static_cast<std::size_t>(problem.target_length) + 2;
    rows.numbers.resize(10 * width);
    std::int32_t* at = rows.numbers.data() + 1;
    for (std::int32_t** array :
         {&score_[0], &score_[1], &score_[2], &deletion_[0], &deletion_[1], &intron_[0], &intron_[1], &insertion_[0], &insertion_[1]}) {
      *array = at;
      at += width;
    }
    const auto query_length = static_cast<std::size_t>(problem.query_length);
    rows.query_back.resize(query_length);
    std::reverse_copy(problem.query, problem.query + query_length, rows.query_back.begin());
    rows.begin_of_row.clear();
    next_steps_ = rows.steps.start(static_cast<std::size_t>(problem.target_length) * query_length);
  }

  void run(Alignment& result) {
    const std::int32_t last_row = problem_.query_length + problem_.target_length - 2;
    const bool has_peak = problem_.goal != Goal::ends;
    for (std::int32_t row = 0; row <= last_row && !result.dropped; ++row) {
      const auto [first, last] = spliced_row(problem_, row);
      fill(row, first, last);
      const std::int32_t* const score = score_of(row);
      if (has_peak) result.dropped = !take_spliced_peak(problem_, row, first, score[first], best_of_row(score, first, last), result);
    }
    finish_spliced(scores_, problem_, score_of(last_row)[problem_.target_length - 1], rows_, result);
  }

 private:
  std::int32_t* score_of(std::int32_t row) { return score_[row % 3]; }

  void fill(std::int32_t row, std::int32_t first, std::int32_t last) {
    const std::int32_t open = scores_.gap_open, extend = scores_.gap_extend, intron_open = scores_.gap_open_long;
    std::int32_t* const before = score_[(row + 1) % 3];  // two rows before
    std::int32_t* const score = score_[row % 3];
    const int from = row & 1, to = from ^ 1;
    // The borders.
    before[-1] = spliced_border(scores_, row);
    deletion_[from][-1] = spliced_border(scores_, row + 1) - open - extend;
    intron_[from][-1] = spliced_border(scores_, row + 1) - intron_open;
    if (last == row) {
      if (row > 0) before[row - 1] = spliced_border(scores_, row);
      insertion_[from][row] = spliced_border(scores_, row + 1) - open - extend;
    }
    rows_.begin_of_row.push_back(rows_.begin_of_row.empty() ? 0 : rows_.begin_of_row.back() + cells_before_);
    cells_before_ = static_cast<std::size_t>(last - first + 1);
    std::uint8_t* const steps = next_steps_;
    next_steps_ += cells_before_;
    const std::uint8_t* const query = rows_.query_back.data() + (problem_.query_length - 1 - row);
    const std::int32_t right = problem_.ties == TieOrder::gap_right ? 1 : 0;  // what the later of two candidates must have more
    for (std::int32_t t = first; t <= last; ++t) {
      const std::int32_t deletion = deletion_[from][t - 1], insertion = insertion_[from][t], intron = intron_[from][t - 1];
      std::int32_t best = before[t - 1] + spliced_matrix_score(scores_, problem_.target[t], query[t]);
      std::uint8_t step = step_match;
      const auto take = [&](std::int32_t candidate, std::uint8_t candidate_step) {
        if (candidate < best + right) return;
        best = candidate;
        step = candidate_step;
      };
      take(deletion, step_deletion);
      take(insertion, step_insertion);
      take(intron + sites_.acceptor[static_cast<std::size_t>(t)], step_intron);
      score[t] = best;
      const std::int32_t opened = best - open, intron_opened = best - intron_open + sites_.donor[static_cast<std::size_t>(t)];
      if (deletion >= opened + right) step |= goes_on(step_deletion);
      if (insertion >= opened + right) step |= goes_on(step_insertion);
      if (intron >= intron_opened + right) step |= goes_on(step_intron);
      deletion_[to][t] = std::max(opened, deletion) - extend;
      insertion_[to][t] = std::max(opened, insertion) - extend;
      intron_[to][t] = std::max(intron_opened, intron);
      steps[t - first] = step;
    }
  }

  const Scores& scores_;
  const Problem& problem_;
  const SiteColumns& sites_;
  SplicedRows& rows_;
  std::size_t cells_before_ = 0;
  std::uint8_t* next_steps_ = nullptr;
  // By place on the target. Gaps: what they come to where they enter the next cell.
  std::int32_t *score_[3] = {}, *deletion_[2] = {}, *intron_[2] = {}, *insertion_[2] = {};
};

void trace_spliced(const Scores& scores, const Problem& problem, const SplicedRows& rows, std::int32_t target, std::int32_t query,
                   std::vector<std::uint32_t>& cigar) {
  constexpr std::uint32_t match = 0, insertion = 1, deletion = 2, intron = 3;
  BackwardPath path(cigar);
  std::uint8_t state = step_match;
  while (target >= 0 && query >= 0) {
    const std::int32_t row = target + query;
    const auto cell = static_cast<std::size_t>(target - spliced_row(problem, row).first);
    follow(rows.steps[rows.begin_of_row[static_cast<std::size_t>(row)] + cell], state);
    if (state == step_match) {
      path.add(match, 1);
      --target;
      --query;
    } else if (state == step_insertion) {
      path.add(insertion, 1);
      --query;
    } else {
      path.add(state == step_deletion ? deletion : intron, 1);
      --target;
    }
  }
  if (target >= 0) path.add(target + 1 > longest_deletion(scores) ? intron : deletion, static_cast<std::uint32_t>(target) + 1);
  if (query >= 0) path.add(insertion, static_cast<std::uint32_t>(query) + 1);
  path.finish(problem.ties == TieOrder::gap_right);
}

}  // namespace

void finish_spliced(const Scores& scores, const Problem& problem, std::int32_t score, const SplicedRows& rows, Alignment& result) {
  const auto trace = [&](std::int32_t target, std::int32_t query) { trace_spliced(scores, problem, rows, target, query, result.cigar); };
  if (!result.dropped) result.score = score;
  if (!result.dropped && problem.goal != Goal::extension) {
    trace(problem.target_length - 1, problem.query_length - 1);
  } else if (!result.dropped && std::int64_t{result.query_end_score} + problem.end_bonus > result.best) {
    result.reached_end = true;
    trace(result.query_end_target, problem.query_length - 1);
  } else if (result.best_target >= 0) {
    trace(result.best_target, result.best_query);
  }
}

void align_spliced_plainly(const Scores& scores, const Problem& problem, const SiteColumns& sites, SplicedRows& rows, Alignment& result) {
  if (!starts(scores, problem, result) || !intron_costs_fit(scores)) return;
  SplicedMatrix(scores, problem, sites, rows).run(result);
}

}  // namespace sluice::base_alignment
