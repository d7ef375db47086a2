// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A stretch of a contig as an option names it: contig, contig:first-last, contig:first, contig:-last (positions from 1, both inclusive, commas within
// them left out), or the contig in braces, {contig}:first-last. Names may have colons, as HLA-A*01:01 has: the contigs that are there tell.

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <sluice/failure.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace sluice {

struct Interval {
  std::int64_t begin = 0, end = std::numeric_limits<std::int64_t>::max();  // 0-based, exclusive
};

struct Region {
  std::string contig;
  std::int64_t start = 0;                                       // 0-based
  std::int64_t end = std::numeric_limits<std::int64_t>::max();  // exclusive
};

// What a text may mean while the contigs are not known. Throws Failure (usage) for what can be no region of any.
class RegionText {
 public:
  explicit RegionText(std::string text) : text_(std::move(text)) {
    std::string_view range;
    if (const std::size_t close = text_.starts_with('{') ? text_.find('}') : std::string::npos; close != std::string::npos) {
      whole_ = text_.substr(1, close - 1);
      if (close + 1 == text_.size()) return;
      if (text_[close + 1] != ':') throw none();
      range = std::string_view(text_).substr(close + 2);
      name_ = std::exchange(whole_, {});
    } else {
      whole_ = text_;
      const std::size_t colon = text_.rfind(':');
      if (colon == std::string::npos) return;
      range = std::string_view(text_).substr(colon + 1);
      // What can't be positions is part of a name.
      if (range.empty() || range.find_first_not_of("0123456789,-") != std::string_view::npos) return;
      name_ = text_.substr(0, colon);
    }
    take_range(std::string(range));
  }

  // What of a contig is meant; an interval without bases: nothing. "": all of each.
  Interval of(std::string_view contig) const {
    if (text_.empty() || (!whole_.empty() && contig == whole_)) return {};
    return !name_.empty() && contig == name_ ? interval_ : Interval{0, 0};
  }
  const std::string& text() const { return text_; }
  const std::string& whole() const { return whole_; }  // the contig, if all of it is meant; "": that can't be
  const std::string& name() const { return name_; }    // the contig, if a part of it is; "": that can't be
  const Interval& interval() const { return interval_; }

  static constexpr const char* remedy = "write contig or contig:first-last, with positions from 1, or {contig}:first-last";

 private:
  Failure none() const { return Failure::usage("region '" + text_ + "' is not contig:first-last", remedy); }
  std::int64_t position(std::string_view digits, std::int64_t least) const {
    std::int64_t value = 0;
    const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || rest != digits.data() + digits.size() || value < least) throw none();
    return value;
  }
  void take_range(std::string range) {
    std::erase(range, ',');
    const std::size_t dash = range.find('-');
    const std::string_view first = std::string_view(range).substr(0, dash);
    const std::string_view last = dash == std::string::npos ? std::string_view() : std::string_view(range).substr(dash + 1);
    if (first.empty() && last.empty()) throw none();
    if (!first.empty()) interval_.begin = std::max<std::int64_t>(position(first, 0), 1) - 1;  // 0 is taken for 1, as HTSlib does
    if (!last.empty()) interval_.end = position(last, 1);
    if (interval_.begin >= interval_.end)
      throw Failure::usage("region '" + text_ + "': its first position, " + std::to_string(interval_.begin + 1) + ", is greater than its last, " +
                               std::to_string(interval_.end),
                           remedy);
  }

  std::string text_, whole_, name_;
  Interval interval_;
};

// The region among contigs: `length_of` says how many bases the contig of a name has (std::optional<std::int64_t>; none: it is not there), and
// `contigs` what they are, for messages: "the reference 'x.fa'". Throws Failure (usage): it is on none of them, could be on two, or is behind the
// end.
template <class LengthOf>
Region resolve_region(const std::string& text, const LengthOf& length_of, const std::string& contigs) {
  const RegionText parsed(text);
  const auto length = [&](const std::string& name) { return name.empty() ? std::optional<std::int64_t>() : length_of(std::string_view(name)); };
  const std::optional<std::int64_t> whole = length(parsed.whole()), part = length(parsed.name());
  if (whole && part)
    throw Failure::usage("region '" + text + "' could be contig '" + parsed.whole() + "', or a part of contig '" + parsed.name() + "'",
                         "write {" + parsed.whole() + "}, or {" + parsed.name() + "}:first-last");
  if (!whole && !part) throw Failure::usage("region '" + text + "' is not on a contig of " + contigs, RegionText::remedy);
  const Region region = whole ? Region{parsed.whole()} : Region{parsed.name(), parsed.interval().begin, parsed.interval().end};
  if (region.start >= (whole ? *whole : *part))
    throw Failure::usage("region '" + text + "' is empty: '" + region.contig + "' has " + std::to_string(whole ? *whole : *part) + " bases",
                         RegionText::remedy);
  return region;
}

}  // namespace sluice
