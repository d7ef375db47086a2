// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>
#include <zlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sluice/reference_text.hpp>
#include <sluice/testing.hpp>
#include <thread>

#include "reference_sequence/stage.cpp"  // the stage class has no header of its own

using namespace sluice::reference_sequence;
using sluice::testing::Result;
using sluice::testing::run_stage;
using sluice::testing::TemporaryFolder;

namespace {

const std::string shared = SLUICE_SHARED_DIR;

Result load(const std::string& path) { return run_stage<ReferenceSequence>().with({{"path", path}}).threads(2).run(); }

Result load_text(const std::string& text, const char* ambiguous = "first_base") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/ref.fa", std::ios::binary) << text;
  return run_stage<ReferenceSequence>().with({{"path", folder.path() + "/ref.fa"}, {"ambiguous", ambiguous}}).threads(2).run();
}

// A host that takes counts, which are bases read.
struct CountingHost {
  std::atomic<std::int64_t> bases = 0;
  sluice_host_api api{};
  CountingHost() {
    api.struct_size = sizeof api;
    api.count = [](const sluice_host* self, const char*, double amount) -> sluice_status {
      *reinterpret_cast<std::atomic<std::int64_t>*>(const_cast<sluice_host*>(self)) += static_cast<std::int64_t>(amount);
      return SLUICE_OK;
    };
  }
  sluice::Host host() { return {&api, reinterpret_cast<const sluice_host*>(&bases)}; }
};

Result open_reference(const std::string& path, const char* ambiguous = "first_base") {
  return run_stage<ReferenceOnDemand>().with({{"path", path}, {"ambiguous", ambiguous}}).threads(2).run();
}
void write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
double scanned_bytes(const Result& result) {
  const auto found = result.counters.find("reference_bytes_scanned");
  return found == result.counters.end() ? 0 : found->second;
}
bool is_on_demand(const Result& result) { return !result.batch().view().attribute("descriptor").empty(); }

// What read() throws.
template <class Read>
std::string problem_of(Read&& read) {
  try {
    read();
  } catch (const sluice::Failure& failure) {
    return failure.what();
  }
  return "nothing";
}

// Lines of 60 bases of every letter that there may be.
std::string contig_of(std::size_t bases, const std::string& line_end) {
  const std::string letters = "ACGTacgtNnUuRYSWKMBDHV";
  std::string text;
  for (std::size_t i = 0; i < bases; ++i) {
    text += letters[i * i % 13 * (i % 7) % letters.size()];
    if (i % 60 == 59 && i + 1 < bases) text += line_end;
  }
  return text;
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("contigs come in file order, upper case, without line ends") {
  const Result result = load_text("\n>one first contig\nACgt\nAC\n>two\r\nGG\r\nTT\r\n>empty\n>last\nuA");
  REQUIRE(result.ok());
  const auto contigs = result.batch().view();
  CHECK(contigs.rows() == 4);
  CHECK(contigs.text("name")[0] == "one");
  CHECK(contigs.text("bases")[0] == "ACGTAC");
  CHECK(contigs.text("bases")[1] == "GGTT");
  CHECK(contigs.text("bases")[2] == "");
  CHECK(contigs.text("bases")[3] == "TA");
  CHECK(says(std::string(contigs.attribute("path")), "ref.fa"));
}

TEST_CASE("a code for several bases becomes the first of them") {
  CHECK(load_text(">a\nMRWSYKVHDBNmrwsykvhdbn\n").batch().view().text("bases")[0] == "AAACCGAAACAAAACCGAAACA");
}

TEST_CASE("a code for several bases becomes N where that is asked for") {
  CHECK(load_text(">a\nMRWSYKVHDBNmrwsykvhdbnACGTUacgtu\n", "n").batch().view().text("bases")[0] == "NNNNNNNNNNNNNNNNNNNNNNACGTTACGTT");
  CHECK(says(load_text(">a\nAC*T\n", "n").message, "position 3: '*' is not a base"));
}

TEST_CASE("what is not a reference is refused with contig, line and position") {
  CHECK(says(load_text(">a\nACGT\nAC*T\n").message, "line 3: sequence 'a', position 7: '*' is not a base"));
  CHECK(says(load_text(">a\nAC\r\nAC\r\r\n").message, "line 3: sequence 'a', position 5: byte 13 is not a base"));
  CHECK(says(load_text(">a\nAC\n>b\nA\x01\n").message, "line 4: sequence 'b', position 2: byte 1"));
  CHECK(says(load_text(">a\nAC\n>b\nC\n>a x\nC\n").message, "line 5: there is an earlier sequence named 'a'"));
  CHECK(says(load_text("> a\nAC\n").message, "line 1: the record has no name"));
  CHECK(says(load_text("@a\nAC\n+\nII\n").message, "not FASTA"));
  CHECK(says(load_text("").message, "is empty"));
  CHECK(says(load_text("\n\n").message, "no sequence"));
  CHECK(says(load("/no/such/file.fa").message, "cannot open"));
  CHECK(load("/no/such/file.fa").status == SLUICE_ERROR_INPUT);
}

TEST_CASE("gzip and bgzip files are read, cut ones refused") {
  const TemporaryFolder folder;
  std::string text = ">a\n";
  for (int i = 0; i < 40000; ++i) text += std::string(1, "ACGT"[i * i % 7 % 4]) + (i % 70 == 69 ? "\n" : "");
  const std::string gz = folder.path() + "/a.fa.gz", bgz = folder.path() + "/b.fa.gz";
  gzFile file = gzopen(gz.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  BGZF* blocks = bgzf_open(bgz.c_str(), "w");
  REQUIRE(bgzf_write(blocks, text.data(), text.size()) > 0);
  bgzf_close(blocks);
  CHECK(load(gz).batch().view().text("bases")[0].size() == 40000);
  CHECK(load(bgz).batch().view().text("bases")[0] == load(gz).batch().view().text("bases")[0]);
  std::filesystem::resize_file(gz, std::filesystem::file_size(gz) / 2);
  CHECK(says(load(gz).message, "truncated or damaged"));
  std::filesystem::resize_file(bgz, std::filesystem::file_size(bgz) - 28);  // the end-of-file block alone
  CHECK(says(load(bgz).message, "no BGZF end-of-file block"));
  std::filesystem::resize_file(bgz, std::filesystem::file_size(bgz) / 2);
  CHECK(says(load(bgz).message, "truncated or damaged"));
}

TEST_CASE("a line of 100 MB is read") {
  const Result result = load_text(">a\n" + std::string(100'000'000, 'n') + "\n>b\nC\n");
  REQUIRE(result.ok());
  CHECK(result.batch().view().text("bases")[0].size() == 100'000'000);
  CHECK(result.batch().view().text("bases")[1] == "C");
}

TEST_CASE("the stage keeps the stage contract") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/ref.fa") << ">a\nACGT\n>b\nC\n";
  CHECK(sluice::testing::contract_problems<ReferenceSequence>({.parameters = {{"path", folder.path() + "/ref.fa"}}}) == std::vector<std::string>{});
}

TEST_CASE("the stage on demand keeps the stage contract") {
  const TemporaryFolder folder;
  write(folder.path() + "/ref.fa", ">a\nACGT\n>b\nC\n");
  CHECK(sluice::testing::contract_problems<ReferenceOnDemand>({.parameters = {{"path", folder.path() + "/ref.fa"}}}) == std::vector<std::string>{});
}

TEST_CASE("the shared references load") {
  if (shared.empty() || !std::filesystem::exists(shared + "/data")) {
    MESSAGE("skipped: ", shared, "/data is absent");
    return;
  }
  CHECK(load(shared + "/data/reference/lambda.fa").batch().view().text("bases")[0].size() == 48502);
  CHECK(load(shared + "/data/reference/ecoli536.fa.gz").batch().view().text("bases")[0].size() == 4938920);
  CHECK(load(shared + "/data/ecoli_r9_real/draft.fa.gz").batch().view().text("bases")[0].size() == 4376233);
  CHECK(load(shared + "/data/reference/rna_sequins.fa").ok());
}

TEST_CASE("a reference on demand has the bases of the whole one, wherever it is read") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/ref.fa";
  for (const std::string& line_end : {std::string("\n"), std::string("\r\n")})
    for (const std::string& last : {std::string(), line_end})
      for (const char* ambiguous : {"first_base", "n"}) {
        write(path, ">one a comment" + line_end + contig_of(50'000, line_end) + line_end + ">empty" + line_end + ">two" + line_end + line_end +
                        contig_of(8192, line_end) + line_end + line_end + ">three" + line_end + contig_of(61, line_end) + last);
        const Result whole = run_stage<ReferenceSequence>().with({{"path", path}, {"ambiguous", ambiguous}}).run(),
                     opened = open_reference(path, ambiguous);
        REQUIRE(whole.ok());
        REQUIRE(opened.ok());
        REQUIRE(is_on_demand(opened));
        const sluice::ReferenceText expected(whole.batch().view()), text(opened.batch().view());
        CountingHost counting;
        const sluice::Host host = counting.host();
        REQUIRE(text.contigs() == 4);
        for (std::int64_t contig = 0; contig < 4; ++contig) {
          const std::string_view all = expected.bases(contig), here = text.bases(contig);
          CHECK(text.name(contig) == expected.name(contig));
          REQUIRE(here.size() == all.size());
          for (std::size_t begin = 0; begin < all.size(); begin = begin * 3 / 2 + 1)
            for (const std::size_t length : {std::size_t{1}, std::size_t{59}, std::size_t{61}, std::size_t{9000}})
              REQUIRE(text.read(here.substr(begin, length), host) == all.substr(begin, length));
          CHECK(text.read_near(here, -100, 1'000'000, host) == all);
          CHECK(text.read_near(here, 1'000'000, 2'000'000, host).empty());
        }
        // Each block once.
        CHECK(counting.bases == 50'000 + 8192 + 61);
        text.read(text.bases(0), host);
        CHECK(counting.bases == 50'000 + 8192 + 61);
      }
}

TEST_CASE("only what is needed of a reference is read") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/ref.fa";
  write(path, ">one\n" + contig_of(3'000'000, "\n") + "\n>two\n" + contig_of(100, "\n") + "\n");
  write(path + ".fai", "one\t3000000\t5\t60\t61\ntwo\t100\t3050010\t60\t61\n");
  const Result opened = open_reference(path);
  REQUIRE(is_on_demand(opened));
  CHECK(opened.log.empty());
  CHECK(scanned_bytes(opened) == 0);
  const sluice::ReferenceText text(opened.batch().view());
  CountingHost counting;
  CHECK(text.read(text.bases(0).substr(2'000'000, 5000), counting.host()).size() == 5000);
  CHECK(text.read(text.bases(1), counting.host()).size() == 100);
  CHECK(counting.bases <= 2 * 8192 + 100);
}

TEST_CASE("an index that is not of the file is not believed") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/ref.fa";
  const std::string good = "one\t100\t5\t60\t61\ntwo\t61\t112\t60\t61\n";
  write(path, ">one\n" + contig_of(100, "\n") + "\n>two\n" + contig_of(61, "\n") + "\n");
  const auto believed = [&](const std::string& fai) {
    write(path + ".fai", fai);
    const Result opened = open_reference(path);
    REQUIRE(opened.ok());
    const sluice::ReferenceText text(opened.batch().view());
    CountingHost counting;
    CHECK(text.read(text.bases(1), counting.host()) == load(path).batch().view().text("bases")[1]);
    return scanned_bytes(opened) == 0;
  };
  CHECK(believed(good));
  CHECK_FALSE(believed(""));
  CHECK_FALSE(believed(good.substr(0, good.find('\n') + 1)));            // a contig is missing
  CHECK_FALSE(believed("one\t99\t5\t60\t61\ntwo\t61\t112\t60\t61\n"));   // shorter
  CHECK_FALSE(believed("one\t100\t5\t60\t61\none\t61\t112\t60\t61\n"));  // another name
  CHECK_FALSE(believed("one\t100\t5\t60\t61\ntwo\t61\t111\t60\t61\n"));  // another place
  CHECK_FALSE(believed("one\t100\t5\t60\t61\ntwo\t62\t112\t60\t61\n"));  // longer than the file
  CHECK_FALSE(believed("one\t100\t5\t60\t61\ntwo\t61\t112\t0\t61\n"));
  CHECK_FALSE(believed("one\t100\t5\t60\t61\ntwo\t61\t9223372036854775807\t60\t61\n"));
  CHECK_FALSE(believed("one 100 5 60 61\n"));
  write(path + ".fai", good);
  std::filesystem::last_write_time(path + ".fai", std::filesystem::last_write_time(path) - std::chrono::seconds(2));
  CHECK(scanned_bytes(open_reference(path)) > 0);
}

TEST_CASE("a reference that can't be read at places is loaded whole") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/ref.fa";
  write(path, ">one\nACGT\nACGTA\nAC\n");
  Result opened = open_reference(path);
  REQUIRE(opened.ok());
  CHECK_FALSE(is_on_demand(opened));
  CHECK(opened.batch().view().text("loaded_bases")[0] == "ACGTACGTAAC");
  const std::string packed = folder.path() + "/ref.fa.gz";
  gzFile file = gzopen(packed.c_str(), "wb");
  gzputs(file, ">one\nACGT\n");
  gzclose(file);
  opened = open_reference(packed);
  REQUIRE(opened.ok());
  CHECK(opened.batch().view().text("loaded_bases")[0] == "ACGT");
  const sluice::ReferenceText text(opened.batch().view());
  CountingHost counting;
  CHECK(text.read(text.bases(0), counting.host()) == "ACGT");
  CHECK(counting.bases == 0);
}

TEST_CASE("what is not a reference is refused on demand as well") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/ref.fa";
  for (const char* text :
       {">a\nACGT\nAC*T\n", ">a\nAC\r\nAC\r\r\n", ">a\nAC\n>b\nA\x01\n", ">a\nAC\n>b\nC\n>a x\nC\n", "> a\nAC\n", "@a\nAC\n+\nII\n", "", "\n\n"}) {
    write(path, text);
    const Result opened = open_reference(path);
    CHECK(opened.status == SLUICE_ERROR_INPUT);
    CHECK(opened.message == load(path).message);
  }
  CHECK(says(open_reference("/no/such/file.fa").message, "cannot open"));
}

TEST_CASE("what an index has hidden is an error where it is read") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/ref.fa";
  const auto problem = [&](const std::string& lines) {
    write(path, ">a\n" + lines + "\n");
    write(path + ".fai", "a\t12\t3\t4\t5\n");
    const Result opened = open_reference(path);
    REQUIRE(is_on_demand(opened));
    const sluice::ReferenceText text(opened.batch().view());
    CountingHost counting;
    const auto read = [&] { text.read(text.bases(0), counting.host()); };
    const std::string first = problem_of(read);
    CHECK(problem_of(read) == first);  // and again
    return first;
  };
  CHECK(problem("ACGT\nACGT\nACGT") == "nothing");
  CHECK(says(problem("ACGT\nAC*T\nACGT"), "sequence 'a', position 7: '*' is not a base"));
  CHECK(says(problem("ACG\nACGTA\nACGT"), "is shorter than its first line"));
  CHECK(says(problem("ACGTA\nCGT\nACGT"), "is longer than its first line"));
}

TEST_CASE("a reference that changes during the run is an error") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/ref.fa";
  const std::string text_before = ">a\n" + contig_of(30'000, "\n") + "\n";
  for (const bool cut : {true, false}) {
    write(path, text_before);
    const Result opened = open_reference(path);
    REQUIRE(is_on_demand(opened));
    const sluice::ReferenceText text(opened.batch().view());
    CountingHost counting;
    const std::string first(text.read(text.bases(0).substr(0, 100), counting.host()));
    if (cut)
      std::filesystem::resize_file(path, 9000);
    else
      std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
    CHECK(says(problem_of([&] { text.read(text.bases(0).substr(20'000, 100), counting.host()); }), "has changed during the run"));
    CHECK(text.read(text.bases(0).substr(0, 100), counting.host()) == first);  // what was read stays
  }
  // One that is replaced: the open one is read.
  write(path, text_before);
  const std::string expected(load(path).batch().view().text("bases")[0]);
  const Result opened = open_reference(path);
  write(path + ".new", ">a\n" + std::string(30'000, 'A') + "\n");
  std::filesystem::rename(path + ".new", path);
  const sluice::ReferenceText text(opened.batch().view());
  CountingHost counting;
  CHECK(text.read(text.bases(0), counting.host()) == expected);
}

TEST_CASE("many threads and views read one reference") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/ref.fa";
  write(path, ">a\n" + contig_of(400'000, "\n") + "\n>b\n" + contig_of(70'000, "\n") + "\n");
  const Result whole = load(path), opened = open_reference(path);
  const sluice::ReferenceText expected(whole.batch().view());
  CountingHost counting;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      const sluice::ReferenceText text(opened.batch().view());
      for (std::int64_t contig = 0; contig < 2; ++contig)
        for (std::size_t begin = t * 97; begin < text.bases(contig).size(); begin += 5000)
          if (text.read(text.bases(contig).substr(begin, 20'000), counting.host()) != expected.bases(contig).substr(begin, 20'000)) ++wrong;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(counting.bases == 470'000);  // no block twice
}
