// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <sluice/testing.hpp>
#include <string>
#include <utility>
#include <vector>

#include "signal_reader/signal_index.hpp"
#include "signal_reader/slow5_format.hpp"
#include "signal_writer/blow5_bytes.hpp"
#include "unit/outcomes_of.hpp"

using namespace sluice;
using namespace sluice::testing;
namespace reader = sluice::signal_reader;
namespace writer = sluice::signal_writer;

namespace {

const std::vector<std::vector<std::int16_t>> signals = {
    {}, {5}, {0, 1, -1, 32767, -32768, 32767, 100}, std::vector<std::int16_t>(5000, 417), {300, 301, 299, 555, -2000}};
const std::vector<std::string> ids = {"empty", "a", "extremes", "long", "short"};

TestBatch reads() {
  const auto rows = static_cast<std::int64_t>(ids.size());
  const std::vector<double> ones(ids.size(), 8192.0);
  return BatchBuilder("read", rows)
      .text("read_id", ids)
      .list<std::int16_t>("raw_signal", signals)
      .column<double>("digitisation", ones)
      .column<double>("range", std::vector<double>(ids.size(), 1402.882))
      .column<double>("offset", std::vector<double>(ids.size(), -3.5))
      .column<double>("sampling_rate", std::vector<double>(ids.size(), 4000.0))
      .build();
}
TestBatch run() {
  return BatchBuilder("sequencing_run", 1)
      .text("run_id", {"a_run"})
      .text("experiment_type", {"genomic_dna"})
      .text("sequencing_kit", {"sqk-lsk114"})
      .text("flow_cell_product", {"FLO-MIN114"})
      .text("flow_cell_id", {"FAS1"})
      .text("basecall_model", {"a_model"})
      .text("basecaller_version", {"2.1.0"})
      .column<double>("sampling_rate", {5000.0})
      .column<std::int64_t>("acquisition_start", {1'767'225'600'123})
      .build();
}
const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const info = load_plugin(SLUICE_PLUGIN_DIR "/signal_writer.so");
  return *info;
}

}  // namespace

TEST_CASE("what is written is read back, with every compression") {
  for (const char* record : {"none", "zlib", "zstd"})
    for (const char* signal : {"none", "svb-zd"}) {
      CAPTURE(record);
      CAPTURE(signal);
      const Result result = run_stage(stage_of(plugin(), "blow5_writer"), reads())
                                .with({{"output", "x.blow5"}, {"record_compression", record}, {"signal_compression", signal}})
                                .resource("run", run())
                                .run();
      REQUIRE(result.ok());
      const std::string& bytes = result.files.at("x.blow5");
      reader::Slow5Header header;
      std::string problem;
      REQUIRE(reader::parse_header(bytes, header, problem) == reader::HeaderStatus::ok);
      CHECK(header.attribute("sequencing_kit") == "sqk-lsk114");
      CHECK(header.attribute("experiment_type") == "genomic_dna");
      CHECK(header.attribute("flow_cell_product_code") == "FLO-MIN114");
      CHECK(header.attribute("run_id") == "a_run");
      CHECK(header.attribute("sample_frequency") == "5000");
      CHECK(header.attribute("acquisition_start_time") == "2026-01-01T00:00:00.123+00:00");
      reader::RecordDecoder decoder;
      std::size_t at = header.first_record;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        std::uint64_t size = 0;
        REQUIRE(at + sizeof size <= bytes.size());
        std::memcpy(&size, bytes.data() + at, sizeof size);
        at += sizeof size;
        REQUIRE(at + size <= bytes.size());
        reader::SignalRecord decoded;
        std::vector<std::int16_t> samples;
        REQUIRE(decoder.decode({bytes.data() + at, size}, header.records, decoded, samples) == reader::RecordStatus::ok);
        CHECK(decoded.read_id == ids[i]);
        CHECK(decoded.offset == -3.5);
        CHECK(decoded.range == 1402.882);
        CHECK(decoded.sampling_rate == 4000);
        CHECK(samples == signals[i]);
        at += size;
      }
      CHECK(bytes.substr(at) == "5WOLB");
    }
}

TEST_CASE("without a run the header names none, and rows whose signal is elsewhere are not written") {
  const auto header_of = [](const TestBatch& batch, std::uint64_t written) {
    const Result result = run_stage(stage_of(plugin(), "blow5_writer"), batch).with({{"output", "x.blow5"}}).run();
    REQUIRE(result.ok());
    CHECK(result.outcomes.at("written") == std::pair<std::uint64_t, std::uint64_t>{written, 5});
    reader::Slow5Header header;
    std::string problem;
    REQUIRE(reader::parse_header(result.files.at("x.blow5"), header, problem) == reader::HeaderStatus::ok);
    return header;
  };
  CHECK(header_of(reads(), 5).attribute("sequencing_kit").empty());
  const TestBatch split = BatchBuilder("read", 5)
                              .text("read_id", ids)
                              .text("signal_read_id", {"parent", "", "extremes", "", "short"})
                              .list<std::int16_t>("raw_signal", signals)
                              .column<double>("digitisation", std::vector<double>(5, 8192))
                              .column<double>("range", std::vector<double>(5, 1400))
                              .column<double>("offset", std::vector<double>(5, 0))
                              .column<double>("sampling_rate", std::vector<double>(5, 4000))
                              .build();
  header_of(split, 3);
}

TEST_CASE("the index has slow5lib's layout") {
  writer::Blow5Index index(100);
  index.add("ab", 50);
  index.add("c", 7);
  const std::string bytes = index.take();
  CHECK(bytes.size() == 64 + (2 + 2 + 16) + (2 + 1 + 16) + 8);
  CHECK(bytes.starts_with(std::string("SLOW5IDX\1\0\2\0", 12)));
  CHECK(bytes.ends_with("XDI5WOLS"));
  CHECK(bytes.substr(64, 4) == std::string("\2\0ab", 4));
  CHECK(bytes[68] == 100);
  CHECK(bytes[76] == 50);
  CHECK(static_cast<unsigned char>(bytes[87]) == 150);
}

TEST_CASE("header and records have the bytes of BLOW5's specification") {
  const std::vector<std::pair<std::string, std::string>> attributes = {{"kit", "k"}, {"unknown", ""}};
  const std::string header = writer::blow5_header(attributes, writer::RecordCompression::zstd, writer::SignalCompression::svb_zd);
  // Magic, version 0.2.0, zstd, one read group, svb-zd; then to byte 64, and the size of the text.
  CHECK(header.starts_with(std::string("BLOW5\1\0\2\0\2\1\0\0\0\1", 15) + std::string(49, '\0')));
  std::uint32_t size = 0;
  std::memcpy(&size, header.data() + 64, sizeof size);
  CHECK(size == header.size() - 68);
  CHECK(header.substr(68).starts_with("@kit\tk\n@unknown\t.\n#char*\tuint32_t\tdouble\t"));
  // Differences of -128, 128, -32768, 32768 and 0: as zigzag numbers 255, 256, 65535, 65536 and 0, of 1, 2, 2, 3 and 1 bytes.
  const std::vector<std::int16_t> samples = {-128, 0, -32768, 0, 0};
  writer::Blow5Encoder encoder(writer::RecordCompression::none, writer::SignalCompression::svb_zd);
  std::string bytes;
  REQUIRE(encoder.encode({.read_id = "ab", .digitisation = 1, .offset = 2, .range = 3, .sampling_rate = 4, .raw_signal = samples}, bytes));
  const auto number = [](auto value) {
    std::string raw(sizeof value, '\0');
    std::memcpy(raw.data(), &value, sizeof value);
    return raw;
  };
  const std::string signal = number(std::uint32_t{5}) + std::string("\x94\x00\xFF\x00\x01\xFF\xFF\x00\x00\x01\x00", 11);
  const std::string nothing_known = number(std::uint64_t{1}) + "0" + number(std::numeric_limits<double>::quiet_NaN()) +
                                    number(std::int32_t{0x7FFFFFFF}) + "\xFF" + number(std::uint64_t{0}) + std::string(1, '\0');
  const std::string record = number(std::uint16_t{2}) + "ab" + number(std::uint32_t{0}) + number(1.0) + number(2.0) + number(3.0) + number(4.0) +
                             number(std::uint64_t{15}) + signal + nothing_known;
  CHECK((bytes == number(std::uint64_t{record.size()}) + record));
}

TEST_CASE("a record that can't be stored fails its row and leaves no trace") {
  writer::Blow5Encoder encoder(writer::RecordCompression::zlib, writer::SignalCompression::svb_zd);
  std::string bytes = "before";
  CHECK_FALSE(encoder.encode({.read_id = ""}, bytes));
  CHECK_FALSE(encoder.encode({.read_id = std::string(65'536, 'x')}, bytes));
  CHECK(bytes == "before");
  CHECK(encoder.encode({.read_id = std::string(65'535, 'x')}, bytes));
}

TEST_CASE("the writer keeps the contract of every stage") {
  CHECK(contract_problems(plugin(), {{"blow5_writer", {.parameters = {{"output", "x.blow5"}}, .resources = {}, .batches = {reads()}}}}) ==
        std::vector<std::string>{});
}

TEST_CASE("a full disk is an output error") {
  CHECK(outcomes_of(run_stage(stage_of(plugin(), "blow5_writer"), reads().all_failed()).with({{"output", "x.blow5"}})).at("written").first == 0);
  const Result result = run_stage(stage_of(plugin(), "blow5_writer"), reads()).with({{"output", "x.blow5"}}).file_capacity(300).run();
  CHECK(result.status == SLUICE_ERROR_OUTPUT);
}
