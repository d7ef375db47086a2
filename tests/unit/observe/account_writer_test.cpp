// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Accounts of any length are sorted on the disk.
#include "observe/account_writer.hpp"

#include <doctest/doctest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "observe/trace.hpp"
#include "sluice/testing/temporary_folder.hpp"

using namespace sluice;

namespace {

std::string read(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("an account is the same table whether its lines fit into memory or not") {
  const testing::TemporaryFolder folder;
  std::vector<std::string> lines;
  std::string first;
  for (const std::size_t run_bytes : {std::size_t{1} << 20, std::size_t{1000}, std::size_t{1}}) {
    const std::string file = folder.path() + "/account.tsv";
    AccountWriter account(file, run_bytes);
    lines.clear();
    for (std::uint64_t i = 0; i < 2000; ++i) {
      const std::string name = "read_" + std::to_string(i * 2654435761U % 100003);
      account.lost(i % 3 == 0 ? "map" : "filter", {name, "too_short"});
      lines.push_back(name + "\t" + (i % 3 == 0 ? "map" : "filter") + "\ttoo_short\n");
    }
    RunStatistics statistics;
    statistics.stages.resize(1);
    statistics.stages[0].name = "source";
    statistics.stages[0].nameless["unmapped"] = 7;
    lines.push_back("(7 without a name)\tsource\tunmapped\n");
    CHECK(account.finish(statistics) == "");
    std::sort(lines.begin(), lines.end());
    std::string expected = "read\tstage\treason\n";
    for (const std::string& line : lines) expected += line;
    CHECK(read(file) == expected);
    CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), std::filesystem::directory_iterator()) == 1);
  }
}

TEST_CASE("accounts and traces whose names end in .gz are the same text as gzip") {
  const testing::TemporaryFolder folder;
  const auto unpacked = [](const std::string& file) {
    std::string text(std::size_t{8} << 20, '\0');
    gzFile stream = gzopen(file.c_str(), "rb");
    REQUIRE(stream != nullptr);
    CHECK(gzdirect(stream) == 0);
    text.resize(static_cast<std::size_t>(std::max(gzread(stream, text.data(), static_cast<unsigned>(text.size())), 0)));
    CHECK(gzclose(stream) == Z_OK);
    return text;
  };
  for (const std::size_t rows : {std::size_t{0}, std::size_t{1}, std::size_t{50000}}) {
    std::vector<std::string> made;
    for (const char* name : {"/account.tsv", "/account.tsv.gz", "/again.tsv.gz"}) {
      made.push_back(folder.path() + name);
      AccountWriter account(made.back(), 100'000);
      for (std::size_t i = 0; i < rows; ++i) account.lost("map", {"read_" + std::to_string(i * 2654435761U % 100003), "too_short"});
      CHECK(account.finish({}) == "");
    }
    CHECK(unpacked(made[1]) == read(made[0]));
    CHECK(read(made[1]) == read(made[2]));
  }
  for (const char* name : {"/trace.json", "/trace.json.gz"}) {
    TraceWriter trace(folder.path() + name, "test");
    for (int i = 0; i < 3000; ++i) trace.happened({"map", "cpu", 1, 2.0 * i, 1, 1, 3});
    CHECK(trace.finish() == "");
  }
  CHECK(unpacked(folder.path() + "/trace.json.gz") == read(folder.path() + "/trace.json"));
  CHECK(nlohmann::json::parse(read(folder.path() + "/trace.json"))["traceEvents"].size() > 3000);
}

TEST_CASE("an account that cannot be kept or written says so when it is asked for") {
  const testing::TemporaryFolder folder;
  AccountWriter account("/dev/full", 1);
  account.lost("map", {"read_1", "too_short"});
  CHECK(account.finish({}).find("/dev/full") != std::string::npos);
  AccountWriter nowhere(folder.path() + "/no/such/folder/account.tsv", 1);
  for (int i = 0; i < 100000; ++i) nowhere.lost("map", {"read_1", "too_short"});
  CHECK(nowhere.finish({}).find("no/such/folder") != std::string::npos);
}

TEST_CASE("a trace names its lanes and tracks, and is JSON, however long it is") {
  const testing::TemporaryFolder folder;
  const std::string file = folder.path() + "/trace.json";
  TraceWriter trace(file, "a \"pipeline\"");
  for (int i = 0; i < 20000; ++i) {
    TraceEvent event{"stage", i % 2 == 0 ? "cpu" : "cuda:0", static_cast<std::uint32_t>(i % 3), 1.0 * i, 0.5, static_cast<std::uint64_t>(i), 10, "",
                     0};
    if (i % 2 == 1) event.track = "stream " + std::to_string(i % 4);
    if (i % 5 == 1) event.bytes = 100;
    trace.happened(event);
  }
  CHECK(trace.finish() == "");
  const auto json = nlohmann::json::parse(read(file));
  CHECK(json["otherData"]["pipeline"] == "a \"pipeline\"");
  const auto count = [&](const auto& wanted) { return std::count_if(json["traceEvents"].begin(), json["traceEvents"].end(), wanted); };
  CHECK(count([](const auto& event) { return event["ph"] == "X"; }) == 20000);
  CHECK(count([](const auto& event) { return event["name"] == "process_name"; }) == 2);
  CHECK(count([](const auto& event) { return event["name"] == "thread_name"; }) == 2);
  CHECK(count([](const auto& event) { return event["args"].contains("bytes"); }) == 4000);
}
