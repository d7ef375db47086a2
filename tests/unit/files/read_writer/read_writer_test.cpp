// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>
#include <htslib/bgzf.h>

#include <filesystem>
#include <fstream>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "unit/outcomes_of.hpp"
#include "unit/resumed_forms.hpp"

using namespace sluice;
using namespace sluice::testing;

namespace {

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const info = load_plugin(SLUICE_PLUGIN_DIR "/read_writer.so");
  return *info;
}
TestBatch reads() {
  return BatchBuilder("read", 3).text("read_id", {"a", "b", "c"}).text("bases", {"ACGT", "", "GG"}).text("qualities", {"IIII", "", "#!"}).build();
}
std::string decompressed(const std::string& bytes) {
  const std::string path = (std::filesystem::temp_directory_path() / "sluice_read_writer_test.gz").string();
  std::ofstream(path, std::ios::binary) << bytes;
  BGZF* file = bgzf_open(path.c_str(), "r");
  REQUIRE(file != nullptr);
  std::string text(std::size_t{1} << 22U, '\0');
  text.resize(static_cast<std::size_t>(bgzf_read(file, text.data(), text.size())));
  CHECK(bgzf_check_EOF(file) == 1);
  bgzf_close(file);
  std::filesystem::remove(path);
  return text;
}

}  // namespace

TEST_CASE("FASTQ has four lines a read, FASTA two") {
  const Result fastq = run_stage(stage_of(plugin(), "fastq_writer"), reads()).with({{"output", "x.fastq"}}).run();
  CHECK(fastq.files.at("x.fastq") == "@a\nACGT\n+\nIIII\n@b\n\n+\n\n@c\nGG\n+\n#!\n");
  const Result fasta = run_stage(stage_of(plugin(), "fastq_writer"), reads()).with({{"output", "x.fasta"}, {"format", "fasta"}}).run();
  CHECK(fasta.files.at("x.fasta") == ">a\nACGT\n>b\n\n>c\nGG\n");
  CHECK(outcomes_of(run_stage(stage_of(plugin(), "fastq_writer"), reads()).with({{"output", "x"}})) == Outcomes{{"written", {2, 3}}});
}

TEST_CASE("without qualities a FASTQ gets the lowest") {
  const TestBatch bare = BatchBuilder("read", 1).text("read_id", {"a"}).text("bases", {"ACG"}).build();
  CHECK(run_stage(stage_of(plugin(), "fastq_writer"), bare).with({{"output", "x"}}).run().files.at("x") == "@a\nACG\n+\n!!!\n");
}

TEST_CASE("a read with too few qualities fails and the others are written") {
  const TestBatch bad = BatchBuilder("read", 2).text("read_id", {"a", "b"}).text("bases", {"ACG", "T"}).text("qualities", {"II", "I"}).build();
  const Result result = run_stage(stage_of(plugin(), "fastq_writer"), bad).with({{"output", "x"}}).run();
  CHECK(result.failed == std::vector<FailedRow>{{0, 0, "quality_length"}});
  CHECK(result.files.at("x") == "@b\nT\n+\nI\n");
}

TEST_CASE("tags stand behind the name, until the first that is none") {
  using namespace std::string_literals;
  const TestBatch tagged = BatchBuilder("read", 4)
                               .text("read_id", {"a", "b", "c", "d"})
                               .text("bases", {"A", "C", "G", "T"})
                               .text("qualities", {"!", "!", "!!", "!"})
                               .text("tags", {"NMC\x05"s + "RGZgroup\0"s, "", "NMC\x05"s, "NMC\x05"s + "XXi\x01"s}, "binary")
                               .build();
  const auto written = [&](const ParameterTexts& more) {
    ParameterTexts all = more;
    all.insert({"output", "x"});
    return run_stage(stage_of(plugin(), "fastq_writer"), tagged).with(all).run().files.at("x");
  };
  CHECK(written({{"tag_comments", true}}) == "@a\tNM:i:5\tRG:Z:group\nA\n+\n!\n@b\nC\n+\n!\n@d\tNM:i:5\nT\n+\n!\n");
  CHECK(written({}) == "@a\nA\n+\n!\n@b\nC\n+\n!\n@d\nT\n+\n!\n");
}

TEST_CASE("contigs are cut into lines") {
  const TestBatch contigs = BatchBuilder("contig", 3).text("name", {"one", "two", "none"}).text("bases", {"ACGTA", "ACGT", ""}).build();
  CHECK(run_stage(stage_of(plugin(), "fasta_writer"), contigs).with({{"output", "x"}, {"line_length", 2}}).run().files.at("x") ==
        ">one\nAC\nGT\nA\n>two\nAC\nGT\n>none\n");
  CHECK(outcomes_of(run_stage(stage_of(plugin(), "fasta_writer"), contigs).with({{"output", "x"}})) == Outcomes{{"written", {2, 3}}});
}

TEST_CASE("lines of contigs have 80 letters where nothing is said, and a contig that failed has none") {
  const std::string line(80, 'A');
  const TestBatch contigs = BatchBuilder("contig", 4)
                                .text("name", {"failed", "one", "two", "three"})
                                .text("bases", {"ACGT", line, line + "C", line + line + "GT"})
                                .failed(0)
                                .build();
  const Result result = run_stage(stage_of(plugin(), "fasta_writer"), contigs).with({{"output", "x"}}).run();
  CHECK(result.files.at("x") == ">one\n" + line + "\n>two\n" + line + "\nC\n>three\n" + line + "\n" + line + "\nGT\n");
  CHECK(result.outcomes.at("written") == std::pair<std::uint64_t, std::uint64_t>{3, 4});
}

TEST_CASE("a name that ends with .gz makes BGZF") {
  const Result result = run_stage(stage_of(plugin(), "fastq_writer"), reads()).with({{"output", "x.fastq.gz"}}).run();
  CHECK(decompressed(result.files.at("x.fastq.gz")) == "@a\nACGT\n+\nIIII\n@b\n\n+\n\n@c\nGG\n+\n#!\n");
}

TEST_CASE("the writers keep the contract of every stage") {
  const TestBatch contigs = BatchBuilder("contig", 2).text("name", {"one", "two"}).text("bases", {"ACGTA", "ACGT"}).build();
  CHECK(contract_problems(plugin(), {{"fastq_writer", {.parameters = {{"output", "x.gz"}}, .resources = {}, .batches = {reads(), reads()}}},
                                     {"fasta_writer", {.parameters = {{"output", "x.fa"}}, .resources = {}, .batches = {contigs}}}}) ==
        std::vector<std::string>{});
}

TEST_CASE("sequences go on behind an interruption") {
  CHECK(resume_problems(run_stage(stage_of(plugin(), "fastq_writer"), std::vector{reads(), reads()}), {"x.fastq", "x.fastq.gz", "x.fastq.zst"}) ==
        std::vector<std::string>{});
  const TestBatch contigs = BatchBuilder("contig", 2).text("name", {"a", "b"}).text("bases", {"ACGTA", ""}).build();
  CHECK(resume_problems(run_stage(stage_of(plugin(), "fasta_writer"), std::vector{contigs, contigs}), {"x.fa", "x.fa.gz"}) ==
        std::vector<std::string>{});
}
