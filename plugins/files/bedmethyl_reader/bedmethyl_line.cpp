// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "bedmethyl_reader/bedmethyl_line.hpp"

#include <charconv>
#include <system_error>

namespace sluice::bedmethyl_reader {
namespace {

constexpr std::size_t columns = 18, coverage_column = 9, first_count = 11;

bool parse_count(std::string_view text, std::int64_t& value) {
  constexpr std::int64_t most = std::int64_t{1} << 40;  // beyond any position and any depth: sums over all sites of a genome are numbers, too
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0 && value <= most;
}

}  // namespace

std::string parse_bedmethyl(std::string_view text, BedMethylLine& line) {
  line = {};
  std::array<std::string_view, columns + 1> fields;
  std::size_t count = 0;
  while (count < fields.size()) {
    // Names may have blanks, the partition's too; the columns between have none.
    const std::size_t end = text.find_first_of(count < 9 || count == columns ? "\t" : "\t ");
    fields[count++] = text.substr(0, end);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  if (count < columns) return "it has " + std::to_string(count) + " columns, and bedMethyl has 18";
  const auto wrong = [](const char* what, std::string_view field) {
    return std::string(what) + " can't be '" + std::string(field.substr(0, 60)) + "'";
  };
  line.contig = fields[0], line.modification = fields[3], line.strand = fields[5];
  if (count > columns) line.partition = fields[columns];
  if (line.contig.empty()) return "there is no contig";
  if (!parse_count(fields[1], line.position)) return wrong("the position", fields[1]);
  if (line.strand != "+" && line.strand != "-" && line.strand != ".") return wrong("the strand", line.strand);
  for (std::size_t i = 0; i < line.counts.size(); ++i)
    if (!parse_count(fields[first_count + i], line.counts[i])) return wrong("a count", fields[first_count + i]);
  std::int64_t coverage = 0;
  if (!parse_count(fields[coverage_column], coverage)) return wrong("the coverage", fields[coverage_column]);
  if (const std::int64_t calls = line.counts[0] + line.counts[1] + line.counts[2]; calls != coverage)
    return "the coverage is " + std::to_string(coverage) + ", and the calls (modified, canonical, other) are " + std::to_string(calls);
  return "";
}

}  // namespace sluice::bedmethyl_reader
