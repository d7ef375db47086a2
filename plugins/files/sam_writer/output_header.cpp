// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sam_writer/output_header.hpp"

#include <algorithm>
#include <sluice/allocated.hpp>
#include <sluice/failure.hpp>
#include <sluice/hts/alignment_header.hpp>
#include <sluice/hts/handles.hpp>
#include <sluice/hts/read_group_samples.hpp>

namespace sluice::sam_writer {
namespace {

void add_lines(sam_hdr_t& header, std::string_view lines, const std::string& what, const std::string& remedy) {
  if (!lines.empty() && hts::add_header_lines(header, lines) != 0) throw Failure::output("cannot make a header of " + what, remedy);
}

// Lines of the input that go into the header.
std::string taken_lines(std::string_view input, bool read_groups) {
  std::string taken;
  while (!input.empty()) {
    const std::string_view line = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(line.size() + 1, input.size()));
    if (line.starts_with("@PG\t") || (read_groups && line.starts_with("@RG\t"))) taken.append(line).push_back('\n');
  }
  hts::refuse_two_samples(taken);
  return taken;
}

}  // namespace

std::string header_text(const HeaderParts& parts) {
  const hts::Header header(allocated(sam_hdr_init()));
  std::string lines(parts.contigs);
  if (!parts.group.line.empty()) lines += parts.group.line + "\n";
  add_lines(*header, lines, "the contigs and the read group", "contig names and the read group must be valid in SAM");
  add_lines(*header, taken_lines(parts.input, parts.group.line.empty()), "the @RG and @PG lines of the reads' files",
            "repair their headers: samtools reheader");
  if (!hts::add_program(*header, std::string(parts.version), "", parts.command))
    throw Failure::output("the header takes no @PG line", "repair the headers of the reads' files: samtools reheader");
  return std::string(hts::header_text(*header));
}

}  // namespace sluice::sam_writer
