// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "gc_count.hpp"

#include <algorithm>

namespace gc_count {

std::int64_t count(std::string_view bases) {
  return std::count_if(bases.begin(), bases.end(), [](char base) { return base == 'G' || base == 'C'; });
}

}  // namespace gc_count
