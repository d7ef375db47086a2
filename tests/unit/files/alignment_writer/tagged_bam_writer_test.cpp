// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>
#include <htslib/sam.h>

#include <cstdint>
#include <fstream>
#include <sluice/hts/handles.hpp>
#include <sluice/hts/stored_record.hpp>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "unit/outcomes_of.hpp"

using namespace sluice::testing;
namespace hts = sluice::hts;

namespace {

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const info = load_plugin(SLUICE_PLUGIN_DIR "/alignment_writer.so");
  return *info;
}

const std::string header = "@HD\tVN:1.6\n@SQ\tSN:one\tLN:100\n";
const std::vector<std::string> lines = {"a\t0\tone\t5\t60\t4M\t*\t0\t0\tACGT\tIIII\tts:i:10\tpt:i:3\tpt:i:9\tRG:Z:g",
                                        "b\t4\t*\t0\t0\t*\t*\t0\t0\tAC\tII", "c\t256\tone\t7\t0\t4M\t*\t0\t0\t*\t*\tpt:i:7"};

// An input of these lines, which the header is taken of, and its records as alignment_reader gives them.
struct Input {
  explicit Input(const std::string& path) {
    std::ofstream(path) << header << lines[0] << '\n' << lines[1] << '\n' << lines[2] << '\n';
    const hts::File file(hts_open(path.c_str(), "r"));
    const hts::Header read(sam_hdr_read(file.get()));
    const hts::Record record(bam_init1());
    while (sam_read1(file.get(), read.get(), record.get()) >= 0) hts::store_record(*record, records.emplace_back());
  }
  std::vector<std::string> records;
};

std::string number_tag(const std::string& name, std::int32_t value) {
  return name + "i" + std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string sam_of(const std::string& bytes, const std::string& path) {
  std::ofstream(path, std::ios::binary) << bytes;
  const hts::File file(hts_open(path.c_str(), "r"));
  const hts::Header read(sam_hdr_read(file.get()));
  const hts::Record record(bam_init1());
  std::string text;
  hts::Line line;
  while (sam_read1(file.get(), read.get(), record.get()) >= 0) {
    REQUIRE(sam_format1(read.get(), record.get(), &line) >= 0);
    text += std::string(line.s, line.l) + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("records come out as they were, with further tags in place of those of their names") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/in.sam";
  const Input input(path);
  REQUIRE(input.records.size() == 3);
  const auto writing = [&](const std::vector<std::string>& records, const std::vector<std::string>& tags) {
    const auto rows = static_cast<std::int64_t>(records.size());
    return run_stage(stage_of(plugin(), "tagged_bam_writer"),
                     BatchBuilder("read", rows).text("bam_record", records, "binary").text("added_tags", tags, "binary").build())
        .with({{"output", "x.bam"}, {"alignments", path}});
  };
  const std::vector<std::string> tags = {number_tag("pt", 25) + number_tag("xy", -1), number_tag("pt", 0), ""};
  const Result result = writing(input.records, tags).run();
  REQUIRE(result.ok());
  CHECK(result.failed.empty());
  const std::string written = sam_of(result.files.at("x.bam"), folder.path() + "/out.bam");
  CHECK(written == "a\t0\tone\t5\t60\t4M\t*\t0\t0\tACGT\tIIII\tts:i:10\tRG:Z:g\tpt:i:25\txy:i:-1\n" + lines[1] + "\tpt:i:0\n" + lines[2] + "\n");
  CHECK(outcomes_of(writing(input.records, tags)) == Outcomes{{"written", {3, 3}}});
  CHECK(resume_problems(writing(input.records, tags)) == std::vector<std::string>{});
  // What is no record, and what is no tag, fails its row.
  const Result bad = writing({"nonsense", input.records[1], input.records[2]}, {"", "p", number_tag("pt", 1)}).run();
  CHECK(bad.failed == std::vector<FailedRow>{{0, 0, "corrupt_record"}, {0, 1, "corrupt_record"}});
}
