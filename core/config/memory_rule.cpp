// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/memory_rule.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "config/text_fields.hpp"

namespace sluice {
namespace {

// Of sequences, gzip leaves about a quarter.
constexpr double bytes_of_compressed = 4;

std::optional<double> memory_of_files(const std::string& names, double per_byte) {
  double all = 0;
  for (const std::string& name : text_fields(names, '\n')) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(name, error)) return std::nullopt;
    const auto bytes = static_cast<double>(std::filesystem::file_size(name, error));
    if (error) return std::nullopt;
    const int first = std::ifstream(name, std::ios::binary).get();
    const bool is_text = first == '>' || first == '@', is_compressed = first == 0x1f || first == 0x28;  // gzip, zstd
    all += bytes * (is_text ? per_byte : is_compressed ? bytes_of_compressed * per_byte : 1);
  }
  return all;
}

}  // namespace

void read_memory(TableReader& reader, MemoryRule& memory) {
  const TomlMember* rule = reader.take("memory", {TomlKind::table}, "a table { least = 60e6, reference = 5 }");
  if (rule == nullptr) return;
  for (const TomlMember& member : rule->value.members) {
    if (member.key == "advice" && member.value.kind == TomlKind::string)
      memory.advice = member.value.text;
    else if (const std::optional<double> bytes = bytes_of(member.value))
      (member.key == "least" ? memory.least : memory.per_byte[member.key]) = *bytes;
    else
      reader.error(member.value.where, "memory." + member.key + " must be a number of bytes that is not negative");
  }
}

std::optional<MemoryNeed> memory_need(const WrittenPipeline& pipeline, const std::map<std::string, std::string>& values) {
  if (pipeline.memory.least == 0) return std::nullopt;
  MemoryNeed need{pipeline.memory.least, ""};
  for (const auto& [name, per_byte] : pipeline.memory.per_byte) {
    const auto value = values.find(name);
    const std::optional<double> bytes = value == values.end() || value->second.empty() ? std::nullopt : memory_of_files(value->second, per_byte);
    if (bytes)
      need.bytes += *bytes;
    else if (per_byte > 0)
      need.beyond += fmt::format("{}{:.3g} bytes for each byte of --{}", need.beyond.empty() ? "" : ", ", per_byte, kebab_case(name));
  }
  return need;
}

std::optional<double> memory_beside(const MemoryRule& memory, double bases) {
  const auto per_base = memory.per_byte.find("reference");
  return memory.least == 0 || per_base == memory.per_byte.end() ? std::nullopt : std::optional(memory.least + per_base->second * bases);
}

}  // namespace sluice
