// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "poa_consensus/window_reader.hpp"

#include <algorithm>
#include <sluice/input_files.hpp>

namespace sluice::poa_consensus {

void WindowReader::describe(Describe<WindowReader>& d) {
  d.id("window_reader").source("window").summary("reads windows of sequences from files");
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
  file_.emplace(paths_[0], format_);
}

bool WindowReader::next(FileWindow& window) {
  while (!file_->next(window)) {
    if (number_ + 1 == paths_.size()) return false;
    file_.emplace(paths_[++number_], format_);
  }
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
    more = next(window);
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
