// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/file_digest.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "machine/checksum.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t digested_bytes = std::uint64_t{1} << 20;

class Digest {
 public:
  explicit Digest(int file) : file_(file), piece_(digested_bytes) {}
  // False: it can't be read.
  bool add(std::uint64_t begin, std::uint64_t end) {
    while (begin < end) {
      const ssize_t got = ::pread(file_, piece_.data(), static_cast<std::size_t>(std::min(digested_bytes, end - begin)), static_cast<off_t>(begin));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      digest_.add({piece_.data(), static_cast<std::size_t>(got)});
      begin += static_cast<std::uint64_t>(got);
    }
    return true;
  }
  std::string text() const { return digest_.text(); }

 private:
  int file_;
  Checksum digest_;
  std::vector<char> piece_;
};

}  // namespace

FileDigest digest_of(const std::string& path, FileUse use, std::string what, std::uint64_t whole_up_to) {
  FileDigest result{use, std::move(what), path, 0, "", true};
  struct stat info {};
  // Opening a pipe would take what somebody else is to read.
  if (path == "-" || ::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return result;
  result.bytes = static_cast<std::uint64_t>(info.st_size);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return result;
  result.is_whole = result.bytes <= std::max(whole_up_to, 2 * digested_bytes);
  Digest digest(file);
  const bool was_read =
      result.is_whole ? digest.add(0, result.bytes) : digest.add(0, digested_bytes) && digest.add(result.bytes - digested_bytes, result.bytes);
  if (was_read) result.xxh3 = digest.text();
  ::close(file);
  return result;
}

std::vector<FileDigest> digests_of(const Plan& plan, const Registry& registry, const std::vector<std::string>& outputs, std::size_t most) {
  std::vector<FileDigest> result;
  std::set<std::string> seen;
  // What a folder of thousands of files takes has a limit: of the whole so much, then the ends.
  std::uint64_t whole_left = 4 * largest_whole_digest;
  const auto add = [&](const std::string& path, FileUse use, const std::string& what) {
    if (result.size() == most || !seen.insert(path).second) return;
    result.push_back(digest_of(path, use, what, std::min(largest_whole_digest, whole_left)));
    if (result.back().is_whole) whole_left -= std::min(whole_left, result.back().bytes);
  };
  add(plan.pipeline.file, FileUse::reads, "the pipeline");
  for (const PlannedFile& file : files_of(plan, registry))
    if (file.use == FileUse::reads && !file.side) add(file.path, FileUse::reads, file.what);
  for (const PlannedFile& file : files_of(plan, registry))
    for (const std::string& output : outputs)
      if (file.use == FileUse::writes && file.path == output) add(output, FileUse::writes, file.what);
  for (const std::string& output : outputs) add(output, FileUse::writes, "an output");
  return result;
}

}  // namespace sluice
