// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Chains of a batch from scores that are there, by the device and by the CPU.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "chaining/chaining.hpp"
#include "chaining/cuda_chains.hpp"
#include "kernel_check.hpp"
#include "simulated_anchors.hpp"

namespace sluice::gpu_test {

namespace device = sluice::chaining::cuda;
using simulated::AnchorRows;

inline std::vector<std::int32_t> read_lengths(const AnchorRows& rows) {
  std::vector<std::int32_t> lengths(rows.rows());
  for (std::size_t row = 0; row < rows.rows(); ++row)
    for (auto i = static_cast<std::size_t>(rows.offsets[row]); i < static_cast<std::size_t>(rows.offsets[row + 1]); ++i)
      lengths[row] = std::max(lengths[row], chaining::query_position(rows.y[i]) + 1);
  return lengths;
}

// Lists of all rows, as columns.
struct ChainLists {
  std::vector<std::int64_t> chain_offsets{0}, anchor_offsets{0};
  std::vector<std::int32_t> score, anchor_count;
  std::vector<std::uint64_t> x, y;
  bool operator==(const ChainLists&) const = default;
};

class ChainsOfScores {
 public:
  ChainsOfScores(const AnchorRows& rows, const chaining::ChainingParameters& parameters)
      : rows_(rows),
        rules_(device::row_rules(parameters)),
        lengths_(read_lengths(rows)),
        device_lengths_(lengths_),
        listed_(rows.rows()),
        anchors_{static_cast<std::int64_t>(rows.rows()), static_cast<std::int64_t>(rows.x.size())},
        memory_(device::chain_workspace_bytes(anchors_), Contents::poison) {
    std::iota(listed_.begin(), listed_.end(), 0U);
    std::stable_sort(listed_.begin(), listed_.end(), [&](std::uint32_t a, std::uint32_t b) { return count(a) > count(b); });
    std::erase_if(listed_, [&](std::uint32_t row) { return count(row) == 0 || count(row) > device::most_row_anchors(rules_); });
    device_list_ = std::make_unique<DeviceArray<std::uint32_t>>(listed_);
    require(cudaStreamCreateWithFlags(&long_rows_, cudaStreamNonBlocking), "cudaStreamCreate");
  }
  ~ChainsOfScores() { cudaStreamDestroy(long_rows_); }

  // Overwrites `run`. Waits for what is on the default stream before.
  double milliseconds(const device::DeviceAnchors& anchors, const device::DeviceScores& scores, std::uint32_t* run) {
    anchors_ = anchors;
    workspace_ = device::chain_workspace_in(memory_.data(), anchors_);
    workspace_.cycles = cycles_ ? cycles_->data() : nullptr;
    std::vector<std::uint32_t> of_rows;
    for (const std::uint32_t row : listed_) of_rows.push_back(static_cast<std::uint32_t>(count(row)));
    const device::RowList list = device::list_rows(device_list_->data(), of_rows);
    require(device::clear_chains(anchors_, workspace_.chains, nullptr), "clear_chains");
    require(cudaDeviceSynchronize(), "before chain_rows");
    const auto begin = std::chrono::steady_clock::now();
    require(device::chain_rows({anchors_, scores, run, device_lengths_.data()}, rules_, list, workspace_, nullptr, long_rows_), "chain_rows");
    require(cudaDeviceSynchronize(), "chain_rows");
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }

  // The next time.
  void measure_phases() { cycles_ = std::make_unique<DeviceArray<device::PhaseCycles>>(std::vector<device::PhaseCycles>(1)); }
  // Milliseconds of all rows, one after the other, and of the row that took longest.
  void print_phases(const std::string& which) const {
    constexpr const char* names[] = {"list ends", "sort ends", "walk", "sort chains", "write chains", "sort anchors", "short joins", "long joins"};
    static_assert(std::size(names) == chaining::phases);
    const device::PhaseCycles cycles = cycles_->download().front();
    int kilohertz = 0;
    require(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0), "cudaDeviceGetAttribute");
    for (std::size_t phase = 0; phase < chaining::phases; ++phase)
      std::printf("TIME chain_rows phase %-12s %10.1f ms of all blocks, at most %8.3f ms a row, %s\n", names[phase],
                  static_cast<double>(cycles.sum[phase]) / kilohertz, static_cast<double>(cycles.highest[phase]) / kilohertz, which.c_str());
  }

  // Rows that the device leaves undecided have no chains in either result.
  ChainLists result() {
    std::vector<chaining::ChainTotals> totals(rows_.rows());
    undecided_.resize(rows_.rows());
    copy(totals, workspace_.chains.totals);
    copy(undecided_, workspace_.chains.undecided);
    ChainLists lists;
    for (const chaining::ChainTotals& of_row : totals) {
      lists.chain_offsets.push_back(lists.chain_offsets.back() + of_row.chains);
      lists.anchor_offsets.push_back(lists.anchor_offsets.back() + of_row.anchors);
    }
    const DeviceArray<std::int64_t> chain_offsets(lists.chain_offsets), anchor_offsets(lists.anchor_offsets);
    const auto chains = static_cast<std::size_t>(lists.chain_offsets.back()), anchors = static_cast<std::size_t>(lists.anchor_offsets.back());
    const DeviceArray<std::int32_t> score(chains, Contents::poison), anchor_count(chains, Contents::poison);
    const DeviceArray<std::uint64_t> x(anchors, Contents::poison), y(anchors, Contents::poison);
    require(device::copy_chains(anchors_, workspace_.chains,
                                {chain_offsets.data(), anchor_offsets.data(), {score.data(), anchor_count.data(), x.data(), y.data()}}, nullptr),
            "copy_chains");
    lists.score = score.download();
    lists.anchor_count = anchor_count.download();
    lists.x = x.download();
    lists.y = y.download();
    return lists;
  }
  std::size_t undecided() const { return static_cast<std::size_t>(std::count(undecided_.begin(), undecided_.end(), 1)); }
  std::size_t listed() const { return listed_.size(); }

  ChainLists expected(std::vector<std::int32_t> score, std::vector<std::int32_t> predecessor) const {
    struct Row {
      std::vector<std::int32_t> score, anchor_count;
      std::vector<std::uint64_t> x, y;
      chaining::Chains chains;
    };
    std::vector<Row> of_rows(rows_.rows());
    in_parallel(listed_.size(), [&](std::size_t turn) {
      const std::uint32_t row = listed_[turn];
      if (undecided_[row] != 0) return;
      const auto begin = static_cast<std::size_t>(rows_.offsets[row]);
      const std::size_t n = count(row);
      Row& r = of_rows[row];
      for (auto* numbers : {&r.score, &r.anchor_count}) numbers->resize(n);
      for (auto* words : {&r.x, &r.y}) words->resize(n);
      chaining::ChainingWorkspace workspace;
      r.chains = chaining::chains_from_scores({std::span(rows_.x).subspan(begin, n), std::span(rows_.y).subspan(begin, n)}, lengths_[row],
                                              rules_.parameters, workspace, {r.score, r.anchor_count, r.x, r.y},
                                              {std::span(score).subspan(begin, n), std::span(predecessor).subspan(begin, n)});
    });
    ChainLists lists;
    for (const Row& row : of_rows) {
      const auto append = [](auto& to, const auto& values) { to.insert(to.end(), values.begin(), values.end()); };
      append(lists.score, row.chains.score);
      append(lists.anchor_count, row.chains.anchor_count);
      append(lists.x, row.chains.anchor_x);
      append(lists.y, row.chains.anchor_y);
      lists.chain_offsets.push_back(static_cast<std::int64_t>(lists.score.size()));
      lists.anchor_offsets.push_back(static_cast<std::int64_t>(lists.x.size()));
    }
    return lists;
  }

 private:
  std::size_t count(std::uint32_t row) const { return static_cast<std::size_t>(rows_.offsets[row + 1] - rows_.offsets[row]); }
  template <class T>
  static void copy(std::vector<T>& to, const T* from) {
    if (!to.empty()) require(cudaMemcpy(to.data(), from, to.size() * sizeof(T), cudaMemcpyDeviceToHost), "copy from the device");
  }

  const AnchorRows& rows_;
  const chaining::RowRules rules_;
  const std::vector<std::int32_t> lengths_;
  const DeviceArray<std::int32_t> device_lengths_;
  std::vector<std::uint32_t> listed_;
  std::unique_ptr<DeviceArray<std::uint32_t>> device_list_;
  device::DeviceAnchors anchors_;
  DeviceArray<std::byte> memory_;
  device::ChainWorkspace workspace_{};
  std::unique_ptr<DeviceArray<device::PhaseCycles>> cycles_;
  std::vector<std::uint8_t> undecided_;
  cudaStream_t long_rows_ = nullptr;
};

}  // namespace sluice::gpu_test
