// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/slow5_format.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "signal_fixture.hpp"
#include "signal_reader/ex_zd.hpp"
#include "signal_reader/signal_index.hpp"

using namespace sluice::signal_reader;
using namespace signal_fixture;

namespace {

std::span<const char> bytes(const std::string& text) { return {text.data(), text.size()}; }

HeaderStatus header_of(const std::string& text, std::string* problem = nullptr) {
  Slow5Header header;
  std::string ignored;
  return parse_header(bytes(text), header, problem == nullptr ? ignored : *problem);
}

}  // namespace

TEST_CASE("the header tells format, compression, attributes and where the records start") {
  const auto file = blow5(some_reads(), RecordCompression::zstd, SignalCompression::svb_zd);
  Slow5Header header;
  std::string problem;
  REQUIRE(parse_header(bytes(file), header, problem) == HeaderStatus::ok);
  CHECK(header.records.format == FileFormat::blow5);
  CHECK(header.records.record_compression == RecordCompression::zstd);
  CHECK(header.records.signal_compression == SignalCompression::svb_zd);
  CHECK(header.read_groups == 1);
  CHECK(header.attribute("sequencing_kit") == "sqk-lsk109");
  CHECK(header.attribute("no_such") == "");
  CHECK(header.attribute("sequencing_kit", 1) == "");
  CHECK(header.first_record == 68 + header_lines().size());

  const auto text = slow5(some_reads());
  REQUIRE(parse_header(bytes(text), header, problem) == HeaderStatus::ok);
  CHECK(header.records.format == FileFormat::slow5);
  CHECK(text.substr(header.first_record, 7) == "read-0\t");
}

TEST_CASE("every beginning of a header asks for more, and never for what is not there") {
  for (const std::string& file : {blow5({}, RecordCompression::none, SignalCompression::none), slow5({})}) {
    const std::size_t header_bytes = file[0] == 'B' ? file.size() - 5 : file.size();
    for (std::size_t n = 0; n < header_bytes; ++n) CHECK(header_of(file.substr(0, n)) == HeaderStatus::incomplete);
    CHECK(header_of(file) == HeaderStatus::ok);
  }
}

TEST_CASE("a header that is wrong is refused with what is wrong") {
  std::string problem;
  CHECK(header_of("@HD\tVN:1.6\n") == HeaderStatus::not_slow5);
  CHECK(header_of(std::string("\x89HDF\r\n", 6)) == HeaderStatus::not_slow5);
  auto file = blow5({}, RecordCompression::none, SignalCompression::none);
  file[6] = 2;
  CHECK(header_of(file, &problem) == HeaderStatus::unsupported);
  CHECK(problem.find("newer") != std::string::npos);
  file[6] = 0;
  file[9] = 7;
  CHECK(header_of(file, &problem) == HeaderStatus::unsupported);
  CHECK(problem.find("record compression 7") != std::string::npos);
  file[9] = 0;
  file[14] = 3;
  CHECK(header_of(file, &problem) == HeaderStatus::unsupported);
  file[14] = 0;
  file[10] = 0;
  CHECK(header_of(file, &problem) == HeaderStatus::malformed);
  CHECK(header_of("#slow5_version\t0.x.0\n#num_read_groups\t1\n") == HeaderStatus::malformed);
  CHECK(header_of("#slow5_version\t0.2.0\n#num_read_groups\t0\n") == HeaderStatus::malformed);
  CHECK(header_of("#slow5_version\t0.2.0\n#num_read_groups\t1\n@a\tb\tc\n") == HeaderStatus::malformed);
  CHECK(header_of("#slow5_version\t0.2.0\n#num_read_groups\t1\n#char*\tint\n") == HeaderStatus::malformed);
  const std::string head = "#slow5_version\t0.2.0\n#num_read_groups\t1\n#char*\tuint32_t\tdouble\tdouble\tdouble\tdouble\tuint64_t\tint16_t*";
  const std::string names = "\n#read_id\tread_group\tdigitisation\toffset\trange\tsampling_rate\tlen_raw_signal\traw_signal";
  CHECK(header_of(head + "\tint32_t" + names + "\tread_number\n") == HeaderStatus::ok);
  CHECK(header_of(head + "\tint32_t\tchar*" + names + "\tread_number\n", &problem) == HeaderStatus::malformed);
  CHECK(problem == "the header has 2 types and 1 names of auxiliary columns");
  CHECK(header_of(head + names + "\tread_number\n") == HeaderStatus::malformed);
}

TEST_CASE("records of every format and compression decode to what was written") {
  RecordDecoder decoder;
  for (const auto record_compression : {RecordCompression::none, RecordCompression::zlib, RecordCompression::zstd})
    for (const auto signal_compression : {SignalCompression::none, SignalCompression::svb_zd, SignalCompression::ex_zd})
      for (const Read& read : some_reads(7)) {
        const std::string stored = blow5_record(read, record_compression, signal_compression);
        const RecordFormat format{FileFormat::blow5, record_compression, signal_compression};
        SignalRecord record;
        std::vector<std::int16_t> samples = {1, 2, 3};
        REQUIRE(decoder.decode(bytes(stored), format, record, samples) == RecordStatus::ok);
        CHECK(record.read_id == read.id);
        CHECK(record.digitisation == read.digitisation);
        CHECK(record.offset == read.offset);
        CHECK(record.range == read.range);
        CHECK(record.sampling_rate == read.sampling_rate);
        CHECK(record.sample_count == read.samples.size());
        REQUIRE(samples.size() == read.samples.size() + 3);
        CHECK(std::equal(read.samples.begin(), read.samples.end(), samples.begin() + 3));
        REQUIRE(decoder.decode_fields(bytes(stored), format, record) == RecordStatus::ok);
        CHECK(record.read_id == read.id);
        CHECK(record.sample_count == read.samples.size());
      }
}

TEST_CASE("a text record decodes to what was written, a dot to NaN") {
  RecordDecoder decoder;
  Read read{"r", {-5, 0, 32767, -32768}};
  read.range = std::nan("");
  const std::string file = slow5({read});
  const std::string line = file.substr(file.rfind("r\t0"), file.size() - 1 - file.rfind("r\t0"));
  SignalRecord record;
  std::vector<std::int16_t> samples;
  const RecordFormat format{FileFormat::slow5, RecordCompression::none, SignalCompression::none};
  REQUIRE(decoder.decode(bytes(line), format, record, samples) == RecordStatus::ok);
  CHECK(samples == read.samples);
  CHECK(std::isnan(record.range));
  for (const char* bad : {"r\t0\t1\t1\t1\t1\t2\t5", "r\t0\t1\t1\t1\t1\t1\t5,", "r\t0\t1\t1\t1\t1\t1\t99999", "r\t0\tx\t1\t1\t1\t1\t5",
                          "\t0\t1\t1\t1\t1\t1\t5", "r\t0\t1\t1\t1\t1\t18446744073709551615\t5", "r\t0\t1", "", "r\t0\t1\t1\t1\t1\t0\t5"}) {
    samples = {9};
    CHECK(decoder.decode(bytes(bad), format, record, samples) == RecordStatus::corrupt);
    CHECK(samples == std::vector<std::int16_t>{9});
  }
}

TEST_CASE("a record whose name is as long as names can be is read from its start") {
  RecordDecoder decoder;
  const Read read{std::string(65535, 'x'), wandering_signal(100, 1)};
  for (const auto compression : {RecordCompression::none, RecordCompression::zlib, RecordCompression::zstd}) {
    const std::string stored = blow5_record(read, compression, SignalCompression::none);
    SignalRecord record;
    REQUIRE(decoder.decode_fields(bytes(stored), {FileFormat::blow5, compression, SignalCompression::none}, record) == RecordStatus::ok);
    CHECK(record.read_id == read.id);
  }
}

TEST_CASE("records with bytes missing or changed never crash, and cut ones are noticed") {
  RecordDecoder decoder;
  std::mt19937 random(1);
  const Read read{"some-read", wandering_signal(300, 3)};
  for (const auto record_compression : {RecordCompression::none, RecordCompression::zlib, RecordCompression::zstd})
    for (const auto signal_compression : {SignalCompression::none, SignalCompression::svb_zd, SignalCompression::ex_zd}) {
      const RecordFormat format{FileFormat::blow5, record_compression, signal_compression};
      const std::string stored = blow5_record(read, record_compression, signal_compression);
      SignalRecord record;
      std::vector<std::int16_t> samples;
      for (std::size_t n = 0; n + 4 < stored.size(); ++n) {
        const std::string cut = stored.substr(0, n);
        CHECK(decoder.decode(bytes(cut), format, record, samples) == RecordStatus::corrupt);
        CHECK(samples.empty());
        decoder.decode_fields(bytes(cut), format, record);
      }
      for (int round = 0; round < 500; ++round) {
        std::string changed = stored;
        changed[random() % changed.size()] = static_cast<char>(random());
        samples.clear();
        if (decoder.decode(bytes(changed), format, record, samples) == RecordStatus::corrupt) CHECK(samples.empty());
        decoder.decode_fields(bytes(changed), format, record);
      }
    }
}

TEST_CASE("svb-zd: hand-made bytes") {
  std::vector<std::int16_t> samples;
  // 3 samples 1, -1, 299: deltas 1, -2, 300 -> zigzag 2, 3, 600 (two bytes: 0x258).
  const std::string stored("\3\0\0\0\x10\2\3\x58\2", 9);
  REQUIRE(decode_svb_zd(bytes(stored), samples));
  CHECK(samples == std::vector<std::int16_t>{1, -1, 299});
  for (std::size_t n = 0; n < stored.size(); ++n) CHECK_FALSE(decode_svb_zd(bytes(stored.substr(0, n)), samples));
  CHECK_FALSE(decode_svb_zd(bytes(stored + "x"), samples));
  CHECK_FALSE(decode_svb_zd(bytes(std::string("\xff\xff\xff\xff", 4)), samples));
  CHECK(samples.size() == 3);
}

namespace {

std::string from_hex(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 3) bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

}  // namespace

TEST_CASE("ex-zd: what slow5lib 1.4 writes") {
  using Samples = std::vector<std::int16_t>;
  Samples steps(101), jumps(604, 100);
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i] = static_cast<std::int16_t>(299 * i);
  jumps[300] = jumps[601] = jumps[602] = 4000;
  std::string many = "00 65 00 00 00 00 00 00 00 00 00 00 64 00 00 00 7d 00 00 00 ",
              far =
                  "00 5c 02 00 00 00 00 00 00 02 32 00 04 00 00 00 07 00 00 00 11 2b 01 00 "
                  "2b 01 01 09 00 00 00 55 9e 06 9d 06 9e 06 9d 06 ";
  for (int i = 0; i < 125; ++i) many += "00 ";
  many += "e1 00 00 00 ";
  for (int i = 0; i < 25; ++i) many += "55 ";
  for (int i = 0; i < 100; ++i) many += "56 01 ";
  for (int i = 0; i < 599; ++i) far += "00 ";
  const std::pair<Samples, std::string> written[] = {
      {{0}, "00 01 00 00 00 00 00 00 00 05 00 00 00 00 00 00"},
      {{-5}, "00 01 00 00 00 00 00 00 00 00 09 00 00 00 00 00"},
      {{100, 101}, "00 02 00 00 00 00 00 00 00 00 c8 00 00 00 00 00 02"},
      {{-64, -128, 64}, "00 03 00 00 00 00 00 00 00 05 03 00 00 00 00 00 03 0c"},
      {{768, 17920}, "00 02 00 00 00 00 00 00 00 05 30 00 01 00 00 00 00 00 00 00 30 03"},
      {{0, 0, 0, 127, 0, 0, 128, 0, -1, -128, -256}, "00 0b 00 00 00 00 00 00 00 00 00 00 01 00 00 00 05 00 00 00 00 00 00 00 fe fd 00 ff 01 fd ff"},
      {{0, 1, 1000, 1000, 1001, -3000, 2, 3},
       "00 08 00 00 00 00 00 00 00 00 00 00 03 00 00 00 04 00 00 00 00 01 02 00 07 00 00 00 15 ce 06 41 1e 74 16 02 00 02 02"},
      {{10, 20000, 10, -20000, 32767, -32768, 0, 5},
       "00 08 00 00 00 00 00 00 00 00 14 00 05 00 00 00 07 00 00 00 00 00 00 00 00 00 01 0c 00 00 00 55 01 2c 9b 2b 9b 53 9b c1 62 ff fe 02 0a"},
      {{32767, -32768, 32767}, "00 03 00 00 00 00 00 00 00 00 fe ff 00 00 00 00 02 01"},
      {steps, many},
      {jumps, far}};
  for (const auto& [expected, hex] : written) {
    const std::string stored = from_hex(hex + " ");
    CHECK(stored == signal_fixture::ex_zd(expected));
    Samples samples;
    REQUIRE(decode_ex_zd(bytes(stored), samples));
    CHECK(samples == expected);
    for (std::size_t n = 0; n < stored.size(); ++n) CHECK_FALSE(decode_ex_zd(bytes(stored.substr(0, n)), samples));
    CHECK_FALSE(decode_ex_zd(bytes(stored + "x"), samples));
    CHECK(samples == expected);
    std::string later_version = stored;
    later_version[0] = 1;
    CHECK_FALSE(decode_ex_zd(bytes(later_version), samples));
  }
}

TEST_CASE("ex-zd: signals of any length survive the way there and back") {
  for (std::size_t length = 0; length < 200; ++length) {
    auto signal = wandering_signal(length, static_cast<std::uint32_t>(length));
    for (std::int16_t& sample : signal) sample = static_cast<std::int16_t>(sample & -(1 << length % 7));
    std::vector<std::int16_t> samples;
    REQUIRE(decode_ex_zd(bytes(signal_fixture::ex_zd(signal)), samples));
    CHECK(samples == signal);
  }
}

TEST_CASE("svb-zd: signals of any length survive the way there and back") {
  for (std::size_t length = 0; length < 200; ++length) {
    const auto signal = wandering_signal(length, static_cast<std::uint32_t>(length));
    std::vector<std::int16_t> samples;
    REQUIRE(decode_svb_zd(bytes(svb_zd(signal)), samples));
    CHECK(samples == signal);
  }
}

TEST_CASE("an index finds what was added, keeps the first of a name, and survives its file format") {
  SignalIndex index;
  CHECK_FALSE(index.find("a").has_value());
  std::uint64_t offset = 100;
  for (int i = 0; i < 5000; ++i, offset += 50) CHECK(index.add("read" + std::to_string(i), {offset, 50}) == SignalIndex::Added::yes);
  CHECK(index.add("read7", {1, 2}) == SignalIndex::Added::duplicate);
  REQUIRE(index.find("read7").has_value());
  CHECK(index.find("read7")->offset == 450);
  CHECK_FALSE(index.find("read5000").has_value());

  const std::string file = serialise_index(index, {0, 2, 0});
  SignalIndex loaded;
  REQUIRE(parse_index(bytes(file), {100, offset}, loaded) == IndexStatus::ok);
  CHECK(loaded.size() == index.size());
  CHECK(loaded.find("read4999")->offset == 100 + 50 * 4999);
  CHECK(serialise_index(loaded, {0, 2, 0}) == file);

  SignalIndex again;
  CHECK(parse_index(bytes(file), {100, offset - 1}, again = {}) == IndexStatus::other_file);
  CHECK(parse_index(bytes(file), {101, offset}, again = {}) == IndexStatus::other_file);
  CHECK(parse_index(bytes(file.substr(0, file.size() - 1)), {100, offset}, again = {}) == IndexStatus::truncated);
  CHECK(parse_index(bytes("SLOW5"), {100, offset}, again = {}) == IndexStatus::not_an_index);
  CHECK(parse_index(bytes(file.substr(0, 64) + std::string("\xff\xff", 2) + "XDI5WOLS"), {100, offset}, again = {}) == IndexStatus::malformed);
}
