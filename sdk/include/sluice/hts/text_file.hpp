// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Text files, plain, gzip or BGZF: in blocks, or line by line. What goes wrong is a Failure (input) that names the file.

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sluice/failure.hpp>
#include <sluice/hts/handles.hpp>
#include <sluice/hts/open_input.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::hts {

// How messages call a file, and what they advise where it can't be opened.
struct FileLabel {
  std::string path;
  std::string kind = {};  // "reference" gives "reference 'x.fa'"
  std::string remedy = "check the path";
  std::string text() const { return (kind.empty() ? "" : kind + " ") + "'" + path + "'"; }
};

// "-": standard input.
inline Bgzf open_text(const FileLabel& label) {
  silence();
  errno = 0;
  Bgzf file = open_bgzf(label.path);
  if (!file) throw Failure::input("cannot open " + label.text() + ": " + std::strerror(errno), label.remedy);
  return file;
}

class TextFile {
 public:
  explicit TextFile(FileLabel label, std::size_t block_bytes = std::size_t{1} << 20) : TextFile(open_text(label), label, block_bytes) {}
  TextFile(Bgzf file, FileLabel label, std::size_t block_bytes = std::size_t{1} << 20)
      : label_(std::move(label)), file_(std::move(file)), block_(block_bytes) {}

  // The next block, valid until the next call; empty: the end.
  std::string_view next() { return {block_.data(), read(block_.data(), block_.size())}; }
  // The next bytes, up to so many; 0: the end.
  std::size_t read(char* to, std::size_t bytes) {
    const ssize_t got = bgzf_read(file_.get(), to, bytes);
    if (got < 0)
      throw Failure::input(
          label_.text() + " is truncated or damaged: its compressed data ends or breaks after " + std::to_string(total_) + " bytes of text",
          "copy the file again and compare checksums");
    total_ += static_cast<std::uint64_t>(got);
    if (got == 0 && bytes > 0 && lacks_end(*file_))
      throw Failure::input(label_.text() + " is truncated: it has no BGZF end-of-file block",
                           "copy the file again, or compress it again with `bgzip`");
    return static_cast<std::size_t>(got);
  }
  bool is_compressed() const { return file_->is_compressed != 0; }
  std::uint64_t total() const { return total_; }  // bytes of text so far
  const BGZF& file() const { return *file_; }

 private:
  FileLabel label_;
  Bgzf file_;
  std::vector<char> block_;
  std::uint64_t total_ = 0;
};

class TextLines {
 public:
  explicit TextLines(FileLabel label) : TextLines(open_text(label), label) {}
  TextLines(Bgzf file, FileLabel label) : label_(std::move(label)), file_(std::move(file)) {}

  // Goes to the next line; false at the end.
  bool next() {
    const int got = bgzf_getline(file_.get(), '\n', &line_);
    if (got < -1)
      throw Failure::input(label_.text() + " is truncated or damaged after line " + std::to_string(number_),
                           "copy the file again and compare checksums");
    if (got < 0) return false;
    ++number_;
    return true;
  }
  // Without "\n" or "\r\n"; valid until next().
  std::string_view line() const {
    const std::string_view text(line_.s, line_.l);
    return text.ends_with('\r') ? text.substr(0, text.size() - 1) : text;
  }
  std::uint64_t number() const { return number_; }  // from 1
  const BGZF& file() const { return *file_; }

 private:
  FileLabel label_;
  Bgzf file_;
  Line line_;
  std::uint64_t number_ = 0;
};

}  // namespace sluice::hts
