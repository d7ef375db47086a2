// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "pod5_fixture.hpp"
#include "signal_reader/pod5_file.hpp"
#include "signal_reader/read_metadata.hpp"
#include "signal_reader/signal_file.hpp"
#include "signal_reader/vbz.hpp"
#include "unit/fresh_file.hpp"

using namespace sluice::signal_reader;
using pod5_fixture::Options;
using pod5_fixture::pod5_file;
using pod5_fixture::Read;
using sluice::testing::TemporaryFolder;

namespace {

std::string uuid(std::mt19937& random) {
  std::string text;
  for (int i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) text += '-';
    text += "0123456789abcdef"[random() % 16];
  }
  return text;
}
std::vector<std::int16_t> made_up_samples(std::mt19937& random, std::size_t count) {
  std::vector<std::int16_t> samples(count);
  std::int32_t level = 500;
  for (std::int16_t& sample : samples) {
    level += static_cast<std::int32_t>(random() % 61) - 30;
    if (random() % 50 == 0) level = static_cast<std::int32_t>(random() % 65536) - 32768;
    sample = static_cast<std::int16_t>(level);
  }
  return samples;
}
std::vector<Read> made_up_reads(std::size_t count) {
  std::mt19937 random(11);
  std::vector<Read> reads;
  for (std::size_t i = 0; i < count; ++i)
    reads.push_back({uuid(random), made_up_samples(random, i % 7 == 3 ? 0 : random() % 900), static_cast<float>(random() % 20) - 10,
                     0.1F + static_cast<float>(random() % 100) / 1000, i % 3 == 0 ? "run_b" : "run_a"});
  return reads;
}
std::string written(const TemporaryFolder& folder, const std::string& name, const std::string& bytes) {
  return sluice::written_files::write_file(folder.path() + "/" + name, bytes);
}

struct Decoded {
  std::string id;
  double digitisation, offset, range, rate;
  std::uint32_t group;
  std::vector<std::int16_t> samples;
};
// Throws sluice::Failure for what is no record.
std::vector<Decoded> decoded(const std::string& path) {
  const SignalFile file(path);
  RecordCursor cursor(file);
  RecordDecoder decoder;
  std::vector<Decoded> reads;
  std::span<const char> stored;
  RecordPlace place;
  while (cursor.next(stored, place)) {
    SignalRecord record;
    std::vector<std::int16_t> samples;
    if (decoder.decode(stored, file.header().records, record, samples) != RecordStatus::ok) throw sluice::Failure::input("a bad record");
    REQUIRE(samples.size() == record.sample_count);
    reads.push_back(
        {std::string(record.read_id), record.digitisation, record.offset, record.range, record.sampling_rate, record.read_group, samples});
  }
  return reads;
}
void check_same(const std::vector<Decoded>& found, const std::vector<Read>& reads) {
  REQUIRE(found.size() == reads.size());
  for (std::size_t i = 0; i < reads.size(); ++i) {
    CHECK(found[i].id == reads[i].uuid);
    CHECK(found[i].samples == reads[i].samples);
    CHECK(found[i].offset == static_cast<double>(reads[i].offset));
    CHECK(found[i].digitisation == 8192);
    CHECK(static_cast<float>(found[i].range / found[i].digitisation) == reads[i].scale);
    CHECK(found[i].rate == (reads[i].run == "run_b" ? 5000 : 4000));
    CHECK(found[i].group == (reads[i].run == "run_b" ? 1 : 0));
  }
}
const std::vector<pod5_fixture::Run> two_runs = {{"run_a"}, {.id = "run_b", .kit = "SQK-RNA004", .experiment_type = "rna", .rate = 5000}};

}  // namespace

TEST_CASE("reads come back from files of every layout") {
  const TemporaryFolder folder;
  const std::vector<Read> reads = made_up_reads(60);
  for (const bool compressed : {true, false})
    for (const bool pieces : {true, false})
      for (const std::size_t piece : {7, 100, 5000}) {
        const Options options{compressed, piece, pieces ? std::vector<std::size_t>{5, 1, 20, 3} : std::vector<std::size_t>{1000},
                              pieces ? std::vector<std::size_t>{13, 2, 40} : std::vector<std::size_t>{100000}, pieces};
        const std::string path = written(folder, "reads.pod5", pod5_file(reads, two_runs, options));
        check_same(decoded(path), reads);
        const SignalFile file(path);
        CHECK(file.header().records.signal_compression == (compressed ? SignalCompression::vbz : SignalCompression::none));
        CHECK(file.header().attribute("sequencing_kit", 1) == "SQK-RNA004");
        CHECK(file.header().attribute("experiment_type") == "genomic_dna");
        CHECK(file.header().attribute("run_id", 1) == "run_b");
        CHECK(file.header().attribute("sample_frequency") == "4000");
      }
  check_same(decoded(written(folder, "none.pod5", pod5_file({}))), {});
}

TEST_CASE("files of the first versions, which have records in dictionaries and no table of runs") {
  const TemporaryFolder folder;
  const std::vector<Read> reads = made_up_reads(60);
  for (const bool pieces : {true, false}) {
    Options options{.piece = 100, .first_version = true};
    if (pieces) options.read_batches = {5, 1, 20, 3};
    const std::string path = written(folder, "first.pod5", pod5_file(reads, two_runs, options));
    check_same(decoded(path), reads);
    const SignalFile file(path);
    CHECK(file.header().read_groups == 2);
    CHECK(file.header().attribute("sequencing_kit", 1) == "SQK-RNA004");
    CHECK(file.header().attribute("experiment_type", 1) == "rna");
    std::size_t i = 0;
    RecordCursor cursor(file);
    for (RecordPlace place; cursor.next_place(place); ++i) {
      const ReadMetadata metadata = read_metadata(file.pod5()->reads(), place);
      CHECK(metadata.channel == reads[i].channel);
      CHECK(metadata.mux == static_cast<std::int64_t>(1 + i % 4));
      CHECK(metadata.start_sample == static_cast<std::int64_t>(1000 * i));
      CHECK(metadata.read_number == static_cast<std::int64_t>(i));
      CHECK(metadata.median_before == static_cast<double>(i));
      CHECK(metadata.end_reason == (i % 2 == 0 ? "signal_positive" : "unblock_mux_change"));
      CHECK(metadata.read_group == (reads[i].run == "run_b" ? 1 : 0));
    }
    CHECK(i == reads.size());
  }
}

TEST_CASE("reads are found by their ids, without a file beside them") {
  const TemporaryFolder folder;
  std::vector<Read> reads = made_up_reads(40);
  reads.push_back(reads[4]);
  const SignalFile file(written(folder, "reads.pod5", pod5_file(reads, two_runs, {true, 50, {7}, {9}})));
  const ParallelLoop one_after_the_other = [](std::size_t count, std::size_t, const auto& body) { body(0, count); };
  IndexSource source;
  const SignalIndex index = load_or_build_index(file, one_after_the_other, source);
  CHECK(source.action == IndexSource::Action::loaded);
  CHECK(source.repeated.count() == 1);
  CHECK(source.repeated.names() == "'" + reads[4].uuid + "'");
  CHECK(index.size() == 40);
  RecordDecoder decoder;
  for (std::size_t i = 0; i < 40; ++i) {
    const auto place = index.find(reads[i].uuid);
    REQUIRE(place.has_value());
    std::vector<char> stored;
    REQUIRE(file.read_if_there(*place, stored));
    SignalRecord record;
    std::vector<std::int16_t> samples;
    REQUIRE(decoder.decode(stored, file.header().records, record, samples) == RecordStatus::ok);
    CHECK(record.read_id == reads[i].uuid);
    CHECK(samples == reads[i].samples);
    CHECK(!file.read_if_there({place->offset + 1, place->bytes}, stored));
  }
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("the beginning of a read is that of the whole read") {
  const TemporaryFolder folder;
  std::mt19937 random(3);
  std::vector<Read> reads;
  for (int i = 0; i < 20; ++i) reads.push_back({uuid(random), made_up_samples(random, 2000 + random() % 500)});
  for (const bool compressed : {true, false}) {
    const SignalFile file(written(folder, "reads.pod5", pod5_file(reads, {{"run_a"}}, {compressed, 300})));
    RecordCursor cursor(file);
    RecordDecoder decoder;
    std::span<const char> stored;
    RecordPlace place;
    for (std::size_t i = 0; cursor.next(stored, place); ++i) {
      for (const std::size_t want : {0, 1, 299, 300, 301, 1000, 100000}) {
        bool asked = false;
        const SamplesWanted wanted = [&](const SignalRecord&, std::span<const std::int16_t> first) {
          if (first.empty() && !asked) return asked = true, want / 2;
          return want;
        };
        SignalRecord record;
        for (const std::size_t given : {stored.size(), stored.size() * 3 / 4, stored.size() / 3, std::size_t{90}}) {
          std::vector<std::int16_t> samples = {1, 2, 3};
          asked = false;
          const RecordStatus status = decoder.decode_beginning({stored.first(given), stored.size()}, file.header().records, wanted, record, samples);
          if (given == stored.size()) CHECK(status == RecordStatus::ok);
          CHECK(status != RecordStatus::corrupt);
          if (status != RecordStatus::ok) {
            CHECK(samples.size() == 3);
            continue;
          }
          const std::size_t expected = std::min(want, reads[i].samples.size());
          REQUIRE(samples.size() == 3 + expected);
          CHECK(std::equal(samples.begin() + 3, samples.end(), reads[i].samples.begin()));
          CHECK(record.sample_count == reads[i].samples.size());
        }
      }
    }
  }
}

TEST_CASE("sixteen-bit values of one and two bytes") {
  std::mt19937 random(5);
  for (std::size_t count = 0; count < 70; ++count)
    for (int i = 0; i < 20; ++i) {
      std::vector<std::int16_t> samples = made_up_samples(random, count), out(count);
      if (i < 3) std::fill(samples.begin(), samples.end(), static_cast<std::int16_t>(i == 0 ? 0 : i == 1 ? -32768 : 32767));
      const std::string bytes = pod5_fixture::svb16(samples);
      const auto decode = [&](std::size_t size) {
        const std::vector<std::uint8_t> exact(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
        return decode_svb16(exact, count, out.data());
      };
      CHECK(decode(bytes.size()));
      CHECK(out == samples);
      if (count > 0) CHECK(!decode(bytes.size() - 1));
      const std::string longer = bytes + "x";
      CHECK(!decode_svb16({reinterpret_cast<const std::uint8_t*>(longer.data()), longer.size()}, count, out.data()));
    }
}

TEST_CASE("a file that is cut anywhere is refused, with what saves it") {
  const TemporaryFolder folder;
  const std::string whole = pod5_file(made_up_reads(12), two_runs, {true, 60, {5}, {4}});
  for (std::size_t size = 9; size < whole.size(); size += size + 200 < whole.size() ? 37 : 1) {
    const std::string path = written(folder, "cut.pod5", whole.substr(0, size));
    try {
      const SignalFile file(path);
      FAIL("opened " << size << " of " << whole.size() << " bytes");
    } catch (const sluice::Failure& failure) {
      REQUIRE(std::string(failure.remedy()).find("pod5 recover") != std::string::npos);
      REQUIRE(std::string(failure.what()).find("cut.pod5") != std::string::npos);
    }
  }
}

TEST_CASE("of a thousand damaged files none crashes and none is short without a word") {
  const TemporaryFolder folder;
  std::mt19937 random(17);
  const std::vector<Read> reads = made_up_reads(14);
  std::size_t refused = 0;
  std::vector<std::string> files;
  for (const bool compressed : {true, false})
    for (const bool pieces : {true, false}) files.push_back(pod5_file(reads, two_runs, {compressed, 60, {5}, {4}, pieces}));
  files.push_back(pod5_file(reads, two_runs, {.piece = 60, .read_batches = {5}, .first_version = true}));
  for (std::size_t i = 0; i < 1000; ++i) {
    std::string bytes = files[i % files.size()];
    for (unsigned changes = 0; changes < 1 + random() % 3; ++changes) {
      const std::size_t at = random() % bytes.size();
      const unsigned kind = random() % 4;
      if (kind == 0)
        bytes[at] = static_cast<char>(random());
      else if (kind == 1)
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
      else if (kind == 2)
        bytes.replace(at, 8, 8, static_cast<char>(random() % 2 == 0 ? 0xFF : 0));
      else
        bytes.replace(at, 4, bytes.substr(random() % bytes.size(), 4));
    }
    try {
      const std::vector<Decoded> found = decoded(written(folder, "damaged.pod5", bytes));
      REQUIRE(found.size() == reads.size());
      for (std::size_t r = 0; r < reads.size(); ++r) REQUIRE(found[r].samples.size() == reads[r].samples.size());
    } catch (const sluice::Failure&) {
      ++refused;
    }
  }
  MESSAGE(refused, " of 1000 were refused");
  CHECK(refused > 300);
}

TEST_CASE("every byte of a file may be another") {
  for (const bool compressed : {true, false}) {
    const std::string whole = pod5_file(made_up_reads(5), two_runs, {compressed, 400, {3}, {4}, true});
    for (std::size_t at = 0; at < whole.size(); ++at)
      for (const char value : {static_cast<char>(0), static_cast<char>(whole[at] + 4), static_cast<char>(whole[at] - 1)}) {
        std::string bytes = whole;
        bytes[at] = value;
        const MemoryBytes file({bytes.data(), bytes.size()});
        try {
          const Pod5Reads reads(file);
          std::vector<char> stored;
          std::uint64_t place = 0;
          for (std::size_t i = 0; i < reads.size(); ++i) {
            const RecordPlace record = reads.place_at(place);
            stored.resize(static_cast<std::size_t>(record.bytes));
            reads.copy(record, stored.data(), stored.size());
            place += record.bytes;
          }
          REQUIRE(reads.size() == 5);
          REQUIRE(place == reads.bytes());
        } catch (const FormatProblem&) {
        }
      }
  }
}

TEST_CASE("columns of another type than POD5 files have are refused by name") {
  const TemporaryFolder folder;
  const std::vector<Read> reads = made_up_reads(6);
  const auto refusal = [&](const Options& options) {
    try {
      decoded(written(folder, "odd.pod5", pod5_file(reads, {two_runs[0]}, options)));
    } catch (const sluice::Failure& failure) {
      return std::string(failure.what());
    }
    return std::string("it was read");
  };
  const auto names = [](const std::string& column) { return "column '" + column + "' has another type"; };
  for (const bool compressed : {true, false}) {
    for (const char* column : {"acquisition_id", "flow_cell_id", "sequencing_kit", "context_tags", "read_id", "signal"})
      CHECK_MESSAGE(refusal({.compressed = compressed, .coded = {column}}).find(names(column)) != std::string::npos,
                    refusal({.compressed = compressed, .coded = {column}}));
    for (const char* column : {"adc_min", "samples", "calibration_scale"})
      CHECK_MESSAGE(refusal({.compressed = compressed, .other_number = {column}}).find(names(column)) != std::string::npos,
                    refusal({.compressed = compressed, .other_number = {column}}));
    CHECK(refusal({.compressed = compressed, .not_coded = {"run_info"}}).find(names("run_info")) != std::string::npos);
  }
}

TEST_CASE("a file that is cut or replaced while it is read is an error") {
  const TemporaryFolder folder;
  const std::vector<Read> reads = made_up_reads(300);
  for (const bool compressed : {true, false}) {
    const std::string whole = pod5_file(reads, two_runs, {.compressed = compressed}),
                      other = pod5_file(std::vector<Read>(reads.rbegin(), reads.rend()), two_runs, {.compressed = compressed});
    REQUIRE(whole.size() > 20 * 4096);
    const auto read_after = [&](const auto& change) -> std::string {
      const std::string path = written(folder, "reads.pod5", whole);
      const SignalFile file(path);
      RecordCursor cursor(file);
      std::span<const char> stored;
      RecordPlace place;
      REQUIRE(cursor.next(stored, place));
      change(path);
      try {
        while (cursor.next(stored, place)) {
        }
      } catch (const sluice::Failure& failure) {
        return failure.what();
      }
      return "";
    };
    const std::string expected = "reads.pod5' was changed or cut while it was read";
    for (const std::size_t left : {whole.size() - 1, whole.size() / 2, std::size_t{9}, std::size_t{0}})
      CHECK(read_after([&](const std::string& path) { std::filesystem::resize_file(path, left); }).find(expected) != std::string::npos);
    const auto overwrite = [](const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; };
    CHECK(read_after([&](const std::string& path) { overwrite(path, other + "longer"); }).find(expected) != std::string::npos);
    const auto later = [](const std::string& path) {
      std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(5));
    };
    std::string same_length = other;
    same_length.resize(whole.size());
    CHECK(read_after([&](const std::string& path) { overwrite(path, same_length), later(path); }).find(expected) != std::string::npos);
    // Another time alone is no other file; nor is one that takes its name.
    CHECK(read_after(later) == "");
    CHECK(read_after([&](const std::string& path) { std::filesystem::rename(written(folder, "new", other), path); }) == "");
  }
}
