// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Files of windows: a line ">NAME COUNT" (what follows the count is left out, for instance the sequence that the window was made from), then COUNT
// lines with one sequence each. A line may be empty. Or FASTA or FASTQ, all of whose sequences are one window. Plain or compressed with gzip.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::poa_consensus {

struct FileWindow {
  std::string name;
  std::string sequences;  // upper-cased, one after the other
  std::vector<std::int32_t> lengths;
  std::string qualities;  // Phred + 33 of all letters, or none
};

enum class WindowFormat : std::uint8_t {
  windows,
  sequences,  // FASTA or FASTQ, named after the file
  automatic,  // FASTQ begins with @; FASTA is what has a name that says so, and no count behind the name of its first sequence
};
inline constexpr const char* sequence_endings =
    ".fastq .fq .fasta .fa .fastq.gz .fq.gz .fasta.gz .fa.gz .fastq.zst .fq.zst .fasta.zst .fa.zst";  // zstd: refused

class WindowFile {
 public:
  explicit WindowFile(const std::string& path, WindowFormat format = WindowFormat::windows);  // "-": standard input
  ~WindowFile();
  // False at the end. Throws Failure::input, naming file and line, for what is no such file.
  bool next(FileWindow& window);
  double progress() const;
  // At the end.
  bool ends_inside_line() const;
  bool is_empty() const { return line_number_ == 0; }
  std::string label() const { return "'" + path_ + "'"; }

 private:
  struct Reader;
  bool next_line();
  bool holds_sequences();
  bool next_of_sequences(FileWindow& window);
  [[noreturn]] void refuse(const std::string& problem) const;
  std::string path_;
  WindowFormat format_;
  bool is_held_ = false, is_read_ = false;  // the line has been looked at only; the only window has been given
  std::unique_ptr<Reader> reader_;
  std::string_view line_;
  std::uint64_t line_number_ = 0;
  std::uint64_t file_bytes_ = 0;
};

}  // namespace sluice::poa_consensus
