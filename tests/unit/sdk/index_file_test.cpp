// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <fstream>
#include <numeric>
#include <sluice/index_file/index_file.hpp>
#include <sluice/testing.hpp>

namespace {

struct Format {
  struct Header {
    char magic[8];
    std::uint32_t version, header_bytes;
    std::uint64_t parameter, source_path_bytes, file_bytes, source_bytes;
    std::int64_t source_modified_ns;
    sluice::index_file::Section sections[2];
    std::uint64_t checksum;
  };
  static constexpr std::string_view magic = "SLUICETT", name = "a test's index";
  static constexpr std::uint32_t version = 3;
};
using File = sluice::index_file::IndexFile<Format>;
using sluice::index_file::Source;
using sluice::index_file::Verify;

void one_by_one(std::size_t count, const std::function<void(std::size_t)>& body) {
  for (std::size_t i = 0; i < count; ++i) body(i);
}
std::string written(const std::vector<std::uint32_t>& numbers, std::string_view text, const Source& source) {
  std::string bytes;
  const std::string_view sections[] = {{reinterpret_cast<const char*>(numbers.data()), numbers.size() * 4}, text};
  Format::Header header{};
  header.parameter = 7;
  sluice::index_file::write_index_file<Format>(header, sections, source, one_by_one, [&](std::string_view more) { bytes += more; });
  return bytes;
}
// "": all of it can be read.
std::string problem_of(const std::string& bytes, Verify verify = Verify::full) {
  const sluice::testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/index";
  std::ofstream(path, std::ios::binary) << bytes;
  try {
    const File file(path, verify, one_by_one);
    file.section(0, 4, false);
    file.section(1, 1, false);
    file.refuse_if_stale();
  } catch (const sluice::Failure& failure) {
    return failure.what();
  }
  return {};
}
bool says(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("what is written is read, at multiples of 64 bytes") {
  const sluice::testing::TemporaryFolder folder;
  std::vector<std::uint32_t> numbers(100);
  std::iota(numbers.begin(), numbers.end(), 1U);
  const std::string bytes = written(numbers, "names", {"/nowhere/ref.fa", 12, 34});
  CHECK(bytes.size() % 64 == 0);
  const std::string path = folder.path() + "/index";
  std::ofstream(path, std::ios::binary) << bytes;
  const File file(path, Verify::full, one_by_one);
  CHECK(file.header().parameter == 7);
  CHECK(file.source().path == "/nowhere/ref.fa");
  CHECK(file.source().bytes == 12);
  CHECK(file.source().modified_ns == 34);
  const std::span<const char> section = file.section(0, 4, true);
  REQUIRE(section.size() == 400);
  CHECK(std::memcmp(section.data(), numbers.data(), 400) == 0);
  CHECK(reinterpret_cast<std::uintptr_t>(section.data()) % 64 == 0);
  CHECK(std::string_view(file.section(1, 1, true).data(), 5) == "names");
  file.refuse_if_stale();  // there is no such file to compare with
}

TEST_CASE("every cut and every changed byte is noticed") {
  const std::string bytes = written({1, 2, 3, 4, 5, 6, 7, 8, 9}, "names", {"ref.fa", 0, 0});
  CHECK(problem_of(bytes).empty());
  for (std::size_t size = 0; size < bytes.size(); ++size) CHECK(says(problem_of(bytes.substr(0, size)), "is truncated"));
  CHECK(says(problem_of(bytes + "x"), "has something behind its end"));
  Format::Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const bool is_padding = (at >= header.sections[0].begin + 36 && at < header.sections[1].begin) || at >= header.sections[1].begin + 5;
    if (is_padding) continue;
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    CAPTURE(at);
    CHECK_FALSE(problem_of(changed).empty());
  }
  std::string other = bytes;
  other[0] = 'X';
  CHECK(says(problem_of(other), "is not a test's index"));
  other = bytes;
  other[8] = 9;
  CHECK(says(problem_of(other), "is of version 9, and this program reads version 3"));
}

TEST_CASE("an index whose source has changed is stale") {
  const sluice::testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/ref.fa";
  std::ofstream(path) << ">a\nA\n";
  const Source source = sluice::index_file::source_of(path);
  CHECK(source.bytes == 5);
  CHECK(problem_of(written({1}, "", source)).empty());
  std::ofstream(path) << ">a\nAC\n";
  CHECK(says(problem_of(written({1}, "", source)), "is stale"));
}
