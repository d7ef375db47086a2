// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What grows piece by piece and is too large to keep in memory, in a file without a name: gone with the process, however that ends.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <sluice/spill_file.hpp>
#include <string>
#include <string_view>

namespace sluice {

// One thread at a time. All of it throws Failure::output.
class SpoolFile {
 public:
  static constexpr std::size_t buffer_bytes = std::size_t{256} << 10;  // of memory that it takes at most

  // As SpillFile. The file is made when the buffer is full for the first time.
  SpoolFile(const std::filesystem::path& beside, std::string advice) : beside_(beside.string()), advice_(std::move(advice)) {}

  void append(std::string_view bytes);
  std::uint64_t bytes() const { return in_file() + buffer_.size(); }
  // What is there from `at` on, at most `most` bytes.
  std::string read(std::uint64_t at, std::size_t most) const;
  // All of it, piece by piece.
  void give(const std::function<void(std::string_view)>& take) const;

 private:
  std::uint64_t in_file() const { return file_ ? file_->bytes() : 0; }
  SpillFile& file();
  const std::string beside_, advice_;
  std::optional<SpillFile> file_;
  std::string buffer_;
};

}  // namespace sluice
