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
  bool any_line = false, any_site = false;
  while (lines.next()) {
    const auto number = [&](std::string_view text) {
      std::int32_t value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc() || end != text.data() + text.size())
        throw Failure::input(
            lines.label().text() + ", line " + std::to_string(lines.number()) + ": it has '" + std::string(text) + "' where a number belongs",
            "give name, place, strand, D or A, and score, separated by tabs");
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
    any_line = true;
    const auto contig = contigs.find(fields[0]);
    if (contig == contigs.end() || place <= 0 || place >= index.contig_length[contig->second]) continue;
    std::int32_t score = given;
    if (scale > 0 && scale < 1) {
      const auto scaled = static_cast<double>(static_cast<float>(given) * scale);
      score = static_cast<std::int32_t>(given > 0 ? scaled + .499 : scaled - .499);
    }
    any_site = true;
    of_strand_[2 * contig->second + (fields[2] == "+" ? 0 : 1)].push_back(
        {place, static_cast<std::int8_t>(std::clamp(score, -most, most)), fields[3].starts_with('A')});
  }
  hts::warn_of_open_end(host, lines);
  if (!any_line) host.warn(hts::empty_text(lines.label().text()));
  if (any_line && !any_site)
    throw Failure::input("splice scores '" + path + "' hold no place on a contig of the reference",
                         "give those of the same reference: names must agree");
  for (std::vector<Site>& all : of_strand_) std::stable_sort(all.begin(), all.end(), [](const Site& a, const Site& b) { return a.place < b.place; });
}

}  // namespace sluice::base_alignment
