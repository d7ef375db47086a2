// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where the lines of a SAM text lie, so that HTSlib can be made to read it from any of its records on.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <sluice/hts/bgzf_search.hpp>
#include <string>
#include <vector>

namespace sluice::hts {

class SamLines {
 public:
  // `path` is a file of plain text.
  explicit SamLines(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~SamLines() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  SamLines(const SamLines&) = delete;

  // The first line that is none of the header.
  std::uint64_t first_record() {
    std::uint64_t at = 0;
    for (char first = '\0'; read_at(descriptor_, at, &first, 1) == 1 && first == '@';) at = skip(at, 1).offset;
    return at;
  }
  // The first line that begins at `from` or behind it.
  std::uint64_t line_from(std::uint64_t from) { return from == 0 ? 0 : skip(from - 1, 1).offset; }
  struct Skipped {
    std::uint64_t offset, lines;
  };
  // Lines [from, ...), so many or as many as begin before `end`.
  Skipped skip(std::uint64_t from, std::uint64_t lines, std::uint64_t end = std::numeric_limits<std::uint64_t>::max()) {
    Skipped at{from, 0};
    while (at.lines < lines && at.offset < end) {
      std::size_t begin = static_cast<std::size_t>(at.offset - text_begin_);
      if (at.offset < text_begin_ || begin >= text_.size()) {
        fetch(at.offset);
        begin = 0;
        if (text_.empty()) return at;
      }
      const auto* newline = static_cast<const char*>(std::memchr(text_.data() + begin, '\n', text_.size() - begin));
      if (newline == nullptr) {
        at.offset = line_end(text_begin_ + text_.size());
        ++at.lines;
      } else {
        at.offset = text_begin_ + static_cast<std::uint64_t>(newline - text_.data()) + 1;
        ++at.lines;
      }
    }
    return at;
  }

 private:
  static constexpr std::size_t block_bytes = std::size_t{1} << 20;
  void fetch(std::uint64_t offset) {
    text_begin_ = offset;
    text_.resize(block_bytes);
    text_.resize(read_at(descriptor_, offset, text_.data(), text_.size()));
  }
  // Behind the newline of the line that goes on at `offset`, or the end of the file.
  std::uint64_t line_end(std::uint64_t offset) {
    while (true) {
      fetch(offset);
      const auto* newline = text_.empty() ? nullptr : static_cast<const char*>(std::memchr(text_.data(), '\n', text_.size()));
      if (newline != nullptr) return offset + static_cast<std::uint64_t>(newline - text_.data()) + 1;
      offset += text_.size();
      if (text_.size() < block_bytes) return offset;
    }
  }
  int descriptor_;
  std::vector<char> text_;
  std::uint64_t text_begin_ = 0;
};

}  // namespace sluice::hts
