// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "poa_consensus/window_reader.hpp"

#include <algorithm>
#include <sluice/hts/input_end.hpp>
#include <sluice/input_files.hpp>
#include <sluice/input_part.hpp>

namespace sluice::poa_consensus {

void WindowReader::describe(Describe<WindowReader>& d) {
  d.id("window_reader").source("window").positions().summary("reads windows of sequences from files");
  d.doc(
      "A window is a line '>NAME COUNT', whose other words are left out, and COUNT lines with one sequence each; lines may be empty. A file of FASTA "
      "or FASTQ is one window, named after the file; the qualities of FASTQ are the weights of its letters, as in spoa. Letters are upper-cased.");
  d.work_unit("base");
  d.gives("window_name", "utf8", "name of the window")
      .gives("window_index", "i64", "its place among all windows, from 0")
      .gives("sequences", "utf8", "the window's sequences, one after the other")
      .gives("sequence_length", "list<i32>", "length of each")
      .gives("sequence_qualities", "utf8", "Phred scores + 33 of all their letters; empty: every letter weighs 1", Needed::optional);
  d.option("path", &Parameters::path, "files or folders of windows, plain or compressed with gzip; - is standard input")
      .required()
      .reads()
      .several(sequence_endings);
  d.option(
       "format", &Parameters::format,
       "what a file holds: windows; sequences: one window, as FASTA or FASTQ; auto: sequences if it begins with @, or is named as FASTA and has no "
       "count in its first line")
      .choices({"auto", "windows", "sequences"});
}

WindowReader::WindowReader(const Setup& setup, const Parameters& p)
    : paths_(input_files(p.path, sequence_endings)),
      format_(p.format == "auto"      ? WindowFormat::automatic
              : p.format == "windows" ? WindowFormat::windows
                                      : WindowFormat::sequences),
      wants_qualities_(setup.wanted("sequence_qualities")) {
  if (setup.begin_at().empty())
    file_.emplace(paths_[0], format_);
  else
    begin_at(setup.begin_at());
}

// The windows before it in its file are read and passed over.
void WindowReader::begin_at(const std::string& position) {
  for (const std::string& path : paths_) refuse_unless_file(path);
  const std::vector<std::uint64_t> numbers = position_numbers(position, 3);
  if (numbers[0] >= paths_.size())
    throw Failure::usage("'" + position + "' is no position in these " + std::to_string(paths_.size()) + " files",
                         "give the files that the position was said of");
  number_ = static_cast<std::size_t>(numbers[0]);
  index_ = static_cast<std::int64_t>(numbers[2]);
  file_.emplace(paths_[number_], format_);
  for (FileWindow passed; of_file_ < numbers[1] && file_->next(passed); ++of_file_) {
  }
}

std::string WindowReader::position() const {
  return is_regular_file(paths_[number_]) ? position_text({number_, of_file_, static_cast<std::uint64_t>(index_)}) : no_position;
}

bool WindowReader::next(const Call& call, FileWindow& window) {
  while (!file_->next(window)) {
    if (file_->ends_inside_line()) call.warn(hts::open_end_text(file_->label()));
    if (file_->is_empty()) call.warn(hts::empty_text(file_->label()));
    if (number_ + 1 == paths_.size()) return false;
    file_.emplace(paths_[++number_], format_);
    of_file_ = 0;
  }
  ++of_file_;
  return true;
}

double WindowReader::progress() const { return (static_cast<double>(number_) + file_->progress()) / static_cast<double>(paths_.size()); }

bool WindowReader::process(const Call& call, Output& out) {
  std::vector<std::string> names, sequences, qualities;
  std::vector<std::vector<std::int32_t>> lengths;
  double bases = 0;
  std::uint64_t bytes = 0;
  FileWindow window;
  bool more = true;
  while (!call.cancelled() && (names.empty() || (bases < call.target_work() && bytes < call.target_bytes()))) {
    more = next(call, window);
    if (!more) break;
    bases += static_cast<double>(window.sequences.size());
    bytes += window.sequences.size() + window.qualities.size() + window.name.size() + window.lengths.size() * sizeof(std::int32_t);
    names.push_back(std::move(window.name));
    sequences.push_back(std::move(window.sequences));
    lengths.push_back(std::move(window.lengths));
    qualities.push_back(std::move(window.qualities));
  }
  out.set_rows(static_cast<std::int64_t>(names.size()));
  out.set_work(bases);
  out.text_rows("window_name", names);
  out.text_rows("sequences", sequences);
  if (wants_qualities_) out.text_rows("sequence_qualities", qualities);
  const auto index = out.column<std::int64_t>("window_index");
  for (std::int64_t& i : index) i = index_++;
  out.gather<std::int32_t>("sequence_length", out.offsets([&](std::int64_t row) { return lengths[static_cast<std::size_t>(row)].size(); }), lengths);
  if (const double share = progress(); share > 0) call.progress(share);
  return more && !call.cancelled();
}

}  // namespace sluice::poa_consensus
