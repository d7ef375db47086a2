// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <string>

#include "config/params_file.hpp"
#include "config/sample_table.hpp"

using namespace sluice;

namespace {

std::string all(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics.list()) text += diagnostic.text() + "\n";
  return text;
}

std::string params_problem(const std::string& text) {
  Diagnostics diagnostics;
  parse_params(text, "run.toml", diagnostics);
  return all(diagnostics);
}

std::string table_problem(const std::string& text) {
  Diagnostics diagnostics;
  parse_samples(text, "t.tsv", diagnostics);
  return all(diagnostics);
}

}  // namespace

TEST_CASE("a file of parameters has values, lists, and options of the run") {
  Diagnostics diagnostics;
  const ParamsFile params = parse_params("reads = [\"a.fq\", \"b.fq\"]\nk = 15\nf = 0.5\ncigar = true\nrun = \"x\"\n", "run.toml", diagnostics);
  CHECK(all(diagnostics) == "");
  CHECK(params.parameters.at("reads").texts == std::vector<std::string>{"a.fq", "b.fq"});
  CHECK(params.parameters.at("reads").is_list);
  CHECK(params.parameters.at("k").texts == std::vector<std::string>{"15"});
  CHECK(params.parameters.at("cigar").texts == std::vector<std::string>{"true"});
  CHECK(params.parameters.at("f").where.line == 3);
  CHECK(params.parameters.contains("run"));
  const ParamsFile with_run = parse_params("[run]\nthreads = 2\nset = [\"stages.a.device=cpu\"]\n", "run.toml", diagnostics);
  CHECK(with_run.parameters.empty());
  CHECK(with_run.run.at("threads").texts == std::vector<std::string>{"2"});
  CHECK(with_run.run.at("set").is_list);
}

TEST_CASE("what is no value is said with its place") {
  CHECK(params_problem("[reads]\na = 1\n").find("run.toml:1:1: 'reads' must be a string, a number, a boolean or a list of them, not a table") == 0);
  CHECK(params_problem("k = [[1]]\n").find("not an array") != std::string::npos);
  CHECK(params_problem("day = 2024-01-01\n").find("not a date") != std::string::npos);
  CHECK(params_problem("[run]\nthreads = { a = 1 }\n").find("'run.threads' must be") != std::string::npos);
  CHECK(params_problem("k = \n").find("run.toml:1:") == 0);
  CHECK(params_problem(std::string(300 * 1024, '#')).find("bytes") != std::string::npos);
}

TEST_CASE("a table of samples has a name and values for each line") {
  Diagnostics diagnostics;
  const SampleTable table = parse_samples("\xef\xbb\xbf# of today\n\nsample\treads\tk\r\na\ta.fq\t\r\nb.2\tb.fq\t15\n", "t.tsv", diagnostics);
  CHECK(all(diagnostics) == "");
  CHECK(table.columns == std::vector<std::string>{"reads", "k"});
  REQUIRE(table.samples.size() == 2);
  CHECK(table.samples[0].name == "a");
  CHECK(table.samples[0].parameters == std::map<std::string, std::string>{{"reads", "a.fq"}});
  CHECK(table.samples[1].parameters.at("k") == "15");
  CHECK(table.samples[1].where.line == 5);
}

TEST_CASE("what is wrong with a table of samples is said with its line") {
  CHECK(table_problem("").find("there are no samples in it") != std::string::npos);
  CHECK(table_problem("sample\treads\n").find("there are no samples in it") != std::string::npos);
  CHECK(table_problem("name\treads\na\tb\n").find("t.tsv:1: there is no column 'sample'") == 0);
  CHECK(table_problem("sample,reads\na,b\n").find("separated by tabs") != std::string::npos);
  CHECK(table_problem("sample\tk\tk\na\t1\t2\n").find("two columns are called 'k'") != std::string::npos);
  CHECK(table_problem("sample\t\na\tb\n").find("a column has no name") != std::string::npos);
  CHECK(table_problem("sample\tk\na\n").find("t.tsv:2: the line has 1 fields, the first one 2") == 0);
  CHECK(table_problem("sample\tk\na\t1\na\t2\n").find("t.tsv:3: two samples are called 'a'") == 0);
  for (const char* name : {"", "../x", "a/b", ".hidden", "-x", "a b", "\xc3\xa4"})
    CHECK(table_problem("sample\tk\n" + std::string(name) + "\t1\n").find("a sample can't be called '" + std::string(name)) != std::string::npos);
  CHECK(table_problem(std::string("sample\tk\na\0\t1\n", 14)).find("zero byte") != std::string::npos);
  std::string many = "sample\n";
  for (int i = 0; i < 1001; ++i) many += std::to_string(i) + "\n";
  CHECK(table_problem(many).find("more than 1000 samples") != std::string::npos);
}

TEST_CASE("{sample} becomes the name, wherever and however often it stands") {
  CHECK(with_sample("out/{sample}.bam", "a") == "out/a.bam");
  CHECK(with_sample("{sample}{sample}", "{sample}") == "{sample}{sample}");
  CHECK(with_sample("{samples}", "a") == "{samples}");
}
