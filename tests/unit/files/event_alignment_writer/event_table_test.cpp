// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <sluice/kmer_model.hpp>

#include "unit/files/event_alignment_writer/made_alignments.hpp"

using sluice::testing::Result;

namespace {

template <class... Values>
std::string print(const char* format, Values... values) {
  std::vector<char> text(2000);
  return {text.data(), static_cast<std::size_t>(std::snprintf(text.data(), text.size(), format, values...))};
}
std::string reverse_complement(const std::string& bases) {
  std::string result(bases.rbegin(), bases.rend());
  for (char& base : result) base = base == 'A' ? 'T' : base == 'C' ? 'G' : base == 'G' ? 'C' : 'A';
  return result;
}
std::string bases_of(const made::Read& read) { return (read.contig == "one" ? made::contigs()[0] : made::contigs()[1]).bases; }
float picoamps(const made::Read& read, std::size_t sample) {
  const float unit = static_cast<float>(read.range) / static_cast<float>(read.digitisation);
  return (static_cast<float>(read.raw[sample]) + static_cast<float>(read.offset)) * unit;
}

struct Options {
  bool names, scale, index, samples, collapse;
};

// The table, written down with printf.
std::string printed_table(const std::vector<made::Read>& reads, const Options& options) {
  const made::Model model;
  std::string text = "contig\tposition\treference_kmer\t";
  text += options.names ? "read_name" : "read_index";
  text += "\tstrand\tevent_index\tevent_level_mean\tevent_stdv\tevent_length\tmodel_kmer\tmodel_mean\tmodel_stdv\tstandardized_level";
  if (options.index) text += "\tstart_idx\tend_idx";
  if (options.samples) text += "\tsamples";
  text += '\n';
  for (const made::Read& read : reads)
    for (std::size_t row = 0, next = 0; row < read.path_event.size(); row = next) {
      next = row + 1;
      while (options.collapse && next < read.path_event.size() && read.path_position[next] == read.path_position[row]) ++next;
      const auto event = static_cast<std::size_t>(read.path_event[row]), last = static_cast<std::size_t>(read.path_event[next - 1]);
      float mean = read.event_mean[event], stdv = read.event_stdv[event];
      const int start = std::min(read.event_start[event], read.event_start[last]);
      const int end = std::max(read.event_start[event] + read.event_length[event], read.event_start[last] + read.event_length[last]);
      if (next - row > 1) {
        mean = stdv = 0;
        for (int i = start; i < end; ++i) mean += picoamps(read, static_cast<std::size_t>(i));
        mean /= static_cast<float>(end - start);
        for (int i = start; i < end; ++i) {
          const float difference = picoamps(read, static_cast<std::size_t>(i)) - mean;
          stdv += difference * difference;
        }
        stdv = std::sqrt(stdv / static_cast<float>(end - start));
      }
      const float seconds = static_cast<float>(end - start) / static_cast<float>(read.rate);
      const std::string kmer = bases_of(read).substr(static_cast<std::size_t>(read.path_position[row]), made::k);
      std::string model_kmer = read.is_reverse ? reverse_complement(kmer) : kmer;
      float model_mean = 0, model_stdv = 0;
      if (read.path_state[row] != 0) {
        const std::uint32_t rank = sluice::kmer_rank(sluice::Alphabet::nucleotide, model_kmer);
        model_mean = options.scale ? model.mean[rank] : read.scale * model.mean[rank] + read.shift;
        model_stdv = options.scale ? model.stdv[rank] : model.stdv[rank] * read.var;
      } else {
        model_kmer = "NNN";
      }
      if (options.scale) mean = (mean - read.shift) / read.scale;
      text += print("%s\t%d\t%s\t", read.contig.c_str(), read.path_position[row], kmer.c_str());
      text += options.names ? read.name : std::to_string(read.record_index);
      text += print("\tt\t%d\t%.2f\t%.3f\t%.5f\t%s\t%.2f\t%.2f\t%.2f", read.path_event[row], mean, stdv, seconds, model_kmer.c_str(), model_mean,
                    model_stdv, (mean - model_mean) / (std::sqrt(read.var) * model_stdv));
      if (options.index) text += print("\t%d\t%d", start, end);
      for (int i = start; options.samples && i < end; ++i) {
        const auto sample = static_cast<float>((double{picoamps(read, static_cast<std::size_t>(i))} - double{read.shift}) / double{read.scale});
        text += print(i == start ? "\t%g" : ",%g", sample);
      }
      text += '\n';
    }
  return text;
}

}  // namespace

TEST_CASE("an event's line says where it is, what it is, and what was expected") {
  made::Read read;
  read.name = "r", read.contig = "one", read.record_index = 4;
  read.event_start = {0, 4, 7, 8}, read.event_length = {4, 3, 1, 4};
  read.event_mean = {1, 80, 90.125F, 70}, read.event_stdv = {1, 1.5F, 0, 2.25F};
  read.raw = {500, 501, 502, 503, 400, 410, 420, 450, 300, 301, 302, 303};
  read.scale = 1, read.shift = 0, read.var = 4;
  read.range = read.digitisation = 1, read.offset = 0;
  read.path_event = {1, 2, 3}, read.path_position = {2, 2, 4}, read.path_state = {1, 0, 1};
  // GTA has rank 44, model 92.164 and 2.072 * 4; ACG has 6, 64.386 and 1.578 * 4.
  const std::vector<sluice::testing::TestBatch> rows = {made::batch({read})};
  const std::string header =
      "contig\tposition\treference_kmer\tread_index\tstrand\tevent_index\tevent_level_mean\tevent_stdv\tevent_length\tmodel_kmer\tmodel_mean\tmodel_"
      "stdv\tstandardized_level";
  CHECK(made::run("event_alignment_tsv", rows).with({{"output", "x"}}).run().files.at("x") ==
        header +
            "\n"
            "one\t2\tGTA\t4\tt\t1\t80.00\t1.500\t0.00075\tGTA\t92.16\t8.29\t-0.73\n"
            "one\t2\tGTA\t4\tt\t2\t90.12\t0.000\t0.00025\tNNN\t0.00\t0.00\tinf\n"
            "one\t4\tACG\t4\tt\t3\t70.00\t2.250\t0.00100\tACG\t64.39\t6.31\t0.44\n");
  CHECK(made::run("event_alignment_tsv", rows).with({{"output", "x"}, {"samples", true}, {"signal_index", true}}).run().files.at("x") ==
        header +
            "\tstart_idx\tend_idx\tsamples\n"
            "one\t2\tGTA\t4\tt\t1\t80.00\t1.500\t0.00075\tGTA\t92.16\t8.29\t-0.73\t4\t7\t400,410,420\n"
            "one\t2\tGTA\t4\tt\t2\t90.12\t0.000\t0.00025\tNNN\t0.00\t0.00\tinf\t7\t8\t450\n"
            "one\t4\tACG\t4\tt\t3\t70.00\t2.250\t0.00100\tACG\t64.39\t6.31\t0.44\t8\t12\t300,301,302,303\n");
  CHECK(made::run("event_alignment_tsv", rows).with({{"output", "x"}, {"collapse_events", true}}).run().files.at("x") ==
        header +
            "\n"
            "one\t2\tGTA\t4\tt\t1\t420.00\t18.708\t0.00100\tGTA\t92.16\t8.29\t19.78\n"
            "one\t4\tACG\t4\tt\t3\t70.00\t2.250\t0.00100\tACG\t64.39\t6.31\t0.44\n");
}

TEST_CASE("the table is printf's for any path and all options") {
  std::mt19937 random(5);
  std::vector<made::Read> reads;
  for (int i = 0; i < 300; ++i) reads.push_back(made::random_read(random, i));
  reads[3].path_event.clear(), reads[3].path_position.clear(), reads[3].path_state.clear();
  reads[4].var = -1, reads[5].scale = 0, reads[6].scale = 1e-30F, reads[7].shift = 1e30F, reads[8].rate = 0, reads[9].digitisation = 0;
  const std::vector<sluice::testing::TestBatch> rows = {made::batch(reads)};
  for (unsigned bits = 0; bits < 32; ++bits) {
    const Options options{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0, (bits & 16) != 0};
    if (options.samples && options.collapse) continue;
    CAPTURE(bits);
    const Result result = made::run("event_alignment_tsv", rows)
                              .with({{"output", "x"},
                                     {"read_names", options.names},
                                     {"scale_events", options.scale},
                                     {"signal_index", options.index},
                                     {"samples", options.samples},
                                     {"collapse_events", options.collapse}})
                              .run();
    REQUIRE(result.ok());
    CHECK((result.files.at("x") == printed_table(reads, options)));
  }
}
