// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Numbers as people read them.

#include <cstdint>
#include <string>

namespace sluice {

std::string count_text(std::uint64_t count);                           // "1,234,567"
std::string count_text(std::uint64_t count, const std::string& noun);  // "1 read", "2 reads"
std::string bytes_text(double bytes);                                  // "512 B", "1.5 GiB"
std::string duration_text(double seconds);                             // "0.42 s", "12.3 s", "3:07", "2:03:07"
std::string rate_text(double per_second, const std::string& unit);     // "3.21 Mbases/s"
std::string percent_text(double fraction);                             // "93.5 %"; below 0.05 % "< 0.1 %"

}  // namespace sluice
