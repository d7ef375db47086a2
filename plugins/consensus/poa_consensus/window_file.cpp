// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "poa_consensus/window_file.hpp"

#include <htslib/hfile.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sluice/failure.hpp>
#include <sluice/hts/text_file.hpp>
#include <sluice/sequence/text.hpp>
#include <system_error>
#include <utility>

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

bool is_count(std::string_view word, std::int32_t& count) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
  return !word.empty() && error == std::errc() && end == word.data() + word.size();
}

// "folder/a.b.fq.gz" is of the window "a.b"; "" without such an ending: the name is no sequence file's.
std::string name_of_sequences(const std::string& path) {
  std::string name = std::filesystem::path(path).filename();
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  for (const char* ending : {".fastq", ".fq", ".fasta", ".fa"})
    if (name.ends_with(ending)) return name.substr(0, name.size() - std::string_view(ending).size());
  return {};
}

// Upper-cased behind the others. False: a character is no letter.
bool append_letters(std::string_view letters, std::string& sequences) {
  for (const char letter : letters) {
    const bool is_lower = letter >= 'a' && letter <= 'z';
    if (!is_lower && (letter < 'A' || letter > 'Z')) return false;
    sequences += is_lower ? static_cast<char>(letter - 'a' + 'A') : letter;
  }
  return true;
}

// Takes records as one window.
struct SequencesOfWindow {
  FileWindow& window;
  std::string problem;
  void begin_record(std::string_view) {}
  void take_bases(std::string_view letters) {
    if (problem.empty() && !append_letters(letters, window.sequences)) problem = "a character that is no letter in a sequence";
  }
  void take_qualities(std::string_view letters) { window.qualities += letters; }
  bool end_record(const SequenceTextRecord& record) {
    if (record.bases.letters > longest_sequence) problem = "a sequence of more than " + std::to_string(longest_sequence) + " letters";
    if (window.lengths.size() == most_sequences) problem = "more than " + std::to_string(most_sequences) + " sequences of one window";
    window.lengths.push_back(static_cast<std::int32_t>(record.bases.letters));
    return problem.empty();
  }
};

}  // namespace

struct WindowFile::Reader {
  hts::TextLines lines;
};

WindowFile::WindowFile(const std::string& path, WindowFormat format) : path_(path), format_(format), reader_(new Reader{hts::TextLines({path})}) {
  std::error_code none;
  if (path != "-") file_bytes_ = std::filesystem::file_size(path, none);
  if (none) file_bytes_ = 0;
}
WindowFile::~WindowFile() = default;

void WindowFile::refuse(const std::string& problem) const {
  throw Failure::input(path_ + ":" + std::to_string(line_number_) + ": " + problem,
                       "a window is a line '>NAME COUNT' and COUNT lines with one sequence each, or a file of FASTA (.fa, .fasta) or FASTQ");
}

bool WindowFile::next_line() {
  if (std::exchange(is_held_, false)) return true;
  if (!reader_->lines.next()) return false;
  ++line_number_;
  line_ = reader_->lines.line();
  return true;
}

// Looks at the first line.
bool WindowFile::holds_sequences() {
  const bool has_name = !name_of_sequences(path_).empty();
  if (!next_line()) return has_name;
  is_held_ = true;
  if (line_.starts_with('@')) return true;
  std::string_view rest = line_.substr(std::min<std::size_t>(line_.size(), 1));
  take_word(rest);
  std::int32_t count = 0;
  return line_.starts_with('>') && has_name && !is_count(take_word(rest), count);
}

// An empty file is a window without sequences.
bool WindowFile::next_of_sequences(FileWindow& window) {
  if (std::exchange(is_read_, true)) return false;
  window.name = name_of_sequences(path_);
  if (window.name.empty()) window.name = path_ == "-" ? "window" : std::filesystem::path(path_).filename().string();
  window.sequences.clear();
  window.lengths.clear();
  window.qualities.clear();
  SequencesOfWindow sink{window, {}};
  using Parser = SequenceTextParser<SequencesOfWindow>;
  Parser parser(sink, {.letters = SequenceTextRules::Letters::by_the_sink});
  const auto check = [&](Parser::Outcome outcome) {
    if (!sink.problem.empty()) refuse(sink.problem);
    if (outcome == Parser::Outcome::malformed) refuse(parser.problem().what);
  };
  while (next_line()) {
    check(parser.feed(line_));
    check(parser.feed("\n"));
  }
  check(parser.finish());
  return true;
}

bool WindowFile::next(FileWindow& window) {
  if (format_ == WindowFormat::automatic) format_ = holds_sequences() ? WindowFormat::sequences : WindowFormat::windows;
  if (format_ == WindowFormat::sequences) return next_of_sequences(window);
  if (!next_line()) return false;
  if (!line_.starts_with('>')) refuse("expected '>' and the name of a window");
  std::string_view rest = line_.substr(1);
  const std::string_view name = take_word(rest), number = take_word(rest);
  std::int32_t count = 0;
  if (name.empty() || !is_count(number, count) || count < 0 || count > most_sequences)
    refuse("expected the window's name and its number of sequences, up to " + std::to_string(most_sequences));
  window.name = name;
  window.sequences.clear();
  window.lengths.clear();
  window.qualities.clear();
  for (std::int32_t i = 0; i < count; ++i) {
    if (!next_line())
      refuse("the file ends in window '" + window.name + "', behind " + std::to_string(i) + " of its " + std::to_string(count) + " sequences");
    if (line_.starts_with('>'))
      refuse("window '" + window.name + "' has only " + std::to_string(i) + " of its " + std::to_string(count) + " sequences");
    if (line_.size() > longest_sequence) refuse("a sequence of more than " + std::to_string(longest_sequence) + " letters");
    if (!append_letters(line_, window.sequences)) refuse("a character that is no letter in a sequence of window '" + window.name + "'");
    window.lengths.push_back(static_cast<std::int32_t>(line_.size()));
  }
  return true;
}

bool WindowFile::ends_inside_line() const { return reader_->lines.ends_inside_line(); }

double WindowFile::progress() const {
  if (file_bytes_ == 0) return 0;
  return std::min(1.0, static_cast<double>(htell(reader_->lines.file().fp)) / static_cast<double>(file_bytes_));
}

}  // namespace sluice::poa_consensus
