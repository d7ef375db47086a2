// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Introns that are known before reads are aligned, from a BED file. Method: minimap2 2.31, S.8 of the specification. Needs sluice::hts, too.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <sluice/call.hpp>
#include <sluice/failure.hpp>
#include <sluice/hts/text_file.hpp>
#include <sluice/minimizer_index.hpp>
#include <sluice/overlap/byte_sort.hpp>
#include <sluice/overlap/minimap2_release.hpp>
#include <sluice/region_table.hpp>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sluice::overlap {

class KnownJunctions {
 public:
  // Bases [begin, end) of a contig; strand: 1, -1, or 0 for unknown.
  struct Junction {
    std::int32_t begin = 0, end = 0;
    std::int32_t score = -1;  // -1: none
    std::int8_t strand = 0;
  };

  // BED with 12 columns: the introns between the blocks of a line; with fewer: the line itself. Lines of contigs that the index does not have, and
  // those without a base, are passed over. Of equal introns the first one is taken, as minimap2 sorts them, of those with least_score and more; 2.24
  // takes them as often as they come. Warns of what is passed over, of lines that reach behind the end of their contig (nothing aligns there), of a
  // file without lines, or that ends inside one. Throws Failure (input).
  KnownJunctions(const Host& host, const std::string& path, const MinimizerIndexView& index, Minimap2Release release,
                 std::int32_t least_score = any_score);
  static constexpr std::int32_t any_score = std::numeric_limits<std::int32_t>::min();

  // Those that lie in [begin, end) as a whole, by their beginnings.
  template <class Take>
  void for_each_inside(std::int32_t contig, std::int32_t begin, std::int32_t end, Take&& take) const {
    const std::vector<Junction>& all = of_contig_[static_cast<std::size_t>(contig)];
    for (auto junction = std::lower_bound(all.begin(), all.end(), begin, [](const Junction&j, std::int32_t at) { return j.begin < at; });
         junction != all.end() && junction->begin < end; ++junction)
      if (junction->end <= end) take(*junction);
  }
  const std::vector<Junction>& of_contig(std::size_t contig) const { return of_contig_[contig]; }
  std::size_t size() const;

 private:
  std::vector<std::vector<Junction>> of_contig_;
};

namespace detail {

// A line of the file.
class JunctionLine {
 public:
  explicit JunctionLine(const hts::TextLines& lines) : lines_(lines) {
    std::string_view rest = lines.line();
    while (fields_.size() < columns_with_blocks) {
      const std::size_t tab = rest.find('\t');
      fields_.push_back(rest.substr(0, tab));
      if (tab == std::string_view::npos) break;
      rest.remove_prefix(tab + 1);
    }
  }
  std::string_view name() const { return fields_[0]; }
  bool is_comment() const { return region_table::is_left_out(lines_.line()); }
  bool has_bases() const { return begin() >= 0 && begin() < end(); }
  std::int32_t end() const { return place(2); }
  // Itself, or the introns between its blocks.
  template <class Take>
  void take_introns(const Take& take) const {
    if (!has_bases()) return;
    Junction whole{begin(), end()};
    if (fields_.size() > 4 && begins_with_digit(fields_[4])) whole.score = static_cast<std::int32_t>(leading_number(fields_[4]));
    if (fields_.size() > 5) whole.strand = fields_[5].starts_with('+') ? 1 : fields_[5].starts_with('-') ? -1 : 0;
    if (fields_.size() < columns_with_blocks || !begins_with_digit(fields_[9])) return take(whole);
    std::string_view sizes = fields_[10], starts = fields_[11];
    std::int64_t end_before = -1;
    for (std::int64_t block = leading_number(fields_[9]); block > 0; --block) {
      const std::int64_t begin = whole.begin + next_number(starts), size = next_number(sizes);
      if (size < 0 || begin < whole.begin || begin + size > whole.end) fail("has blocks that do not lie in its interval");
      if (end_before >= 0 && begin > end_before)
        take({static_cast<std::int32_t>(end_before), static_cast<std::int32_t>(begin), whole.score, whole.strand});
      end_before = begin + size;
    }
  }

 private:
  std::int32_t begin() const { return place(1); }
  std::int32_t place(std::size_t field) const {
    if (fields_.size() < 3) fail("has no start and end");
    return number(fields_[field]);
  }
  using Junction = KnownJunctions::Junction;
  static constexpr std::size_t columns_with_blocks = 12;
  static bool begins_with_digit(std::string_view text) { return !text.empty() && text[0] >= '0' && text[0] <= '9'; }
  [[noreturn]] void fail(const char* what) const {
    throw Failure::input(lines_.label().text() + ", line " + std::to_string(lines_.number()) + ": it " + what,
                         "give a BED file: name, start and end, separated by tabs");
  }
  std::int32_t number(std::string_view text) const {
    std::int32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) fail(("has '" + std::string(text) + "' where a position belongs").c_str());
    return value;
  }
  static std::int64_t leading_number(std::string_view text) {
    std::int32_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  }
  // Of a list with commas.
  std::int64_t next_number(std::string_view& list) const {
    const std::size_t comma = list.find(',');
    const std::int32_t value = number(list.substr(0, comma));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    return value;
  }

  const hts::TextLines& lines_;
  std::vector<std::string_view> fields_;
};

}  // namespace detail

inline KnownJunctions::KnownJunctions(const Host& host, const std::string& path, const MinimizerIndexView& index, Minimap2Release release,
                                      std::int32_t least_score)
    : of_contig_(index.contigs()) {
  std::unordered_map<std::string_view, std::size_t> contigs;
  for (std::size_t i = 0; i < index.contigs(); ++i) contigs.emplace(index.contig_name(i), i);
  hts::TextLines lines({.path = path, .kind = "junctions"});
  std::int64_t all_lines = 0, elsewhere = 0, without_bases = 0, too_far = 0, found = 0;
  while (lines.next()) {
    const detail::JunctionLine line(lines);
    if (line.is_comment()) continue;
    ++all_lines;
    const auto contig = contigs.find(line.name());
    elsewhere += contig == contigs.end() ? 1 : 0;
    without_bases += line.has_bases() ? 0 : 1;
    too_far += contig != contigs.end() && line.end() > index.contig_length[contig->second] ? 1 : 0;
    line.take_introns([&](const Junction& junction) {
      if (contig == contigs.end()) return;
      ++found;
      if (junction.score >= least_score) of_contig_[contig->second].push_back(junction);
    });
  }
  hts::warn_of_open_end(host, lines);
  if (all_lines == 0) host.warn(hts::empty_text(lines.label().text()));
  if (all_lines > 0 && found == 0)
    throw Failure::input("junctions '" + path + "' hold no intron on a contig of the reference",
                         "give those of the same reference: names must agree");
  const auto warn = [&](std::int64_t some, const char* what) {
    if (some > 0) host.warn(std::to_string(some) + " of " + std::to_string(all_lines) + " lines of junctions '" + path + "' " + what);
  };
  warn(elsewhere, "are on contigs that the reference does not have, and are skipped");
  warn(without_bases, "have no base, and are skipped");
  warn(too_far, "reach behind the end of their contig: are they of this reference?");
  for (std::vector<Junction>& all : of_contig_) {
    const auto place = [](const Junction& junction) { return std::pair(junction.begin, junction.end); };
    // With minimap2's sort, which is not stable: its order of introns that differ in strand alone says which of them is the first.
    const auto begin_of = [](const Junction& junction) { return static_cast<std::uint64_t>(junction.begin); };
    const auto end_of = [](const Junction& junction) { return static_cast<std::uint64_t>(junction.end); };
    byte_sort(std::span(all), begin_of);
    for (auto first = all.begin(); first != all.end();) {
      const auto last = std::find_if(first, all.end(), [&](const Junction& junction) { return junction.begin != first->begin; });
      byte_sort(std::span(first, last), end_of);
      first = last;
    }
    if (release != Minimap2Release::v2_24)
      all.erase(std::unique(all.begin(), all.end(), [&](const Junction& a, const Junction& b) { return place(a) == place(b); }), all.end());
  }
}

inline std::size_t KnownJunctions::size() const {
  std::size_t junctions = 0;
  for (const std::vector<Junction>& all : of_contig_) junctions += all.size();
  return junctions;
}

}  // namespace sluice::overlap
