// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

// Three significant digits.
std::string short_number(double value) {
  if (value >= 99.95) return fmt::format("{:.0f}", value);
  if (value >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

}  // namespace

std::string count_text(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

std::string count_text(std::uint64_t count, const std::string& noun) { return count_text(count) + " " + noun + (count == 1 ? "" : "s"); }

std::string bytes_text(double bytes) {
  if (bytes < 1024) return fmt::format("{:.0f} B", std::max(bytes, 0.0));
  for (const char* unit : {"KiB", "MiB", "GiB"}) {
    bytes /= 1024;
    if (bytes < 1023.5) return short_number(bytes) + " " + unit;
  }
  return short_number(bytes / 1024) + " TiB";
}

std::string duration_text(double seconds) {
  if (!(seconds >= 0)) seconds = 0;
  if (seconds < 60) return short_number(seconds) + " s";
  const auto whole = static_cast<std::uint64_t>(std::min(std::round(seconds), 1e15));
  const std::uint64_t hours = whole / 3600, minutes = whole / 60 % 60, rest = whole % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, rest) : fmt::format("{}:{:02}", minutes, rest);
}

std::string rate_text(double per_second, const std::string& unit) {
  if (!std::isfinite(per_second) || per_second < 0) per_second = 0;
  const char* prefix = "";
  for (const char* larger : {"k", "M", "G", "T"}) {
    if (per_second < 1000) break;
    per_second /= 1000;
    prefix = larger;
  }
  return short_number(per_second) + " " + prefix + unit + "s/s";
}

std::string percent_text(double fraction) {
  if (fraction > 0 && fraction < 0.0005) return "< 0.1 %";
  return fmt::format("{:.1f} %", 100 * fraction);
}

}  // namespace sluice
