// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// What the kernels of CUDA devices decide by, tried on the CPU.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "minimizer_seeding/anchor_sort.hpp"
#include "minimizer_seeding/few_digits.hpp"
#include "minimizer_seeding/neighbour_rule.hpp"
#include "minimizer_seeding/sketch.hpp"
#include "minimizer_seeding/sort_pass.hpp"

using namespace sluice;
using namespace sluice::minimizer_seeding;

namespace {

std::vector<Minimizer> by_neighbours(const PackedSequence& s, const SketchParameters& p) {
  std::vector<Minimizer> elements, minimizers;
  for (std::int64_t last = p.k - 1; last < s.length; ++last) elements.push_back(detail::element_at(s, last, p.k));
  const auto count = static_cast<std::int32_t>(elements.size()), w = static_cast<std::int32_t>(p.w);
  for (std::int32_t e = 0; e < count; ++e) {
    const auto hash_at = [&](std::int32_t i) {
      REQUIRE(i >= 0);
      REQUIRE(i < count);
      REQUIRE(std::abs(i - e) < std::max(w, 1));
      return elements[static_cast<std::size_t>(i)].x;
    };
    if (is_minimizer(hash_at, e, count, w)) minimizers.push_back(elements[static_cast<std::size_t>(e)]);
  }
  return minimizers;
}

void place_two(const std::vector<std::uint8_t>& digit, std::uint32_t begin, std::uint32_t middle, std::uint32_t end,
               std::vector<std::uint32_t>& from) {
  const std::uint8_t low = *std::min_element(digit.begin() + begin, digit.begin() + end);
  std::vector<std::uint32_t> holes;
  for (std::uint32_t i = begin; i < middle; ++i)
    if (digit[i] != low) holes.push_back(i);
  std::uint32_t lows = 0;
  for (std::uint32_t i = middle; i < end; ++i) {
    const bool is_low = digit[i] == low;
    place_of_two(i, middle, is_low, i > middle && digit[i - 1] == low, lows, holes.data(), static_cast<std::uint32_t>(holes.size()), from.data());
    lows += is_low ? 1 : 0;
  }
  CHECK(lows == holes.size());
}

struct LoneThread {
  std::uint32_t rank() const { return 0; }
  std::uint32_t size() const { return 1; }
  void sync() const {}
  void add(std::uint32_t* memory, std::uint32_t value) const { *memory += value; }
};

void place_few(const std::vector<std::uint8_t>& digit, std::uint32_t begin, std::uint32_t end, std::vector<std::uint32_t>& from) {
  std::array<std::uint32_t, 256> count{};
  for (std::uint32_t i = begin; i < end; ++i) ++count[digit[i]];
  std::array<std::uint32_t, FewDigits::words> words{};
  const FewDigits memory(words.data());
  std::array<std::uint8_t, 256> number{};
  std::uint32_t digits = 0, at = begin;
  for (std::size_t d = 0; d < 256; ++d) {
    if (count[d] == 0) continue;
    number[d] = static_cast<std::uint8_t>(digits);
    memory.next[digits] = at;
    memory.end[digits++] = at += count[d];
  }
  REQUIRE(digits <= most_few_digits);
  REQUIRE(segments_for(digits) * digits <= 256);
  std::vector<std::uint8_t> numbers(digit.size());
  for (std::uint32_t i = begin; i < end; ++i) numbers[i] = number[digit[i]];
  LoneThread team;
  FewDigitsPass<LoneThread>(team, numbers.data(), digits, memory, from.data()).place();
}

// The passes of a sort, as a device does them: only the order of the records, parts of one value of the bytes above at a time.
std::vector<std::uint32_t> order_by_passes(const std::vector<Anchor>& anchors) {
  constexpr std::uint32_t is_record = 1U << 31;  // in `from`: not a place, but the record
  const auto count = static_cast<std::uint32_t>(anchors.size());
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  if (count <= largest_insertion) return order;
  const auto x = [&](std::uint32_t place) { return anchors[order[place]].x; };
  std::vector<std::uint32_t> sorted = order;
  std::stable_sort(sorted.begin(), sorted.end(), [&](std::uint32_t a, std::uint32_t b) { return anchors[a].x < anchors[b].x; });
  const auto same_as_next = [&](std::uint32_t a, std::uint32_t b) { return anchors[a].x == anchors[b].x; };
  for (int shift = 56; shift >= 0; shift -= 8) {
    const auto part_key = [&](std::uint32_t place) { return shift == 56 ? 0 : anchors[sorted[place]].x >> (shift + 8); };
    std::vector<std::uint8_t> digit(count);
    std::vector<std::uint32_t> from(count), moved(count);
    std::iota(from.begin(), from.end(), 0U);
    for (std::uint32_t i = 0; i < count; ++i) digit[i] = static_cast<std::uint8_t>(x(i) >> shift);
    for (std::uint32_t begin = 0, end = 0; begin < count; begin = end) {
      for (end = begin + 1; end < count && part_key(end) == part_key(begin);) ++end;
      if (end - begin <= largest_insertion) continue;
      if (std::adjacent_find(sorted.begin() + begin, sorted.begin() + end, same_as_next) == sorted.begin() + end) {
        for (std::uint32_t i = begin; i < end; ++i) from[i] = sorted[i] | is_record;
        continue;
      }
      std::array<std::uint32_t, 256> next{}, behind{};
      for (std::uint32_t i = begin; i < end; ++i) ++behind[digit[i]];
      const auto digits = 256 - std::count(behind.begin(), behind.end(), 0U);
      for (std::uint32_t d = 0, at = begin; d < 256; ++d) next[d] = at, behind[d] = at += behind[d];
      if (digits == 2) {
        place_two(digit, begin, *std::upper_bound(behind.begin(), behind.end(), begin), end, from);
        continue;
      }
      if (digits <= most_few_digits) {
        place_few(digit, begin, end, from);
        continue;
      }
      place_by_digit(digit.data(), next.data(), behind.data(), from.data());
      CHECK(next == behind);
    }
    for (std::uint32_t i = 0; i < count; ++i) moved[i] = (from[i] & is_record) != 0 ? from[i] & ~is_record : order[from[i]];
    order = moved;
  }
  return order;
}

}  // namespace

TEST_CASE("minimizers decided by their neighbours are those of the sequential definition") {
  std::mt19937 random(11);
  SketchScratch scratch;
  const std::string unit = "ACGTTGCATTCAGGA";
  for (int round = 0; round < 3000; ++round) {
    SketchParameters p;
    p.k = 1 + 2 * (random() % 14);
    p.w = round % 50 == 0 ? 200 + random() % 56 : 1 + random() % 20;
    const std::size_t length = random() % (round % 3 == 0 ? 60 : 700), letters = 1 + random() % 4, period = 1 + random() % unit.size();
    std::string bases;
    while (bases.size() < length) bases += random() % 3 == 0 ? unit.substr(0, period) : std::string(1, "ACGT"[random() % letters]);
    const PackedSequence s = pack_bases(bases, sketch_kernels(), scratch);
    std::vector<Minimizer> expected;
    sketch_one_by_one(s, p, expected);
    REQUIRE(by_neighbours(s, p) == expected);
  }
}

TEST_CASE("the places of a pass over two digits are known without following its records") {
  std::mt19937 random(13);
  for (int round = 0; round < 3000; ++round) {
    const std::uint32_t begin = random() % 5, end = begin + 2 + random() % 100, share = 1 + random() % 10;
    std::vector<std::uint8_t> digit(end, 7);
    for (std::uint32_t i = begin; i < end; ++i) digit[i] = random() % 11 < share ? 9 : 200;
    const auto lows = static_cast<std::uint32_t>(std::count(digit.begin() + begin, digit.end(), 9));
    std::array<std::uint32_t, 256> next{}, behind{};
    for (std::uint32_t d = 0; d < 256; ++d) {
      next[d] = d <= 9 ? begin : d <= 200 ? begin + lows : end;
      behind[d] = d < 9 ? begin : d < 200 ? begin + lows : end;
    }
    std::vector<std::uint32_t> expected(end), found(end);
    std::iota(expected.begin(), expected.end(), 0U);
    found = expected;
    place_by_digit(digit.data(), next.data(), behind.data(), expected.data());
    if (lows > 0 && lows < end - begin) place_two(digit, begin, begin + lows, end, found);
    REQUIRE(found == expected);
  }
}

TEST_CASE("the places of a pass over few digits, segment by segment, are those of its chains") {
  std::mt19937 random(14);
  for (int round = 0; round < 600; ++round) {
    const std::uint32_t digits = 1 + random() % most_few_digits, begin = random() % 5;
    const std::uint32_t end = begin + 1 + random() % (round % 10 == 0 ? 60000 : round % 3 == 0 ? 5000 : 200);
    // Digits in any share, in runs or not, or nearly in order.
    std::vector<std::uint8_t> digit(end, 0);
    const std::uint32_t run = 1 + random() % (round % 4 == 0 ? 50 : 1), skew = 1 + random() % 3;
    std::uint8_t last = 0;
    for (std::uint32_t i = begin; i < end; ++i) {
      if (i % run == 0) {
        std::uint32_t drawn = random() % digits;
        for (std::uint32_t again = 1; again < skew; ++again) drawn = std::min<std::uint32_t>(drawn, random() % digits);
        last = static_cast<std::uint8_t>(round % 7 == 0 && random() % 50 != 0 ? std::uint64_t{i - begin} * digits / (end - begin) : drawn);
      }
      digit[i] = static_cast<std::uint8_t>(3 + 7 * last);
    }
    std::array<std::uint32_t, 256> next{}, behind{};
    for (std::uint32_t i = begin; i < end; ++i) ++behind[digit[i]];
    for (std::uint32_t d = 0, at = begin; d < 256; ++d) next[d] = at, behind[d] = at += behind[d];
    std::vector<std::uint32_t> expected(end), found(end);
    std::iota(expected.begin(), expected.end(), 0U);
    found = expected;
    place_by_digit(digit.data(), next.data(), behind.data(), expected.data());
    place_few(digit, begin, end, found);
    REQUIRE(found == expected);
  }
}

TEST_CASE("a stable sort and the places of the passes give the order of minimap2's sort") {
  std::mt19937 random(12);
  for (int round = 0; round < 400; ++round) {
    std::vector<Anchor> anchors(random() % (round % 20 == 0 ? 20000 : 500));
    const std::uint64_t spread = std::uint64_t{1} << random() % 24, contigs = 1 + random() % 3;
    for (std::size_t i = 0; i < anchors.size(); ++i)
      anchors[i] = {static_cast<std::uint64_t>(random() % 2) << 63 | (random() % contigs) << 32 | random() % spread, i};
    std::vector<Anchor> expected = anchors, found;
    sort_anchors(expected);
    std::vector<std::uint32_t> order = order_by_passes(anchors);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return anchors[a].x < anchors[b].x; });
    for (const std::uint32_t i : order) found.push_back(anchors[i]);
    REQUIRE(found == expected);
  }
}
