// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "overlap_reader/overlap_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace sluice::overlap_reader {
namespace {

constexpr std::size_t columns = 12;

bool split(std::string_view line, char separator, std::array<std::string_view, columns>& fields) {
  for (std::string_view& field : fields) {
    while (separator == ' ' && !line.empty() && line.front() == ' ') line.remove_prefix(1);
    if (line.empty()) return false;
    const std::size_t end = std::min(line.find(separator), line.size());
    field = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return true;
}

// Sequences of 2^31 bases and more are not supported.
bool parse_number(std::string_view text, std::int64_t& value) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && value >= 0 && value <= std::numeric_limits<std::int32_t>::max();
}

const char* check_places(const Overlap& o) {
  if (o.query_start > o.query_end || o.target_start > o.target_end) return "the overlap ends before it starts";
  return nullptr;
}

}  // namespace

LineFormat guess_line_format(std::string_view line) {
  return line.find('\t') == std::string_view::npos && line.find(' ') != std::string_view::npos ? LineFormat::mhap : LineFormat::paf;
}

const char* parse_paf_line(std::string_view line, Overlap& o) {
  std::array<std::string_view, columns> field;
  if (!split(line, '\t', field)) return "a PAF line has at least 12 columns";
  o = {};
  o.query = field[0];
  o.target = field[5];
  if (field[4] != "+" && field[4] != "-") return "column 5 of PAF is + or -";
  o.is_reverse = field[4] == "-";
  if (!parse_number(field[1], o.query_length) || !parse_number(field[2], o.query_start) || !parse_number(field[3], o.query_end) ||
      !parse_number(field[6], o.target_length) || !parse_number(field[7], o.target_start) || !parse_number(field[8], o.target_end) ||
      !parse_number(field[9], o.matches))
    return "columns 2, 3, 4, 7, 8, 9 and 10 of PAF are numbers from 0 to 2147483647";
  return check_places(o);
}

const char* parse_mhap_line(std::string_view line, Overlap& o) {
  std::array<std::string_view, columns> field;
  if (!split(line, ' ', field)) return "a MHAP line has 12 columns";
  o = {};
  std::int64_t query_strand = 0, target_strand = 0;
  if (!parse_number(field[0], o.query_number) || !parse_number(field[1], o.target_number) || !parse_number(field[4], query_strand) ||
      !parse_number(field[5], o.query_start) || !parse_number(field[6], o.query_end) || !parse_number(field[7], o.query_length) ||
      !parse_number(field[8], target_strand) || !parse_number(field[9], o.target_start) || !parse_number(field[10], o.target_end) ||
      !parse_number(field[11], o.target_length))
    return "columns 1, 2 and 5 to 12 of MHAP are numbers from 0 to 2147483647";
  if (o.query_number == 0 || o.target_number == 0) return "MHAP counts sequences from 1";
  o.is_reverse = (query_strand != 0) != (target_strand != 0);
  return check_places(o);
}

std::int64_t overlap_length(const Overlap& o) { return std::max(o.query_end - o.query_start, o.target_end - o.target_start); }

double overlap_error(const Overlap& o) {
  const std::int64_t shorter = std::min(o.query_end - o.query_start, o.target_end - o.target_start);
  const std::int64_t longer = overlap_length(o);
  return longer == 0 ? 1.0 : 1.0 - static_cast<double>(shorter) / static_cast<double>(longer);
}

}  // namespace sluice::overlap_reader
