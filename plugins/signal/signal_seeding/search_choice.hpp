// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Whether reads are aligned to all of the targets or only where seeds say. Private to the plugin.

#include <cstdint>
#include <string>
#include <string_view>

#include "signal_seeding/squiggle_index.hpp"

namespace sluice::signal_seeding {

enum class Search : std::uint8_t { sdtw, seeds };

struct SearchChoice {
  Search search = Search::sdtw;
  std::string reason;  // a sentence for the user, with the estimates
};

// `asked`: auto, sdtw or seeds. `columns`: levels of all targets, both strands. The same everywhere: neither threads nor devices count.
SearchChoice choose_search(std::string_view asked, std::int64_t columns, const IndexParameters& parameters);

}  // namespace sluice::signal_seeding
