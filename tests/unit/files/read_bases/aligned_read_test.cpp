// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_bases/aligned_read.hpp"

#include <doctest/doctest.h>
#include <htslib/sam.h>

#include <string>
#include <vector>

using sluice::read_bases::AlignedRead;
using sluice::read_bases::is_aligned_read;
using sluice::read_bases::read_length;

namespace {

std::vector<std::uint32_t> cigar_of(const char* text) {
  std::vector<std::uint32_t> cigar;
  for (char* at = const_cast<char*>(text); *at != '\0'; ++at) {
    const auto length = static_cast<std::uint32_t>(std::strtoul(at, &at, 10));
    cigar.push_back(length << BAM_CIGAR_SHIFT | static_cast<std::uint32_t>(std::string_view(BAM_CIGAR_STR).find(*at)));
  }
  return cigar;
}

bool fits(const std::string& read, const char* cigar, const std::string& aligned, bool is_reverse = false) {
  const std::vector<std::uint32_t> operations = cigar_of(cigar);
  return is_aligned_read(read, AlignedRead{operations, aligned, is_reverse});
}

}  // namespace

TEST_CASE("a read is as long as what the CIGAR consumes, with all clips") {
  CHECK(read_length({}) == 0);
  CHECK(read_length(cigar_of("5H2S10M3I4D2P7N1=2X3S6H")) == 5 + 2 + 10 + 3 + 1 + 2 + 3 + 6);
  CHECK(read_length(cigar_of("3D")) == 0);
}

TEST_CASE("a read of another length is not the one that was aligned") {
  CHECK(fits("ACGTACGTAC", "2S4M1D4M", ""));
  CHECK_FALSE(fits("ACGTACGTA", "2S4M1D4M", ""));
  CHECK_FALSE(fits("ACGTACGTACG", "2S4M1D4M", ""));
  CHECK_FALSE(fits("", "2S4M1D4M", ""));
  CHECK(fits("ACGTACGTAC", "", "GGG"));  // nothing is known
}

TEST_CASE("a read of the same length is compared with SEQ, which lacks what is clipped hard") {
  const std::string read = "ACGTACGTACGGATTACAGC";
  CHECK(fits(read, "20M", read));
  CHECK_FALSE(fits(read, "20M", "TTTTTTTTTTTTTTTTTTTT"));
  CHECK(fits(read, "8H12M", read.substr(8)));
  CHECK(fits(read, "12M8H", read.substr(8), true));
  CHECK_FALSE(fits(read, "12M8H", read.substr(8)));
  CHECK(fits(read, "3H12M5H", read.substr(3, 12)));
  CHECK(fits(read, "3H12M5H", read.substr(5, 12), true));
  // Two of 20 bases may be others: three are no chance.
  std::string other = read;
  other[0] = 'G', other[7] = 'A';
  CHECK(fits(read, "20M", other));
  other[12] = 'C';
  CHECK_FALSE(fits(read, "20M", other));
}

TEST_CASE("codes for several bases agree with each of them, and U with T") {
  CHECK(fits("ACGUACGUMC", "10M", "ACGTACGTCC"));
  CHECK(fits("ACGTACGTAC", "10M", "NNNNNNNNNN"));
  CHECK(fits("ACGTACGTAC", "10M", "=========="));
  CHECK_FALSE(fits("MMMMMMMMMM", "10M", "GTGTGTGTGT"));
}
