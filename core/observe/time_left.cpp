// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/time_left.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "config/usual_share.hpp"
#include "observe/account.hpp"

namespace sluice {
namespace {

// Before this little is done, a rate says nothing.
constexpr double least_share = 0.02;
// Until then what the pipeline's file says of a stage is better than what is seen of it.
constexpr double enough_seen = 0.05;

// Stages as a stream of rows sees them: what its source or regroup has given, and how much of that each stage has had.
class Streams {
 public:
  Streams(const Plan& plan, const RunStatistics& statistics) : plan_(plan), statistics_(statistics), given_(plan.stages.size()) {}

  // The part of all rows of the run that a stage has had; sources: have given. Nothing: it can't be told.
  std::optional<double> seen(std::size_t stage) {
    const StageStatistics* s = of(stage);
    const std::size_t head = head_of(stage);
    if (s == nullptr) return std::nullopt;
    if (head == stage) return given(stage);
    const std::uint64_t rows = rows_of(head);
    if (rows == 0) return std::nullopt;
    const std::optional<double> given_there = given(head);
    if (!given_there) return std::nullopt;
    return *given_there * static_cast<double>(s->rows_in) / static_cast<double>(rows);
  }
  const StageStatistics* of(std::size_t stage) const { return statistics_of(statistics_, plan_, stage); }

 private:
  // That a source or a regroup has given. A regroup's are counted when its call ends, which may be long after the first of them has gone on.
  std::uint64_t rows_of(std::size_t head) const {
    const StageStatistics* first = of(head);
    if (first == nullptr) return 0;
    std::uint64_t rows = first->rows_out;
    for (std::size_t stage = 0; stage < plan_.stages.size(); ++stage)
      if (const StageStatistics* s = of(stage); stage != head && s != nullptr && head_of(stage) == head) rows = std::max(rows, s->rows_in);
    return rows;
  }
  // Whose rows arrive at a stage; a source is its own.
  std::size_t head_of(std::size_t stage) const {
    const auto& inputs = plan_.stages[stage].stage->inputs;
    return inputs.empty() ? stage : plan_.stages[inputs.front()].stream;
  }
  // The part of its rows that a source or a regroup has given.
  std::optional<double> given(std::size_t head) {
    std::optional<std::optional<double>>& known = given_[head];
    if (!known) {
      known.emplace();
      known = find_given(head);
    }
    return *known;
  }
  std::optional<double> find_given(std::size_t head) {
    const StageStatistics* s = of(head);
    if (s == nullptr) return std::nullopt;
    if (s->progress >= 0) return s->progress;
    if (plan_.stages[head].stage->inputs.empty()) {
      if (statistics_.source_progress < 0) return std::nullopt;
      return statistics_.source_progress;
    }
    if (const std::optional<double> said = said_behind(head)) return said;
    if (s->rows_out == 0) return std::nullopt;  // it may be in the midst of giving everything
    return seen(head);                          // as if it gave as much as it has got
  }
  // A regroup further on that knows how much it has given says how much of these rows it has had.
  std::optional<double> said_behind(std::size_t head) {
    for (std::size_t stage = 0; stage < plan_.stages.size(); ++stage) {
      const StageStatistics* s = of(stage);
      if (stage == head || s == nullptr || s->role != "regroup" || head_of(stage) != head || s->rows_in == 0) continue;
      const std::optional<double> given_there = s->progress >= 0 ? std::optional(s->progress) : said_behind(stage);
      if (given_there) return std::min(1.0, *given_there * static_cast<double>(rows_of(head)) / static_cast<double>(s->rows_in));
    }
    return std::nullopt;
  }

  const Plan& plan_;
  const RunStatistics& statistics_;
  std::vector<std::optional<std::optional<double>>> given_;
};

// The part of the seconds of all calls that is spent. What has been read runs ahead, and what has been written lags behind: each stage counts by the
// time that it has taken and by how many of the rows it has had, or, until it is seen at work, by what is usual.
double share_done(const Plan& plan, const RunStatistics& statistics) {
  Streams streams(plan, statistics);
  double spent = 0, expected = 0, usual_of_unseen = 0;  // seconds of calls so far, and of the whole input; part of the whole
  std::vector<std::pair<double, double>> unseen;        // stages of which only the usual part is known, and their seconds so far
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const StageStatistics* stage = streams.of(i);
    if (stage == nullptr) continue;
    const double usual = plan.stages[i].stage->usual_share.calls;
    const std::optional<double> seen = streams.seen(i);
    if (stage->busy_seconds > 0 && seen && *seen > 0 && (usual <= 0 || *seen >= enough_seen)) {
      spent += stage->busy_seconds;
      expected += stage->busy_seconds / std::min(1.0, *seen);
    } else if (usual > 0) {
      usual_of_unseen += usual;
      unseen.emplace_back(usual, stage->busy_seconds);
    }
  }
  if (expected <= 0) return statistics.source_progress;
  const double all = expected / (1 - std::min(usual_of_unseen, most_usual_share));
  for (const auto& [usual, seconds] : unseen) spent += std::min(seconds, usual * all);
  return std::min(1.0, spent / all);
}

// What sinks say of their last step; < 0: nothing.
double said_at_end(const RunStatistics& statistics) {
  double said = -1;
  for (const StageStatistics& stage : statistics.stages)
    if (stage.role == "sink" && stage.progress >= 0) said = said < 0 ? stage.progress : std::min(said, stage.progress);
  return said;
}

// A sink that has no last step with its parameters says from the beginning that it is done.
double usual_at_end(const Plan& plan, const RunStatistics& statistics) {
  double share = 0;
  for (std::size_t i = 0; i < plan.stages.size(); ++i)
    if (const StageStatistics* stage = statistics_of(statistics, plan, i); stage == nullptr || stage->progress < 1)
      share += plan.stages[i].stage->usual_share.at_end;
  return std::min(share, most_usual_share);
}

}  // namespace

TimeLeft::Estimate TimeLeft::after(const RunStatistics& statistics) {
  const double calls = share_done(plan_, statistics);
  if (calls_ended_at_ < 0) at_end_ = usual_at_end(plan_, statistics);  // what is said behind the last call is of the step itself
  const double at_end = at_end_;
  if (calls * (1 - at_end) < least_share || statistics.source_progress < 0) return {};
  double seconds = statistics.elapsed_seconds;
  for (const StageStatistics& stage : statistics.stages)
    if (stage.role == "resource") seconds -= stage.busy_seconds;  // before the first row, once
  seconds = std::max(0.0, seconds);
  constexpr double nearly_all = 0.999;
  if (calls < nearly_all) {
    calls_ended_at_ = -1;
    const double share = calls * (1 - at_end);
    return {share, seconds * (1 - share) / share};
  }
  if (calls_ended_at_ < 0) calls_ended_at_ = seconds;
  const double said = said_at_end(statistics);
  const double all = said < enough_seen ? calls_ended_at_ / (1 - at_end) : calls_ended_at_ + (seconds - calls_ended_at_) / said;
  return {all > 0 ? std::min(1.0, seconds / all) : 1.0, std::max(0.0, all - seconds)};
}

}  // namespace sluice
