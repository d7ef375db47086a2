// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A stretch of a contig as an option of a stage names it: "contig" or "contig:first-last", positions from 1, both inclusive.

#include <charconv>
#include <cstdint>
#include <limits>
#include <sluice/failure.hpp>
#include <string>
#include <string_view>
#include <system_error>

namespace sluice {

struct Region {
  std::string contig;
  std::int64_t start = 0;                                       // 0-based
  std::int64_t end = std::numeric_limits<std::int64_t>::max();  // exclusive
};

// Commas within the positions are left out; "contig:first" reaches to the contig's end. Throws Failure for what is no region, or an empty one.
inline Region parse_region(const std::string& text) {
  constexpr const char* remedy = "write for example chr1:1000-2000";
  Region region;
  const std::size_t colon = text.rfind(':');
  region.contig = text.substr(0, colon);
  if (colon == std::string::npos) return region;
  std::string range = text.substr(colon + 1);
  std::erase(range, ',');
  const std::size_t dash = range.find('-');
  const auto number = [&](std::string_view part) {
    std::int64_t value = 0;
    const auto [rest, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || rest != part.data() + part.size() || value < 1)
      throw Failure::usage("region '" + text + "' is not contig:first-last", remedy);
    return value;
  };
  region.start = number(std::string_view(range).substr(0, dash)) - 1;
  if (dash != std::string::npos) region.end = number(std::string_view(range).substr(dash + 1));
  if (region.start >= region.end)
    throw Failure::usage("region '" + text + "': its first position, " + std::to_string(region.start + 1) + ", is greater than its last, " +
                             std::to_string(region.end),
                         remedy);
  return region;
}

}  // namespace sluice
