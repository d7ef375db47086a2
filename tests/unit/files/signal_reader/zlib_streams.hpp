// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Texts of many kinds, and the ways in which zlib compresses them: every kind of block, codes of all lengths, matches of all distances.

#include <zlib.h>

#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "signal_fixture.hpp"

namespace zlib_streams {

inline std::string compressed(const std::string& plain, int level, int strategy, int memory = 8) {
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, 15, memory, strategy) != Z_OK) throw std::bad_alloc();
  std::string out(deflateBound(&stream, plain.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::logic_error("deflate has no room");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::vector<std::string> texts() {
  std::mt19937 random(7);
  std::vector<std::string> all = {"", "a", std::string(100'000, 'x'), signal_fixture::svb_zd(signal_fixture::wandering_signal(50'000, 1))};
  std::string noise(70'000, '\0'), words, few;
  for (char& c : noise) c = static_cast<char>(random());
  while (words.size() < 100'000) words += "event " + std::to_string(random() % 1000) + (random() % 9 == 0 ? "\n" : " k-mer ");
  // Letters of very different frequency have codes of all lengths.
  while (few.size() < 60'000) few += static_cast<char>(__builtin_ctz(static_cast<unsigned>(random() | 1U << 30)));
  all.insert(all.end(), {noise, words, few, words.substr(0, 30'000) + noise + words});
  // Matches of all short distances.
  for (std::size_t distance = 2; distance < 20; ++distance) {
    std::string periodic = noise.substr(0, distance);
    while (periodic.size() < 1000) periodic += periodic.substr(periodic.size() - distance, 1 + random() % distance);
    all.push_back(periodic);
  }
  return all;
}

// Level and strategy.
inline const std::vector<std::pair<int, int>> ways = {
    {0, Z_DEFAULT_STRATEGY}, {1, Z_DEFAULT_STRATEGY}, {6, Z_DEFAULT_STRATEGY}, {9, Z_DEFAULT_STRATEGY}, {6, Z_FIXED}, {6, Z_HUFFMAN_ONLY}, {6, Z_RLE},
    {9, Z_FILTERED}};

}  // namespace zlib_streams
