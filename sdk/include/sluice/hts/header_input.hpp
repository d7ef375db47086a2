// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The header of an alignment file, or why it can't be used: HTSlib says that on standard error only, and much of it when lines are added.

#include <htslib/hts.h>
#include <htslib/sam.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <sluice/failure.hpp>
#include <sluice/hts/handles.hpp>
#include <sluice/hts/sam_line.hpp>
#include <string>
#include <string_view>
#include <unordered_set>

namespace sluice::hts {

namespace header_input_detail {

// The value of a field of a header line, "" if there is none.
inline std::string_view field_of(std::string_view line, std::string_view key) {
  while (!line.empty()) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos) return {};
    line.remove_prefix(tab + 1);
    const std::string_view field = line.substr(0, line.find('\t'));
    if (field.size() > 3 && field.starts_with(key) && field[2] == ':') return field.substr(3);
  }
  return {};
}

}  // namespace header_input_detail

// What is wrong with the lines of a header that HTSlib has taken, with the line's number; "": nothing.
inline std::string header_problem(std::string_view text) {
  using header_input_detail::field_of, sam_line_detail::quoted;
  std::unordered_set<std::string_view> names;
  for (std::uint64_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::string place = "line " + std::to_string(number) + " of the header ";
    if (line.starts_with("@SQ")) {
      const std::string_view name = field_of(line, "SN"), length = field_of(line, "LN");
      if (name.empty()) return place + "names no contig (SN): " + quoted(line);
      if (!sam_line_detail::is_number<std::int64_t>(length, 0, std::numeric_limits<std::int64_t>::max()))
        return place + "says no length (LN) of contig " + quoted(name);
      if (!names.insert(name).second) return place + "names contig " + quoted(name) + " again";
    } else if ((line.starts_with("@RG") || line.starts_with("@PG")) && field_of(line, "ID").empty()) {
      return place + "has no ID: " + quoted(line);
    }
  }
  return {};
}

// Of a file from which nothing has been read. `name`: as messages call it, "alignment file 'x.bam'". Throws Failure (input).
inline Header read_header(htsFile& file, const std::string& name) {
  constexpr const char* remedy = "repair the header, for instance with `samtools reheader`";
  Header header(sam_hdr_read(&file));
  if (!header && file.format.format == sam && file.line.l > 0 && file.line.s[0] == '@')
    throw Failure::input(name + ", line " + std::to_string(file.lineno) + ": " + sam_line_detail::quoted({file.line.s, file.line.l}) +
                             " is no line of a header: such begin with @HD, @SQ, @RG, @PG or @CO and a tab",
                         remedy);
  if (!header) throw Failure::input(name + " is truncated or damaged: its header cannot be read", "copy the file again and compare checksums");
  if (const std::string problem = header_problem({sam_hdr_str(header.get()), sam_hdr_length(header.get())}); !problem.empty())
    throw Failure::input(name + ": " + problem, remedy);
  return header;
}

}  // namespace sluice::hts
