// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>
#include <sluice/kept_buffer.hpp>
#include <sluice/testing.hpp>
#include <sluice/testing/kept_memory.hpp>
#include <string>
#include <vector>

namespace {

using sluice::testing::BatchBuilder;

// Turns the numbers of each row round, by way of memory that it keeps; `forgets`: what a large row leaves behind is not cleared.
template <bool forgets>
struct Reversal {
  struct Parameters {};
  static void describe(sluice::Describe<Reversal>& d) {
    d.id("reversal").summary("turns numbers round").doc("Turns the numbers of a row round.").map("row").serial();
    d.needs("number", "list<i32>", "some numbers").gives("reversed", "list<i32>", "the last one first");
  }
  Reversal(const sluice::Setup&, const Parameters&) {}
  void process(const sluice::Call&, const sluice::Batch& in, sluice::Output& out) {
    const auto numbers = in.list<std::int32_t>("number");
    const sluice::Buffer offsets = out.offsets([&](std::int64_t row) { return numbers[row].size(); });
    const auto reversed = out.list<std::int32_t>("reversed", offsets);
    std::size_t at = 0;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!forgets || kept.size() < 100) kept.clear();
      kept.append(numbers[row]);
      for (std::size_t i = 0; i < numbers[row].size(); ++i) reversed[at++] = kept[kept.size() - 1 - i - (kept.size() - numbers[row].size()) / 2];
      kept.give_back_beyond(4000);
    }
  }
  sluice::KeptBuffer<std::int32_t> kept;
};

TEST_CASE("what a huge row leaves behind is told") {
  const auto small = BatchBuilder("row", 3).template list<std::int32_t>("number", {{1, 2, 3}, {}, {7, 8}}).build();
  std::vector<std::int32_t> many(500);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<std::int32_t>(i);
  const auto huge = BatchBuilder("row", 1).template list<std::int32_t>("number", {many}).build();
  const sluice::testing::ContractSample sample{.batches = {small}};
  const auto problems = [&](const sluice::testing::StageUnderTest& stage) { return sluice::testing::kept_memory_problems(stage, sample, huge); };
  CHECK(problems(sluice::testing::stage_of<Reversal<false>>()) == std::vector<std::string>{});
  const auto found = problems(sluice::testing::stage_of<Reversal<true>>());
  REQUIRE_FALSE(found.empty());
  CHECK(found.front().starts_with("row "));
}

TEST_CASE("the contract suite tries the largest row of its sample in this way") {
  std::vector<std::int32_t> many(500);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<std::int32_t>(i);
  const sluice::testing::ContractSample sample{
      .batches = {BatchBuilder("row", 4).template list<std::int32_t>("number", {{1, 2, 3}, {}, many, {7, 8}}).build()}};
  CHECK(sluice::testing::contract_problems<Reversal<false>>(sample) == std::vector<std::string>{});
  const auto found = sluice::testing::contract_problems<Reversal<true>>(sample);
  CHECK(std::any_of(found.begin(), found.end(),
                    [](const std::string& problem) { return problem.starts_with("reversal: rows alone and behind the largest one: row "); }));
}

// Refuses a row whose number is below that of the row in front.
template <bool forgets>
struct Sorted : Reversal<forgets> {
  using Parameters = typename Reversal<forgets>::Parameters;
  static void describe(sluice::Describe<Sorted>& d) {
    d.id("sorted").summary("turns sorted numbers round").doc("Turns the numbers of a row round, in order.").map("row").ordered();
    d.needs("number", "list<i32>", "some numbers").gives("reversed", "list<i32>", "the last one first");
  }
  using Reversal<forgets>::Reversal;
  void process(const sluice::Call& call, const sluice::Batch& in, sluice::Output& out) {
    const auto numbers = in.list<std::int32_t>("number");
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (numbers[row].front() < last) throw sluice::Failure::input("the rows are not sorted", "sort them");
      last = numbers[row].front();
    }
    Reversal<forgets>::process(call, in, out);
  }
  std::int32_t last = 0;
};

TEST_CASE("a stage that wants sorted rows gets them in their order alone") {
  const std::vector<std::int32_t> many(500, 2);
  sluice::testing::ContractSample sample{
      .batches = {BatchBuilder("row", 4).template list<std::int32_t>("number", {{1, 2, 3}, many, {3, 4}, {7, 8}}).build()}};
  const auto problems = [&](const sluice::testing::StageUnderTest& stage) {
    return sluice::testing::kept_memory_problems(stage, sample, sample.batches.front().rows(1, 2));
  };
  CHECK(problems(sluice::testing::stage_of<Sorted<false>>()) == std::vector<std::string>{"the rows are not sorted"});
  sample.sorted_rows = true;
  CHECK(problems(sluice::testing::stage_of<Sorted<false>>()) == std::vector<std::string>{});
  const auto found = problems(sluice::testing::stage_of<Sorted<true>>());
  REQUIRE_FALSE(found.empty());
  CHECK(found.front().starts_with("row "));
}

}  // namespace
