// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "mem_seeding/packed_read.hpp"

#include <doctest/doctest.h>

#include <random>
#include <sluice/fm_index.hpp>
#include <string>

using namespace sluice::mem_seeding;

namespace {

std::string unpacked(const PackedRead& read) {
  std::string bases;
  for (std::int32_t at = 0; at < read.length; ++at) bases += "ACGT"[sluice::FmIndexTables::packed_bases_at(read.words.data(), at) >> 62];
  return bases;
}

}  // namespace

TEST_CASE("a packed read and its reverse complement hold the bases, and zeros around them") {
  std::mt19937 random(1);
  for (std::size_t length = 0; length < 140; ++length) {
    std::string bases(length, 'A'), reverse(length, 'A');
    for (std::size_t i = 0; i < length; ++i) {
      const unsigned code = random() % 4;
      bases[i] = "ACGT"[code];
      reverse[length - 1 - i] = "TGCA"[code];
    }
    PackedRead read, reversed;
    pack_read(bases, read);
    reverse_complement(read, reversed);
    CHECK(unpacked(read) == bases);
    CHECK(unpacked(reversed) == reverse);
    CHECK(read.stretches.size() == (length > 0 ? 1 : 0));
    for (const PackedRead* each : {&read, &reversed}) {
      CHECK(each->words.front() == 0);
      CHECK(sluice::FmIndexTables::packed_bases_at(each->words.data(), each->length) == 0);
    }
  }
}

TEST_CASE("stretches leave out what is not a base") {
  PackedRead read, reversed;
  pack_read("NACGTuNNa", read);
  REQUIRE(read.stretches.size() == 2);
  CHECK(read.stretches[0].begin == 1);
  CHECK(read.stretches[0].end == 6);
  CHECK(read.stretches[1].begin == 8);
  CHECK(read.stretches[1].end == 9);
  reverse_complement(read, reversed);
  REQUIRE(reversed.stretches.size() == 2);
  CHECK(reversed.stretches[0].begin == 0);
  CHECK(reversed.stretches[1].begin == 3);
  CHECK(reversed.stretches[1].end == 8);
}
