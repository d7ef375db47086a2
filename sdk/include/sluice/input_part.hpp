// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Parts of an input of files that are read one after the other (SLUICE_TRAIT_PARTS), and the words in which positions in it are said.

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <sluice/failure.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace sluice {

// Of a file. Rows belong to the range in which they begin.
struct ByteRange {
  static constexpr std::uint64_t no_end = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t begin = 0;
  std::uint64_t end = no_end;  // no_end: up to whatever ends the file
  bool is_whole() const { return begin == 0 && end == no_end; }
};

// Part `part` (from 0) of `parts`: as many bytes of all files together as every other part has. A file without bytes belongs to the part in which it
// would begin.
class InputPart {
 public:
  InputPart() = default;
  InputPart(std::vector<std::uint64_t> sizes, std::uint64_t part, std::uint64_t parts) : is_all_(parts <= 1) {
    std::uint64_t all = 0;
    for (const std::uint64_t size : sizes) all += size;
    const std::uint64_t begin = scaled(all, part, parts), end = scaled(all, part + 1, parts);
    std::uint64_t file_begin = 0;
    for (const std::uint64_t size : sizes) {
      const std::uint64_t file_end = file_begin + size;
      std::optional<ByteRange> range;
      if (size == 0 ? (begin <= file_begin && file_begin < end) || (file_begin == all && part + 1 == parts)
                    : std::max(begin, file_begin) < std::min(end, file_end))
        range = ByteRange{std::max(begin, file_begin) - file_begin, end < file_end ? end - file_begin : ByteRange::no_end};
      ranges_.push_back(range);
      file_begin = file_end;
    }
  }
  bool is_all() const { return is_all_; }
  // None: nothing of it.
  std::optional<ByteRange> of(std::size_t file) const { return is_all_ ? ByteRange{} : ranges_[file]; }

  // value * part / parts, without overflow.
  static std::uint64_t scaled(std::uint64_t value, std::uint64_t part, std::uint64_t parts) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<Wide>(value) * part / parts);
  }

 private:
  bool is_all_ = true;
  std::vector<std::optional<ByteRange>> ranges_;
};

// The numbers of a position, with colons between them.
inline std::string position_text(std::initializer_list<std::uint64_t> numbers) {
  std::string text;
  for (const std::uint64_t number : numbers) text += (text.empty() ? "" : ":") + std::to_string(number);
  return text;
}
inline std::vector<std::uint64_t> position_numbers(std::string_view text, std::size_t count) {
  std::vector<std::uint64_t> numbers;
  const char *at = text.data(), *const end = at + text.size();
  while (at != end) {
    const auto [behind, error] = std::from_chars(at, end, numbers.emplace_back());
    if (error != std::errc() || (behind != end && (*behind != ':' || behind + 1 == end))) break;
    at = behind == end ? end : behind + 1;
  }
  if (at != end || numbers.size() != count)
    throw Failure::usage("'" + std::string(text) + "' is no position in the input of this stage", "begin at a position that the same stage said");
  return numbers;
}

// What position() says of an input that can't be begun elsewhere: no stage takes it.
inline constexpr const char* no_position = "none";

// What can't be begun elsewhere: a position in it, or a part of it.
[[noreturn]] inline void refuse_positions(const std::string& what) {
  throw Failure::usage(what + " can't be read from a position on, nor in parts", "save it to a file and read that");
}
// Not standard input, nor a pipe. What is not there is for who opens it to say.
inline bool is_regular_file(const std::string& path) {
  struct stat info {};
  return path != "-" && (::stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode));
}
inline void refuse_unless_file(const std::string& path) {
  if (path == "-") refuse_positions("standard input");
  if (!is_regular_file(path)) refuse_positions("'" + path + "', which is no regular file,");
}
inline std::uint64_t regular_file_bytes(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) ? static_cast<std::uint64_t>(info.st_size) : 0;
}
// A single file that has no places to begin at (gzip, zstd, CRAM) makes no parts.
[[noreturn]] inline void refuse_to_cut(const std::string& path, const std::string& why, const std::string& remedy) {
  throw Failure::usage("'" + path + "' can't be read in parts: " + why, remedy);
}

}  // namespace sluice
