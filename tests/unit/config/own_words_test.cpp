// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/own_words.hpp"

#include <doctest/doctest.h>

namespace sluice {
namespace {

using Arguments = std::vector<std::string>;

WrittenPipeline pipeline_of(const std::string& head) {
  Diagnostics diagnostics;
  WrittenPipeline pipeline = parse_pipeline("[pipeline]\nname = \"p\"\n" + head + R"(
[parameters.reference]
type = "path"
required = true
[parameters.reads]
type = "path"
several = true
default = "-"
[parameters.output]
type = "path"
default = "-"
[parameters.k]
type = "int"
default = 15
[parameters.gap_open]
type = "int"
default = 4
[parameters.long_gap_open]
type = "int"
default = 24
[parameters.cigar]
type = "bool"
default = false
[parameters.format]
type = "choice"
choices = ["paf", "sam"]
default = "paf"
[stages.reads]
use = "read_bases"
)",
                                            "p.toml", diagnostics);
  REQUIRE_FALSE(diagnostics.has_errors());
  return pipeline;
}

Arguments own(const Arguments& arguments, const std::string& head = "positionals = [\"reference\", \"reads\"]\n") {
  const WrittenPipeline pipeline =
      pipeline_of(head +
                  "[pipeline.habits]\n-a = \"--format sam\"\n-c = \"--cigar\"\n-O = \"--gap-open --long-gap-open\"\n-E = \"--gap-open "
                  "--long-gap-open+\"\n-2 = \"nothing: it is so\"\n"
                  "--slow5 = \"--reads\"\n-K = \"see --threads\"\n-uf = \"nothing yet\"\n-u = \"nothing yet\"\n"
                  "-x = \"--format\"\n\"-x long\" = \"--format sam\"\n\"-x short\" = \"long reads only\"\n-I = \"nothing VALUE: it is so\"\n"
                  "\"--cs=long\" = \"--cigar\"\n");
  return in_own_words(arguments, pipeline, [&](const std::string& option) {
    for (const PipelineParameter& p : pipeline.parameters)
      if ("--" + kebab_case(p.name) == option) return p.type != SLUICE_BOOL;
    return option == "--threads";
  });
}

TEST_CASE("values without an option are those of the positionals, and what is over belongs to the one that may have several") {
  CHECK(own({"ref.fa", "a.fq"}) == Arguments{"--reference", "ref.fa", "--reads", "a.fq"});
  CHECK(own({"ref.fa"}) == Arguments{"--reference", "ref.fa"});
  CHECK(own({"ref.fa", "a.fq", "b.fq", "-"}) == Arguments{"--reference", "ref.fa", "--reads", "a.fq", "--reads", "b.fq", "--reads", "-"});
  CHECK(own({"--reference", "ref.fa", "a.fq"}) == Arguments{"--reference", "ref.fa", "--reads", "a.fq"});
  CHECK(own({"--reference=ref.fa", "a.fq"}) == Arguments{"--reference=ref.fa", "--reads", "a.fq"});
  CHECK(own({"a.fq", "out"}, "positionals = [\"reads\", \"output\"]\n") == Arguments{"--reads", "a.fq", "--output", "out"});
  CHECK(own({"a", "b", "out"}, "positionals = [\"reads\", \"output\"]\n") == Arguments{"--reads", "a", "--reads", "b", "--output", "out"});
  CHECK(own({"out", "ref.fa"}, "positionals = [\"output\", \"reads\", \"reference\"]\n") == Arguments{"--output", "out", "--reference", "ref.fa"});
  CHECK(own({"x"}, "") == Arguments{"x"});
  CHECK(own({"ref.fa", "out", "x"}, "positionals = [\"reference\", \"output\"]\n") == Arguments{"--reference", "ref.fa", "--output", "out", "x"});
}

TEST_CASE("further values of an option that may be repeated are its own") {
  CHECK(own({"--reads", "a.fq", "b.fq", "-c", "ref.fa"}) == Arguments{"--reads", "a.fq", "--reads", "b.fq", "--cigar", "--reference", "ref.fa"});
  CHECK(own({"--reads=a.fq", "b.fq"}) == Arguments{"--reads=a.fq", "--reads", "b.fq"});
}

TEST_CASE("letters are taken apart as getopt does") {
  CHECK(own({"-ac"}) == Arguments{"--format", "sam", "--cigar"});
  CHECK(own({"-k15"}) == Arguments{"--k", "15"});
  CHECK(own({"-ck", "15", "ref.fa"}) == Arguments{"--cigar", "--k", "15", "--reference", "ref.fa"});
  CHECK(own({"-t8", "-o", "x.paf"}) == Arguments{"--threads", "8", "--output", "x.paf"});
  CHECK(own({"-O4,24"}) == Arguments{"--gap-open", "4", "--long-gap-open", "24"});
  CHECK(own({"-O", "6"}) == Arguments{"--gap-open", "6"});
  CHECK(own({"-2c"}) == Arguments{"--cigar"});
  CHECK(own({"-k"}) == Arguments{"--k"});
}

TEST_CASE("long options of other programs are replaced with their values") {
  CHECK(own({"--slow5", "x"}) == Arguments{"--reads", "x"});
  CHECK(own({"--slow5=x"}) == Arguments{"--reads", "x"});
}

TEST_CASE("where another program takes one value for two options, both are given") {
  CHECK(own({"-O", "6"}) == Arguments{"--gap-open", "6"});
  CHECK(own({"-E", "6"}) == Arguments{"--gap-open", "6", "--long-gap-open", "6"});
  CHECK(own({"-E6,7"}) == Arguments{"--gap-open", "6", "--long-gap-open", "7"});
}

TEST_CASE("what means something else here stays, to be answered") {
  CHECK(own({"-K", "500M"}) == Arguments{"-K", "--reference", "500M"});
  CHECK(own({"-cK", "x"}) == Arguments{"--cigar", "-K", "--reference", "x"});
  CHECK(own({"-uf"}) == Arguments{"-uf"});
  CHECK(own({"-h"}) == Arguments{"-h"});
  CHECK(own({"--unknown", "x"}, "") == Arguments{"--unknown", "x"});
}

TEST_CASE("a habit is replaced, dropped or answered by its text") {
  for (const char* text : {"--format sam", "--cigar", "--gap-open --long-gap-open"}) CHECK(kind_of_habit(text) == HabitKind::replaced);
  CHECK(kind_of_habit("nothing: it is so") == HabitKind::dropped);
  for (const char* text : {"see --threads", "--a or --b", "--a FILE for x, --b FILE for y", "nothing yet: not there", "'sluice overlap'"})
    CHECK(kind_of_habit(text) == HabitKind::answered);
}

TEST_CASE("positionals are parameters that have values") {
  Diagnostics diagnostics;
  parse_pipeline("[pipeline]\nname = \"p\"\npositionals = [\"x\", \"cigar\"]\n[parameters.cigar]\ntype = \"bool\"\n[stages.s]\nuse = \"s\"\n",
                 "p.toml", diagnostics);
  REQUIRE(diagnostics.list().size() == 2);
  CHECK(diagnostics.list()[0].text() == "p.toml:3:16: positionals: there is no parameter 'x' that has a value");
}

TEST_CASE("a value of another program's option may mean something of its own, and one that changes nothing is taken with its value") {
  CHECK(own({"-x", "long", "ref.fa"}) == Arguments{"--format", "sam", "--reference", "ref.fa"});
  CHECK(own({"-cx", "long", "ref.fa"}) == Arguments{"--cigar", "--format", "sam", "--reference", "ref.fa"});
  CHECK(own({"-xpaf", "ref.fa"}) == Arguments{"--format", "paf", "--reference", "ref.fa"});
  CHECK(own({"-x", "short", "ref.fa"}) == Arguments{"-x short", "--reference", "ref.fa"});
  CHECK(own({"-I", "8G", "-I4g", "ref.fa"}) == Arguments{"--reference", "ref.fa"});
  CHECK(own({"--cs=long", "ref.fa"}) == Arguments{"--cigar", "--reference", "ref.fa"});
}

TEST_CASE("a former name is taken for the present one") {
  const WrittenPipeline pipeline = pipeline_of("[parameters.genome]\ntype = \"path\"\nformerly = \"target\"\n");
  const auto takes_value = [](const std::string& option) { return option == "--genome"; };
  CHECK(in_own_words({"--target", "x.fa"}, pipeline, takes_value) == Arguments{"--genome", "x.fa"});
  CHECK(in_own_words({"--target=x.fa"}, pipeline, takes_value) == Arguments{"--genome", "x.fa"});
  CHECK(pipeline.present_name("target") == "genome");
  CHECK(pipeline.present_name("output") == "output");
}

}  // namespace
}  // namespace sluice
