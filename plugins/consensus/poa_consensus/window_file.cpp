// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "poa_consensus/window_file.hpp"

#include <htslib/hfile.h>

#include <charconv>
#include <filesystem>
#include <sluice/failure.hpp>
#include <sluice/hts/text_file.hpp>
#include <system_error>

namespace sluice::poa_consensus {
namespace {

constexpr std::int32_t most_sequences = 1'000'000;
constexpr std::size_t longest_sequence = 100'000'000;

std::string_view take_word(std::string_view& text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  const std::size_t end = std::min(text.find_first_of(" \t", begin), text.size());
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

}  // namespace

struct WindowFile::Reader {
  hts::TextLines lines;
};

WindowFile::WindowFile(const std::string& path) : path_(path), reader_(new Reader{hts::TextLines({path})}) {
  std::error_code none;
  if (path != "-") file_bytes_ = std::filesystem::file_size(path, none);
  if (none) file_bytes_ = 0;
}
WindowFile::~WindowFile() = default;

void WindowFile::refuse(const std::string& problem) const {
  throw Failure::input(path_ + ":" + std::to_string(line_number_) + ": " + problem,
                       "a window is a line '>NAME COUNT' and COUNT lines with one sequence each");
}

bool WindowFile::next_line() {
  if (!reader_->lines.next()) return false;
  ++line_number_;
  line_ = reader_->lines.line();
  return true;
}

bool WindowFile::next(FileWindow& window) {
  if (!next_line()) return false;
  if (!line_.starts_with('>')) refuse("expected '>' and the name of a window");
  std::string_view rest = line_.substr(1);
  const std::string_view name = take_word(rest), number = take_word(rest);
  std::int32_t count = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), count);
  if (name.empty() || number.empty() || error != std::errc() || end != number.data() + number.size() || count < 0 || count > most_sequences)
    refuse("expected the window's name and its number of sequences, up to " + std::to_string(most_sequences));
  window.name = name;
  window.sequences.clear();
  window.lengths.clear();
  for (std::int32_t i = 0; i < count; ++i) {
    if (!next_line())
      refuse("the file ends in window '" + window.name + "', behind " + std::to_string(i) + " of its " + std::to_string(count) + " sequences");
    if (line_.starts_with('>'))
      refuse("window '" + window.name + "' has only " + std::to_string(i) + " of its " + std::to_string(count) + " sequences");
    if (line_.size() > longest_sequence) refuse("a sequence of more than " + std::to_string(longest_sequence) + " letters");
    for (const char letter : line_) {
      const bool is_lower = letter >= 'a' && letter <= 'z';
      if (!is_lower && (letter < 'A' || letter > 'Z')) refuse("a character that is no letter in a sequence of window '" + window.name + "'");
      window.sequences += is_lower ? static_cast<char>(letter - 'a' + 'A') : letter;
    }
    window.lengths.push_back(static_cast<std::int32_t>(line_.size()));
  }
  return true;
}

double WindowFile::progress() const {
  if (file_bytes_ == 0) return 0;
  return std::min(1.0, static_cast<double>(htell(reader_->lines.file().fp)) / static_cast<double>(file_bytes_));
}

}  // namespace sluice::poa_consensus
