// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a stage keeps for each channel of a flow cell, from one batch to the next.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sluice {

// States by the number of their channel. A state that has been released waits for the next channel that needs one, with the memory that it owns, so
// that there are never more than were needed at once. Every number is allowed; those from 0 to 2^20 - 1 are found without a search: 51,200 channels
// are looked up every 25 ms in turn by each stage that has states.
template <class State>
class ChannelStates {
 public:
  // Null: the channel has no state.
  State* find(std::int32_t channel) {
    if (has_slot(channel)) return static_cast<std::size_t>(channel) < slots_.size() ? slots_[static_cast<std::size_t>(channel)] : nullptr;
    const auto found = others_.find(channel);
    return found == others_.end() ? nullptr : found->second;
  }
  // The channel's state. If it has none: a new one, or one that was released, as it was left. Addresses do not change.
  State& take(std::int32_t channel) {
    State*& place = place_of(channel);
    if (place != nullptr) return *place;
    if (idle_.empty()) idle_.push_back(&states_.emplace_back());
    place = idle_.back();
    idle_.pop_back();
    return *place;
  }
  // The channel has no state any more; nothing happens if it had none.
  void release(std::int32_t channel) {
    State* const state = find(channel);
    if (state == nullptr) return;
    idle_.push_back(state);
    if (has_slot(channel))
      slots_[static_cast<std::size_t>(channel)] = nullptr;
    else
      others_.erase(channel);
  }
  // Channels that have a state.
  std::size_t size() const { return states_.size() - idle_.size(); }
  // Also for the released ones.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (State& state : states_) visit(state);
  }
  // Channels that have a state, in ascending order.
  template <class Visit>
  void for_each_channel(Visit&& visit) const {
    std::vector<std::pair<std::int32_t, const State*>> found;
    for (std::size_t slot = 0; slot < slots_.size(); ++slot)
      if (slots_[slot] != nullptr) found.emplace_back(static_cast<std::int32_t>(slot), slots_[slot]);
    for (const auto& [channel, state] : others_)
      if (state != nullptr) found.emplace_back(channel, state);
    std::sort(found.begin(), found.end());
    for (const auto& [channel, state] : found) visit(channel, *state);
  }

 private:
  static constexpr std::int32_t most_slots = 1 << 20;
  static bool has_slot(std::int32_t channel) { return channel >= 0 && channel < most_slots; }
  State*& place_of(std::int32_t channel) {
    if (!has_slot(channel)) return others_[channel];
    const auto slot = static_cast<std::size_t>(channel);
    if (slot >= slots_.size()) slots_.resize(slot + 1);
    return slots_[slot];
  }

  std::deque<State> states_;
  std::vector<State*> idle_;
  std::vector<State*> slots_;                        // by channel
  std::unordered_map<std::int32_t, State*> others_;  // numbers that no flow cell has
};

// The rows of a batch that have not failed, channel by channel; those of a channel in their order, so that different channels may be done beside each
// other.
class RowsByChannel {
 public:
  struct Group {
    std::int32_t channel = 0;
    std::span<const std::size_t> rows;
  };

  // Until the next call. `Batch`: the column "channel" (i32).
  template <class Batch>
  std::span<const Group> of(const Batch& in) {
    const auto channel = in.template column<std::int32_t>("channel");
    rows_.clear();
    for (std::int64_t row = 0; row < in.rows(); ++row)
      if (in.ok(row)) rows_.push_back(static_cast<std::size_t>(row));
    const auto is_before = [&](std::size_t a, std::size_t b) { return channel[a] < channel[b]; };
    if (!std::is_sorted(rows_.begin(), rows_.end(), is_before)) std::stable_sort(rows_.begin(), rows_.end(), is_before);
    groups_.clear();
    for (std::size_t begin = 0, end = 0; begin < rows_.size(); begin = end) {
      while (end < rows_.size() && channel[rows_[end]] == channel[rows_[begin]]) ++end;
      groups_.push_back({channel[rows_[begin]], std::span(rows_).subspan(begin, end - begin)});
    }
    return groups_;
  }

 private:
  std::vector<std::size_t> rows_;
  std::vector<Group> groups_;
};

}  // namespace sluice
