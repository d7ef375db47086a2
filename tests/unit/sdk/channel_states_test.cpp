// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <random>
#include <sluice/channel_states.hpp>

namespace {

struct State {
  int value = 0;
};

TEST_CASE("a channel's state stays its own until it is released, and serves another one then") {
  sluice::ChannelStates<State> states;
  CHECK(states.find(7) == nullptr);
  State& seven = states.take(7);
  seven.value = 70;
  CHECK(states.find(7) == &seven);
  CHECK(&states.take(7) == &seven);
  CHECK(states.size() == 1);
  states.release(7);
  states.release(7);
  CHECK(states.size() == 0);
  CHECK(states.find(7) == nullptr);
  CHECK(states.take(8).value == 70);
}

TEST_CASE("states of any channels are found as in a map") {
  std::mt19937_64 random(5);
  constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min(), most = std::numeric_limits<std::int32_t>::max();
  const std::vector<std::int32_t> channels{least, -1, 0, 1, 2, 511, 51199, (1 << 20) - 1, 1 << 20, most};
  sluice::ChannelStates<State> states;
  std::map<std::int32_t, int> expected;
  for (int step = 0; step < 2000; ++step) {
    const std::int32_t channel = channels[random() % channels.size()];
    if (random() % 3 == 0) {
      states.release(channel);
      expected.erase(channel);
    } else {
      states.take(channel).value = step;
      expected[channel] = step;
    }
    REQUIRE(states.size() == expected.size());
    for (const std::int32_t number : channels) {
      const auto found = expected.find(number);
      const State* const state = states.find(number);
      REQUIRE((state == nullptr) == (found == expected.end()));
      if (state != nullptr) REQUIRE(state->value == found->second);
    }
  }
  std::size_t visited = 0;
  states.for_each([&](State&) { ++visited; });
  CHECK(visited <= channels.size());
  CHECK(visited >= states.size());
}

}  // namespace
