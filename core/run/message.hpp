// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A batch on its way.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "batch/batch.hpp"
#include "sched/memory_budget.hpp"

namespace sluice {

// With the permit that its memory is counted under. Copies are cheap.
struct Message {
  BatchHandle batch;  // rows == 0: a tombstone, which only keeps the order
  MemoryBudget::PermitHandle permit;

  // Notes how much memory the batch and what was made of it take at this moment; bytes: beside columns.
  void note_footprint(const BatchHandle& made, std::uint64_t bytes) const;
  std::uint64_t footprint(const BatchHandle& made) const;
};

// Brings together the messages of one sequence number that come along several branches. Thread-safe.
class BranchJoin {
 public:
  explicit BranchJoin(std::size_t branches) : branches_(branches) {}
  // True and the joined message in `message` when this was the last branch.
  bool arrive(Message& message);

 private:
  const std::size_t branches_;
  std::mutex mutex_;  // guards waiting_
  std::map<std::uint64_t, std::vector<Message>> waiting_;
};

}  // namespace sluice
