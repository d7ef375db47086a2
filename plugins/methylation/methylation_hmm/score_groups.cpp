// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Forward for many groups at once: one group per vector lane, both hypotheses side by side.
//
// The recurrence is sequential along k-mers (K states) and along events, so lanes hold different problems, sorted by length so that they end
// together. The k-mers before the first site are the same under both hypotheses and so are their columns: they are computed once (5 or 6 of 16
// columns of a single-CpG group). The other columns are computed for both hypotheses in turns: the two chains of dependent log-sums overlap. A
// log-sum is a table gather (on AMD a polynomial) between a dozen cheap operations; seven of them per cell and hypothesis are the whole cost.

#include <algorithm>
#include <cmath>

#include "methylation_hmm/profile_hmm.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "methylation_hmm/score_groups.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "methylation_hmm/log_sum-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace sluice::methylation_hmm {
namespace HWY_NAMESPACE {

// One column of one hypothesis in memory: this many vectors, in this order.
enum Field : std::size_t { kMean, kStdv, kConstant, kMatch, kBad, kSkip, kFields };

constexpr std::size_t kRowsPerBlock = 32;  // events are brought into lane order this many rows at a time: 2 kB of L1
constexpr std::size_t kAlignment = 64;

HWY_INLINE V Emission(V event, const float* HWY_RESTRICT column) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  const V a = hn::Div(hn::Sub(event, hn::Load(d, column + kMean * lanes)), hn::Load(d, column + kStdv * lanes));
  return hn::Add(hn::Load(d, column + kConstant * lanes), hn::Mul(hn::Mul(hn::Set(d, -0.5F), a), a));
}

// Scores the problems order[0 .. count), count <= lanes, all checked.
template <class LogSumsOfVectors>
void ScoreLanes(std::span<const ReadSignal> reads, std::span<const GroupProblem> problems, const KmerModelView& model, const Motif& motif,
                const ScoreWorkspace::Entry* order, std::size_t count, ScoreWorkspace& workspace, std::span<GroupScore> scores) {
  const Floats d;
  const Integers di;
  const std::size_t lanes = hn::Lanes(d);
  const LogSumsOfVectors log_sums;
  const auto log_sum = [&](V a, V b) HWY_ATTR __attribute__((always_inline)) {
    V sum[1];
    log_sums({{a, b}}, sum);
    return sum[0];
  };
  const float* HWY_RESTRICT clipping = workspace.clipping.data();

  const std::size_t all_lanes_ranks = lanes * kMaximumSequenceLength;
  if (workspace.ranks.size() < 2 * all_lanes_ranks) workspace.ranks.resize(2 * all_lanes_ranks);
  const auto unmethylated = [&](std::size_t lane) { return workspace.ranks.data() + lane * kMaximumSequenceLength; };
  const auto methylated = [&](std::size_t lane) { return workspace.ranks.data() + all_lanes_ranks + lane * kMaximumSequenceLength; };
  std::size_t columns[16];
  HWY_ALIGN std::int32_t rows[16] = {};
  std::size_t fewest_columns = kMaximumSequenceLength;
  std::size_t most_columns = 0;
  std::size_t shared = kMaximumSequenceLength;  // leading columns that are the same under both hypotheses, in all lanes
  std::int64_t most_rows = 0;
  for (std::size_t lane = 0; lane < count; ++lane) {
    const GroupProblem& problem = problems[order[lane].problem];
    columns[lane] = problem.sequence.size() - model.k + 1;
    rows[lane] = static_cast<std::int32_t>(event_count(problem));
    const Strand strand = reads[problem.read].strand;
    hypothesis_ranks(problem.sequence, model.k, strand, motif.sites(strand), unmethylated(lane), methylated(lane));
    const auto same =
        static_cast<std::size_t>(std::mismatch(unmethylated(lane), unmethylated(lane) + columns[lane], methylated(lane)).first - unmethylated(lane));
    shared = std::min(shared, same);
    fewest_columns = std::min(fewest_columns, columns[lane]);
    most_columns = std::max(most_columns, columns[lane]);
    most_rows = std::max<std::int64_t>(most_rows, rows[lane]);
  }
  shared = std::min(shared, fewest_columns - 1);  // the last column of a lane is always computed for both

  // Column j of the unmethylated hypothesis is stored at j, that of the methylated one at j + branch for j >= shared.
  const std::size_t branch = most_columns - shared;
  const std::size_t stored_columns = most_columns + branch + 1;  // one more, which the last column reads ahead
  const std::size_t stride = kFields * lanes;
  const std::size_t needed = stored_columns * stride + kRowsPerBlock * lanes + 4 * lanes + kAlignment / sizeof(float);
  if (workspace.lanes.size() < needed) workspace.lanes.resize(needed);
  float* const aligned =
      reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(workspace.lanes.data()) + kAlignment - 1) / kAlignment * kAlignment);
  float* HWY_RESTRICT cells = aligned;
  float* HWY_RESTRICT events = cells + stored_columns * stride;
  float* HWY_RESTRICT per_lane = events + kRowsPerBlock * lanes;

  for (std::size_t column = 0; column < stored_columns; ++column) {
    float* at = cells + column * stride;
    hn::Store(hn::Zero(d), d, at + kMean * lanes);
    hn::Store(hn::Set(d, 1.0F), d, at + kStdv * lanes);
    hn::Store(hn::Zero(d), d, at + kConstant * lanes);
    hn::Store(hn::Set(d, kMinusInfinity), d, at + kMatch * lanes);
    hn::Store(hn::Set(d, kMinusInfinity), d, at + kBad * lanes);
    hn::Store(hn::Set(d, kMinusInfinity), d, at + kSkip * lanes);
  }
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    per_lane[lane] = -1.0F;
    per_lane[lanes + lane] = -1.0F;
  }
  bool usable[16] = {};
  for (std::size_t lane = 0; lane < count; ++lane) {
    const ReadSignal& read = reads[problems[order[lane].problem].read];
    const auto put = [&](std::size_t stored, std::uint32_t rank) {
      const ScaledLevel level = scale_level(model, rank, read);
      float* at = cells + stored * stride + lane;
      // A lane that is no problem any more keeps harmless levels; its score is discarded.
      if (!is_usable(level)) return false;
      at[kMean * lanes] = level.mean;
      at[kStdv * lanes] = level.stdv;
      at[kConstant * lanes] = level.constant;
      return true;
    };
    usable[lane] = true;
    for (std::size_t j = 0; j < columns[lane]; ++j) {
      usable[lane] = put(j, unmethylated(lane)[j]) && usable[lane];
      if (j >= shared) usable[lane] = put(j + branch, methylated(lane)[j]) && usable[lane];
    }
    const Transitions& transitions = *workspace.transitions[problems[order[lane].problem].read];
    per_lane[lane] = transitions.match_stay;
    per_lane[lanes + lane] = transitions.match_next;
  }
  HWY_ALIGN std::int32_t last_column[16] = {};
  for (std::size_t lane = 0; lane < count; ++lane) last_column[lane] = static_cast<std::int32_t>(columns[lane]) - 1;

  const Transitions& same_for_all = *workspace.transitions[problems[order[0].problem].read];
  const V match_stay = hn::Load(d, per_lane);
  const V match_next = hn::Load(d, per_lane + lanes);
  const V match_bad = hn::Set(d, same_for_all.match_bad);
  const V match_skip = hn::Set(d, same_for_all.match_skip);
  const V bad_match = hn::Set(d, same_for_all.bad_match);
  const V bad_stay = hn::Set(d, same_for_all.bad_stay);
  const V bad_skip = hn::Set(d, same_for_all.bad_skip);
  const V skip_match = hn::Set(d, same_for_all.skip_match);
  const V skip_stay = hn::Set(d, same_for_all.skip_stay);
  const V minus_infinity = hn::Set(d, kMinusInfinity);
  const auto lane_rows = hn::Load(di, rows);
  const auto lane_last_column = hn::Load(di, last_column);

  V end_u = minus_infinity;
  V end_m = minus_infinity;
  for (std::int64_t row = 0; row < most_rows; ++row) {
    const std::size_t in_block = static_cast<std::size_t>(row) % kRowsPerBlock;
    if (in_block == 0) {
      const std::int64_t block_rows = std::min<std::int64_t>(kRowsPerBlock, most_rows - row);
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const GroupProblem& problem = problems[order[std::min(lane, count - 1)].problem];
        const float* means = reads[problem.read].event_mean.data();
        const std::int64_t step = problem.first_event <= problem.last_event ? 1 : -1;
        const std::int64_t final_row = event_count(problem) - 1;
        for (std::int64_t i = 0; i < block_rows; ++i) {
          events[static_cast<std::size_t>(i) * lanes + lane] = means[problem.first_event + std::min(row + i, final_row) * step];
        }
      }
    }
    const V event = hn::Load(d, events + in_block * lanes);

    // "old" is the row before, "new" this row; both of the column to the left of the one being computed.
    V old_match_u, old_bad_u, old_skip_u, new_match_u, new_bad_u, new_skip_u;
    V last_match_u = minus_infinity, last_bad_u = minus_infinity, last_skip_u = minus_infinity;
    V last_match_m = minus_infinity, last_bad_m = minus_infinity, last_skip_m = minus_infinity;

    // The first column: nothing to its left, but the way in from clipped events.
    const V before = hn::Set(d, clipping[row]);
    const auto first_column = [&](float* HWY_RESTRICT column, V& old_match, V& old_bad, V& old_skip, V& new_match, V& new_bad, V& new_skip) HWY_ATTR
        __attribute__((always_inline)) {
      old_match = hn::Load(d, column + kMatch * lanes);
      old_bad = hn::Load(d, column + kBad * lanes);
      old_skip = minus_infinity;
      V sums[2];
      log_sums({{hn::Add(old_match, match_stay), hn::Add(old_bad, bad_match)}, {hn::Add(old_match, match_bad), hn::Add(old_bad, bad_stay)}}, sums);
      new_bad = sums[1];
      new_match = hn::Add(log_sum(sums[0], before), Emission(event, column));
      new_skip = minus_infinity;
      hn::Store(new_match, d, column + kMatch * lanes);
      hn::Store(new_bad, d, column + kBad * lanes);
    };

    first_column(cells, old_match_u, old_bad_u, old_skip_u, new_match_u, new_bad_u, new_skip_u);

    // A match sum folds four log-sums, each waiting about 57 cycles for the one before. The loops fold the first two terms (`begun`) one column
    // ahead, so that what one turn computes is two log-sums deep, and a reorder window (about one turn) holds enough independent ones. The last turn
    // begins a column that does not exist: wasted, but cheaper than a branch.
    const auto begin_match = [&](const float* HWY_RESTRICT column, V left_match) HWY_ATTR __attribute__((always_inline)) {
      const V sum = log_sum(hn::Add(hn::Load(d, column + kMatch * lanes), match_stay), hn::Add(left_match, match_next));
      return log_sum(sum, hn::Add(hn::Load(d, column + kBad * lanes), bad_match));
    };

    V begun_u = begin_match(cells + stride, old_match_u);
    for (std::size_t j = 1; j < shared; ++j) {
      float* HWY_RESTRICT column = cells + j * stride;
      const V match = hn::Load(d, column + kMatch * lanes);
      const V bad = hn::Load(d, column + kBad * lanes);
      V first[2], second[2], third[3];
      log_sums({{begun_u, hn::Add(old_bad_u, bad_match)}, {hn::Add(new_match_u, match_skip), hn::Add(new_bad_u, bad_skip)}}, first);
      const auto& [sum, skip] = first;
      log_sums({{hn::Add(hn::Load(d, column + stride + kMatch * lanes), match_stay), hn::Add(match, match_next)},
                {hn::Add(match, match_bad), hn::Add(bad, bad_stay)}},
               second);
      new_bad_u = second[1];
      log_sums({{sum, hn::Add(old_skip_u, skip_match)},
                {skip, hn::Add(new_skip_u, skip_stay)},
                {second[0], hn::Add(hn::Load(d, column + stride + kBad * lanes), bad_match)}},
               third);
      new_skip_u = third[1];
      begun_u = third[2];
      old_match_u = match;
      old_bad_u = bad;
      old_skip_u = hn::Load(d, column + kSkip * lanes);
      new_match_u = hn::Add(third[0], Emission(event, column));
      hn::Store(new_match_u, d, column + kMatch * lanes);
      hn::Store(new_bad_u, d, column + kBad * lanes);
      hn::Store(new_skip_u, d, column + kSkip * lanes);
    }
    V old_match_m = old_match_u, old_bad_m = old_bad_u, old_skip_m = old_skip_u;
    V new_match_m = new_match_u, new_bad_m = new_bad_u, new_skip_m = new_skip_u;
    if (shared == 0) first_column(cells + branch * stride, old_match_m, old_bad_m, old_skip_m, new_match_m, new_bad_m, new_skip_m);
    const std::size_t apart = std::max<std::size_t>(shared, 1);
    V begun_m = begin_match(cells + (apart + branch) * stride, old_match_m);

    const auto keep_last = [&](std::size_t j) HWY_ATTR {
      const auto is_last = hn::RebindMask(d, hn::Eq(lane_last_column, hn::Set(di, static_cast<std::int32_t>(j))));
      last_match_u = hn::IfThenElse(is_last, new_match_u, last_match_u);
      last_bad_u = hn::IfThenElse(is_last, new_bad_u, last_bad_u);
      last_skip_u = hn::IfThenElse(is_last, new_skip_u, last_skip_u);
      last_match_m = hn::IfThenElse(is_last, new_match_m, last_match_m);
      last_bad_m = hn::IfThenElse(is_last, new_bad_m, last_bad_m);
      last_skip_m = hn::IfThenElse(is_last, new_skip_m, last_skip_m);
    };
    if (fewest_columns == 1) keep_last(0);

    for (std::size_t j = apart; j < most_columns; ++j) {
      float* HWY_RESTRICT column_u = cells + j * stride;
      float* HWY_RESTRICT column_m = column_u + branch * stride;
      const V match_u = hn::Load(d, column_u + kMatch * lanes);
      const V match_m = hn::Load(d, column_m + kMatch * lanes);
      const V bad_u = hn::Load(d, column_u + kBad * lanes);
      const V bad_m = hn::Load(d, column_m + kBad * lanes);
      V first[4], second[4], third[6];
      log_sums({{begun_u, hn::Add(old_bad_u, bad_match)},
                {begun_m, hn::Add(old_bad_m, bad_match)},
                {hn::Add(new_match_u, match_skip), hn::Add(new_bad_u, bad_skip)},
                {hn::Add(new_match_m, match_skip), hn::Add(new_bad_m, bad_skip)}},
               first);
      const auto& [sum_u, sum_m, skip_u, skip_m] = first;
      log_sums({{hn::Add(hn::Load(d, column_u + stride + kMatch * lanes), match_stay), hn::Add(match_u, match_next)},
                {hn::Add(hn::Load(d, column_m + stride + kMatch * lanes), match_stay), hn::Add(match_m, match_next)},
                {hn::Add(match_u, match_bad), hn::Add(bad_u, bad_stay)},
                {hn::Add(match_m, match_bad), hn::Add(bad_m, bad_stay)}},
               second);
      new_bad_u = second[2];
      new_bad_m = second[3];
      log_sums({{sum_u, hn::Add(old_skip_u, skip_match)},
                {sum_m, hn::Add(old_skip_m, skip_match)},
                {skip_u, hn::Add(new_skip_u, skip_stay)},
                {skip_m, hn::Add(new_skip_m, skip_stay)},
                {second[0], hn::Add(hn::Load(d, column_u + stride + kBad * lanes), bad_match)},
                {second[1], hn::Add(hn::Load(d, column_m + stride + kBad * lanes), bad_match)}},
               third);
      new_skip_u = third[2];
      new_skip_m = third[3];
      begun_u = third[4];
      begun_m = third[5];
      old_match_u = match_u;
      old_match_m = match_m;
      old_bad_u = bad_u;
      old_bad_m = bad_m;
      old_skip_u = hn::Load(d, column_u + kSkip * lanes);
      old_skip_m = hn::Load(d, column_m + kSkip * lanes);
      new_match_u = hn::Add(third[0], Emission(event, column_u));
      new_match_m = hn::Add(third[1], Emission(event, column_m));
      hn::Store(new_match_u, d, column_u + kMatch * lanes);
      hn::Store(new_match_m, d, column_m + kMatch * lanes);
      hn::Store(new_bad_u, d, column_u + kBad * lanes);
      hn::Store(new_bad_m, d, column_m + kBad * lanes);
      hn::Store(new_skip_u, d, column_u + kSkip * lanes);
      hn::Store(new_skip_m, d, column_m + kSkip * lanes);
      if (j + 1 >= fewest_columns) keep_last(j);
    }

    const auto row_number = hn::Set(di, static_cast<std::int32_t>(row + 1));
    const auto active = hn::RebindMask(d, hn::Not(hn::Lt(lane_rows, row_number)));
    const V after = hn::GatherIndex(d, clipping, hn::Max(hn::Sub(lane_rows, row_number), hn::Zero(di)));
    V sums[2];
    log_sums({{end_u, hn::Add(last_match_u, after)}, {end_m, hn::Add(last_match_m, after)}}, sums);
    log_sums({{sums[0], hn::Add(last_bad_u, after)}, {sums[1], hn::Add(last_bad_m, after)}}, sums);
    log_sums({{sums[0], hn::Add(last_skip_u, after)}, {sums[1], hn::Add(last_skip_m, after)}}, sums);
    end_u = hn::IfThenElse(active, sums[0], end_u);
    end_m = hn::IfThenElse(active, sums[1], end_m);
  }

  hn::Store(end_u, d, per_lane + 2 * lanes);
  hn::Store(end_m, d, per_lane + 3 * lanes);
  for (std::size_t lane = 0; lane < count; ++lane) {
    GroupScore& score = scores[order[lane].problem];
    if (usable[lane]) {
      score.unmethylated = per_lane[2 * lanes + lane];
      score.methylated = per_lane[3 * lanes + lane];
    } else {
      score.status = ScoreStatus::not_finite;
    }
  }
}

void ScoreOrdered(std::span<const ReadSignal> reads, std::span<const GroupProblem> problems, const KmerModelView& model, const Motif& motif,
                  ScoreWorkspace& workspace, std::span<GroupScore> scores) {
  const std::size_t lanes = hn::Lanes(Floats());
  for (std::size_t at = 0; at < workspace.order.size(); at += lanes) {
    const std::size_t count = std::min(lanes, workspace.order.size() - at);
    const auto* order = workspace.order.data() + at;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
    if (workspace.log_sums == LogSums::computed) {
      ScoreLanes<ComputedLogSums>(reads, problems, model, motif, order, count, workspace, scores);
      continue;
    }
#endif
    ScoreLanes<GatheredLogSums>(reads, problems, model, motif, order, count, workspace, scores);
  }
}

const char* TargetName() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace sluice::methylation_hmm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::methylation_hmm {

HWY_EXPORT(ScoreOrdered);
HWY_EXPORT(TargetName);

bool score_groups(std::span<const ReadSignal> reads, std::span<const GroupProblem> problems, const KmerModelView& model, const Motif& motif,
                  EventsPerBase events_per_base, ScoreWorkspace& workspace, std::span<GroupScore> scores) {
  if (!is_usable(model) || problems.size() != scores.size() || problems.size() > std::numeric_limits<std::uint32_t>::max()) return false;
  constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

  workspace.transitions.clear();
  for (const ReadSignal& read : reads) workspace.transitions.push_back(make_transitions(read.events_per_base, events_per_base));

  workspace.order.clear();
  std::int64_t most_rows = 0;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const GroupProblem& problem = problems[i];
    scores[i] = {.methylated = kNotANumber, .unmethylated = kNotANumber, .status = check_problem(reads, problem, model.k)};
    if (scores[i].status != ScoreStatus::ok) continue;
    if (!workspace.transitions[problem.read]) {
      scores[i].status = ScoreStatus::bad_events_per_base;
      continue;
    }
    const std::int64_t rows = event_count(problem);
    most_rows = std::max(most_rows, rows);
    // By columns, then strand (the strands differ by one shared column), then rows: up and down by turns, so that neighbours across a step of the
    // first two are alike in rows as well.
    const std::uint64_t kind = problem.sequence.size() * 2 + (reads[problem.read].strand == Strand::reverse ? 1 : 0);
    const auto rows_key = static_cast<std::uint64_t>(rows);
    workspace.order.push_back({.key = kind << 32U | (kind % 2 == 0 ? rows_key : 0xFFFFFFFFULL - rows_key), .problem = static_cast<std::uint32_t>(i)});
  }
  std::ranges::sort(workspace.order, [](const auto& a, const auto& b) { return a.key != b.key ? a.key < b.key : a.problem < b.problem; });
  extend_clipping(workspace.clipping, static_cast<std::size_t>(most_rows));
  HWY_DYNAMIC_DISPATCH(ScoreOrdered)(reads, problems, model, motif, workspace, scores);
  return true;
}

const char* score_groups_target() { return HWY_DYNAMIC_DISPATCH(TargetName)(); }

}  // namespace sluice::methylation_hmm
#endif  // HWY_ONCE
