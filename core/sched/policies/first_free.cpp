// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The first lane that is free takes the oldest batch that it may do. Learns nothing and divides nothing: what other policies are measured
// against, and what happens to a batch whose policy fails.
#include "sched/policy.hpp"

namespace sluice::policies {
namespace {

class FirstFree : public Policy {
 public:
  std::optional<Choice> decide(const View& view) const override {
    std::optional<Choice> choice;
    Turn oldest;
    for (const WaitingGroup& group : view.waiting) {
      const StageView& stage = view.stages[group.stage];
      if (group.tasks.empty() || !view.may_begin(stage)) continue;
      const auto& [turn, task] = *group.tasks.begin();
      if (choice && oldest < turn) continue;
      for (const Candidate& candidate : stage.candidates) {
        if (!view.lanes[candidate.lane].has_room() || !view.may_do_whole(group, task, candidate)) continue;
        choice = Choice{task.number, {{candidate.lane, candidate.implementation}}};
        oldest = turn;
        break;
      }
    }
    return choice;
  }
};

}  // namespace

std::unique_ptr<const Policy> first_free() { return std::make_unique<FirstFree>(); }

}  // namespace sluice::policies
