// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "pipeline_files.hpp"

using namespace sluice;
namespace fs = std::filesystem;

namespace {

constexpr const char* base = R"([pipeline]
name = "base"
summary = "what is shipped"
[parameters.reads]
type = "path"
required = true
help = "the reads"
[parameters.width]
type = "int"
default = 3
minimum = 1
[resources.genome]
use = "reference"
params = { path = "x" }
[stages.read]
use = "reader"
[stages.detect]
use = "detector"
params = { window = "${width}", threshold = 2 }
[stages.write]
use = "writer"
)";

}  // namespace

TEST_CASE("a file takes over another, changes entries, adds some, and removes one") {
  Files files;
  files.write("base.toml", base);
  files.write("over.toml", R"([pipeline]
name = "over"
extends = "base.toml"
[parameters.width]
default = 5
[resources.genome]
params.path = "y"
[stages.detect]
inputs = ["read"]
params.threshold = 4
[stages.write]
remove = true
[stages.table]
use = "table"
inputs = ["detect"]
)");
  const WrittenPipeline p = files.load("over.toml");
  CHECK(files.problems() == "");
  CHECK(p.name == "over");
  CHECK(p.summary == "what is shipped");
  CHECK(p.file.filename() == "over.toml");
  REQUIRE(p.parameters.size() == 2);
  CHECK(p.parameters[1].default_text == "5");
  CHECK(p.parameters[1].minimum == 1);
  CHECK(p.resources.at(0).params.at("path").text == "y");
  REQUIRE(p.stages.size() == 3);
  CHECK(p.stages[1].params.at("window").text == "${width}");
  CHECK(p.stages[1].params.at("threshold").text == "4");
  CHECK(p.stages[1].inputs.has_value());
  CHECK(p.stages[2].name == "table");
  // A place is in the file that says it.
  CHECK(fs::path(p.stages[1].params.at("window").where.file).filename() == "base.toml");
  CHECK(fs::path(p.stages[1].params.at("threshold").where.file).filename() == "over.toml");
}

TEST_CASE("an entry with a type of its own takes the base's place whole") {
  Files files;
  files.write("base.toml", base);
  CHECK(files.problems_of("[stages.detect]\nuse = \"other\"\n[parameters.width]\ntype = \"float\"\n") == "");
  const WrittenPipeline p = files.load("over.toml");
  CHECK(p.stages.at(1).use == "other");
  CHECK(p.stages.at(1).params.empty());
  CHECK(p.parameters.at(1).type == SLUICE_FLOAT);
  CHECK_FALSE(p.parameters.at(1).minimum.has_value());
}

TEST_CASE("a pipeline that is extended may extend another") {
  Files files;
  files.write("base.toml", base);
  files.write("middle.toml", "[pipeline]\nname = \"middle\"\nextends = \"base.toml\"\n[stages.write]\nremove = true\n");
  files.write("top.toml", "[pipeline]\nname = \"top\"\nextends = \"middle.toml\"\n[stages.detect]\nparams.threshold = 9\n");
  const WrittenPipeline p = files.load("top.toml");
  CHECK(files.problems() == "");
  REQUIRE(p.stages.size() == 2);
  CHECK(p.stages[1].params.at("threshold").text == "9");
}

TEST_CASE("what is wrong with an extension is said with its line and a remedy") {
  Files files;
  files.write("base.toml", base);
  CHECK(files.problems_of("[stages.detct]\nparams.threshold = 4\n") ==
        "over.toml:4:9: stage 'detct': 'base.toml' has none of that name to change (did you mean 'detect'?)\n");
  CHECK(files.problems_of("[stages.histogram]\ninputs = [\"read\"]\n") ==
        "over.toml:4:9: stage 'histogram': 'base.toml' has none of that name to change (add use = \"...\" to make a new one)\n");
  CHECK(files.problems_of("[parameters.widht]\ndefault = 4\n") ==
        "over.toml:4:13: parameter 'widht': 'base.toml' has none of that name to change (did you mean 'width'?)\n");
  CHECK(files.problems_of("[stages.wrtie]\nremove = true\n") ==
        "over.toml:4:9: stage 'wrtie': 'base.toml' has none of that name to remove (did you mean 'write'?)\n");
  CHECK(files.problems_of("[stages.write]\nremove = true\ndevice = \"cpu\"\n") ==
        "over.toml:5:10: stage 'write': 'remove' goes with nothing else, and must be true (leave out the rest, or 'remove')\n");
  CHECK(files.problems_of("[stages.detect]\nparms.threshold = 4\n").find("unknown key 'parms' (did you mean 'params'?)") != std::string::npos);
  CHECK(files.problems_of("[presets]\nfast = 3\n").find("preset 'fast' must be a table") != std::string::npos);
  CHECK(files.problems_of("[stages]\nread = 3\n").find("stage 'read' must be a table") != std::string::npos);
  CHECK(files.problems_of("[stages.read]\nremove = true\n[stages.detect]\nremove = true\n[stages.write]\nremove = true\n").find("no stages") !=
        std::string::npos);
}

TEST_CASE("a base that is not there, and pipelines that extend each other, are said") {
  Files files;
  files.write("over.toml", "[pipeline]\nname = \"over\"\nextends = \"nowhere.toml\"\n");
  files.load("over.toml");
  CHECK(files.problems() == "over.toml:3:11: there is no pipeline file 'nowhere.toml' (check the path)\n");
  Files others;
  others.write("a.toml", "[pipeline]\nname = \"a\"\nextends = \"b.toml\"\n");
  others.write("b.toml", "[pipeline]\nname = \"b\"\nextends = \"a.toml\"\n");
  others.load("a.toml");
  CHECK(others.problems() ==
        "b.toml:3:11: the pipelines extend each other in a circle: a.toml -> b.toml -> a.toml (one of them has to stand alone)\n");
  Files kind;
  kind.write("a.toml", "[pipeline]\nname = \"a\"\nextends = 3\n");
  kind.load("a.toml");
  CHECK(kind.problems() == "a.toml:3:11: 'extends' must be the name of a pipeline, as a string\n");
}
