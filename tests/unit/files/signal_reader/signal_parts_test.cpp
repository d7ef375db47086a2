// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Signal from a position on, and parts of it: what comes together must be the whole, for any number of parts.
#include <doctest/doctest.h>

#include <filesystem>
#include <sluice/stage.hpp>
#include <sluice/testing.hpp>

#include "pod5_fixture.hpp"
#include "signal_fixture.hpp"

#undef SLUICE_PLUGIN
#define SLUICE_PLUGIN(...) static_assert(true)
#include "signal_reader/stage.cpp"  // the stage classes have no header of their own

using namespace sluice::signal_reader;
using namespace sluice::testing;
using signal_fixture::some_reads;
using signal_fixture::write_file;

namespace {

using Texts = std::vector<std::string>;

TestBatch opened(const std::string& path) { return run_stage<SignalFileResource>().with({{"path", path}}).run().batch(); }

Texts problems_with(const std::string& path, const ParameterTexts& parameters = {}) {
  const TestBatch signal = opened(path);
  Texts problems;
  for (const double work : {1.0, 5000.0, 1e9}) {
    const auto prepare = [&](const StageUnderTest& source) {
      StageRun run(source, {});
      run.with(parameters).resource("signal", signal).target_work(work);
      return run;
    };
    for (const std::string& text : source_problems(stage_of<SignalStream>(), prepare)) problems.push_back(text);
  }
  return problems;
}

Result part_of(const TestBatch& signal, std::uint64_t part, std::uint64_t parts) {
  return run_stage(in_part(stage_of<SignalStream>(), part, parts)).resource("signal", signal).run();
}

std::string pod5(std::size_t reads) {
  std::vector<pod5_fixture::Read> list;
  for (std::size_t i = 0; i < reads; ++i) {
    const std::string number = std::to_string(i);
    const std::string uuid = "00000000-0000-4000-8000-" + std::string(12 - number.size(), '0') + number;
    list.push_back({uuid, signal_fixture::wandering_signal(i * 377 % 900, static_cast<std::uint32_t>(i))});
  }
  return pod5_fixture::pod5_file(list, {{"run_a"}}, {.read_batches = {3, 5}});
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("BLOW5, SLOW5 and POD5 in parts and from each position are the whole") {
  const TemporaryFolder folder;
  for (const std::size_t reads : {0, 1, 12}) {
    write_file(folder.path() + "/a.blow5", signal_fixture::blow5(some_reads(reads), RecordCompression::zlib, SignalCompression::svb_zd));
    CHECK(problems_with(folder.path() + "/a.blow5") == Texts{});
    CHECK(problems_with(folder.path() + "/a.blow5", {{"prefix_bases", 50}}) == Texts{});
    write_file(folder.path() + "/a.slow5", signal_fixture::slow5(some_reads(reads)));
    CHECK(problems_with(folder.path() + "/a.slow5") == Texts{});
    if (reads == 0) continue;
    write_file(folder.path() + "/a.pod5", pod5(reads));
    CHECK(problems_with(folder.path() + "/a.pod5") == Texts{});
  }
}

TEST_CASE("several signal files are cut as if they were one, and records keep their places among all bytes") {
  const TemporaryFolder folder;
  for (const char* name : {"/a.blow5", "/b.blow5", "/c.blow5"})
    write_file(folder.path() + name, signal_fixture::blow5(some_reads(name[1] == 'b' ? 1 : 6), RecordCompression::none, SignalCompression::none));
  CHECK(problems_with(folder.path()) == Texts{});
}

TEST_CASE("a damaged record is an error in the part that holds it, and a cut file in every part") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/a.blow5", bytes = signal_fixture::blow5(some_reads(9), RecordCompression::zlib, SignalCompression::none);
  write_file(path, bytes);
  const TestBatch signal = opened(path);
  std::string damaged = bytes;
  for (std::size_t i = 0; i < 40; ++i) damaged[bytes.size() - 60 - i] = '\x55';
  // The beginning of the last record, whose name is in it.
  const std::string last = signal_fixture::blow5_record(some_reads(9).back(), RecordCompression::zlib, SignalCompression::none);
  std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(bytes.find(last)), 30, '\x55');
  write_file(path, damaged);
  std::string message;
  for (std::uint64_t part = 0; part < 3; ++part) {
    const Result result = part_of(signal, part, 3);
    if (!result.ok()) message += result.message;
  }
  CHECK(says(message, "record 9 cannot be decompressed"));
  CHECK(part_of(signal, 0, 3).ok());
}

TEST_CASE("signal that is followed has no positions and no parts") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/a.blow5";
  write_file(path, signal_fixture::blow5(some_reads(2), RecordCompression::none, SignalCompression::none));
  const TestBatch signal = opened(path);
  for (const StageUnderTest& source : {in_part(stage_of<SignalStream>(), 0, 2), beginning_at(stage_of<SignalStream>(), "0:1:2:3")})
    CHECK(run_stage(source).with({{"follow", true}, {"follow_until", path}}).resource("signal", signal).run().status == SLUICE_ERROR_USAGE);
  for (const char* position : {"", "x", "0:1", "5", "0:99999999:0:0"})
    if (*position != '\0')
      CHECK(run_stage(beginning_at(stage_of<SignalStream>(), position)).resource("signal", signal).run().status == SLUICE_ERROR_USAGE);
}
