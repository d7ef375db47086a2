// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>
#include <htslib/bgzf.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sluice/sequence/bases.hpp>
#include <sluice/sequence_store.hpp>
#include <sluice/stored_part.hpp>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "unit/mapping/hit_selection/tiny_index.hpp"

using namespace sluice;
using namespace sluice::testing;

namespace {

// A folder that goes away with the test.
class Files {
 public:
  Files() : folder_(std::filesystem::temp_directory_path() / ("sluice_sequence_test." + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Files() { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  // mode: of bgzf_open.
  std::string write_compressed(const std::string& name, const std::string& text, const char* mode) const {
    BGZF* file = bgzf_open(path(name).c_str(), mode);
    REQUIRE(file != nullptr);
    REQUIRE(bgzf_write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    REQUIRE(bgzf_close(file) == 0);
    return path(name);
  }

 private:
  std::filesystem::path folder_;
};

const sluice_plugin_info& plugin() { return *load_plugin(SLUICE_PLUGIN_DIR "/sequence_store.so"); }
Result open(const std::string& path) { return StageRun(stage_of(plugin(), "sequence_store"), {}).with({{"path", path}}).run(); }
std::string bases(const SequenceStoreView& store, std::int64_t row, std::int64_t begin, std::int64_t end) {
  std::vector<char> scratch;
  std::string text(static_cast<std::size_t>(end - begin), '?');
  store.fetch_bases(row, begin, end, text.data(), scratch);
  return text;
}
std::string qualities(const SequenceStoreView& store, std::int64_t row, std::int64_t begin, std::int64_t end) {
  std::vector<char> scratch;
  std::string text(static_cast<std::size_t>(end - begin), '?');
  store.fetch_qualities(row, begin, end, text.data(), scratch);
  return text;
}

const std::string fastq = "@a x\nACgTN\n+\n!\"#$%\n@b\nTT\n+\n!!\n";

}  // namespace

TEST_CASE("parts of sequences are fetched from plain, compressed and uneven files alike") {
  const Files files;
  for (const std::string& path : {files.write("r.fq", fastq), files.write_compressed("r.bgzf", fastq, "w"),
                                  files.write_compressed("r.gz", fastq, "wg"), files.write("u.fq", "@a\nAC\ngTN\n+\n!\"#\n$%\n@b\nTT\n+\n!!\n")}) {
    CAPTURE(path);
    const Result result = open(path);
    CHECK(result.ok());
    const SequenceStoreView store(result.batch().view());
    REQUIRE(store.size() == 2);
    CHECK(store.name(0) == "a");
    CHECK(store.length(0) == 5);
    CHECK(bases(store, 0, 0, 5) == "ACGTN");
    CHECK(bases(store, 0, 1, 3) == "CG");
    CHECK(bases(store, 1, 1, 1).empty());
    CHECK(store.has_qualities(0));
    CHECK(!store.has_qualities(1));
    CHECK(qualities(store, 0, 1, 4) == "\"#$");
  }
}

TEST_CASE("sequences of several lines are fetched across their line ends") {
  const Files files;
  const Result result = open(files.write("c.fa", ">c\r\nACGT\r\nTTGG\r\nCA\r\n"));
  const SequenceStoreView store(result.batch().view());
  for (std::int64_t begin = 0; begin <= 10; ++begin)
    for (std::int64_t end = begin; end <= 10; ++end)
      CHECK(bases(store, 0, begin, end) == std::string("ACGTTTGGCA").substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
}

TEST_CASE("letters in memory are those of the file, as far as the memory goes") {
  const Files files;
  std::string text;
  auto random_text = [seed = 1U](std::string_view of, std::size_t size) mutable {
    std::string made(size, '?');
    for (char& letter : made) letter = of[(seed = seed * 1664525U + 1013904223U) >> 16U & (of.size() - 1)];
    return made;
  };
  // Read 3 has another letter, read 5 no qualities, read 6 no letters. A MiB has the bases of 42 reads; two have those of all, and six reads'
  // qualities.
  std::vector<std::string> letters, weights;
  for (std::size_t read = 0; read < 60; ++read) {
    letters.push_back(random_text(read % 2 == 0 ? "ACGT" : "ACGUACgu", read == 6 ? 0 : 99950 + read));
    weights.push_back(random_text("#$%&'()*", letters.back().size()));
    if (read == 3) letters[3][5000] = 'N';
    if (read == 5) weights[5].assign(weights[5].size(), '!');
    text += "@r" + std::to_string(read) + "\n" + letters.back() + "\n+\n" + weights.back() + "\n";
  }
  const std::string path = files.write("m.fq", text);
  for (const std::int64_t memory : {0, 1, 2, 100}) {
    CAPTURE(memory);
    const Result result = StageRun(stage_of(plugin(), "sequence_store"), {}).with({{"path", path}, {"memory", std::to_string(memory)}}).run();
    REQUIRE(result.ok());
    const SequenceStoreView store(result.batch().view());
    std::int64_t packed = 0, with_qualities = 0, bytes = 0;
    for (std::int64_t row = 0; row < 60; ++row) {
      const auto r = static_cast<std::size_t>(row);
      const auto size = static_cast<std::int64_t>(letters[r].size());
      std::string upper = letters[r];
      for (char& letter : upper) letter = upper_case(letter) == 'U' ? 'T' : upper_case(letter);
      CHECK(bases(store, row, 0, size) == upper);
      CHECK(store.has_qualities(row) == (r != 5 && r != 6));
      if (store.has_qualities(row)) CHECK(qualities(store, row, 0, size) == weights[r]);
      if (size > 50) CHECK(bases(store, row, 17, size - 30) == upper.substr(17, r == 6 ? 0 : letters[r].size() - 47));
      if (size > 50 && r != 5) CHECK(qualities(store, row, 17, size - 30) == weights[r].substr(17, letters[r].size() - 47));
      if (store.packed_bases(row) != nullptr) ++packed, bytes += (size / 32 + 2) * 8;
      if (store.qualities_in_memory(row) != nullptr) ++with_qualities, bytes += size;
    }
    CHECK(bytes <= memory << 20);
    CHECK(store.packed_bases(std::int64_t{3}) == nullptr);
    CHECK(packed == std::array{0, 41, 59, 59}[memory == 100 ? 3 : static_cast<std::size_t>(memory)]);
    CHECK(with_qualities == std::array{0, 0, 6, 58}[memory == 100 ? 3 : static_cast<std::size_t>(memory)]);
  }
}

TEST_CASE("of sequences of one name the last is found") {
  const Files files;
  const Result result = open(files.write("d.fa", ">a\nA\n>b\nC\n>a\nG\n"));
  const SequenceStoreView store(result.batch().view());
  const SequenceNames names(store);
  CHECK(names.find("a") == 2);
  CHECK(names.find("b") == 1);
  CHECK(names.find("c") == -1);
  CHECK(names.duplicates() == 1);
}

TEST_CASE("files that are none are refused") {
  const Files files;
  CHECK(open(files.path("absent.fa")).message.find("cannot open") != std::string::npos);
  CHECK(open(files.write("empty.fa", "")).ok());
  CHECK(open(files.write("empty.fa", "")).logged("is empty"));
  CHECK(open(files.write("open.fa", ">a\nACGT")).logged("ends inside a line"));
  CHECK(open(files.write("x.txt", "hello\n")).message.find("neither FASTA nor FASTQ") != std::string::npos);
  std::ifstream whole(files.write_compressed("w.gz", std::string(100000, 'A'), "wg"), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(whole), {}};
  CHECK(!open(files.write("cut.gz", bytes.substr(0, bytes.size() / 2))).ok());
}

TEST_CASE("the parts that overlaps join, the read's in the target's orientation") {
  const Files files;
  const TestBatch reads = open(files.write("r.fq", fastq)).batch();
  const TestBatch targets = open(files.write("t.fa", ">t\nGGGACGT\n")).batch();
  const TestBatch overlaps = BatchBuilder("overlap", 3)
                                 .column<std::int64_t>("query_index", {0, 1, 0})
                                 .column<std::int64_t>("target_index", {0, 0, 0})
                                 .column<std::int64_t>("query_start", {1, 0, 0})
                                 .column<std::int64_t>("query_end", {5, 2, 6})
                                 .column<std::int64_t>("target_start", {3, 0, 0})
                                 .column<std::int64_t>("target_end", {7, 2, 2})
                                 .column<std::uint8_t>("is_reverse", {1, 0, 0})
                                 .build();
  const Result result = run_stage(stage_of(plugin(), "overlap_sequences"), overlaps).resource("reads", reads).resource("targets", targets).run();
  const Batch batch = result.batch().view();
  CHECK(batch.text("query_bases")[0] == "NACG");
  CHECK(batch.text("query_qualities")[0] == "%$#\"");
  CHECK(batch.text("target_bases")[0] == "ACGT");
  CHECK(batch.text("query_bases")[1] == "TT");
  CHECK(batch.text("query_qualities")[1].empty());
  CHECK(result.failed == std::vector<FailedRow>{{0, 2, "past_the_end"}});
  const ContractSample sample{.resources = {{"reads", reads}, {"targets", targets}}, .batches = {overlaps}};
  for (const std::string& problem : contract_problems(plugin(), {{"overlap_sequences", sample}})) FAIL_CHECK(problem);
  const ContractSample file{.parameters = {{"path", files.path("r.fq")}}};
  for (const std::string& problem : contract_problems(plugin(), {{"sequence_store", file}})) FAIL_CHECK(problem);
}

TEST_CASE("a store as reads, whole, in parts and from a position on") {
  const Files files;
  std::string fasta = ">none\n\n";
  for (int read = 0; read < 23; ++read)
    fasta += ">r" + std::to_string(read) + "\n" + std::string(static_cast<std::size_t>(read * 7 % 40 + 1), "acgTN"[read % 5]) + "\n";
  const TestBatch store = open(files.write("r.fa", fasta + ">last\n\n>rna\nACGU\n")).batch();
  const PrepareRun prepare = [&](const StageUnderTest& source) { return StageRun(source, {}).resource("reads", store).target_work(50); };
  const StageUnderTest source = stage_of(plugin(), "stored_reads");
  const Result result = prepare(source).run();
  REQUIRE(result.ok());
  CHECK(result.rows() == 24);
  CHECK(result.accounts.at("empty_sequence").names == std::vector<std::string>{"none", "last"});
  CHECK(result.batches.front().view().text("bases")[0] == "A");
  CHECK(result.batches.back().view().text("bases")[result.batches.back().rows() - 1] == "ACGT");
  for (const std::string& problem : source_problems(source, prepare)) FAIL_CHECK(problem);
  for (const std::string& problem : contract_problems(plugin(), {{"stored_reads", ContractSample{.resources = {{"reads", store}}}}}))
    FAIL_CHECK(problem);
}

TEST_CASE("for an index in parts the reads come once for each, and a position is that of the last") {
  const Files files;
  std::string fasta;
  for (int read = 0; read < 23; ++read)
    fasta += ">r" + std::to_string(read) + "\n" + std::string(static_cast<std::size_t>(read * 7 % 40), 'A') + "\n";
  const TestBatch store = open(files.write("r.fa", fasta)).batch();
  const TestBatch index = tiny_index::of({{"a", 10}, {"b", 10}, {"c", 10}}, 15, {0, 1, 2, 3});
  const auto rows_of = [&](const StageUnderTest& source) {
    const Result result = StageRun(source, {}).resource("reads", store).resource("index", index).target_work(50).run();
    REQUIRE(result.ok());
    CHECK((result.accounts.contains("empty_sequence") ? result.accounts.at("empty_sequence").names.size() : 0) <= 1);  // in the last part alone
    std::vector<std::string> rows;
    for (const TestBatch& batch : result.batches)
      for (std::int64_t row = 0; row < batch.rows(); ++row)
        rows.push_back(std::to_string(batch.view().column<std::int32_t>("index_part")[static_cast<std::size_t>(row)]) + " " +
                       std::string(batch.view().text("read_id")[row]));
    return rows;
  };
  const StageUnderTest source = stage_of(plugin(), "stored_reads");
  std::vector<std::string> expected;
  for (const char* part : {"0 r", "1 r", "2 r"})
    for (int read = 1; read < 23; ++read) expected.push_back(part + std::to_string(read));
  CHECK(rows_of(source) == expected);

  std::vector<SaidPosition> said;
  rows_of(asked_for_positions(source, &said));
  for (const SaidPosition& position : said) {
    CAPTURE(position.text);
    REQUIRE(position.problem.empty());
    if (position.rows_before <= 44) {
      CHECK(position.text == "0");
      continue;
    }
    // All parts of what the last part has not had.
    std::vector<std::string> left;
    for (const char* part : {"0 r", "1 r", "2 r"})
      for (std::int64_t read = position.rows_before - 44 + 1; read < 23; ++read) left.push_back(part + std::to_string(read));
    CHECK(rows_of(beginning_at(source, position.text)) == left);
  }
}

TEST_CASE("the parts of a store are its rows, with as many bases each as whole rows allow") {
  const Files files;
  std::string fasta;
  for (int read = 0; read < 100; ++read) fasta += ">r" + std::to_string(read) + "\n" + std::string(static_cast<std::size_t>(read % 10), 'A') + "\n";
  const TestBatch batch = open(files.write("r.fa", fasta)).batch();
  const SequenceStoreView store(batch.view());
  for (const std::uint64_t parts : {1, 2, 3, 7, 100, 1000}) {
    std::int64_t at = 0;
    for (std::uint64_t part = 0; part < parts; ++part) {
      const StoredPart rows(store, part, parts);
      CHECK(rows.begin == at);
      at = rows.end;
      std::int64_t bases = 0;
      for (std::int64_t row = rows.begin; row < rows.end; ++row) bases += store.length(row);
      if (parts < 10) CHECK(std::abs(bases - 450 / static_cast<std::int64_t>(parts)) <= 20);
    }
    CHECK(at == 100);
  }
}
