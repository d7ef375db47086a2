// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "window_cutting/layers.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace sluice::window_cutting;

namespace {

constexpr std::uint32_t m(std::uint32_t length) { return length << 4U; }
constexpr std::uint32_t i(std::uint32_t length) { return length << 4U | 1U; }
constexpr std::uint32_t d(std::uint32_t length) { return length << 4U | 2U; }

bool equal(const std::vector<Layer>& a, const std::vector<Layer>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t n = 0; n < a.size(); ++n)
    if (a[n].target_begin != b[n].target_begin || a[n].target_end != b[n].target_end || a[n].query_begin != b[n].query_begin ||
        a[n].query_end != b[n].query_end)
      return false;
  return true;
}

// Base by base, as racon 1.5 does it.
std::vector<Layer> by_definition(const std::vector<std::uint32_t>& cigar, std::int64_t begin, std::int64_t end, std::int64_t window) {
  std::vector<std::int64_t> last_of_window;
  for (std::int64_t at = begin + 1; at < end; ++at)
    if (at % window == 0) last_of_window.push_back(at - 1);
  last_of_window.push_back(end - 1);
  std::vector<Layer> layers;
  Layer layer;
  bool found = false;
  std::size_t w = 0;
  std::int64_t query = -1, target = begin - 1;
  const auto close = [&] {
    if (found) layers.push_back(layer);
    found = false;
    ++w;
  };
  for (const std::uint32_t operation : cigar)
    for (std::uint32_t n = 0; n < operation >> 4U; ++n) {
      const std::uint32_t code = operation & 15U;
      if (code != 2) ++query;
      if (code == 1) continue;
      ++target;
      if (code == 0) {
        if (!found) layer.target_begin = target, layer.query_begin = query;
        found = true;
        layer.target_end = target + 1, layer.query_end = query + 1;
      }
      if (target == last_of_window[w]) close();
    }
  return layers;
}

}  // namespace

TEST_CASE("a read is cut behind the last base of each window") {
  std::vector<Layer> layers;
  REQUIRE(cut_layers(std::vector{m(25)}, 25, 5, 30, 10, layers));
  CHECK(equal(layers, {{5, 10, 0, 5}, {10, 20, 5, 15}, {20, 30, 15, 25}}));
}

TEST_CASE("insertions at a border belong to neither window, deletions shorten theirs") {
  std::vector<Layer> layers;
  REQUIRE(cut_layers(std::vector{m(10), i(3), m(5), d(5), m(2)}, 20, 0, 22, 10, layers));
  CHECK(equal(layers, {{0, 10, 0, 10}, {10, 15, 13, 18}, {20, 22, 18, 20}}));
}

TEST_CASE("a window that is deleted wholly gets no layer") {
  std::vector<Layer> layers;
  REQUIRE(cut_layers(std::vector{m(8), d(15), m(7)}, 15, 0, 30, 10, layers));
  CHECK(equal(layers, {{0, 8, 0, 8}, {23, 30, 8, 15}}));
}

TEST_CASE("alignments that do not fit their spans are refused") {
  std::vector<Layer> layers;
  CHECK(!cut_layers(std::vector{m(10)}, 9, 0, 10, 10, layers));
  CHECK(!cut_layers(std::vector{m(10)}, 10, 0, 9, 10, layers));
  CHECK(!cut_layers(std::vector{m(10)}, 10, 0, 11, 10, layers));
  CHECK(!cut_layers(std::vector{m(5), 3U << 4U | 4U, m(2)}, 10, 0, 10, 10, layers));
  CHECK(!cut_layers(std::vector{m(0xFFFFFFF), m(0xFFFFFFF)}, 10, 0, 10, 10, layers));
  CHECK(cut_layers(std::vector<std::uint32_t>{}, 0, 7, 7, 10, layers));
  CHECK(layers.empty());
}

TEST_CASE("random alignments are cut as base by base") {
  std::mt19937 random(4);
  for (int n = 0; n < 3000; ++n) {
    std::vector<std::uint32_t> cigar;
    std::int64_t query = 0, target = 0;
    for (std::uint32_t operations = 1 + random() % 12; operations > 0; --operations) {
      const std::uint32_t code = random() % 3, length = 1 + random() % 30;
      cigar.push_back(length << 4U | code);
      if (code != 2) query += length;
      if (code != 1) target += length;
    }
    const auto begin = static_cast<std::int64_t>(random() % 50), window = static_cast<std::int64_t>(2 + random() % 40);
    std::vector<Layer> layers;
    REQUIRE(cut_layers(cigar, query, begin, begin + target, window, layers));
    if (target > 0) REQUIRE(equal(layers, by_definition(cigar, begin, begin + target, window)));
  }
}

TEST_CASE("mean quality is that of Phred scores") {
  CHECK(mean_quality("!!!!") == 0);
  CHECK(mean_quality("+I") == 25);
  CHECK(mean_quality("") == 0);
}
