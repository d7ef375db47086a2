// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "event_alignment_writer/rna_sites.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sluice/hts/csv_text.hpp>

namespace sluice::event_alignment_writer {
namespace {

constexpr std::int64_t to_middle = 2;  // of a 5-mer

bool is_drach(std::string_view kmer) {
  constexpr std::array<std::string_view, site_kmer> letters = {"AGT", "AG", "A", "C", "ACT"};
  for (std::size_t i = 0; i < letters.size(); ++i)
    if (letters[i].find(kmer[i]) == std::string_view::npos) return false;
  return true;
}

// In quotes. Names of contigs have no control characters.
std::string json_text(std::string_view name) {
  std::string text = "\"";
  for (const char letter : name) {
    if (letter == '"' || letter == '\\') text += '\\';
    text += letter;
  }
  return text + '"';
}

// Calls take(site, its first and last entry) for each site, ascending; entries of a site stay in their order.
template <class Entry, class Take>
void for_each_site(std::vector<Entry>& entries, const Take& take) {
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.read.site < b.read.site; });
  for (auto first = entries.begin(), end = first; first != entries.end(); first = end) {
    end = std::find_if(first, entries.end(), [&](const Entry& e) { return e.read.site != first->read.site; });
    take(first->read.site, first, end);
  }
}

}  // namespace

void append_reads(const std::vector<SiteLevel>& levels, std::string_view contig_bases, std::vector<M6anetRead>& reads) {
  for (std::size_t i = 1; i + 1 < levels.size(); ++i) {
    const SiteLevel &before = levels[i - 1], &at = levels[i], &behind = levels[i + 1];
    if (before.position + 1 != at.position || at.position + 1 != behind.position) continue;
    if (!is_drach(contig_bases.substr(static_cast<std::size_t>(at.position), site_kmer))) continue;
    M6anetRead read{.site = at.position + to_middle};
    std::size_t feature = 0;
    for (const SiteLevel* level : {&before, &at, &behind})
      for (const double value : {level->seconds, level->stdv, level->mean}) read.features[feature++] = value;
    reads.push_back(read);
  }
}

void append_reads(const std::vector<SiteLevel>& levels, std::string_view, std::vector<XporeRead>& reads) {
  if (levels.size() < 2) return;
  for (const SiteLevel& level : levels) reads.push_back({level.position + to_middle, level.mean});
}

void append_python_number(double value, std::string& text) {
  std::array<char, 40> shortest;
  const auto put = [&](std::chars_format format) {
    const auto end = std::to_chars(shortest.data(), shortest.data() + shortest.size(), value, format).ptr;
    return std::string_view(shortest.data(), static_cast<std::size_t>(end - shortest.data()));
  };
  const double size = std::abs(value);
  if (size != 0 && (size < 1e-4 || size >= 1e16)) {
    text += put(std::chars_format::scientific);
    return;
  }
  const std::string_view digits = put(std::chars_format::fixed);
  text += digits;
  if (digits.find('.') == std::string_view::npos && std::isfinite(value)) text += ".0";
}

SiteLines lines_of(ContigSites<M6anetForm>& contig) {
  SiteLines lines;
  const std::string name = json_text(contig.name), name_in_csv = hts::csv_text(contig.name);
  for_each_site(contig.entries, [&](std::int64_t site, auto first, auto end) {
    const auto count = static_cast<std::uint64_t>(end - first);
    if (count < M6anetForm::fewest_at_site) return;
    const std::size_t begin = lines.data.size();
    lines.data += "{" + name + ":{\"" + std::to_string(site) + "\":{\"" +
                  std::string(contig.bases.substr(static_cast<std::size_t>(site - to_middle - 1), site_kmer + 2)) + "\":[";
    for (auto entry = first; entry != end; ++entry) {
      lines.data += entry == first ? "[" : ",[";
      for (const double feature : entry->read.features) {
        append_python_number(feature, lines.data);
        lines.data += ',';
      }
      append_python_number(static_cast<double>(entry->read_index), lines.data);
      lines.data += ']';
    }
    lines.data += "]}}}\n";
    lines.index += name_in_csv + ',' + std::to_string(site) + ',' + std::to_string(contig.data_bytes + begin) + ',' +
                   std::to_string(contig.data_bytes + lines.data.size()) + ',' + std::to_string(count) + '\n';
  });
  contig.data_bytes += lines.data.size();
  return lines;
}

SiteLines lines_of(ContigSites<XporeForm>& contig) {
  SiteLines lines;
  if (contig.entries.empty()) return lines;
  lines.data = "{" + json_text(contig.name) + ":{";
  for_each_site(contig.entries, [&](std::int64_t site, auto first, auto end) {
    if (lines.data.back() == '}') lines.data += ',';
    lines.data +=
        "\"" + std::to_string(site) + "\":{\"" + std::string(contig.bases.substr(static_cast<std::size_t>(site - to_middle), site_kmer)) + "\":[";
    std::uint64_t count = 0;
    for (auto entry = first; entry != end && count < XporeForm::most_at_site; ++entry, ++count) {
      if (count > 0) lines.data += ',';
      append_python_number(entry->read.mean, lines.data);
    }
    lines.data += "]}";
  });
  lines.data += "}}\n";
  const std::string name_in_csv = hts::csv_text(contig.name);
  lines.index = name_in_csv + ',' + std::to_string(contig.data_bytes) + ',' + std::to_string(contig.data_bytes + lines.data.size()) + '\n';
  lines.read_counts = name_in_csv + ',' + std::to_string(contig.reads) + '\n';
  contig.data_bytes += lines.data.size();
  return lines;
}

}  // namespace sluice::event_alignment_writer
