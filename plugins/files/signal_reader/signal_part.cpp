// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/signal_part.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sluice/utc_time.hpp>

namespace sluice::signal_reader {
namespace {

// What dorado before 2.1.0 cuts off a parent of DNA before it is split: 10 samples, and with scaling by quantiles or medians as many windows of 40
// more as its search for the peak passes, in the first 8,000 samples.
constexpr std::int64_t least_front = 10, front_window = 40, most_front = 8000;

std::int64_t nearest_front(double cut) {
  if (cut < least_front / 2.0) return 0;
  const double windows = std::round((cut - least_front) / front_window);
  return least_front + front_window * static_cast<std::int64_t>(std::max(windows, 0.0));
}

}  // namespace

std::optional<SignalPart> SignalPart::of(std::span<const std::int64_t> column) {
  if (column.size() == 2) return SignalPart{.ts = column[0], .ns = column[1]};
  if (column.size() != 5) return std::nullopt;
  return SignalPart{column[0], column[1], column[2], column[3], column[4], true};
}

ResolvedPart resolve(const SignalPart& part, const ParentRead& parent) {
  ResolvedPart resolved;
  constexpr ResolvedPart impossible{PartStatus::impossible, {}};
  std::int64_t base = 0;
  if (part.is_split) {
    if (part.ns < 0) return impossible;
    if (part.sp < -1) return impossible;
    // Where its start in time puts it, within a millisecond; a time that lies outside of the parent says nothing.
    const double tolerance = parent.sampling_rate / 1000 + 1;
    double start = -1;
    bool knows_start = part.start_ms >= 0 && parent.acquisition_ms >= 0 && parent.start_sample >= 0;
    if (knows_start) {
      start = static_cast<double>(part.start_ms - parent.acquisition_ms) * parent.sampling_rate / 1000 - static_cast<double>(parent.start_sample);
      knows_start = start > -tolerance && start + static_cast<double>(part.ns - part.ts) <= static_cast<double>(parent.samples) + tolerance;
    }
    const std::int64_t by_time = knows_start ? std::max<std::int64_t>(0, std::llround(start)) : 0;
    const std::int64_t front = parent.is_rna ? 0 : part.front;
    const auto agrees = [&](std::int64_t cut) { return std::abs(start - static_cast<double>(part.sp + cut)) <= tolerance; };
    if (part.sp < 0) {
      if (!knows_start) return impossible;
      base = by_time;
    } else if (!knows_start || parent.is_rna || (front >= 0 && agrees(front))) {
      base = part.sp + std::max<std::int64_t>(front, 0);
      if (front < 0) resolved.status = PartStatus::guessed;
    } else {
      // Of a read that was split twice sp counts from the piece between.
      const std::int64_t nearest = nearest_front(start - static_cast<double>(part.sp));
      base = front < 0 && nearest <= most_front && agrees(nearest) ? part.sp + nearest : by_time;
    }
  }
  if (part.ts < 0) return impossible;
  if (part.ns < 0) {
    if (part.ns < -1 || part.ts >= parent.samples) return impossible;
    resolved.samples = {part.ts, parent.samples};
    return resolved;
  }
  if (part.ts >= part.ns) return impossible;
  resolved.samples = {base + part.ts, base + part.ns};
  // dorado 0.5 counted what it had not cut of direct RNA.
  if (resolved.samples.end - part.ts == parent.samples && part.ts > 0) resolved.samples = {base, parent.samples};
  if (resolved.samples.end > parent.samples) return impossible;
  return resolved;
}

std::int64_t time_of_header(std::string_view text) {
  std::int64_t milliseconds = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), milliseconds);
  if (error == std::errc() && end == text.data() + text.size() && milliseconds >= 0) return milliseconds;
  return milliseconds_of_utc(text).value_or(-1);
}

}  // namespace sluice::signal_reader
