// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The search word by word, which devices run, against the search from the left to the right.
#include "mem_seeding/word_search.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "mem_seeding/match_search.hpp"
#include "unit/mapping/mem_seeding/far_text.hpp"
#include "unit/mapping/mem_seeding/indexed_text.hpp"

using namespace sluice;
using namespace sluice::mem_seeding;
using fm_index::Strands;
using mem_seeding::testing::FarText;
using mem_seeding::testing::IndexedText;

namespace {

// Reads and their reverse complements as the sequence that is searched.
class Sequence {
 public:
  explicit Sequence(const std::vector<PackedRead>& strands) {
    std::vector<std::uint32_t> codes, edge;
    for (const PackedRead& strand : strands) {
      begin.push_back(codes.size());
      const std::size_t first = codes.size();
      edge.resize(first + static_cast<std::size_t>(strand.length) + 1, 1);
      for (std::int32_t i = 0; i < strand.length; ++i)
        codes.push_back(static_cast<std::uint32_t>(FmIndexTables::packed_bases_at(strand.words.data(), i) >> 62));
      for (const Stretch& stretch : strand.stretches)
        for (std::int32_t i = stretch.begin + 1; i < stretch.end; ++i) edge[first + static_cast<std::size_t>(i)] = 0;
    }
    begin.push_back(codes.size());
    const std::uint64_t length = codes.size();
    packed_.assign(ReadStrands::packed_words(length), 0);
    edges_.assign(ReadStrands::edge_words(length), 0xFFFFFFFFU);
    edges_[0] = edges_[1] = 0;
    for (std::uint64_t i = 0; i < length; ++i) {
      packed_[i / 32 + 1] |= static_cast<std::uint64_t>(codes[i]) << (62 - 2 * (i % 32));
      if (edge[i] == 0) edges_[i / 32 + 2] &= ~(std::uint32_t{1} << (i % 32));
    }
    view = {packed_.data(), edges_.data(), length};
  }
  ReadStrands view;
  std::vector<std::uint64_t> begin;  // of the strands

 private:
  std::vector<std::uint64_t> packed_;
  std::vector<std::uint32_t> edges_;
};

// What a device does with its words, one after the other.
std::vector<Matches> search_words(const FmIndexTables& index, const SearchOptions& options, const std::vector<PackedRead>& strands,
                                  std::uint32_t few) {
  const Sequence sequence(strands);
  WordSearch search{.index = index,
                    .reads = sequence.view,
                    .min_length = static_cast<std::uint64_t>(options.min_length),
                    .max_occurrences = options.max_occurrences,
                    .definition = options.definition,
                    .occurrences = options.occurrences,
                    .word = std::min<std::uint32_t>(index.k, static_cast<std::uint32_t>(options.min_length))};
  search.step = search.min_length - search.word + 1;
  std::vector<Matches> found(strands.size());
  const auto add = [&](std::uint64_t start, std::uint64_t end, std::uint64_t count, std::uint32_t listed) -> Matches& {
    const auto strand = static_cast<std::size_t>(std::upper_bound(sequence.begin.begin(), sequence.begin.end(), start) - sequence.begin.begin()) - 1;
    found[strand].matches.push_back({static_cast<std::int32_t>(start - sequence.begin[strand]),
                                     static_cast<std::int32_t>(end - sequence.begin[strand]), static_cast<std::uint32_t>(count), listed});
    return found[strand];
  };
  std::uint32_t covered = 0;
  for (std::uint64_t number = 0; number < search.words(); ++number) {
    const std::uint64_t from = number * search.step;
    if (!search.reads.unbroken(from, search.word) || !index.word_present(search.word_at(from), search.word)) continue;
    const FmRows rows = index.word_rows(search.word_at(from), search.word);
    if (rows.count() > few) {
      search.visit_many(from, [&](std::uint64_t start, std::uint64_t end, FmRows all, FmRows longer) {
        CHECK(search.owner(start) == number);
        CHECK(end > covered);
        const std::uint32_t listed = search.listed(all.count(), all.count() - longer.count());
        Matches& to = add(start, end, all.count(), listed);
        if (listed == all.count()) longer = {all.end, all.end};
        for (std::uint64_t row = all.begin; row < all.end && listed != 0; ++row)
          if (row < longer.begin || row >= longer.end) to.places.push_back(static_cast<std::uint32_t>(index.place(row)));
        covered = std::max(covered, static_cast<std::uint32_t>(end));
      });
      continue;
    }
    std::vector<MaximalMatch> maximal;
    for (std::uint64_t row = rows.begin; row < rows.end; ++row)
      if (MaximalMatch match; search.extend(from, row, match)) maximal.push_back(match);
    const auto count = static_cast<std::uint32_t>(maximal.size());
    search.visit_few(maximal.data(), count, covered, [&](std::uint32_t start, std::uint32_t end, std::uint32_t all, std::uint32_t with_this_end) {
      const std::uint32_t listed = search.listed(all, with_this_end);
      Matches& to = add(start, end, all, listed);
      for (const MaximalMatch& each : maximal)
        if (listed != 0 && search.lists(each, start, end)) to.places.push_back(each.place);
    });
    for (const MaximalMatch& each : maximal) covered = std::max(covered, each.end);
  }
  return found;
}

void check(const FmIndexView& view, const std::vector<std::string>& reads, const SearchOptions& options) {
  CAPTURE(options.min_length);
  CAPTURE(static_cast<int>(options.definition));
  CAPTURE(static_cast<int>(options.occurrences));
  CAPTURE(options.max_occurrences);
  std::vector<PackedRead> strands;
  for (const std::string& read : reads) {
    PackedRead forward, reverse;
    pack_read(read, forward);
    reverse_complement(forward, reverse);
    strands.push_back(forward);
    if (!view.both_strands()) strands.push_back(reverse);
  }
  std::vector<Matches> expected(strands.size());
  std::vector<SearchTask> tasks;
  for (std::size_t i = 0; i < strands.size(); ++i) tasks.push_back({&strands[i], &expected[i]});
  find_longest_left(view.tables, options, tasks);
  // Every way through the search: all words by occurrences, some, none.
  for (const std::uint32_t few : {UINT32_MAX, few_rows, 2U, 0U}) {
    CAPTURE(few);
    const std::vector<Matches> found = search_words(view.tables, options, strands, few);
    for (std::size_t i = 0; i < strands.size(); ++i) {
      CAPTURE(i);
      REQUIRE(found[i].matches.size() == expected[i].matches.size());
      for (std::size_t j = 0; j < found[i].matches.size(); ++j) {
        const Match &one = found[i].matches[j], &other = expected[i].matches[j];
        REQUIRE(one.start == other.start);
        REQUIRE(one.end == other.end);
        REQUIRE(one.count == other.count);
        REQUIRE(one.listed == other.listed);
      }
      REQUIRE(found[i].places == expected[i].places);
    }
  }
}
void check(const IndexedText& indexed, const std::vector<std::string>& reads, const SearchOptions& options) {
  CAPTURE(indexed.text);
  check(indexed.view, reads, options);
}

void check_all(const IndexedText& indexed, const std::vector<std::string>& reads) {
  for (const std::int32_t min_length : {5, 6, 8, 12, 31, 70})
    for (const std::uint64_t max_occurrences : {0, 3})
      for (const auto& [definition, occurrences] :
           {std::pair{Definition::longest_left, Occurrences::all}, std::pair{Definition::longest_left, Occurrences::longest},
            std::pair{Definition::supermaximal, Occurrences::all}})
        check(indexed, reads, {definition, occurrences, min_length, max_occurrences});
}

std::string random_bases(std::mt19937_64& random, std::size_t length, std::size_t letters) {
  std::string bases(length, 'A');
  for (char& base : bases) base = "ACGT"[random() % letters];
  return bases;
}

// Parts of the text with errors, of either strand, and ambiguous bases now and then.
std::string read_of(const std::string& text, std::mt19937_64& random) {
  std::string read;
  for (std::size_t parts = random() % 4; parts-- > 0;) {
    const std::size_t from = random() % text.size();
    read += text.substr(from, random() % 90);
  }
  for (char& base : read)
    if (random() % 20 == 0) base = "ACGTNacgtu"[random() % 10];
  if (random() % 2 == 0) std::reverse(read.begin(), read.end());
  return read;
}

}  // namespace

TEST_CASE("Matches found word by word are those of the search from the left to the right") {
  std::mt19937_64 random(11);
  for (int round = 0; round < 24; ++round) {
    std::string text;
    const std::string unit = random_bases(random, 1 + random() % 40, 4);
    switch (round % 4) {
      case 0:
        text = random_bases(random, 20 + random() % 1500, 4);
        break;
      case 1:
        text = random_bases(random, 20 + random() % 300, 2);
        break;
      case 2:
        while (text.size() < 300) text += unit + random_bases(random, random() % 4, 4);
        break;
      default:
        text = random_bases(random, 50, 4) + std::string(random() % 120, 'A') + random_bases(random, 50, 4) + std::string(random() % 90, 'A');
    }
    const IndexedText indexed({text}, round % 3 == 0 ? Strands::both : Strands::forward, 5 + static_cast<std::uint32_t>(random() % 4),
                              round % 5 == 0 ? 3 : 1);
    std::vector<std::string> reads = {"", "A", "ACGTN", text, std::string(100, 'A'), "NNNNNNNNNN" + text.substr(0, 40) + "N", text + text};
    for (int i = 0; i < 12; ++i) reads.push_back(read_of(text, random));
    check_all(indexed, reads);
  }
}

TEST_CASE("the same at places above 2^31, up to the last that a row can have") {
  std::mt19937_64 random(12);
  const std::string unit = random_bases(random, 60, 4);
  std::string behind;
  for (int i = 0; i < 25; ++i) behind += unit.substr(random() % 30) + random_bases(random, random() % 20, 4);
  const IndexedText near({random_bases(random, 64, 4) + behind}, Strands::forward, 6);
  std::vector<std::string> reads;
  for (int i = 0; i < 12; ++i) reads.push_back(read_of(behind, random));
  for (const std::uint64_t offset : {(std::uint64_t{1} << 31) - 1024, (std::uint64_t{1} << 32) - 4096}) {
    const FarText far(near, offset);
    for (const Definition definition : {Definition::longest_left, Definition::supermaximal})
      for (const std::int32_t min_length : {6, 12, 31}) check(far.view, reads, {definition, Occurrences::all, min_length, 0});
  }
}
