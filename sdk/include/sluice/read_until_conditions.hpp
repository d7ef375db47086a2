// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The conditions of a Read Until experiment: which channels select, and how. A view of a resource of row type "read_until_condition".

#include <algorithm>
#include <cstdint>
#include <sluice/batch.hpp>
#include <sluice/failure.hpp>
#include <span>
#include <string_view>

namespace sluice {

// What channels of a condition do: sequence targets and eject others, the other way round, or let every strand pass.
enum class Select : std::uint8_t { enrich = 0, deplete = 1, control = 2 };
// What is done with a read. proceed: more of its signal is wanted; stop_receiving: it is sequenced to its end; unblock: it is ejected.
enum class ReadAction : std::uint8_t { proceed = 0, stop_receiving = 1, unblock = 2 };

// Rows are conditions. The channels 0, 1, ... of the flow cell have the condition whose row is in the list `channel_condition` of row 0, and
// channels behind its end the last row, which is the condition of all channels that no other one names. The columns belong to the resource.
// Throws Failure::input if channels have a condition that there is not, or a condition lacks an action.
class ReadUntilConditionsView {
 public:
  explicit ReadUntilConditionsView(const Batch& conditions)
      : name_(conditions.text("name")),
        select_(conditions.column<std::uint8_t>("select")),
        minimum_chunks_(conditions.column<std::int32_t>("minimum_chunks")),
        maximum_chunks_(conditions.column<std::int32_t>("maximum_chunks")),
        targets_(conditions.text("targets")),
        actions_(conditions.list<std::uint8_t>("actions")),
        channels_(conditions.list<std::int32_t>("channel_condition")) {
    bool fits = size() > 0 && std::ranges::all_of(channels_[0], [&](std::int32_t condition) { return has(condition); });
    for (std::int64_t condition = 0; condition < size(); ++condition) fits = fits && actions_[condition].size() == 4;
    if (!fits) throw Failure::input("the conditions of the channels contradict themselves", "use the resource that read_until_conditions makes");
  }

  std::int64_t size() const { return name_.rows(); }
  bool has(std::int64_t condition) const { return condition >= 0 && condition < size(); }
  std::string_view name(std::int64_t condition) const { return name_[condition]; }
  Select select(std::int64_t condition) const { return static_cast<Select>(select_[static_cast<std::size_t>(condition)]); }
  std::int32_t minimum_chunks(std::int64_t condition) const { return minimum_chunks_[static_cast<std::size_t>(condition)]; }
  // 0: no limit.
  std::int32_t maximum_chunks(std::int64_t condition) const { return maximum_chunks_[static_cast<std::size_t>(condition)]; }
  // Names of regions or contigs, separated by commas; "": all.
  std::string_view targets(std::int64_t condition) const { return targets_[condition]; }
  // For on target, off target, undecided, above the maximum of chunks.
  std::span<const std::uint8_t> actions(std::int64_t condition) const { return actions_[condition]; }
  // Channels up to the last one that a condition names.
  std::int64_t named_channels() const { return std::ssize(channels_[0]); }
  // `channel` counts from 0.
  std::int32_t of_channel(std::int32_t channel) const {
    const std::span<const std::int32_t> rows = channels_[0];
    if (channel >= 0 && static_cast<std::size_t>(channel) < rows.size()) return rows[static_cast<std::size_t>(channel)];
    return static_cast<std::int32_t>(size() - 1);
  }

 private:
  TextView name_;
  std::span<const std::uint8_t> select_;
  std::span<const std::int32_t> minimum_chunks_, maximum_chunks_;
  TextView targets_;
  ListView<std::uint8_t> actions_;
  ListView<std::int32_t> channels_;
};

}  // namespace sluice
