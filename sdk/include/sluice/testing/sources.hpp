// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Sources that say positions and give parts of their input.

#include <cstdint>
#include <functional>
#include <sluice/testing/stage_run.hpp>
#include <string>
#include <vector>

namespace sluice::testing {

// The same source, made with sluice_create_args.part and parts, or begin_at.
StageUnderTest in_part(StageUnderTest source, std::uint64_t part, std::uint64_t parts);
StageUnderTest beginning_at(StageUnderTest source, std::string position);

// What position() said between two calls of process(), or why it said nothing.
struct SaidPosition {
  std::string text, problem;
  std::int64_t rows_before = 0;
};
// Asks before each call and behind the last one.
StageUnderTest asked_for_positions(StageUnderTest source, std::vector<SaidPosition>* said);

// All columns of each row, as text.
std::vector<std::string> row_texts(const Result& result);

// The parts of any of these counts, one behind the other, give the rows of the whole; so do the rows before a position and those from there on, for
// each position that is said (at most `most_positions`, spread evenly). Of a source that claims neither, or fails, nothing is asked. Returns what is
// wrong, one line each.
struct SourceChecks {
  std::vector<std::uint64_t> part_counts = {1, 2, 3, 7, 50};
  std::size_t most_positions = 40;
};
using PrepareRun = std::function<StageRun(const StageUnderTest& source)>;
std::vector<std::string> source_problems(const StageUnderTest& source, const PrepareRun& prepare, const SourceChecks& checks = {});

}  // namespace sluice::testing
