// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "simulate_signal/sequencing_plan.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>

namespace sluice::simulate_signal {

std::vector<SequencedRead> plan_sequencing(const SimulationParameters& parameters, std::span<const Placement> places, double split_share) {
  std::vector<SequencedRead> plan(places.size());
  for (std::size_t i = 0; i + 1 < places.size(); i += 2) {
    RandomStream random(parameters.seed, static_cast<std::uint64_t>(places[i].index), Purpose::split);
    if (random.uniform() >= split_share) continue;
    plan[i].partner = static_cast<std::int64_t>(i + 1);
    plan[i + 1].partner = static_cast<std::int64_t>(i);
    const bool coin = (random.next() & 1U) != 0;
    plan[i].is_first = coin;
    plan[i + 1].is_first = !coin;
  }

  // The sequencer's order is that of the reads' numbers, not of their places.
  std::vector<std::size_t> order(places.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return places[a].index < places[b].index; });
  struct Channel {
    std::int64_t free_from = 0;
    std::int32_t reads = 0;
  };
  std::array<Channel, flow_cell_channels> channels;
  const auto time_of = [&](std::size_t place) {
    constexpr double slack = 1.5, longest_tail = 8;  // of the mean tail
    const double bases =
        static_cast<double>(places[place].length) + static_cast<double>(parameters.adapter.size()) + longest_tail * parameters.tail_length;
    return static_cast<std::int64_t>(slack * parameters.mean_dwell * bases);
  };
  for (const std::size_t place : order) {
    SequencedRead& read = plan[place];
    // Two molecules come when the one that stands first in the order of places does.
    if (read.partner >= 0 && static_cast<std::size_t>(read.partner) < place) continue;
    RandomStream random(parameters.seed, static_cast<std::uint64_t>(places[place].index), Purpose::channel);
    const auto which = static_cast<std::size_t>(random.below(flow_cell_channels));
    Channel& channel = channels[which];
    const std::int64_t pause = 500 + static_cast<std::int64_t>(random.uniform() * 4 * parameters.sampling_rate);
    read.start_sample = channel.free_from + pause;
    read.channel = static_cast<std::int32_t>(which) + 1;
    read.mux = static_cast<std::int32_t>(1 + random.below(4));
    read.read_number = ++channel.reads;
    channel.free_from = read.start_sample + time_of(place);
    if (read.partner < 0) continue;
    const auto other = static_cast<std::size_t>(read.partner);
    channel.free_from += time_of(other) + static_cast<std::int64_t>(parameters.sampling_rate);
    SequencedRead& second = plan[other];
    second.start_sample = read.start_sample;
    second.channel = read.channel;
    second.mux = read.mux;
    second.read_number = read.read_number;
  }
  return plan;
}

std::string parent_id(std::uint64_t seed, std::int64_t index) {
  std::string id = Simulator::read_id(seed, index);
  id[12] = '1';  // of the second group, which is 0000 in the ids of molecules
  return id;
}

std::string_view end_reason(std::uint64_t seed, std::int64_t index) {
  const std::uint64_t draw = RandomStream(seed, static_cast<std::uint64_t>(index), Purpose::end_reason).below(100);
  return draw < 2 ? "unblock_mux_change" : draw < 4 ? "mux_change" : "signal_positive";
}

}  // namespace sluice::simulate_signal
