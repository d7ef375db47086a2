// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sluice/testing.hpp>

#include "methylation_table_reader/stage.cpp"  // the stage class has no header of its own
#include "unit/files/methylation_writer/expected_table.hpp"

using namespace sluice::methylation_table_reader;
using sluice::testing::Result;
using sluice::testing::run_stage;
using sluice::testing::TestBatch;

namespace {

const std::string header =
    "chromosome\tstrand\tstart\tend\tread_name\tlog_lik_ratio\tlog_lik_methylated\tlog_lik_unmethylated\tnum_calling_strands\tnum_motifs\tsequence\n";
const std::string body =
    "chr1\t+\t10\t10\tread1\t1.25\t-100.50\t-101.75\t1\t1\tAACGT\n"
    "chr1\t+\t27\t29\tread1\t-0.25\t-90.25\t-90.00\t1\t2\tTACGCGT\n"
    "chr1\t+\t10\t10\tread1\t2.00\t-1.00\t-3.00\t1\t1\tAACGT\n"
    "chr1\t-\t40\t40\tread1\t0.00\t-1.00\t-1.00\t1\t1\tAACGT\n"
    "chr2\t-\t50\t50\tread2\t0.00\t-1.00\t-1.00\t1\t1\tAACGT\n";

class TableFile {
 public:
  explicit TableFile(const std::string& text) { std::ofstream(path(), std::ios::binary) << text; }
  std::string path() const { return folder_.path() + "/calls.tsv"; }

 private:
  sluice::testing::TemporaryFolder folder_;
};

Result read(const std::string& text) {
  const TableFile file(text);
  return run_stage<MethylationTableReader>().with({{"path", file.path()}}).run();
}

}  // namespace

TEST_CASE("a table becomes one row per read and alignment") {
  const Result result = read(header + body);
  REQUIRE_MESSAGE(result.ok(), result.message);
  REQUIRE(result.rows() == 4);
  const auto rows = result.batch().view();
  CHECK(rows.text("read_id")[1] == "read1");
  CHECK(rows.list<std::int64_t>("site_start")[0].size() == 2);
  CHECK(rows.list<std::int64_t>("site_end")[0][1] == 29);
  CHECK(rows.list<std::int32_t>("site_motifs")[0][1] == 2);
  CHECK(rows.list<float>("log_lik_methylated")[0][0] == -100.5F);
  CHECK(rows.column<std::uint8_t>("is_reverse")[1] == 0);
  CHECK(rows.column<std::uint8_t>("is_reverse")[2] == 1);
  CHECK(rows.text("contig")[3] == "chr2");
}

TEST_CASE("a line whose position, read, contig or strand is another begins a row, and position 0 is one") {
  const Result result = read(header +
                             "c\t+\t0\t0\tr\t1\t1\t0\t1\t1\tA\n"
                             "c\t+\t1\t1\tr\t1\t1\t0\t1\t1\tA\n"
                             "c\t+\t1\t1\tr\t1\t1\t0\t1\t1\tA\n"
                             "c\t-\t2\t2\tr\t1\t1\t0\t1\t1\tA\n"
                             "c\t-\t3\t3\tr\t1\t1\t0\t1\t1\tA\n"
                             "d\t-\t4\t4\tr\t1\t1\t0\t1\t1\tA\n"
                             "d\t-\t5\t5\ts\t1\t1\t0\t1\t1\tA\n");
  REQUIRE_MESSAGE(result.ok(), result.message);
  std::string sizes;
  const auto starts = result.batch().view().list<std::int64_t>("site_start");
  for (std::int64_t row = 0; row < result.rows(); ++row) sizes += std::to_string(starts[row].size());
  CHECK(sizes == "21211");
  CHECK(starts[0][0] == 0);
}

TEST_CASE("a batch is full by the bytes of names, numbers and sequences") {
  // A line takes 16 bytes of places, 4 of motifs, 8 of likelihoods and its sequence with a newline; a row's first line the two names beside.
  const std::string line = "chr1\t+\t10\t10\tread\t1\t1\t0\t1\t1\tACGTA\n";
  std::string text = header;
  for (int i = 0; i < 6; ++i) text += line;
  const TableFile file(text);
  const auto rows = [&](std::uint64_t bytes) {
    std::string sizes;
    for (const TestBatch& batch :
         run_stage<MethylationTableReader>().with({{"path", file.path()}}).target_work(1e9).target_bytes(bytes).run().batches)
      sizes += std::to_string(batch.rows());
    return sizes;
  };
  constexpr std::uint64_t of_row = 16 + 4 + 8 + 6 + 8;
  CHECK(rows(1) == "111111");
  CHECK(rows(3 * of_row) == "33");
  CHECK(rows(3 * of_row + 1) == "42");
}

TEST_CASE("version 1, other orders of columns and Windows line ends are read, too") {
  const Result old = read(
      "chromosome\tstart\tend\tread_name\tlog_lik_ratio\tlog_lik_methylated\tlog_lik_unmethylated\tnum_calling_strands\tnum_cpgs\tsequence\r\n"
      "chr1\t10\t12\tread1\t1.25\t-100.50\t-101.75\t1\t2\tAACGT\r\n");
  REQUIRE_MESSAGE(old.ok(), old.message);
  CHECK(old.batch().view().list<std::int32_t>("site_motifs")[0][0] == 2);
  CHECK(read("sequence\tnum_motifs\tlog_lik_unmethylated\tlog_lik_ratio\tread_name\tend\tstart\tchromosome\nCG\t1\t-1\t2\tr\t5\t5\tc\n").rows() == 1);
}

TEST_CASE("a line of a table without strands is forward, whatever was read before") {
  TableColumns columns;
  REQUIRE(columns.parse("chromosome\tstart\tend\tread_name\tlog_lik_ratio\tlog_lik_unmethylated\tnum_motifs").empty());
  CallLine call;
  call.strand = Strand::reverse;
  CHECK(parse_call("c\t1\t2\tr\t1\t1\t1", columns, call).empty());
  CHECK(call.strand == Strand::forward);
}

TEST_CASE("tables one after the other are one table, whatever their versions") {
  const std::string old =
      "chromosome\tstart\tend\tread_name\tlog_lik_ratio\tlog_lik_methylated\tlog_lik_unmethylated\tnum_calling_strands\tnum_cpgs\tsequence\n"
      "chr3\t10\t12\tread9\t1.25\t-100.50\t-101.75\t1\t2\tAACGCGT\n";
  const Result result = read(header + body + old + header + header + body);
  REQUIRE_MESSAGE(result.ok(), result.message);
  REQUIRE(result.rows() == 9);
  const auto rows = result.batch().view();
  CHECK(rows.text("contig")[4] == "chr3");
  CHECK(rows.text("site_sequences")[0] == "AACGT\nTACGCGT\n");
  CHECK(rows.text("site_sequences")[4] == "AACGCGT\n");
}

TEST_CASE("a table without sequences is refused only where they are wanted") {
  const TableFile file("num_motifs\tlog_lik_unmethylated\tlog_lik_ratio\tread_name\tend\tstart\tchromosome\n1\t-1\t2\tr\t5\t5\tc\n");
  const auto run = run_stage<MethylationTableReader>().with({{"path", file.path()}});
  CHECK(run.run().message.find("no column 'sequence'") != std::string::npos);
  auto unwanted = run;
  CHECK(unwanted.wanted({}).run().ok());
}

TEST_CASE("bad tables are refused with their place") {
  CHECK(read("").ok());
  CHECK(read("").logged("is empty"));
  CHECK(read(header + body.substr(0, body.size() - 1)).logged("ends inside a line"));
  CHECK(read("chromosome\tstart\n").message.find("no column 'end'") != std::string::npos);
  CHECK(read("start\tend\tread_name\tlog_lik_ratio\tlog_lik_unmethylated\tnum_motifs\n").message.find("no column 'chromosome'") != std::string::npos);
  CHECK(read(header).rows() == 0);
  const auto message = [](const std::string& line) { return read(header + body + line + "\n").message; };
  CHECK(message("chr1\t+\t10").find("calls.tsv:7: 3 columns instead of 11") != std::string::npos);
  CHECK(message("chr1\t?\t10\t10\tr\t1\t1\t1\t1\t1\tA").find("strand can't be '?'") != std::string::npos);
  CHECK(message("chr1\t+\t-1\t10\tr\t1\t1\t1\t1\t1\tA").find("start can't be '-1'") != std::string::npos);
  CHECK(message("chr1\t+\t11\t10\tr\t1\t1\t1\t1\t1\tA").find("end can't be '10'") != std::string::npos);
  CHECK(message("chr1\t+\t1\t99999999999999999999\tr\t1\t1\t1\t1\t1\tA").find("end can't be") != std::string::npos);
  CHECK(message("chr1\t+\t1\t1\tr\tlow\t1\t1\t1\t1\tA").find("log_lik_ratio can't be 'low'") != std::string::npos);
  CHECK(message("chr1\t+\t1\t1\tr\t1\t1\t1\t1\t0\tA").find("num_motifs can't be '0'") != std::string::npos);
  CHECK(run_stage<MethylationTableReader>().with({{"path", "/nowhere/calls.tsv"}}).run().message.find("/nowhere/calls.tsv") != std::string::npos);
}

namespace {
const std::string frequency_header =
    "chromosome\tstart\tend\tnum_motifs_in_group\tcalled_sites\tcalled_sites_methylated\tmethylated_frequency\tgroup_sequence\n";
const std::string frequency_body = "chr1\t10\t10\t1\t3\t1\t0.333\tAACGT\nchr1\t10\t14\t2\t8\t8\t1.000\tsplit-group\n";
}  // namespace

TEST_CASE("tables of frequencies become sites, also several one after the other") {
  const std::string old_header =
      "chromosome\tstart\tend\tnum_cpgs_in_group\tcalled_sites\tcalled_sites_methylated\tmethylated_frequency\tgroup_sequence\r\n";
  const TableFile file(frequency_header + frequency_body + old_header + frequency_body);
  const Result result = run_stage<FrequencyTableReader>().with({{"path", file.path()}}).target_work(3).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.rows() == 4);
  const auto rows = result.batches[0].view();
  CHECK(rows.text("contig")[1] == "chr1");
  CHECK(rows.column<std::int64_t>("start")[1] == 10);
  CHECK(rows.column<std::int64_t>("end")[1] == 14);
  CHECK(rows.column<std::int32_t>("motifs")[1] == 2);
  CHECK(rows.column<std::int64_t>("called_sites")[0] == 3);
  CHECK(rows.column<std::int64_t>("methylated_forward")[0] == 1);
  CHECK(rows.text("sequence")[1] == "split-group");
  const auto message = [](const std::string& text) {
    const TableFile wrong(text);
    return run_stage<FrequencyTableReader>().with({{"path", wrong.path()}}).run().message;
  };
  CHECK(message("").empty());  // no rows, and a warning
  CHECK(message(header + body).find("does not begin as a table of frequencies") != std::string::npos);
  for (const auto& [line, problem] : {std::pair<const char*, const char*>{"chr1\t1", "2 columns instead of 8"},
                                      {"\t1\t1\t1\t1\t1\t1\tA", "chromosome can't be ''"},
                                      {"c\t-1\t1\t1\t1\t1\t1\tA", "start can't be '-1'"},
                                      {"c\t1\t99999999999\t1\t1\t1\t1\tA", "end can't be"},
                                      {"c\t1\t1\t0\t1\t1\t1\tA", "num_motifs_in_group can't be '0'"},
                                      {"c\t1\t1\t1\t99999999999\t1\t1\tA", "called_sites can't be"},
                                      {"c\t2\t1\t1\t1\t1\t1\tA", "end can't be '1'"},
                                      {"c\t1\t4294967297\t1\t1\t1\t1\tA", "end can't be '4294967297'"},
                                      {"c\t1\t1\t1\t-1\t1\t1\tA", "called_sites can't be '-1'"},
                                      {"c\t1\t1\t1\t4294967296\t1\t1\tA", "called_sites can't be '4294967296'"},
                                      {"c\t1\t1\t1\t1\t-1\t1\tA", "called_sites_methylated can't be '-1'"},
                                      {"c\t1\t1\t1\t1\t2\t1\tA", "called_sites_methylated can't be '2'"}})
    CHECK(message(frequency_header + frequency_body + line + "\n").find(":4: " + std::string(problem)) != std::string::npos);
  // What is just possible: a group of 2^32 - 1 bases, and as many calls.
  for (const char* line : {"c\t0\t0\t1\t0\t0\t0\tA", "c\t1\t4294967296\t1\t4294967295\t4294967295\t1\tA"})
    CHECK(message(frequency_header + line + "\n").empty());
}

TEST_CASE("methylation_table_reader keeps the contract of all stages") {
  const TableFile calls(header + body), frequencies(frequency_header + frequency_body);
  CHECK(sluice::testing::contract_problems(*sluice_plugin_init(nullptr, nullptr),
                                           {{"methylation_table_reader", {.parameters = {{"path", calls.path()}}}},
                                            {"frequency_table_reader", {.parameters = {{"path", frequencies.path()}}}}}) ==
        std::vector<std::string>{});
}

TEST_CASE("both tables are read from any row on, also behind another first line") {
  const std::string old =
      "chromosome\tstart\tend\tread_name\tlog_lik_ratio\tlog_lik_methylated\tlog_lik_unmethylated\tnum_calling_strands\tnum_cpgs\tsequence\n"
      "chr3\t10\t12\tread9\t1.25\t-100.50\t-101.75\t1\t2\tAACGCGT\n"
      "chr3\t10\t12\tread8\t1.25\t-100.50\t-101.75\t1\t2\tAACGCGT\n";
  const TableFile calls(header + body + old + header + body);
  const auto check = [](const sluice::testing::StageUnderTest& source, const TableFile& file) {
    const auto prepare = [&](const sluice::testing::StageUnderTest& stage) {
      return sluice::testing::StageRun(stage, {}).with({{"path", file.path()}}).target_work(1);
    };
    CHECK(sluice::testing::source_problems(source, prepare) == std::vector<std::string>{});
  };
  check(sluice::testing::stage_of<MethylationTableReader>(), calls);
  const TableFile frequencies(frequency_header + frequency_body + frequency_header + frequency_body);
  check(sluice::testing::stage_of<FrequencyTableReader>(), frequencies);
  const auto sizes = [&](double work) {
    std::string text;
    for (const TestBatch& batch : run_stage<FrequencyTableReader>().with({{"path", frequencies.path()}}).target_work(work).run().batches)
      if (batch.rows() > 0) text += std::to_string(batch.rows());
    return text;
  };
  CHECK(sizes(0) == "1111");
  CHECK(sizes(2) == "22");
  CHECK(sizes(3) == "31");
}

TEST_CASE("every ratio of f5c's table survives reading") {
  const std::string path = SLUICE_SHARED_DIR "/data/ecoli_r9_real/expected/f5c_meth.tsv.gz";
  const std::string table = expected_table::contents(path);
  if (table.empty()) {
    MESSAGE("skipped: no " << path);
    return;
  }
  const Result result = run_stage<MethylationTableReader>().with({{"path", path}}).target_work(7).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  const auto lines = expected_table::lines(table);
  std::size_t line = 1;
  std::size_t differences = 0;
  for (const TestBatch& batch : result.batches)
    for (std::int64_t row = 0; row < batch.rows(); ++row) {
      const auto methylated = batch.view().list<float>("log_lik_methylated")[row];
      const auto unmethylated = batch.view().list<float>("log_lik_unmethylated")[row];
      for (std::size_t i = 0; i < methylated.size(); ++i) {
        const auto fields = expected_table::fields(lines[line++]);
        const std::string ratio = expected_table::printed(static_cast<double>(methylated[i]) - static_cast<double>(unmethylated[i]));
        differences += std::atof(ratio.c_str()) != std::atof(fields[5].c_str());  // as numbers: "-0.00" comes back as "0.00"
        differences += expected_table::printed(static_cast<double>(unmethylated[i])) != fields[7];
      }
    }
  CHECK(line == lines.size());
  CHECK(differences == 0);
}
