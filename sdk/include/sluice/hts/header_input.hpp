// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The header of an alignment file, or why it can't be used: HTSlib says that on standard error only, and much of it when lines are added.

#include <htslib/bgzf.h>
#include <htslib/hfile.h>
#include <htslib/hts.h>
#include <htslib/sam.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <sluice/failure.hpp>
#include <sluice/hts/handles.hpp>
#include <sluice/hts/sam_line.hpp>
#include <string>
#include <string_view>
#include <unordered_set>

namespace sluice::hts {

// The value of a field of a header line, "" if there is none.
inline std::string_view header_field(std::string_view line, std::string_view key) {
  while (!line.empty()) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos) return {};
    line.remove_prefix(tab + 1);
    const std::string_view field = line.substr(0, line.find('\t'));
    if (field.size() > 3 && field.starts_with(key) && field[2] == ':') return field.substr(3);
  }
  return {};
}

// What is wrong with the lines of a header that HTSlib has taken, with the line's number; "": nothing.
inline std::string header_problem(std::string_view text) {
  using sam_line_detail::quoted;
  std::unordered_set<std::string_view> names;
  for (std::uint64_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::string place = "line " + std::to_string(number) + " of the header ";
    if (line.starts_with("@SQ")) {
      const std::string_view name = header_field(line, "SN"), length = header_field(line, "LN");
      if (name.empty()) return place + "names no contig (SN): " + quoted(line);
      if (!sam_line_detail::is_number<std::int64_t>(length, 0, std::numeric_limits<std::int64_t>::max()))
        return place + "says no length (LN) of contig " + quoted(name);
      if (!names.insert(name).second) return place + "names contig " + quoted(name) + " again";
    } else if ((line.starts_with("@RG") || line.starts_with("@PG")) && header_field(line, "ID").empty()) {
      return place + "has no ID: " + quoted(line);
    }
  }
  return {};
}

// What the system said, behind a colon; "": nothing.
inline std::string why_not(const htsFile& file) {
  const hFILE* const raw = file.is_bgzf != 0 ? file.fp.bgzf->fp : file.format.format == cram ? nullptr : file.fp.hfile;
  const int error = raw != nullptr ? raw->has_errno : errno;
  return error != 0 ? std::string(": ") + std::strerror(error) : std::string();
}

// Of a file from which nothing has been read. `name`: as messages call it, "alignment file 'x.bam'". Throws Failure (input).
inline Header read_header(htsFile& file, const std::string& name) {
  constexpr const char* remedy = "repair the header, for instance with `samtools reheader`";
  errno = 0;
  Header header(sam_hdr_read(&file));
  if (!header && file.format.format == sam && file.line.l > 0 && file.line.s[0] == '@')
    throw Failure::input(name + ", line " + std::to_string(file.lineno) + ": " + sam_line_detail::quoted({file.line.s, file.line.l}) +
                             " is no line of a header: such begin with @HD, @SQ, @RG, @PG or @CO and a tab",
                         remedy);
  if (!header)
    throw Failure::input(name + " is truncated or damaged: its header cannot be read" + why_not(file), "copy the file again and compare checksums");
  if (const std::string problem = header_problem(header_text(*header)); !problem.empty()) throw Failure::input(name + ": " + problem, remedy);
  return header;
}

}  // namespace sluice::hts
