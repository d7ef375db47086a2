// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sched/memory_budget.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

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

TEST_CASE("batches grow with the number of devices, as far as memory allows") {
  MemoryBudget budget = impatient(std::uint64_t{1} << 40, 100.0, 8);
  const double without = budget.batch_work(4);
  budget.allow_for_devices(16, 0, 1);
  CHECK(budget.batch_work(4) == without);
  budget.allow_for_devices(64, 0, 4);
  CHECK(budget.batch_work(4) == 4 * without);
  MemoryBudget small = impatient(std::uint64_t{64} << 20, 100.0, 8);
  const double fitting = small.batch_work(4);
  small.allow_for_devices(64, 0, 4);
  CHECK(small.batch_work(4) == fitting);
}

TEST_CASE("where a regroup has had to wait, those in front of it leave it half of the memory") {
  MemoryBudget budget = impatient(1000, 1.0, 100);
  auto &front = budget.add_flow(), &back = budget.add_flow();  // of both a batch is taken for twice its bytes
  std::vector<MemoryBudget::PermitHandle> in_front, behind;
  const auto fill = [](MemoryBudget& all, MemoryBudget::Flow& flow, std::vector<MemoryBudget::PermitHandle>& permits) {
    while (auto permit = all.acquire_emitted(flow, 50)) permits.push_back(std::move(permit));
    return permits.size();
  };
  CHECK(fill(budget, front, in_front) == 10);
  CHECK(fill(budget, back, behind) == 1);  // one always is let in
  in_front.clear();
  behind.clear();
  CHECK(fill(budget, front, in_front) == 5);
  CHECK(fill(budget, back, behind) == 5);
  CHECK(budget.acquire(1) == nullptr);
  in_front.clear();
  behind.clear();
  CHECK(fill(budget, back, behind) == 10);  // nobody is behind it
}

TEST_CASE("what waits at the end of its way counts what it took, not what was expected") {
  MemoryBudget budget = impatient(1000, 1.0, 100);
  auto &front = budget.add_flow(), &back = budget.add_flow();
  std::vector<MemoryBudget::PermitHandle> in_front, behind;
  while (auto permit = budget.acquire_emitted(front, 50)) in_front.push_back(std::move(permit));
  REQUIRE(in_front.size() == 10);  // each is taken for 100 bytes
  const auto settle_all = [&] {
    for (const auto& permit : in_front) budget.settle(permit);
  };
  settle_all();  // nobody has said yet what they took
  CHECK(budget.acquire_emitted(back, 50) != nullptr);
  CHECK(budget.acquire_emitted(back, 950) != nullptr);  // one is always let in
  for (const auto& permit : in_front) permit->used(10);
  settle_all();
  while (auto permit = budget.acquire_emitted(back, 50)) behind.push_back(std::move(permit));
  CHECK(behind.size() == 9);
  in_front.front()->used(5000);  // another branch of it takes more: not its estimate's business any more
  settle_all();
  CHECK(budget.acquire_emitted(back, 50) == nullptr);
  behind.pop_back();
  CHECK(budget.acquire_emitted(back, 50) != nullptr);
}

TEST_CASE("a call that does not fit begins when those before it have ended, alone, and nobody overtakes it") {
  MemoryBudget budget = impatient(1 << 20, 1.0, 8);
  const auto permit = budget.acquire(1 << 10);
  std::vector<MemoryBudget::LeaseHandle> begun;
  std::vector<int> order;
  const auto lend = [&](int number, std::uint64_t bytes) {
    const auto begin = [&, number](const MemoryBudget::LeaseHandle& lease) {
      begun.push_back(lease);
      order.push_back(number);
    };
    if (const auto lease = budget.lend(permit, bytes, begin)) begin(*lease);
  };
  lend(0, 1 << 18);  // a quarter is not counted beside the permit
  REQUIRE(begun.size() == 1);
  CHECK(begun[0] == nullptr);
  lend(1, 3 << 17);
  lend(2, 3 << 17);
  REQUIRE(begun.size() == 3);
  CHECK(!begun[2]->is_beyond());
  lend(3, 3 << 19);
  lend(4, 3 << 17);
  CHECK(order == std::vector<int>{0, 1, 2});
  begun[1]->over(0);
  CHECK(order == std::vector<int>{0, 1, 2});
  CHECK(!budget.one_is_beyond());
  begun[2]->over(0);
  REQUIRE(order == std::vector<int>{0, 1, 2, 3});
  CHECK(begun[3]->is_beyond());
  CHECK(budget.one_is_beyond());
  begun[2].reset();  // it has ended before
  CHECK(order.size() == 4);
  auto last = std::move(begun[3]);
  begun.clear();
  last.reset();  // its end is one, too
  REQUIRE(order == std::vector<int>{0, 1, 2, 3, 4});
  CHECK(!begun.back()->is_beyond());
  CHECK(!budget.one_is_beyond());
}

TEST_CASE("what stays of a call that was lent to counts with its permit") {
  MemoryBudget budget = impatient(1 << 20, 1.0, 8);
  auto permit = budget.acquire(1 << 10);
  MemoryBudget::LeaseHandle lease = budget.lend(permit, 3 << 18, nullptr).value_or(nullptr);
  REQUIRE(lease != nullptr);
  CHECK(budget.acquire(1 << 19) == nullptr);
  lease->over(1 << 19);
  CHECK(budget.acquire(1 << 18) != nullptr);
  CHECK(budget.acquire((1 << 19) + 1) == nullptr);
  lease.reset();
  permit.reset();
  CHECK(budget.acquire(1 << 20) != nullptr);
}
