// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sam_writer/modification_cut.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>
#include <sstream>
#include <tuple>

using namespace sluice::sam_writer;

namespace {

using Bytes = std::vector<std::uint8_t>;

// What MM and ML say, base by base: list, position and number of the code give a probability.
using Calls = std::map<std::tuple<std::size_t, std::size_t, std::size_t>, std::uint8_t>;

// A reader of its own, which walks along the bases one by one.
Calls expand(const Modifications& tags, const std::string& bases) {
  Calls calls;
  std::size_t used = 0;
  std::istringstream lists(tags.positions);
  std::string list;
  for (std::size_t number = 0; std::getline(lists, list, ';'); ++number) {
    std::istringstream fields(list);
    std::string head, count;
    std::getline(fields, head, ',');
    const char base = head[0];
    std::string code = head.substr(2);
    if (code.back() == '?' || code.back() == '.') code.pop_back();
    const std::size_t codes = std::isdigit(static_cast<unsigned char>(code[0])) != 0 ? 1 : code.size();
    std::size_t at = 0;
    while (std::getline(fields, count, ',')) {
      for (int left = std::stoi(count);; ++at) {
        REQUIRE(at < bases.size());
        if (base != 'N' && bases[at] != base) continue;
        if (left-- == 0) break;
      }
      for (std::size_t i = 0; i < codes; ++i) calls[{number, at, i}] = tags.probabilities ? tags.probabilities->at(used++) : 0;
      ++at;
    }
  }
  if (tags.probabilities) CHECK(used == tags.probabilities->size());
  return calls;
}

std::string heads_of(const std::string& positions) {
  std::istringstream lists(positions);
  std::string list, heads;
  while (std::getline(lists, list, ';')) heads += list.substr(0, list.find(',')) + ';';
  return heads;
}

std::optional<Modifications> cut(const std::string& positions, const Bytes& probabilities, const std::string& bases, ReadPart part) {
  return cut_modifications(positions, probabilities, bases, part);
}

}  // namespace

TEST_CASE("the modifications of a part of a read are those of its bases") {
  std::mt19937 random(7);
  const std::vector<std::string> heads = {"C+m?", "C+h.", "C+mh?", "A+a", "G-m?", "N+n?", "C+27551?", "T+17802."};
  std::size_t remaining = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string bases;
    const std::size_t length = random() % 60 + 1;
    for (std::size_t i = 0; i < length; ++i) bases += "ACGTN"[random() % 17 == 0 ? 4 : random() % 4];
    Modifications read{"", Bytes()};
    for (std::size_t list = 0, lists = random() % 4; list < lists; ++list) {
      const std::string& head = heads[random() % heads.size()];
      read.positions += head;
      std::size_t skipped = 0;
      for (std::size_t i = 0; i < length; ++i) {
        if (head[0] != 'N' && bases[i] != head[0]) continue;
        if (random() % 3 != 0) {
          ++skipped;
          continue;
        }
        read.positions += ',' + std::to_string(skipped);
        skipped = 0;
        for (int code = 0; code < (head == "C+mh?" ? 2 : 1); ++code) read.probabilities->push_back(static_cast<std::uint8_t>(random()));
      }
      read.positions += ';';
    }
    ReadPart part{random() % (length + 1), random() % (length + 1)};
    if (part.begin > part.end) std::swap(part.begin, part.end);
    const bool has_probabilities = random() % 5 != 0;
    if (!has_probabilities) read.probabilities.reset();
    const auto of_part = cut_modifications(
        read.positions, read.probabilities ? std::optional<std::span<const std::uint8_t>>(*read.probabilities) : std::nullopt, bases, part);
    REQUIRE(of_part);
    CHECK(of_part->probabilities.has_value() == has_probabilities);
    CHECK(heads_of(of_part->positions) == heads_of(read.positions));
    Calls expected;
    for (const auto& [call, probability] : expand(read, bases)) {
      const auto [list, position, code] = call;
      if (position >= part.begin && position < part.end) expected[{list, position - part.begin, code}] = probability;
    }
    remaining += expected.size();
    CHECK((expand(*of_part, bases.substr(part.begin, part.end - part.begin)) == expected));
  }
  CHECK(remaining > 3000);
}

TEST_CASE("lists without a call that remains stay, and the whole read is as it was") {
  CHECK(cut("C+m?,0,1;A+a?,0;", {1, 2, 3}, "CACCA", {3, 5})->positions == "C+m?,0;A+a?;");
  CHECK(*cut("C+m?,0,1;A+a?,0;", {1, 2, 3}, "CACCA", {3, 5})->probabilities == Bytes{2});
  CHECK(cut("C+m?,0,1;A+a?,0;", {1, 2, 3}, "CACCA", {0, 5})->positions == "C+m?,0,1;A+a?,0;");
  CHECK(cut("", {}, "ACGT", {1, 2})->positions.empty());
  CHECK(cut("U+x,1;", {9}, "TAT", {1, 3})->positions == "U+x,0;");  // bases are given with T for U
}

TEST_CASE("what does not fit the read is not cut") {
  const ReadPart part{1, 3};
  CHECK(cut("C+m?,0,1;", {1, 2}, "CACCA", part));
  for (const char* positions :
       {"C+m?,0,1", "C+m?,0,,1;", "C+m?,0,1,;", "C+m?,-1;", "C+m?,0x;", "C+m?, 0;", "C?m,0,1;", "X+m?,0,1;", "C+,0,1;", "C+?,0,1;", "C;", ";",
        "C+m?,0,3;", "C+m?,3,0;", "C+m?,18446744073709551615,0;", "C+m?,99999999999999999999,0;", "C+m1?,0,1;", "C+m?,0,1;C+m?", "C+m?,0,0,0,0;"})
    CHECK_FALSE_MESSAGE(cut(positions, {1, 2}, "CACCA", part), positions);
  CHECK_FALSE(cut("C+m?,0,1;", {1}, "CACCA", part));
  CHECK_FALSE(cut("C+m?,0,1;", {1, 2, 3}, "CACCA", part));
  CHECK_FALSE(cut("C+mh?,0,1;", {1, 2, 3}, "CACCA", part));
  CHECK_FALSE(cut("", {1}, "CACCA", part));
}
