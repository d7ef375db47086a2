// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Sets that an independent program found without any index.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "mem_seeding/match_search.hpp"
#include "unit/mapping/mem_seeding/indexed_text.hpp"

using namespace sluice;
using namespace sluice::mem_seeding;
using fm_index::Strands;
using mem_seeding::testing::IndexedText;

namespace {

const std::filesystem::path folder = std::filesystem::path(SLUICE_SHARED_DIR) / "data/mem_small";

struct Sequence {
  std::string name, bases;
};
std::vector<Sequence> sequences_of(const std::filesystem::path& fasta) {
  std::vector<Sequence> sequences;
  std::ifstream file(fasta);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('>'))
      sequences.push_back({line.substr(1, line.find_first_of(" \t") - 1), ""});
    else
      sequences.back().bases += line;
  }
  return sequences;
}

// Name, strand, start, last base, occurrences, places: as in the files.
using Row = std::tuple<std::string, char, int, int, std::uint32_t, std::vector<std::uint32_t>>;

std::vector<Row> expected_rows(const std::filesystem::path& path) {
  std::vector<Row> rows;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream cells(line);
    std::string name, strand, places;
    int start = 0, last = 0;
    std::uint32_t count = 0;
    std::getline(cells, name, '\t');
    cells >> strand >> start >> last >> count >> places;
    std::vector<std::uint32_t> list;
    std::istringstream items(places);
    for (std::string item; std::getline(items, item, ',');) list.push_back(static_cast<std::uint32_t>(std::stoul(item)));
    rows.emplace_back(name, strand[0], start, last, count, list);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<Row> found_rows(const IndexedText& indexed, const std::vector<Sequence>& reads, const SearchOptions& options, const std::string& kind) {
  std::vector<Row> rows;
  for (const Sequence& read : reads) {
    PackedRead packed, reversed;
    pack_read(read.bases, packed);
    reverse_complement(packed, reversed);
    for (const PackedRead* searched : {&packed, &reversed}) {
      if (searched == &reversed && indexed.view.both_strands()) continue;
      Matches found;
      const SearchTask task{searched, &found};
      if (options.definition == Definition::maximal)
        find_maximal(indexed.view.tables, text_parts(indexed.view), options, {&task, 1});
      else
        find_longest_left(indexed.view.tables, options, {&task, 1});
      const char strand = indexed.view.both_strands() ? '.' : searched == &packed ? '+' : '-';
      auto place = found.places.begin();
      for (const Match& match : found.matches) {
        std::vector<std::uint32_t> places(place, place + match.listed);
        place += match.listed;
        std::sort(places.begin(), places.end());
        if (kind == "def1")
          for (const std::uint32_t each : places)
            rows.emplace_back(read.name, strand, match.start, match.end - 1, 1, std::vector<std::uint32_t>{each});
        else  // the file counts what is left after each place is given to its longest match
          rows.emplace_back(read.name, strand, match.start, match.end - 1, kind == "located" ? match.listed : match.count, places);
      }
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace

TEST_CASE("all sets of mem_small are found, both conventions, every length") {
  if (!std::filesystem::exists(folder)) {
    MESSAGE("skipped: there is no " << folder.string());
    return;
  }
  int files = 0;
  for (const std::string name : {"lambda", "repeat"}) {
    const auto reference = sequences_of(folder / (name == "lambda" ? "lambda.fa" : "repeat_ref.fa"));
    const auto reads = sequences_of(folder / (name == "lambda" ? "lambda_reads_small.fa" : "repeat_reads.fa"));
    std::vector<std::string> contigs;
    for (const Sequence& contig : reference) contigs.push_back(contig.bases);
    const IndexedText forward(contigs), both(contigs, Strands::both), sampled(contigs, Strands::forward, 7, 7);
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      // NAME.KIND.CONVENTION.LLENGTH.tsv
      std::istringstream parts(entry.path().filename().string());
      std::string set, kind, convention, length;
      std::getline(parts, set, '.'), std::getline(parts, kind, '.'), std::getline(parts, convention, '.'), std::getline(parts, length, '.');
      if (set != name || entry.path().extension() != ".tsv" || kind == "raw") continue;
      CAPTURE(entry.path().filename().string());
      SearchOptions options;
      options.definition = kind == "def1" ? Definition::maximal : kind == "smem" ? Definition::supermaximal : Definition::longest_left;
      options.occurrences = kind == "located" ? Occurrences::longest : Occurrences::all;
      options.min_length = std::stoi(length.substr(1));
      const std::vector<Row> expected = expected_rows(entry.path());
      CHECK(!expected.empty());
      CHECK(found_rows(convention == "cat" ? both : forward, reads, options, kind) == expected);
      if (convention == "sep") CHECK(found_rows(sampled, reads, options, kind) == expected);
      ++files;
    }
  }
  CHECK(files == 26);
}
