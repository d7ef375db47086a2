// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sluice/hts/record_bases.hpp>
#include <sluice/hts/text_file.hpp>
#include <sluice/testing.hpp>

using namespace sluice::hts;

namespace {

std::string written(const sluice::testing::TemporaryFolder& folder, const char* name, const std::string& text, const char* mode) {
  std::string path = folder.path() + "/" + name;
  const Bgzf file(bgzf_open(path.c_str(), mode));
  REQUIRE(bgzf_write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  return path;
}
std::string problem_of(const std::string& path) {
  try {
    TextFile file({path, "reference"});
    while (!file.next().empty()) continue;
  } catch (const sluice::Failure& failure) {
    return failure.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a text is the same however it is packed, in blocks and in lines") {
  const sluice::testing::TemporaryFolder folder;
  std::string text = "one\r\n\n";
  for (int i = 0; i < 40000; ++i) text += std::to_string(i * 7919 % 10007) + "\n";
  for (const char* mode : {"w", "wg", "wu"}) {
    const std::string path = written(folder, mode, text, mode);
    TextFile file({path}, 1000);
    std::string read;
    for (std::string_view block = file.next(); !block.empty(); block = file.next()) read += block;
    CHECK(read == text);
    CHECK(file.total() == text.size());
    CHECK(file.is_compressed() == (mode[1] != 'u'));
    TextLines lines({path});
    REQUIRE(lines.next());
    CHECK(lines.line() == "one");
    REQUIRE(lines.next());
    CHECK(lines.line().empty());
    while (lines.next()) continue;
    CHECK(lines.number() == 40002);
  }
}

TEST_CASE("what is missing or cut is a failure that names the file") {
  const sluice::testing::TemporaryFolder folder;
  CHECK(problem_of(folder.path() + "/none").starts_with("cannot open reference '"));
  std::string text;
  for (int i = 0; i < 40000; ++i) text += std::to_string(i * 7919 % 10007) + "\n";
  const std::string path = written(folder, "blocks.gz", text, "w");
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 28);  // the end-of-file block
  CHECK(problem_of(path).find("no BGZF end-of-file block") != std::string::npos);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  CHECK(problem_of(path).find("is truncated or damaged") != std::string::npos);
}

TEST_CASE("a record's bases come as they were sequenced") {
  const Record record(bam_init1());
  std::string bases;
  for (const auto& [flag, expected] : {std::pair{0, "ACGTN"}, std::pair{BAM_FREVERSE, "NACGT"}}) {
    REQUIRE(bam_set1(record.get(), 1, "r", static_cast<std::uint16_t>(BAM_FUNMAP | flag), -1, -1, 0, 0, nullptr, -1, -1, 0, 5, "ACGTN", nullptr, 0) >=
            0);
    sequenced_bases(*record, bases);
    CHECK(bases == expected);
  }
}
