// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A file without a name for what is too large to keep in memory: gone with the process, however that ends.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace sluice {

// One thread at a time.
class SpoolFile {
 public:
  // In the folder of `beside` (where its bytes will have to fit too), or where temporary files are kept if that is no regular file's place.
  explicit SpoolFile(const std::filesystem::path& beside);
  ~SpoolFile();
  SpoolFile(const SpoolFile&) = delete;

  // Throws Failure::output.
  void append(std::string_view bytes);
  std::uint64_t bytes() const { return bytes_ + buffer_.size(); }
  // What is there from `at` on, at most `most` bytes. Throws Failure::output.
  std::string read(std::uint64_t at, std::size_t most);

 private:
  void flush();
  std::string place_;
  int descriptor_ = -1;      // opened when the buffer is full for the first time
  std::uint64_t bytes_ = 0;  // in the file
  std::string buffer_;
};

}  // namespace sluice
