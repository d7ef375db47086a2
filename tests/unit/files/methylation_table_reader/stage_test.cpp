// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <fstream>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

using namespace sluice::testing;

namespace {

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const loaded = load_plugin(SLUICE_PLUGIN_DIR "/methylation_table_reader.so");
  return *loaded;
}

TEST_CASE("a read that comes again at its place is given again and named; its other alignments are not") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/calls.tsv";
  const std::string header =
      "chromosome\tstrand\tstart\tend\tread_name\tlog_lik_ratio\tlog_lik_methylated\tlog_lik_unmethylated\tnum_calling_strands\tnum_"
      "motifs\tsequence\n";
  const auto line = [](const char* strand, const char* start, const char* read) {
    return std::string("c1\t") + strand + "\t" + start + "\t" + start + "\t" + read + "\t1.00\t-1.00\t-2.00\t1\t1\tAACGT\n";
  };
  const std::string table = header + line("+", "5", "a") + line("+", "9", "a") + line("-", "5", "a") + line("+", "7", "b") + line("+", "50", "a");
  const auto read = [&](const std::string& text) {
    std::ofstream(path) << text;
    return run_stage(stage_of(plugin(), "methylation_table_reader"), std::vector<TestBatch>{}).with({{"path", path}}).run();
  };
  const Result once = read(table);
  REQUIRE_MESSAGE(once.ok(), once.message);
  CHECK(once.rows() == 4);
  CHECK(once.log.empty());
  const Result twice = read(table + table);
  REQUIRE_MESSAGE(twice.ok(), twice.message);
  CHECK(twice.rows() == 8);
  CHECK(twice.logged("has 4 reads that it has before, at the same place, and all are given"));
  CHECK(twice.counters.at("repeated_reads") == 4);
}

}  // namespace
