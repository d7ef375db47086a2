// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Times as text.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace sluice {

namespace utc_time {

// A whole number at the beginning, which is taken off.
inline std::optional<int> take_number(std::string_view& text, std::size_t most_digits) {
  int number = 0;
  const char* const last = text.data() + std::min(most_digits, text.size());
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || text.starts_with('-')) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}
inline bool take(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

}  // namespace utc_time

// Of a time as sequencers and basecallers write it (2024-12-19T20:43:16.529+00:00; fraction and zone may be missing): ms since 1970 UTC. A fraction
// of less than three digits is milliseconds without leading zeros, as dorado up to 0.2.4 has them: 08.12 is 8.012 s.
inline std::optional<std::int64_t> milliseconds_of_utc(std::string_view time) {
  using utc_time::take, utc_time::take_number;
  const auto year = take_number(time, 4);
  if (!year || !take(time, "-")) return std::nullopt;
  const auto month = take_number(time, 2);
  if (!month || !take(time, "-")) return std::nullopt;
  const auto day = take_number(time, 2);
  if (!day || !take(time, "T")) return std::nullopt;
  const auto hour = take_number(time, 2);
  if (!hour || !take(time, ":")) return std::nullopt;
  const auto minute = take_number(time, 2);
  if (!minute || !take(time, ":")) return std::nullopt;
  const auto second = take_number(time, 2);
  if (!second) return std::nullopt;
  int milliseconds = 0;
  if (take(time, ".")) {
    const auto fraction = take_number(time, 3);
    if (!fraction) return std::nullopt;
    milliseconds = *fraction;
    while (!time.empty() && time[0] >= '0' && time[0] <= '9') time.remove_prefix(1);
  }
  std::int64_t zone_minutes = 0;
  if (const bool is_west = time.starts_with('-'); is_west || time.starts_with('+')) {
    time.remove_prefix(1);
    const auto hours = take_number(time, 2);
    take(time, ":");
    const auto minutes = take_number(time, 2);
    if (!hours) return std::nullopt;
    zone_minutes = (is_west ? -1 : 1) * (*hours * 60 + minutes.value_or(0));
  } else {
    take(time, "Z");
  }
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!time.empty() || !date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return ((days * 24 + *hour) * 60 + *minute - zone_minutes) * 60'000 + *second * 1000 + milliseconds;
}

}  // namespace sluice
