// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/signal_batches.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <sluice/testing.hpp>
#include <thread>

#include "signal_fixture.hpp"

using namespace sluice::signal_reader;
using namespace signal_fixture;
using sluice::testing::TemporaryFolder;

namespace {

std::string file_in(const TemporaryFolder& folder, const std::string& name, const std::string& bytes) {
  const std::string path = folder.path() + "/" + name;
  write_file(path, bytes);
  return path;
}

// Every part on a thread of its own, up to 8 of them.
const ParallelLoop on_threads = [](std::size_t count, std::size_t grain, const auto& body) {
  const std::size_t part = std::max(grain, (count + 7) / 8);
  std::vector<std::thread> threads;
  for (std::size_t begin = 0; begin < count; begin += part)
    threads.emplace_back([&body, begin, end = std::min(count, begin + part)] { body(begin, end); });
  for (std::thread& thread : threads) thread.join();
};
const auto never = [] { return false; };

struct Given {
  std::vector<std::size_t> rows;  // of each batch
  std::vector<std::string> names, records;
  std::string failure;
};

Given all_of(const std::string& path, const SignalBatches::Sizes& sizes) {
  const SignalFile file(path);
  SignalBatches batches(file, {}, SignalBatches::Give::records);
  Given given;
  const auto text = [](const sluice::Buffer& ends, const sluice::Buffer& bytes, std::int64_t row) {
    const auto at = ends.as<std::int64_t>().subspan(static_cast<std::size_t>(row), 2);
    return std::string(static_cast<const char*>(bytes.data()) + at[0], static_cast<std::size_t>(at[1] - at[0]));
  };
  try {
    while (const auto batch = batches.next(sizes, {}, on_threads, never)) {
      given.rows.push_back(static_cast<std::size_t>(batch->rows));
      for (std::int64_t row = 0; row < batch->rows; ++row) {
        given.names.push_back(text(batch->name_ends, batch->names, row));
        given.records.push_back(text(batch->record_ends, batch->records, row));
      }
    }
    CHECK(batches.ended());
    CHECK(batches.share_read() == 1);
  } catch (const sluice::Failure& failure) {
    given.failure = failure.what();
  }
  return given;
}

// One record after the other.
std::vector<std::size_t> rows_of_batches(const std::vector<Read>& reads, const std::vector<std::string>& records, const SignalBatches::Sizes& sizes) {
  std::vector<std::size_t> rows;
  double work = sizes.work;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const auto samples = static_cast<double>(reads[i].samples.size());
    if (work >= sizes.work || bytes >= sizes.bytes || samples >= sizes.work) rows.push_back(0), work = 0, bytes = 0;
    ++rows.back();
    work += samples;
    bytes += records[i].size() + reads[i].id.size();
  }
  return rows;
}

}  // namespace

TEST_CASE("a stream gives every record once and in order, in batches that do not depend on how many records are read at a time") {
  const TemporaryFolder folder;
  std::vector<Read> reads;
  for (std::uint32_t i = 0; i < 1500; ++i) reads.push_back({"read-" + std::to_string(i), wandering_signal(i % 7 == 3 ? 2500 : i * 37 % 200, i)});
  reads[200].id = std::string(5000, 'n');  // its name is longer than what is read of a record at first
  reads[300].id = std::string(65'535, 'm');
  std::vector<std::string> lines, records;
  for (const Read& read : reads) {
    const std::string file = slow5({read}, "");
    lines.push_back(file.substr(file.find(read.id), file.size() - 1 - file.find(read.id)));
  }
  const auto check = [&](const std::string& path) {
    CAPTURE(path);
    for (const SignalBatches::Sizes sizes : {SignalBatches::Sizes{2000, 1 << 20, 1}, SignalBatches::Sizes{2000, 1 << 20, 1 << 30},
                                             SignalBatches::Sizes{1e9, 5000, 1 << 16}, SignalBatches::Sizes{1e9, std::uint64_t{1} << 40, 1 << 30}}) {
      const Given given = all_of(path, sizes);
      CHECK(given.failure.empty());
      REQUIRE(given.names.size() == reads.size());
      bool same = true;
      for (std::size_t i = 0; i < reads.size(); ++i) same = same && given.names[i] == reads[i].id;
      CHECK(same);
      CHECK(given.records == records);
      CHECK(given.rows == rows_of_batches(reads, records, sizes));
    }
  };
  for (const auto compression : {RecordCompression::none, RecordCompression::zlib, RecordCompression::zstd}) {
    records.clear();
    for (const Read& read : reads) records.push_back(blow5_record(read, compression, SignalCompression::svb_zd));
    check(file_in(folder, std::string(name(compression)) + ".blow5", blow5(reads, compression, SignalCompression::svb_zd)));
  }
  records = lines;
  check(file_in(folder, "a.slow5", slow5(reads)));
}

TEST_CASE("a file without records gives no batch") {
  const TemporaryFolder folder;
  for (const std::string& path :
       {file_in(folder, "a.blow5", blow5({}, RecordCompression::zlib, SignalCompression::none)), file_in(folder, "a.slow5", slow5({}))})
    CHECK(all_of(path, {1000, 1000, 1000}).rows.empty());
}

TEST_CASE("the reads before a damaged record are given, then the record is named") {
  const TemporaryFolder folder;
  const std::vector<Read> reads = some_reads(300);
  std::string bytes = blow5(reads, RecordCompression::zlib, SignalCompression::svb_zd);
  const std::string record = blow5_record(reads[250], RecordCompression::zlib, SignalCompression::svb_zd);
  const std::size_t at = bytes.find(record);
  for (std::size_t i = 0; i < 20; ++i) bytes[at + i] = '\xff';
  const SignalBatches::Sizes one_at_a_time{1, 1, 1 << 20};
  Given given = all_of(file_in(folder, "bad.blow5", bytes), one_at_a_time);
  CHECK(given.names.size() == 250);
  CHECK(given.failure.find("record 251 cannot be decompressed or parsed") != std::string::npos);

  // A size that goes beyond the end of the file.
  bytes[at - 1] = '\x7f';
  given = all_of(file_in(folder, "long.blow5", bytes), {1e9, 1 << 30, 1 << 20});
  CHECK(given.names.size() == 250);
  CHECK(given.failure.find("is damaged: it ends inside record 251") != std::string::npos);

  const std::string text = slow5(reads);
  given = all_of(file_in(folder, "cut.slow5", text.substr(0, text.size() - 1)), {1e9, 1 << 30, 1 << 20});
  CHECK(given.names.size() == 299);
  CHECK(given.failure.find("without a newline in record 300") != std::string::npos);
}

TEST_CASE("whoever cancels gets no further batch") {
  const TemporaryFolder folder;
  const SignalFile file(file_in(folder, "a.blow5", blow5(some_reads(300), RecordCompression::zlib, SignalCompression::svb_zd)));
  SignalBatches batches(file, {}, SignalBatches::Give::records);
  CHECK(batches.next({1e9, 1 << 30, 1 << 20}, {}, on_threads, [] { return true; }) == std::nullopt);
  CHECK_FALSE(batches.ended());
}

TEST_CASE("a file that is read while it is written, cut anywhere, gives the records that it gives when it is there") {
  const TemporaryFolder folder;
  std::vector<Read> reads;
  for (std::uint32_t i = 0; i < 300; ++i) reads.push_back({"read-" + std::to_string(i), wandering_signal(i * 37 % 400, i)});
  const std::string whole = file_in(folder, "whole", ""), growing = folder.path() + "/growing";
  for (const bool is_text : {false, true}) {
    CAPTURE(is_text);
    const std::string bytes = is_text ? slow5(reads) : blow5(reads, RecordCompression::zlib, SignalCompression::svb_zd);
    write_file(whole, bytes);
    const Given expected = all_of(whole, {1000, 1 << 20, 1 << 14});
    REQUIRE(expected.names.size() == reads.size());
    const auto begin = static_cast<std::size_t>(SignalFile(whole).header().first_record);
    write_file(growing, bytes.substr(0, begin));
    SignalFile file(growing, SignalFile::Growth::possible);
    SignalBatches batches(file, {}, SignalBatches::Give::records);
    batches.set_growing(true);
    std::vector<std::string> records;
    const auto take = [&] {
      file.extend();
      while (const auto batch = batches.next({1000, 1 << 20, 1 << 14}, {}, on_threads, never))
        for (std::size_t row = 0; row < static_cast<std::size_t>(batch->rows); ++row) {
          const auto at = batch->record_ends.as<std::int64_t>().subspan(row, 2);
          records.emplace_back(static_cast<const char*>(batch->records.data()) + at[0], static_cast<std::size_t>(at[1] - at[0]));
        }
    };
    const auto append = [&growing](const std::string& more) { std::ofstream(growing, std::ios::binary | std::ios::app) << more; };
    const std::size_t cut = bytes.size() - 100;
    for (std::size_t at = begin, piece = 1; at < cut; at += piece, piece = piece * 7 % 5003) {
      append(bytes.substr(at, std::min(piece, cut - at)));
      take();
      CHECK_FALSE(batches.ended());
    }
    CHECK(records.size() < expected.records.size());
    CHECK_THROWS_WITH_AS(file.check_end(), doctest::Contains("is truncated"), sluice::Failure);
    append(bytes.substr(cut));
    batches.set_growing(false);
    take();
    CHECK(batches.ended());
    CHECK(records == expected.records);
    file.check_end();
  }
}
