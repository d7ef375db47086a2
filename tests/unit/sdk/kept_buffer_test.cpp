// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>
#include <sluice/call.hpp>
#include <sluice/kept_buffer.hpp>
#include <utility>

using sluice::KeptBuffer;

TEST_CASE("a kept buffer grows, and what is there stays") {
  KeptBuffer<std::uint32_t> buffer;
  CHECK(buffer.data() == nullptr);
  for (std::uint32_t i = 0; i < 10'000; ++i) *buffer.append(1) = i;
  REQUIRE(buffer.size() == 10'000);
  for (std::uint32_t i = 0; i < 10'000; ++i) REQUIRE(buffer[i] == i);
  CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64 == 0);
  const std::array<std::uint32_t, 3> more = {7, 8, 9};
  buffer.append(more);
  CHECK(buffer.size() == 10'003);
  CHECK(buffer[10'002] == 9);
  buffer.set_size(5);
  CHECK(buffer.span().back() == 4);
}

TEST_CASE("a kept buffer that was given back is as a new one, whatever comes next") {
  constexpr std::size_t limit = 4096;
  const auto huge = [] {
    KeptBuffer<std::uint8_t> buffer;
    std::fill_n(buffer.append(3 * limit), 3 * limit, std::uint8_t{1});
    return buffer;
  };
  KeptBuffer<std::uint8_t> buffer = huge();
  buffer.give_back_beyond(limit);
  CHECK(buffer.data() == nullptr);
  CHECK(buffer.size() == 0);
  CHECK(buffer.room() == 0);

  // Each way on from there.
  *buffer.append(1) = 5;
  CHECK(buffer.size() == 1);
  CHECK(buffer[0] == 5);
  buffer = huge();
  buffer.give_back_beyond(limit);
  buffer.reserve(10);
  CHECK(buffer.empty());
  CHECK(buffer.room() >= 10);
  buffer = huge();
  buffer.give_back_beyond(limit);
  CHECK(buffer.start(7, 9) != nullptr);
  CHECK(buffer.size() == 7);
  CHECK(buffer.room() == 16);
  buffer = huge();
  buffer.give_back_beyond(limit);
  buffer.clear();
  CHECK(buffer.span().empty());
}

TEST_CASE("a kept buffer within its limit keeps its memory") {
  KeptBuffer<std::uint8_t> buffer;
  const std::uint8_t* const memory = buffer.start(1000);
  buffer.give_back_beyond(1000);
  buffer.clear();
  CHECK(buffer.room() == 1000);
  CHECK(buffer.start(900) == memory);
}

TEST_CASE("a kept buffer that was moved from, or could not grow, holds nothing that it has not") {
  KeptBuffer<std::uint64_t> buffer;
  *buffer.append(1) = 3;
  KeptBuffer<std::uint64_t> other = std::move(buffer);
  CHECK(other[0] == 3);
  CHECK(buffer.size() == 0);
  CHECK(buffer.room() == 0);
  CHECK_THROWS_AS(other.reserve(static_cast<std::size_t>(-1) / 4), std::bad_alloc);
  CHECK(other.size() == 1);
  CHECK(other[0] == 3);
  CHECK_THROWS_AS(other.start(static_cast<std::size_t>(-1) / 4), std::bad_alloc);
  CHECK(other.size() == 0);
  CHECK(other.room() == 0);
}

TEST_CASE("a workspace is handed out again, unless it was discarded or an exception passed through its user") {
  sluice::Workspaces<int> workspaces;
  *workspaces.take() = 5;
  CHECK(*workspaces.take() == 5);
  {
    auto lease = workspaces.take();
    lease.discard();
  }
  CHECK(*workspaces.take() == 0);
  try {
    const auto lease = workspaces.take();
    *lease = 6;
    throw std::bad_alloc();
  } catch (const std::bad_alloc&) {
    CHECK(*workspaces.take() == 0);
    *workspaces.take() = 7;  // where another exception is being handled, nothing is wrong with it
  }
  CHECK(*workspaces.take() == 7);
}
