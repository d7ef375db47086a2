// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/pod5_file.hpp"

#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sluice/failure.hpp>
#include <string_view>
#include <utility>

namespace sluice::signal_reader {
namespace {

constexpr std::string_view signature("\x8BPOD\r\n\x1A\n", 8);
constexpr std::string_view hdf5_signature("\x89HDF\r\n\x1A\n", 8);
// The footer, which names the file by a random number: no other file ends so.
constexpr std::uint64_t end_bytes = 4096;

bool begins_with(std::span<const char> bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

std::int64_t modified(const struct stat& info) { return std::int64_t{1000000000} * info.st_mtim.tv_sec + info.st_mtim.tv_nsec; }

}  // namespace

bool begins_as_pod5(std::span<const char> start_of_file) { return begins_with(start_of_file, signature); }
bool begins_as_hdf5(std::span<const char> start_of_file) { return begins_with(start_of_file, hdf5_signature); }

bool has_table(const std::string& path) {
  std::array<char, signature.size()> start{};
  std::ifstream file(path, std::ios::binary);
  return file.read(start.data(), start.size()) && (begins_as_pod5(start) || begins_as_hdf5(start));
}

UnchangingFile::UnchangingFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor), cached_(descriptor) {
  struct stat info {};
  if (::fstat(descriptor_, &info) != 0) throw Failure::input("cannot read signal file '" + path_ + "': " + std::strerror(errno));
  size_ = static_cast<std::uint64_t>(info.st_size);
  modified_ = modified(info);
  end_ = end();
}

void UnchangingFile::fail_changed() const {
  throw Failure::input("signal file '" + path_ + "' was changed or cut while it was read", "run again when nothing writes to it any more");
}

std::size_t UnchangingFile::read_some(std::uint64_t offset, char* to, std::size_t bytes) const {
  std::size_t got = 0;
  while (got < bytes) {
    const ssize_t part = ::pread(descriptor_, to + got, bytes - got, static_cast<off_t>(offset + got));
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) throw Failure::input("cannot read signal file '" + path_ + "': " + std::strerror(errno));
    if (part == 0) break;
    got += static_cast<std::size_t>(part);
  }
  return got;
}

std::string UnchangingFile::end() const {
  std::string bytes(static_cast<std::size_t>(std::min(size_, end_bytes)), '\0');
  if (read_some(size_ - bytes.size(), bytes.data(), bytes.size()) != bytes.size()) fail_changed();
  return bytes;
}

void UnchangingFile::read(std::uint64_t offset, char* to, std::size_t bytes) const {
  if (read_some(offset, to, bytes) != bytes) fail_changed();
  check();
}

bool UnchangingFile::read_if_at_hand(std::uint64_t offset, char* to, std::size_t bytes) const {
  const iovec whole{to, bytes};
  if (!cached_.read(offset, {&whole, 1})) return false;
  check();
  return true;
}

// A time alone may change: network file systems put theirs in the place of the writer's a little later.
void UnchangingFile::check() const {
  struct stat info {};
  if (::fstat(descriptor_, &info) != 0 || static_cast<std::uint64_t>(info.st_size) != size_) fail_changed();
  if (modified(info) == modified_) return;
  if (end() != end_) fail_changed();
  modified_ = modified(info);
}

Pod5File::Pod5File(const std::string& path, int descriptor) : file_(path, descriptor) {
  std::array<char, signature.size()> end{};
  const bool long_enough = file_.size() >= 2 * signature.size();
  if (long_enough) file_.read(file_.size() - end.size(), end.data(), end.size());
  if (!long_enough || !begins_with(end, signature))
    throw Failure::input("signal file '" + path + "' is truncated: it does not end as POD5 files do",
                         "copy the file again, or save the reads that it has with `pod5 recover`");
  try {
    reads_ = std::make_unique<Pod5Reads>(file_);
  } catch (const FormatProblem& problem) {
    throw Failure::input("signal file '" + path + "' is damaged: " + problem.what(),
                         "copy the file again and compare checksums; `pod5 inspect debug` says more, `pod5 recover` saves reads");
  }
}

}  // namespace sluice::signal_reader
