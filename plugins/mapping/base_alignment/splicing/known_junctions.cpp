// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/splicing/known_junctions.hpp"

#include <charconv>
#include <sluice/failure.hpp>
#include <sluice/hts/text_file.hpp>
#include <sluice/region_table.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace sluice::base_alignment {
namespace {

using Junction = KnownJunctions::Junction;

constexpr std::size_t columns_with_blocks = 12;

bool begins_with_digit(std::string_view text) { return !text.empty() && text[0] >= '0' && text[0] <= '9'; }

class BedLine {
 public:
  BedLine(const hts::TextLines& lines) : lines_(lines) {
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
  // Itself, or the introns between its blocks.
  template <class Take>
  void take_introns(const Take& take) const {
    if (fields_.size() < 3) fail("has no start and end");
    Junction whole{number(fields_[1]), number(fields_[2])};
    if (whole.begin < 0 || whole.begin >= whole.end) return;
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

bool by_place(const Junction& a, const Junction& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); }
bool same_place(const Junction& a, const Junction& b) { return a.begin == b.begin && a.end == b.end; }

}  // namespace

KnownJunctions::KnownJunctions(const std::string& path, const MinimizerIndexView& index, overlap::Minimap2Release release)
    : of_contig_(index.contigs()) {
  std::unordered_map<std::string_view, std::size_t> contigs;
  for (std::size_t i = 0; i < index.contigs(); ++i) contigs.emplace(index.contig_name(i), i);
  hts::TextLines lines({.path = path, .kind = "junctions"});
  bool any_line = false;
  while (lines.next()) {
    const BedLine line(lines);
    if (line.is_comment()) continue;
    any_line = true;
    const auto contig = contigs.find(line.name());
    line.take_introns([&](const Junction& junction) {
      if (contig != contigs.end()) of_contig_[contig->second].push_back(junction);
    });
  }
  if (any_line && size() == 0)
    throw Failure::input("junctions '" + path + "' hold no intron on a contig of the reference",
                         "give those of the same reference: names must agree");
  for (std::vector<Junction>& all : of_contig_) {
    std::stable_sort(all.begin(), all.end(), by_place);
    if (release != overlap::Minimap2Release::v2_24) all.erase(std::unique(all.begin(), all.end(), same_place), all.end());
  }
}

std::size_t KnownJunctions::size() const {
  std::size_t junctions = 0;
  for (const std::vector<Junction>& all : of_contig_) junctions += all.size();
  return junctions;
}

}  // namespace sluice::base_alignment
