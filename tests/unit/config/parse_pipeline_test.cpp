// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "config/pipeline.hpp"

using namespace sluice;

namespace {

std::vector<std::string> problems_of(const std::string& text) {
  Diagnostics diagnostics;
  parse_pipeline(text, "p.toml", diagnostics);
  std::vector<std::string> result;
  for (const Diagnostic& diagnostic : diagnostics.list()) result.push_back(diagnostic.text());
  return result;
}

std::string repeated(const std::string& part, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += part;
  return result;
}

const std::string head = "[pipeline]\nname = \"p\"\n[stages.a]\nuse = \"reader\"\n";

}  // namespace

TEST_CASE("a pipeline file is read in file order with the place of everything") {
  Diagnostics diagnostics;
  const WrittenPipeline p = parse_pipeline(R"([pipeline]
name = "methylation"
summary = "calls"
[parameters.reads]
type = "path"
required = true
help = "the reads"
[parameters.min_mapq]
type = "int"
default = 20
minimum = 0
maximum = 255
[resources.reference]
use = "genome"
params = { path = "${reads}" }
[stages.zebra]
use = "reader"
[stages.ape]
use = "detect"
inputs = ["zebra"]
params.window = 3
params.threshold = 1.5
enabled = "${reads}"
)",
                                           "p.toml", diagnostics);
  CHECK(diagnostics.list().empty());
  CHECK(p.name == "methylation");
  REQUIRE(p.parameters.size() == 2);
  CHECK(p.parameters[0].name == "reads");
  CHECK(p.parameters[0].required);
  CHECK(p.parameters[1].default_text == "20");
  CHECK(p.parameters[1].maximum == 255);
  REQUIRE(p.stages.size() == 2);
  CHECK(p.stages[0].name == "zebra");
  CHECK_FALSE(p.stages[0].inputs);
  CHECK(p.stages[1].params.at("window").text == "3");
  CHECK(p.stages[1].params.at("window").where.line == 21);
  CHECK(p.stages[1].params.at("window").where.column == 17);
  CHECK(p.stages[1].params.at("threshold").text == "1.5");
  CHECK(p.resources.at(0).params.at("path").text == "${reads}");
}

TEST_CASE("every problem of the form is reported at once, with its place and remedy") {
  const auto problems = problems_of(R"([pipeline]
name = "p"
sumary = "x"
[parameters.threads]
type = "int"
[parameters.Bad]
type = "flot"
[parameters.c]
type = "choice"
[stages.a]
uses = "reader"
[stages.b]
use = 3
inputs = [1]
params = "none"
[stges.c]
)");
  REQUIRE(problems.size() == 11);
  CHECK(problems[0] == "p.toml:3:1: [pipeline]: unknown key 'sumary' (did you mean 'summary'?)");
  CHECK(problems[1].find("'sluice run' has an option --threads") != std::string::npos);
  CHECK(problems[3].find("unknown type 'flot'") != std::string::npos);
  CHECK(problems[5].find("p.toml:10:") == 0);
  CHECK(problems[6].find("unknown key 'uses' (did you mean 'use'?)") != std::string::npos);
  CHECK(problems[7].find("stage 'b': 'use' must be the id of a stage type, as a string, not an integer") != std::string::npos);
  CHECK(problems[8].find("an input must be the name of a stage, not an integer") != std::string::npos);
  CHECK(problems[9].find("'params' must be a table, not a string") != std::string::npos);
  CHECK(problems[10].find("unknown key 'stges' (did you mean 'stages'?)") != std::string::npos);
}

TEST_CASE("text that is not TOML is one error with its place") {
  for (const std::string text : {"[pipeline\n", "a = 1\na = 2\n", "a = \"\xff\xfe\"", "= 3", "a = [1, 2", "\x01"}) {
    const auto problems = problems_of(text);
    CAPTURE(text);
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].starts_with("p.toml:"));
    CHECK(problems[0].find('\n') == std::string::npos);
  }
}

TEST_CASE("hostile nesting and size end in an error, not in a crash") {
  for (const std::string& text :
       {repeated("[", 100000), "a = " + repeated("[", 100000), repeated("a.", 100000) + "b = 1", "x = " + repeated("{ a = ", 5000),
        repeated("a", 300000), "a = \"\"\"" + repeated("\"\"\\", 1000), "[" + repeated("a.", 60000) + "a]"}) {
    const auto problems = problems_of(text);
    CHECK(problems.size() == 1);
  }
}

TEST_CASE("dots in help texts and comments are not nesting") {
  CHECK(problems_of("# " + repeated(".", 200) + "\n" + head + "[parameters.x]\ntype = \"int\"\nhelp = \"" + repeated("a.b ", 100) + "\"\n").empty());
  CHECK(problems_of(head + "[parameters.x]\ntype = \"int\"\nhelp = '''" + repeated("[{.", 100) + "'''\n").empty());
}

TEST_CASE("an empty file says what is missing") {
  const auto problems = problems_of("");
  REQUIRE(problems.size() == 1);
  CHECK(problems[0] == "p.toml: there is no [pipeline] table (begin with [pipeline] and name = \"...\")");
}

TEST_CASE("a pipeline file that is not there is an error with its name") {
  Diagnostics diagnostics;
  load_pipeline_file("/nonexistent/p.toml", diagnostics);
  REQUIRE(diagnostics.list().size() == 1);
  CHECK(diagnostics.list()[0].text().starts_with("/nonexistent/p.toml: "));
}

TEST_CASE("a folder is no pipeline file") {
  Diagnostics diagnostics;
  load_pipeline_file("/tmp", diagnostics);
  CHECK(diagnostics.has_errors());
}

TEST_CASE("advice is about one reason or several, and what is about one goes first") {
  Diagnostics diagnostics;
  const WrittenPipeline p = parse_pipeline(head + R"([advice]
unmapped = "another reference?"
flat = "own words"
[advice.damaged]
say = "convert it again"
when = ["corrupt", "flat"]
)",
                                           "p.toml", diagnostics);
  CHECK(diagnostics.list().empty());
  CHECK((p.advice == std::map<std::string, std::string>{{"unmapped", "another reference?"}, {"flat", "own words"}, {"corrupt", "convert it again"}}));
  CHECK(problems_of(head + "[advice]\na = 1\n").at(0).find("advice.a must be what to check") != std::string::npos);
  CHECK(problems_of(head + "[advice.a]\nsay = \"x\"\n").at(0).find("advice 'a': it lacks what to say or when") != std::string::npos);
  CHECK(problems_of(head + "[advice.a]\nsay = \"x\"\nwhen = [1]\n").at(0).find("when: a reason must be a string") != std::string::npos);
  CHECK(problems_of(head + "[advice.a]\nsay = \"x\"\nwhen = [\"y\"]\nwhy = \"z\"\n").at(0).find("why") != std::string::npos);
}

TEST_CASE("what is usual of a stage is a share, and of resources nothing") {
  Diagnostics diagnostics;
  const WrittenPipeline p = parse_pipeline(head + "usual_share = 0.4\nusual_share_at_end = 0\n", "p.toml", diagnostics);
  CHECK(diagnostics.list().empty());
  CHECK(p.stages.at(0).usual_share.calls == 0.4);
  CHECK(p.stages.at(0).usual_share.at_end == 0);
  for (const char* wrong : {"0.96", "-0.1", "inf", "nan", "\"x\""})
    CHECK(problems_of(head + "usual_share = " + wrong + "\n").at(0).find("usual_share") != std::string::npos);
  CHECK(problems_of(head + "[resources.r]\nuse = \"x\"\nusual_share = 0.4\n").at(0).find("usual_share") != std::string::npos);
}
