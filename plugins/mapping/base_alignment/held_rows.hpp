// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Rows that wait until all have come: in memory as long as they are few, else on the disk. They come back in their order.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <sluice/spill_file.hpp>
#include <string>
#include <string_view>

namespace sluice::base_alignment {

class HeldRows {
 public:
  void add(std::string_view row);
  // Behind the last add(): the next row; false: there is none.
  bool take(std::string& row);
  // In memory.
  std::uint64_t bytes() const { return pending_.capacity(); }

 private:
  static constexpr std::size_t bytes_at_once = std::size_t{4} << 20;
  bool fetch(std::size_t bytes);

  std::optional<SpillFile> file_;
  std::string pending_;       // of the rows that came last; then of those that are next
  std::size_t used_ = 0;      // of pending_
  std::uint64_t read_ = 0;    // of the file
  bool is_complete_ = false;  // take() has been called
};

// A row as bytes: texts, and values that can be copied as they are.
class RowBytes {
 public:
  explicit RowBytes(std::string& bytes) : bytes_(bytes) { bytes_.clear(); }
  template <class T>
  void value(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view text) {
    value(std::uint64_t{text.size()});
    bytes_.append(text);
  }

 private:
  std::string& bytes_;
};
class RowReader {
 public:
  explicit RowReader(std::string_view bytes) : bytes_(bytes) {}
  bool is_empty() const { return bytes_.empty(); }
  template <class T>
  T value() {
    T value;
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    return value;
  }
  std::string_view text() {
    const auto size = static_cast<std::size_t>(value<std::uint64_t>());
    const std::string_view text = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return text;
  }

 private:
  std::string_view bytes_;
};

}  // namespace sluice::base_alignment
