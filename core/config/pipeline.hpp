// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A pipeline as its TOML file says it, and the same pipeline with every parameter resolved against the plugins' descriptors.

#include <sluice/abi.h>

#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/diagnostic.hpp"
#include "plugin/registry.hpp"

namespace sluice {

// by_ending = { of = "output", bam = "bam", tsv = ["tsv", "m6anet"] }: what the ending of another parameter's file asks for, and what else fits it.
struct EndingRule {
  std::string of;                                          // the parameter whose ending counts
  std::map<std::string, std::vector<std::string>> values;  // by ending
};

// takes = { of = ["reads", "mean_length"], least = 0.5, usual = 9 }: the bytes of an output for each of what those parameters come to together: the
// product of numbers, and of a path the bytes of its files.
struct RoomRule {
  std::vector<std::string> of;
  double least = 0;  // never fewer
  double usual = 0;  // 0: nothing is known of it
};

// [pipeline.memory]: what a run takes at least, with one thread and --memory 64MiB, as measured.
struct MemoryRule {
  double least = 0;                        // bytes of a small run; 0: nobody has measured it
  std::map<std::string, double> per_byte;  // of the sequences in the files of these parameters, when they are not compressed
  std::string advice;                      // where a machine has less
};

// One entry of [parameters]: a command-line option of the pipeline.
struct PipelineParameter {
  std::string name;  // snake_case; the option is --kebab-case
  sluice_value_type type = SLUICE_STRING;
  bool required = false;
  bool several = false;  // paths only: may be given again and again; the value has a line for each
  std::optional<std::string> default_text;
  std::vector<std::string> choices;
  std::optional<double> minimum, maximum;
  std::string unit, help;
  std::string group;  // where --help shows it: "input", "output", "common", or "more", which only --help-all shows
  std::optional<EndingRule> by_ending;
  // Lists of NAME, !NAME or NAME=VALUE|VALUE: it does nothing where of some list none holds.
  std::vector<std::vector<std::string>> needs;
  std::vector<std::string> endings;  // of an output: those that its name may have, without dots, the usual one first; none: any
  std::optional<RoomRule> takes;     // of an output
  std::string formerly;              // an older name, which is taken for this one
  Location where;
};

// A value as written, before ${...} and types are applied.
struct WrittenValue {
  std::string text;  // a TOML string's content, or the number or boolean in its canonical form
  Location where;
  Location key_where;  // of the key in front of it; an item of an array has none
};

// One entry of [presets]: defaults of parameters that are chosen together by --preset NAME.
struct WrittenPreset {
  std::string name, help;
  Location where;
  std::map<std::string, WrittenValue> defaults;  // by parameter name
};

// What a usual run spends in a stage, 0 to 1, for the time that is left while the stage has not begun.
struct UsualShare {
  double calls = 0;   // of the seconds of all calls
  double at_end = 0;  // of the run's time, in its finish()
};

struct WrittenStage {
  std::string name;
  std::string use;  // stage id
  Location where, use_where;
  std::optional<std::vector<WrittenValue>> inputs;  // names of stages; nullopt: the stage before in the file
  std::vector<WrittenValue> feedback;               // sources, regroups: names of sinks whose rows come back
  std::map<std::string, WrittenValue> params;
  std::map<std::string, WrittenValue> resources;  // slot -> resource name
  std::optional<WrittenValue> enabled;            // the stage exists iff this is neither empty nor "false" after ${...}
  std::optional<WrittenValue> device;
  std::optional<WrittenValue> device_max_row_work;
  std::string when_most_fail;  // advice to print when more than half of the rows failed here
  UsualShare usual_share;
};

struct WrittenPipeline {
  std::filesystem::path file;
  std::vector<std::filesystem::path> parts;  // the other files that it takes over: extended, included
  std::string name, summary, doc;
  std::string example;                        // a whole command line
  std::string next_steps;                     // what people do with the outputs, said at the end of a run
  std::string group;                          // under which heading `sluice --help` lists it
  std::map<std::string, std::string> habits;  // options of other programs, as "-x", and what they are here
  std::map<std::string, std::string> peers;  // commands of other programs, as "samtools sort": this pipeline with these options, or an answer to read
  MemoryRule memory;
  std::vector<std::string> positionals;       // parameters that may be given without their options, in this order
  std::map<std::string, std::string> advice;  // what to check when most rows are lost for a reason, or miss an outcome
  std::vector<PipelineParameter> parameters;  // where there are presets, the first one is `preset`
  std::vector<WrittenPreset> presets;
  std::vector<WrittenStage> resources, stages;  // in file order

  // The parameter's name today, of a former one; any other name as it is.
  const std::string& present_name(const std::string& parameter) const;
};

// Reads and checks the form of a pipeline file (syntax, unknown keys, types of keys), on top of the pipeline that it extends. Errors go to
// `diagnostics`; what could be read is returned, so that later checks can still find more. Never throws on any bytes.
WrittenPipeline parse_pipeline(std::string_view text, const std::filesystem::path& file, Diagnostics& diagnostics);
WrittenPipeline load_pipeline_file(const std::filesystem::path& file, Diagnostics& diagnostics);

// NAME_OR_FILE -> file: what has a '/' or ends in .toml is a path; another name is NAME.toml in the user's folder, SLUICE_PIPELINE_PATH and the
// installed or build-tree pipelines. Empty path and a diagnostic (with the nearest name) if there is none.
std::filesystem::path find_pipeline(const std::string& name_or_file, Diagnostics& diagnostics, const Location& where = {"command line", 0, 0});
std::vector<std::filesystem::path> shipped_pipelines();

// The pipeline that a command of another program is: `words` begins with "samtools sort", or with a shipped pipeline's name, '-' for '_'.
struct PeerCommand {
  std::string pipeline;   // its name
  std::string answer;     // options to begin with (see kind_of_habit()), "", or an answer to read
  std::size_t words = 0;  // of the command
};
std::optional<PeerCommand> peer_command(const std::vector<std::string>& words);

// Names that a pipeline parameter can't have, because `sluice run` has an option of that name.
const std::vector<std::string>& reserved_parameter_names();
std::string kebab_case(std::string_view snake_case);

// A stage or resource with every parameter as its descriptor wants it. `values` point into `texts`.
struct ResolvedStage {
  ResolvedStage() = default;
  ResolvedStage(ResolvedStage&&) = default;  // a moved deque keeps its elements where they are; a copy would leave `values` dangling
  ResolvedStage& operator=(ResolvedStage&&) = default;
  std::string name;
  StageEntry entry;
  Location where;
  std::vector<sluice_value> values;  // in descriptor order
  std::deque<std::string> texts;
  std::vector<std::string>
      given_by;  // per value: "--option" where the file has ${option} in it and no other, else ""; as a file calls it, if one gives it
  std::vector<Location> given_at;     // per value with such a name: where it was given
  std::vector<std::size_t> inputs;    // indices into ResolvedPipeline::stages
  std::vector<std::size_t> feedback;  // sources, regroups: sinks whose rows come back, indices into ResolvedPipeline::stages
  std::vector<int> resources;         // per descriptor slot: index into ResolvedPipeline::resources, or -1
  std::string device;                 // "auto", "cpu", "cuda", "cuda:N", or another kind; "" = the run's --device
  double device_max_row_work = 0;     // rows with more work, in the stage's unit, are done on the CPU; 0: no limit
  std::string when_most_fail;         // advice for the user when more than half of the rows failed here; "" if none
  UsualShare usual_share;
};

// Does a stage or resource go on with what others still write? A parameter `follow` that is on says so (sluice/input_turns.hpp).
bool follows(const ResolvedStage& stage);

struct ResolvedPipeline {
  std::string name, summary, file;
  std::vector<std::string> parts;                 // the other files that it takes over
  std::vector<ResolvedStage> resources;           // in an order in which they can be made
  std::vector<ResolvedStage> stages;              // in file order; inputs may point forward only if the graph stays acyclic (checked)
  std::map<std::string, std::string> parameters;  // final values, for the report
  std::map<std::string, std::string> advice;      // what to check when most rows are lost for a reason, or miss an outcome
  bool connected = false;  // every stage type is known and the graph is whole: columns can be checked even when other things are wrong
};

// What to do about required parameters that nobody gave: `check` and `plan` look at a pipeline without running it.
enum class Missing { error, assume };

struct Overrides {
  std::map<std::string, std::string> parameters;  // pipeline parameters from the command line, by snake_case name
  std::map<std::string, Location> places;         // of those that a file gives
  std::vector<std::string> set;                   // "stages.X.params.Y=value", "resources.X.params.Y=value", "stages.X.device=cpu"
  Missing missing = Missing::error;

  // With the present names of parameters that were given by former ones.
  Overrides in_present_names(const WrittenPipeline& pipeline) const;
  // Where a parameter was given, and what it is called there.
  Location place_of(const std::string& parameter) const;
  std::string name_at_place(const std::string& parameter) const;
};

// Applies defaults, overrides and ${...}, drops disabled stages, finds every stage id, checks and converts every parameter (range, choice,
// type, required), resolves inputs and resource slots, finds cycles. All problems go to `diagnostics`.
ResolvedPipeline resolve_pipeline(const WrittenPipeline& pipeline, const Overrides& overrides, const Registry& registry, Diagnostics& diagnostics);

// "512", "64 KiB", "2GB" -> bytes. KB/MB/GB are powers of 1000, KiB/MiB/GiB and K/M/G powers of 1024. nullopt if malformed or too large.
std::optional<std::int64_t> parse_size(std::string_view text);

}  // namespace sluice
