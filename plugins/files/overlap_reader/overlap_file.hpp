// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Files of overlaps: PAF or MHAP (plain, gzip), SAM, BAM, CRAM.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "overlap_reader/overlap_line.hpp"

namespace sluice::overlap_reader {

class OverlapFile {
 public:
  virtual ~OverlapFile() = default;
  // The next overlap of the file; false at the end. Throws Failure (input) naming file and line or record.
  virtual bool next(Overlap& overlap) = 0;
  // "line 7" or "record 7": the overlap that next() gave last.
  virtual std::string place() const = 0;
  // At the end: does text end inside a line?
  virtual bool ends_inside_line() const = 0;
  // SAM: is told the names of records that are no alignment (unmapped, or without CIGAR).
  void tell_unmapped(std::function<void(const char* name)> tell) { unmapped_ = std::move(tell); }

 protected:
  std::function<void(const char*)> unmapped_ = [](const char*) {};
};

enum class FileFormat : std::uint8_t { automatic, paf, mhap, sam };

// By content where the format is automatic. Throws Failure (input) if the file can't be opened.
std::unique_ptr<OverlapFile> open_overlap_file(const std::string& path, FileFormat format);

}  // namespace sluice::overlap_reader
