// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "pipeline_files.hpp"

using namespace sluice;
namespace fs = std::filesystem;

namespace {

constexpr const char* fragment = R"([parameters.width]
type = "int"
default = 3
minimum = 1
[resources.genome]
use = "reference"
[stages.detect]
use = "detector"
params = { window = "${width}", threshold = 2 }
[stages.count]
use = "counter"
)";

// A pipeline that includes this list of files, with the rest of its text.
std::string including(const std::string& list, const std::string& rest = "") {
  return "[pipeline]\nname = \"over\"\ninclude = [" + list + "]\n" + rest;
}
constexpr const char* own_stages = "[stages.read]\nuse = \"reader\"\n[stages.detect]\n[stages.write]\nuse = \"writer\"\n";

template <class Entry>
std::vector<std::string> names(const std::vector<Entry>& entries) {
  std::vector<std::string> list;
  for (const Entry& entry : entries) list.push_back(entry.name);
  return list;
}
using Names = std::vector<std::string>;

// What is said of a file that includes parts.toml.
std::string problems_of(const std::string& rest, const std::string& list = "\"parts.toml\"") {
  Files files;
  files.write("parts.toml", fragment);
  files.write("over.toml", including(list, rest));
  files.load("over.toml");
  return files.problems();
}

}  // namespace

TEST_CASE("the entries of a fragment stand where the file names one of them first") {
  Files files;
  files.write("parts.toml", fragment);
  files.write("over.toml", including("\"parts.toml\"", std::string("[parameters.reads]\ntype = \"path\"\n") + own_stages));
  const WrittenPipeline p = files.load("over.toml");
  CHECK(files.problems() == "");
  CHECK(names(p.stages) == Names{"read", "detect", "count", "write"});
  CHECK(names(p.parameters) == Names{"reads", "width"});
  CHECK(names(p.resources) == Names{"genome"});
  CHECK(p.parts.size() == 1);
  CHECK(fs::path(p.stages[1].where.file).filename() == "parts.toml");
}

TEST_CASE("a fragment whose entries are not named stands in front, its parameters behind") {
  Files files;
  files.write("parts.toml", fragment);
  files.write("over.toml", including("\"parts.toml\"", "[parameters.reads]\ntype = \"path\"\n[stages.write]\nuse = \"writer\"\n"));
  const WrittenPipeline p = files.load("over.toml");
  CHECK(names(p.stages) == Names{"detect", "count", "write"});
  CHECK(names(p.parameters) == Names{"reads", "width"});
}

TEST_CASE("a fragment's entries are changed, replaced and removed by name") {
  Files files;
  files.write("parts.toml", fragment);
  files.write("over.toml", including("\"parts.toml\"",
                                     "[parameters.width]\ndefault = 7\n[resources.genome]\nuse = \"other\"\nreplace = true\n"
                                     "[stages.detect]\nparams.threshold = 5\n[stages.count]\nremove = true\n"));
  const WrittenPipeline p = files.load("over.toml");
  CHECK(files.problems() == "");
  CHECK(p.parameters.at(0).default_text == "7");
  CHECK(p.parameters.at(0).minimum == 1);
  CHECK(p.resources.at(0).use == "other");
  REQUIRE(p.stages.size() == 1);
  CHECK(p.stages[0].params.at("threshold").text == "5");
  CHECK(p.stages[0].params.at("window").text == "${width}");
}

TEST_CASE("a name that an included file has is not taken silently") {
  CHECK(problems_of("[stages.detect]\nuse = \"other\"\n").find("over.toml:4:9: stage 'detect': the name is taken by") == 0);
  CHECK(problems_of("[stages.detect]\nuse = \"other\"\n").find("replace = true") != std::string::npos);
  CHECK(problems_of("[parameters.width]\ntype = \"float\"\n").find("parameter 'width': the name is taken by") != std::string::npos);
  CHECK(problems_of("[stages.detct]\nparams.threshold = 1\n") ==
        "over.toml:4:9: stage 'detct': 'parts.toml' has none of that name to change (did you mean 'detect'?)\n");
  CHECK(problems_of("[stages.mine]\nuse = \"x\"\nreplace = true\n").find("'parts.toml' has none of that name to replace") != std::string::npos);
  CHECK(problems_of("[stages.detect]\nreplace = true\n").find("'replace' is for a whole entry") != std::string::npos);
  CHECK(problems_of("[stages.detect]\nuse = \"x\"\nreplace = 3\n").find("'replace' must be true") != std::string::npos);
}

TEST_CASE("two fragments may not bring the same name, and what both include is brought once") {
  Files files;
  files.write("common.toml", "[resources.genome]\nuse = \"reference\"\n");
  files.write("a.toml", "[pipeline]\ninclude = [\"common.toml\"]\n[stages.one]\nuse = \"x\"\n");
  files.write("b.toml", "[pipeline]\nsummary = \"of its own\"\ninclude = \"common.toml\"\n[stages.two]\nuse = \"y\"\n");
  files.write("over.toml", including("\"a.toml\", \"b.toml\""));
  const WrittenPipeline p = files.load("over.toml");
  CHECK(files.problems() == "");
  CHECK(names(p.stages) == Names{"one", "two"});
  CHECK(names(p.resources) == Names{"genome"});
  CHECK(p.summary.empty());
  CHECK(p.parts.size() == 3);

  Files clash;
  clash.write("a.toml", "[stages.one]\nuse = \"x\"\n");
  clash.write("b.toml", "\n[stages.one]\nuse = \"y\"\n");
  clash.write("over.toml", including("\"a.toml\", \"b.toml\""));
  clash.load("over.toml");
  CHECK(clash.problems() == "b.toml:2:9: stage 'one': it is taken over from two files: it is in a.toml:1, too (give one of them another name)\n");
}

TEST_CASE("a fragment lies beside the file or in parts, and goes well with extends") {
  Files files;
  files.write("base.toml", "[pipeline]\nname = \"base\"\n[parameters.reads]\ntype = \"path\"\n[stages.read]\nuse = \"reader\"\n");
  files.write("parts/parts.toml", fragment);
  files.write("over.toml", "[pipeline]\nname = \"over\"\nextends = \"base.toml\"\ninclude = [\"parts\"]\n[stages.detect]\ninputs = [\"read\"]\n");
  const WrittenPipeline p = files.load("over.toml");
  CHECK(files.problems() == "");
  CHECK(names(p.stages) == Names{"read", "detect", "count"});
  CHECK(names(p.parameters) == Names{"reads", "width"});
}

TEST_CASE("files that are not there, circles and wrong kinds are said with their place") {
  CHECK(problems_of("", "\"part.toml\"") == "over.toml:3:12: there is no file 'part.toml' to include (did you mean 'parts.toml'?)\n");
  CHECK(problems_of("", "3") == "over.toml:3:12: what is included must be the name of a file, as a string (write include = [\"FILE\"])\n");
  CHECK(problems_of("", "\"/nowhere/at/all.toml\"").find("there is no file '/nowhere/at/all.toml' to include") != std::string::npos);
  Files files;
  files.write("a.toml", including("\"b.toml\""));
  files.write("b.toml", "[pipeline]\ninclude = [\"a.toml\"]\n");
  files.load("a.toml");
  CHECK(files.problems() == "b.toml:2:12: the files include each other in a circle: a.toml -> b.toml -> a.toml (take one of the includes out)\n");
  Files self;
  self.write("a.toml", including("\"a.toml\""));
  self.load("a.toml");
  CHECK(self.problems().find("in a circle: a.toml -> a.toml") != std::string::npos);
  Files broken;
  broken.write("b.toml", "[stages.x\n");
  broken.write("a.toml", including("\"b.toml\""));
  broken.load("a.toml");
  CHECK(broken.problems().find("b.toml:1:") == 0);
  Files unknown;
  unknown.write("b.toml", "[pipeline]\nnmae = \"x\"\n[stage.x]\nuse = \"y\"\n");
  unknown.write("a.toml", including("\"b.toml\"", "[stages.read]\nuse = \"reader\"\n"));
  unknown.load("a.toml");
  CHECK(unknown.problems().find("b.toml:2:1: [pipeline]: unknown key 'nmae'") != std::string::npos);
  CHECK(unknown.problems().find("unknown key 'stage'") != std::string::npos);
}

TEST_CASE("a long chain of files ends with a word") {
  Files files;
  for (int i = 0; i < 70; ++i) files.write(std::to_string(i) + ".toml", "[pipeline]\ninclude = [\"" + std::to_string(i + 1) + ".toml\"]\n");
  files.write("70.toml", fragment);
  files.load("0.toml");
  CHECK(files.problems().find("64.toml:2:12: the pipeline is made of more than 64 files (include fewer)") != std::string::npos);
}
