// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <random>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "modification_pileup/alignment_record.hpp"
#include "modification_pileup/base_calls.hpp"
#include "unit/methylation/modification_pileup/modbam_record.hpp"

using namespace sluice::modification_pileup;
using modbam::Record;
using sluice::testing::BatchBuilder;

namespace {

Record record() {
  return {.name = "read",
          .contig = "chr1",
          .bases = "ACGTCCGA",
          .position = 10,
          .cigar = {{'M', 8}},
          .mm = "C+m?,0,1;",
          .ml = std::vector<std::uint8_t>{200, 3}};
}
// The reason why the record is left out; "": it is not.
std::string outcome(const std::string& cell) {
  const auto batch = BatchBuilder("read", 1).binary("bam_record", {cell}).build();
  const auto plugin = sluice::testing::load_plugin(std::string(SLUICE_PLUGIN_DIR) + "/modification_pileup.so");
  const auto result = sluice::testing::run_stage(sluice::testing::stage_of(*plugin, "modification_calls"), batch).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  return result.failed.empty() ? "" : result.failed[0].reason;
}
std::string outcome(const Record& record) { return outcome(modbam::cell(record)); }
std::string with_mm(const std::string& mm, std::vector<std::uint8_t> ml) {
  Record changed = record();
  changed.mm = mm;
  changed.ml = std::move(ml);
  return outcome(changed);
}

}  // namespace

TEST_CASE("MM has groups of a base, a strand, codes, what unlisted bases are, and skips") {
  ModificationTags tags;
  REQUIRE(parse_modification_tags("C+mh?,3,0;U-17596.;N+a,12;", tags));
  REQUIRE(tags.groups.size() == 3);
  CHECK(tags.groups[0].unlisted == Unlisted::not_called);
  CHECK(tags.codes == std::vector<ModificationCode>{'m', 'h', -17596, 'a'});
  CHECK(tags.skips == std::vector<std::uint32_t>{3, 0, 12});
  CHECK(tags.groups[1].base == 3);
  CHECK(tags.groups[1].strand == MoleculeStrand::opposite);
  CHECK(tags.groups[1].unlisted == Unlisted::canonical);
  CHECK(tags.groups[2].base == any_base);
  CHECK(tags.probabilities() == 5);
  CHECK(code_text(tags.codes[2]) == "17596");
  CHECK(parse_modification_tags("", tags));
  CHECK(tags.groups.empty());
  for (const char* wrong : {"C", "C+", "C+m", "C+m,1", "C+m,;", "C+m,-1;", "C+m,1,;", "C+m,1 ;", "X+m,1;", "C*m,1;", "C+m?.,1;",
                            "C+m,99999999999999999999;", "C+0,1;", "C+99999999999;", "C+12m,1;", "C+m;;", ";", "c+m;", "C+m?,1;C"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_modification_tags(wrong, tags));
  }
}

TEST_CASE("tags that can't be are named, and nothing else happens") {
  CHECK(outcome(record()) == "");
  CHECK(with_mm("C+m?,0,2;", {1, 2}) == "bad_mm");  // the read has three C
  CHECK(with_mm("C+m?,4294967295;", {1}) == "bad_mm");
  CHECK(with_mm("C+m?,0,1", {1, 2}) == "bad_mm");
  CHECK(with_mm("C+m?,0;C+m?,0;", {1, 2}) == "bad_mm");  // two probabilities of one thing
  CHECK(with_mm("C+m;C+m;", {}) == "bad_mm");
  CHECK(with_mm("C+mm?,0;", {1, 2}) == "bad_mm");
  CHECK(with_mm("C+m?,0,1;", {1}) == "bad_ml");
  CHECK(with_mm("C+m?,0,1;", {1, 2, 3}) == "bad_ml");
  CHECK(with_mm("C+mh?,0,1;", {1, 2}) == "bad_ml");
  Record changed = record();
  changed.ml.reset();
  CHECK(outcome(changed) == "bad_ml");
  changed.mm = "C+m?;";
  CHECK(outcome(changed) == "");  // nothing is listed
  CHECK(outcome(modbam::cell(record(), std::string("MMZC+m?,0;\0MLZ1\0", 16))) == "bad_ml");
  CHECK(outcome(modbam::cell(record(), std::string("MMi\1\0\0\0", 7))) == "bad_mm");
  changed = record();
  changed.mn = 9;
  CHECK(outcome(changed) == "other_length");
  changed.mn.reset();
  changed.cigar.insert(changed.cigar.begin(), {'H', 5});
  CHECK(outcome(changed) == "hard_clipped");
  changed.mn = 8;
  CHECK(outcome(changed) == "");
  changed = record();
  changed.flag = 512;
  CHECK(outcome(changed) == "qc_fail");
  changed.flag = 1024;
  CHECK(outcome(changed) == "duplicate");
  changed = {.name = "read", .contig = "chr1", .cigar = {{'M', 8}}};
  CHECK(outcome(changed) == "without_bases");
  std::string many;
  for (int i = 1; i <= 300; ++i) many += "C+" + std::to_string(i) + "?;";
  CHECK(with_mm(many, {}) == "too_many_kinds");
}

TEST_CASE("records that contradict themselves are corrupt") {
  Record changed = record();
  changed.cigar = {{'M', 9}};
  CHECK(outcome(changed) == "corrupt_record");
  changed.cigar = {{'M', 7}};
  CHECK(outcome(changed) == "corrupt_record");
  changed.cigar = {{'M', 4}, {'D', 1U << 27U}, {'M', 4}};
  CHECK(outcome(changed) == "corrupt_record");
  changed.cigar = {{'M', 4}, {'N', 1U << 27U}, {'M', 4}};
  CHECK(outcome(changed) == "");
  const std::string whole = modbam::cell(record());
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) CHECK(outcome(whole.substr(0, bytes)) == "corrupt_record");
  CHECK(outcome(modbam::cell(record(), "MM")) == "corrupt_record");
  CHECK(outcome(modbam::cell(record(), "MMZC+m?")) == "corrupt_record");
  CHECK(outcome(modbam::cell(record(), std::string("MLBC\xff\xff\xff\xff", 8))) == "corrupt_record");
  CHECK(outcome(modbam::cell(record(), "XXq1")) == "corrupt_record");
}

TEST_CASE("damaged records and tags end as rows with a reason, or as rows") {
  std::mt19937_64 random(1);
  modbam::Generator generator(4);
  const std::string reference = generator.contig(300);
  std::map<std::string, int> outcomes;
  for (int i = 0; i < 600; ++i) {
    const Record whole = generator.record("read", "chr1", reference);
    std::string tags = modbam::tag_bytes(whole);
    if (i % 2 == 0 && !tags.empty())
      for (int changes = 0; changes < 3; ++changes) tags[random() % tags.size()] = "CG+-?.,;0919\0mhaN\xff"[random() % 18];
    std::string cell = modbam::cell(whole, tags);
    if (i % 2 == 1) cell[random() % cell.size()] = static_cast<char>(random());
    ++outcomes[outcome(cell)];
  }
  CHECK(outcomes.size() >= 4);
}

TEST_CASE("at a percentile at most so many calls of each base fail") {
  LevelCounts counts{};
  counts[1][300] = 10;
  counts[1][400] = 80;
  counts[1][511] = 10;
  const auto least = [&](double percent) { return thresholds_at_percentile(counts, percent).least[1]; };
  CHECK(least(0) == 300);
  CHECK(least(9.9) == 300);
  CHECK(least(10) == 400);
  CHECK(least(89) == 400);
  CHECK(least(90) == 511);
  CHECK(least(100) == certain);
  CHECK(thresholds_at_percentile(counts, 50).least[0] == 0);
}

TEST_CASE("equally probable ones: canonical first") {
  BaseCallDecoder decoder;
  const std::vector<std::uint8_t> bases = {1};
  const auto state = [&](const char* mm, const std::vector<std::uint8_t>& ml, const FilterThresholds& thresholds = {}) {
    REQUIRE(decoder.decode(bases, mm, std::span(ml), {.thresholds = thresholds}) == DecodeStatus::fine);
    REQUIRE(decoder.sequenced()[0] == state_call);
    return decoder.kinds().numbers;
  };
  CHECK(state("C+m?,0;", {128})[1] == 0);
  CHECK(state("C+m?,0;", {127})[1] == CallKinds::canonical);
  CHECK(state("C+mh?,0;", {100, 100})[1] == 0);  // h, which comes before m
  CHECK(state("C+mh?,0;", {255, 255})[1] == 0);  // together more than certain
  FilterThresholds high;
  high.least[1] = 2 * 200 + 1;
  CHECK(state("C+m?,0;", {200}, high)[1] == 0);
  CHECK(state("C+m?,0;", {199}, high)[1] == CallKinds::failed);
}

TEST_CASE("tags that say more than is certain give no probability above one, whatever is ignored") {
  BaseCallDecoder decoder;
  decoder.collect_levels();
  decoder.collect_said();
  CallRules rules;
  std::string mm;
  for (const char code : std::string("abcdefghij")) {
    mm += std::string("C+") + code + ".,0;";
    const std::vector<std::uint8_t> ml(mm.size() / 7, 255);
    for (const char* ignored : {"", "a", "a,b,c,d,e,f,g,h,i"}) {
      REQUIRE(parse_ignored(ignored, rules));
      REQUIRE(decoder.decode(std::vector<std::uint8_t>{1}, mm, std::span(ml), rules) == DecodeStatus::fine);
      for (const BaseCallDecoder::Level& level : decoder.levels()) {
        CHECK(level.probability <= certain);
        CHECK(level.strand == MoleculeStrand::sequenced);
      }
      for (const BaseCallDecoder::Said& said : decoder.said()) CHECK(said.probability <= 1);
    }
  }
}

TEST_CASE("a call of the opposite strand is said to be there") {
  BaseCallDecoder decoder;
  decoder.collect_levels();
  const std::vector<std::uint8_t> ml = {200, 100};
  REQUIRE(decoder.decode(std::vector<std::uint8_t>{1, 2}, "C+m.,0;G-m.,0;", std::span(ml), {}) == DecodeStatus::fine);
  REQUIRE(decoder.levels().size() == 2);
  CHECK(decoder.levels()[0].strand == MoleculeStrand::sequenced);
  CHECK(decoder.levels()[1].strand == MoleculeStrand::opposite);
  CHECK(decoder.levels()[1].base == 1);
}
