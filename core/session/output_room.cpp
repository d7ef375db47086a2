// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "session/output_room.hpp"

#include <charconv>
#include <filesystem>
#include <optional>
#include <sluice/staged_file.hpp>
#include <system_error>

#include "config/memory_rule.hpp"
#include "config/text_fields.hpp"
#include "machine/host_limits.hpp"
#include "observe/quantity.hpp"
#include "shard/shard_run.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

// Random bases have two bits each, so a quarter of their FASTA, and repeats less.
constexpr double compressed_share = 0.1;

// The number, or the bytes of the files.
std::optional<double> amount_of(const PipelineParameter& parameter, const std::string& value) {
  double amount = 0;
  if (parameter.type != SLUICE_PATH) {
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), amount);
    return error == std::errc() && end == value.data() + value.size() ? std::optional(amount) : std::nullopt;
  }
  for (const std::string& name : text_fields(value, '\n')) {
    std::error_code error;
    if (!fs::is_regular_file(name, error)) return std::nullopt;
    const std::uintmax_t bytes = fs::file_size(name, error);
    if (error) return std::nullopt;
    amount += static_cast<double>(bytes);
  }
  return amount;
}

std::optional<double> amount_of(const RoomRule& rule, const WrittenPipeline& pipeline, const std::map<std::string, std::string>& values) {
  double product = 1;
  for (const std::string& name : rule.of)
    for (const PipelineParameter& parameter : pipeline.parameters) {
      if (parameter.name != name) continue;
      const auto value = values.find(name);
      const std::optional<double> amount = value == values.end() ? std::nullopt : amount_of(parameter, value->second);
      if (!amount) return std::nullopt;
      product *= *amount;
    }
  return product;
}

}  // namespace

void check_room(const WrittenPipeline& pipeline, const std::map<std::string, std::string>& values, const Overrides& given,
                const RunSettings& settings, Diagnostics& diagnostics) {
  const std::optional<MemoryNeed> memory = memory_need(pipeline, values);
  const auto usable = static_cast<double>(host_limits().usable_memory());
  if (memory && memory->bytes > usable)
    diagnostics.warning({"command line", 0, 0}, "",
                        pipeline.name + " takes at least " + bytes_text(memory->bytes) + " of memory here, and may use " + bytes_text(usable),
                        pipeline.memory.advice);
  if (settings.resume) return;
  ShardNumber shard;
  if (!settings.shard.empty() && !parse_shard(settings.shard, shard)) return;  // which is said elsewhere
  for (const PipelineParameter& parameter : pipeline.parameters) {
    const auto path = values.find(parameter.name);
    if (!parameter.takes || path == values.end() || path->second.empty() || path->second == "-" || is_special_file(path->second)) continue;
    const std::optional<double> amount = amount_of(*parameter.takes, pipeline, values);
    if (!amount) continue;
    const fs::path folder = fs::path(path->second).has_parent_path() ? fs::path(path->second).parent_path() : fs::path(".");
    std::error_code error;
    const fs::space_info space = fs::space(folder, error);
    if (error) continue;  // a folder that is not there is said elsewhere
    const bool is_compressed = path->second.ends_with(".gz") || path->second.ends_with(".zst");
    const double share = (is_compressed ? compressed_share : 1) / static_cast<double>(shard.parts);
    const auto room = static_cast<double>(space.available);
    const auto text = [&](const char* how_much, double bytes) {
      return given.name_at_place(parameter.name) + ": '" + path->second + "' takes " + how_much + " " + bytes_text(bytes) +
             ", and the disk has room for " + bytes_text(room);
    };
    const char* const remedy = "make room, or name a file on another disk";
    if (const double least = parameter.takes->least * *amount * share; room < least)
      diagnostics.error(given.place_of(parameter.name), "", text("at least", least), remedy);
    else if (const double usual = parameter.takes->usual * *amount * share; room < usual)
      diagnostics.warning(given.place_of(parameter.name), "", text("about", usual), remedy);
  }
}

}  // namespace sluice
