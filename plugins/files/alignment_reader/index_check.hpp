// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Is the index of an alignment file whole? HTSlib 1.16 takes what a damaged index says for true: it frees memory that it does not own, or finds
// other records. So an index is looked through before HTSlib sees it. Formats: SAM specification 1.6, chapters 5 (.bai) and CSIv1; CRAM 3.1,
// chapter 12 (.crai).

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::alignment_reader {

// What the index belongs to.
struct IndexedFile {
  std::uint64_t bytes = 0;                   // of the alignment file
  std::vector<std::int64_t> contig_lengths;  // of its header, bases
};

// What is wrong with the index, as the end of "the index ..."; "" if nothing is. `bytes`: decompressed.
// .bai and .csi: every number has its room and nothing follows the last; as many contigs as the header; bins once and in range; chunks in order and
// inside the file; bins that lie one behind the other on the contig do so in the file; where the index says from where to where a contig's records
// reach, its chunks cover just that.
std::string binning_index_problem(std::span<const char> bytes, const IndexedFile& file);
// .crai: six whole numbers a line, contigs of the header, places inside the file.
std::string crai_problem(std::string_view text, const IndexedFile& file);

// Reads and checks the index file at `path` (plain, gzip or BGZF).
std::string index_problem(const std::string& path, const IndexedFile& file);

}  // namespace sluice::alignment_reader
