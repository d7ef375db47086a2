// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Many stretches of a reference: BED, tables of contigs and regions, and readfish's form with commas; and which of them overlap a place. One stretch,
// as an option names it, is in region.hpp.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <sluice/byte_order_mark.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace sluice {

enum class RegionStrand : std::uint8_t { both = 0, forward = 1, reverse = 2 };

struct TableRegion {
  std::string contig, label;                                    // label: the region's name, else the contig's
  std::int64_t start = 0;                                       // 0-based
  std::int64_t end = std::numeric_limits<std::int64_t>::max();  // exclusive; the largest: to the contig's end
  RegionStrand strand = RegionStrand::both;
};

namespace region_table {

inline std::vector<std::string> fields_of(std::string_view line) {
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

inline bool parse_position(const std::string& text, std::int64_t& value) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && rest == text.data() + text.size() && value >= 0;
}

inline bool parse_strand(const std::string& text, RegionStrand& strand) {
  if (text != "+" && text != "-" && text != ".") return false;
  strand = text == "+" ? RegionStrand::forward : text == "-" ? RegionStrand::reverse : RegionStrand::both;
  return true;
}

// "": fine.
inline std::string parse_line(std::string_view line, TableRegion& region) {
  const std::vector<std::string> fields = fields_of(line);
  region.contig = region.label = fields[0];
  if (region.contig.empty()) return "there is no contig";
  // No contig is called so: a file that was cut by a crash, binary, or FASTA.
  if (region.contig.front() == '>') return "'" + region.contig.substr(0, 60) + "' is a line of FASTA";
  for (const char c : region.contig)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') return "its contig has bytes that are no text";
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

inline bool is_left_out(std::string_view line) {
  const std::string_view word = line.substr(0, line.find_first_of(" \t"));
  return line.find_first_not_of(" \t") == std::string_view::npos || line.front() == '#' || word == "track" || word == "browser";
}

}  // namespace region_table

// One region a line, columns divided by tabs, else by commas, else by blanks:
//   contig                                   a whole contig
//   contig start end                         0-based, end exclusive
//   contig start end strand                  + or -: reads of that strand only; . both
//   contig start end name [score [strand]]   BED
// Empty lines and those that begin with #, track or browser are left out. False with `problem` set: line and what is wrong with it.
inline bool parse_region_table(std::string_view text, std::vector<TableRegion>& regions, std::string& problem) {
  std::size_t number = 0;
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (region_table::is_left_out(line)) continue;
    TableRegion region;
    if (const std::string what = region_table::parse_line(line, region); !what.empty())
      return problem = "line " + std::to_string(number) + ": " + what, false;
    regions.push_back(std::move(region));
  }
  return !regions.empty() || (problem = "there is no region in it", false);
}

// Which regions overlap a place. Queries take the time of a binary search and of what they find, also where regions contain each other.
class RegionIndex {
 public:
  RegionIndex() = default;
  // By contig (as text), start, end; equal ones stay in their order.
  explicit RegionIndex(std::vector<TableRegion> regions) : regions_(std::move(regions)) {
    std::stable_sort(regions_.begin(), regions_.end(), [](const TableRegion& a, const TableRegion& b) {
      return std::tie(a.contig, a.start, a.end) < std::tie(b.contig, b.start, b.end);
    });
    furthest_.resize(regions_.size());
    for (std::size_t begin = 0, end = 0; begin < regions_.size(); begin = end) {
      while (end < regions_.size() && regions_[end].contig == regions_[begin].contig) ++end;
      contigs_.emplace(regions_[begin].contig, std::pair(begin, end));
      fill(begin, end);
    }
  }

  const std::vector<TableRegion>& regions() const { return regions_; }
  // visit(index into regions()) for each that has a base of [begin, end) of the contig, by start. [thread-safe]
  template <class Visit>
  void for_each(std::string_view contig, std::int64_t begin, std::int64_t end, Visit&& visit) const {
    const auto of = contigs_.find(contig);
    if (of != contigs_.end() && begin < end) look(of->second.first, of->second.second, begin, end, visit);
  }
  bool overlaps(std::string_view contig, std::int64_t begin, std::int64_t end) const {
    bool any = false;
    for_each(contig, begin, end, [&](std::size_t) { any = true; });
    return any;
  }

 private:
  // furthest_[middle of a stretch]: the largest end in it.
  std::int64_t fill(std::size_t begin, std::size_t end) {
    if (begin == end) return 0;
    const std::size_t middle = begin + (end - begin) / 2;
    return furthest_[middle] = std::max({fill(begin, middle), regions_[middle].end, fill(middle + 1, end)});
  }
  template <class Visit>
  void look(std::size_t from, std::size_t to, std::int64_t begin, std::int64_t end, Visit& visit) const {
    if (from == to) return;
    const std::size_t middle = from + (to - from) / 2;
    if (furthest_[middle] <= begin) return;
    look(from, middle, begin, end, visit);
    if (regions_[middle].start >= end) return;
    if (regions_[middle].end > begin) visit(middle);
    look(middle + 1, to, begin, end, visit);
  }

  std::vector<TableRegion> regions_;
  std::vector<std::int64_t> furthest_;
  std::map<std::string, std::pair<std::size_t, std::size_t>, std::less<>> contigs_;
};

}  // namespace sluice
