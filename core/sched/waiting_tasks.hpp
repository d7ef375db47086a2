// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Puts tasks into the groups of a view and takes them out again, each in O(log n) for n that wait.

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sched/policy.hpp"

namespace sluice {

class WaitingTasks {
 public:
  struct Found {
    const WaitingGroup* group = nullptr;
    const Task* task = nullptr;  // null: no such task waits
  };

  explicit WaitingTasks(View& view) : view_(view) {}

  bool empty() const { return places_.empty(); }
  void add(Task task);
  Found find(std::uint64_t number) const;
  // It must be there.
  Task remove(std::uint64_t number);
  // Those that no lane can do any more.
  std::vector<Task> remove_stranded();
  std::optional<Task> remove_any();
  // The view has one lane more.
  void lane_added();

 private:
  struct Place {
    std::size_t group;
    Turn turn;
  };
  std::size_t group_of(const Task& task);
  void count(WaitingGroup& group, const Task& task, double sign) const;

  View& view_;
  std::unordered_map<std::uint64_t, Place> places_;  // by Task::number
  std::uint64_t next_number_ = 1;
};

}  // namespace sluice
