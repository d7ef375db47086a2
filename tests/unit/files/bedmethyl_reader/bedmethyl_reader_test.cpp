// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sluice/testing.hpp>
#include <string>

#include "bedmethyl_reader/bedmethyl_line.hpp"

namespace testing = sluice::testing;
using sluice::bedmethyl_reader::BedMethylLine;
using sluice::bedmethyl_reader::parse_bedmethyl;

namespace {

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const loaded = testing::load_plugin(SLUICE_PLUGIN_DIR "/bedmethyl_reader.so");
  return *loaded;
}
std::string problem_of(const std::string& text) {
  BedMethylLine line;
  return parse_bedmethyl(text, line);
}
constexpr const char* tabs = "chr 1\t5\t6\tm\t7\t+\t5\t6\t255,0,0\t7\t57.14\t4\t3\t0\t1\t2\t3\t9";

testing::Result read(const testing::ParameterTexts& parameters) {
  return testing::run_stage(testing::stage_of(plugin(), "bedmethyl_reader"), std::vector<testing::TestBatch>{}).with(parameters).run();
}

}  // namespace

TEST_CASE("lines of modkit's versions and of partitions are read") {
  BedMethylLine line;
  CHECK(parse_bedmethyl(tabs, line).empty());
  CHECK(line.contig == "chr 1");
  CHECK(line.position == 5);
  CHECK(line.strand == "+");
  CHECK(line.modification == "m");
  CHECK(line.counts == std::array<std::int64_t, 7>{4, 3, 0, 1, 2, 3, 9});
  CHECK(line.partition.empty());
  CHECK(parse_bedmethyl("c\t5\t6\tm,CG,0\t7\t.\t5\t6\t255,0,0\t7 57.14 4 3 0 1 2 3 9", line).empty());
  CHECK(line.modification == "m,CG,0");
  CHECK(line.counts[6] == 9);
  for (const std::string partition : {"ungrouped", "lane 1"}) {
    const std::string text = std::string(tabs) + "\t" + partition;  // what the line refers to
    CHECK(parse_bedmethyl(text, line).empty());
    CHECK(line.partition == partition);
  }
}

TEST_CASE("what is no line of bedMethyl is refused with the reason") {
  CHECK(problem_of("chr1\t5\t6") == "it has 3 columns, and bedMethyl has 18");
  CHECK(problem_of("") == "it has 1 columns, and bedMethyl has 18");
  const auto with = [](std::size_t column, const std::string& field) {
    std::string text;
    std::size_t at = 0, index = 0;
    for (const std::string all = tabs; at <= all.size(); ++index) {
      const std::size_t end = std::min(all.find('\t', at), all.size());
      text += (index == 0 ? "" : "\t") + (index == column ? field : all.substr(at, end - at));
      at = end + 1;
    }
    return text;
  };
  CHECK(problem_of(with(0, "")) == "there is no contig");
  CHECK(problem_of(with(1, "-5")) == "the position can't be '-5'");
  CHECK(problem_of(with(5, "x")) == "the strand can't be 'x'");
  CHECK(problem_of(with(14, "1099511627776")).empty());
  CHECK(problem_of(with(11, "1099511627777")) == "a count can't be '1099511627777'");  // sums of such could be none
  CHECK(problem_of(with(11, "5")) == "the coverage is 7, and the calls (modified, canonical, other) are 8");
  CHECK(problem_of(with(9, "6")) == "the coverage is 6, and the calls (modified, canonical, other) are 7");
  CHECK(problem_of(with(9, "x")) == "the coverage can't be 'x'");
  CHECK(problem_of(with(17, "9.5")) == "a count can't be '9.5'");
  CHECK(problem_of(with(11, "99999999999999999999")) == "a count can't be '99999999999999999999'");
  CHECK(problem_of(with(1, "0")).empty());
  CHECK(problem_of(with(1, "1099511627776")).empty());
  CHECK(problem_of(with(1, "1099511627777")) == "the position can't be '1099511627777'");
  CHECK(problem_of(with(1, std::string(70, 'x'))) == "the position can't be '" + std::string(60, 'x') + "'");
  CHECK(problem_of(with(17, "9 8")).empty());  // a partition behind a blank
  CHECK(problem_of(with(17, "9\tgroup\tmore\tcolumns")).empty());
}

TEST_CASE("headings are left out, and contigs whose names begin like one are not") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/sites.bed", line = std::string(tabs).substr(5);
  std::ofstream(path) << "track name=x\nbrowser position x\n"
                      << "chrom\tchromStart\tchromEnd\tname\tscore\n"  // modkit pileup --header
                      << "tracker1" << line << "\nbrowser2" << line << "\n";
  const testing::Result result = read({{"path", path}});
  REQUIRE_MESSAGE(result.ok(), result.message);
  const auto view = result.batch().view();
  REQUIRE(view.rows() == 2);
  CHECK(view.text("contig")[0] == "tracker1");
  CHECK(view.text("contig")[1] == "browser2");
}

TEST_CASE("files are read one after the other, and told apart by their names") {
  const testing::TemporaryFolder folder;
  const std::string first = folder.path() + "/liver.bed", second = folder.path() + "/kidney.bedmethyl";
  std::ofstream(first) << "track name=x\n# c\n" << tabs << "\n\n" << tabs << "\n";
  std::ofstream(second) << tabs << "\r\n";
  const testing::Result result = read({{"path", first + "\n" + second}});
  REQUIRE_MESSAGE(result.ok(), result.message);
  std::string samples, cells;
  for (const testing::TestBatch& batch : result.batches)
    for (std::int64_t row = 0; row < batch.rows(); ++row) samples += std::string(batch.view().text("sample")[row]) + " ";
  CHECK(samples == "liver liver kidney ");
  const sluice::Batch first_rows = result.batches.front().view();
  for (const char* name : {"contig", "strand", "modification", "partition"}) cells += std::string(first_rows.text(name)[0]) + ";";
  for (const char* name : {"position", "modified", "canonical", "other_modified", "deleted", "failed", "different", "no_call"})
    cells += std::to_string(first_rows.column<std::int64_t>(name)[0]) + ";";
  CHECK(cells == "chr 1;+;m;;5;4;3;0;1;2;3;9;");
  const std::string nameless = folder.path() + "/.bed";  // all of its name is an ending
  std::ofstream(nameless) << tabs << "\n";
  CHECK(read({{"path", nameless}}).batch().view().text("sample")[0] == ".bed");
  std::ofstream(second) << "chr1\t5\n";
  CHECK(read({{"path", second}}).message == second + ":1: it has 2 columns, and bedMethyl has 18");
  std::filesystem::create_directory(folder.path() + "/other");
  std::filesystem::copy(first, folder.path() + "/other/liver.bed");
  CHECK(read({{"path", first + "\n" + folder.path() + "/other/liver.bed"}}).message.find("two files are called 'liver'") == 0);
}

TEST_CASE("rows are read from any on, in batches of as many as are asked for") {
  const testing::TemporaryFolder folder;
  const std::string first = folder.path() + "/liver.bed", second = folder.path() + "/kidney.bed";
  const auto line = [](int position) { return "chr1\t" + std::to_string(position) + std::string(tabs).substr(std::string(tabs).find("\t6")) + "\n"; };
  std::ofstream(first) << "# c\n" << line(1) << line(2) << "\n" << line(3);
  std::ofstream(second) << line(4) << "track x\n" << line(5);
  const testing::StageUnderTest source = testing::stage_of(plugin(), "bedmethyl_reader");
  const auto prepare = [&](double work) {
    return [&, work](const testing::StageUnderTest& stage) {
      return testing::StageRun(stage, {}).with({{"path", first + "\n" + second}}).target_work(work);
    };
  };
  CHECK(testing::source_problems(source, prepare(1)) == std::vector<std::string>{});
  const auto sizes = [&](double work) {
    std::string text;
    for (const testing::TestBatch& batch : prepare(work)(source).run().batches)
      if (batch.rows() > 0) text += std::to_string(batch.rows());
    return text;
  };
  CHECK(sizes(0) == "11111");
  CHECK(sizes(2) == "221");
  CHECK(sizes(3) == "32");
}

TEST_CASE("the source keeps the contract of all stages") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/sites.bed";
  std::ofstream file(path);
  for (int i = 0; i < 50; ++i) file << tabs << "\n";
  file.close();
  for (const std::string& problem : testing::contract_problems(plugin(), {{"bedmethyl_reader", {.parameters = {{"path", path}}}}}))
    FAIL_CHECK(problem);
}

TEST_CASE("a table that comes twice in a file is warned of, and one in order is not") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/sites.bed";
  const auto line = [](const char* contig, const char* position) {
    return std::string(contig) + "\t" + position + "\t6\tm\t7\t+\t5\t6\t255,0,0\t7\t57.14\t4\t3\t0\t1\t2\t3\t9\n";
  };
  const auto read_text = [&](const std::string& text) {
    std::ofstream(path) << text;
    return read({{"path", path}});
  };
  const std::string table = line("c1", "5") + line("c1", "5") + line("c1", "9") + line("c2", "3");
  const testing::Result once = read_text(table);
  CHECK(once.rows() == 4);
  CHECK(once.log.empty());
  const testing::Result twice = read_text(table + table);
  CHECK(twice.rows() == 8);
  CHECK(twice.logged("line 5: the sites are not in order any more: is a table in it twice?"));
  CHECK(read_text(line("c1", "9") + line("c1", "5")).logged("line 2: the sites are not in order"));
}
