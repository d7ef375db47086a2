// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "alignment_reader/regions.hpp"

#include <algorithm>
#include <charconv>
#include <sluice/failure.hpp>
#include <sluice/hts/text_file.hpp>
#include <string_view>
#include <tuple>

namespace sluice::alignment_reader {
namespace {

constexpr const char* region_remedy = "write contig or contig:first-last, with positions from 1";
constexpr const char* bed_remedy = "a line of BED is contig, first position from 0, and end, separated by tabs";

bool parse_number(std::string_view digits, std::int64_t& number) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() && number >= 0;
}

// Takes the first column off, at tabs or (as many programs write BED) blanks.
std::string_view take_column(std::string_view& line) {
  const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  const std::size_t end = std::min(line.find_first_of(" \t", begin), line.size());
  const std::string_view column = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return column;
}

bool is_heading(std::string_view line) {
  return line.find_first_not_of(" \t") == std::string_view::npos || line.front() == '#' || line.starts_with("track") || line.starts_with("browser");
}

std::string contigs_of(sam_hdr_t* header) {
  const int known = sam_hdr_nref(header);
  if (known == 0) return "none";
  const std::string first = std::string("'") + sam_hdr_tid2name(header, 0) + "'";
  return known == 1 ? "only " + first : first + " and " + std::to_string(known - 1) + (known == 2 ? " other" : " others");
}

}  // namespace

Regions::Regions(std::vector<Region> list) {
  std::sort(list.begin(), list.end(), [](const Region& a, const Region& b) { return std::tie(a.contig, a.begin) < std::tie(b.contig, b.begin); });
  for (const Region& region : list) {
    if (!list_.empty() && list_.back().contig == region.contig && region.begin <= list_.back().end)
      list_.back().end = std::max(list_.back().end, region.end);
    else
      list_.push_back(region);
  }
}

bool Regions::overlap(int contig, std::int64_t begin, std::int64_t end) const {
  const auto first =
      std::partition_point(list_.begin(), list_.end(), [&](const Region& r) { return r.contig < contig || (r.contig == contig && r.end <= begin); });
  return first != list_.end() && first->contig == contig && first->begin < end;
}

void check_region(const std::string& text) {
  if (text.empty() || text.front() == '{') return;
  const std::size_t colon = text.rfind(':');
  std::string range = colon == std::string::npos ? std::string() : text.substr(colon + 1);
  // Names of contigs may have colons, too: only what can be nothing but positions is judged here.
  if (range.empty() || range.find_first_not_of("0123456789,-") != std::string::npos) return;
  std::erase(range, ',');
  const std::size_t dash = range.find('-');
  std::int64_t first = 0, last = 0;
  const auto parse = [](std::string_view digits, std::int64_t& number) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  const bool has_last = dash != std::string::npos && dash + 1 < range.size();
  if ((dash != 0 && !parse(std::string_view(range).substr(0, dash), first)) || (has_last && !parse(std::string_view(range).substr(dash + 1), last)) ||
      range == "-")
    throw Failure::usage("region '" + text + "' is not contig:first-last", region_remedy);
  if (has_last && first > last)
    throw Failure::usage(
        "region '" + text + "': its first position, " + std::to_string(first) + ", is greater than its last, " + std::to_string(last), region_remedy);
}

Regions parse_region(const std::string& text, sam_hdr_t* header, const std::string& alignment_file) {
  check_region(text);
  hts_pos_t begin = 0, end = 0;
  int contig = -1;
  if (sam_parse_region(header, text.c_str(), &contig, &begin, &end, 0) == nullptr || contig < 0)
    throw Failure::usage("region '" + text + "' is not on a contig of '" + alignment_file + "', which has " + contigs_of(header), region_remedy);
  const std::int64_t length = sam_hdr_tid2len(header, contig);
  end = std::min<std::int64_t>(end, length);
  if (begin >= end)
    throw Failure::usage("region '" + text + "' is empty: '" + sam_hdr_tid2name(header, contig) + "' has " + std::to_string(length) + " bases",
                         region_remedy);
  return Regions({Region{contig, begin, end}});
}

Regions read_bed(const std::string& path, sam_hdr_t* header, const std::string& alignment_file, std::string& note) {
  hts::TextLines lines({path, "BED file"});
  std::vector<Region> list;
  std::uint64_t regions = 0, elsewhere = 0;
  while (lines.next()) {
    if (is_heading(lines.line())) continue;
    std::string_view rest = lines.line();
    const std::string contig(take_column(rest));
    Region region;
    const bool numbers = parse_number(take_column(rest), region.begin) && parse_number(take_column(rest), region.end);
    const std::string place = "BED file '" + path + "', line " + std::to_string(lines.number()) + ": ";
    if (!numbers) throw Failure::input(place + "no contig and two positions", bed_remedy);
    if (region.end < region.begin) throw Failure::input(place + "its end is before its first position", bed_remedy);
    ++regions;
    region.contig = sam_hdr_name2tid(header, contig.c_str());
    if (region.contig >= 0) region.end = std::min<std::int64_t>(region.end, sam_hdr_tid2len(header, region.contig));
    if (region.contig < 0)
      ++elsewhere;
    else if (region.begin < region.end)
      list.push_back(region);
  }
  if (list.empty())
    throw Failure::input("BED file '" + path + "' has no region on a contig of '" + alignment_file + "', which has " + contigs_of(header),
                         bed_remedy);
  if (elsewhere > 0)
    note = std::to_string(elsewhere) + " of " + std::to_string(regions) + " regions of '" + path + "' are on contigs that '" + alignment_file +
           "' lacks";
  return Regions(std::move(list));
}

}  // namespace sluice::alignment_reader
