// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Bases of whole reads for records that have none (secondary ones with SEQ "*") or a part of them (hard-clipped supplementary ones): those of the
// read's primary record, wherever it stands in the files.

#include <cstdint>
#include <functional>
#include <memory>
#include <sluice/spill_file.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::read_bases {

// Made by going over the files twice: for the names of such reads, and for their bases, which go to a temporary file. Memory: about 150 bytes and the
// name for each such read.
class PrimaryBases {
 public:
  // `reference`: of CRAM, or "". `cancelled` is asked now and then. Throws Failure (input) naming the file.
  PrimaryBases(const std::vector<std::string>& paths, const std::string& reference, int threads, const std::function<bool()>& cancelled);

  // Bases of the read; 0: no primary record has them.
  std::size_t bases(std::string_view read_id) const;
  // Writes them, in sequencing orientation. Thread-safe.
  void fetch(std::string_view read_id, char* to) const;
  std::size_t reads() const { return reads_.size(); }

 private:
  struct Place {
    std::uint64_t offset = 0;
    std::uint32_t bases = 0;
  };
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, Place, Hash, std::equal_to<>> reads_;
  std::unique_ptr<SpillFile> letters_;
};

}  // namespace sluice::read_bases
