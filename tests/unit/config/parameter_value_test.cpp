// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/parameter_value.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

#include "config/expansion.hpp"

using namespace sluice;

TEST_CASE("sizes are bytes with decimal and binary units") {
  CHECK(parse_size("512") == 512);
  CHECK(parse_size("0") == 0);
  CHECK(parse_size("64 KiB") == 65536);
  CHECK(parse_size("64K") == 65536);
  CHECK(parse_size("2GB") == 2000000000);
  CHECK(parse_size("1.5 GiB") == 1610612736);
  CHECK(parse_size("7TiB") == std::int64_t{7} << 40);
  CHECK(parse_size("9223372036854775807") == std::numeric_limits<std::int64_t>::max());
  for (const char* bad :
       {"", "x", "-1", "1.5", "1.5 B", "9223372036854775808", "99999999 TiB", "1 XB", "1e3", ".5K", "5.K", "1..2K", "KiB", "1 K iB", "nan"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_size(bad));
  }
}

TEST_CASE("values are converted in full or refused with a remedy") {
  sluice_value value;
  const auto message = [&](sluice_value_type type, const char* text) {
    return convert_value(text, {type, 0, 10, {"tsv", "bed"}, "pA"}, value).message;
  };
  CHECK(message(SLUICE_INT, "7").empty());
  CHECK(value.integer == 7);
  CHECK(message(SLUICE_INT, "7.0") == "'7.0' is not an integer");
  CHECK(message(SLUICE_INT, "99999999999999999999") == "'99999999999999999999' is not an integer");
  CHECK(message(SLUICE_INT, "11") == "11 is out of range");
  CHECK(message(SLUICE_FLOAT, "1e-3").empty());
  CHECK(value.real == 1e-3);
  CHECK(message(SLUICE_FLOAT, "nan") == "'nan' is not a number");
  CHECK(message(SLUICE_FLOAT, "inf") == "'inf' is not a number");
  CHECK(message(SLUICE_BOOL, "yes").empty());
  CHECK(value.integer == 1);
  CHECK(message(SLUICE_BOOL, "2") == "'2' is neither true nor false");
  CHECK(message(SLUICE_CHOICE, "bed").empty());
  CHECK(convert_value("tvs", {SLUICE_CHOICE, {}, {}, {"tsv", "bed"}, ""}, value).remedy == "did you mean 'tsv'?");
  CHECK(convert_value("11", {SLUICE_INT, 0, 10, {}, "pA"}, value).remedy == "give a value from 0 to 10 pA");
  CHECK(message(99, "x").find("unknown type 99") != std::string::npos);
}

TEST_CASE("a descriptor whose bounds are both zero is unbounded") {
  sluice_parameter p{};
  p.type = SLUICE_INT;
  sluice_value value;
  CHECK(convert_value("-5", rule_of(p), value).message.empty());
  p.minimum = 1, p.maximum = std::numeric_limits<double>::infinity();
  CHECK(convert_value("-5", rule_of(p), value).remedy == "give a value of at least 1");
}

TEST_CASE("default values are shown as a user would write them") {
  sluice_parameter p{};
  p.type = SLUICE_FLOAT;
  p.default_value = {SLUICE_FLOAT, 1, 0, static_cast<double>(0.1f), ""};
  CHECK(default_text(p) == "0.1");
  p.default_value.real = 0.1;
  CHECK(default_text(p) == "0.1");
  p.default_value.is_set = 0;
  CHECK(default_text(p).empty());
}

TEST_CASE("${} is replaced, also inside longer texts") {
  const std::map<std::string, std::string> parameters = {{"out", "run1"}, {"empty", ""}};
  CHECK(expand("${out}.bam", parameters).text == "run1.bam");
  CHECK(expand("a${empty}b${out}${out}", parameters).text == "abrun1run1");
  CHECK(expand("$${out} $x $", parameters).text == "${out} $x $");
  CHECK(expand("", parameters).text.empty());
  CHECK(expand("${oot}", parameters).remedy == "did you mean '${out}'?");
  CHECK(expand("${out", parameters).message == "'${' is not closed");
  CHECK_FALSE(expand("${}", parameters).message.empty());
}

TEST_CASE("texts that grow without end are refused") {
  const std::map<std::string, std::string> parameters = {{"x", std::string(60000, 'x')}};
  CHECK(expand("${x}${x}", parameters).message.find("64 KiB") != std::string::npos);
}

TEST_CASE("the nearest name is one that may have been meant") {
  const std::vector<std::string> names = {"bandwidth", "window", "threshold"};
  CHECK(nearest_name("bandwith", names) == "bandwidth");
  CHECK(nearest_name("wnidow", names) == "window");
  CHECK(nearest_name("treshhold", names) == "threshold");
  CHECK(nearest_name("colour", names).empty());
  CHECK(nearest_name("", names).empty());
  CHECK(nearest_name(std::string(100000, 'a'), {std::string(100000, 'b')}).empty());
}

TEST_CASE("a diagnostic is one line with place, stage and remedy") {
  CHECK(Diagnostic{Severity::error, {"map.toml", 14, 9}, "chain", "unknown parameter 'bandwith'", "did you mean 'bandwidth'?"}.text() ==
        "map.toml:14:9: stage 'chain': unknown parameter 'bandwith' (did you mean 'bandwidth'?)");
  CHECK(Diagnostic{Severity::warning, {"m.toml", 0, 0}, "", "odd\nname\x1b[0m", ""}.text() == "m.toml: warning: odd\\nname\\x1b[0m");
  CHECK(Diagnostic{Severity::error, {"sluice", 0, 0}, "", "no model", "two lines make\none:\n    git clone a\x1b\n    sluice model add"}.text() ==
        "sluice: no model (two lines make\\none:)\n    git clone a\\x1b\n    sluice model add");
}
