// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_bases/record_search.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <sluice/hts/bgzf_search.hpp>
#include <string_view>
#include <vector>

namespace sluice::read_bases {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 16, most_text_bytes = std::size_t{1} << 26;
constexpr std::uint64_t most_look_back = std::uint64_t{1} << 24;

// Text of a file from some place on, as much as is looked at, line by line.
class Lines : TextInput::Taker {
 public:
  explicit Lines(std::unique_ptr<TextInput> input) : input_(std::move(input)) {}
  // Begins behind the first newline. False: there is no further whole line, or too much text.
  bool next() {
    for (line_begin_ = line_end_;; read_more()) {
      const std::string_view text(text_.data(), text_.size());
      if (const std::size_t newline = text.find('\n', seen_); newline != std::string_view::npos) {
        line_end_ = seen_ = newline + 1;
        return true;
      }
      seen_ = text.size();
      if (ended_ || is_too_much()) return false;
    }
  }
  bool is_too_much() const { return text_.size() > most_text_bytes; }
  std::size_t begin() const { return line_begin_; }
  // Without its end.
  std::string_view line() const {
    std::string_view text(text_.data() + line_begin_, line_end_ - 1 - line_begin_);
    if (text.ends_with('\r')) text.remove_suffix(1);
    return text;
  }
  // The character behind the line; '\0': there is none.
  char next_character() {
    while (line_end_ == text_.size() && !ended_) read_more();
    return line_end_ == text_.size() ? '\0' : text_.data()[line_end_];
  }
  std::size_t end() const { return line_end_; }
  TextInput::Place place_of(std::size_t text) const { return input_->place_of(text); }

 private:
  void expect(std::size_t) override {}
  void take(std::size_t, std::string_view) override {}
  void read_more() {
    const ParallelFor alone = [](std::size_t count, const std::function<void(std::size_t)>& body) {
      for (std::size_t i = 0; i < count; ++i) body(i);
    };
    try {
      ended_ = input_->read(piece_bytes, text_, alone, *this) == 0;
    } catch (const Failure&) {  // for who reads the file in order to say
      ended_ = true;
    }
  }
  std::unique_ptr<TextInput> input_;
  TextBuffer text_;
  std::size_t line_begin_ = 0, line_end_ = 0, seen_ = 0;
  bool ended_ = false;
};

bool is_before(const TextInput::Place& a, std::uint64_t byte) { return a.offset < byte; }

// What a line of FASTQ could be.
struct LineLook {
  std::size_t begin = 0, letters = 0;
  bool header = false, bases = false, plus = false, qualities = false;
};
LineLook look_at(const Lines& lines) {
  const std::string_view line = lines.line();
  LineLook look{lines.begin(), line.size()};
  look.header = line.size() > 1 && line[0] == '@' && line[1] != ' ' && line[1] != '\t';
  look.plus = !line.empty() && line[0] == '+';
  look.bases = !line.empty() && std::all_of(line.begin(), line.end(), [](unsigned char c) { return std::isalpha(c) != 0; });
  look.qualities = !line.empty() && std::all_of(line.begin(), line.end(), [](char c) { return c >= '!' && c <= '~'; });
  return look;
}

// The first header, if all lines up to the end of some records fit one of the four ways to divide them, and no other.
std::optional<std::size_t> first_header(Lines& lines, std::size_t enough_records) {
  constexpr std::size_t ways = 4;
  std::array<bool, ways> fits = {true, true, true, true};
  std::array<std::size_t, ways> records = {};
  std::vector<LineLook> seen;
  if (!lines.next()) return std::nullopt;
  while (lines.next()) {
    seen.push_back(look_at(lines));
    const std::size_t i = seen.size() - 1;
    std::size_t left = 0, last = 0;
    for (std::size_t way = 0; way < ways; ++way) {
      if (!fits[way]) continue;
      const std::size_t role = (i + ways - way) % ways;
      const LineLook& look = seen[i];
      fits[way] = role == 0   ? look.header
                  : role == 1 ? look.bases
                  : role == 2 ? look.plus
                              : look.qualities && (i < 2 || seen[i - 2].letters == look.letters);
      if (fits[way] && role == 3 && i >= way + 3) ++records[way];
      if (fits[way]) ++left, last = way;
    }
    if (left == 0) return std::nullopt;
    if (left == 1 && records[last] >= enough_records) return seen[last].begin;
  }
  return std::nullopt;
}

// The first '>' behind a newline that is before the limit.
FoundRecord first_fasta_record(Lines& lines, std::uint64_t limit) {
  while (lines.next()) {
    const char first = lines.next_character();
    const TextInput::Place place = lines.place_of(lines.end());
    if (!is_before(place, limit)) return {FoundRecord::How::nowhere, {}};
    if (first == '>') return {FoundRecord::How::at_place, place};
  }
  return {lines.is_too_much() ? FoundRecord::How::from_beginning : FoundRecord::How::nowhere, {}};
}

}  // namespace

TextKind kind_of_text(const std::string& path) {
  TextKind kind;
  FileHandle opened(hopen(path.c_str(), "r"));
  if (!opened) return kind;
  kind.packing = text_packing(opened.get());
  Lines lines(open_text_input(path, std::move(opened)));
  // Blank lines may come first.
  for (char first = lines.next_character(); first != '\0'; first = lines.next() ? lines.next_character() : '\0') {
    if (first == '\n' || first == '\r') continue;
    if (first == '>') kind.format = SequenceFormat::fasta;
    if (first == '@') kind.format = SequenceFormat::fastq;
    break;
  }
  return kind;
}

FoundRecord find_record(const std::string& path, const TextKind& kind, std::uint64_t byte, std::uint64_t limit, const TextSearchRules& rules) {
  if (byte <= rules.exact_below || !kind.format) return {};
  const bool is_plain = kind.packing == TextPacking::plain, is_fasta = *kind.format == SequenceFormat::fasta;
  const int descriptor = is_plain ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const auto close = [&](FoundRecord found) {
    if (descriptor >= 0) ::close(descriptor);
    return found;
  };
  for (std::uint64_t back = is_fasta && is_plain ? 1 : rules.look_back; back < byte && back <= most_look_back; back *= 8) {
    std::uint64_t begin = byte - back;
    if (!is_plain) {
      const std::optional<std::uint64_t> block = hts::find_bgzf_block(descriptor, begin);
      if (!block || *block >= byte) continue;
      begin = *block;
    }
    FileHandle opened(hopen(path.c_str(), "r"));
    if (!opened) break;
    Lines lines(open_text_input(path, std::move(opened), static_cast<std::int64_t>(begin)));
    if (is_fasta) return close(first_fasta_record(lines, limit));
    const std::optional<std::size_t> header = first_header(lines, rules.records);
    if (header && is_before(lines.place_of(*header), byte)) return close({FoundRecord::How::at_place, lines.place_of(*header)});
  }
  return close({});
}

}  // namespace sluice::read_bases
