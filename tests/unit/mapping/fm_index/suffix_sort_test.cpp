// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "fm_index/suffix_sort.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "fm_index/reference_text.hpp"

using namespace sluice::fm_index;

namespace {

void one_after_the_other(std::size_t count, std::size_t, const std::function<void(std::size_t, std::size_t)>& body) {
  if (count > 0) body(0, count);
}

void on_three_threads(std::size_t count, std::size_t, const std::function<void(std::size_t, std::size_t)>& body) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 3; ++i) threads.emplace_back([=, &body] { body(count * i / 3, count * (i + 1) / 3); });
  for (std::thread& thread : threads) thread.join();
}

ReferenceText text_of(const std::string& letters) {
  ReferenceTextBuilder builder(Strands::forward);
  builder.begin_contig("a");
  builder.append(letters);
  builder.end_contig();
  return builder.finish();
}

std::vector<std::uint32_t> sorted(const std::string& letters, const ParallelFor& parallel_for) {
  const ReferenceText text = text_of(letters);
  std::vector<std::uint32_t> rows(letters.size() + 1);
  sort_suffixes(text.packed.data(), text.length, rows, parallel_for);
  return rows;
}

std::vector<std::uint32_t> sorted_by_comparison(const std::string& letters) {
  std::vector<std::uint32_t> rows(letters.size() + 1);
  std::iota(rows.begin(), rows.end(), 0);
  const std::string_view text = letters;
  std::sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) { return text.substr(a) < text.substr(b); });
  return rows;
}

std::string random_bases(std::mt19937& random, std::size_t length, unsigned symbols = 4) {
  std::string bases(length, 'A');
  for (char& base : bases) base = "ACGT"[random() % symbols];
  return bases;
}

std::string repeated(const std::string& unit, std::size_t length) {
  std::string text;
  while (text.size() < length) text += unit;
  return text.substr(0, length);
}

}  // namespace

TEST_CASE("suffixes of random texts of every small length are in order") {
  std::mt19937 random(1);
  for (std::size_t length = 1; length < 200; ++length)
    for (const unsigned symbols : {1U, 2U, 4U}) {
      const std::string text = random_bases(random, length, symbols);
      REQUIRE(sorted(text, one_after_the_other) == sorted_by_comparison(text));
    }
}

TEST_CASE("suffixes of a longer text are in order on several threads") {
  std::mt19937 random(2);
  const std::string text = random_bases(random, 200000);
  const std::vector<std::uint32_t> expected = sorted_by_comparison(text);
  CHECK(sorted(text, one_after_the_other) == expected);
  CHECK(sorted(text, on_three_threads) == expected);
}

TEST_CASE("runs, tandem repeats and long copies are in order") {
  std::mt19937 random(3);
  const std::string unit = random_bases(random, 171), copy = random_bases(random, 3000);
  for (const std::string& text :
       {repeated("A", 3000), repeated("T", 3000), repeated("CA", 3001), repeated(unit, 5000), copy + copy, copy + "A" + copy + copy,
        copy + random_bases(random, 500) + copy + repeated("A", 900), repeated("A", 1200) + "C" + repeated("A", 1200)}) {
    const std::vector<std::uint32_t> expected = sorted_by_comparison(text);
    CHECK(sorted(text, one_after_the_other) == expected);
    CHECK(sorted(text, on_three_threads) == expected);
  }
}

TEST_CASE("long copies in a text that is mostly something else are in order") {
  std::mt19937 random(4);
  for (const std::size_t around : {3000U, 20000U}) {
    const std::string copy = random_bases(random, 1400), run = repeated("GA", 700);
    std::string text = random_bases(random, around);
    for (int i = 0; i < 3; ++i) text += copy + random_bases(random, around) + run;
    text += copy.substr(0, 900);
    const std::vector<std::uint32_t> expected = sorted_by_comparison(text);
    CHECK(sorted(text, one_after_the_other) == expected);
    CHECK(sorted(text, on_three_threads) == expected);
  }
}
