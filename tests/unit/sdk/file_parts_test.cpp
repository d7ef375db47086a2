// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Files of shards, one behind the other: their headers, and their text whatever it is compressed with.
#include <doctest/doctest.h>

#include <fstream>
#include <sluice/file_parts.hpp>
#include <sluice/hts/bgzf_writer.hpp>
#include <sluice/hts/part_text.hpp>
#include <sluice/testing/temporary_folder.hpp>
#include <string>
#include <vector>

using namespace sluice;

namespace {

void write_to(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

std::string text_of(const std::string& path) {
  hts::PartText part({path, 0});
  std::string text;
  for (std::string_view piece = part.next(); !piece.empty(); piece = part.next()) text += piece;
  return text;
}

std::string lines(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += "line " + std::to_string(i) + " of a table\n";
  return text;
}

std::string as_bgzf(const std::string& text) {
  hts::BgzfWriter writer;
  writer.add(text);
  std::string file;
  writer.finish(file, [](std::size_t count, const auto& body) { body(0, count); });
  return file;
}

std::string as_zstd(const std::string& text) {
  std::string file(ZSTD_compressBound(text.size()), '\0');
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  file.resize(ZSTD_compress2(context, file.data(), file.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return file;
}

// Header and rest of files with these texts, the header being the first line; or what is wrong with them.
std::string joined(const std::vector<std::string>& texts) {
  const testing::TemporaryFolder folder;
  FilesToJoin files{"output", "whole", {}};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string path = folder.path() + "/part." + std::to_string(i);
    write_to(path, texts[i]);
    files.parts.push_back({path, texts[i].find('\n') + 1});
  }
  std::string header, body;
  int headers = 0;
  try {
    join_parts<hts::PartText>(
        files, [&](std::string_view text) { header = text, ++headers; }, [&](std::string_view text) { body += text; });
  } catch (const Failure& failure) {
    return failure.what();
  }
  CHECK(headers == 1);
  return header + "|" + body;
}

}  // namespace

TEST_CASE("One header is written, that of a part that has rows") {
  CHECK(joined({"h\n1\n", "h\n2\n3\n", "h\n"}) == "h\n|1\n2\n3\n");
  CHECK(joined({"short\n", "h with more\n1\n", "h with more\n2\n"}) == "h with more\n|1\n2\n");
  CHECK(joined({"short\n", "longer\n"}) == "longer\n|");
  CHECK(joined({"1\n", ""}) == "1\n|");
}

TEST_CASE("Headers that differ are refused with the first difference") {
  const std::string problem = joined({"h 1\n1\n", "h 2\n2\n"});
  CHECK(problem.find("part.0' and '") != std::string::npos);
  CHECK(problem.find("differ: 'h 1' and 'h 2'") != std::string::npos);
}

TEST_CASE("A part's text is read whatever it is compressed with") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/part";
  for (const std::size_t count : {0, 1, 5000, 200'000}) {
    const std::string text = lines(count);
    for (const std::string& file : {text, as_bgzf(text), as_zstd(text), as_zstd(text) + as_zstd(text.substr(0, 0)) + as_zstd("")}) {
      write_to(path, file);
      CHECK(text_of(path) == text);
    }
  }
}

TEST_CASE("A compressed part that is damaged or cut is refused, whatever its bytes are") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/part", text = lines(5000);
  for (const std::string& whole : {as_bgzf(text), as_zstd(text)}) {
    for (std::size_t length = 5; length < whole.size(); length += 1 + whole.size() / 97) {
      write_to(path, whole.substr(0, length));
      CHECK_THROWS_AS(text_of(path), Failure);
    }
    std::size_t refused = 0, tried = 0;
    for (std::size_t at = 4; at < whole.size(); at += 1 + whole.size() / 97, ++tried) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
      write_to(path, damaged);
      try {
        const std::string read = text_of(path);
        CHECK(read == text);  // a byte that says nothing, as a time in the header of a block
      } catch (const Failure&) {
        ++refused;
      }
    }
    CHECK(refused + 3 >= tried);
  }
  CHECK_THROWS_AS(text_of(path + ".nothing"), Failure);
}
