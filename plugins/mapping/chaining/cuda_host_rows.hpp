// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Rows of a device's batch that the host chains, from the device's scores.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <sluice/cuda.hpp>
#include <vector>

#include "chaining/chaining.hpp"
#include "chaining/cuda_chains.hpp"

namespace sluice::chaining::cuda {

class HostRows {
 public:
  explicit HostRows(const sluice::cuda::DeviceCall& device) : device_(device) {}

  // Waits for the scores.
  void fetch(std::int64_t row, std::int64_t begin, std::int64_t end, const DeviceAnchors& anchors, const DeviceScores& scores,
             const std::int32_t* read_length) {
    const auto count = static_cast<std::size_t>(end - begin);
    Row& fetched = rows_.emplace_back();
    fetched.row = row;
    fetched.x = device_.download(anchors.x + begin, count);
    fetched.y = device_.download(anchors.y + begin, count);
    fetched.score = device_.download(scores.score + begin, count);
    fetched.predecessor = device_.download(scores.predecessor + begin, count);
    fetched.read_length = device_.download(read_length + row, 1).front();
  }

  // The rows that were fetched since the last time, on the run's threads.
  template <class Workspaces>
  void chain(const Call& call, const ChainingParameters& parameters, Workspaces& workspaces) {
    if (chained_ == rows_.size()) return;
    std::sort(rows_.begin() + static_cast<std::ptrdiff_t>(chained_), rows_.end(), [](const Row& a, const Row& b) { return a.x.size() > b.x.size(); });
    std::atomic<std::size_t> next{chained_};
    call.parallel_for(rows_.size() - chained_, 1, [&](std::size_t begin, std::size_t end) {
      auto workspace = workspaces.take();
      for (; begin < end; ++begin) chain_row(rows_[next.fetch_add(1, std::memory_order_relaxed)], parameters, *workspace);
      if (chaining_workspace_bytes(rows_[chained_].x.size()) > kept_workspace_bytes) workspace.discard();
    });
    chained_ = rows_.size();
  }

  // Sets the totals of these rows.
  void count(std::vector<ChainTotals>& totals) const {
    for (const Row& row : rows_)
      totals[static_cast<std::size_t>(row.row)] = {static_cast<std::uint32_t>(row.chains.score.size()),
                                                   static_cast<std::uint32_t>(row.chains.anchor_x.size())};
  }
  // They have to stay until the device's stream has come to its end.
  void copy(const std::vector<std::int64_t>& chain_offsets, const std::vector<std::int64_t>& anchor_offsets, const RowChains& columns) const {
    const auto copy = [&]<class T>(std::span<const T> values, T* to) {
      sluice::cuda::copy_to_device(to, values.data(), values.size_bytes(), device_.stream());
    };
    for (const Row& row : rows_) {
      const std::int64_t chains = chain_offsets[static_cast<std::size_t>(row.row)], anchors = anchor_offsets[static_cast<std::size_t>(row.row)];
      copy(row.chains.score, columns.score + chains);
      copy(row.chains.anchor_count, columns.anchor_count + chains);
      copy(row.chains.anchor_x, columns.anchor_x + anchors);
      copy(row.chains.anchor_y, columns.anchor_y + anchors);
    }
  }

 private:
  // A row of 400,000 anchors; clearing new pages for each call takes longer than chaining them.
  static constexpr std::size_t kept_workspace_bytes = std::size_t{64} << 20;
  struct Row {
    std::int64_t row = 0;
    std::int32_t read_length = 0;
    std::vector<std::uint64_t> x, y, chain_x, chain_y;
    std::vector<std::int32_t> score, predecessor, chain_score, chain_anchor_count;
    Chains chains;
  };
  static void chain_row(Row& row, const ChainingParameters& parameters, ChainingWorkspace& workspace) {
    const std::size_t anchors = row.x.size();
    row.chain_score.resize(anchors);
    row.chain_anchor_count.resize(anchors);
    row.chain_x.resize(anchors);
    row.chain_y.resize(anchors);
    row.chains = chains_from_scores({row.x, row.y}, row.read_length, parameters, workspace,
                                    {row.chain_score, row.chain_anchor_count, row.chain_x, row.chain_y}, {row.score, row.predecessor});
  }
  const sluice::cuda::DeviceCall& device_;
  std::vector<Row> rows_;
  std::size_t chained_ = 0;
};

}  // namespace sluice::chaining::cuda
