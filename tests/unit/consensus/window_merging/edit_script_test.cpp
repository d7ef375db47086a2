// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "window_merging/edit_script.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>

using namespace sluice::window_merging;

namespace {

std::string applied(std::string_view from, std::string_view to, const std::vector<Change>& changes) {
  std::string text;
  std::size_t at = 0;
  for (const Change& change : changes) {
    text.append(from.substr(at, change.from_begin - at)).append(to.substr(change.to_begin, change.to_end - change.to_begin));
    at = change.from_end;
  }
  return text.append(from.substr(at));
}

// Letters of changes: no fewer than the edit distance, which counts a letter against a letter once.
std::size_t edits(const std::vector<Change>& changes) {
  std::size_t sum = 0;
  for (const Change& change : changes) sum += std::max(change.from_end - change.from_begin, change.to_end - change.to_begin);
  return sum;
}

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i, above.swap(row)) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
  }
  return above[b.size()];
}

std::string random_text(std::mt19937& random, std::size_t length) {
  std::string text(length, 'A');
  for (char& letter : text) letter = "ACGT"[random() % 4];
  return text;
}

}  // namespace

TEST_CASE("changes make the other text, are as few as can be, and have something equal between them") {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    const std::string from = random_text(random, random() % 60);
    std::string to = from;
    for (unsigned edit = 0; edit < random() % 12; ++edit) {
      const std::size_t place = random() % (to.size() + 1);
      if (random() % 2 == 0)
        to.insert(place, random_text(random, 1 + random() % 3));
      else
        to.erase(place, 1 + random() % 3);
    }
    if (round % 7 == 0) to = random_text(random, random() % 60);
    CAPTURE(from);
    CAPTURE(to);
    const std::vector<Change> changes = find_changes(from, to);
    CHECK(applied(from, to, changes) == to);
    CHECK(edits(changes) <= distance(from, to));
    for (std::size_t i = 1; i < changes.size(); ++i) CHECK(changes[i - 1].from_end < changes[i].from_begin);
  }
}

TEST_CASE("an indel that could be in several places is in the first") {
  CHECK(find_changes("CAAAAG", "CAAAG") == std::vector<Change>{{1, 2, 1, 1}});
  CHECK(find_changes("CAAAG", "CAAAAG") == std::vector<Change>{{1, 1, 1, 2}});
  CHECK(find_changes("GATATATC", "GATATC") == std::vector<Change>{{1, 3, 1, 1}});
  CHECK(find_changes("ACGT", "ACGT").empty());
  CHECK(find_changes("", "").empty());
  CHECK(find_changes("", "AC") == std::vector<Change>{{0, 0, 0, 2}});
}

TEST_CASE("where as few edits can be substitutions or a deletion and an insertion they are substitutions") {
  CHECK(find_changes("AC", "CA") == std::vector<Change>{{0, 2, 0, 2}});
  CHECK(find_changes("TTACTT", "TTCATT") == std::vector<Change>{{2, 4, 2, 4}});
}

TEST_CASE("too many edits are one change") {
  CHECK(find_changes("AACCCCTT", "AAGGGGTT", 3) == std::vector<Change>{{2, 6, 2, 6}});
  CHECK(find_changes("AAAA", "AA", 1) == std::vector<Change>{{2, 4, 2, 2}});
}

TEST_CASE("thousands of edits are found one by one") {
  std::mt19937 random(2);
  const std::string from = random_text(random, 9000);
  std::string to = from;
  for (std::size_t place = 0; place < to.size(); place += 3) to[place] = to[place] == 'A' ? 'C' : 'A';
  const std::vector<Change> changes = find_changes(from, to);
  CHECK(applied(from, to, changes) == to);
  CHECK(edits(changes) == distance(from, to));
  CHECK(changes.size() > 1000);
}
