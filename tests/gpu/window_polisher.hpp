// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Windows on a device: uploads them, makes consensuses and graphs, and fetches these.

#include <cstdint>
#include <memory>
#include <sluice/failure.hpp>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "kernel_check.hpp"
#include "poa_consensus/cuda.hpp"
#include "poa_consensus/graph_paths.hpp"
#include "simulated_windows.hpp"

namespace sluice::gpu_test {

inline std::vector<char> characters(const std::string& text) { return {text.begin(), text.end()}; }

struct Text {
  std::string consensus;
  std::vector<std::int32_t> coverage, support;
};

// Graphs as they come from the device.
struct Graphs {
  std::vector<std::uint16_t> node, aligned_from;
  std::vector<char> guide;
  std::vector<std::uint32_t> nodes, guide_length;
  std::vector<std::int64_t> room;  // of windows, in the room for consensuses

  poa_consensus::GraphPaths paths(const WindowColumns& columns, std::size_t window) const {
    const auto text = static_cast<std::size_t>(columns.text_offsets[window]),
               letters = static_cast<std::size_t>(columns.text_offsets[window + 1]) - text;
    const auto place = static_cast<std::size_t>(room[window]);
    return {std::span(node).subspan(text, letters), std::span(aligned_from).subspan(text + place, nodes[window]),
            std::span(guide).subspan(place, guide_length[window])};
  }
};

class Polisher {
 public:
  Polisher(const WindowColumns& columns, const poa_consensus::cuda::WindowRules& used_rules)
      : rules(used_rules),
        text_offsets_(columns.text_offsets),
        sequence_offsets_(columns.sequence_offsets),
        quality_offsets_(columns.quality_offsets),
        layer_offsets_(columns.layer_offsets),
        offsets_(columns.windows() + 1, Contents::poison),
        letters_(characters(columns.letters)),
        qualities_(characters(columns.qualities)),
        length_(columns.length),
        layer_begin_(columns.layer_begin),
        layer_end_(columns.layer_end),
        consensus_length_(columns.windows(), Contents::poison),
        outcome_(columns.windows(), Contents::poison) {
    windows.count = static_cast<std::int64_t>(columns.windows());
    windows.sequences = static_cast<std::int64_t>(columns.length.size());
    windows.letter_count = static_cast<std::int64_t>(columns.letters.size());
    windows.text_offsets = text_offsets_.data();
    windows.letters = letters_.data();
    windows.sequence_offsets = sequence_offsets_.data();
    windows.length = length_.data();
    if (!columns.qualities.empty()) {
      windows.quality_offsets = quality_offsets_.data();
      windows.qualities = qualities_.data();
    }
    if (!columns.layer_begin.empty()) {
      windows.layer_begin_offsets = windows.layer_end_offsets = layer_offsets_.data();
      windows.layer_begin = layer_begin_.data();
      windows.layer_end = layer_end_.data();
    }
    result = {offsets_.data(), nullptr, nullptr, nullptr, consensus_length_.data(), outcome_.data(), {}};
  }

  void plan() {
    next_ = 0;
    plan_ = poa_consensus::cuda::plan_windows(windows, rules, result, nullptr, [&](std::size_t bytes) { return room(bytes); });
    if (!bases_ || bases_->size() < static_cast<std::size_t>(plan_.consensus_room)) {
      bases_ = std::make_unique<DeviceArray<char>>(static_cast<std::size_t>(plan_.consensus_room), Contents::poison);
      coverage_ = std::make_unique<DeviceArray<std::int32_t>>(static_cast<std::size_t>(plan_.consensus_room), Contents::poison);
      support_ = std::make_unique<DeviceArray<std::int32_t>>(static_cast<std::size_t>(plan_.consensus_room), Contents::poison);
    }
    result.bases = bases_->data();
    result.coverage = coverage_->data();
    result.support = support_->data();
    if (wants_graphs) make_room_for_graphs();
    planned_ = next_;
  }
  void make() {
    next_ = planned_;
    poa_consensus::cuda::make_consensus(windows, rules, plan_, result, 0, scratch_bytes, nullptr, [&](std::size_t bytes) { return room(bytes); });
  }
  Graphs graphs() const {
    return {node_->download(), aligned_from_->download(), guide_->download(), nodes_->download(), guide_length_->download(), offsets_.download()};
  }
  std::vector<poa_consensus::cuda::Outcome> outcomes() const { return outcome_.download(); }
  std::vector<Text> texts() const {
    const std::vector<std::int64_t> offsets = offsets_.download();
    const std::vector<char> bases = bases_->download();
    const std::vector<std::int32_t> coverage = coverage_->download(), support = support_->download();
    const std::vector<std::uint32_t> length = consensus_length_.download();
    std::vector<Text> texts(length.size());
    for (std::size_t i = 0; i < length.size(); ++i) {
      const auto begin = static_cast<std::ptrdiff_t>(offsets[i]), end = begin + static_cast<std::ptrdiff_t>(length[i]);
      texts[i] = {{bases.begin() + begin, bases.begin() + end},
                  {coverage.begin() + begin, coverage.begin() + end},
                  {support.begin() + begin, support.begin() + end}};
    }
    return texts;
  }

  const poa_consensus::cuda::WindowRules rules;
  poa_consensus::cuda::DeviceWindows windows;
  poa_consensus::cuda::DeviceConsensus result;
  std::size_t scratch_bytes = std::size_t{8} << 30;
  bool wants_graphs = false;
  std::size_t most_bytes = std::size_t{1} << 40;  // that are given at a time: the run's quota of the device

 private:
  void make_room_for_graphs() {
    const auto letters = static_cast<std::size_t>(windows.letter_count), room = static_cast<std::size_t>(plan_.consensus_room);
    const auto make = [&](auto& array, std::size_t count) {
      using Array = typename std::decay_t<decltype(array)>::element_type;
      array = std::make_unique<Array>(count, Contents::poison);
      return array->data();
    };
    const auto count = static_cast<std::size_t>(windows.count);
    result.graph = {make(node_, letters), make(aligned_from_, letters + room), make(guide_, room), make(nodes_, count), make(guide_length_, count)};
  }
  void* room(std::size_t bytes) {
    if (bytes > most_bytes) throw sluice::Failure(SLUICE_ERROR_DEVICE_MEMORY, "above the quota");
    if (memory_.size() <= next_) memory_.resize(next_ + 1);
    auto& memory = memory_[next_++];
    if (!memory || memory->size() < bytes) memory = std::make_unique<DeviceArray<std::byte>>(bytes, Contents::poison);
    return memory->data();
  }
  DeviceArray<std::int64_t> text_offsets_, sequence_offsets_, quality_offsets_, layer_offsets_, offsets_;
  DeviceArray<char> letters_, qualities_;
  DeviceArray<std::int32_t> length_, layer_begin_, layer_end_;
  DeviceArray<std::uint32_t> consensus_length_;
  DeviceArray<poa_consensus::cuda::Outcome> outcome_;
  std::unique_ptr<DeviceArray<char>> bases_;
  std::unique_ptr<DeviceArray<std::int32_t>> coverage_, support_;
  std::unique_ptr<DeviceArray<std::uint16_t>> node_, aligned_from_;
  std::unique_ptr<DeviceArray<char>> guide_;
  std::unique_ptr<DeviceArray<std::uint32_t>> nodes_, guide_length_;
  std::vector<std::unique_ptr<DeviceArray<std::byte>>> memory_;
  std::size_t next_ = 0, planned_ = 0;
  poa_consensus::cuda::WindowPlan plan_;
};

}  // namespace sluice::gpu_test
