// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The scalings of real reads against those that f5c printed, from its own event alignments. Needs the gzip program.
#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <sluice/methods/event_scaling/scaling.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "event_detection/events.hpp"
#include "unit/signal/event_detection/expected_output.hpp"

namespace sluice::event_scaling {
namespace {

struct ModelColumns {
  std::vector<float> level_mean;
  std::vector<float> level_stdv;
};

// Lines "kmer level_mean level_stdv ..." in order of rank, after comments and a heading.
ModelColumns read_model(const std::string& path) {
  ModelColumns columns;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#' || line.starts_with("kmer")) continue;
    std::istringstream fields(line);
    std::string kmer;
    float mean = 0.0F;
    float stdv = 0.0F;
    fields >> kmer >> mean >> stdv;
    columns.level_mean.push_back(mean);
    columns.level_stdv.push_back(stdv);
  }
  return columns;
}

std::map<std::string, std::string> read_bases(const std::string& path) {
  std::map<std::string, std::string> bases;
  std::ifstream file(path);
  std::string id;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('>')) {
      id = line.substr(1, line.find_first_of(" \t") - 1);
    } else {
      bases[id] += line;
    }
  }
  return bases;
}

TEST_CASE("scalings of ten real E. coli reads are those that f5c prints, given its alignments") {
  if (!expected_output::is_available()) return;
  const std::string& folder = expected_output::reads_folder;
  const auto signals = expected_output::read_signals();
  const auto alignments =
      expected_output::split_by_read(expected_output::unpack("gzip", folder + "expected/f5c_print_banded_aln.first10reads.txt.gz"));
  const std::string printed = expected_output::unpack("gzip", folder + "expected/f5c_print_scaling.txt.gz");
  const auto bases = read_bases(folder + "reads.fasta");
  const ModelColumns columns = read_model(expected_output::shared_folder + "/models/r9.4_450bps.nucleotide.6mer.template.model");
  KmerModelView model;
  model.k = 6;
  model.level_mean = columns.level_mean;
  model.level_stdv = columns.level_stdv;
  CHECK(alignments.size() == 10);

  event_detection::DetectorWorkspace workspace;
  event_detection::EventTable events;
  for (const auto& entry : alignments) {
    const auto& read = entry.first;
    const auto& pairs = entry.second;
    CAPTURE(read);
    const auto& signal = signals.at(read);
    REQUIRE(detect_events(signal.raw, signal.calibration, event_detection::DetectorParams::dna(), workspace, events) ==
            event_detection::DetectionStatus::ok);
    const std::string& sequence = bases.at(read);
    std::vector<std::uint32_t> ranks(read_kmer_count(sequence.size(), model.k));
    REQUIRE(kmer_ranks(sequence, model.alphabet, model.k, ranks) == ScalingStatus::ok);

    std::vector<std::int32_t> first_event(ranks.size(), -1);
    std::vector<std::int32_t> last_event(ranks.size(), -1);
    std::int32_t previous = -1;
    std::istringstream entries(pairs);
    for (std::string entry; std::getline(entries, entry, '\t');) {
      std::int32_t kmer = 0;
      std::int32_t event = 0;
      REQUIRE(std::sscanf(entry.c_str(), "{%d,%d}", &kmer, &event) == 2);
      const auto k = static_cast<std::size_t>(kmer);
      if (event != previous) {
        if (first_event[k] < 0) first_event[k] = event;
        last_event[k] = event;
      }
      previous = event;
    }

    Recalibration recalibration;
    REQUIRE(recalibrate(events.mean, ranks, first_event, last_event, model, {}, recalibration) == ScalingStatus::ok);
    char line[128];
    std::snprintf(line, sizeof(line), "%s\t%.2f\t%.2f\t%.2f\n", read.c_str(), static_cast<double>(recalibration.shift),
                  static_cast<double>(recalibration.scale), static_cast<double>(recalibration.var));
    CHECK(printed.find(line) != std::string::npos);
  }
}

}  // namespace
}  // namespace sluice::event_scaling
