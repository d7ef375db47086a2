// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_bases/sam_tags.hpp"

#include <doctest/doctest.h>
#include <htslib/kstring.h>
#include <htslib/sam.h>

#include <sluice/failure.hpp>
#include <sluice/hts/handles.hpp>

#include "read_bases/input_header.hpp"

using namespace sluice::read_bases;

namespace {

struct Taken {
  std::string tags;
  TagState state;
  bool operator==(const Taken&) const = default;
};
Taken take(const std::string& tags, const char* choice = "all") {
  Taken taken;
  taken.state = append_tags({reinterpret_cast<const std::uint8_t*>(tags.data()), tags.size()}, TagChoice(choice), taken.tags);
  return taken;
}
Taken of_comment(const std::string& comment, const char* choice = "all") {
  Taken taken;
  taken.state = append_comment_tags(comment, TagChoice(choice), taken.tags);
  return taken;
}
std::string bytes(std::string_view text) { return std::string(text); }

const std::string group = bytes({"RGZx\0", 5}), number = bytes({"chi\1\2\3\4", 7}), letter = "tpAP", list = bytes({"MLBC\2\0\0\0\x08\xff", 10}),
                  empty_list = bytes({"mvBs\0\0\0\0", 8});

sluice::hts::Header header_of(const std::string& text) {
  sluice::hts::Header header(sam_hdr_init());
  REQUIRE(sam_hdr_add_lines(header.get(), text.data(), text.size()) == 0);
  return header;
}

}  // namespace

TEST_CASE("tags of all types are taken, or those that are chosen") {
  const std::string all = group + number + letter + list + empty_list;
  CHECK(take(all) == Taken{all, TagState::sound});
  CHECK(take(all, "ML,RG") == Taken{group + list, TagState::sound});
  CHECK(take(all, "none") == Taken{"", TagState::sound});
  CHECK(take("") == Taken{"", TagState::sound});
  CHECK_FALSE(TagChoice("none").takes_any());
  for (const char* text : {"", "MM,", ",MM", "MM ML", "M", "MMM", "1M", "M-"}) CHECK_THROWS_AS(TagChoice{text}, sluice::Failure);
}

TEST_CASE("what can't be a tag is left out, with what nobody can find behind it") {
  const std::string all = number + list + group;
  for (std::size_t length = 1; length < all.size(); ++length) {
    const Taken taken = take(all.substr(0, length));
    const bool is_whole = length == number.size() || length == number.size() + list.size();
    CHECK((taken.state == TagState::sound) == is_whole);
    CHECK(taken.tags == all.substr(0, length < number.size()                 ? 0
                                      : length < number.size() + list.size() ? number.size()
                                                                             : number.size() + list.size()));
  }
  CHECK(take(group + bytes({"MLBC\xff\xff\xff\xff\1", 9}) + number) == Taken{group, TagState::damaged});  // more values than there are
  CHECK(take(group + bytes({"MLBI\xff\xff\xff\x7f\1", 9})) == Taken{group, TagState::damaged});
  CHECK(take(group + bytes({"MLBZ\1\0\0\0x", 9})) == Taken{group, TagState::damaged});
  CHECK(take(group + "xxQ1" + number) == Taken{group, TagState::damaged});
  CHECK(take(bytes({"\tRZx\0", 5}) + number) == Taken{number, TagState::damaged});
  CHECK(take(bytes({"COZa\nb\0", 7}) + number) == Taken{number, TagState::damaged});  // would be another line of SAM
  CHECK(take(bytes({"COA\t", 4}) + number) == Taken{number, TagState::damaged});
  for (std::size_t at = 0; at < all.size(); ++at)
    for (int value = 0; value < 256; ++value) {
      std::string damaged = all;
      damaged[at] = static_cast<char>(value);
      const Taken taken = take(damaged);
      CHECK(take(taken.tags) == Taken{taken.tags, TagState::sound});
    }
}

TEST_CASE("tags of comments are those that samtools writes behind names") {
  CHECK(of_comment("RG:Z:x\tML:B:C,8,255\ttp:A:P") == Taken{group + list + letter, TagState::sound});
  CHECK(of_comment("RG:Z:x\tML:B:C,8,255", "ML") == Taken{list, TagState::sound});
  CHECK(of_comment("runid=5 ch=3") == Taken{"", TagState::sound});
  CHECK(of_comment("1:N:0:ACGT\tRG:Z:x") == Taken{group, TagState::sound});
  CHECK(of_comment("") == Taken{"", TagState::sound});
  CHECK(of_comment("ML:B:C,8,x\tRG:Z:x") == Taken{group, TagState::damaged});
  CHECK(of_comment("ML:B:Q,8\tRG:Z:x") == Taken{group, TagState::damaged});
  CHECK(of_comment("ch:i:one\tRG:Z:x") == Taken{group, TagState::damaged});
  CHECK(of_comment("ch:i:one\tRG:Z:x", "RG") == Taken{group, TagState::sound});
  for (const char* word : {"ML:B:C,256", "ML:B:C,-1", "ML:B:C,", "ML:B:C,8,,9", "ML:B:", "ML:B:Z,1", "ML:B:", "ch:i:", "ch:i:4294967296",
                           "ch:i:-2147483649", "ch:i:5 ", "qs:f:1.5x", "qs:f:", "tp:A:", "tp:A:PS", "he:H:ABC", "he:H:AG", "xx:Q:1"})
    CHECK_MESSAGE((of_comment(std::string(word) + "\tRG:Z:x") == Taken{group, TagState::damaged}), word);
  CHECK(of_comment("co:Z:a b") == Taken{bytes({"coZa b\0", 7}), TagState::sound});
}

TEST_CASE("tags of comments are encoded as HTSlib encodes them") {
  std::string comment =
      "RG:Z:x y\tem:Z:\the:H:1AFf\ttp:A:P\tmv:B:c\tba:B:c,-128,127\tbb:B:s,-32768,32767\tbc:B:S,65535\tbd:B:i,-2147483648\tbe:B:I,4294967295"
      "\tbf:B:f,1.5,-2e10,3";
  int name = 0;
  for (const char* number : {"0", "255", "256", "65535", "65536", "4294967295", "-1", "-128", "-129", "-32768", "-32769", "-2147483648", "+7"})
    comment += "\ti" + std::string(1, static_cast<char>('a' + name++)) + ":i:" + number;
  for (const char* number : {"1", "-0.5", "3.14159265", "1e-40", "1e300", "12.345678"})
    comment += "\tf" + std::string(1, static_cast<char>('a' + name++)) + ":f:" + number;
  const std::string line = "r\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*\t" + comment;
  const sluice::hts::Header header(sam_hdr_init());
  const sluice::hts::Record record(bam_init1());
  kstring_t text = KS_INITIALIZE;
  kputsn(line.data(), line.size(), &text);
  REQUIRE(sam_parse1(&text, header.get(), record.get()) >= 0);
  ks_free(&text);
  const std::string expected(reinterpret_cast<const char*>(bam_get_aux(record.get())), static_cast<std::size_t>(bam_get_l_aux(record.get())));
  CHECK((of_comment(comment) == Taken{expected, TagState::sound}));
}

TEST_CASE("headers of several files become one") {
  const auto one = header_of("@HD\tVN:1.6\n@SQ\tSN:c\tLN:5\n@RG\tID:a\tSM:x\n@PG\tID:p\tVN:1\n@PG\tID:q\tPP:p\n@CO\tx\n");
  const auto two = header_of("@RG\tID:b\tSM:x\n@RG\tID:a\tSM:x\n@PG\tID:p\tVN:2\n@PG\tID:q\tPP:p\n@PG\tID:r\tPP:q\n");
  InputHeader header(InputHeader::ReadGroups::kept);
  CHECK(header.text().empty());
  header.add(*one);
  header.add(*two);
  const std::string expected =
      "@RG\tID:a\tSM:x\n@RG\tID:b\tSM:x\n@PG\tID:p\tVN:1\n@PG\tID:q\tPP:p\n@PG\tID:p.1\tVN:2\n@PG\tID:q.1\tPP:p.1\n@PG\tID:r\tPP:q.1\n";
  CHECK(header.text() == expected);
  header.add(*two);
  CHECK(header.text() == expected);
  CHECK(header.conflicts().empty());
  header.add(*header_of("@RG\tID:a\tSM:x\tLB:l\n"));
  CHECK(header.text() == expected);
  // Who writes read groups refuses two samples, so both lines are there.
  for (int i = 0; i < 2; ++i) header.add(*header_of("@RG\tID:a\tSM:y\n"));
  CHECK(header.text() == "@RG\tID:a\tSM:x\n@RG\tID:b\tSM:x\n@RG\tID:a\tSM:y\n" + expected.substr(expected.find("@PG")));
  CHECK(header.conflicts() == std::vector<std::string>{"a"});
  InputHeader without(InputHeader::ReadGroups::left_out);
  without.add(*one);
  CHECK(without.text() == "@PG\tID:p\tVN:1\n@PG\tID:q\tPP:p\n");
  without.add_file("/nowhere/reads.bam");
  CHECK(without.text() == "@PG\tID:p\tVN:1\n@PG\tID:q\tPP:p\n");
}
