// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sched/memory_budget.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace sluice;

namespace {

// Never waits: what does not fit is refused.
MemoryBudget impatient(std::uint64_t bytes, double bytes_per_work, int batches) {
  return {bytes, bytes_per_work, batches, [] { return true; }};
}

}  // namespace

TEST_CASE("a batch of more bytes than there are numbers is let in alone, and nothing beside it") {
  for (const double work : {2.4e19, 1e300, std::numeric_limits<double>::infinity()}) {
    CAPTURE(work);
    MemoryBudget budget = impatient(1 << 20, 1.0, 8);
    auto huge = budget.acquire(work);
    REQUIRE(huge != nullptr);
    CHECK(budget.acquire(1) == nullptr);
    huge.reset();
    CHECK(budget.in_flight() == 0);
    CHECK(budget.acquire(1 << 20) != nullptr);
  }
}

TEST_CASE("a huge batch and what a regroup stage made of it do not add up to a small number") {
  MemoryBudget budget = impatient(1 << 20, 1.0, 8);
  auto& flow = budget.add_flow();
  auto huge = budget.acquire(2.4e19);
  auto emitted = budget.acquire_emitted(flow, std::numeric_limits<std::uint64_t>::max());
  REQUIRE(emitted != nullptr);  // one of each flow always is let in
  CHECK(budget.acquire(1) == nullptr);
  CHECK(budget.acquire_emitted(flow, 1) == nullptr);
  emitted.reset();
  CHECK(budget.acquire(1) == nullptr);
  huge.reset();
  CHECK(budget.acquire(1) != nullptr);
}

TEST_CASE("a batch that grows beyond all numbers is still accounted for") {
  MemoryBudget budget = impatient(1 << 20, 1.0, 8);
  auto permit = budget.acquire(16);
  budget.grow(permit, 2.4e19);
  CHECK(budget.acquire(1) == nullptr);
  permit.reset();
  CHECK(budget.acquire(1 << 20) != nullptr);
}

TEST_CASE("a batch that used more bytes than a size can hold does not break the estimate") {
  MemoryBudget budget = impatient(1 << 20, 1.0, 8);
  {
    auto permit = budget.acquire(1e-300);
    permit->used(std::numeric_limits<std::uint64_t>::max());
  }
  CHECK(budget.bytes_per_work() > 0);
  CHECK(budget.batch_work(2) >= 0);
  auto permit = budget.acquire(2);
  REQUIRE(permit != nullptr);
  CHECK(budget.acquire(2) == nullptr);
}
