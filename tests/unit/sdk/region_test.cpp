// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <map>
#include <sluice/region.hpp>

namespace {

const std::map<std::string, std::int64_t, std::less<>> contigs = {{"chr1", 1000}, {"A*01:01", 100}, {"A*01:01:02", 100}, {"x:5-9", 50}, {"{odd", 10}};

std::optional<std::int64_t> length_of(std::string_view name) {
  const auto found = contigs.find(name);
  return found == contigs.end() ? std::nullopt : std::optional(found->second);
}
// "contig start end", or the message.
std::string resolved(const std::string& text) {
  try {
    const sluice::Region region = sluice::resolve_region(text, length_of, "'x.fa'");
    const bool is_open = region.end == std::numeric_limits<std::int64_t>::max();
    return region.contig + " " + std::to_string(region.start) + " " + (is_open ? "-" : std::to_string(region.end));
  } catch (const sluice::Failure& failure) {
    CHECK(failure.status() == SLUICE_ERROR_USAGE);
    return failure.what();
  }
}

}  // namespace

TEST_CASE("a region is a contig, or a part of one, of which either end may be left out") {
  CHECK(resolved("chr1") == "chr1 0 -");
  CHECK(resolved("chr1:11-20") == "chr1 10 20");
  CHECK(resolved("chr1:1,000") == "chr1 999 -");
  CHECK(resolved("chr1:11-") == "chr1 10 -");
  CHECK(resolved("chr1:-20") == "chr1 0 20");
  CHECK(resolved("{chr1}") == "chr1 0 -");
  CHECK(resolved("{chr1}:7-7") == "chr1 6 7");
}

TEST_CASE("the contigs tell whether what is behind a colon is part of a name") {
  CHECK(resolved("A*01:01") == "A*01:01 0 -");
  CHECK(resolved("A*01:01:5-9") == "A*01:01 4 9");
  CHECK(resolved("x:5-9") == "x:5-9 0 -");
  CHECK(resolved("{odd") == "{odd 0 -");
  CHECK(resolved("A*01:01:02") == "region 'A*01:01:02' could be contig 'A*01:01:02', or a part of contig 'A*01:01'");
  CHECK(resolved("{A*01:01:02}") == "A*01:01:02 0 -");
  CHECK(resolved("{A*01:01}:02") == "A*01:01 1 -");
}

TEST_CASE("what is no region, on no contig, or empty says so") {
  CHECK(resolved("chr2") == "region 'chr2' is not on a contig of 'x.fa'");
  CHECK(resolved("chr2:5-9") == "region 'chr2:5-9' is not on a contig of 'x.fa'");
  CHECK(resolved("chr1:a-b") == "region 'chr1:a-b' is not on a contig of 'x.fa'");
  CHECK(resolved("") == "region '' is not on a contig of 'x.fa'");
  CHECK(resolved("chr1:1001-2000") == "region 'chr1:1001-2000' is empty: 'chr1' has 1000 bases");
  for (const char* wrong : {"chr1:-", "chr1:5-3", "chr1:1-2-3", "chr1:--5", "{chr1}5-9", "{chr1}:", "{chr1}:x", "chr1:1-99999999999999999999"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(sluice::RegionText{wrong}, sluice::Failure);
  }
}

TEST_CASE("before the contigs are known a text says what it would mean of each") {
  const sluice::RegionText region("A*01:01:02");
  CHECK(region.of("A*01:01:02").end == std::numeric_limits<std::int64_t>::max());
  CHECK(region.of("A*01:01").begin == 1);
  CHECK(region.of("A*01").end == 0);
  CHECK(sluice::RegionText("").of("any").end == std::numeric_limits<std::int64_t>::max());
  CHECK(sluice::RegionText("{chr1}:5-9").of("chr1").begin == 4);
  CHECK(sluice::RegionText("{chr1}:5-9").of("{chr1}:5-9").end == 0);
}
