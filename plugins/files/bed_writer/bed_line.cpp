// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "bed_writer/bed_line.hpp"

#include <sluice/failure.hpp>

namespace sluice::bed_writer {
namespace {

using overlap::tags::append_integer;

constexpr std::string_view colour = "255,0,0";  // as bedtools has it

void append_column(std::string& text, std::int64_t value) {
  text += '\t';
  append_integer(text, value);
}

void append_blocks(std::string& text, std::string_view read, const overlap::ReadAlignment& alignment) {
  std::string sizes, starts;
  std::int64_t count = 0, at = 0, begin = 0;  // from the alignment's start
  const auto end_block = [&] {
    if (at == begin) return;
    if (count++ > 0) sizes += ',', starts += ',';
    append_integer(sizes, at - begin);
    append_integer(starts, begin);
  };
  for (const std::uint32_t operation : alignment.cigar) {
    const std::int64_t length = operation >> 4;
    const char code = "MIDNSHP=XB??????"[operation & 15U];
    if (code == 'N') {
      end_block();
      begin = at += length;
    } else if (code == 'M' || code == 'D' || code == '=' || code == 'X') {
      at += length;
    }
  }
  end_block();
  if (at != alignment.target_end - alignment.target_start)
    throw Failure::input("read '" + std::string(read) + "': the CIGAR of an alignment does not cover its part of the contig",
                         "this is a bug in the stage that gives it");
  append_column(text, alignment.target_start);
  append_column(text, alignment.target_end);
  text.append("\t").append(colour);
  append_column(text, count);
  text.append("\t").append(sizes).append("\t").append(starts);
}

}  // namespace

void append_alignment(std::string& text, std::string_view read, std::string_view contig, const overlap::ReadAlignment& alignment, Columns columns) {
  text += contig;
  append_column(text, alignment.target_start);
  append_column(text, alignment.target_end);
  text.append("\t").append(read);
  append_column(text, alignment.mapping_quality);
  text += alignment.is_reverse ? "\t-" : "\t+";
  if (columns == Columns::twelve) append_blocks(text, read, alignment);
  text += '\n';
}

}  // namespace sluice::bed_writer
