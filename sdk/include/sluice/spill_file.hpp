// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a stage has no room for in memory, on the disk: a file without a name, gone with the process however that ends.

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <sluice/failure.hpp>
#include <sluice/staged_file.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace sluice {

class SpillFile {
 public:
  // In the folder of the output `beside`, where bytes of the kind will have to fit too; of an output without a place ("-") in TMPDIR. advice: what
  // makes it smaller, for messages about a full disk.
  SpillFile(const std::string& beside, std::string advice) : advice_(std::move(advice)) {
    const bool is_file = beside != "-" && !is_special_file(beside);
    std::error_code error;
    const std::filesystem::path folder = is_file ? followed(beside).parent_path() : std::filesystem::temp_directory_path(error);
    folder_ = folder.empty() ? "." : folder.string();
    room_ = is_file ? "free space there or write elsewhere" : "free space there or set TMPDIR to a folder with room";
    if (error) throw Failure::usage("there is no temporary folder: " + error.message(), "set TMPDIR to a folder with room");
    std::string name = folder_ + "/.sluice-XXXXXX";
    descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (descriptor_ < 0) fail("can't be made", errno);
    ::unlink(name.c_str());
  }
  ~SpillFile() { ::close(descriptor_); }
  SpillFile(const SpillFile&) = delete;

  // Returns where the bytes are. Thread-safe. Throws Failure::output, as read() does.
  std::uint64_t append(std::string_view bytes) {
    const std::uint64_t begin = bytes_.fetch_add(bytes.size());
    for (std::uint64_t at = begin; !bytes.empty();) {
      const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("can't be written", errno);
      bytes.remove_prefix(static_cast<std::size_t>(written));
      at += static_cast<std::uint64_t>(written);
    }
    return begin;
  }
  // Thread-safe.
  void read(std::uint64_t at, char* bytes, std::size_t count) const {
    while (count > 0) {
      const ssize_t got = ::pread(descriptor_, bytes, count, static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) fail("can't be read again", got < 0 ? errno : EIO);
      bytes += got;
      at += static_cast<std::uint64_t>(got);
      count -= static_cast<std::size_t>(got);
    }
  }
  // What has been read for the last time gives its room back, where the file system can do that. Thread-safe.
  void release(std::uint64_t at, std::size_t count) const {
    ::fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at), static_cast<off_t>(count));
  }
  std::uint64_t bytes() const { return bytes_.load(); }
  // Under which this process and its children open it while this lives.
  std::string path() const { return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(descriptor_); }

 private:
  [[noreturn]] void fail(const char* what, int code) const {
    throw Failure::output("a temporary file in '" + folder_ + "' " + what + ": " + std::strerror(code),
                          code == EFBIG                      ? std::string(remedy_of_write(code)) + ", or " + advice_
                          : code == ENOSPC || code == EDQUOT ? room_ + ", or " + advice_
                                                             : "");
  }
  std::string folder_, room_, advice_;
  int descriptor_ = -1;
  std::atomic<std::uint64_t> bytes_{0};
};

}  // namespace sluice
