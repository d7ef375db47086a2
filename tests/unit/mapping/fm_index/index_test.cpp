// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sluice/fm_index.hpp>
#include <sluice/testing.hpp>
#include <string>
#include <thread>

#include "fm_index/index_builder.hpp"
#include "fm_index/index_file.hpp"

using namespace sluice;
using namespace sluice::fm_index;
using sluice::testing::Result;
using sluice::testing::TemporaryFolder;

namespace {

void on_three_threads(std::size_t count, std::size_t, const std::function<void(std::size_t, std::size_t)>& body) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 3; ++i) threads.emplace_back([=, &body] { body(count * i / 3, count * (i + 1) / 3); });
  for (std::thread& thread : threads) thread.join();
}
void on_one_thread(std::size_t count, std::size_t, const std::function<void(std::size_t, std::size_t)>& body) {
  if (count > 0) body(0, count);
}

ReferenceText text_of(const std::string& letters, Strands strands) {
  ReferenceTextBuilder builder(strands);
  builder.begin_contig("a");
  builder.append(letters);
  builder.end_contig();
  return builder.finish();
}

std::string letters_of(const FmIndexTables& tables) {
  std::string letters;
  for (std::uint64_t place = 0; place < tables.text_length; ++place) letters += "ACGT"[tables.base(place)];
  return letters;
}

std::string random_bases(unsigned seed, std::size_t length, unsigned symbols = 4) {
  std::mt19937 random(seed);
  std::string bases(length, 'A');
  for (char& base : bases) base = "ACGT"[random() % symbols];
  return bases;
}

std::vector<std::uint64_t> occurrences(const std::string& text, const std::string& word) {
  std::vector<std::uint64_t> places;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) places.push_back(at);
  return places;
}
std::vector<std::uint64_t> places_of(const FmIndexTables& tables, FmRows rows) {
  std::vector<std::uint64_t> places;
  for (std::uint64_t row = rows.begin; row < rows.end; ++row) places.push_back(tables.place(row));
  std::sort(places.begin(), places.end());
  return places;
}

std::string file_bytes(const FmIndex& index, const IndexSource& source) {
  std::string bytes;
  write_index(index, source, on_one_thread, [&](std::string_view piece) { bytes += piece; });
  return bytes;
}

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const loaded = sluice::testing::load_plugin(SLUICE_PLUGIN_DIR "/fm_index.so");
  return *loaded;
}
Result load(const sluice::testing::ParameterTexts& parameters) {
  return sluice::testing::run_stage(sluice::testing::stage_of(plugin(), "fm_index")).with(parameters).threads(2).run();
}
bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("words are found by the table and by backward search, with every sampling") {
  for (const auto& text : {random_bases(1, 900), random_bases(2, 700, 2), std::string(500, 'A'), std::string("C")})
    for (const std::uint32_t interval : {1U, 2U, 5U, 32U})
      for (const Strands strands : {Strands::forward, Strands::both}) {
        const FmIndex index = build_index(text_of(text, strands), {.k = 6, .sample_interval = interval, .memory = {}}, on_three_threads);
        FmIndexView view;
        REQUIRE(index.connect(view));
        const FmIndexTables& tables = view.tables;
        const std::string letters = letters_of(tables);
        CHECK(letters.substr(0, text.size()) == text);
        std::mt19937 random(3);
        for (int i = 0; i < 300; ++i) {
          const std::size_t length = 1 + random() % 6;
          std::string word = i % 2 == 0 ? random_bases(random(), length) : letters.substr(random() % letters.size(), length);
          const auto code = [&](std::size_t at) { return static_cast<std::uint32_t>(std::string_view("ACGT").find(word[at])); };
          std::uint64_t kmer = 0;
          for (std::size_t at = 0; at < word.size(); ++at) kmer = kmer << 2 | code(at);
          const auto words = static_cast<std::uint32_t>(word.size());
          const std::vector<std::uint64_t> expected = occurrences(letters, word);
          CHECK(places_of(tables, tables.without_short(tables.word_rows(kmer, words), words)) == expected);
          if (!expected.empty()) CHECK(tables.word_present(kmer, words));
          FmRows rows{0, tables.text_length + 1};
          for (std::size_t at = word.size(); at-- > 0;) rows = tables.extend_left(rows, code(at));
          CHECK(places_of(tables, rows) == expected);
        }
      }
}

TEST_CASE("the text of both strands ends with the reverse complement") {
  for (const std::size_t length : {1U, 31U, 32U, 33U, 64U, 100U, 129U}) {
    const std::string bases = random_bases(static_cast<unsigned>(length), length);
    const FmIndex index = build_index(text_of(bases, Strands::both), {}, on_one_thread);
    FmIndexView view;
    REQUIRE(index.connect(view));
    const std::string letters = letters_of(view.tables);
    REQUIRE(letters.size() == 2 * length);
    for (std::size_t i = 0; i < length; ++i)
      CHECK(std::string_view("ACGT").find(letters[2 * length - 1 - i]) == 3 - std::string_view("ACGT").find(bases[i]));
  }
}

TEST_CASE("a text of either kind has both strands as long as they fit, and what fits neither way is refused") {
  const auto built = [](Strands strands, std::size_t bases) {
    ReferenceTextBuilder builder(strands, 1000);
    builder.begin_contig("a");
    builder.append(random_bases(4, bases));
    builder.end_contig();
    return builder.finish().length;
  };
  CHECK(built(Strands::either, 500) == 1000);
  CHECK(built(Strands::either, 501) == 501);
  CHECK(built(Strands::either, 1000) == 1000);
  CHECK(built(Strands::both, 500) == 1000);
  CHECK_THROWS_WITH_AS(built(Strands::either, 1001), doctest::Contains("more bases than an FM-index can hold: 1000"), Failure);
  CHECK_THROWS_WITH_AS(built(Strands::both, 501), doctest::Contains("more bases than an FM-index can hold: 500"), Failure);
  const auto remedy = [&](Strands strands) -> std::string {
    try {
      built(strands, 1001);
    } catch (const Failure& failure) {
      return failure.remedy();
    }
    return "";
  };
  CHECK(says(remedy(Strands::both), "forward strand alone"));
  CHECK(remedy(Strands::either) == "split the reference");
}

TEST_CASE("the size of the table's words, the sampling and the memory go by the length of the text") {
  CHECK(default_k(0) == 5);
  CHECK(default_k(128) == 5);  // 4^5 = 8 * 128
  CHECK(default_k(129) == 6);
  CHECK(default_k(1000) == 7);
  CHECK(default_k(2048) == 7);  // 4^7 = 8 * 2048
  CHECK(default_k(2049) == 8);
  CHECK(default_k(std::uint64_t{1} << 29) == 15);
  CHECK(default_k((std::uint64_t{1} << 29) + 1) == 14);
  CHECK(default_sample_interval(std::uint64_t{1} << 28) == 1);
  CHECK(default_sample_interval((std::uint64_t{1} << 28) + 1) == 4);
  // Text 250, rows 4000, blocks 333, 4^7 bits are 2048 bytes, 4000 for the rows of words.
  CHECK(build_bytes(1000) == 250 + 4000 + 333 + 2048 + 4000);
  // 2^30 bases: text 2^28, rows 2^32, blocks a third of 2^30, 4^14 bits are 2^25 bytes, 4 * 4^14 for the rows of words, a fourth of the rows sampled.
  CHECK(build_bytes(std::uint64_t{1} << 30) == 7'102'354'773);
}

TEST_CASE("ambiguous bases become those of bwa index, and their places are kept") {
  // Read from the .pac file that bwa index 0.7.17 makes of the same contigs.
  ReferenceTextBuilder builder(Strands::forward);
  builder.begin_contig("a");
  builder.append("NNNNAAAA");
  builder.end_contig();
  builder.begin_contig("b");
  builder.append("CCCCRYN-ACGT");
  builder.end_contig();
  const FmIndex index = build_index(builder.finish(), {}, on_one_thread);
  FmIndexView view;
  REQUIRE(index.connect(view));
  CHECK(letters_of(view.tables) == "CGGGAAAACCCCAACAACGT");
  CHECK(std::vector<std::int64_t>(view.ambiguous_begin.begin(), view.ambiguous_begin.end()) == std::vector<std::int64_t>{0, 12});
  CHECK(std::vector<std::int64_t>(view.ambiguous_end.begin(), view.ambiguous_end.end()) == std::vector<std::int64_t>{4, 16});
  CHECK(view.contig_name(0) == "a");
  CHECK(view.contig_of(7) == 0);
  CHECK(view.contig_of(8) == 1);
}

TEST_CASE("the index does not depend on threads, and a file gives back what was written") {
  const std::string text = random_bases(7, 5000) + std::string(700, 'T') + random_bases(7, 5000);
  const FmIndex one = build_index(text_of(text, Strands::both), {}, on_one_thread),
                three = build_index(text_of(text, Strands::both), {}, on_three_threads);
  const IndexSource source{"/nowhere/ref.fa", 12, 34};
  const std::string bytes = file_bytes(one, source);
  CHECK(file_bytes(three, source) == bytes);
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/index";
  std::ofstream(path, std::ios::binary) << bytes;
  const LoadedIndex loaded = map_index(path, Verify::full, on_three_threads);
  CHECK(loaded.source.path == source.path);
  CHECK(file_bytes(loaded.index, loaded.source) == bytes);
}

TEST_CASE("a truncated, changed or foreign file is refused, wherever it was cut or changed") {
  const FmIndex index = build_index(text_of("ACGTTGCAACGNTTACA", Strands::forward), {.k = 5, .sample_interval = 2, .memory = {}}, on_one_thread);
  const std::string bytes = file_bytes(index, {"", 0, 0});
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/index";
  const auto refused = [&](const std::string& changed) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << changed;
    try {
      map_index(path, Verify::full, on_one_thread);
      return false;
    } catch (const Failure& failure) {
      return failure.status() == SLUICE_ERROR_INPUT;
    }
  };
  CHECK(!refused(bytes));
  for (std::size_t length = 0; length < bytes.size(); ++length) REQUIRE(refused(bytes.substr(0, length)));
  CHECK(refused(bytes + '\0'));
  std::size_t unseen = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    if (!refused(changed)) ++unseen;
  }
  CHECK(unseen < 12 * 64);  // what fills columns up to 64 bytes means nothing
}

TEST_CASE("the resource makes, keeps and finds again an index, and says what does not fit") {
  const TemporaryFolder folder;
  const std::string fasta = folder.path() + "/ref.fa", saved = folder.path() + "/ref.fmi";
  std::ofstream(fasta) << ">one first\r\nACGTTGCATT\r\nacgtnn\r\n>two\nGGGTTTACCC";
  const Result built = load({{"path", fasta}, {"text", "both"}, {"save", saved}});
  REQUIRE(built.ok());
  std::ofstream(saved, std::ios::binary) << built.files.at(saved);
  const FmIndexView view = fm_index_view(built.batch().view());
  CHECK(view.both_strands());
  CHECK(view.tables.bases == 26);
  CHECK(view.contig_name(0) == "one");
  CHECK(view.contig_begin[1] == 16);
  const Result mapped = load({{"path", saved}});
  REQUIRE(mapped.ok());
  CHECK(letters_of(fm_index_view(mapped.batch().view()).tables) == letters_of(view.tables));
  CHECK(load({{"path", saved}, {"format", "fastmap"}}).ok());
  CHECK(load({{"path", saved}, {"text", "either"}}).ok());
  CHECK(fm_index_view(load({{"path", fasta}, {"text", "either"}}).batch().view()).both_strands());
  CHECK(says(load({{"path", saved}, {"text", "forward"}}).message, "holds both strands, not the forward strand alone"));
  CHECK(says(load({{"path", saved}, {"k", "9"}}).message, "was made with k = 5, not 9"));
  CHECK(says(load({{"path", fasta}, {"format", "fastmap"}, {"text", "forward"}}).message, "both strands"));
  std::ofstream(fasta, std::ios::app) << "A\n";
  CHECK(says(load({{"path", saved}}).message, "is stale"));
}

TEST_CASE("what is not a reference is refused with its line") {
  const TemporaryFolder folder;
  const auto message = [&](const std::string& text) {
    std::ofstream(folder.path() + "/ref.fa", std::ios::trunc) << text;
    return load({{"path", folder.path() + "/ref.fa"}}).message;
  };
  CHECK(says(message("ACGT\n"), "line 1: the file does not start with '>'"));
  CHECK(says(message(">a\nAC\n>a b\nC\n"), "line 3: there is an earlier sequence named 'a'"));
  CHECK(says(message("> a\nAC\n"), "line 1: the record has no name"));
  CHECK(says(message(">a\nAC\x01\n"), "line 2: sequence 'a', position 3: byte 1 is not a base"));
  CHECK(says(message(""), "no sequence"));
  CHECK(says(message(">a\n"), "no bases"));
  CHECK(says(load({{"path", "/no/such/file.fa"}}).message, "cannot open"));
}

TEST_CASE("the resource keeps the contract of all stages") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/ref.fa") << ">a\n" << random_bases(9, 3000) << "\n>b\n" << random_bases(10, 500) << "\n";
  for (const std::string& problem :
       sluice::testing::contract_problems(plugin(), {{"fm_index", {.parameters = {{"path", folder.path() + "/ref.fa"}}}}}))
    FAIL_CHECK(problem);
}
