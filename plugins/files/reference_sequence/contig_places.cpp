// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "reference_sequence/contig_places.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <sluice/sequence/text.hpp>
#include <unordered_set>

namespace sluice::reference_sequence {
namespace {

// A header may have so many bytes of comment; of a file with a longer one no index is believed.
constexpr std::int64_t longest_header = 1 << 16;

bool parse_line(std::string_view line, ContigPlaces& places) {
  std::array<std::string_view, 5> fields;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const std::size_t tab = f + 1 < fields.size() ? line.find('\t') : line.size();
    if (tab == std::string_view::npos) return false;
    fields[f] = line.substr(0, tab);
    line.remove_prefix(std::min(tab + 1, line.size()));
  }
  std::array<std::int64_t, 4> numbers{};
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const std::string_view text = fields[n + 1];
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), numbers[n]);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || numbers[n] < 0) return false;
  }
  const auto [length, first_byte, line_bases, line_bytes] = numbers;
  if (fields[0].empty() || (length > 0 && (line_bases == 0 || line_bytes < line_bases || line_bytes - line_bases > 2))) return false;
  if (length > line_bases && line_bytes == line_bases) return false;  // lines without an end
  places.add(fields[0], length, first_byte, line_bases, line_bytes);
  return true;
}

// Behind the contig's last base; nothing: beyond what files have.
std::optional<std::int64_t> end_of(const ContigPlaces& places, std::size_t i) {
  if (places.length[i] == 0) return places.first_byte[i];
  const std::int64_t last = places.length[i] - 1, lines = last / places.line_bases[i];
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 4;
  if (lines > most / places.line_bytes[i] || places.first_byte[i] > most) return std::nullopt;
  return places.first_byte[i] + lines * places.line_bytes[i] + last % places.line_bases[i] + 1;
}

bool is_line_end(char letter) { return letter == '\n' || letter == '\r'; }

// Is this what stands between two contigs: the end of a line, blank ones, and the header of `name`?
bool is_header_of(std::string_view between, std::string_view name, bool is_first) {
  std::size_t at = 0;
  while (at < between.size() && is_line_end(between[at])) ++at;
  if (at == 0 && !is_first) return false;
  if (!between.substr(at).starts_with('>') || between.back() != '\n' || between.find('\n', at) != between.size() - 1) return false;
  const std::string_view header = between.substr(at + 1, between.size() - at - 2);
  const std::string_view own = header.substr(0, header.find_first_of(" \t"));
  return own == name || (own.ends_with('\r') && own.substr(0, own.size() - 1) == name);
}

// What the parser finds.
struct PlaceList {
  ContigPlaces& places;
  bool even = true;
  void begin_record(std::string_view) {}
  void take_bases(std::string_view) {}
  void take_qualities(std::string_view) {}
  bool end_record(const SequenceTextRecord& record) {
    const SequenceLines& lines = record.bases;
    const auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
    places.add(record.name, number(lines.letters), number(lines.begin), number(lines.line_letters), number(lines.line_bytes));
    even = even && lines.even;
    return true;
  }
};

}  // namespace

void ContigPlaces::add(std::string_view contig, std::int64_t bases, std::int64_t first, std::int64_t bases_of_line, std::int64_t bytes_of_line) {
  name.emplace_back(contig);
  length.push_back(bases);
  first_byte.push_back(first);
  line_bases.push_back(bases_of_line);
  line_bytes.push_back(bytes_of_line);
}

std::optional<ContigPlaces> places_of_index(std::string_view fai, std::int64_t file_bytes, const BytesAt& bytes_at) {
  ContigPlaces places;
  while (!fai.empty()) {
    const std::size_t end = fai.find('\n');
    if (end == std::string_view::npos || !parse_line(fai.substr(0, end), places)) return std::nullopt;
    fai.remove_prefix(end + 1);
  }
  if (places.size() == 0) return std::nullopt;
  std::unordered_set<std::string_view> names;
  std::int64_t before = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::optional<std::int64_t> end = end_of(places, i);
    const std::int64_t header = places.first_byte[i] - before;
    if (!end || *end > file_bytes || header < 1 || header > longest_header || !names.insert(places.name[i]).second) return std::nullopt;
    const std::string between = bytes_at(before, header);
    if (static_cast<std::int64_t>(between.size()) != header || !is_header_of(between, places.name[i], i == 0)) return std::nullopt;
    if (places.length[i] > 0 && bytes_at(*end - 1, 1).find_first_of("\r\n") != std::string::npos) return std::nullopt;
    before = *end;
  }
  if (file_bytes - before > longest_header) return std::nullopt;
  const std::string rest = bytes_at(before, file_bytes - before);
  return std::all_of(rest.begin(), rest.end(), is_line_end) ? std::optional(std::move(places)) : std::nullopt;
}

Scanned scan_places(const std::function<std::string_view()>& next, ContigPlaces& places, FastaProblem& problem) {
  places = {};
  PlaceList list{places};
  SequenceTextParser parser(list, {SequenceTextRules::Formats::fasta, SequenceTextRules::Names::unique, SequenceTextRules::Letters::checked});
  using Outcome = SequenceTextParser<PlaceList>::Outcome;
  Outcome outcome = Outcome::fine;
  for (std::string_view piece = next(); !piece.empty() && outcome == Outcome::fine; piece = next()) outcome = parser.feed(piece);
  if (outcome == Outcome::malformed || parser.finish() == Outcome::malformed)
    return problem = {parser.problem().line, parser.problem().what}, Scanned::malformed;
  if (places.size() == 0) return problem = {0, "there is no sequence in it"}, Scanned::malformed;
  return list.even ? Scanned::even : Scanned::uneven;
}

}  // namespace sluice::reference_sequence
