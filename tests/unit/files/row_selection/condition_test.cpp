// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <map>
#include <sluice/condition.hpp>
#include <string>
#include <vector>

namespace {

using sluice::columns_of;
using sluice::ConditionNode;
using sluice::Failure;
using sluice::parse_condition;

// "" if it can be read, else what is said.
std::string problem_of(const std::string& text) {
  try {
    parse_condition(text);
    return "";
  } catch (const Failure& failure) {
    CHECK(failure.status() == SLUICE_ERROR_USAGE);
    CHECK(!failure.remedy().empty());
    return failure.what();
  }
}

std::string type_problem_of(const std::string& text) {
  static const std::map<std::string, std::string> types = {{"mapq", "i32"}, {"name", "utf8"}, {"bases", "binary"}, {"event_mean", "list<f32>"}};
  try {
    sluice::check_condition_types(parse_condition(text), [](const std::string& column) { return types.at(column); });
    return "";
  } catch (const Failure& failure) {
    CHECK(!failure.remedy().empty());
    return failure.what();
  }
}

}  // namespace

TEST_CASE("conditions of every form are read, and name their columns once") {
  CHECK(columns_of(parse_condition("mapq >= 20 and name != 'x'")) == std::vector<std::string>{"mapq", "name"});
  CHECK(columns_of(parse_condition("not (len(bases) < 1e3 or bases == bases)")) == std::vector<std::string>{"bases"});
  CHECK(columns_of(parse_condition("contig not in ['a', \"b\\\"\", 'c\\\\'] or -1 <= x")) == std::vector<std::string>{"contig", "x"});
  CHECK(columns_of(parse_condition("len == 3 and android > 1 and _under_score2 < .5")) ==
        std::vector<std::string>{"len", "android", "_under_score2"});
  CHECK(columns_of(parse_condition("1 == 1")).empty());
  CHECK(columns_of(parse_condition("(end - start) * 2 > len(bases) / -start")) == std::vector<std::string>{"end", "start", "bases"});
}

TEST_CASE("or binds less than and, and less than not") {
  const ConditionNode condition = parse_condition("a == 1 or not b == 2 and c == 3");
  REQUIRE(condition.kind == ConditionNode::Kind::any);
  REQUIRE(condition.parts.size() == 2);
  REQUIRE(condition.parts[1].kind == ConditionNode::Kind::all);
  CHECK(condition.parts[1].parts[0].kind == ConditionNode::Kind::negation);
}

TEST_CASE("a mistake is named with its place and a remedy") {
  CHECK(problem_of("") == "character 1: a comparison is missing in front of the end");
  CHECK(problem_of("mapq = 20") == "character 6: '=' compares nothing");
  CHECK(problem_of("mapq") == "character 5: a comparison is missing in front of the end");
  CHECK(problem_of("mapq ==") == "character 8: a value is missing in front of the end");
  CHECK(problem_of("1 < x < 5") == "character 7: two comparisons stand in a row");
  CHECK(problem_of("(x == 1") == "character 8: ')' is missing in front of the end");
  CHECK(problem_of("x == 1)") == "character 7: ')' is where the condition should continue or end");
  CHECK(problem_of("x == 1 AND y == 2") == "character 8: 'AND' is where the condition should continue or end");
  CHECK(problem_of("x == 1 && y == 2") == "character 8: '&&' is not understood");
  CHECK(problem_of("x == 'abc") == "character 6: a text is not closed");
  CHECK(problem_of("x == '\\") == "character 6: a text is not closed");
  CHECK(problem_of("x == '\\n'") == "character 7: only the quote and \\ can stand behind \\ in a text");
  CHECK(problem_of("x == 12ab") == "character 6: '12ab' is not a number");
  CHECK(problem_of("x == 1e999") == "character 6: '1e999' is not a number");
  CHECK(problem_of("x in 'a'") == "character 6: '[' is missing behind 'in'");
  CHECK(problem_of("x in []") == "character 7: a value is missing in front of ']'");
  CHECK(problem_of("x in [1 2]") == "character 9: ']' is missing in front of '2'");
  CHECK(problem_of("x not == 1") == "character 7: 'in' is missing behind 'not'");
  CHECK(problem_of("len(3) == 1") == "character 5: len() needs the name of a column");
  CHECK(problem_of("x % 2 == 1") == "character 3: '%' is not understood");
  CHECK(problem_of("x + == 1") == "character 5: a value is missing in front of '=='");
  CHECK(problem_of("x + 1") == "character 6: a comparison is missing in front of the end");
  CHECK(problem_of("(x + 1 > 2") == "character 11: ')' is missing in front of the end");
  CHECK(problem_of("(x > 1) * 2 == 2") == "character 4: ')' is missing in front of '>'");
  CHECK(problem_of("x == -") == "character 7: a value is missing in front of the end");
  CHECK(problem_of("x == \xc3\xa4") == "character 6: a character is not understood");
  CHECK(problem_of("and == 1") == "character 1: a comparison is missing in front of 'and'");
}

TEST_CASE("what is nested too deep is refused, and long chains are not") {
  CHECK(problem_of(std::string(100000, '(')).find("deeper than 64 levels") != std::string::npos);
  std::string negations, chain = "x == 1", sum = "x", signs;
  for (int i = 0; i < 10000; ++i) negations += "not ", chain += " or x == 1", sum += " + 1", signs += "- ";
  CHECK(problem_of(sum + " == 1").find("deeper than 64 levels") != std::string::npos);
  CHECK(problem_of(signs + "1 == x").find("deeper than 64 levels") != std::string::npos);
  CHECK(problem_of("x" + std::string(64, '+') + "1 == 1").empty());
  CHECK(problem_of(negations + "x == 1").find("deeper than 64 levels") != std::string::npos);
  CHECK(problem_of(chain).empty());
  CHECK(problem_of(std::string(64, '(') + "x == 1" + std::string(64, ')')).empty());
}

TEST_CASE("numbers are compared with numbers and texts with texts") {
  CHECK(type_problem_of("mapq > 3 and name < 'b' and len(event_mean) > len(bases) and bases in ['A', name]").empty());
  CHECK(type_problem_of("mapq == 'x'") == "character 9: column 'mapq', a number, is compared with a text");
  CHECK(type_problem_of("name == 3") == "character 9: column 'name', a text, is compared with a number");
  CHECK(type_problem_of("mapq == 1 or not (mapq == name)") == "character 27: column 'mapq', a number, is compared with column 'name', a text,");
  CHECK(type_problem_of("event_mean > 3") == "character 1: column 'event_mean' holds lists");
  CHECK(type_problem_of("len(mapq) > 3") == "character 1: column 'mapq' holds numbers, which have no length");
  CHECK(type_problem_of("mapq in [1, 2, '3']") == "character 16: column 'mapq', a number, is compared with a text");
  CHECK(type_problem_of("mapq * 2 + len(name) > -mapq and mapq / 2 in [1, 2]").empty());
  CHECK(type_problem_of("mapq + 1 == 'x'") == "character 13: a number is compared with a text");
  CHECK(type_problem_of("mapq == 1 + name") == "character 13: column 'name', a text, cannot be computed with");
  CHECK(type_problem_of("1 - 'x' == 1") == "character 5: a text cannot be computed with");
  CHECK(type_problem_of("event_mean * 2 > 3") == "character 1: column 'event_mean' holds lists");
  CHECK(type_problem_of("len(name) == 'x'") == "character 14: a length is compared with a text");
}
