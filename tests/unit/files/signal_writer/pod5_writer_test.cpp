// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "signal_reader/read_metadata.hpp"
#include "signal_reader/signal_file.hpp"
#include "signal_writer/pod5_bytes.hpp"
#include "unit/outcomes_of.hpp"

using namespace sluice;
using namespace sluice::testing;
namespace reader = sluice::signal_reader;
namespace writer = sluice::signal_writer;

namespace {

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const info = load_plugin(SLUICE_PLUGIN_DIR "/signal_writer.so");
  return *info;
}
std::string uuid(std::size_t number) {
  std::string text = "0a1b2c3d-0000-4000-8000-000000000000";
  for (std::size_t at = text.size(); number > 0; number /= 10) text[--at] = static_cast<char>('0' + number % 10);
  return text;
}
// Of any lengths, the longest of three pieces.
std::vector<std::int16_t> signal(std::size_t read) {
  std::vector<std::int16_t> samples(read == 3 ? 2 * writer::pod5_piece_samples + 5 : read * 37 % 900);
  std::uint32_t state = static_cast<std::uint32_t>(read) + 1;
  for (std::int16_t& sample : samples) {
    state = state * 1664525U + 1013904223U;
    sample = static_cast<std::int16_t>(read % 5 == 0 ? state >> 16U : 400 + (state >> 25U));
  }
  return samples;
}
TestBatch reads(std::size_t count) {
  std::vector<std::string> ids, reasons;
  std::vector<std::vector<std::int16_t>> signals;
  std::vector<std::int32_t> channels, muxes;
  std::vector<std::int64_t> starts, numbers;
  std::vector<double> rates;
  for (std::size_t i = 0; i < count; ++i) {
    ids.push_back(uuid(i));
    signals.push_back(signal(i));
    reasons.emplace_back(i % 2 == 0 ? "signal_positive" : "mux_change");
    channels.push_back(i == 1 ? 70'000 : static_cast<std::int32_t>(i) + 1);
    muxes.push_back(static_cast<std::int32_t>(1 + i % 4));
    starts.push_back(static_cast<std::int64_t>(i) * 10'000);
    numbers.push_back(static_cast<std::int64_t>(i) + 7);
    rates.push_back(i % 7 == 6 ? 5000 : 4000);
  }
  return BatchBuilder("read", static_cast<std::int64_t>(count))
      .text("read_id", ids)
      .list<std::int16_t>("raw_signal", signals)
      .column<double>("digitisation", std::vector<double>(count, 8192))
      .column<double>("range", std::vector<double>(count, 1402.882))
      .column<double>("offset", std::vector<double>(count, -3.5))
      .column<double>("sampling_rate", rates)
      .column<std::int32_t>("sequencer_channel", channels)
      .column<std::int32_t>("mux", muxes)
      .column<std::int64_t>("start_sample", starts)
      .column<std::int64_t>("read_number", numbers)
      .text("end_reason", reasons)
      .build();
}
std::string written(const std::string& bytes) {
  const std::string path = (std::filesystem::temp_directory_path() / "sluice_pod5_writer_test.pod5").string();
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

}  // namespace

TEST_CASE("POD5 is read back as it was") {
  for (const std::size_t count : {0, 1, 5, 1203}) {
    CAPTURE(count);
    const Result result = run_stage(stage_of(plugin(), "pod5_writer"), reads(count)).with({{"output", "x.pod5"}}).run();
    REQUIRE(result.ok());
    const std::string path = written(result.files.at("x.pod5"));
    const reader::SignalFile file(path);
    reader::RecordCursor cursor(file);
    reader::RecordDecoder decoder;
    std::span<const char> stored;
    reader::RecordPlace place;
    std::size_t i = 0;
    for (; cursor.next(stored, place); ++i) {
      reader::SignalRecord record;
      std::vector<std::int16_t> samples;
      REQUIRE(decoder.decode(stored, file.header().records, record, samples) == reader::RecordStatus::ok);
      CHECK(record.read_id == uuid(i));
      CHECK(samples == signal(i));
      CHECK(record.offset == -3.5);
      CHECK(record.digitisation == 8192);
      CHECK(static_cast<float>(record.range / record.digitisation) == static_cast<float>(1402.882 / 8192));
      CHECK(record.sampling_rate == (i % 7 == 6 ? 5000 : 4000));
      const reader::ReadMetadata metadata = reader::read_metadata(file.pod5()->reads(), place);
      CHECK(metadata.channel == (i == 1 ? 70'000 : static_cast<std::int64_t>(i) + 1));
      CHECK(metadata.mux == static_cast<std::int64_t>(1 + i % 4));
      CHECK(metadata.start_sample == static_cast<std::int64_t>(i) * 10'000);
      CHECK(metadata.read_number == static_cast<std::int64_t>(i) + 7);
      CHECK(metadata.end_reason == (i % 2 == 0 ? "signal_positive" : "mux_change"));
    }
    CHECK(i == count);
    std::filesystem::remove(path);
  }
}

TEST_CASE("POD5 does not depend on batches and threads, and what it can't hold fails its read") {
  const auto run = [](const TestBatch& batch) { return run_stage(stage_of(plugin(), "pod5_writer"), batch).with({{"output", "x.pod5"}}); };
  CHECK(run(reads(300)).run().files.at("x.pod5") == run(reads(300)).threads(4).run().files.at("x.pod5"));
  const TestBatch bad = BatchBuilder("read", 4)
                            .text("read_id", {"no uuid", "0a1b2c3d-0000-4000-8000-00000000000g", uuid(1), uuid(2)})
                            .list<std::int16_t>("raw_signal", {{1}, {1}, {1}, {1}})
                            .column<double>("digitisation", {8192, 8192, 0, 8192})
                            .column<double>("range", {1402, 1402, 1402, 1402})
                            .column<double>("offset", {0, 0, 0, 0})
                            .column<double>("sampling_rate", {4000, 4000, 4000, 4000})
                            .build();
  CHECK(run(bad).run().failed.size() == 3);
  CHECK(outcomes_of(run(bad)) == Outcomes{{"written", {1, 4}}});
  // Numbers that the format has no room for: another one would be read back.
  const double f32 = std::numeric_limits<float>::max();
  const TestBatch others = BatchBuilder("read", 10)
                               .text("read_id", {uuid(0), uuid(1), uuid(2), uuid(3), uuid(4), uuid(5), uuid(6), uuid(7), uuid(8), uuid(9)})
                               .list<std::int16_t>("raw_signal", std::vector<std::vector<std::int16_t>>(10, {1}))
                               .column<double>("digitisation", {65536, 65537, 8192.5, 8192, 8192, 8192, 8192, 8192, 8192, 0.5})
                               .column<double>("range", {1402, 1402, 1402, 1402, 1402, 1402, 1402, 8192 * 2 * f32, 1e-300, 1402})
                               .column<double>("offset", {-3.5, 0, 0, 0, 0, 0, 2 * f32, 0, 0, 0})
                               .column<double>("sampling_rate", {65535, 4000, 4000, 4000.5, 65536, 0.25, 4000, 4000, 4000, 4000})
                               .build();
  CHECK(outcomes_of(run(others)) == Outcomes{{"written", {1, 10}}});
  CHECK(contract_problems(plugin(), {{"pod5_writer", {.parameters = {{"output", "x.pod5"}}, .resources = {}, .batches = {reads(5)}}}}) ==
        std::vector<std::string>{});
}
