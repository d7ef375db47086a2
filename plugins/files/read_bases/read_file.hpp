// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// One file of reads, whatever its format, as read_reader reads it.

#include <cstdint>
#include <memory>
#include <sluice/hts/bam_part.hpp>
#include <sluice/input_turns.hpp>
#include <sluice/repeated_reads.hpp>
#include <sluice/work_sharing.hpp>
#include <string>

#include "read_bases/input_header.hpp"
#include "read_bases/record_search.hpp"
#include "read_bases/sam_tags.hpp"

namespace sluice::read_bases {

struct ReadFileWishes {
  bool qualities = true;  // a column is wanted
  bool comments = false;  // likewise
  bool reads_comments = false;
  bool tags = false;                  // a column is wanted
  const TagChoice* choice = nullptr;  // which of them are taken; null: all of BAM, SAM and CRAM, and none of comments
  bool basecaller_tags = false;       // a column is wanted
  InputHeader* header = nullptr;      // takes what the headers of BAM, SAM and CRAM say, if tags are wanted
  bool written_bases = false;         // a column is wanted
  int threads = 1;
  std::uint32_t not_primary = 0, empty_sequence = 0;  // reasons of the stage
  WorkSharing* sharing = nullptr;                     // of text, from file to file
  RepeatsInStream* repeats = nullptr;                 // looks at the names of all files; null: nobody does
  bool follows = false;                               // an interrupt ends what comes, and not the run
  TextSearchRules text_rules = {};                    // how parts are found
  hts::RecordSearchRules record_rules = {};
};

// Null: whether the file can be read will be seen when there is more of it.
std::unique_ptr<InputReader> open_read_file(const InputTurns::File& file, const ReadFileWishes& wishes);

}  // namespace sluice::read_bases
