// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Parts of contigs that a user asks for: one by name and positions, or those of a BED file.

#include <htslib/sam.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::alignment_reader {

// A part of one contig; 0-based, end exclusive.
struct Region {
  int contig = 0;  // index in the header
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

class Regions {
 public:
  // In any order, overlapping or not.
  explicit Regions(std::vector<Region> list);

  // Sorted; those that overlapped or touched are one.
  const std::vector<Region>& list() const { return list_; }
  // Whether [begin, end) of a contig has a base in one of them.
  bool overlap(int contig, std::int64_t begin, std::int64_t end) const;
  // The parts of them that lie in one region.
  Regions within(const Region& region) const;

 private:
  std::vector<Region> list_;
};

// As sluice/region.hpp has it, which says what fails. `alignment_file` is for messages.
Regions parse_region(const std::string& text, sam_hdr_t* header, const std::string& alignment_file);

// The regions of a BED file (plain or gzip; columns after the third do not matter), cut to their contigs. Those on contigs that the header lacks,
// and behind the ends of contigs, are skipped, and `warning` says so. Throws Failure (input): a line without a contig and two positions that ascend,
// or no region that is left.
Regions read_bed(const std::string& path, sam_hdr_t* header, const std::string& alignment_file, std::string& warning);

}  // namespace sluice::alignment_reader
