// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// No output may take the place of an input or of another output, however it is spelled. Tried for every shipped pipeline, every path among its
// parameters, and the files beside them; the inputs are no files of their kind, so that a run that opened one would say something else.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "config/pipeline.hpp"
#include "plan/plan.hpp"
#include "plan/plan_files.hpp"
#include "program.hpp"

using program::Folder;
using program::run;
using program::toy_pipeline;
using program::WorkingDirectory;

namespace {

namespace fs = std::filesystem;
using namespace sluice;
using Names = std::vector<std::string>;
using Values = std::map<std::string, std::string>;  // of options, by name with its dashes

const Registry& registry() {
  static const Registry* const all = [] {
    auto* r = new Registry;
    r->load_folder(SLUICE_PLUGIN_DIR);
    return r;
  }();
  return *all;
}

std::string option_of(const PipelineParameter& parameter) { return "--" + kebab_case(parameter.name); }

// A file that goes with the value of an option: the value and a suffix.
struct OptionFile {
  std::string option, suffix;
  FileUse use = FileUse::reads;
  std::string what;  // as messages name it
};

// Without which parameters paths of map, and of what extends it, mean nothing.
std::map<std::string, std::string> needed_by(const std::string& pipeline, const std::string& option) {
  if (pipeline != "map" && pipeline != "modifications" && pipeline != "direct_rna") return {};
  if (option == "--mem-index" || option == "--save-mem-index") return {{"seeds", "mem"}};
  if (option != "--junc-bed" && option != "--spsc" && option != "--jump-bed" && option != "--pass1") return {};
  if (pipeline != "map") return {{"preset", "splice"}};
  return {{"preset", "splice"}, {"format", "sam"}};
}

// The files that the options of a run stand for, when exactly these path parameters are given.
std::vector<OptionFile> files_of_options(const WrittenPipeline& written, const std::vector<const PipelineParameter*>& given) {
  const auto value_of = [](const PipelineParameter& parameter) { return "<" + parameter.name + ">"; };
  Overrides overrides;
  overrides.missing = Missing::assume;
  for (const PipelineParameter* parameter : given) {
    overrides.parameters[parameter->name] = value_of(*parameter);
    for (const auto& [name, value] : needed_by(written.name, option_of(*parameter))) overrides.parameters[name] = value;
  }
  Diagnostics diagnostics;
  const Plan plan = make_plan(resolve_pipeline(written, overrides, registry(), diagnostics), "cpu", {"cpu"}, diagnostics);
  std::vector<OptionFile> files;
  for (const PlannedFile& file : files_of(plan, registry()))
    for (const PipelineParameter* parameter : given)
      if (const std::string value = value_of(*parameter); file.path.starts_with(value))
        files.push_back({option_of(*parameter), file.path.substr(value.size()), file.use, file.what});
  return files;
}

// Of the runs of the two first tests one in so many is made; no multiple of the spellings, so that each has its turn. All are made where a start of
// the program is cheap; nothing in them depends on the processor.
#ifdef SLUICE_SLOW
constexpr int one_run_in = 9;
#else
constexpr int one_run_in = 1;
#endif

enum class Spelling { same, with_dot, absolute, symbolic_link, hard_link };
constexpr int spellings = 5;

// The writer's file is to be the other's file.
struct Conflict {
  OptionFile writer, other;
};

std::vector<Conflict> conflicts_among(std::vector<OptionFile> files) {
  // What lies in a folder that an option names can't be spelled as below.
  std::erase_if(files, [](const OptionFile& file) { return file.suffix.starts_with('/'); });
  // An index beside an input may be made, but is no output that a user names.
  std::set<std::string> writers;
  for (const OptionFile& file : files)
    if (file.use == FileUse::writes) writers.insert(file.option);
  for (const OptionFile& file : files)
    if (file.use == FileUse::reads) writers.erase(file.option);
  for (const char* option : {"--report", "--trace", "--account"}) {
    files.push_back({option, "", FileUse::writes, option});
    writers.insert(option);
  }
  std::vector<Conflict> conflicts;
  for (std::size_t i = 0; i < files.size(); ++i)
    for (std::size_t k = 0; k < files.size(); ++k) {
      if (files[i].option == files[k].option || !writers.contains(files[i].option)) continue;
      if (writers.contains(files[k].option) && k < i) continue;  // two outputs: once
      conflicts.push_back({files[i], files[k]});
    }
  return conflicts;
}

// Gives the options values, so that the conflict is there, and makes the files and links that this takes.
void spell(const Conflict& conflict, Spelling spelling, const Folder& folder, Values& values) {
  const auto& [writer, other] = conflict;
  std::string& value = values[other.option] = "shared" + other.option + writer.suffix;
  const std::string target = value + other.suffix;
  if (other.use == FileUse::reads || spelling == Spelling::hard_link) folder.write(target, "bytes of " + target);
  if (writer.suffix.size() > 0 && !target.ends_with(writer.suffix) && spelling != Spelling::hard_link) spelling = Spelling::symbolic_link;
  const std::string stem = target.substr(0, target.size() - std::min(writer.suffix.size(), target.size()));
  switch (spelling) {
    case Spelling::same:
      values[writer.option] = stem;
      break;
    case Spelling::with_dot:
      values[writer.option] = "./" + stem;
      break;
    case Spelling::absolute:
      values[writer.option] = folder.path(stem);
      break;
    case Spelling::symbolic_link:
      values[writer.option] = "link" + writer.option;
      fs::create_symlink(target, folder.path("link" + writer.option + writer.suffix));
      break;
    case Spelling::hard_link:
      values[writer.option] = "link" + writer.option;
      fs::create_hard_link(folder.path(target), folder.path("link" + writer.option + writer.suffix));
      break;
  }
}

std::string joined(const Names& words) {
  std::string text;
  for (const std::string& word : words) text += word + " ";
  return text;
}

bool one_line_names(const std::string& text, const std::string& first, const std::string& second) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.find(first) != std::string::npos && line.find(second) != std::string::npos) return true;
  return false;
}

// As many conflicts as can be had in one run: an option has one value.
std::vector<Conflict> take_some(std::vector<Conflict>& waiting) {
  std::set<std::string> taken;
  std::vector<Conflict> now, later;
  for (Conflict& conflict : waiting) {
    const bool free = !taken.contains(conflict.writer.option) && !taken.contains(conflict.other.option);
    if (free) taken.insert({conflict.writer.option, conflict.other.option});
    (free ? now : later).push_back(std::move(conflict));
  }
  waiting = std::move(later);
  return now;
}

void expect_refused(const std::string& pipeline, const std::vector<Conflict>& conflicts, int turn, const std::vector<OptionFile>& files) {
  const Folder folder;
  const WorkingDirectory here(folder);
  Values values;
  for (std::size_t i = 0; i < conflicts.size(); ++i)
    spell(conflicts[i], static_cast<Spelling>((static_cast<int>(i) + turn) % spellings), folder, values);
  for (const OptionFile& file : files)
    if (file.suffix.empty() || !values.contains(file.option)) {
      std::string& value = values[file.option];
      if (value.empty()) value = "own" + file.option;
      if (file.use == FileUse::reads && file.suffix.empty() && !fs::exists(value)) folder.write(value, "bytes of " + value);
    }
  Names arguments = {"run", pipeline, "--quiet"};
  std::map<std::string, std::string> needed;
  for (const auto& [option, value] : values) {
    arguments.insert(arguments.end(), {option, value});
    needed.merge(needed_by(pipeline, option));
  }
  for (const auto& [name, value] : needed) arguments.insert(arguments.end(), {"--" + name, value});
  const std::string command = joined(arguments);
  CAPTURE(command);
  const auto before = folder.contents();
  const auto outcome = run(arguments);
  CHECK_MESSAGE(outcome.code == 2, outcome.err);
  CHECK(folder.contents() == before);
  for (const auto& [writer, other] : conflicts) {
    const std::string pair = writer.option + writer.suffix + " is " + other.option + other.suffix;
    // Files beside two outputs of one name meet where these do, which is said.
    const bool beside_one_name = !writer.suffix.empty() && writer.suffix == other.suffix && other.use == FileUse::writes;
    CHECK_MESSAGE(
        (one_line_names(outcome.err, writer.what, other.what) || (beside_one_name && one_line_names(outcome.err, writer.option, other.option))),
        pair << "\n"
             << outcome.err);
  }
}

// Which parameters to give together: all paths at once; then, for what is not there then, each with the required ones and the outputs.
std::vector<std::vector<const PipelineParameter*>> choices_of(const WrittenPipeline& written) {
  std::vector<const PipelineParameter*> all;
  for (const PipelineParameter& parameter : written.parameters)
    if (parameter.type == SLUICE_PATH) all.push_back(&parameter);
  std::set<std::string> covered, outputs;
  const auto cover = [&](const std::vector<const PipelineParameter*>& given) {
    for (const OptionFile& file : files_of_options(written, given)) {
      covered.insert(file.option);
      if (file.use == FileUse::writes) outputs.insert(file.option);
    }
  };
  std::vector<std::vector<const PipelineParameter*>> choices = {all};
  cover(all);
  for (const PipelineParameter* missing : all) {
    if (covered.contains(option_of(*missing))) continue;
    std::vector<const PipelineParameter*> some;
    for (const PipelineParameter* parameter : all)
      if (parameter == missing || parameter->required || outputs.contains(option_of(*parameter))) some.push_back(parameter);
    cover(some);
    choices.push_back(some);
  }
  for (const PipelineParameter* parameter : all) CHECK_MESSAGE(covered.contains(option_of(*parameter)), written.name << " " << parameter->name);
  return choices;
}

// The shipped pipelines only, not the user's.
std::vector<WrittenPipeline> pipelines() {
  ::setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
  ::unsetenv("SLUICE_PIPELINE_PATH");
  std::vector<WrittenPipeline> result;
  for (const fs::path& file : shipped_pipelines()) {
    Diagnostics diagnostics;
    result.push_back(load_pipeline_file(file, diagnostics));
    REQUIRE_FALSE(diagnostics.has_errors());
  }
  REQUIRE(result.size() >= 15);
  return result;
}

// What a run of the program refuses, word for word.
struct Refusal {
  Names arguments;
  std::string first, second;
};

}  // namespace

TEST_CASE("no output of a shipped pipeline takes the place of an input or of another output, however it is spelled") {
  for (const WrittenPipeline& written : pipelines()) {
    CAPTURE(written.name);
    std::set<std::pair<std::string, std::string>> done;
    for (const auto& given : choices_of(written)) {
      const auto files = files_of_options(written, given);
      std::vector<Conflict> waiting;
      for (Conflict& conflict : conflicts_among(files))
        if (done.insert({conflict.writer.option + conflict.writer.suffix, conflict.other.option + conflict.other.suffix}).second)
          waiting.push_back(std::move(conflict));
      for (int turn = 0; !waiting.empty(); ++turn)
        if (const std::vector<Conflict> now = take_some(waiting); turn % one_run_in == 0) expect_refused(written.name, now, turn, files);
    }
  }
}

TEST_CASE("every spelling of an input's name is refused for every output of methylation calls") {
  for (const WrittenPipeline& written : pipelines()) {
    if (written.name != "methylation") continue;
    const auto given = choices_of(written).front();
    const auto files = files_of_options(written, given);
    int runs = 0;
    for (int turn = 0; turn < spellings; ++turn)
      for (auto waiting = conflicts_among(files); !waiting.empty();)
        if (const std::vector<Conflict> now = take_some(waiting); runs++ % one_run_in == 0) expect_refused(written.name, now, turn, files);
  }
}

TEST_CASE("inputs that are not there are named all at once, before anything is made") {
  for (const WrittenPipeline& written : pipelines()) {
    CAPTURE(written.name);
    const auto files = files_of_options(written, choices_of(written).front());
    Names arguments = {"run", written.name, "--report", "report"};
    std::set<std::string> given;
    for (const OptionFile& file : files)
      if (given.insert(file.option).second) arguments.insert(arguments.end(), {file.option, "value" + file.option});
    std::map<std::string, std::string> needed;
    for (const std::string& option : given) needed.merge(needed_by(written.name, option));
    for (const auto& [name, value] : needed) arguments.insert(arguments.end(), {"--" + name, value});
    const Folder folder;
    const WorkingDirectory here(folder);
    const auto outcome = run(arguments);
    if (std::none_of(files.begin(), files.end(), [](const OptionFile& file) { return file.use == FileUse::reads; })) continue;
    CHECK_MESSAGE(outcome.code == 2, outcome.err);
    CHECK(folder.names().empty());
    for (const OptionFile& file : files)
      if (file.use == FileUse::reads && file.suffix.empty())
        CHECK_MESSAGE(one_line_names(outcome.err, "value" + file.option, "No such file"), file.option << "\n" << outcome.err);
  }
}

TEST_CASE("the outputs that users have lost inputs to are refused by name") {
  const Folder folder;
  const WorkingDirectory here(folder);
  for (const char* name : {"p.blow5", "p.fastq.gz", "p.bam", "p.bam.bai", "p.blow5.idx", "ref.fa", "ref.fa.fai", "p.fastq.gz.gzi"})
    folder.write(name, std::string("bytes of ") + name);
  const auto before = folder.contents();
  const Names calls = {"run", "methylation", "--signal", "p.blow5", "--reads", "p.fastq.gz", "--alignments", "p.bam", "--reference", "ref.fa"};
  const auto with = [](Names arguments, const Names& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  const std::vector<Refusal> refusals = {
      {with(calls, {"--output", "p.bam"}), "--output", "--alignments"},
      {with(calls, {"--output", "p.bam.bai"}), "--output", "--alignments"},
      {with(calls, {"--output", "p.blow5.idx"}), "--output", "--signal"},
      {with(calls, {"--output", "p.fastq.gz.gzi"}), "--output", "--reads"},
      {with(calls, {"--output", "-", "--modbam", "./p.bam"}), "--modbam", "--alignments"},
      {with(calls, {"--output", "x", "--frequency", "x"}), "--frequency", "--output"},
      {with(calls, {"--output", "x", "--report", "x.partial"}), "--report", "--output"},
      {with(calls, {"--output", "x", "--report", "ref.fa"}), "--report", "--reference"},
      {with(calls, {"--output", "x", "--report", "y", "--trace", "y"}), "--trace", "--report"},
      {with(calls, {"--output", "x", "--account", "x"}), "--account", "--output"},
      {{"run", "simulate", "--reference", "p.fastq.gz", "--output-prefix", "p"}, "--output-prefix", "--reference"},
      {{"run", "simulate", "--reference", "ref.fa", "--model", "p.bam.bai", "--output-prefix", folder.path("p")}, "--output-prefix", "--model"},
      {{"run", "map", "--reference", "ref.fa", "--reads", "p.fastq.gz", "--output", "-", "--save-index", "ref.fa"}, "--save-index", "--reference"},
      {{"run", "seed", "--reference", "ref.fa", "--reads", "p.fastq.gz", "--save-index", "./ref.fa"}, "--save-index", "--reference"},
      {{"run", "index", "--reference", "ref.fa", "--output", "ref.fa"}, "--output", "--reference"},
      {{"run", "polish", "--targets", "ref.fa", "--reads", "p.fastq.gz", "--output", "ref.fa"}, "--output", "--reference"},
      {{"run", "correct", "--reads", "ref.fa", "--output", folder.path("ref.fa")}, "--output", "--reads"},
      {{"run", "overlap", "--reads", "ref.fa", "--output", "ref.fa"}, "--output", "--reads"},
      {{"run", "map", "--reference", "ref.fa", "--reads", "p.fastq.gz", "--output",
        "../" + fs::path(folder.path("")).parent_path().filename().string() + "/ref.fa"},
       "--output",
       "--reference"},
  };
  for (const Refusal& refusal : refusals) {
    const std::string command = joined(refusal.arguments);
    CAPTURE(command);
    const auto outcome = run(refusal.arguments);
    CHECK_MESSAGE(outcome.code == 2, outcome.err);
    CHECK_MESSAGE(one_line_names(outcome.err, refusal.first, refusal.second), outcome.err);
    CHECK(folder.contents() == before);
  }
}

TEST_CASE("check, plan and bench refuse what run refuses") {
  const Folder folder;
  const WorkingDirectory here(folder);
  folder.write("windows", ">w 1\nACGT\n");
  const auto before = folder.contents();
  for (const char* command : {"run", "check", "plan", "bench"}) {
    CAPTURE(command);
    const auto outcome = run({command, "consensus", "--windows", "windows", "--output", "./windows"});
    CHECK(outcome.code == 2);
    CHECK_MESSAGE(one_line_names(outcome.err, "--output", "--windows"), outcome.err);
    CHECK(folder.contents() == before);
  }
}

TEST_CASE("the pipeline's own file, a plugin and the machine's profile are inputs too") {
  const Folder folder;
  const WorkingDirectory here(folder);
  folder.write("toy.toml", toy_pipeline);
  folder.write("profile.json", "{}");
  fs::create_directory("plugins");
  fs::copy_file(SLUICE_TEST_PLUGIN_DIR "/toy_stages.so", "plugins/toy_stages.so");
  const std::map<std::string, std::string> environment = {{"SLUICE_PLUGIN_PATH", folder.path("plugins")}};
  const auto plugin_size = fs::file_size("plugins/toy_stages.so");
  const std::vector<Refusal> refusals = {
      {{"run", "toy.toml", "--output", "toy.toml"}, "--output", "toy.toml"},
      {{"run", "toy.toml", "--output", "x", "--report", "toy.toml"}, "--report", "toy.toml"},
      {{"run", "toy.toml", "--output", "plugins/toy_stages.so"}, "--output", "toy_stages.so"},
      {{"run", "toy.toml", "--output", "x", "--profile", "profile.json", "--report", "profile.json"}, "--report", "--profile"},
      {{"bench", "toy.toml", "--output", "x", "--calibrate", "--profile", "toy.toml"}, "--profile", "toy.toml"},
      {{"bench", "toy.toml", "--output", "x", "--calibrate", "--profile", "x"}, "--profile", "--output"},
  };
  for (const Refusal& refusal : refusals) {
    const std::string command = joined(refusal.arguments);
    CAPTURE(command);
    const auto outcome = run(refusal.arguments, {}, "/dev/null", environment);
    CHECK_MESSAGE(outcome.code == 2, outcome.err);
    CHECK_MESSAGE(one_line_names(outcome.err, refusal.first, refusal.second), outcome.err);
    CHECK(folder.names() == Names{"plugins", "profile.json", "toy.toml"});
    CHECK(folder.read("toy.toml") == toy_pipeline);
    CHECK(folder.read("profile.json") == "{}");
    CHECK(fs::file_size("plugins/toy_stages.so") == plugin_size);
  }
}

TEST_CASE("two outputs cannot both go to standard output or to one pipe, but any number to a device") {
  const Folder folder;
  const std::string toy = folder.write("toy.toml", toy_pipeline);
  REQUIRE(::mkfifo(folder.path("pipe").c_str(), 0600) == 0);
  for (const auto& [first, second] :
       std::vector<std::pair<std::string, std::string>>{{"-", "-"}, {"-", "/dev/stdout"}, {folder.path("pipe"), folder.path("pipe")}}) {
    const auto outcome = run({"run", toy, "--output", first, "--pairs", second});
    CHECK_MESSAGE(outcome.code == 2, outcome.err);
    CHECK_MESSAGE(one_line_names(outcome.err, "--output", "--pairs"), outcome.err);
    CHECK(outcome.out.empty());
  }
  const auto outcome = run({"run", toy, "--output", "/dev/null", "--pairs", "/dev/null", "--report", "/dev/null", "--account", "/dev/null"});
  CHECK_MESSAGE(outcome.code == 0, outcome.err);
}

TEST_CASE("standard output that is appended to an input is refused, as cat refuses it") {
  const Folder folder;
  folder.write("windows", ">w 1\nACGT\n");
  folder.write("other", "what was there\n");
  const auto append = [&](const std::string& to) {
    const std::string command = "'" SLUICE_PROGRAM "' run consensus --windows '" + folder.path("windows") + "' --output - --quiet >>'" +
                                folder.path(to) + "' 2>'" + folder.path("errors") + "'";
    return WEXITSTATUS(std::system(command.c_str()));
  };
  CHECK(append("windows") == 2);
  CHECK(folder.read("windows") == ">w 1\nACGT\n");
  CHECK(one_line_names(folder.read("errors"), "--output", "--windows"));
  CHECK(append("other") == 0);
  CHECK(folder.read("other").starts_with("what was there\n>"));
}

TEST_CASE("pipes, devices and links are written as ever") {
  const Folder folder;
  const std::string toy = folder.write("toy.toml", toy_pipeline);
  const std::string numbers = "1\n2\n3\n4\n";
  const auto to = [&](const std::string& output) { return run({"run", toy, "--output", output, "--batches", "1", "--quiet"}); };
  CHECK(to("-").out == numbers);
  CHECK(to("/dev/stdout").out == numbers);

  REQUIRE(::mkfifo(folder.path("pipe").c_str(), 0600) == 0);
  std::string read;
  std::thread reader([&] { read = folder.read("pipe"); });
  CHECK(to(folder.path("pipe")).code == 0);
  reader.join();
  CHECK(read == numbers);

  fs::create_directory(folder.path("elsewhere"));
  fs::create_symlink("elsewhere/numbers", folder.path("link"));
  CHECK(to(folder.path("link")).code == 0);
  CHECK(fs::is_symlink(folder.path("link")));
  CHECK(folder.read("elsewhere/numbers") == numbers);
  CHECK(folder.names() == Names{"elsewhere", "link", "pipe", "toy.toml"});
}

TEST_CASE("an output may have the name of one that was there before") {
  const Folder folder;
  const std::string toy = folder.write("toy.toml", toy_pipeline);
  folder.write("out", "old");
  CHECK(run({"run", toy, "--output", folder.path("out"), "--batches", "1", "--quiet"}).code == 0);
  CHECK(folder.read("out") == "1\n2\n3\n4\n");
}
