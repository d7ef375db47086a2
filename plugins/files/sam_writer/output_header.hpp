// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The header of the file that is written.

#include <htslib/sam.h>

#include <string>
#include <string_view>

#include "sam_writer/sam_records.hpp"

namespace sluice::sam_writer {

struct HeaderParts {
  std::string_view contigs;  // @SQ lines
  ReadGroup group;           // where there is one, it replaces those of the input
  std::string_view input;    // @RG and @PG lines of the reads' files
  std::string_view version, command;
};
// @SQ, @RG, the input's @PG, and a @PG of this program, chained to the last (PP). Throws Failure when that is no header.
std::string header_text(const HeaderParts& parts);

}  // namespace sluice::sam_writer
