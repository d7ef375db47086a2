// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Text files, plain, gzip or BGZF: in blocks, or line by line. What goes wrong is a Failure (input) that names the file; input_end.hpp says how they
// end.

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sluice/failure.hpp>
#include <sluice/hts/handles.hpp>
#include <sluice/hts/input_end.hpp>
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
    // HTSlib takes less of gzip than a block's header for text.
    const bool is_stump = got >= 2 && total_ == 0 && !is_compressed() && to[0] == '\x1f' && to[1] == '\x8b';
    if (got < 0 || is_stump)
      throw Failure::input(label_.text() + " is truncated or damaged: its compressed data ends or breaks after " + std::to_string(total_) +
                               " bytes of text" + reason_of(*file_),
                           "copy the file again and compare checksums");
    if (const NoText other = total_ == 0 ? no_text({to, static_cast<std::size_t>(got)}) : NoText{}; !other.reason.empty())
      throw Failure::input(label_.text() + " " + std::string(other.reason), std::string(other.remedy));
    total_ += static_cast<std::uint64_t>(got);
    if (got > 0) last_ = to[got - 1];
    if (got == 0 && bytes > 0 && lacks_end(*file_)) throw lacks_end_failure(label_.text());
    return static_cast<std::size_t>(got);
  }
  bool is_compressed() const { return file_->is_compressed != 0; }
  std::uint64_t total() const { return total_; }  // bytes of text so far
  // At the end of text that nothing marks.
  bool ends_inside_line() const { return total_ > 0 && last_ != '\n' && !is_compressed(); }
  const FileLabel& label() const { return label_; }
  const BGZF& file() const { return *file_; }

 private:
  FileLabel label_;
  Bgzf file_;
  std::vector<char> block_;
  std::uint64_t total_ = 0;
  char last_ = '\n';
};

class TextLines {
 public:
  // A device may have no end of lines, and a file that is no table none for long.
  static constexpr std::size_t longest_line = std::size_t{1} << 30;
  explicit TextLines(FileLabel label, std::size_t longest = longest_line) : file_(std::move(label), block_bytes), longest_(longest) {}
  TextLines(Bgzf file, FileLabel label) : file_(std::move(file), std::move(label), block_bytes) {}

  // Goes to the next line; false at the end. A line of more bytes than the longest, and a block beyond it, is a Failure (input).
  bool next() {
    begun_.clear();
    while (true) {
      const std::size_t end = rest_.find('\n');
      if (end == std::string_view::npos) {
        begun_ += rest_;
        if (begun_.size() > longest_)
          throw Failure::input(label().text() + ", line " + std::to_string(number_ + 1) + ": it has more than " + std::to_string(longest_) + " bytes",
                               "give a file of lines");
        rest_ = file_.next();
        if (!rest_.empty()) continue;
        line_ = begun_;
        if (line_.empty()) return false;
      } else {
        line_ = rest_.substr(0, end);
        rest_.remove_prefix(end + 1);
        if (!begun_.empty()) line_ = begun_.append(line_);
      }
      // A byte order mark, which tables have that were saved on Windows.
      if (++number_ == 1 && line_.starts_with(byte_order_mark)) line_.remove_prefix(byte_order_mark.size());
      return true;
    }
  }
  // Without "\n" or "\r\n"; valid until next().
  std::string_view line() const { return line_.ends_with('\r') ? line_.substr(0, line_.size() - 1) : line_; }
  std::uint64_t number() const { return number_; }  // from 1
  bool ends_inside_line() const { return file_.ends_inside_line(); }
  const FileLabel& label() const { return file_.label(); }
  const BGZF& file() const { return file_.file(); }

 private:
  static constexpr std::size_t block_bytes = std::size_t{1} << 16;  // what comes slowly through a pipe is not waited for longer
  TextFile file_;
  std::size_t longest_ = longest_line;
  std::string begun_;      // of the line, in blocks before
  std::string_view rest_;  // of the block
  std::string_view line_;
  std::uint64_t number_ = 0;
};

}  // namespace sluice::hts
