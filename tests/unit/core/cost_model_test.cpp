// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sched/cost_model.hpp"

#include <doctest/doctest.h>

#include <random>

#include "sched/division.hpp"
#include "sched/row_order.hpp"

using namespace sluice;

TEST_CASE("The cost model finds start-up time, rate and the weight of the largest row, and follows a change") {
  CostModel model;
  const auto seconds = [](double work, double largest, double rate) { return 0.5 + work * rate + largest * 0.01; };
  for (int i = 1; i <= 40; ++i) model.observe(i * 100.0, (i * 37 % 11) * 10.0, seconds(i * 100.0, (i * 37 % 11) * 10.0, 0.001));
  CHECK(model.fit().seconds(1000, 50) == doctest::Approx(2.0).epsilon(0.01));
  for (int i = 1; i <= 80; ++i) model.observe((1 + i % 7) * 100.0, (i % 5) * 10.0, seconds((1 + i % 7) * 100.0, (i % 5) * 10.0, 0.004));
  CHECK(model.fit().seconds(1000, 50) == doctest::Approx(5.0).epsilon(0.05));
}

TEST_CASE("With calls of one size the cost model is proportional to work") {
  CostModel model;
  for (int i = 0; i < 20; ++i) model.observe(100, 100, 2.0);
  CHECK(model.fit().seconds(50, 50) == doctest::Approx(1.0));
}

TEST_CASE("A cost that another run measured holds until this run knows better, scaled by what it sees") {
  CostModel model;
  model.prime({1.0, 0.01, 0});
  CHECK(model.known());
  CHECK(model.fit().seconds(100, 1) == doctest::Approx(2.0));
  model.observe(100, 1, 4.0);
  CHECK(model.fit().seconds(100, 1) == doctest::Approx(4.0));
  for (int i = 0; i < 40; ++i) model.observe(100 + i % 10 * 50, 1, 0.5 + 0.001 * (100 + i % 10 * 50));
  CHECK(model.fit().seconds(1000, 1) == doctest::Approx(1.5).epsilon(0.02));
}

TEST_CASE("From calls that met each other the shared cost finds how much they slow each other") {
  for (const double sharing : {0.0, 0.25, 1.0}) {
    CAPTURE(sharing);
    SharedCallCost cost(2);
    std::mt19937 random(3);
    for (int i = 0; i < 60; ++i) {
      const double work = 100.0 + random() % 200, calls = 1 + random() % 4;
      cost.observe(work, 1, (0.1 + 0.001 * work) * slowdown(sharing, calls), calls);
    }
    CHECK(cost.sharing() == sharing);
    CHECK(cost.cost().seconds(200, 1) == doctest::Approx(0.3).epsilon(0.02));
  }
}

TEST_CASE("Rows are ordered by work, and of equal ones the beginning of the batch stays in one piece") {
  const RowOrder rows({1, 5, 1, 1, 9, 1});
  CHECK(rows.largest_work(2) == 14);
  CHECK(rows.other_work(2) == 4);
  CHECK(rows.row_behind(0) == 9);
  CHECK(rows.row_behind(2) == 1);
  CHECK(rows.row_behind(6) == 0);
  CHECK(rows.rows_above(1) == 2);
  CHECK(rows.between(0, 2) == std::vector<std::uint32_t>{1, 4});
  CHECK(rows.between(0, 3) == std::vector<std::uint32_t>{1, 4, 5});
  CHECK(rows.between(3, 6) == std::vector<std::uint32_t>{0, 2, 3});
}

TEST_CASE("A balanced division ends at the same time on both sides") {
  const RowOrder rows(std::vector<double>(100, 1.0));
  const DivisionSide cpu{{0, 0.01, 0}, 1, 0, 1, 0}, fast{{0, 0.001, 0}, 1, 0, 1, 0};
  const auto division = balanced_division(rows, cpu, fast, 0);
  REQUIRE(division);
  CHECK(division->largest == 9);
  CHECK(division->seconds == doctest::Approx(0.091));
  // What the device has to do already moves the point.
  DivisionSide busy = fast;
  busy.backlog = 0.5;
  CHECK(balanced_division(rows, cpu, busy, 0)->largest == 54);
}

TEST_CASE("A row that holds the device up goes to the CPU, equal rows do not") {
  std::vector<double> work(200, 10.0);
  work[77] = 400;
  const DivisionSide cpu{{0, 6e-6, 0}, 1, 0, 16, 0}, device{{0.001, 1e-6, 4e-4}, 0, 0, 8, 0};
  const auto tail = tail_division(RowOrder(work), cpu, device, 0);
  REQUIRE(tail);
  CHECK(tail->largest == 1);
  CHECK(tail->seconds > 0);
  work[77] = 10;
  const auto none = tail_division(RowOrder(work), cpu, device, 0);
  CHECK((!none || none->seconds <= 0));
}
