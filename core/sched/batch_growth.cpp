// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sched/batch_growth.hpp"

#include <algorithm>

#include "sched/estimates.hpp"

namespace sluice {

BatchSize grown_batch(const View& view, double usual, double largest) {
  double wish = usual;
  bool tell_apart = false;
  for (const StageView& stage : view.stages) {
    if (stage.work_per_source <= 0) continue;
    const Candidate* on_cpu = nullptr;
    for (const Candidate& candidate : stage.candidates)
      if (candidate.on_cpu()) on_cpu = &candidate;
    for (const Candidate& candidate : stage.candidates) {
      if (candidate.on_cpu() || !view.lanes[candidate.lane].healthy || !candidate.known || candidate.cost.per_work <= 0) continue;
      const double work = std::max(20.0 * candidate.cost.constant / candidate.cost.per_work, usual * stage.work_per_source);
      const auto time = [&](const Candidate& c) { return c.cost.seconds(work, 0) / parallel_calls(view, c); };
      if (on_cpu != nullptr && on_cpu->known && time(*on_cpu) < time(candidate)) continue;
      tell_apart = tell_apart || candidate.observed < 16;
      wish = std::max(wish, work / stage.work_per_source);
    }
  }
  const SourceView& source = view.source;
  if (wish < 1.5 * usual) wish = usual;  // noise, or not worth it
  // Calls of one size would never show what of their time is constant.
  if (tell_apart && source.learning_sizes % 2 == 1) wish = std::max(wish, 2.0 * usual);
  // Two batches for every thread and device must be left to read (as much as has been read where nobody knows what is left): the end of a
  // run needs work for every lane. And never suddenly.
  const double lanes = view.lanes[cpu_lane].traits.slots + 2.0 * static_cast<double>(view.lanes.size() - 1);
  const double share = source.progress.share;
  const double left = share > 0 ? source.read_work * (1.0 - share) / share : source.read_work;
  return {std::max(usual, std::min({wish, largest, left / (2.0 * lanes), 2.0 * std::max(source.last_batch_work, usual)})), tell_apart};
}

}  // namespace sluice
