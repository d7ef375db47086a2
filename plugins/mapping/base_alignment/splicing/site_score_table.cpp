// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/splicing/site_score_table.hpp"

#include <array>
#include <charconv>
#include <sluice/failure.hpp>
#include <sluice/hts/text_file.hpp>
#include <string_view>
#include <unordered_map>

namespace sluice::base_alignment {

SiteScoreTable::SiteScoreTable(const Host& host, const std::string& path, const MinimizerIndexView& index, float scale, std::int32_t most)
    : of_strand_(2 * index.contigs()) {
  std::unordered_map<std::string_view, std::size_t> contigs;
  for (std::size_t i = 0; i < index.contigs(); ++i) contigs.emplace(index.contig_name(i), i);
  hts::TextLines lines({.path = path, .kind = "splice scores"});
  std::int64_t all_lines = 0, elsewhere = 0;
  while (lines.next()) {
    const auto refuse = [&](std::string_view text, const char* what) {
      throw Failure::input(
          lines.label().text() + ", line " + std::to_string(lines.number()) + ": it has '" + std::string(text) + "' where " + what + " belongs",
          "give name, place, strand, D or A, and score, separated by tabs");
    };
    const auto number = [&](std::string_view text) {
      std::int32_t value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc() || end != text.data() + text.size()) refuse(text, "a number");
      return value;
    };
    if (lines.line().empty() || lines.line().starts_with('#')) continue;
    std::array<std::string_view, 5> fields;
    std::string_view rest = lines.line();
    for (std::string_view& field : fields) {
      field = rest.substr(0, rest.find('\t'));
      rest.remove_prefix(std::min(field.size() + 1, rest.size()));
    }
    const std::int32_t place = number(fields[1]), given = number(fields[4]);
    if (fields[2] != "+" && fields[2] != "-") refuse(fields[2], "+ or -");
    if (!fields[3].starts_with('A') && !fields[3].starts_with('D')) refuse(fields[3], "D or A");
    ++all_lines;
    const auto contig = contigs.find(fields[0]);
    if (contig == contigs.end() || place <= 0 || place >= index.contig_length[contig->second]) {
      ++elsewhere;
      continue;
    }
    std::int32_t score = given;
    if (scale > 0 && scale < 1) {
      const auto scaled = static_cast<double>(static_cast<float>(given) * scale);
      score = static_cast<std::int32_t>(given > 0 ? scaled + .499 : scaled - .499);
    }
    of_strand_[2 * contig->second + (fields[2] == "+" ? 0 : 1)].push_back(
        {place, static_cast<std::int8_t>(std::clamp(score, -most, most)), fields[3].starts_with('A')});
  }
  hts::warn_of_open_end(host, lines);
  if (all_lines == 0) host.warn(hts::empty_text(lines.label().text()));
  if (all_lines > 0 && elsewhere == all_lines)
    throw Failure::input("splice scores '" + path + "' hold no place on a contig of the reference",
                         "give those of the same reference: names must agree");
  if (elsewhere > 0)
    host.warn(std::to_string(elsewhere) + " of " + std::to_string(all_lines) + " lines of splice scores '" + path +
              "' are on contigs, or at places of them, that the reference does not have, and are skipped");
  for (std::vector<Site>& all : of_strand_) std::stable_sort(all.begin(), all.end(), [](const Site& a, const Site& b) { return a.place < b.place; });
}

}  // namespace sluice::base_alignment
