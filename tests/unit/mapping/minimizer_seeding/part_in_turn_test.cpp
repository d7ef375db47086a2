// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "minimizer_seeding/part_in_turn.hpp"

#include <doctest/doctest.h>

#include <set>
#include <stdexcept>
#include <vector>

using sluice::minimizer_seeding::PartInTurn;
using sluice::minimizer_seeding::SharedLoop;

namespace {

std::atomic<int> alive = 0, most_alive = 0;

struct Part {
  explicit Part(std::size_t n) : number(n) {
    const int now = ++alive;
    for (int most = most_alive; most < now && !most_alive.compare_exchange_weak(most, now);) {
    }
  }
  Part(const Part&) = delete;
  ~Part() { --alive; }
  std::size_t number;
};

void nobody(const auto&) {}

template <class Body>
void on_threads(int count, const Body& body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) threads.emplace_back([&body, t] { body(t); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("Parts that are asked for nearly in order are made once each, and one at a time") {
  constexpr std::size_t parts = 12, batches = 40;
  PartInTurn<Part> in_turn;
  std::atomic<std::size_t> next = 0;
  std::atomic<int> made = 0, wrong = 0;
  most_alive = 0;
  on_threads(8, [&](int) {
    for (std::size_t batch = next++; batch < parts * batches; batch = next++) {
      const std::size_t number = batch / batches;
      // Some are slow to ask for what they have taken up.
      if (batch % 7 == 0) std::this_thread::sleep_for(std::chrono::microseconds(500));
      const auto part = in_turn.get(number, [&](SharedLoop&) {
        ++made;
        return std::make_shared<const Part>(number);
      });
      if (part->number != number) ++wrong;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  CHECK(wrong == 0);
  CHECK(most_alive == 1);
  CHECK(made >= static_cast<int>(parts));
  // A thread that is not given the processor for as long as the others wait for it has its part made again; on a busy machine there are some.
  CHECK(made <= static_cast<int>(2 * parts));
}

TEST_CASE("Threads that wait for a part help to make it") {
  PartInTurn<Part> in_turn;
  std::mutex mutex;
  std::set<std::thread::id> helpers;
  on_threads(3, [&](int) {
    in_turn.get(0, [&](SharedLoop& loop) {
      loop.run(
          30,
          [&](std::size_t) {
            {
              const std::lock_guard lock(mutex);
              helpers.insert(std::this_thread::get_id());
            }
            // Nobody can do all of it before the others have come.
            for (int i = 0; i < 2000; ++i) {
              const std::lock_guard lock(mutex);
              if (helpers.size() == 3) return;
              std::this_thread::sleep_for(std::chrono::microseconds(10));
            }
          },
          [](const auto& job) { nobody(job); });
      return std::make_shared<const Part>(0);
    });
  });
  CHECK(helpers.size() == 3);
}

TEST_CASE("A loop calls its body once for each number, whoever helps, and throws what a body throws") {
  for (const std::size_t count : {0, 1, 1000}) {
    SharedLoop loop;
    std::vector<std::atomic<int>> calls(count);
    loop.run(
        count, [&](std::size_t i) { ++calls[i]; }, [](const auto& job) { on_threads(3, [&](int) { job(); }); });
    bool once = true;
    for (const std::atomic<int>& n : calls) once = once && n == 1;
    CHECK(once);
    CHECK(!loop.help());
  }
  SharedLoop loop;
  const auto fails = [](std::size_t i) {
    if (i == 5) throw std::runtime_error("the fifth");
  };
  CHECK_THROWS_AS(loop.run(100, fails, [](const auto& job) { nobody(job); }), std::runtime_error);
}

TEST_CASE("Of a part that can't be made everybody hears, and it can be asked for again") {
  PartInTurn<Part> in_turn;
  std::atomic<int> heard = 0;
  on_threads(4, [&](int) {
    try {
      in_turn.get(1, [](SharedLoop&) -> std::shared_ptr<const Part> { throw std::runtime_error("no memory"); });
    } catch (const std::runtime_error&) {
      ++heard;
    }
  });
  CHECK(heard == 4);
  CHECK(in_turn.get(1, [](SharedLoop&) { return std::make_shared<const Part>(1); })->number == 1);
}
