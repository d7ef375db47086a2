// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "window_merging/change_records.hpp"

#include <doctest/doctest.h>

using namespace sluice::window_merging;

namespace {

std::string records(std::string_view from, std::string_view to) {
  std::string text;
  append_records("t", 101, from, to, text);
  return text;
}

}  // namespace

TEST_CASE("records of VCF have letters on both sides") {
  CHECK(records("ACGT", "ACGT").empty());
  CHECK(records("ACGT", "ATGT") == "t\t102\t.\tC\tT\t.\t.\t.\n");
  CHECK(records("ACGTT", "ACTT") == "t\t102\t.\tCG\tC\t.\t.\t.\n");
  CHECK(records("ACTT", "ACGTT") == "t\t102\t.\tC\tCG\t.\t.\t.\n");
  // In front of the window there is no base of it.
  CHECK(records("GACTT", "ACTT") == "t\t101\t.\tGA\tA\t.\t.\t.\n");
  CHECK(records("ACTT", "GACTT") == "t\t101\t.\tA\tGA\t.\t.\t.\n");
}

TEST_CASE("a window that loses all of its letters is a deletion by name") {
  CHECK(records("ACGT", "") == "t\t101\t.\tACGT\t<DEL>\t.\t.\t.\n");
  CHECK(records("", "ACGT").empty());
}

TEST_CASE("two changes that want the same base are one record") { CHECK(records("GATCC", "ACC") == "t\t101\t.\tGAT\tA\t.\t.\t.\n"); }
