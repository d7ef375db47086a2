// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/checkpoint.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sluice/failure.hpp>
#include <sluice/staged_file.hpp>
#include <string_view>

#include "machine/checksum.hpp"
#include "plan/plan_files.hpp"
#include "plugin/registry.hpp"

namespace sluice {
namespace {

using Json = nlohmann::json;

// The first line of a journal. The rest: bytes of the description (8, this machine's order), the description as MessagePack, which takes names of
// files as they are, the states one behind the other, and XXH3 of all of that as text.
constexpr std::string_view first_line = "sluice journal 1\n";
constexpr std::size_t checksum_bytes = 16;
constexpr const char* begin_anew = "begin the run anew, without --resume";

std::string text_of(const sluice_value& value) {
  if (value.is_set == 0) return "";
  switch (value.type) {
    case SLUICE_BOOL:
    case SLUICE_INT:
    case SLUICE_SIZE:
      return std::to_string(value.integer);
    case SLUICE_FLOAT:
      return fmt::format("{}", value.real);
    default:
      return value.text;
  }
}

void add_stage(const ResolvedStage& stage, const char* kind, RunIdentity& identity) {
  const std::string what = std::string(kind) + " '" + stage.name + "'";
  const sluice_stage_descriptor& d = *stage.entry.descriptor;
  identity["the " + what] = d.id;
  identity["the plugin of " + what] = std::string(stage.entry.plugin->name) + " " + stage.entry.plugin->build_id;
  for (std::size_t i = 0; i < d.parameter_count && i < stage.values.size(); ++i) {
    const std::string option = i < stage.given_by.size() ? stage.given_by[i] : "";
    identity[option.empty() ? std::string("parameter '") + d.parameters[i].name + "' of " + what : option] = text_of(stage.values[i]);
  }
}

void add_input(const PlannedFile& file, RunIdentity& identity) {
  struct stat info {};
  if (::stat(file.path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  std::string beginning(std::size_t{1} << 20, '\0');
  std::ifstream stream(file.path, std::ios::binary);
  stream.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  const std::string checksum = Checksum::text_of(std::string_view(beginning).substr(0, static_cast<std::size_t>(stream.gcount())));
  identity["the input '" + file.path + "'"] =
      fmt::format("{} bytes, changed at {}.{:09}, beginning with {}", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec, checksum);
}

const PlannedFile* first_output(const std::vector<PlannedFile>& files) {
  const auto found = std::find_if(files.begin(), files.end(), [](const PlannedFile& file) { return file.use == FileUse::writes && !file.side; });
  return found == files.end() ? nullptr : &*found;
}

std::string said(const PlannedStage& stage) { return "stage '" + stage.stage->name + "' (" + stage.stage->entry.descriptor->id + ")"; }

[[noreturn]] void fail_damaged(const std::filesystem::path& journal) {
  throw Failure::input("'" + journal.string() + "', which says how far the run came, is damaged or of another version of sluice", begin_anew);
}

Json described(const StagePoint& stage) {
  return {{"next", stage.next}, {"emitted", stage.emitted}, {"ended", stage.ended}, {"bytes", stage.state.size()}};
}

Json described(const StageCounts& counts) {
  Json outcomes = Json::object();
  for (const auto& [name, outcome] : counts.outcomes) outcomes[name] = {outcome.good, outcome.total};
  return {{"batches", counts.batches},           {"rows_in", counts.rows_in}, {"rows_out", counts.rows_out},
          {"output_bytes", counts.output_bytes}, {"failed", counts.failed},   {"accounted", counts.accounted},
          {"nameless", counts.nameless},         {"outcomes", outcomes},      {"counters", counts.counters}};
}

StageCounts counts_of(const Json& json) {
  StageCounts counts;
  counts.batches = json.at("batches");
  counts.rows_in = json.at("rows_in");
  counts.rows_out = json.at("rows_out");
  counts.output_bytes = json.at("output_bytes");
  json.at("failed").get_to(counts.failed);
  json.at("accounted").get_to(counts.accounted);
  json.at("nameless").get_to(counts.nameless);
  for (const auto& [name, outcome] : json.at("outcomes").items()) counts.outcomes[name] = {outcome.at(0), outcome.at(1)};
  json.at("counters").get_to(counts.counters);
  return counts;
}

}  // namespace

RunIdentity identity_of(const Plan& plan, const Registry& registry) {
  RunIdentity identity;
  identity["the pipeline"] = plan.pipeline.name;
  for (const ResolvedStage& resource : plan.pipeline.resources) add_stage(resource, "resource", identity);
  for (const ResolvedStage& stage : plan.pipeline.stages) add_stage(stage, "stage", identity);
  // What is followed grows: it is the source that knows whether it is still the same.
  const bool grows = std::any_of(plan.pipeline.stages.begin(), plan.pipeline.stages.end(), [](const ResolvedStage& stage) { return follows(stage); });
  if (grows) return identity;
  for (const PlannedFile& file : files_of(plan, registry))
    if (file.use == FileUse::reads && !file.side) add_input(file, identity);
  return identity;
}

std::string difference(const RunIdentity& before, const RunIdentity& now) {
  for (const auto& [what, value] : before) {
    const auto found = now.find(what);
    if (found == now.end()) return what + " is no longer there";
    if (found->second != value) return what + " was '" + value + "' and is '" + found->second + "'";
  }
  for (const auto& [what, value] : now)
    if (!before.contains(what)) return what + " is new";
  return {};
}

std::string why_not_resumable(const Plan& plan, const Registry& registry, const std::vector<std::uint8_t>& made) {
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    if (!made.empty() && made[i] == 0) continue;
    const PlannedStage& stage = plan.stages[i];
    const sluice_stage_descriptor& d = *stage.stage->entry.descriptor;
    if (!stage.stage->feedback.empty()) return said(stage) + " gets answers from what follows it";
    if (d.kind == SLUICE_SOURCE && (d.traits & SLUICE_TRAIT_POSITIONS) == 0) return said(stage) + " can't begin in the middle of its input";
    const bool keeps_state = d.kind == SLUICE_REGROUP || d.kind == SLUICE_SINK || (d.kind == SLUICE_MAP && (d.traits & SLUICE_TRAIT_ORDERED) != 0);
    if (keeps_state && (d.traits & SLUICE_TRAIT_SAVES) == 0) return said(stage) + " can't save what it has";
  }
  const std::vector<PlannedFile> files = files_of(plan, registry);
  for (const PlannedFile& file : files) {
    if (file.use == FileUse::writes && !file.side && (file.path == "-" || is_special_file(file.path)))
      return file.what + " is " + (file.path == "-" ? "standard output" : "no regular file");
    if (file.use == FileUse::reads && file.path == "-") return file.what + " is standard input";
  }
  return first_output(files) == nullptr ? "there is no output file" : "";
}

std::filesystem::path journal_of(const Plan& plan, const Registry& registry) {
  const std::vector<PlannedFile> files = files_of(plan, registry);
  const std::filesystem::path output = followed(first_output(files)->path);
  return output.parent_path() / ("." + output.filename().string() + ".resume");
}

void write_journal(const std::filesystem::path& journal, const RunIdentity& identity, const Checkpoint& checkpoint) {
  Json description{{"identity", identity},
                   {"stages", Json::object()},
                   {"files", Json::array()},
                   {"counts", Json::object()},
                   {"account_bytes", checkpoint.account.size()}};
  for (const auto& [name, counts] : checkpoint.counts) description["counts"][name] = described(counts);
  for (const auto& [name, stage] : checkpoint.stages) description["stages"][name] = described(stage);
  for (const FilePoint& file : checkpoint.files)
    description["files"].push_back({{"path", file.path}, {"temporary", file.temporary}, {"bytes", file.bytes}});
  std::string text;
  Json::to_msgpack(description, text);
  const std::uint64_t bytes = text.size();
  StagedFile file(journal.string());
  Checksum digest;
  const auto put = [&](std::string_view piece) {
    digest.add(piece);
    file.write(piece);
  };
  put(first_line);
  put({reinterpret_cast<const char*>(&bytes), sizeof bytes});
  put(text);
  for (const auto& [name, stage] : checkpoint.stages) put(stage.state);
  put(checkpoint.account);
  file.write(digest.text());
  file.publish();
}

std::optional<Journal> read_journal(const std::filesystem::path& journal) {
  std::error_code error;
  if (!std::filesystem::exists(journal, error)) return std::nullopt;
  std::ifstream stream(journal, std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (!stream.good() && !stream.eof()) fail_damaged(journal);
  std::string_view rest = all;
  if (!rest.starts_with(first_line) || rest.size() < first_line.size() + sizeof(std::uint64_t) + checksum_bytes) fail_damaged(journal);
  if (Checksum::text_of(rest.substr(0, rest.size() - checksum_bytes)) != rest.substr(rest.size() - checksum_bytes)) fail_damaged(journal);
  rest = rest.substr(first_line.size(), rest.size() - first_line.size() - checksum_bytes);
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, rest.data(), sizeof bytes);
  rest.remove_prefix(sizeof bytes);
  if (bytes > rest.size()) fail_damaged(journal);
  Journal result;
  try {
    const auto take = [&](std::size_t count) {
      if (count > rest.size()) fail_damaged(journal);
      const std::string taken(rest.substr(0, count));
      rest.remove_prefix(count);
      return taken;
    };
    const Json description = Json::from_msgpack(rest.substr(0, static_cast<std::size_t>(bytes)));
    rest.remove_prefix(static_cast<std::size_t>(bytes));
    result.identity = description.at("identity").get<RunIdentity>();
    for (const auto& [name, stage] : description.at("stages").items()) {
      result.checkpoint.stages[name] = {stage.at("next"), stage.at("emitted"), stage.at("ended"), take(stage.at("bytes"))};
    }
    for (const Json& file : description.at("files")) result.checkpoint.files.push_back({file.at("path"), file.at("temporary"), file.at("bytes")});
    for (const auto& [name, counts] : description.at("counts").items()) result.checkpoint.counts[name] = counts_of(counts);
    result.checkpoint.account = take(description.at("account_bytes"));
  } catch (const Json::exception&) {
    fail_damaged(journal);
  }
  return result;
}

}  // namespace sluice
