// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The searches against the definitions, taken literally.
#include "mem_seeding/match_search.hpp"

#include <doctest/doctest.h>
#include <hwy/highway.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "unit/instruction_sets.hpp"
#include "unit/mapping/mem_seeding/indexed_text.hpp"

using namespace sluice;
using namespace sluice::mem_seeding;
using fm_index::Strands;
using mem_seeding::testing::IndexedText;

namespace {

struct Row {
  std::int32_t start, end;
  std::uint32_t count;
  std::vector<std::uint32_t> places;  // ascending
  bool operator==(const Row&) const = default;
};
using Rows = std::vector<Row>;

std::vector<std::uint32_t> occurrences(const std::string& text, const std::string& word) {
  std::vector<std::uint32_t> places;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) places.push_back(static_cast<std::uint32_t>(at));
  return places;
}

// Definition 2 and supermaximal matches.
Rows expected_longest_left(const std::string& text, const std::string& read, const SearchOptions& options) {
  Rows raw;
  std::int32_t start = 0;
  for (std::int32_t end = 1; end <= static_cast<std::int32_t>(read.size()); ++end) {
    const auto word = [&] { return read.substr(static_cast<std::size_t>(start), static_cast<std::size_t>(end - start)); };
    while (start < end && text.find(word()) == std::string::npos) ++start;
    if (end - start < options.min_length || start == end) continue;
    std::vector<std::uint32_t> places = occurrences(text, word());
    raw.push_back({start, end, static_cast<std::uint32_t>(places.size()), std::move(places)});
  }
  Rows rows;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const bool goes_on = i + 1 < raw.size() && raw[i + 1].start == raw[i].start;
    if (goes_on && (options.definition == Definition::supermaximal || raw[i + 1].count == raw[i].count)) continue;
    rows.push_back(raw[i]);
  }
  if (options.occurrences == Occurrences::longest)
    for (std::size_t i = 0; i + 1 < rows.size(); ++i)
      if (rows[i + 1].start == rows[i].start) {
        // The next row's places are cut only after this.
        std::erase_if(rows[i].places,
                      [&](std::uint32_t place) { return std::binary_search(rows[i + 1].places.begin(), rows[i + 1].places.end(), place); });
      }
  return rows;
}

Rows expected_maximal(const std::string& text, const std::vector<TextPart>& parts, const std::string& read, std::int32_t min_length) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<std::uint32_t>> found;
  for (const TextPart& part : parts)
    for (std::size_t place = part.begin; place < part.end; ++place)
      for (std::size_t start = 0; start < read.size(); ++start) {
        if (start > 0 && place > part.begin && read[start - 1] == text[place - 1]) continue;
        std::size_t length = 0;
        while (start + length < read.size() && place + length < part.end && read[start + length] == text[place + length]) ++length;
        if (length >= static_cast<std::size_t>(min_length))
          found[{static_cast<std::int32_t>(start), static_cast<std::int32_t>(start + length)}].push_back(static_cast<std::uint32_t>(place));
      }
  Rows rows;
  for (auto& [match, places] : found) {
    std::sort(places.begin(), places.end());
    rows.push_back({match.first, match.second, static_cast<std::uint32_t>(places.size()), places});
  }
  return rows;
}

Rows rows_of(const Matches& found) {
  Rows rows;
  std::size_t next = 0;
  for (const Match& match : found.matches) {
    std::vector<std::uint32_t> places(found.places.begin() + static_cast<std::ptrdiff_t>(next),
                                      found.places.begin() + static_cast<std::ptrdiff_t>(next + match.listed));
    next += match.listed;
    std::sort(places.begin(), places.end());
    rows.push_back({match.start, match.end, match.count, std::move(places)});
  }
  CHECK(next == found.places.size());
  return rows;
}

std::vector<Rows> search(const IndexedText& indexed, const std::vector<std::string>& reads, const SearchOptions& options) {
  std::vector<PackedRead> packed(reads.size());
  std::vector<Matches> found(reads.size());
  std::vector<SearchTask> tasks;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    pack_read(reads[i], packed[i]);
    tasks.push_back({&packed[i], &found[i]});
  }
  if (options.definition == Definition::maximal)
    find_maximal(indexed.view.tables, text_parts(indexed.view), options, tasks);
  else
    find_longest_left(indexed.view.tables, options, tasks);
  std::vector<Rows> rows;
  for (const Matches& each : found) rows.push_back(rows_of(each));
  return rows;
}

void check(const IndexedText& indexed, const std::vector<std::string>& reads, const SearchOptions& options) {
  CAPTURE(options.min_length);
  CAPTURE(static_cast<int>(options.definition));
  CAPTURE(static_cast<int>(options.occurrences));
  const std::vector<Rows> found = search(indexed, reads, options);
  for (std::size_t i = 0; i < reads.size(); ++i) {
    CAPTURE(indexed.text);
    CAPTURE(reads[i]);
    const Rows expected = options.definition == Definition::maximal
                              ? expected_maximal(indexed.text, text_parts(indexed.view), reads[i], options.min_length)
                              : expected_longest_left(indexed.text, reads[i], options);
    REQUIRE(found[i].size() == expected.size());
    REQUIRE(found[i] == expected);
  }
}

void check_all(const IndexedText& indexed, const std::vector<std::string>& reads, const std::vector<std::int32_t>& min_lengths) {
  for (const std::int32_t min_length : min_lengths)
    for (const Definition definition : {Definition::maximal, Definition::longest_left, Definition::supermaximal})
      for (const Occurrences occurrences : {Occurrences::all, Occurrences::longest}) {
        if (occurrences == Occurrences::longest && definition != Definition::longest_left) continue;
        check(indexed, reads, {definition, occurrences, min_length, 0});
      }
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

// A piece of the text with a few bases changed, inserted or taken out.
std::string noisy_piece(std::mt19937& random, const std::string& text, std::size_t length) {
  const std::size_t begin = random() % text.size();
  std::string piece = text.substr(begin, length);
  for (std::size_t errors = piece.size() / 15 + 1; errors > 0 && !piece.empty(); --errors) {
    const std::size_t at = random() % piece.size();
    const unsigned kind = random() % 4;
    if (kind == 0)
      piece.erase(at, 1);
    else if (kind == 1)
      piece.insert(at, 1, "ACGT"[random() % 4]);
    else
      piece[at] = "ACGTN"[random() % 5];
  }
  return piece;
}

}  // namespace

TEST_CASE("matches of random reads in random texts are those of the definitions") {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    const unsigned symbols = 2 + random() % 3;
    const std::string text = random_bases(random, 1 + random() % 400, symbols);
    std::vector<std::string> reads;
    for (int i = 0; i < 20; ++i) reads.push_back(random() % 2 == 0 ? random_bases(random, random() % 120, symbols) : noisy_piece(random, text, 100));
    const IndexedText indexed({text}, round % 2 == 0 ? Strands::forward : Strands::both, 5 + random() % 3, 1 + (round % 3) * 2);
    check_all(indexed, reads, {1, 3, 5, 7, 8, 12});
  }
}

TEST_CASE("runs and tandem repeats match as the definitions say") {
  std::mt19937 random(2);
  const std::string unit = random_bases(random, 9), longer = random_bases(random, 41);
  const std::vector<std::string> texts = {repeated("A", 200),
                                          repeated("T", 150) + "C" + repeated("T", 90),
                                          repeated("CA", 201),
                                          repeated(unit, 300),
                                          repeated(longer, 400) + random_bases(random, 50) + repeated(longer, 200),
                                          random_bases(random, 60) + repeated("A", 60) + random_bases(random, 60)};
  for (const std::string& text : texts) {
    std::vector<std::string> reads = {repeated("A", 50),
                                      repeated("T", 300),
                                      repeated("CA", 77),
                                      repeated("AC", 40),
                                      repeated(unit, 100),
                                      repeated(longer, 500),
                                      text,
                                      text + text,
                                      "",
                                      "A"};
    for (int i = 0; i < 10; ++i) reads.push_back(noisy_piece(random, text, 120));
    for (const std::uint32_t interval : {1U, 4U}) {
      const IndexedText forward({text}, Strands::forward, 5, interval), both({text}, Strands::both, 6, interval);
      check_all(forward, reads, {2, 5, 6, 11, 20});
      check_all(both, reads, {4, 6, 9, 20});
    }
  }
}

TEST_CASE("words that end the text are not taken for words with A's behind them") {
  for (const char* text : {"A", "CCAAAA", "AAAAAAAACA", "GTCAA", "ACGTACGTACGTA", "TTTTTTTTTTTTTTTTA"})
    for (const Strands strands : {Strands::forward, Strands::both}) {
      const IndexedText indexed({text}, strands, 8);
      check_all(indexed, {"AAAAAAAAAAAAAAA", "CAAAAAAAAAA", "CCAAAAAAA", "GTCAAAA", "GTAAAAAAAA", "TAAAAAAAAAAAAAAAA", text}, {1, 2, 4, 6, 8, 10});
    }
}

TEST_CASE("ambiguous bases of a read match nothing and do not hide what is beside them") {
  std::mt19937 random(3);
  const std::string text = random_bases(random, 300);
  const IndexedText indexed({text});
  std::string read = text.substr(50, 120);
  for (const std::size_t at : {0U, 30U, 31U, 64U, 119U}) read[at] = 'N';
  check_all(indexed, {read, "NNNNNNNNNNNNNNNNNNNN", "N", repeated("ACN", 90), read + "N" + read}, {3, 12, 28, 29});
  const std::vector<Rows> found = search(indexed, {read}, {Definition::supermaximal, Occurrences::all, 25, 0});
  CHECK(found[0] == Rows{{1, 30, 1, {51}}, {32, 64, 1, {82}}, {65, 119, 1, {115}}});
  std::string lower = text.substr(10, 90);
  for (char& base : lower) base = static_cast<char>(base == 'T' ? 'u' : base + ('a' - 'A'));
  CHECK(search(indexed, {lower}, {Definition::supermaximal, Occurrences::all, 50, 0})[0] == Rows{{0, 90, 1, {10}}});
}

TEST_CASE("maximal matches end at contigs and at ambiguous bases of the reference, the others do not") {
  std::mt19937 random(4);
  const std::string one = random_bases(random, 80), two = random_bases(random, 70), three = random_bases(random, 60);
  const IndexedText indexed({one + "NN" + two, "", three, "N", "NNACGTACGGTT"});
  check_all(indexed, {indexed.text, one + two, two + three, one, indexed.text.substr(60, 60)}, {8, 15});
  const std::string read = indexed.text.substr(70, 30);
  CHECK(search(indexed, {read}, {Definition::supermaximal, Occurrences::all, 25, 0})[0] == Rows{{0, 30, 1, {70}}});
  CHECK(search(indexed, {read}, {Definition::maximal, Occurrences::all, 8, 0})[0] == Rows{{0, 10, 1, {70}}, {12, 30, 1, {82}}});
}

TEST_CASE("matches above max_occurrences are counted but not listed") {
  const IndexedText indexed({repeated("ACGGTCATTG", 200) + "TTTTTTACGAC"});
  SearchOptions options{Definition::supermaximal, Occurrences::all, 6, 5};
  for (const Definition definition : {Definition::maximal, Definition::longest_left, Definition::supermaximal}) {
    options.definition = definition;
    bool unlisted = false;
    const std::vector<Rows> found = search(indexed, {"ACGGTCATTGCCTTTTTTACGGGTCATTGACG"}, options);
    for (const Row& row : found[0]) {
      CHECK(row.places.size() == (row.count > 5 ? 0 : row.count));
      unlisted = unlisted || row.count > 5;
    }
    CHECK(unlisted);
  }
}

TEST_CASE("every instruction set finds the same") {
  std::mt19937 random(5);
  const std::string text = random_bases(random, 3000) + repeated(random_bases(random, 30), 900);
  const IndexedText indexed({text}, Strands::both, 8, 3);
  std::vector<std::string> reads;
  for (int i = 0; i < 40; ++i) reads.push_back(noisy_piece(random, text, 300));
  for (const Definition definition : {Definition::maximal, Definition::longest_left, Definition::supermaximal}) {
    const SearchOptions options{definition, Occurrences::all, 10, 0};
    const std::vector<Rows> expected = search(indexed, reads, options);
    sluice::testing::for_each_instruction_set([&] { CHECK(search(indexed, reads, options) == expected); });
  }
}
