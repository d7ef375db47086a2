// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Files of overlaps: PAF or MHAP (plain, gzip), SAM, BAM, CRAM.

#include <memory>
#include <string>
#include <string_view>

#include "overlap_reader/overlap_line.hpp"

namespace sluice::overlap_reader {

class OverlapFile {
 public:
  virtual ~OverlapFile() = default;
  // The next overlap of the file; false at the end. Throws Failure (input) naming file and line or record.
  virtual bool next(Overlap& overlap) = 0;
  // "line 7" or "record 7": the overlap that next() gave last.
  virtual std::string place() const = 0;
  // SAM: records that are no alignment (unmapped, or without CIGAR).
  std::uint64_t unmapped() const { return unmapped_; }

 protected:
  std::uint64_t unmapped_ = 0;
};

enum class FileFormat : std::uint8_t { automatic, paf, mhap, sam };

// By content where the format is automatic. Throws Failure (input) if the file can't be opened or is empty.
std::unique_ptr<OverlapFile> open_overlap_file(const std::string& path, FileFormat format);

}  // namespace sluice::overlap_reader
