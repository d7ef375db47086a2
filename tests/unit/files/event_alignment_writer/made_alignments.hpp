// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Alignments of events that were made for tests, as plain vectors and as the columns of a batch.

#include <algorithm>
#include <cstdint>
#include <random>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

namespace made {

struct Read {
  std::string name, contig;
  bool is_reverse = false;
  std::int64_t record_index = 0;
  std::vector<std::int32_t> path_event, path_position;
  std::vector<std::uint8_t> path_state;
  std::vector<std::int32_t> event_start, event_length;
  std::vector<float> event_mean, event_stdv;
  std::vector<std::int16_t> raw;
  float shift = 2.5F, scale = 0.97F, var = 1.25F;
  double rate = 4000;
  double digitisation = 8192, range = 1467.6, offset = 6;
};

inline constexpr std::uint32_t k = 3;

struct Model {
  std::vector<float> mean, stdv, log_stdv;
  Model() {
    for (std::uint32_t rank = 0; rank < 64; ++rank) {
      mean.push_back(60.0F + 0.731F * static_cast<float>(rank));
      stdv.push_back(1.5F + 0.013F * static_cast<float>(rank));
      log_stdv.push_back(0);
    }
  }
  sluice::testing::TestBatch batch() const {
    return sluice::testing::BatchBuilder("kmer", 64)
        .attribute("k", "3")
        .attribute("alphabet", "nucleotide")
        .column("level_mean", mean)
        .column("level_stdv", stdv)
        .column("log_level_stdv", log_stdv)
        .build();
  }
};

struct Contig {
  std::string name, bases;
};
inline const std::vector<Contig>& contigs() {
  static const std::vector<Contig> made = {{"one", "ACGTACGTTTGACCATGGTA"}, {"two", "GGGATTTACAGGCATCATCCCGATGCATTTAGC"}};
  return made;
}
inline sluice::testing::TestBatch reference() {
  return sluice::testing::BatchBuilder("contig", 2)
      .text("name", {contigs()[0].name, contigs()[1].name})
      .text("bases", {contigs()[0].bases, contigs()[1].bases})
      .build();
}

// A path over a contig with stays, skips and bad events, in one of four directions: DNA or RNA, forward or reverse.
inline Read random_read(std::mt19937& random, std::int64_t index) {
  const auto below = [&](std::uint32_t end) { return static_cast<std::int32_t>(random() % end); };
  Read read;
  read.name = "read_" + std::to_string(index) + std::string(static_cast<std::size_t>(below(30)), 'x');
  const Contig& contig = contigs()[random() % 2];
  read.contig = contig.name;
  read.is_reverse = below(2) == 1;
  read.record_index = index * 7;
  const bool is_rna = below(2) == 1;
  const auto events = static_cast<std::size_t>(20 + below(60));
  for (std::size_t e = 0; e < events; ++e) {
    read.event_start.push_back(static_cast<std::int32_t>(read.raw.size()));
    read.event_length.push_back(1 + below(9));
    for (std::int32_t i = 0; i < read.event_length.back(); ++i) read.raw.push_back(static_cast<std::int16_t>(300 + below(400)));
    read.event_mean.push_back(50.0F + static_cast<float>(below(100'000)) * 0.0007F);
    read.event_stdv.push_back(static_cast<float>(below(10'000)) * 0.0005F);
  }
  if (is_rna) {
    std::reverse(read.event_start.begin(), read.event_start.end());
    std::reverse(read.event_length.begin(), read.event_length.end());
  }
  std::int32_t position = below(5);
  for (std::size_t e = static_cast<std::size_t>(below(4)); e < events; ++e) {
    read.path_event.push_back(static_cast<std::int32_t>(e));
    read.path_position.push_back(position);
    read.path_state.push_back(below(8) == 0 ? 0 : 1);
    position += below(4) == 0 ? 2 : below(2);
    if (static_cast<std::size_t>(position) + k > contig.bases.size()) break;
  }
  // Of DNA, a reverse read's events descend along the reference; of RNA it has them in that order already.
  if (read.is_reverse)
    for (std::int32_t& event : read.path_event) event = static_cast<std::int32_t>(events) - 1 - event;
  return read;
}

// Without records: empty ones.
inline sluice::testing::TestBatch batch(const std::vector<Read>& reads, std::vector<std::string> records = {}) {
  records.resize(reads.size());
  const auto each = [&]<class T>(T Read::*member) {
    std::vector<T> values;
    for (const Read& read : reads) values.push_back(read.*member);
    return values;
  };
  std::vector<std::uint8_t> is_reverse, mapq;
  std::vector<std::int64_t> samples;
  for (const Read& read : reads) {
    is_reverse.push_back(read.is_reverse ? 1 : 0);
    mapq.push_back(60);
    samples.push_back(static_cast<std::int64_t>(read.raw.size()));
  }
  return sluice::testing::BatchBuilder("read", static_cast<std::int64_t>(reads.size()))
      .text("read_id", each(&Read::name))
      .text("contig", each(&Read::contig))
      .binary("bam_record", records)
      .column("is_reverse", is_reverse)
      .column("mapq", mapq)
      .column("record_index", each(&Read::record_index))
      .column("sample_count", samples)
      .list("path_event", each(&Read::path_event))
      .list("path_position", each(&Read::path_position))
      .list("path_state", each(&Read::path_state))
      .list("event_start", each(&Read::event_start))
      .list("event_length", each(&Read::event_length))
      .list("event_mean", each(&Read::event_mean))
      .list("event_stdv", each(&Read::event_stdv))
      .list("raw_signal", each(&Read::raw))
      .column("shift", each(&Read::shift))
      .column("scale", each(&Read::scale))
      .column("var", each(&Read::var))
      .column("sampling_rate", each(&Read::rate))
      .column("digitisation", each(&Read::digitisation))
      .column("range", each(&Read::range))
      .column("offset", each(&Read::offset))
      .build();
}

inline const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const info = sluice::testing::load_plugin(SLUICE_PLUGIN_DIR "/event_alignment_writer.so");
  return *info;
}

// A stage of the plugin with its resources, ready to run.
inline sluice::testing::StageRun run(const char* stage, const std::vector<sluice::testing::TestBatch>& batches) {
  auto prepared = sluice::testing::run_stage(sluice::testing::stage_of(plugin(), stage), batches);
  prepared.resource("reference", reference());
  if (std::string(stage) != "event_alignment_summary") prepared.resource("model", Model().batch());
  return prepared;
}

}  // namespace made
