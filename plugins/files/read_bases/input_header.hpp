// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the headers of the reads' files (BAM, SAM, CRAM) say of read groups and programs, for the header of what is made of them.

#include <htslib/sam.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::read_bases {

class InputHeader {
 public:
  enum class ReadGroups : std::uint8_t { left_out, kept };
  explicit InputHeader(ReadGroups groups) : groups_(groups) {}

  // Adds the lines that are not there yet. Of two different read groups with one ID the first stays, or both if they are of
  // two samples; a different program with the ID of another gets
  // a new one.
  void add(sam_hdr_t& header);
  // The same of a file, if it is one of these kinds and can be read.
  void add_file(const std::string& path);

  // @RG, then @PG lines.
  std::string text() const;
  // IDs of read groups that had different lines.
  const std::vector<std::string>& conflicts() const { return conflicts_; }

 private:
  void add_read_group(std::string_view line);
  void add_programs(const std::vector<std::string_view>& lines);

  ReadGroups groups_;
  std::vector<std::string> read_groups_, programs_;
  std::map<std::string, std::string, std::less<>> group_lines_, program_lines_;  // by ID
  std::vector<std::string> conflicts_;
};

}  // namespace sluice::read_bases
