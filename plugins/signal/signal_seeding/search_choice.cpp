// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_seeding/search_choice.hpp"

#include <cstdio>

namespace sluice::signal_seeding {
namespace {

// Of a read of 250 bases in levels of three samples, on one core with AVX2 (README.md of sdtw).
constexpr double levels_of_read = 740, cells_per_second = 45e9;
// What it may cost: a flow cell of 512 channels asks for some 300 decisions a second. Aligning to everything finds more, so it is worth waiting for.
constexpr double most_seconds = 0.020;

}  // namespace

SearchChoice choose_search(std::string_view asked, std::int64_t columns, const IndexParameters& parameters) {
  const double seconds = levels_of_read * static_cast<double>(columns) / cells_per_second;
  SearchChoice choice;
  choice.search = asked == "seeds" || (asked == "auto" && seconds > most_seconds) ? Search::seeds : Search::sdtw;
  char estimate[200];
  std::snprintf(estimate, sizeof estimate,
                "aligning a read of 250 bases to all of the targets takes about %.1f ms of one core, an index of seeds %.0f MB", seconds * 1e3,
                static_cast<double>(index_bytes(columns, parameters)) / 1e6);
  choice.reason = std::string("search: ") + (choice.search == Search::seeds ? "seeds" : "sdtw") +
                  (asked == "auto" ? ", chosen by cost: " : ", as asked: ") + estimate;
  return choice;
}

}  // namespace sluice::signal_seeding
