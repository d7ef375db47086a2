// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "machine/c_locale.hpp"

#include <doctest/doctest.h>
#include <langinfo.h>

#include <string>

TEST_CASE("a thread has the C locale while the object lives, and the program's again behind it") {
  const locale_t programs = ::newlocale(LC_ALL_MASK, "C.UTF-8", nullptr);
  REQUIRE(programs != nullptr);
  const locale_t before = ::uselocale(programs);
  REQUIRE(std::string(::nl_langinfo(CODESET)) == "UTF-8");
  {
    const sluice::CLocale outer, inner;
    CHECK(std::string(::nl_langinfo(CODESET)) != "UTF-8");
  }
  CHECK(std::string(::nl_langinfo(CODESET)) == "UTF-8");
  ::uselocale(before);
  ::freelocale(programs);
}
