// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which files a run has read and written: their sizes, and checksums that tell two versions apart.

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan_files.hpp"

namespace sluice {

struct FileDigest {
  FileUse use = FileUse::reads;
  std::string what;  // "--signal"
  std::string path;
  std::uint64_t bytes = 0;
  std::string xxh3;      // 16 hexadecimal digits of XXH3 with 64 bits, as xxhsum -H3 writes them; "": no regular file, or it can't be read
  bool is_whole = true;  // else of the first and the last MiB alone
};

// Up to this size a file is read as a whole: a quarter of a second, of a run that has just read or written it.
constexpr std::uint64_t largest_whole_digest = std::uint64_t{256} << 20;

// Never throws: a file that is gone by now has no size and no checksum.
FileDigest digest_of(const std::string& path, FileUse use, std::string what, std::uint64_t whole_up_to = largest_whole_digest);

// Of the pipeline, the inputs and the outputs, in this order; of at most so many files.
std::vector<FileDigest> digests_of(const Plan& plan, const Registry& registry, const std::vector<std::string>& outputs, std::size_t most = 200);

}  // namespace sluice
