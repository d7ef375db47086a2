// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <sluice/repeated_reads.hpp>

using namespace sluice;

TEST_CASE("names that come again are known, whatever comes between") {
  SeenReads seen;
  for (int i = 0; i < 100'000; ++i) CHECK(seen.add("read-" + std::to_string(i)));
  for (int i = 0; i < 100'000; i += 7) CHECK_FALSE(seen.add("read-" + std::to_string(i)));
  CHECK(seen.add("read-100000"));
}

TEST_CASE("so many names are kept, in memory that no longer grows, and others are compared with them") {
  SeenReads seen(1000);
  for (int i = 0; i < 1000; ++i) CHECK(seen.add("read-" + std::to_string(i)));
  const std::uint64_t bytes = seen.bytes();
  for (int i = 1000; i < 50'000; ++i) CHECK(seen.add("read-" + std::to_string(i)));
  CHECK(seen.bytes() == bytes);
  CHECK(bytes <= 32 * 1000);
  CHECK_FALSE(seen.add("read-0"));
  CHECK_FALSE(seen.add("read-999"));
  CHECK(seen.add("read-1000"));  // which is not kept
}

TEST_CASE("all are counted and told, and the first three are named") {
  std::string told;
  RepeatedReads repeated([&](std::string_view name) { told += std::string(name) + " "; });
  CHECK(repeated.names().empty());
  for (const char* name : {"a", "b", "a", "c", "d"}) repeated.add(name);
  CHECK(repeated.count() == 5);
  CHECK(repeated.names() == "'a', 'b', 'a' and 2 more");
  CHECK(told == "a b a c d ");
}
