// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The figures that a stage gives to the report (ResultFigures).

#include <algorithm>
#include <map>
#include <sluice/testing.hpp>
#include <string>

using Amounts = std::map<std::string, double>;

// The amounts of the figure with this number, "00" to "99", by what follows it, fields with a blank between them.
inline Amounts figure(const sluice::testing::Result& result, const std::string& number) {
  Amounts amounts;
  const std::string begin = "\x1f" + number + "\x1f";
  for (const auto& [name, amount] : result.counters) {
    if (!name.starts_with(begin) || name.substr(begin.size()).starts_with("=")) continue;
    std::string rest = name.substr(begin.size());
    std::replace(rest.begin(), rest.end(), '\x1f', ' ');
    amounts[rest] += amount;
  }
  return amounts;
}
