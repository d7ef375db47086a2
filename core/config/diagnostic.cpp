// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/diagnostic.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace sluice {
namespace {

// One line per problem whatever the file contains: control characters are shown as escapes, and text is cut where nobody reads on.
std::string one_line(const std::string& text) {
  constexpr std::size_t longest = 2000;
  static constexpr char digits[] = "0123456789abcdef";
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (result.size() > longest) return result + "...";
    if (c == '\n')
      result += "\\n";
    else if (c == '\t')
      result += "\\t";
    else if (byte < 0x20 || byte == 0x7f)
      result += std::string("\\x") + digits[byte >> 4] + digits[byte & 15];
    else
      result += c;
  }
  return result;
}

// Edit distance with transpositions of neighbours ("hte" for "the" is one slip, not two), as restricted Damerau-Levenshtein.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  std::iota(previous.begin(), previous.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) current[j] = std::min(current[j], before[j - 2] + 1);
    }
    before.swap(previous);
    previous.swap(current);
  }
  return previous[b.size()];
}

}  // namespace

std::string Diagnostic::text() const {
  std::string result;
  if (!where.file.empty()) {
    result += one_line(where.file);
    if (where.line > 0) result += ":" + std::to_string(where.line);
    if (where.line > 0 && where.column > 0) result += ":" + std::to_string(where.column);
    result += ": ";
  }
  if (severity == Severity::warning) result += "warning: ";
  if (!stage.empty()) result += "stage '" + one_line(stage) + "': ";
  result += one_line(message);
  if (remedy.empty()) return result;
  // Commands to copy have lines of their own.
  constexpr std::string_view next = "\n    ";
  std::size_t end = remedy.find(next);
  result += " (" + one_line(remedy.substr(0, end)) + ")";
  while (end != std::string::npos) {
    const std::size_t begin = end + next.size();
    end = remedy.find(next, begin);
    result += std::string(next) + one_line(remedy.substr(begin, end == std::string::npos ? end : end - begin));
  }
  return result;
}

void Diagnostics::add(Diagnostic diagnostic) {
  const auto is_same = [&](const Diagnostic& said) {
    return said.message == diagnostic.message && said.stage == diagnostic.stage && said.where.line == diagnostic.where.line &&
           said.where.column == diagnostic.where.column && said.where.file == diagnostic.where.file;
  };
  // Only the last ones are looked at: a hostile file has thousands.
  const std::size_t looked_at = std::min<std::size_t>(list_.size(), 64);
  if (std::none_of(list_.end() - static_cast<std::ptrdiff_t>(looked_at), list_.end(), is_same)) list_.push_back(std::move(diagnostic));
}

bool Diagnostics::has_errors() const {
  return std::any_of(list_.begin(), list_.end(), [](const Diagnostic& d) { return d.severity == Severity::error; });
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr std::size_t longest = 64;  // longer ones are not slips of the finger, and would make hostile files expensive
  if (name.empty() || name.size() > longest) return "";
  // A third of the letters may be wrong: "bandwith" -> "bandwidth", "methilaton" -> "methylation", but not "map" -> "seed".
  const std::size_t tolerated = std::max<std::size_t>(1, name.size() / 3);
  std::string best;
  std::size_t best_distance = tolerated + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t lengths_apart = candidate.size() > name.size() ? candidate.size() - name.size() : name.size() - candidate.size();
    if (candidate.empty() || lengths_apart >= best_distance || candidate == name) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance && distance < std::max(name.size(), candidate.size())) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace sluice
