// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <sluice/testing.hpp>

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
