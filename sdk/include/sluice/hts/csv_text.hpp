// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Lines with tabs as lines with commas (RFC 4180, but for line ends, which stay '\n').

#include <algorithm>
#include <sluice/file_ending.hpp>
#include <string>
#include <string_view>

namespace sluice::hts {

inline bool is_csv_name(std::string_view path) {
  for (const std::string_view packed : {".gz", ".zst"})
    if (has_ending(path, packed)) path.remove_suffix(packed.size());
  return has_ending(path, ".csv");
}

// Fields with a comma or a quotation mark are quoted.
inline std::string csv_text(std::string_view lines) {
  std::string csv;
  csv.reserve(lines.size() + lines.size() / 8);
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find_first_of("\t\n"), lines.size());
    const std::string_view field = lines.substr(0, end);
    if (field.find_first_of(",\"") == std::string_view::npos) {
      csv += field;
    } else {
      csv += '"';
      for (const char c : field) csv.append(c == '"' ? 2 : 1, c);
      csv += '"';
    }
    if (end < lines.size()) csv += lines[end] == '\t' ? ',' : '\n';
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return csv;
}

}  // namespace sluice::hts
