// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <limits>
#include <numeric>
#include <sluice/output_columns.hpp>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

namespace testing = sluice::testing;

namespace {

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const loaded = testing::load_plugin(SLUICE_PLUGIN_DIR "/column_selection.so");
  return *loaded;
}

testing::TestBatch rows() {
  return testing::BatchBuilder("hit", 5)
      .text("name", {"a", "", "c", "d", "e"})
      .column<float>("quality", {0.5F, 1, 2, 3, 4})
      .list<std::int32_t>("length", {{1}, {2, 3}, {}, {4, 5, 6}, {7}})
      .list<double>("mean", {{1.5}, {2.5, 3.5}, {}, {4.5}, {7}})
      .failed(4)
      .build();
}
sluice::ArrivingColumns arriving() { return {"hit", {{"name", "utf8"}, {"quality", "f32"}, {"length", "list<i32>"}, {"mean", "list<f64>"}}}; }

// The stage with the columns that these parameters decide, as the host has it. Descriptors live as long as the process.
testing::StageUnderTest decided(const char* stage, const testing::ParameterTexts& given, const sluice::ArrivingColumns& columns = arriving()) {
  const testing::StageUnderTest base = testing::stage_of(plugin(), stage);
  std::vector<sluice_value> values;
  for (std::size_t p = 0; p < base.descriptor->parameter_count; ++p) {
    sluice_value value = SLUICE_AT(sluice_parameter, base.descriptor->parameters, base.descriptor->parameter_stride, p)->default_value;
    const char* name = SLUICE_AT(sluice_parameter, base.descriptor->parameters, base.descriptor->parameter_stride, p)->name;
    value.type = SLUICE_STRING;
    if (value.text == nullptr) value.text = "";
    if (const auto found = given.find(name); found != given.end()) value.is_set = 1, value.text = found->second.c_str();
    values.push_back(value);
  }
  testing::StageUnderTest made = base;
  made.descriptor = &sluice::decided_stage(plugin(), *base.descriptor, values.data(), sizeof(sluice_value), columns).release()->descriptor;
  return made;
}
std::string problem_of(const char* stage, const testing::ParameterTexts& given) {
  try {
    decided(stage, given);
    return "";
  } catch (const sluice::Failure& failure) {
    return failure.what();
  }
}

}  // namespace

TEST_CASE("columns are renamed, with what they hold") {
  const testing::ParameterTexts parameters = {{"rename", "name=label,length=event_length,quality=q"}};
  const testing::Result result = testing::run_stage(decided("select", parameters), rows()).with(parameters).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.problems.empty());
  const auto view = result.batch().view();
  CHECK(view.text("label")[2] == "c");
  CHECK(view.column<float>("q")[3] == 3);
  const auto lengths = view.list<std::int32_t>("event_length");
  CHECK(std::vector<std::int32_t>(lengths[3].begin(), lengths[3].end()) == std::vector<std::int32_t>{4, 5, 6});
  CHECK(lengths[2].empty());
}

TEST_CASE("names that can't be are refused") {
  CHECK(problem_of("select", {{"rename", "name=quality"}}) == "there is a column 'quality' already");
  CHECK(problem_of("select", {{"rename", "name=Label"}}) == "'Label' is no name of a column");
  for (const std::string wrong : {"9a", "0a", "_a"})
    CHECK(problem_of("select", {{"rename", "name=" + wrong}}) == "'" + wrong + "' is no name of a column");
  for (const std::string fine : {"a", "a9_", "z0"}) CHECK(problem_of("select", {{"rename", "name=" + fine}}).empty());
  CHECK(problem_of("select", {{"rename", "n=a"}}).empty());
  CHECK(problem_of("select", {{"rename", "=a"}}) == "rename has '=a', which is no pair of names");
  CHECK(problem_of("select", {{"rename", "name="}}) == "rename has 'name=', which is no pair of names");
  CHECK(problem_of("select", {{"rename", "name"}}) == "rename has 'name', which is no pair of names");
  CHECK(problem_of("select", {{"rename", "name=a,name=b"}}) == "rename names a column twice in 'name=b'");
  CHECK(problem_of("select", {{"drop", "name,,mean"}}) == "drop has an empty name");
  CHECK(problem_of("select", {{"drop", "name,"}}) == "drop has an empty name");
  CHECK(problem_of("select", {{"drop", "name,name"}}) == "drop names 'name' twice");
  CHECK(problem_of("explode", {{"lists", "quality"}}) == "column 'quality' of lists holds no lists but f32");
  CHECK(problem_of("explode", {{"lists", "mean"}, {"index", "name"}}) == "there is a column 'name' already");
}

TEST_CASE("what is dropped, and what is missing, is decided before a run") {
  const auto of = [](const testing::ParameterTexts& given) {
    const sluice_stage_descriptor& base = *testing::stage_of(plugin(), "select").descriptor;
    std::vector<sluice_value> values(base.parameter_count);
    for (std::size_t p = 0; p < values.size(); ++p) {
      values[p].type = SLUICE_STRING;
      const auto found = given.find(base.parameters[p].name);
      values[p].text = found == given.end() ? "" : found->second.c_str();
      values[p].is_set = found == given.end() ? 0 : 1;
    }
    return sluice::decided_stage(plugin(), base, values.data(), sizeof(sluice_value), arriving());
  };
  CHECK(of({{"keep", "mean"}})->hidden == std::vector<std::string>{"name", "quality", "length"});
  CHECK(of({{"drop", "mean"}, {"rename", "name=label"}})->hidden == std::vector<std::string>{"name", "mean"});
  CHECK(of({{"drop", "man"}})->missing == std::vector<std::pair<std::string, std::string>>{{"drop", "man"}});
  CHECK(of({{"rename", "man=men"}})->missing == std::vector<std::pair<std::string, std::string>>{{"rename", "man"}});
  CHECK(of({{"drop", "mean"}})->needs.empty());
}

TEST_CASE("each element of lists becomes a row") {
  const testing::ParameterTexts parameters = {{"lists", "length"}, {"keep", "name,mean"}, {"index", "place"}, {"rows", "event"}};
  const testing::Result result = testing::run_stage(decided("explode", parameters), rows()).with(parameters).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.problems.empty());
  const auto view = result.batch().view();
  CHECK(view.row_type() == "event");
  std::string text;
  for (std::int64_t row = 0; row < view.rows(); ++row)
    text += std::string(view.text("name")[row]) + std::to_string(view.column<std::int32_t>("length")[static_cast<std::size_t>(row)]) + "@" +
            std::to_string(view.column<std::int64_t>("place")[static_cast<std::size_t>(row)]) + "/" +
            std::to_string(view.list<double>("mean")[row].size()) + " ";
  CHECK(text == "a1@0/1 2@0/2 3@1/2 d4@0/1 d5@1/1 d6@2/1 ");
}

TEST_CASE("a batch of elements ends by the bytes of what is repeated, in the middle of a row, too") {
  const std::string large(std::size_t{4} << 20, 'x');
  std::vector<std::int32_t> many(40);
  std::iota(many.begin(), many.end(), 0);
  const testing::TestBatch batch = testing::BatchBuilder("hit", 3)
                                       .text("name", {"a", large, "b"})
                                       .column<float>("quality", {1, 2, 3})
                                       .list<std::int32_t>("length", {{7, 8}, many, {9}})
                                       .list<double>("mean", {{1}, {2}, {3}})
                                       .build();
  const testing::ParameterTexts parameters = {{"lists", "length"}, {"keep", "name"}, {"index", "place"}};
  const testing::Result result = testing::run_stage(decided("explode", parameters), batch).with(parameters).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  std::vector<std::int32_t> elements;
  std::vector<std::int64_t> places;
  for (const testing::TestBatch& part : result.batches) {
    const auto view = part.view();
    CHECK(view.rows() <= 18);  // 64 MiB and what is small
    for (std::int64_t row = 0; row < view.rows(); ++row) {
      elements.push_back(view.column<std::int32_t>("length")[static_cast<std::size_t>(row)]);
      places.push_back(view.column<std::int64_t>("place")[static_cast<std::size_t>(row)]);
      const bool is_many = elements.size() > 2 && elements.size() <= 42;
      CHECK(view.text("name")[row].size() == (is_many ? large.size() : 1));
    }
  }
  std::vector<std::int32_t> expected = {7, 8};
  expected.insert(expected.end(), many.begin(), many.end());
  expected.push_back(9);
  CHECK(elements == expected);
  CHECK(places.back() == 0);
  CHECK(places[41] == 39);
}

TEST_CASE("rows whose lists do not go together are counted, and become none") {
  const testing::ParameterTexts parameters = {{"lists", "length,mean"}};
  const testing::Result result = testing::run_stage(decided("explode", parameters), rows()).with(parameters).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.batch().rows() == 3);
  CHECK(result.accounts.at("unequal_lists").count == 1);
}

TEST_CASE("columns of every type are renamed") {
  const auto check = [](auto zero) {
    using T = decltype(zero);
    const std::string type = sluice::element_type<T>().name;
    const testing::ParameterTexts parameters = {{"rename", "old=new"}};
    const sluice::ArrivingColumns columns{"hit", {{"old", type}}};
    const std::vector<T> numbers = {T{1}, T{2}, std::numeric_limits<T>::max()};
    const testing::TestBatch batch = testing::BatchBuilder("hit", 3).column<T>("old", numbers).build();
    const testing::Result result = testing::run_stage(decided("select", parameters, columns), batch).with(parameters).run();
    REQUIRE_MESSAGE(result.ok(), result.message);
    const auto values = result.batch().view().template column<T>("new");
    CHECK_MESSAGE(std::vector<T>(values.begin(), values.end()) == numbers, type);
  };
  check(std::int8_t{}), check(std::uint8_t{}), check(std::int16_t{}), check(std::uint16_t{}), check(std::int32_t{}), check(std::uint32_t{});
  check(std::int64_t{}), check(std::uint64_t{}), check(float{}), check(double{});
  const testing::ParameterTexts parameters = {{"rename", "old=new"}};
  const testing::TestBatch batch = testing::BatchBuilder("hit", 2).text("old", {"a", "bc"}, "binary").build();
  const testing::Result result = testing::run_stage(decided("select", parameters, {"hit", {{"old", "binary"}}}), batch).with(parameters).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.problems.empty());
  CHECK(result.batch().view().text("new")[1] == "bc");
}

TEST_CASE("rows of 262,144 elements leave at once") {
  const std::vector<std::int8_t> half(std::size_t{1} << 17, 7), most(half.begin(), half.end() - 1);
  const testing::ParameterTexts parameters = {{"lists", "old"}};
  const sluice::ArrivingColumns columns{"hit", {{"old", "list<i8>"}}};
  const auto sizes = [&](const std::vector<std::vector<std::int8_t>>& lists) {
    const testing::TestBatch batch = testing::BatchBuilder("hit", std::ssize(lists)).list<std::int8_t>("old", lists).build();
    const testing::Result result = testing::run_stage(decided("explode", parameters, columns), batch).with(parameters).run();
    REQUIRE_MESSAGE(result.ok(), result.message);
    std::vector<std::int64_t> rows;
    for (const testing::TestBatch& out : result.batches) rows.push_back(out.rows());
    return rows;
  };
  CHECK(sizes({half, half, {1}}) == std::vector<std::int64_t>{1 << 18, 1});
  CHECK(sizes({half, most, {1}, {2}}) == std::vector<std::int64_t>{1 << 18, 1});
}

TEST_CASE("the stages keep the contract of all stages") {
  // But for other values of their parameters, with which they would have other columns.
  const auto check = [](const char* stage, const testing::ParameterTexts& parameters) {
    for (const std::string& problem : testing::contract_problems(decided(stage, parameters), {.parameters = parameters, .batches = {rows()}}))
      if (!problem.starts_with(std::string(stage) + ": parameter '")) FAIL_CHECK(problem);
  };
  const testing::ParameterTexts select = {{"rename", "name=label,length=event_length"}, {"drop", "mean"}};
  check("select", select);
  const testing::ParameterTexts explode = {{"lists", "length"}, {"keep", "name,quality"}, {"index", "place"}};
  check("explode", explode);
}
