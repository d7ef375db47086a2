// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_bases/input_header.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <sluice/hts/handles.hpp>

namespace sluice::read_bases {
namespace {

// The value of a field, "" if there is none.
std::string_view field(std::string_view line, std::string_view name) {
  const std::string key = "\t" + std::string(name) + ":";
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view value = line.substr(at + key.size());
  return value.substr(0, value.find('\t'));
}

std::string with_field(std::string_view line, std::string_view name, std::string_view value) {
  const std::string key = "\t" + std::string(name) + ":";
  const std::size_t at = line.find(key) + key.size();
  std::string changed(line.substr(0, at));
  return changed.append(value).append(line.substr(std::min(line.find('\t', at), line.size())));
}

}  // namespace

void InputHeader::add(sam_hdr_t& header) {
  std::string_view text = hts::header_text(header);
  std::vector<std::string_view> programs;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (field(line, "ID").empty()) continue;
    if (line.starts_with("@RG\t") && groups_ == ReadGroups::kept) add_read_group(line);
    if (line.starts_with("@PG\t")) programs.push_back(line);
  }
  add_programs(programs);
}

void InputHeader::add_file(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  const hts::File file(hts_open(path.c_str(), "r"));
  if (!file || (file->format.format != bam && file->format.format != sam && file->format.format != cram)) return;
  if (const hts::Header header(sam_hdr_read(file.get())); header) add(*header);
}

void InputHeader::add_read_group(std::string_view line) {
  const std::string id(field(line, "ID"));
  const auto [known, is_new] = group_lines_.emplace(id, line);
  if (is_new) read_groups_.emplace_back(line);
  if (is_new || known->second == line) return;
  if (std::find(conflicts_.begin(), conflicts_.end(), id) == conflicts_.end()) conflicts_.push_back(id);
  // Of another sample: who writes read groups has to refuse it.
  const bool is_same_sample = field(line, "SM").empty() || field(known->second, "SM").empty() || field(line, "SM") == field(known->second, "SM");
  if (!is_same_sample && std::find(read_groups_.begin(), read_groups_.end(), line) == read_groups_.end()) read_groups_.emplace_back(line);
}

// In their order: what a program follows (PP) comes before it.
void InputHeader::add_programs(const std::vector<std::string_view>& lines) {
  std::map<std::string, std::string, std::less<>> renamed;
  for (const std::string_view line : lines) {
    std::string written(line);
    if (const auto previous = renamed.find(field(line, "PP")); previous != renamed.end()) written = with_field(written, "PP", previous->second);
    const std::string id(field(line, "ID"));
    std::string name = id;
    const auto is_taken = [&] {
      const auto known = program_lines_.find(name);
      return known != program_lines_.end() && known->second != written;
    };
    for (int i = 1; is_taken(); ++i) {
      name = id + "." + std::to_string(i);
      written = with_field(written, "ID", name);
    }
    if (name != id) renamed.emplace(id, name);
    if (program_lines_.emplace(name, written).second) programs_.push_back(written);
  }
}

std::string InputHeader::text() const {
  std::string text;
  for (const auto* lines : {&read_groups_, &programs_})
    for (const std::string& line : *lines) text.append(line).push_back('\n');
  return text;
}

}  // namespace sluice::read_bases
