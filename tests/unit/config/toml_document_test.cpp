// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/toml_document.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace sluice;

namespace {

std::optional<TomlNode> parsed(const std::string& text, std::string* problem = nullptr) {
  Diagnostics diagnostics;
  auto node = parse_toml(text, "f.toml", diagnostics);
  CHECK(node.has_value() != diagnostics.has_errors());
  if (problem != nullptr) *problem = diagnostics.list().empty() ? "" : diagnostics.list().front().text();
  return node;
}

}  // namespace

TEST_CASE("what TOML allows is read") {
  for (const char* text : {
           "",
           "\xef\xbb\xbf# a byte order mark\r\na = 1\r\n",
           "a = \"\xc3\xa9\" # \xc3\xa9\n",
           "a = [ # one\n  \"x\", # two\n  'y',\n\n  \"\"\"z\"\"\",\n]\n",
           "a = [[1, 2], [\"x\", 'y'], [{ b = [1], c = { d = \"e\" } }]]",
           "\"key\" = 1\n'other' = 2\n",
           "[\"a\"]\nb = 1\n[[c]]\nd = 1\n[[c]]\nd = 2\n",
           "a = \"\"\"\nfirst \"quoted\"\nsecond \\\n   joined \\\" \"\"\"\"\"\n",
           "a = '''it's [{., ='''\nb = ''\nc = \"\"\n",
           "a.b.c = 1.5e3\nd = -inf\ne = 1979-05-27T07:32:00Z\nf = 0xff\n",
       }) {
    CAPTURE(text);
    std::string problem;
    CHECK_MESSAGE(parsed(text, &problem).has_value(), problem);
  }
}

TEST_CASE("values, their kinds and places come in the order of the file") {
  const auto node = parsed("z = 1\na = [\"x\", 2.5, true]\n[t]\nk = 'v'\n");
  REQUIRE(node);
  REQUIRE(node->members.size() == 3);
  CHECK(node->members[0].key == "z");
  CHECK(node->members[1].value.items[1].kind == TomlKind::floating);
  CHECK(node->members[1].value.items[1].text == "2.5");
  CHECK(node->members[1].value.items[2].text == "true");
  CHECK(node->members[2].value.members[0].where.line == 4);
  CHECK(node->members[2].value.members[0].value.where.column == 5);
}

TEST_CASE("what the library must not see is refused with its place") {
  struct Case {
    const char *text, *problem;
  };
  for (const Case& c :
       {Case{"a = 0o0$${\"\xef\xb3\xbf\"", "f.toml:1:10: there is a '{' in the middle of something"},
        Case{"\xca\xb1 = 1", "f.toml:1:1: there is a letter outside ASCII"}, Case{"a = -0d\"\"\"b\"", "f.toml:1:8: there is a quote in the middle"},
        Case{"a = 1\nb = [2, c = 3]", "f.toml:2:11: there is a '=' in the middle"}, Case{"a = \"b\nc\"", "f.toml:1:5: a string is not closed"},
        Case{"a = { b = 1\n}", "f.toml:1:12: the line ends inside of brackets"}, Case{"a = ]", "f.toml:1:5: ']' closes nothing"},
        Case{"a = 1, 2", "f.toml:1:6: there is a comma outside of a list"}, Case{"a.b.\"c\" = 1", "f.toml:1:5: there is a quoted key after a dot"},
        Case{"a = \"\x02\"", "f.toml:1:6: there is a control character"}, Case{"a = \"\"\"\\\xef\xbb\xaf\"\"\"", "f.toml:1:10: a backslash"}}) {
    std::string problem;
    CHECK_FALSE(parsed(c.text, &problem));
    CHECK_MESSAGE(problem.starts_with(c.problem), problem);
  }
}
