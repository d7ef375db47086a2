// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <sluice/failure.hpp>
#include <string>

namespace sluice::index_file {

// A file in memory, to be read, as long as the object lives. Throws Failure (input) naming the file.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) throw Failure::input("cannot open index '" + path + "': " + std::strerror(errno), "check the path");
    struct stat status {};
    if (::fstat(file, &status) == 0) bytes_ = static_cast<std::size_t>(status.st_size);
    if (bytes_ > 0) memory_ = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, file, 0);
    const int error = errno;
    ::close(file);
    if (memory_ == MAP_FAILED)
      throw Failure::input("cannot map index '" + path + "' into memory: " + std::strerror(error), "check that it is a file");
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (memory_ != nullptr) ::munmap(memory_, bytes_);
  }
  const char* data() const { return static_cast<const char*>(memory_); }
  std::size_t bytes() const { return bytes_; }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace sluice::index_file
