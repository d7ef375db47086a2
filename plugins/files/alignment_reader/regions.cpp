// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "alignment_reader/regions.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <sluice/failure.hpp>
#include <sluice/hts/text_file.hpp>
#include <sluice/region.hpp>
#include <sluice/region_table.hpp>
#include <string_view>
#include <tuple>

namespace sluice::alignment_reader {
namespace {

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

Regions Regions::within(const Region& region) const {
  std::vector<Region> parts;
  for (const Region& of : list_)
    if (of.contig == region.contig && of.begin < region.end && region.begin < of.end)
      parts.push_back({of.contig, std::max(of.begin, region.begin), std::min(of.end, region.end)});
  return Regions(std::move(parts));
}

Regions parse_region(const std::string& text, sam_hdr_t* header, const std::string& alignment_file) {
  const auto length_of = [header](std::string_view name) {
    const int contig = sam_hdr_name2tid(header, std::string(name).c_str());
    return contig < 0 ? std::nullopt : std::optional<std::int64_t>(sam_hdr_tid2len(header, contig));
  };
  const sluice::Region region = resolve_region(text, length_of, "'" + alignment_file + "', which has " + contigs_of(header));
  const int contig = sam_hdr_name2tid(header, region.contig.c_str());
  return Regions({Region{contig, region.start, std::min<std::int64_t>(region.end, sam_hdr_tid2len(header, contig))}});
}

Regions read_bed(const std::string& path, sam_hdr_t* header, const std::string& alignment_file, std::string& warning) {
  hts::TextLines lines({path, "BED file"});
  std::vector<Region> list;
  std::uint64_t regions = 0, elsewhere = 0;
  std::string first_elsewhere;
  while (lines.next()) {
    if (region_table::is_left_out(lines.line())) continue;
    std::string_view rest = lines.line();
    const std::string contig(take_column(rest));
    Region region;
    const bool numbers = parse_number(take_column(rest), region.begin) && parse_number(take_column(rest), region.end);
    const std::string place = "BED file '" + path + "', line " + std::to_string(lines.number()) + ": ";
    if (!numbers) throw Failure::input(place + "no contig and two positions", bed_remedy);
    if (region.end < region.begin) throw Failure::input(place + "its end is before its first position", bed_remedy);
    ++regions;
    region.contig = sam_hdr_name2tid(header, contig.c_str());
    const std::int64_t length = region.contig < 0 ? 0 : sam_hdr_tid2len(header, region.contig);
    if (region.begin >= length && elsewhere++ == 0) first_elsewhere = "line " + std::to_string(lines.number()) + ", contig '" + contig + "'";
    region.end = std::min(region.end, length);
    if (region.begin < region.end) list.push_back(region);
  }
  if (list.empty())
    throw Failure::input("BED file '" + path + "' has no region on a contig of '" + alignment_file + "', which has " + contigs_of(header),
                         bed_remedy);
  if (elsewhere > 0)
    warning = std::to_string(elsewhere) + " of " + std::to_string(regions) + " regions of '" + path + "' are on contigs that '" + alignment_file +
              "' lacks, or behind the ends of its contigs, and give nothing: the first is in " + first_elsewhere + "; the file has " +
              contigs_of(header);
  return Regions(std::move(list));
}

}  // namespace sluice::alignment_reader
