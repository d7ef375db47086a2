// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>

#include "example_stages.hpp"

using example::resolve;
using Names = std::vector<std::string>;

namespace {

// A pipeline with an optional branch (sites), as the shipped ones have.
const std::string methylation = R"([pipeline]
name = "m"
[parameters.reads]
type = "path"
required = true
help = "the reads"
[parameters.window]
type = "int"
default = 3
[parameters.frequency]
type = "path"
[parameters.rna]
type = "bool"
[resources.levels]
use = "model"
resources.contigs = "reference"
[resources.reference]
use = "genome"
[resources.spare]
use = "genome"
[stages.read]
use = "reader"
params.path = "${reads}"
[stages.events]
use = "detect"
resources.model = "levels"
params = { window = "${window}", rna = "${rna}", label = "x-${reads}", cache = "1 KiB" }
[stages.table]
use = "write_reads"
params.output = "${reads}.tsv"
[stages.sites]
use = "count"
[stages.frequencies]
use = "write_sites"
enabled = "${frequency}"
params.output = "${frequency}"
)";

sluice::Overrides with(std::map<std::string, std::string> parameters, std::vector<std::string> set = {}) {
  sluice::Overrides overrides;
  overrides.parameters = std::move(parameters);
  overrides.set = std::move(set);
  return overrides;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("parameters flow into stages with their types, and resources come in the order in which they can be made") {
  const auto outcome = resolve(methylation, with({{"reads", "r.bam"}, {"window", "5"}, {"frequency", "f.tsv"}}));
  REQUIRE_MESSAGE(outcome.problems.empty(), outcome.problems.front());
  CHECK(outcome.stage_names() == Names{"read", "events", "table", "sites", "frequencies"});
  CHECK(outcome.edges() == Names{"events<-read", "table<-events", "sites<-events", "frequencies<-sites"});
  REQUIRE(outcome.pipeline.resources.size() == 2);
  CHECK(outcome.pipeline.resources[0].name == "reference");
  CHECK(outcome.pipeline.resources[1].resources == std::vector<int>{0});
  const auto& events = outcome.pipeline.stages[1];
  CHECK(events.resources == std::vector<int>{1, -1});
  CHECK(events.values[0].integer == 5);
  CHECK(events.values[1].is_set == 0);
  CHECK(std::string(events.values[2].text) == "x-r.bam");
  CHECK(events.values[3].is_set == 0);
  CHECK(events.values[4].integer == 1024);
  CHECK(outcome.pipeline.stages[0].values[1].integer == 20);
  CHECK(outcome.pipeline.connected);
}

TEST_CASE("a branch whose sink is disabled vanishes with the stages that only fed it") {
  const auto outcome = resolve(methylation, with({{"reads", "r.bam"}}));
  CHECK(outcome.problems.empty());
  CHECK(outcome.stage_names() == Names{"read", "events", "table"});
}

TEST_CASE("a stage may depend on a parameter's value") {
  for (const char* sign : {"==", "!="}) {
    const std::string text = replaced(methylation, "use = \"detect\"\n", std::string("use = \"detect\"\nenabled = \"${window} ") + sign + " 5\"\n");
    CHECK(resolve(text, with({{"reads", "r.bam"}, {"window", "5"}})).stage_names().size() == (*sign == '=' ? 3U : 2U));
    CHECK(resolve(text, with({{"reads", "r.bam"}, {"window", "4"}})).stage_names().size() == (*sign == '=' ? 2U : 3U));
    const std::string either = replaced(text, " 5\"\n", " 5|6\"\n");
    for (const char* window : {"5", "6"})
      CHECK(resolve(either, with({{"reads", "r.bam"}, {"window", window}})).stage_names().size() == (*sign == '=' ? 3U : 2U));
    CHECK(resolve(either, with({{"reads", "r.bam"}, {"window", "4"}})).stage_names().size() == (*sign == '=' ? 2U : 3U));
  }
}

TEST_CASE("consumers of a disabled map read from its inputs") {
  const auto outcome = resolve(methylation, with({{"reads", "r.bam"}}, {"stages.events.enabled=false"}));
  CHECK(outcome.problems.empty());
  CHECK(outcome.edges() == Names{"table<-read"});
  CHECK(outcome.pipeline.resources.empty());
}

TEST_CASE("consumers of a disabled regroup read from its inputs where its rows are of the same type, else they vanish") {
  const std::string text = replaced(methylation, "[stages.table]", "[stages.again]\nuse = \"hold\"\n[stages.table]");
  CHECK(resolve(text, with({{"reads", "r.bam"}})).edges() == Names{"events<-read", "again<-events", "table<-again"});
  const auto outcome = resolve(text, with({{"reads", "r.bam"}}, {"stages.again.enabled=false"}));
  CHECK(outcome.problems.empty());
  CHECK(outcome.edges() == Names{"events<-read", "table<-events"});
  CHECK(resolve(text, with({{"reads", "r.bam"}, {"frequency", "f.tsv"}}, {"stages.sites.enabled=false"})).stage_names() ==
        Names{"read", "events", "again", "table"});
}

TEST_CASE("a stage that loses all its inputs vanishes, and an empty pipeline is an error") {
  const auto outcome = resolve(methylation, with({{"reads", "r.bam"}}, {"stages.read.enabled=false"}));
  CHECK(outcome.stage_names().empty());
  CHECK(outcome.says("every stage is disabled"));
}

TEST_CASE("all wrong values are reported together, each where it was written") {
  const auto outcome =
      resolve(replaced(methylation, "cache = \"1 KiB\"", "cache = \"much\", windo = 3, threshold = \"${nosuch}\""), with({{"window", "11"}}));
  CHECK(outcome.says("command line: --reads is required: the reads (add --reads FILE)"));
  CHECK(outcome.says("command line: stage 'events': --window: 11 is out of range (give a value from 1 to 10)"));
  CHECK(outcome.says("test.toml:27:"));
  CHECK(outcome.says("stage 'events': parameter 'cache': 'much' is not a size"));
  CHECK(outcome.says("stage 'events': unknown parameter 'windo' (did you mean 'window'?)"));
  CHECK(outcome.says("stage 'events': parameter 'threshold': unknown parameter '${nosuch}'"));
  CHECK(outcome.problems.size() == 5);
  const auto worse = resolve(methylation, with({{"reads", "r"}, {"window", "x"}}));
  CHECK(worse.says("command line: --window: 'x' is not an integer"));
  CHECK(worse.problems.size() == 1);
}

TEST_CASE("check looks at a pipeline without its required parameters") {
  sluice::Overrides overrides;
  overrides.missing = sluice::Missing::assume;
  CHECK(resolve(methylation, overrides).problems.empty());
}

TEST_CASE("an option that is given without a text is not taken for one that was left out") {
  const char* remedy = " (give a value, or leave it out: is a variable not set, or a list without items?)";
  CHECK(resolve(methylation, with({{"reads", ""}})).says(std::string("command line: --reads is empty") + remedy));
  CHECK(resolve(methylation, with({{"reads", "r"}, {"window", ""}})).says(std::string("command line: --window is empty") + remedy));
  CHECK(resolve(methylation, with({{"reads", "r"}, {"frequency", ""}})).says(std::string("command line: --frequency is empty") + remedy));
  const std::string several = replaced(methylation, "help = \"the reads\"", "help = \"the reads\"\nseveral = true");
  for (const char* names : {"", "a\n", "\na", "a\n\nb"}) CHECK(resolve(several, with({{"reads", names}})).says("--reads is empty"));
  CHECK(resolve(several, with({{"reads", "a\nb"}})).problems.empty());

  const std::string named = replaced(methylation, "[parameters.rna]", "[parameters.label]\ntype = \"string\"\n[parameters.rna]");
  CHECK(resolve(named, with({{"reads", "r"}, {"label", ""}})).says("--label is empty, and does nothing"));

  const std::string with_default = replaced(named, "type = \"string\"\n", "type = \"string\"\ndefault = \"x\"\n");
  CHECK(resolve(with_default, with({{"reads", "r"}, {"label", ""}})).problems.empty());

  sluice::Overrides from_file = with({{"reads", "r"}, {"frequency", ""}});
  from_file.places["frequency"] = {"run.toml", 3, 1};
  CHECK(resolve(methylation, from_file).problems.empty());
}

TEST_CASE("unknown parameters on the command line get the nearest name") {
  CHECK(resolve(methylation, with({{"reads", "r"}, {"windw", "3"}})).says("the pipeline has no parameter --windw (did you mean --window?)"));
}

TEST_CASE("unknown stage types, slots, resources and inputs get the nearest name") {
  const auto outcome = resolve(R"([pipeline]
name = "m"
[resources.levels]
use = "modle"
[stages.read]
use = "reader"
params.path = "x"
[stages.events]
use = "detect"
inputs = ["raed"]
resources = { modl = "levels", contigs = "levls" }
[stages.table]
use = "genome"
)");
  CHECK(outcome.says("resource 'levels': unknown stage type 'modle' (did you mean 'model'?)"));
  CHECK(outcome.says("stage 'events': unknown input 'raed' (did you mean 'read'?)"));
  CHECK(outcome.says("'detect' has no resource slot 'modl' (did you mean 'model'?)"));
  CHECK(outcome.says("resources.contigs: there is no resource 'levls' (did you mean 'levels'?)"));
  CHECK(outcome.says("stage 'table': 'genome' makes a resource (move it to [resources.table])"));
  CHECK_FALSE(outcome.pipeline.connected);
}

TEST_CASE("a required slot that is not filled is an error") {
  CHECK(resolve(replaced(methylation, "resources.model = \"levels\"", ""), with({{"reads", "r"}}))
            .says("test.toml:24:9: stage 'events': resource slot 'model' (rows of type 'kmer') is not filled"));
}

TEST_CASE("--set changes any value of the file") {
  const auto outcome =
      resolve(methylation,
              with({{"reads", "r.bam"}}, {"stages.events.params.window=9", "stages.events.device=cpu", "resources.levels.resources.contigs=spare"}));
  CHECK(outcome.problems.empty());
  CHECK(outcome.pipeline.stages[1].values[0].integer == 9);
  CHECK(outcome.pipeline.stages[1].device == "cpu");
  CHECK(outcome.pipeline.resources[0].name == "spare");
}

TEST_CASE("a wrong --set says what is wrong with it") {
  const auto outcome =
      resolve(methylation, with({{"reads", "r"}}, {"x", "stage.events.params.window=3", "stages.evnts.params.window=3",
                                                   "stages.events.parms.window=3", "stages.events.params.windw=3", "stages.events.device=gpu!"}));
  CHECK(outcome.says("--set x: there is no '='"));
  CHECK(outcome.says("--set stage.events.params.window: this is no place in a pipeline"));
  CHECK(outcome.says("unknown stage 'evnts' (did you mean 'events'?)"));
  CHECK(outcome.says("'parms' can't be set (did you mean 'params'?)"));
  CHECK(outcome.says("command line: stage 'events': unknown parameter 'windw' (did you mean 'window'?)"));
  CHECK(outcome.says("'gpu!' is not a device"));
  CHECK(outcome.problems.size() == 6);
}

TEST_CASE("circles are reported with their names") {
  const auto stages = resolve(R"([pipeline]
name = "m"
[stages.a]
use = "lookup"
inputs = ["b"]
[stages.b]
use = "lookup"
inputs = ["a"]
)");
  CHECK(stages.says("the stages feed each other in a circle: a -> b -> a"));
}

TEST_CASE("a sink gives no rows, a source reads none, and the first stage must be a source") {
  const auto outcome = resolve(R"([pipeline]
name = "m"
[stages.early]
use = "lookup"
[stages.read]
use = "reader"
inputs = ["early"]
params.path = "x"
[stages.out]
use = "write_reads"
params.output = "y"
[stages.late]
use = "write_reads"
inputs = ["out"]
params.output = "z"
[stages.none]
use = "write_reads"
inputs = []
params.output = "z"
)");
  CHECK(outcome.says("stage 'early': no stage before it gives rows"));
  CHECK(outcome.says("stage 'read': a source has no inputs"));
  CHECK(outcome.says("stage 'late': input 'out' is a sink"));
  CHECK(outcome.says("stage 'none': the list of inputs is empty"));
}

TEST_CASE("branches may join again, and a shared input is read once") {
  const auto outcome = resolve(R"([pipeline]
name = "m"
[stages.read]
use = "reader"
params.path = "x"
[stages.left]
use = "lookup"
enabled = false
[stages.right]
use = "lookup"
inputs = ["read"]
enabled = false
[stages.out]
use = "write_reads"
inputs = ["left", "right"]
params.output = "y"
)");
  CHECK(outcome.problems.empty());
  CHECK(outcome.edges() == Names{"out<-read"});
}

TEST_CASE("defaults may refer to parameters above them, and can't grow without end") {
  std::string text = "[pipeline]\nname = \"m\"\n[parameters.p0]\ntype = \"string\"\ndefault = \"xxxxxxxxxx\"\n";
  for (int i = 1; i < 60; ++i)
    text += "[parameters.p" + std::to_string(i) + "]\ntype = \"string\"\ndefault = \"${p" + std::to_string(i - 1) + "}${p" + std::to_string(i - 1) +
            "}\"\n";
  text += "[stages.read]\nuse = \"reader\"\nparams.path = \"${p1}\"\n";
  const auto outcome = resolve(text);
  CHECK(outcome.says("longer than 64 KiB"));
  CHECK(std::string(outcome.pipeline.stages.at(0).values[0].text) == "xxxxxxxxxxxxxxxxxxxx");
}

TEST_CASE("a disabled resource leaves an optional slot empty and a required one unfilled") {
  const std::string disabled = replaced(methylation, "[resources.spare]", "enabled = \"${frequency}\"\n[resources.spare]");
  const auto outcome = resolve(disabled, with({{"reads", "r"}}));
  CHECK(outcome.problems.empty());
  CHECK(outcome.pipeline.resources.at(0).name == "levels");
  CHECK(outcome.pipeline.resources.at(0).resources == std::vector<int>{-1});
  CHECK(resolve(replaced(methylation, "use = \"model\"", "use = \"model\"\nenabled = false"), with({{"reads", "r"}}))
            .says("resource slot 'model': 'levels' is disabled"));
}

namespace {
const std::string with_presets = R"([pipeline]
name = "m"
[parameters.reads]
type = "path"
required = true
[parameters.window]
type = "int"
default = 3
maximum = 100
[presets.wide]
help = "long windows"
[presets.narrow]
window = 2
[resources.levels]
use = "model"
resources.contigs = "reference"
[resources.reference]
use = "genome"
[stages.read]
use = "reader"
params.path = "${reads}"
[stages.events]
use = "detect"
resources.model = "levels"
params.window = "${window}"
[stages.table]
use = "write_reads"
params.output = "${reads}.tsv"
)";
}  // namespace

TEST_CASE("a preset changes defaults, and the command line goes before it") {
  const auto window = [](std::map<std::string, std::string> parameters) {
    parameters["reads"] = "r.fq";
    return resolve(with_presets, with(std::move(parameters))).pipeline.parameters.at("window");
  };
  CHECK(window({}) == "3");
  CHECK(window({{"preset", "wide"}}) == "3");
  CHECK(window({{"preset", "narrow"}}) == "2");
  CHECK(window({{"preset", "narrow"}, {"window", "7"}}) == "7");
}

TEST_CASE("what is wrong in a preset is found whether it is chosen or not") {
  CHECK(resolve(with_presets, with({{"reads", "r"}, {"preset", "narow"}})).says("--preset: 'narow'"));
  CHECK(resolve(replaced(with_presets, "window = 2", "window = 200"), with({{"reads", "r"}})).says("preset 'narrow': parameter 'window'"));
  CHECK(resolve(replaced(with_presets, "window = 2", "windw = 2"), with({{"reads", "r"}})).says("there is no parameter 'windw'"));
  CHECK(resolve(replaced(with_presets, "[parameters.window]", "[parameters.preset]"), with({{"reads", "r"}}))
            .says("the name is taken, because the file has [presets]"));
}

TEST_CASE("${command_line} is the command, with what was given, as a shell reads it") {
  const std::string text = R"([pipeline]
name = "m"
[parameters.reads]
type = "path"
required = true
several = true
[parameters.table]
type = "path"
group = "output"
default = "-"
[parameters.window]
type = "int"
default = 3
[parameters.rna]
type = "bool"
default = true
[stages.read]
use = "reader"
params.path = "${command_line}"
)";
  const auto command = [&](std::map<std::string, std::string> parameters, std::vector<std::string> set = {}) {
    const auto outcome = resolve(text, with(std::move(parameters), std::move(set)));
    CHECK(outcome.problems.empty());
    CHECK_FALSE(outcome.pipeline.parameters.contains("command_line"));
    CHECK(outcome.pipeline.stages.at(0).given_by[0] == "");
    return std::string(outcome.pipeline.stages.at(0).values[0].text);
  };
  CHECK(command({{"reads", "r.fq"}}) == "sluice run m --reads r.fq");
  CHECK(command({{"table", "t.tsv"}, {"reads", "r.fq"}}) == "sluice run m --reads r.fq");
  CHECK(command({{"rna", "false"}, {"window", "5"}, {"reads", "a.fq\nit's b.fq"}}) ==
        "sluice run m --reads a.fq --reads 'it'\\''s b.fq' --window 5 --no-rna");
  CHECK(command({{"rna", "true"}, {"reads", "r"}}, {"stages.read.device=cpu"}) == "sluice run m --reads r --rna --set stages.read.device=cpu");
  const std::string many = command({{"reads", std::string(60000, 'x')}});
  CHECK(many.size() < 33000);
  CHECK(many.ends_with("x..."));
  CHECK(resolve(replaced(text, "[parameters.rna]", "[parameters.command_line]"), with({{"reads", "r"}}))
            .says("${command_line} is the run's own command"));
}
