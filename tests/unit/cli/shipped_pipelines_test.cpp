// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// What every shipped pipeline says of its options: an example, formats by endings, options that need others, other programs' options.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "config/parameter_ties.hpp"
#include "config/pipeline_parameters.hpp"
#include "program.hpp"

using namespace sluice;
using namespace program;

namespace {

std::vector<WrittenPipeline> shipped() {
  std::vector<WrittenPipeline> result;
  Diagnostics diagnostics;
  for (const auto& file : shipped_pipelines()) result.push_back(load_pipeline_file(file, diagnostics));
  CHECK(diagnostics.list().empty());  // warnings, too: names that no parameter has
  return result;
}

const PipelineParameter& named(const WrittenPipeline& pipeline, const std::string& name) {
  const auto found = std::find_if(pipeline.parameters.begin(), pipeline.parameters.end(), [&](const auto& p) { return p.name == name; });
  REQUIRE(found != pipeline.parameters.end());
  return *found;
}

// A value that is not the default.
std::string some_value(const PipelineParameter& parameter) {
  if (parameter.type == SLUICE_BOOL) return parameter.default_text == "true" ? "false" : "true";
  if (parameter.type == SLUICE_CHOICE) return parameter.choices.back();
  if (parameter.type == SLUICE_STRING || parameter.type == SLUICE_PATH) return "x";
  return std::to_string(static_cast<int>(parameter.minimum.value_or(0)) + (parameter.maximum ? 0 : 1));
}

bool warns_of(const WrittenPipeline& pipeline, const PipelineParameter& parameter, std::map<std::string, std::string> given) {
  given[parameter.name] = some_value(parameter);
  Overrides overrides;
  overrides.parameters = given;
  overrides.missing = Missing::assume;
  Diagnostics diagnostics;
  final_parameters(pipeline, overrides, diagnostics);
  return std::any_of(diagnostics.list().begin(), diagnostics.list().end(), [&](const Diagnostic& diagnostic) {
    return diagnostic.text().find(kebab_case(parameter.name) + " does nothing here") != std::string::npos;
  });
}

// Makes one entry of `needs` hold, or not.
void settle(const WrittenPipeline& pipeline, const std::string& need, bool holds, std::map<std::string, std::string>& given) {
  const std::size_t equals = need.find('=');
  if (equals != std::string::npos) {
    const PipelineParameter& choice = named(pipeline, need.substr(0, equals));
    const std::string wanted = "|" + need.substr(equals + 1) + "|";
    for (const std::string& value : choice.choices)
      if ((wanted.find("|" + value + "|") != std::string::npos) == holds) given[choice.name] = value;
    return;
  }
  const bool absent = need.starts_with("!");
  const PipelineParameter& other = named(pipeline, need.substr(absent ? 1 : 0));
  if (other.type == SLUICE_BOOL)
    given[other.name] = holds != absent ? "true" : "false";
  else
    given[other.name] = holds != absent ? "x" : "";
}

}  // namespace

TEST_CASE("every option of a shipped pipeline that needs another says so without it, and is silent with it") {
  std::size_t pairs = 0;
  for (const WrittenPipeline& pipeline : shipped())
    for (const PipelineParameter& parameter : pipeline.parameters) {
      if (parameter.needs.empty()) continue;
      CAPTURE(pipeline.name);
      CAPTURE(parameter.name);
      // Of every list one has to hold.
      for (const std::vector<std::string>& one_of : parameter.needs) {
        std::map<std::string, std::string> none;
        for (const std::vector<std::string>& others : parameter.needs)
          if (&others != &one_of) settle(pipeline, others.front(), true, none);
        for (const std::string& need : one_of) settle(pipeline, need, false, none);
        CHECK(warns_of(pipeline, parameter, none));
        for (const std::string& need : one_of) {
          CAPTURE(need);
          std::map<std::string, std::string> one = none;
          settle(pipeline, need, true, one);
          CHECK_FALSE(warns_of(pipeline, parameter, one));
          ++pairs;
        }
      }
    }
  CHECK(pairs > 60);
}

TEST_CASE("every shipped pipeline has an example that gives what it requires") {
  for (const WrittenPipeline& pipeline : shipped()) {
    CAPTURE(pipeline.name);
    CHECK(pipeline.example.starts_with("sluice " + pipeline.name + " --"));
    for (const PipelineParameter& parameter : pipeline.parameters) {
      if (parameter.required) CHECK(pipeline.example.find("--" + kebab_case(parameter.name) + " ") != std::string::npos);
      if (parameter.several) CHECK(parameter.group == "input");
    }
  }
}

TEST_CASE("a format that is a file's usual ending is asked for by it") {
  const std::set<std::string> endings = {"sam", "bam", "cram", "paf", "tsv"};
  for (const WrittenPipeline& pipeline : shipped())
    for (const PipelineParameter& parameter : pipeline.parameters) {
      if (parameter.name != "format" && !parameter.name.ends_with("_format")) continue;
      if (parameter.group == "more") continue;  // of an input
      for (const std::string& choice : parameter.choices) {
        if (!endings.contains(choice)) continue;
        CAPTURE(pipeline.name);
        CAPTURE(choice);
        REQUIRE(parameter.by_ending);
        CHECK(value_by_ending(parameter, {{parameter.by_ending->of, "o." + choice}}) == choice);
        CHECK(value_by_ending(parameter, {{parameter.by_ending->of, "o." + choice + ".gz"}}) == choice);
      }
    }
}

TEST_CASE("options of other programs are no options here, and what stands for them is one") {
  for (const WrittenPipeline& pipeline : shipped()) {
    std::set<std::string> known = {"--memory", "--device", "--report", "--threads", "--quiet"};
    for (const PipelineParameter& parameter : pipeline.parameters)
      for (const char* before : {"--", "--no-"}) known.insert(before + kebab_case(parameter.name));
    for (const auto& [habit, here] : pipeline.habits) {
      const std::string& foreign = habit;  // a binding can't be captured
      CAPTURE(pipeline.name);
      CAPTURE(foreign);
      CHECK_FALSE(known.contains(habit));
      for (std::size_t at = 0; (at = here.find("--", at)) != std::string::npos;) {
        const std::size_t end = std::min(here.find_first_of(" ,:'+=", at), here.size());
        const std::string option = here.substr(at, end - at);
        CAPTURE(option);
        CHECK(known.contains(option));
        at = end;
      }
    }
  }
}

TEST_CASE("another program's options are taken where they mean the same, and answered where they do not") {
  const auto minimap2 = run({"map", "-ax", "map-ont", "-t", "4", "-O6,26", "-d", "x.mmi", "no_reference.fa", "reads.fq"});
  CHECK(minimap2.code == 2);
  CHECK(minimap2.says("sluice map: no option '-d' (here: 'sluice index REFERENCE --output FILE'"));
  CHECK_FALSE(minimap2.says("'-ax'"));
  CHECK(run({"map", "-cx", "map-ont", "no_reference.fa", "reads.fq"}).says("cannot open 'no_reference.fa'"));
  CHECK(run({"run", "map", "-K1G", "no_reference.fa", "reads.fq"}).says("cannot open 'no_reference.fa'"));
  CHECK(run({"map", "-x", "sr", "no_reference.fa", "reads.fq"}).says("no option '-x sr' (here: long reads only"));
  CHECK(run({"minimap2", "-ax", "lr:hq", "no_reference.fa", "reads.fq"}).says("cannot open 'no_reference.fa'"));
  CHECK(run({"samtools", "sort", "no.bam"}).says("cannot open 'no.bam'"));
  CHECK(run({"samtools", "view", "no.bam"}).says("sluice: records are not selected here"));
  CHECK(run({"classify-signal", "--target", "no.fa", "--signal", "no.blow5"}).says("--reference: cannot open 'no.fa'"));
  CHECK(run({"methylation", "-b", "a.bam", "-g", "r.fa", "-r", "r.fq", "-o", "o.tsv", "--slow5", "s.blow5"}).says("cannot open"));
  CHECK(run({"sort", "-@", "4", "-o", "s.bam", "no.bam"}).says("cannot open 'no.bam'"));
  CHECK(run({"pileup", "no.bam", "out.bed", "--ref", "no.fa"}).says("cannot open 'no.bam'"));
  CHECK(run({"mpa"}).says("did you mean 'map'?"));
  CHECK(run({"map", "--help"}).prints("Usage: sluice map [options] REFERENCE [READS...]"));
}

TEST_CASE("a flag with a value that is none says so, and names the option that is meant") {
  CHECK(run({"run", "map", "--reference", "no.fa", "--reads", "a.fq", "--cs=long"}).says("cannot open 'no.fa'"));
  CHECK(run({"run", "map", "--reference", "r.fa", "--reads", "a.fq", "--no-md=maybe"}).says("'maybe' is neither true nor false"));
  CHECK(run({"run", "map", "--reference", "no.fa", "--reads", "a.fq", "--secondary=no"}).says("cannot open 'no.fa'"));
}

TEST_CASE("an option that may be repeated takes several values, and every missing input is named") {
  const auto several = run({"run", "map", "--reference", "no.fa", "--reads", "a.fq", "b.fq", "--quiet", "--output", "o.paf"});
  CHECK(several.code == 2);
  for (const char* file : {"--reference: cannot open 'no.fa'", "'a.fq'", "'b.fq'"}) CHECK(several.says(file));
  CHECK(run({"run", "--reads", "a.fq", "map", "--reference", "no.fa", "b.fq"}).says("unexpected argument 'b.fq'"));
  const auto required = run({"run", "methylation", "--alignments", "no.bam"});
  for (const char* line : {"--signal is required", "--reference is required", "cannot open 'no.bam'"}) CHECK(required.says(line));
}

TEST_CASE("the help of each pipeline fits two screens of 30 lines, and names what it hides") {
  for (const WrittenPipeline& pipeline : shipped()) {
    CAPTURE(pipeline.name);
    const auto help = run({pipeline.name, "--help"});
    CHECK(help.code == 0);
    CHECK(std::count(help.out.begin(), help.out.end(), '\n') <= 60);
    CHECK(help.prints("--help-all shows "));
    // The example can be copied as it is printed: every line but its last ends with a backslash.
    std::string example = help.out.substr(help.out.find("\nExample:\n") + 10);
    example.resize(example.find("\n\n"));
    for (std::size_t line = example.find('\n'); line != std::string::npos; line = example.find('\n', line + 1)) CHECK(example[line - 1] == '\\');
    // Parentheses are not cut in the middle.
    std::size_t entry = help.out.find("\n  -");
    while (entry != std::string::npos) {
      const std::size_t next = help.out.find("\n  -", entry + 1);
      const std::string text = help.out.substr(entry, next == std::string::npos ? next : next - entry);
      CAPTURE(text);
      CHECK(std::count(text.begin(), text.end(), '(') == std::count(text.begin(), text.end(), ')'));
      entry = next;
    }
  }
}

TEST_CASE("the help is in groups, no wider than 80 columns, with an example") {
  const auto help = run({"run", "map", "--help"}), all = run({"run", "map", "--help-all"});
  CHECK(help.code == 0);
  std::size_t last = 0;
  for (const char* part : {"Usage: sluice run map [options]", "Example:\n  sluice map ", "\nInputs:\n", "\nOutputs:\n", "\nWhat people change:\n",
                           "\nHow to run it:\n", "--help-all shows "}) {
    CAPTURE(part);
    REQUIRE(help.out.find(part) != std::string::npos);
    CHECK(help.out.find(part) > last);
    last = help.out.find(part);
  }
  CHECK(help.out.find("--z-drop") == std::string::npos);
  for (const char* part : {"\nEverything else:\n", "--z-drop", "--batch-work"}) CHECK(all.prints(part));
  CHECK(all.prints("by the ending of --output,\n                            else paf"));
  for (const std::string& text : {help.out, all.out})
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      CAPTURE(text.substr(begin, end - begin));
      CHECK(end - begin <= 80);
      begin = end + 1;
    }
}
