// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/checkpoint.hpp"

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
