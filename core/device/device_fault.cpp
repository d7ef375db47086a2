// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "device/device_fault.hpp"

#include <charconv>

namespace sluice {
namespace {

// A whole number from 1 on, and nothing behind it.
std::optional<std::uint64_t> count_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == 0) return std::nullopt;
  return value;
}

}  // namespace

std::optional<DeviceFaultRule> parse_device_fault(std::string_view text) {
  const std::size_t at = text.find('@');
  if (at == std::string_view::npos) return std::nullopt;
  DeviceFaultRule rule;
  const std::string_view kind = text.substr(0, at);
  if (kind == "memory")
    rule.fault = DeviceFault::memory;
  else if (kind == "kernel")
    rule.fault = DeviceFault::kernel;
  else if (kind == "lost")
    rule.fault = DeviceFault::lost;
  else
    return std::nullopt;
  std::string_view calls = text.substr(at + 1);
  constexpr std::string_view every = ",every=";
  if (const std::size_t comma = calls.find(every); comma != std::string_view::npos) {
    const auto distance = count_of(calls.substr(comma + every.size()));
    if (!distance) return std::nullopt;
    rule.every = *distance;
    calls = calls.substr(0, comma);
  }
  const auto first = count_of(calls);
  if (!first) return std::nullopt;
  rule.first = *first;
  return rule;
}

std::optional<DeviceFault> DeviceFaultInjector::next_call() {
  if (rules_.empty()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const std::uint64_t call = ++calls_;
  for (const DeviceFaultRule& rule : rules_)
    if (call == rule.first || (rule.every > 0 && call > rule.first && (call - rule.first) % rule.every == 0)) return rule.fault;
  return std::nullopt;
}

}  // namespace sluice
