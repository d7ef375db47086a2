// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/zlib_beginning.hpp"

#include <doctest/doctest.h>
#include <zlib.h>

#include <random>
#include <string>

#include "zlib_streams.hpp"

using sluice::signal_reader::ZlibBeginning;
using zlib_streams::compressed, zlib_streams::texts, zlib_streams::ways;

namespace {

// What zlib makes of it, the reference: false if it is corrupt before there are so many bytes.
bool by_zlib(const std::string& stored, std::size_t bytes, bool checks, std::string& out) {
  z_stream stream{};
  REQUIRE(inflateInit(&stream) == Z_OK);
  inflateValidate(&stream, checks ? 1 : 0);
  out.resize(bytes);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(stored.data()));
  stream.avail_in = static_cast<uInt>(stored.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(bytes);
  const int result = inflate(&stream, Z_SYNC_FLUSH);
  out.resize(bytes - stream.avail_out);
  inflateEnd(&stream);
  return out.size() == bytes || result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR;
}

// Compares all that one can ask for.
bool agree(ZlibBeginning& beginning, const std::string& stored, const std::vector<std::size_t>& asked, bool checks) {
  beginning.begin(stored, checks ? ZlibBeginning::Checksum::checked : ZlibBeginning::Checksum::ignored);
  std::string expected;
  for (const std::size_t bytes : asked) {
    const bool fine = by_zlib(stored, bytes, checks, expected);
    if (beginning.reach(bytes) != fine) return false;
    if (!fine) continue;
    const std::span<const char> got = beginning.bytes();
    if (std::string_view(got.data(), std::min(bytes, got.size())) != expected) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("a zlib stream gives the bytes that zlib gives, as far as it is asked") {
  ZlibBeginning beginning;
  for (const std::string& text : texts())
    for (const auto& way : ways)
      for (const int memory : {1, 8}) {
        const int level = way.first, strategy = way.second;
        const std::string stored = compressed(text, level, strategy, memory);
        CAPTURE(text.size());
        CAPTURE(level);
        CAPTURE(strategy);
        CHECK(agree(beginning, stored, {0, 1, 100, 4000, 5000, 40'000, 300'000}, true));
        CHECK(agree(beginning, stored, {text.size()}, true));
      }
}

TEST_CASE("of a zlib stream that is cut off there is what is in front of the cut") {
  ZlibBeginning beginning;
  std::mt19937 random(8);
  for (const std::string& text : texts())
    for (const auto& [level, strategy] : ways) {
      const std::string stored = compressed(text, level, strategy);
      bool same = true;
      for (std::size_t cut = 0; cut < std::min<std::size_t>(stored.size(), 14); ++cut)
        same =
            same && agree(beginning, stored.substr(0, cut), {1000}, true) && agree(beginning, stored.substr(0, stored.size() - cut), {300'000}, true);
      for (int i = 0; i < 6; ++i) same = same && agree(beginning, stored.substr(0, random() % stored.size()), {128, 20'000, 300'000}, true);
      CHECK(same);
    }
}

TEST_CASE("of a damaged zlib stream there is what zlib gives, and it is corrupt where zlib says so") {
  ZlibBeginning beginning;
  std::mt19937 random(9);
  for (const std::string& text : texts())
    for (const auto& [level, strategy] : ways) {
      const std::string stored = compressed(text.substr(0, 3000), level, strategy);
      bool same = true;
      for (int i = 0; i < 40; ++i) {
        std::string damaged = stored;
        // Mostly in front, where the codes are.
        for (std::uint32_t n = random() % 3 + 1; n > 0; --n)
          damaged[random() % std::min<std::size_t>(damaged.size(), random() % 2 == 0 ? 80 : 4000)] = static_cast<char>(random());
        same = same && agree(beginning, damaged, {10, 400, 10'000}, random() % 2 == 0);
      }
      CHECK(same);
    }
}

TEST_CASE("bytes that are no zlib stream are corrupt, or give what zlib makes of them") {
  ZlibBeginning beginning;
  std::mt19937 random(10);
  bool same = true;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = "\x78\x9c";
    while (bytes.size() < 60) bytes += static_cast<char>(random());
    // The kinds of blocks in turns.
    bytes[2] = static_cast<char>((bytes[2] & ~7) | (i % 8));
    if (i % 16 == 0) bytes[0] = static_cast<char>(random()), bytes[1] = static_cast<char>(random());
    same = same && agree(beginning, bytes, {1, 50, 5000}, true);
  }
  CHECK(same);
}
