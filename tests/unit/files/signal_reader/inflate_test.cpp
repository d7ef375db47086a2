// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/inflate.hpp"

#include <doctest/doctest.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "zlib_streams.hpp"

using namespace sluice::signal_reader;
using zlib_streams::compressed, zlib_streams::texts, zlib_streams::ways;

namespace {

// A warp whose lanes do what they do one after the other.
struct LanesInTurn {
  static constexpr std::uint32_t count = 32;
  template <class T>
  using Value = std::array<T, count>;
  template <class Body>
  static void each(Body body) {
    for (std::uint32_t lane = 0; lane < count; ++lane) body(lane);
  }
  template <class Body>
  static void first(Body body) {
    body();
  }
  template <class T>
  static T from_first(T value) {
    return value;
  }
  static bool any(const Value<bool>& value) { return lowest(value) < count; }
  static std::uint32_t lowest(const Value<bool>& value) {
    return static_cast<std::uint32_t>(std::find(value.begin(), value.end(), true) - value.begin());
  }
  template <class T>
  static T at(const Value<T>& value, std::uint32_t lane) {
    return value[lane];
  }
  template <class T>
  static Value<T> up(const Value<T>& value) {
    Value<T> result = value;
    std::copy(value.begin(), value.end() - 1, result.begin() + 1);
    return result;
  }
  static std::uint32_t sum_before(Value<std::uint32_t>& value) {
    std::uint32_t sum = 0;
    for (std::uint32_t& one : value) sum += std::exchange(one, sum);
    return sum;
  }
};

// The text; "unresolved" and "no room" are said by `status`. The stream lies `shift` bytes behind a word's begin.
struct Attempt {
  InflateStatus status;
  std::string text;
};
Attempt inflated(const std::string& stored, std::size_t room, std::size_t shift = 0) {
  std::vector<std::uint32_t> words((shift + stored.size() + 3) / 4 + 1);
  auto* const stream = reinterpret_cast<std::uint8_t*>(words.data()) + shift;
  std::copy(stored.begin(), stored.end(), stream);
  std::vector<std::uint8_t> text(room + 1);
  const auto memory = std::make_unique<InflateMemory>();
  LanesInTurn lanes;
  const Inflated made =
      Inflater<LanesInTurn>(lanes, stream, static_cast<std::uint32_t>(stored.size()), text.data(), static_cast<std::uint32_t>(room), *memory).run();
  REQUIRE(made.bytes <= room);
  const bool same = made.status == InflateStatus::ok && adler32(1, text.data(), made.bytes) != made.checksum;
  return {same ? InflateStatus::unresolved : made.status, std::string(text.begin(), text.begin() + made.bytes)};
}

bool by_zlib(const std::string& stored, std::string& text) {
  text.resize(100'000);
  uLongf size = text.size();
  uLong used = stored.size();
  const int result = uncompress2(reinterpret_cast<Bytef*>(text.data()), &size, reinterpret_cast<const Bytef*>(stored.data()), &used);
  text.resize(size);
  return result == Z_OK && used == stored.size();
}

}  // namespace

TEST_CASE("a zlib stream is inflated to the text, wherever it lies") {
  for (const std::string& text : texts())
    for (const auto& way : ways)
      for (const int memory : {1, 8}) {
        const int level = way.first, strategy = way.second;
        const std::string stored = compressed(text, level, strategy, memory);
        for (std::size_t shift = 0; shift < 4; ++shift) {
          const Attempt attempt = inflated(stored, text.size() + shift, shift);
          CAPTURE(text.size());
          CAPTURE(level);
          CAPTURE(strategy);
          CHECK(attempt.status == InflateStatus::ok);
          CHECK(attempt.text == text);
        }
      }
}

TEST_CASE("where the text has no room nothing is written behind it") {
  for (const std::string& text : texts())
    for (const auto& [level, strategy] : ways) {
      if (text.empty()) continue;
      const Attempt attempt = inflated(compressed(text, level, strategy), text.size() - 1);
      CHECK(attempt.status == InflateStatus::no_room);
      CHECK(text.starts_with(attempt.text));
    }
}

TEST_CASE("what is cut off or goes on behind its end is unresolved") {
  std::mt19937 random(11);
  for (const std::string& text : texts())
    for (const auto& [level, strategy] : ways) {
      const std::string stored = compressed(text, level, strategy);
      for (int i = 0; i < 6; ++i) CHECK(inflated(stored.substr(0, random() % stored.size()), text.size() + 9).status != InflateStatus::ok);
      for (std::size_t cut = 1; cut < 7; ++cut) CHECK(inflated(stored.substr(0, stored.size() - cut), text.size() + 9).status != InflateStatus::ok);
      CHECK(inflated(stored + "x", text.size()).status == InflateStatus::unresolved);
    }
}

TEST_CASE("damaged streams are inflated as zlib does it, or unresolved") {
  std::mt19937 random(12);
  std::string expected;
  std::size_t fine = 0, unresolved_though_fine = 0;
  const auto agree = [&](const std::string& stored) {
    const bool is_fine = by_zlib(stored, expected);
    const Attempt attempt = inflated(stored, 100'000);
    fine += is_fine ? 1 : 0;
    unresolved_though_fine += is_fine && attempt.status != InflateStatus::ok ? 1 : 0;
    return attempt.status != InflateStatus::ok || (is_fine && attempt.text == expected);
  };
  for (const std::string& text : texts())
    for (const auto& [level, strategy] : ways) {
      const std::string stored = compressed(text.substr(0, 3000), level, strategy);
      bool same = true;
      for (int i = 0; i < 40; ++i) {
        std::string damaged = stored;
        for (auto n = random() % 3 + 1; n > 0; --n)
          damaged[random() % std::min<std::size_t>(damaged.size(), random() % 2 == 0 ? 80 : 4000)] = static_cast<char>(random());
        same = same && agree(damaged);
      }
      CHECK(same);
    }
  bool same = true;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = "\x78\x9c";
    while (bytes.size() < 60) bytes += static_cast<char>(random());
    bytes[2] = static_cast<char>((bytes[2] & ~7) | (i % 8));
    same = same && agree(bytes);
  }
  CHECK(same);
  CHECK(fine > 0);
  CHECK(unresolved_though_fine == 0);
}
