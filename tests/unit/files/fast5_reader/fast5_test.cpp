// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// FAST5 files from the program fast5_reader to the samples.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sluice/testing.hpp>
#include <string>
#include <thread>
#include <vector>

#include "signal_reader/chemistry.hpp"
#include "signal_reader/read_metadata.hpp"
#include "signal_reader/signal_file.hpp"
#include "signal_reader/signal_files.hpp"
#include "unit/files/signal_reader/fast5_fixture.hpp"
#include "unit/fresh_file.hpp"

using namespace sluice::signal_reader;
using fast5_fixture::Form;
using fast5_fixture::Object;
using fast5_fixture::Read;
using fast5_fixture::Run;
using fast5_fixture::Types;
using sluice::testing::TemporaryFolder;

namespace {

const std::vector<std::string> packings = {"vbz", "vbz-unpacked", "vbz-flat", "gzip", "shuffle", "none", "contiguous", "compact"};
const Run run = {{{"run_id", "run_a"}, {"flow_cell_id", "FAX1"}, {"flow_cell_product_code", "FLO-MIN106"}},
                 {{"sequencing_kit", "sqk-lsk109"}, {"sample_frequency", "4000"}, {"experiment_type", "genomic_dna"}}};

// In the order of their names, as files have them.
std::vector<Read> made_up_reads(std::size_t count) {
  std::mt19937 random(5);
  std::vector<Read> reads;
  for (std::size_t i = 0; i < count; ++i) {
    Read& read = reads.emplace_back();
    read.id = "0000000" + std::to_string(i % 10) + "-0000-4000-8000-00000000" + std::to_string(1000 + i);
    read.samples.resize(i % 5 == 3 ? i / 5 : random() % 900);
    std::int32_t level = 500;
    for (std::int16_t& sample : read.samples) {
      level += static_cast<std::int32_t>(random() % 61) - 30;
      if (random() % 50 == 0) level = static_cast<std::int32_t>(random() % 65536) - 32768;
      sample = static_cast<std::int16_t>(level);
    }
    read.offset = static_cast<double>(random() % 20) - 10;
    read.range = 1000 + static_cast<double>(random() % 1000) / 8;
    read.channel = static_cast<std::int64_t>(random() % 512) + 1;
    read.mux = static_cast<std::int64_t>(random() % 4) + 1;
    read.read_number = static_cast<std::int64_t>(i);
    read.start_sample = static_cast<std::int64_t>(random()) * 100;
    read.median_before = 200.25;
    read.end_reason = i % 2 == 0 ? "signal_positive" : "unknown";
  }
  std::sort(reads.begin(), reads.end(), [](const Read& a, const Read& b) { return a.id < b.id; });
  return reads;
}

struct Decoded {
  SignalRecord record;
  std::string id;
  std::vector<std::int16_t> samples;
  ReadMetadata metadata;
  RecordStatus status = RecordStatus::ok;
};
// Throws sluice::Failure.
std::vector<Decoded> decoded(const SignalFile& file) {
  RecordCursor cursor(file);
  RecordDecoder decoder;
  std::vector<Decoded> reads;
  std::span<const char> stored;
  for (RecordPlace place; cursor.next(stored, place);) {
    Decoded& read = reads.emplace_back();
    read.status = decoder.decode(stored, file.header().records, read.record, read.samples);
    read.id = read.record.read_id;
    if (file.fast5() != nullptr) read.metadata = read_metadata(file.fast5()->reads(), place);
    if (read.status == RecordStatus::ok) REQUIRE(read.samples.size() == read.record.sample_count);
  }
  return reads;
}
std::vector<Decoded> decoded(const std::string& path) { return decoded(SignalFile(path)); }

void check_same(const std::vector<Decoded>& found, const std::vector<Read>& reads) {
  REQUIRE(found.size() == reads.size());
  for (std::size_t i = 0; i < reads.size(); ++i) {
    CHECK(found[i].status == RecordStatus::ok);
    CHECK(found[i].id == reads[i].id);
    CHECK(found[i].samples == reads[i].samples);
    CHECK(found[i].record.offset == reads[i].offset);
    CHECK(found[i].record.digitisation == reads[i].digitisation);
    CHECK(found[i].record.range == reads[i].range);
    CHECK(found[i].record.sampling_rate == reads[i].sampling_rate);
    CHECK(found[i].record.read_group == 0);
    const ReadMetadata& metadata = found[i].metadata;
    CHECK(metadata.sample_count == reads[i].samples.size());
    CHECK(metadata.channel == reads[i].channel);
    CHECK(metadata.mux == reads[i].mux);
    CHECK(metadata.start_sample == reads[i].start_sample);
    CHECK(metadata.read_number == reads[i].read_number);
    CHECK(metadata.median_before == reads[i].median_before);
    CHECK(metadata.end_reason == (reads[i].end_reason == "unknown" ? "" : reads[i].end_reason));
  }
}
void check_header(const SignalFile& file) {
  CHECK(std::string(name(file.header().records.format)) == "fast5");
  CHECK(file.header().attribute("run_id") == "run_a");
  CHECK(file.header().attribute("flow_cell_id") == "FAX1");
  CHECK(chemistry_of(file.header(), 0).name == "dna_r9");
}
std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
std::string problem_with(const std::string& path) {
  try {
    const SignalFile file(path);
  } catch (const sluice::Failure& failure) {
    return failure.what();
  }
  return "";
}

}  // namespace

TEST_CASE("reads come back from files of every form") {
  const TemporaryFolder folder;
  const std::vector<Read> reads = made_up_reads(23);
  for (const std::string& packing : packings)
    for (const hsize_t chunk : {0, 1, 100})
      for (const Types types : {Types::fixed, Types::variable}) {
        CAPTURE(packing);
        CAPTURE(chunk);
        const Form form{packing, chunk, types};
        for (const bool shared : {false, true}) {
          const std::string path = folder.path() + "/multi.fast5";
          fast5_fixture::write_multi(path, reads, run, form, shared);
          const SignalFile file(path);
          check_header(file);
          check_same(decoded(file), reads);
        }
        const std::string path = folder.path() + "/single.fast5";
        fast5_fixture::write_single(path, reads[7], run, form);
        const SignalFile file(path);
        check_header(file);
        check_same(decoded(file), {reads[7]});
      }
}

TEST_CASE("the beginning of a read is that of the whole read, of no more bytes than that takes") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/reads.fast5";
  std::vector<Read> reads = made_up_reads(4);
  reads[0].samples.assign(1000, 7);
  fast5_fixture::write_multi(path, reads, run, {"vbz", 100}, false);
  const SignalFile file(path);
  std::vector<char> stored;
  REQUIRE(file.read_if_there(file.place_at(0), stored));
  RecordDecoder decoder;
  for (const std::size_t want : {0, 1, 100, 101, 1000}) {
    SignalRecord record;
    std::vector<std::int16_t> samples;
    const auto wanted = [want](const SignalRecord&, std::span<const std::int16_t>) { return want; };
    REQUIRE(decoder.decode_beginning({stored, stored.size()}, file.header().records, wanted, record, samples) == RecordStatus::ok);
    CHECK(record.sample_count == 1000);
    CHECK(samples == std::vector<std::int16_t>(reads[0].samples.begin(), reads[0].samples.begin() + static_cast<std::ptrdiff_t>(want)));
    if (want > 101) continue;
    const std::span<const char> most(stored.data(), stored.size() - 1);
    CHECK(decoder.decode_beginning({most, stored.size()}, file.header().records, wanted, record, samples) == RecordStatus::ok);
  }
}

TEST_CASE("records lie one behind the other, and are found from any place on") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/reads.fast5";
  fast5_fixture::write_multi(path, made_up_reads(30), run, {}, false);
  const SignalFile file(path);
  const RecordTable& table = *file.table();
  std::vector<std::uint64_t> begins;
  for (RecordPlace place = table.place_at(0); place.bytes != 0; place = table.place_at(place.offset + place.bytes)) begins.push_back(place.offset);
  CHECK(begins.size() == 30);
  CHECK(table.bytes() <= file.file_bytes());
  std::uint64_t before = 0;
  CHECK(table.begin_from(0, before) == 0);
  CHECK(table.begin_from(begins[4] + 1, before) == begins[5]);
  CHECK(before == 5);
  CHECK(table.begin_from(table.bytes() + 1, before) == table.bytes());
  CHECK(before == 30);
  CHECK(table.place_at(begins[3] + 1).bytes == 0);
}

TEST_CASE("what can't be read of one read is that read's") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/reads.fast5";
  const std::vector<Read> reads = made_up_reads(6);
  fast5_fixture::write_multi(path, reads, run, {}, false);
  {
    const Object file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
    const auto group = [&](std::size_t i) { return "/read_" + reads[i].id; };
    // No signal; one of another type; by an unknown filter; no calibration; no group Raw; signal in another file.
    H5Ldelete(file.id, (group(0) + "/Raw/Signal").c_str(), H5P_DEFAULT);
    const hsize_t count = 8;
    for (const std::size_t i : {1, 2, 5}) H5Ldelete(file.id, (group(i) + "/Raw/Signal").c_str(), H5P_DEFAULT);
    const Object space(H5Screate_simple(1, &count, nullptr), H5Sclose), properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    {
      const Object wide(H5Dcreate2(file.id, (group(1) + "/Raw/Signal").c_str(), H5T_STD_I32LE, space.id, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                        H5Dclose);
      H5Pset_chunk(properties.id, 1, &count);
      H5Pset_filter(properties.id, 307, H5Z_FLAG_OPTIONAL, 0, nullptr);
      const Object odd(H5Dcreate2(file.id, (group(2) + "/Raw/Signal").c_str(), H5T_STD_I16LE, space.id, H5P_DEFAULT, properties.id, H5P_DEFAULT),
                       H5Dclose);
    }
    H5Adelete_by_name(file.id, (group(3) + "/channel_id").c_str(), "range", H5P_DEFAULT);
    H5Ldelete(file.id, (group(4) + "/Raw").c_str(), H5P_DEFAULT);
    H5Lcreate_external("/etc/passwd", "/Signal", file.id, (group(5) + "/Raw/Signal").c_str(), H5P_DEFAULT, H5P_DEFAULT);
  }
  const SignalFile file(path);
  const std::vector<Decoded> found = decoded(file);
  REQUIRE(found.size() == 6);
  for (const std::size_t i : {0, 1, 2, 4, 5}) {
    CAPTURE(i);
    CHECK(found[i].status == RecordStatus::corrupt);
    CHECK(found[i].id == reads[i].id);
    CHECK(file.fast5()->reads().table().reads[i].problem >= 0);
  }
  CHECK(found[3].status == RecordStatus::ok);
  CHECK(std::isnan(found[3].record.range));
  CHECK(found[3].samples == reads[3].samples);
  const auto problem = [&](std::size_t i) {
    return file.fast5()->reads().table().problems[static_cast<std::size_t>(file.fast5()->reads().table().reads[i].problem)];
  };
  CHECK(problem(0) == "it has no signal");
  CHECK(problem(2).find("filter 307") != std::string::npos);
  CHECK(problem(5) == "it has no signal");
}

TEST_CASE("files without reads are empty, and other files of HDF5 are none of FAST5") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/none.fast5";
  fast5_fixture::write_multi(path, {}, run, {}, false);
  CHECK(decoded(path).empty());
  {
    const Object file = fast5_fixture::new_file(path);
    const Object group = fast5_fixture::new_group(file.id, "something");
  }
  CHECK(problem_with(path).find("neither groups read_* nor /Raw/Reads") != std::string::npos);
}

TEST_CASE("a file that is cut anywhere is refused") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/reads.fast5";
  fast5_fixture::write_multi(path, made_up_reads(8), run, {}, false);
  const std::string bytes = bytes_of(path);
  for (std::size_t size = 9; size < bytes.size(); size += bytes.size() / 40)
    CHECK(problem_with(sluice::written_files::write_file(path, bytes.substr(0, size))) != "");
}

TEST_CASE("a file that is cut or replaced while it is read is an error") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/reads.fast5";
  const auto problem_after = [&](const auto& change) -> std::string {
    fast5_fixture::write_multi(path, made_up_reads(8), run, {}, false);
    const SignalFile file(path);
    change();
    try {
      decoded(file);
    } catch (const sluice::Failure& failure) {
      return failure.what();
    }
    return "";
  };
  CHECK(problem_after([] {}) == "");
  CHECK(problem_after([&] { std::filesystem::resize_file(path, 4000); }).find("was changed or cut") != std::string::npos);
  CHECK(problem_after([&] { std::filesystem::remove(path); }).find("cannot open") != std::string::npos);
  const std::string other = folder.path() + "/other";
  fast5_fixture::write_multi(other, made_up_reads(9), run, {}, false);
  CHECK(problem_after([&] { std::filesystem::rename(other, path); }).find("was changed or cut") != std::string::npos);
}

TEST_CASE("many files at a time by many threads") {
  const TemporaryFolder folder;
  const std::vector<Read> reads = made_up_reads(40);
  std::string paths;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const std::string path = folder.path() + "/" + std::to_string(1000 + i) + ".fast5";
    fast5_fixture::write_single(path, reads[i], run, {packings[i % packings.size()]});
    paths += (paths.empty() ? "" : "\n") + path;
  }
  SignalFiles files(paths);
  std::vector<std::thread> threads;
  std::vector<std::string> problems(4);
  for (std::string& problem : problems)
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < reads.size(); ++i)
        if (decoded(*files.file(i)).at(0).samples != reads[i].samples) problem = "other samples";
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& problem : problems) CHECK(problem == "");
}

TEST_CASE("of a thousand damaged files none crashes") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/damaged.fast5";
  std::mt19937 random(23);
  std::vector<Read> reads = made_up_reads(5);
  for (Read& read : reads) read.samples.resize(std::min<std::size_t>(read.samples.size(), 40));  // most of the file is what it is made of
  std::vector<std::string> files;
  for (std::size_t i = 0; i < packings.size(); ++i) {
    const Form form{packings[i], i % 2 == 0 ? hsize_t{0} : hsize_t{15}, i % 3 == 0 ? Types::variable : Types::fixed};
    fast5_fixture::write_multi(path, reads, run, form, i % 2 == 0);
    files.push_back(bytes_of(path));
    fast5_fixture::write_single(path, reads[0], run, form);
    files.push_back(bytes_of(path));
  }
  SignalFiles programs("");  // keeps them
  std::size_t refused = 0, crashed = 0, endless = 0, damaged_reads = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    std::string bytes = files[i % files.size()];
    for (std::size_t changes = 1 + random() % 10; changes > 0; --changes) {
      const std::size_t at = 8 + random() % (bytes.size() - 16);
      const unsigned kind = random() % 4;
      if (kind == 0)
        bytes[at] = static_cast<char>(random());
      else if (kind == 1)
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
      else if (kind == 2)
        bytes.replace(at, 8, 8, static_cast<char>(random() % 2 == 0 ? 0xFF : 0));
      else
        bytes.replace(at, 4, bytes.substr(random() % (bytes.size() - 4), 4));
    }
    try {
      for (const Decoded& read : decoded(sluice::written_files::write_file(path, bytes))) damaged_reads += read.status == RecordStatus::ok ? 0 : 1;
    } catch (const sluice::Failure& failure) {
      ++refused;
      crashed += std::string(failure.what()).find("HDF5 crashes") != std::string::npos ? 1 : 0;
      endless += std::string(failure.what()).find("no end") != std::string::npos ? 1 : 0;
    }
  }
  MESSAGE(refused, " of 1000 were refused, at ", crashed, " HDF5 crashed, of ", endless, " it found no end; ", damaged_reads,
          " reads of the others are damaged");
  CHECK(refused + damaged_reads > 100);
}
