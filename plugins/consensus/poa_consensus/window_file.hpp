// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Files of windows: a line ">NAME COUNT" (what follows the count is left out, for instance the sequence that the window was made from), then COUNT
// lines with one sequence each. A line may be empty. Plain or compressed with gzip.

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
};

class WindowFile {
 public:
  explicit WindowFile(const std::string& path);  // "-": standard input
  ~WindowFile();
  // False at the end. Throws Failure::input, naming file and line, for what is no such file.
  bool next(FileWindow& window);
  double progress() const;

 private:
  struct Reader;
  bool next_line();
  [[noreturn]] void refuse(const std::string& problem) const;
  std::string path_;
  std::unique_ptr<Reader> reader_;
  std::string_view line_;
  std::uint64_t line_number_ = 0;
  std::uint64_t file_bytes_ = 0;
};

}  // namespace sluice::poa_consensus
