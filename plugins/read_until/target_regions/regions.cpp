// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "target_regions/regions.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

namespace sluice::target_regions {
namespace {

std::vector<std::string> fields_of(std::string_view line) {
  const char separator = line.find('\t') != std::string_view::npos ? '\t' : line.find(',') != std::string_view::npos ? ',' : ' ';
  std::vector<std::string> fields;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(separator, begin), line.size());
    std::string_view field = line.substr(begin, end - begin);
    while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
    while (!field.empty() && field.back() == ' ') field.remove_suffix(1);
    if (separator != ' ' || !field.empty()) fields.emplace_back(field);
    begin = end + 1;
  }
  return fields;
}

bool parse_position(const std::string& text, std::int64_t& value) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && rest == text.data() + text.size() && value >= 0;
}

bool parse_strand(const std::string& text, Strand& strand) {
  if (text != "+" && text != "-" && text != ".") return false;
  strand = text == "+" ? Strand::forward : text == "-" ? Strand::reverse : Strand::both;
  return true;
}

// "": fine.
std::string parse_line(std::string_view line, TargetRegion& region) {
  const std::vector<std::string> fields = fields_of(line);
  region.contig = region.label = fields[0];
  if (region.contig.empty()) return "there is no contig";
  if (fields.size() == 1) return "";
  if (fields.size() == 2) return "a region needs a start and an end";
  if (!parse_position(fields[1], region.start)) return "'" + fields[1] + "' is no start";
  if (!parse_position(fields[2], region.end)) return "'" + fields[2] + "' is no end";
  if (region.start >= region.end) return "start " + fields[1] + " is not before end " + fields[2];
  if (fields.size() == 4 && parse_strand(fields[3], region.strand)) return "";
  if (fields.size() > 3 && !fields[3].empty() && fields[3] != ".") region.label = fields[3];
  if (fields.size() > 5 && !parse_strand(fields[5], region.strand)) return "'" + fields[5] + "' is no strand";
  return "";
}

bool is_left_out(std::string_view line) {
  const std::string_view word = line.substr(0, line.find_first_of(" \t"));
  return line.find_first_not_of(" \t") == std::string_view::npos || line.front() == '#' || word == "track" || word == "browser";
}

}  // namespace

bool parse_regions(std::string_view text, std::vector<TargetRegion>& regions, std::string& problem) {
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (is_left_out(line)) continue;
    TargetRegion region;
    if (const std::string what = parse_line(line, region); !what.empty()) return problem = "line " + std::to_string(number) + ": " + what, false;
    regions.push_back(std::move(region));
  }
  return !regions.empty() || (problem = "there is no region in it", false);
}

bool place_regions(std::span<const Contig> contigs, std::vector<TargetRegion>& regions, std::int64_t flank, std::string& problem) {
  std::map<std::string_view, std::size_t> row_of;
  for (std::size_t row = 0; row < contigs.size(); ++row) row_of.emplace(contigs[row].name, row);
  for (TargetRegion& region : regions) {
    const auto found = row_of.find(region.contig);
    if (found == row_of.end()) return problem = "contig '" + region.contig + "' is not in the reference", false;
    const std::int64_t size = contigs[found->second].size;
    if (region.start >= size)
      return problem =
                 "region " + region.contig + ":" + std::to_string(region.start) + " begins behind the contig's end (" + std::to_string(size) + ")",
             false;
    region.start = std::max<std::int64_t>(region.start - flank, 0);
    region.end = region.end > size - flank ? size : region.end + flank;
  }
  const auto order = [&](const TargetRegion& r) { return std::tuple(row_of.at(r.contig), std::string_view(r.label), r.strand, r.start, r.end); };
  std::sort(regions.begin(), regions.end(), [&](const TargetRegion& a, const TargetRegion& b) { return order(a) < order(b); });
  std::vector<TargetRegion> merged;
  for (TargetRegion& region : regions) {
    const bool goes_on = !merged.empty() && merged.back().contig == region.contig && merged.back().label == region.label &&
                         merged.back().strand == region.strand && region.start <= merged.back().end;
    if (goes_on)
      merged.back().end = std::max(merged.back().end, region.end);
    else
      merged.push_back(std::move(region));
  }
  std::stable_sort(merged.begin(), merged.end(), [&](const TargetRegion& a, const TargetRegion& b) {
    return std::tuple(row_of.at(a.contig), a.start) < std::tuple(row_of.at(b.contig), b.start);
  });
  regions = std::move(merged);
  return true;
}

}  // namespace sluice::target_regions
