// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Source: the sites of existing tables of frequencies, to be merged.

#include <algorithm>
#include <sluice/hts/text_file.hpp>
#include <sluice/input_part.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "methylation_table_reader/frequency_line.hpp"

namespace sluice::methylation_table_reader {

class FrequencyTableReader {
 public:
  struct Parameters {
    Path path;
  };
  static void describe(Describe<FrequencyTableReader>& d) {
    d.id("frequency_table_reader").summary("reads tables of methylation frequencies, as f5c meth-freq and frequency_writer write them");
    d.doc(
        "A row for each line. Tables one after the other, each with its first line, are read as one. The table has no strands: all counts are given "
        "as "
        "those of the forward strand.");
    d.source("site").positions().work_unit("row");
    d.gives("contig", "utf8", "name of the reference sequence")
        .gives("start", "i64", "C of the first CpG, 0-based")
        .gives("end", "i64", "C of the last CpG");
    d.gives("motifs", "i32", "CpGs in the group");
    d.gives("called_sites", "i64", "called reads times CpGs").gives("called_sites_methylated", "i64", "of these, methylated");
    d.gives("called_forward", "i64", "as called_sites").gives("methylated_forward", "i64", "as called_sites_methylated");
    d.gives("sequence", "utf8", "the reference around the group, or split-group");
    d.option("path", &Parameters::path, "the table, plain or compressed with gzip; - is standard input").required().reads();
  }

  FrequencyTableReader(const Setup& setup, const Parameters& parameters) : path_(parameters.path), lines_({path_}) {
    if (!lines_.next()) {
      setup.warn(hts::empty_text(lines_.label().text()));
      return;
    }
    if (!is_frequency_header(lines_.line()))
      throw Failure::input("'" + path_ + "' does not begin as a table of frequencies", "give what `f5c meth-freq` or `sluice run frequency` wrote");
    if (setup.begin_at().empty()) return;
    refuse_unless_file(path_);
    const std::uint64_t lines = position_numbers(setup.begin_at(), 1)[0];
    while (lines_.number() < lines && lines_.next()) {
    }
  }
  // Lines before the next row.
  std::string position() const { return is_regular_file(path_) ? position_text({lines_.number()}) : no_position; }

  bool process(const Call& call, Output& out) {
    std::vector<std::string> contig, sequence;
    std::vector<FrequencyLine> rows;
    bool more = true;
    while (!call.cancelled() && static_cast<double>(rows.size()) < std::max(call.target_work(), 1.0) && (more = lines_.next())) {
      FrequencyLine line;
      const std::string problem = parse_frequency(lines_.line(), line);
      if (!problem.empty()) {
        if (is_frequency_header(lines_.line())) continue;
        throw Failure::input(path_ + ":" + std::to_string(lines_.number()) + ": " + problem);
      }
      contig.emplace_back(line.contig);
      sequence.emplace_back(line.sequence);
      rows.push_back(line);
    }
    out.set_rows(static_cast<std::int64_t>(rows.size()));
    out.set_work(static_cast<double>(rows.size()));
    out.text_rows("contig", contig);
    out.text_rows("sequence", sequence);
    const auto fill = [&](auto column, auto FrequencyLine::*member) {
      std::transform(rows.begin(), rows.end(), column.begin(), [&](const FrequencyLine& row) { return row.*member; });
    };
    fill(out.column<std::int64_t>("start"), &FrequencyLine::start);
    fill(out.column<std::int64_t>("end"), &FrequencyLine::end);
    fill(out.column<std::int32_t>("motifs"), &FrequencyLine::motifs);
    for (const char* name : {"called_sites", "called_forward"}) fill(out.column<std::int64_t>(name), &FrequencyLine::called_sites);
    for (const char* name : {"called_sites_methylated", "methylated_forward"})
      fill(out.column<std::int64_t>(name), &FrequencyLine::called_sites_methylated);
    if (!more) hts::warn_of_open_end(call, lines_);
    return more && !call.cancelled();
  }

 private:
  std::string path_;
  hts::TextLines lines_;
};

}  // namespace sluice::methylation_table_reader
