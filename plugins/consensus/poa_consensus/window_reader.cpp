// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "poa_consensus/window_reader.hpp"

#include <algorithm>
#include <vector>

namespace sluice::poa_consensus {

void WindowReader::describe(Describe<WindowReader>& d) {
  d.id("window_reader").source("window").summary("reads windows of sequences from a file");
  d.doc(
      "A window is a line '>NAME COUNT', whose other words are left out, and COUNT lines with one sequence each; lines may be empty. Letters are "
      "upper-cased.");
  d.work_unit("base");
  d.gives("window_name", "utf8", "name of the window")
      .gives("window_index", "i64", "its place in the file, from 0")
      .gives("sequences", "utf8", "the window's sequences, one after the other")
      .gives("sequence_length", "list<i32>", "length of each");
  d.option("path", &Parameters::path, "the file, plain or compressed with gzip; - is standard input").required().reads();
}

WindowReader::WindowReader(const Setup&, const Parameters& parameters) : file_(parameters.path) {}

bool WindowReader::process(const Call& call, Output& out) {
  std::vector<std::string> names, sequences;
  std::vector<std::vector<std::int32_t>> lengths;
  double bases = 0;
  std::uint64_t bytes = 0;
  FileWindow window;
  bool more = true;
  while (!call.cancelled() && (names.empty() || (bases < call.target_work() && bytes < call.target_bytes()))) {
    more = file_.next(window);
    if (!more) break;
    bases += static_cast<double>(window.sequences.size());
    bytes += window.sequences.size() + window.name.size() + window.lengths.size() * sizeof(std::int32_t);
    names.push_back(std::move(window.name));
    sequences.push_back(std::move(window.sequences));
    lengths.push_back(std::move(window.lengths));
  }
  out.set_rows(static_cast<std::int64_t>(names.size()));
  out.set_work(bases);
  out.text_rows("window_name", names);
  out.text_rows("sequences", sequences);
  const auto index = out.column<std::int64_t>("window_index");
  for (std::int64_t& i : index) i = index_++;
  out.gather<std::int32_t>("sequence_length", out.offsets([&](std::int64_t row) { return lengths[static_cast<std::size_t>(row)].size(); }), lengths);
  if (const double share = file_.progress(); share > 0) call.progress(share);
  return more && !call.cancelled();
}

}  // namespace sluice::poa_consensus
