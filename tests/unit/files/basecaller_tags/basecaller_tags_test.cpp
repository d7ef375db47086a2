// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <sluice/testing.hpp>
#include <sluice/utc_time.hpp>
#include <string>
#include <vector>

#include "basecaller_tags/read_tags.hpp"

using namespace sluice::basecaller_tags;
namespace testing = sluice::testing;

namespace {

template <class T>
std::string bytes_of(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
std::string tag(const std::string& name, std::int32_t value) { return name + "i" + bytes_of(value); }
std::string tag(const std::string& name, std::uint32_t value) { return name + "I" + bytes_of(value); }
std::string tag(const std::string& name, std::uint8_t value) { return name + "C" + bytes_of(value); }
std::string tag(const std::string& name, float value) { return name + "f" + bytes_of(value); }
std::string tag(const std::string& name, const std::string& value) { return name + "Z" + value + '\0'; }
std::string letter(const std::string& name, char value) { return name + "A" + value; }
std::string moves(const std::vector<std::int8_t>& values) {
  std::string made = "mvBc" + bytes_of(static_cast<std::uint32_t>(values.size()));
  for (const std::int8_t value : values) made += static_cast<char>(value);
  return made;
}
std::string places(const std::vector<std::int32_t>& values) {
  std::string made = "paBi" + bytes_of(static_cast<std::uint32_t>(values.size()));
  for (const std::int32_t value : values) made += bytes_of(value);
  return made;
}

using Part = std::vector<std::int64_t>;
Part part_of(const std::string& tags, const std::string& read = "child") {
  const ReadTags read_tags = parse(tags);
  return signal_part(read_tags, read, state_of_moves(read_tags, -1));
}
const std::string newest = tag("PG", std::string("dorado 2.1.0+abc")), older = tag("PG", std::string("dorado 1.3.0"));
const std::string split = tag("pi", std::string("parent")) + tag("sp", 1000) + tag("ts", 30) + tag("ns", 5030);

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const loaded = testing::load_plugin(SLUICE_PLUGIN_DIR "/basecaller_tags.so");
  return *loaded;
}

}  // namespace

TEST_CASE("times are read with and without fractions, zones and leading zeros") {
  using sluice::milliseconds_of_utc;
  CHECK(milliseconds_of_utc("1970-01-01T00:00:00Z") == 0);
  CHECK(milliseconds_of_utc("2024-12-19T20:43:16.529+00:00") == 1734640996529);
  CHECK(milliseconds_of_utc("2024-12-19T20:43:16.529000+00:00") == 1734640996529);
  CHECK(milliseconds_of_utc("2024-12-19T22:43:16.529+02:00") == 1734640996529);
  CHECK(milliseconds_of_utc("2024-12-19T20:43:08.12+00:00") == 1734640988012);
  for (const char* wrong : {"", "2024", "2024-13-01T00:00:00Z", "2024-12-19 20:43:16", "2024-12-19T20:43:16.Z", "2024-12-19T20:43:16Zx"})
    CHECK_FALSE(milliseconds_of_utc(wrong).has_value());
}

TEST_CASE("a tag is taken by its name and its type") {
  const ReadTags tags = parse(letter("ts", '+') + tag("ts", 4010) + tag("ns", std::string("5")) + tag("du", 2.5F) + tag("pt", std::uint8_t{25}) +
                              places({12, 100, 400, -1, -1}) + tag("ts", 7));
  CHECK(tags.ts == 4010);
  CHECK_FALSE(tags.ns.has_value());
  CHECK(tags.du == 2.5F);
  CHECK(tags.pt == 25);
  CHECK(tags.pa == std::vector<std::int32_t>{12, 100, 400, -1, -1});
  // Behind a damaged one nothing is believed.
  CHECK_FALSE(parse(std::string("XX?abc") + tag("ts", 1)).ts.has_value());
}

TEST_CASE("tails that can't be are none that were said") {
  CHECK(poly_a_bases(parse("")) == -2);
  CHECK(poly_a_bases(parse(tag("pt", -1))) == -1);
  CHECK(poly_a_bases(parse(tag("pt", 0))) == 0);
  CHECK(poly_a_bases(parse(tag("pt", std::numeric_limits<std::int32_t>::max()))) == std::numeric_limits<std::int32_t>::max());
  CHECK(poly_a_bases(parse(tag("pt", -5))) == -2);
  CHECK(poly_a_bases(parse(tag("pt", std::uint32_t{4'000'000'000}))) == -2);
  for (const std::vector<std::int32_t>& place : {std::vector<std::int32_t>{12, 100, 400, -1, -1}, {12, 100, 100}, {-1, -1, -1, -1, -1}})
    CHECK(poly_a_place(parse(places(place))) == place);
  for (const std::vector<std::int32_t>& place : {std::vector<std::int32_t>{12, 400, 100, -1, -1}, {12, -1, 100}, {1, 2}, {}})
    CHECK(poly_a_place(parse(places(place))).empty());
}

TEST_CASE("a read that is not split has ts and ns, in whichever order its parent is named") {
  CHECK(part_of("").empty());
  CHECK(part_of(tag("RG", std::string("a"))).empty());
  CHECK(part_of(tag("ts", 10) + tag("ns", 900)) == Part{10, 900});
  // buttery-eel names every read its own parent.
  CHECK(part_of(tag("pi", std::string("child")) + tag("ts", 10) + tag("ns", 900)) == Part{10, 900});
  CHECK(part_of(tag("ns", 900)) == Part{0, 900});
  CHECK(part_of(tag("ts", 10)) == Part{10, -1});
  // What can't be is not taken for what is not there.
  CHECK(part_of(tag("ts", -1) + tag("ns", -1)) == Part{-1, 0});
}

TEST_CASE("a split read has its part of its parent, and what its basecaller cut before it") {
  CHECK(part_of(split + newest) == Part{30, 5030, 1000, -1, 0});
  CHECK(part_of(split + older) == Part{30, 5030, 1000, -1, -1});
  CHECK(part_of(split + older + tag("sv", std::string("pa"))) == Part{30, 5030, 1000, -1, 10});
  CHECK(part_of(split + tag("st", std::string("1970-01-01T00:00:01.5Z"))) == Part{30, 5030, 1000, 1005, -1});
  CHECK(part_of(tag("pi", std::string("parent")) + tag("sp", 3)) == Part{0, -1, 3, -1, -1});
  CHECK(part_of(tag("pi", std::string("parent")) + tag("ts", 3) + tag("ns", 9)) == Part{3, 9, -1, -1, -1});
}

TEST_CASE("versions of dorado are compared as numbers") {
  CHECK(is_dorado_before("dorado 0.9.5", 1, 4) == true);
  CHECK(is_dorado_before("dorado 1.10.0", 1, 4) == false);
  CHECK(is_dorado_before("dorado 2.0.0", 2, 1) == true);
  CHECK_FALSE(is_dorado_before("guppy 6.5.7", 1, 4).has_value());
  CHECK(is_dorado_before("dorado 1.3.9", 1, 4) == true);
  CHECK(is_dorado_before("dorado 1.4.0", 1, 4) == false);
  CHECK(is_dorado_before("dorado 9999.0", 1, 4) == false);
  CHECK(is_dorado_before("dorado 1.9999.0", 1, 4) == false);
  // No version has numbers of five digits; what has is none.
  CHECK_FALSE(is_dorado_before("dorado 10000.0", 1, 4).has_value());
  CHECK_FALSE(is_dorado_before("dorado ", 1, 4).has_value());
}

TEST_CASE("moves that are not those of the bases and samples are broken") {
  const auto state = [](const std::vector<std::int8_t>& values, std::int64_t bases, std::int32_t ts = 10, std::int32_t ns = 35,
                        const std::string& more = {}) { return state_of_moves(parse(moves(values) + tag("ts", ts) + tag("ns", ns) + more), bases); };
  CHECK(state({5, 1, 0, 1, 1, 0}, 3) == MoveState::sound);
  CHECK(state({5, 1, 0, 1, 1, 0}, -1) == MoveState::sound);
  CHECK(state({5, 1, 0, 1, 1, 0}, 3, 10, 39) == MoveState::sound);
  CHECK(state({5, 1, 0, 1, 1, 0}, 4) == MoveState::broken);
  CHECK(state({5, 0, 1, 1, 1, 0}, 3) == MoveState::broken);
  CHECK(state({5, 1, 0, 2, 0, 0}, 3) == MoveState::broken);
  CHECK(state({5, 1, 0, 1, 1, 0}, 3, 10, 34) == MoveState::broken);
  CHECK(state({0, 1, 1}, 2) == MoveState::broken);
  CHECK(state({5}, 0) == MoveState::broken);
  CHECK(state({5, 1, 0}, 0) == MoveState::broken);
  CHECK(state_of_moves(parse(moves({5, 1, 1})), 2) == MoveState::none);
  CHECK(state_of_moves(parse(tag("ts", 1) + tag("ns", 11)), 2) == MoveState::none);
  const std::string rna = tag("RG", std::string("run_rna004_130bps_sup@v5.1.0")), barcode = tag("BC", std::string("b1"));
  CHECK(state({5, 1, 0, 1, 1, 0}, 3, 10, 35, rna + barcode + older) == MoveState::doubted);
  CHECK(state({5, 1, 0, 1, 1, 0}, 3, 10, 35, rna + barcode + newest) == MoveState::sound);
  CHECK(state({5, 1, 0, 1, 1, 0}, 3, 10, 35, rna + older) == MoveState::sound);
  // Since 1.4.0 they are cut at the right end.
  CHECK(state({5, 1, 0, 1, 1, 0}, 3, 10, 35, rna + barcode + tag("PG", std::string("dorado 1.4.0"))) == MoveState::sound);
}

TEST_CASE("where ns still counts what was cut behind the last base the moves end the read") {
  CHECK(part_of(moves({5, 1, 0, 1}) + tag("ts", 10) + tag("ns", 29)) == Part{10, 29});
  CHECK(part_of(moves({5, 1, 0, 1}) + tag("ts", 10) + tag("ns", 30)) == Part{10, 25});  // a whole stride more than the moves
  CHECK(part_of(moves({5, 1, 0, 1}) + tag("ts", 10) + tag("ns", 900)) == Part{10, 25});
}

TEST_CASE("the stage gives columns, and fails what can't be used") {
  const std::string whole = tag("ts", 10) + tag("ns", 35) + moves({5, 1, 0, 1, 1, 0}) + tag("du", 0.5F) + tag("RG", std::string("g")) +
                            tag("DS", std::string("runid=x basecall_model=rna004_130bps_sup@v5.1.0"));
  const testing::TestBatch reads = testing::BatchBuilder("read", 6)
                                       .text("read_id", {"none", "whole", "child", "duplex", "broken", "ignored"})
                                       .text("basecaller_tags", {"", whole, split, tag("dx", 1), whole, tag("pt", -1)}, "binary")
                                       .text("bases", {"ACGT", "ACG", "ACG", "A", "ACGT", "A"})
                                       .build();
  const auto run = [&](const char* how) {
    return testing::run_stage(testing::stage_of(plugin(), "basecaller_tags"), reads).with({{"moves", how}}).run();
  };
  const testing::Result result = run("check");
  CHECK(result.failed == std::vector<testing::FailedRow>{{0, 3, "duplex"}, {0, 4, "bad_moves"}});
  const auto batch = result.batch().view();
  const auto parent = batch.text("signal_read");
  CHECK(parent[0] == "none");
  CHECK(parent[1] == "whole");
  CHECK(parent[2] == "parent");
  const auto part = batch.list<std::int64_t>("signal_part");
  CHECK(part[0].empty());
  CHECK(std::vector<std::int64_t>(part[1].begin(), part[1].end()) == Part{10, 35});
  CHECK(part[2].size() == 5);
  CHECK(batch.list<std::int8_t>("moves")[1].size() == 6);
  CHECK(batch.list<std::int8_t>("moves")[2].empty());
  CHECK(batch.column<float>("basecaller_seconds")[1] == 0.5F);
  CHECK(std::isnan(batch.column<float>("basecaller_seconds")[0]));
  CHECK(batch.column<std::int32_t>("basecaller_poly_a")[0] == -2);
  CHECK(batch.column<std::int32_t>("basecaller_poly_a")[5] == -1);
  CHECK(batch.text("read_group")[1] == "g");
  CHECK(batch.text("basecall_model")[1] == "rna004_130bps_sup@v5.1.0");
  CHECK(result.counters == std::map<std::string, double>{{"split reads", 1}, {"reads with a part of a signal", 2}, {"reads with moves", 1}});
  CHECK(result.log.empty());
  const testing::Result ignored = run("ignore");
  CHECK(ignored.failed == std::vector<testing::FailedRow>{{0, 3, "duplex"}});
  CHECK(ignored.batch().view().list<std::int8_t>("moves")[1].empty());
}

TEST_CASE("reads whose moves are cut at the wrong end are counted and warned of once") {
  const std::string doubted =
      tag("ts", 10) + tag("ns", 35) + moves({5, 1, 0, 1, 1, 0}) + tag("RG", std::string("run_rna004")) + tag("BC", std::string("b1")) + older;
  const testing::TestBatch reads =
      testing::BatchBuilder("read", 2).text("read_id", {"a", "b"}).text("basecaller_tags", {doubted, doubted}, "binary").build();
  const testing::Result result = testing::run_stage(testing::stage_of(plugin(), "basecaller_tags"), {reads, reads}).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.counters == std::map<std::string, double>{{"reads with a part of a signal", 4}, {"reads with moves that are not used", 4}});
  CHECK(result.batches[1].view().list<std::int8_t>("moves")[1].empty());
  REQUIRE(result.log.size() == 1);
  CHECK(result.log[0].message.starts_with("direct RNA with barcodes of dorado before 1.4.0"));
}

TEST_CASE("what the alignment does not say is taken from the comment of the read, and of both the alignment's counts") {
  const testing::TestBatch reads =
      testing::BatchBuilder("read", 3)
          .text("read_id", {"alignment", "comment", "both"})
          .text("basecaller_tags", {tag("ts", 10) + tag("ns", 35), "", tag("ts", 10) + tag("RG", std::string("g"))}, "binary")
          .text("read_file_tags", {"", tag("ts", 20) + tag("ns", 45), tag("ts", 20) + tag("ns", 45)}, "binary")
          .build();
  const testing::Result result = testing::run_stage(testing::stage_of(plugin(), "basecaller_tags"), reads).run().expect_rows(3);
  const auto batch = result.batch().view();
  const auto part = [&](std::int64_t row) {
    const auto values = batch.list<std::int64_t>("signal_part")[row];
    return Part(values.begin(), values.end());
  };
  CHECK(part(0) == Part{10, 35});
  CHECK(part(1) == Part{20, 45});
  CHECK(part(2) == Part{10, 45});
  CHECK(batch.text("read_group")[2] == "g");
}

TEST_CASE("the stage keeps its contract") {
  const testing::TestBatch reads = testing::BatchBuilder("read", 2)
                                       .text("read_id", {"a", "b"})
                                       .text("basecaller_tags", {split, tag("ts", 10) + tag("ns", 35) + moves({5, 1, 0, 1, 1, 0})}, "binary")
                                       .text("bases", {"ACGT", "ACG"})
                                       .build();
  for (const std::string& problem : testing::contract_problems(plugin(), {{"basecaller_tags", {.batches = {reads}}}})) FAIL_CHECK(problem);
}
