// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The conditions of an experiment, as options and a table say them.

#include <array>
#include <cstdint>
#include <sluice/read_until_conditions.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::read_until_actions {

enum class Outcome : std::uint8_t { on_target, off_target, undecided, above_maximum };
inline constexpr std::size_t outcomes = 4;
// undecided: nothing more of the read comes, or its whole prefix was too short; above_maximum: undecided after the largest number of chunks.
using Actions = std::array<ReadAction, outcomes>;

struct Condition {
  std::string name;
  Select select = Select::enrich;
  std::int32_t minimum_chunks = 1, maximum_chunks = 0;  // 0: no maximum
  std::string targets;                                  // names, separated by commas; "": all
  Actions actions{};
};

struct Conditions {
  std::vector<Condition> conditions;            // the last one is that of channels that no other one names
  std::vector<std::int32_t> channel_condition;  // of channels 0, 1, ...
};

// What a condition does without a table of actions: enrich sequences targets and ejects others, deplete the reverse, control ejects nothing;
// reads that are undecided are sequenced, or ejected.
Actions usual_actions(Select select, ReadAction undecided);

inline constexpr std::int32_t largest_channel = 1'000'000;

// "1-256,300": channels as MinKNOW numbers them, from 1; "1-256" is both inclusive. False where it is no such list.
bool parse_channels(std::string_view text, std::vector<std::int32_t>& channels_from_0);

// A table with a line of column names, tab-separated: condition, channels ("other": those that no line names), select (enrich, deplete, control),
// and, where they are there, targets, minimum_chunks, maximum_chunks, on_target, off_target, undecided, above_maximum (unblock, stop_receiving,
// proceed). A cell that is empty or "." is `usual`'s, of which the channels are that no line names. False with `problem` set: line and what is wrong.
bool parse_conditions(std::string_view table, const Condition& usual, ReadAction undecided, Conditions& conditions, std::string& problem);

}  // namespace sluice::read_until_actions
