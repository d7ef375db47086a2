// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "match_writer/match_text.hpp"

#include <array>
#include <charconv>
#include <cstring>

namespace sluice::match_writer {
namespace {

// Text in a buffer that is grown before each line: what a line has of numbers is written without a test for room (12 million numbers for 10 Mbases of
// reads at min_length 12: 0.15 s less than with string::append).
class Lines {
 public:
  explicit Lines(std::string& out) : out_(out), used_(out.size()) {}
  ~Lines() { out_.resize(used_); }
  void reserve(std::size_t bytes) {
    if (out_.size() - used_ < bytes) out_.resize(std::max(out_.size() * 2, used_ + bytes));
  }
  void put(char letter) { out_[used_++] = letter; }
  void put(std::string_view text) {
    std::memcpy(out_.data() + used_, text.data(), text.size());
    used_ += text.size();
  }
  void put(std::uint64_t number) {
    used_ = static_cast<std::size_t>(std::to_chars(out_.data() + used_, out_.data() + used_ + max_digits, number).ptr - out_.data());
  }
  void put(std::uint64_t number, std::size_t width) {
    std::array<char, max_digits> digits;
    const auto count = static_cast<std::size_t>(std::to_chars(digits.data(), digits.data() + max_digits, number).ptr - digits.data());
    for (std::size_t i = count; i < width; ++i) put(' ');
    put(std::string_view(digits.data(), count));
  }
  static constexpr std::size_t max_digits = 20;

 private:
  std::string& out_;
  std::size_t used_;
};

struct OnContig {
  std::size_t contig;
  bool reverse;
  std::uint64_t place;  // of the first base on the forward strand
};

OnContig on_contig(const FmIndexView& index, std::uint64_t place, std::uint64_t length) {
  const bool reverse = place >= index.tables.bases;
  // What begins on the reverse strand ends there; what begins on the forward strand may end behind it, as bwa has it.
  if (reverse) place = index.tables.text_length - place - length;
  const std::size_t contig = index.contig_of(static_cast<std::int64_t>(place));
  return {contig, reverse, place - static_cast<std::uint64_t>(index.contig_begin[contig])};
}

void append_table(const ReadMatches& m, const FmIndexView& index, Places places, Lines& lines) {
  const bool both = index.both_strands();
  std::size_t next = 0;
  for (std::size_t i = 0; i < m.start.size(); ++i) {
    lines.reserve(m.read_id.size() + 8 + 3 * Lines::max_digits + m.places[i] * (Lines::max_digits + 1));
    lines.put(m.read_id);
    lines.put(both ? std::string_view("\t.\t") : m.reverse[i] != 0 ? std::string_view("\t-\t") : std::string_view("\t+\t"));
    lines.put(static_cast<std::uint64_t>(m.start[i]));
    lines.put('\t');
    lines.put(static_cast<std::uint64_t>(m.end[i] - 1));
    lines.put('\t');
    lines.put(std::uint64_t{m.count[i]});
    lines.put('\t');
    if (m.places[i] == 0) lines.put('*');
    for (std::uint32_t j = 0; j < m.places[i]; ++j, ++next) {
      if (j != 0) lines.put(',');
      if (places == Places::text) {
        lines.put(std::uint64_t{m.place[next]});
        continue;
      }
      const OnContig at = on_contig(index, m.place[next], static_cast<std::uint64_t>(m.end[i] - m.start[i]));
      const std::string_view name = index.contig_name(at.contig);
      lines.reserve(name.size() + 4 + Lines::max_digits + (m.places[i] - j) * (Lines::max_digits + 1));
      lines.put(name);
      lines.put(at.reverse != (m.reverse[i] != 0) ? std::string_view(":-:") : std::string_view(":+:"));
      lines.put(at.place);
    }
    lines.put('\n');
  }
}

void append_fastmap(const ReadMatches& m, const FmIndexView& index, Lines& lines) {
  lines.reserve(m.read_id.size() + 8 + Lines::max_digits);
  lines.put("SQ\t");
  lines.put(m.read_id);
  lines.put('\t');
  lines.put(static_cast<std::uint64_t>(m.read_length));
  lines.put('\n');
  std::size_t next = 0;
  for (std::size_t i = 0; i < m.start.size(); ++i) {
    lines.reserve(12 + 3 * Lines::max_digits);
    lines.put("EM\t");
    lines.put(static_cast<std::uint64_t>(m.start[i]));
    lines.put('\t');
    lines.put(static_cast<std::uint64_t>(m.end[i]));
    lines.put('\t');
    lines.put(std::uint64_t{m.count[i]});
    // bwa ends the line behind the star itself, and then once more.
    if (m.places[i] == 0) lines.put("\t*\n");
    for (std::uint32_t j = 0; j < m.places[i]; ++j, ++next) {
      const OnContig at = on_contig(index, m.place[next], static_cast<std::uint64_t>(m.end[i] - m.start[i]));
      const std::string_view name = index.contig_name(at.contig);
      lines.reserve(name.size() + 8 + Lines::max_digits);
      lines.put('\t');
      lines.put(name);
      lines.put(at.reverse ? std::string_view(":-") : std::string_view(":+"));
      lines.put(at.place + 1);
    }
    lines.put('\n');
  }
  lines.reserve(3);
  lines.put("//\n");
}

void append_mummer(const ReadMatches& m, const FmIndexView& index, Lines& lines) {
  std::size_t match = 0, next = 0;
  for (const std::uint8_t strand : {0, 1}) {
    lines.reserve(m.read_id.size() + 16);
    lines.put("> ");
    lines.put(m.read_id);
    lines.put(strand == 0 ? std::string_view("\n") : std::string_view(" Reverse\n"));
    for (; match < m.start.size() && (m.reverse[match] != 0) == (strand == 1); ++match)
      for (std::uint32_t j = 0; j < m.places[match]; ++j, ++next) {
        const OnContig at = on_contig(index, m.place[next], static_cast<std::uint64_t>(m.end[match] - m.start[match]));
        const std::string_view name = index.contig_name(at.contig);
        lines.reserve(name.size() + 8 + 3 * Lines::max_digits);
        if (index.contigs() > 1) {
          lines.put("  ");
          lines.put(name);
        }
        lines.put(at.place + 1, index.contigs() > 1 ? 10 : 8);
        lines.put("  ");
        lines.put(static_cast<std::uint64_t>(m.start[match]) + 1, 8);
        lines.put("  ");
        lines.put(static_cast<std::uint64_t>(m.end[match] - m.start[match]), 8);
        lines.put('\n');
      }
  }
}

}  // namespace

bool fits(const ReadMatches& m, const FmIndexView& index) {
  const std::size_t count = m.start.size();
  if (m.reverse.size() != count || m.end.size() != count || m.count.size() != count || m.places.size() != count || m.read_length < 0) return false;
  std::size_t next = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (m.start[i] < 0 || m.end[i] <= m.start[i] || m.end[i] > m.read_length || m.places[i] > m.place.size() - next) return false;
    if (i > 0 && m.reverse[i] < m.reverse[i - 1]) return false;
    const auto length = static_cast<std::uint64_t>(m.end[i] - m.start[i]);
    for (std::uint32_t j = 0; j < m.places[i]; ++j, ++next)
      if (m.place[next] + length > index.tables.text_length) return false;
  }
  return next == m.place.size();
}

void append_lines(const ReadMatches& matches, const FmIndexView& index, Format format, Places places, std::string& out) {
  Lines lines(out);
  if (format == Format::table)
    append_table(matches, index, places, lines);
  else if (format == Format::fastmap)
    append_fastmap(matches, index, lines);
  else
    append_mummer(matches, index, lines);
}

}  // namespace sluice::match_writer
