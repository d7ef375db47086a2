// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/read_metadata.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "pod5_fixture.hpp"
#include "signal_fixture.hpp"

using namespace sluice::signal_reader;
using signal_fixture::compressed;
using signal_fixture::put;

namespace {

const std::string types = "char*\tdouble\tint32_t\tuint8_t\tuint64_t\tenum{unknown,partial,mux_change,signal_positive}\tuint16_t*\tfloat\n";
const std::string names = "channel_number\tmedian_before\tread_number\tstart_mux\tstart_time\tend_reason\tnumbers\ttail\n";
const std::string lines = "@run_id\trun_a\n#char*\tuint32_t\tdouble\tdouble\tdouble\tdouble\tuint64_t\tint16_t*\t" + types +
                          "#read_id\tread_group\tdigitisation\toffset\trange\tsampling_rate\tlen_raw_signal\traw_signal\t" + names;

Slow5Header header_of(const std::string& file) {
  Slow5Header header;
  std::string problem;
  REQUIRE(parse_header({file.data(), file.size()}, header, problem) == HeaderStatus::ok);
  return header;
}

std::string auxiliary(const std::string& channel, double median, std::int32_t number, std::uint8_t mux, std::uint64_t start, std::uint8_t end) {
  std::string bytes;
  put(bytes, static_cast<std::uint64_t>(channel.size()));
  bytes += channel;
  put(bytes, median);
  put(bytes, number);
  put(bytes, mux);
  put(bytes, start);
  put(bytes, end);
  put(bytes, std::uint64_t{2});
  put(bytes, std::uint16_t{5});
  put(bytes, std::uint16_t{6});
  put(bytes, 1.5F);
  return bytes;
}

// Without compression of the record.
std::string plain_record(const signal_fixture::Read& read, SignalCompression signal, const std::string& behind) {
  const std::string usual = signal_fixture::blow5_record(read, RecordCompression::none, signal);
  return usual.substr(0, usual.size() - 4) + behind;  // the fixture's own field
}

}  // namespace

TEST_CASE("records of every compression say where and when they were sequenced") {
  RecordDecoder decoder;
  for (const RecordCompression record : {RecordCompression::none, RecordCompression::zlib, RecordCompression::zstd})
    for (const SignalCompression signal : {SignalCompression::none, SignalCompression::svb_zd, SignalCompression::ex_zd})
      for (const signal_fixture::Read& read : signal_fixture::some_reads()) {
        const Slow5Header header = header_of(signal_fixture::blow5({}, record, signal, lines));
        REQUIRE(header.auxiliary.size() == 8);
        const std::string stored = compressed(plain_record(read, signal, auxiliary("507", 211.5, 4321, 3, 90'000'000'000, 3)), record);
        ReadMetadata metadata;
        REQUIRE(read_metadata({stored.data(), stored.size()}, header, decoder, metadata));
        CHECK(metadata.sample_count == read.samples.size());
        CHECK(metadata.sampling_rate == 4000);
        CHECK(metadata.channel == 507);
        CHECK(metadata.median_before == 211.5);
        CHECK(metadata.read_number == 4321);
        CHECK(metadata.mux == 3);
        CHECK(metadata.start_sample == 90'000'000'000);
        CHECK(metadata.end_reason == "signal_positive");
      }
}

TEST_CASE("what a record leaves out is unknown") {
  RecordDecoder decoder;
  const Slow5Header header = header_of(signal_fixture::blow5({}, RecordCompression::none, SignalCompression::none, lines));
  const signal_fixture::Read read{"r", {1, 2, 3}};
  ReadMetadata metadata;
  const std::string none =
      plain_record(read, SignalCompression::none, auxiliary("", std::nan(""), std::numeric_limits<std::int32_t>::max(), 255, ~std::uint64_t{0}, 255));
  REQUIRE(read_metadata({none.data(), none.size()}, header, decoder, metadata));
  CHECK(metadata.channel == ReadMetadata::unknown);
  CHECK(std::isnan(metadata.median_before));
  CHECK(metadata.read_number == ReadMetadata::unknown);
  CHECK(metadata.mux == ReadMetadata::unknown);
  CHECK(metadata.start_sample == ReadMetadata::unknown);
  CHECK(metadata.end_reason.empty());
  const std::string odd = plain_record(read, SignalCompression::none, auxiliary("A12", 1, -5, 0, 7, 200));
  REQUIRE(read_metadata({odd.data(), odd.size()}, header, decoder, metadata));
  CHECK(metadata.channel == ReadMetadata::unknown);
  CHECK(metadata.read_number == ReadMetadata::unknown);
  CHECK(metadata.mux == 0);
  CHECK(metadata.start_sample == 7);
  CHECK(metadata.end_reason.empty());
}

TEST_CASE("text says the same") {
  RecordDecoder decoder;
  const Slow5Header header = header_of("#slow5_version\t0.2.0\n#num_read_groups\t1\n" + lines);
  const auto of = [&](const std::string& columns, ReadMetadata& metadata) {
    const std::string line = "r\t0\t8192\t6\t1400\t4000\t3\t1,2,3" + columns;
    return read_metadata({line.data(), line.size()}, header, decoder, metadata);
  };
  ReadMetadata metadata;
  REQUIRE(of("\t507\t211.5\t4321\t3\t90000000000\t3\t5,6\t1.5", metadata));
  CHECK(metadata.sample_count == 3);
  CHECK(metadata.channel == 507);
  CHECK(metadata.median_before == 211.5);
  CHECK(metadata.start_sample == 90'000'000'000);
  CHECK(metadata.end_reason == "signal_positive");
  REQUIRE(of("\t.\t.\t.\t.\t.\t.\t.\t.", metadata));
  CHECK(metadata.channel == ReadMetadata::unknown);
  CHECK(metadata.end_reason.empty());
  CHECK_FALSE(of("\t507\t211.5", metadata));
  CHECK_FALSE(of("", metadata));
}

TEST_CASE("damaged records are refused or have some fields, and nothing is read outside of them") {
  RecordDecoder decoder;
  const Slow5Header header = header_of(signal_fixture::blow5({}, RecordCompression::none, SignalCompression::svb_zd, lines));
  const std::string good = plain_record(signal_fixture::some_reads()[2], SignalCompression::svb_zd, auxiliary("507", 211.5, 4321, 3, 9, 3));
  ReadMetadata metadata;
  for (std::size_t bytes = 0; bytes < good.size(); ++bytes) {
    const std::vector<char> cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(bytes));
    CHECK_FALSE(read_metadata(cut, header, decoder, metadata));
  }
  for (std::size_t at = 0; at < good.size(); at += at < 60 || at + 60 > good.size() ? 1 : 37)
    for (const int value : {0, 1, 127, 128, 255}) {
      std::vector<char> damaged(good.begin(), good.end());
      damaged[at] = static_cast<char>(value);
      read_metadata(damaged, header, decoder, metadata);
    }
}

TEST_CASE("a POD5 file without these columns says what it has") {
  const std::string bytes = pod5_fixture::pod5_file({{"00000000-0000-0000-0000-000000000001", std::vector<std::int16_t>(250, 7)}});
  const MemoryBytes source(bytes);
  const Pod5Reads reads(source);
  const ReadMetadata metadata = read_metadata(reads, reads.place_at(0));
  CHECK(metadata.sample_count == 250);
  CHECK(metadata.sampling_rate == 4000);
  CHECK(metadata.channel == ReadMetadata::unknown);
  CHECK(metadata.start_sample == ReadMetadata::unknown);
}

TEST_CASE("channels of POD5 files of every version") {
  struct Layout {
    int bits;
    bool second;
    std::uint32_t channel;
  };
  for (const Layout& layout : {Layout{16, false, 507}, Layout{32, false, 70'001}, Layout{16, true, 70'001}, Layout{16, true, 12}}) {
    pod5_fixture::Read read{"00000000-0000-0000-0000-000000000001", std::vector<std::int16_t>(250, 7)};
    read.channel = layout.channel;
    pod5_fixture::Options options;
    options.channel_bits = layout.bits;
    options.second_channel = layout.second;
    const std::string bytes = pod5_fixture::pod5_file({read}, {{"run_a"}}, options);
    const MemoryBytes source(bytes);
    const Pod5Reads reads(source);
    CHECK(read_metadata(reads, reads.place_at(0)).channel == layout.channel);
  }
}
