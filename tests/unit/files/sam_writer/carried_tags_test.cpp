// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sam_writer/carried_tags.hpp"

#include <doctest/doctest.h>

#include <sluice/failure.hpp>

#include "unit/files/sam_writer/tags_of_text.hpp"

using namespace sluice::sam_writer;

namespace {

std::string carried(const std::string& tags, ReadPart part, std::uint32_t uncut = 0, ReadGroupTag group = ReadGroupTag::taken) {
  const std::string bytes = tags_of_text(tags);
  CarriedTags of_read;
  of_read.begin_read(bytes, "CACCAGT", group);
  std::string line;
  of_read.append_text(part, line);
  CHECK(std::string(of_read.bytes(part)) == tags_of_text(line.empty() ? line : line.substr(1)));
  CHECK(of_read.uncut() == uncut);
  return line;
}

const ReadPart whole{0, 7}, part{2, 5}, none{0, 0};
const std::string modified = "MM:Z:C+m?,0,1;\tML:B:C,8,9\tMN:i:7";

}  // namespace

TEST_CASE("records with all bases carry the tags as they are, those with a part what is cut to it") {
  CHECK(carried("RG:Z:x\t" + modified + "\tqs:f:1.5\tmv:B:c,5,1,0", whole) == "\tRG:Z:x\t" + modified + "\tqs:f:1.5\tmv:B:c,5,1,0");
  CHECK(carried("RG:Z:x\t" + modified + "\tqs:f:1.5\tmv:B:c,5,1,0", part) == "\tRG:Z:x\tMM:Z:C+m?,1;\tML:B:C,9\tMN:i:3\tqs:f:1.5\tmv:B:c,5,1,0");
  CHECK(carried("MM:Z:C+m?,0,1;\tML:B:C,8,9", part) == "\tMM:Z:C+m?,1;\tML:B:C,9\tMN:i:3");
  CHECK(carried("Mm:Z:C+m?,0;\tMl:B:C,8", part) == "\tMm:Z:C+m?;\tMl:B:C\tMN:i:3");
  CHECK(carried("MM:Z:C+m,0,1;", part) == "\tMM:Z:C+m,1;\tMN:i:3");
  CHECK(carried("RG:Z:x\t" + modified, none) == "\tRG:Z:x");
  CHECK(carried("", whole).empty());
  CHECK(carried("", part).empty());
}

TEST_CASE("what an alignment says of itself is not carried") {
  CHECK(carried("NM:i:3\tRG:Z:x\tMD:Z:5\tSA:Z:y\tts:i:40\tAS:i:5\trl:i:9\tNH:i:1\tcs:Z:x", whole) == "\tRG:Z:x\tts:i:40");
  CHECK(carried("ts:A:+\tds:Z::5\tts:i:40\tts:A:-\tRG:Z:x\tts:A:+", whole) == "\tts:i:40\tRG:Z:x");
  CHECK(carried("ts:A:+", whole).empty());
  CHECK(carried("ts:A:+", part).empty());
  CHECK(carried("RG:Z:x\tBC:Z:y", whole, 0, ReadGroupTag::replaced) == "\tBC:Z:y");
}

TEST_CASE("modifications that do not fit stay on the whole read, and are not on parts") {
  for (const char* tags : {"MM:Z:C+m?,0,1;\tML:B:C,8", "MM:Z:C+m?,0,7;\tML:B:C,8,9", "ML:B:C,8,9", "MM:Z:C+m?,0,1;\tML:B:S,8,9", "MM:i:4\tML:B:C,8,9",
                           "MM:Z:C+m?,0,1;\tML:Z:x", "MM:Z:C+m?,0,1;\tML:B:C,8,9\tMN:i:6", "MM:Z:C+m?,0,1"}) {
    CHECK(carried(tags, whole) == "\t" + std::string(tags));
    CHECK(carried(tags + std::string("\tRG:Z:x"), part, 1) == "\tRG:Z:x");
  }
}

TEST_CASE("tags that are none are refused") {
  CarriedTags of_read;
  CHECK_THROWS_AS(of_read.begin_read("RGQx", "AC", ReadGroupTag::taken), sluice::Failure);
  CHECK_THROWS_AS(of_read.begin_read(std::string_view("MLBC\xff\xff\xff\xffx", 9), "AC", ReadGroupTag::taken), sluice::Failure);
  of_read.begin_read("MMZC+m?,0;", "CC", ReadGroupTag::taken);  // without its end, which HTSlib does not mind
  CHECK(of_read.bytes({0, 1}).starts_with("MMZC+m?,0;"));
}
