// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A batch on a CUDA device: from its columns of anchors to those of chains, all of which stay on the device.

#include <algorithm>
#include <cstdint>
#include <sluice/cuda.hpp>
#include <utility>
#include <vector>

#include "chaining/cuda_chains.hpp"
#include "chaining/cuda_host_rows.hpp"
#include "chaining/cuda_scores.hpp"

namespace sluice::chaining::cuda {

class ChainedBatch {
 public:
  ChainedBatch(const sluice::cuda::DeviceCall& device, const Batch& in)
      : device_(device), rows_(static_cast<std::size_t>(in.rows())), row_status_(device.row_status(in)), host_rows_(device) {
    const auto x = device.list<std::uint64_t>(in, "anchor_x"), y = device.list<std::uint64_t>(in, "anchor_y");
    if (x.count > most_anchors) throw Failure(SLUICE_ERROR_DEVICE_MEMORY, "a batch with more anchors than 31 bits can count");
    input_ = {
        {x.rows, x.count, x.offsets, x.values, y.values}, y.offsets, device.column<std::int32_t>(in, "read_length"), row_status_.as<std::uint16_t>()};
    anchors_ = input_.anchors;
    has_anchors_ = x.count + y.count > 0;
  }

  // Where nothing is seeded, as in Read Until with small targets, no batch has any.
  bool has_anchors() const { return has_anchors_; }

  // Instead of all below, for a batch that has no anchors: no row has a fault, or a chain.
  void add_nothing(Output& out, bool wants_score, bool wants_predecessor) {
    const sluice::cuda::Memory offsets = device_.allocate_array<std::int64_t>(rows_ + 1);
    sluice::cuda::check(cudaMemsetAsync(offsets.get(), 0, offsets.bytes(), device_.stream()), "cudaMemsetAsync");
    const auto add = [&]<class T>(const char* name, T) { device_.add_list<T>(out, name, offsets, device_.allocate_array<T>(0), 0); };
    for (const char* const name : {"chain_score", "chain_anchor_count"}) add(name, std::int32_t{});
    for (const char* const name : {"chain_anchor_x", "chain_anchor_y"}) add(name, std::uint64_t{});
    if (wants_score) add("anchor_score", std::int32_t{});
    if (wants_predecessor) add("anchor_predecessor", std::int32_t{});
  }

  // What check_rows says of each row. Those with a fault have no chains.
  const std::vector<std::uint8_t>& check() {
    offsets_ = device_.download(anchors_.offsets, rows_ + 1);
    auto* const fault = allocate<std::uint8_t>(rows_);
    auto* const any = allocate<std::uint32_t>(1);
    sluice::cuda::check(cudaMemsetAsync(any, 0, sizeof(std::uint32_t), device_.stream()), "cudaMemsetAsync");
    sluice::cuda::check(check_rows(input_, fault, any, device_.stream()), "check_rows");
    faults_ = device_.download(fault, rows_);
    device_faults_ = fault;
    if (device_.download(any, 1).front() == 0) return faults_;
    auto* const x = allocate<std::uint64_t>(static_cast<std::size_t>(anchors_.count));
    auto* const y = allocate<std::uint64_t>(static_cast<std::size_t>(anchors_.count));
    sluice::cuda::check(copy_accepted(input_, fault, x, y, device_.stream()), "copy_accepted");
    anchors_.x = x;
    anchors_.y = y;
    return faults_;
  }

  template <class Workspaces>
  void chain(const Call& call, const ChainingParameters& parameters, Workspaces& workspaces) {
    const RowRules rules = row_rules(parameters);
    most_row_anchors_ = most_row_anchors(rules);
    int multiprocessors = 0;
    sluice::cuda::check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device_.ordinal()), "cudaDeviceGetAttribute");
    score_ = device_.allocate_array<std::int32_t>(static_cast<std::size_t>(anchors_.count));
    predecessor_ = device_.allocate_array<std::int32_t>(static_cast<std::size_t>(anchors_.count));
    const ScoredRuns runs = score_anchors(anchors_, step_rules(parameters), scores(), multiprocessors, device_.stream(),
                                          [&](std::size_t bytes) { return allocate<std::byte>(bytes); });
    for (std::size_t row = 0; row < rows_; ++row)
      if (anchors_of(row) > most_row_anchors_ && faults_[row] == 0) fetch(row);

    workspace_ = chain_workspace_in(allocate<std::byte>(chain_workspace_bytes(anchors_)), anchors_);
    const std::vector<std::uint32_t> listed = list_rows();
    std::vector<std::uint32_t> anchors;
    for (const std::uint32_t row : listed) anchors.push_back(static_cast<std::uint32_t>(anchors_of(row)));
    const RowList list = cuda::list_rows(upload(listed), anchors);
    sluice::cuda::check(clear_chains(anchors_, workspace_.chains, device_.stream()), "clear_chains");
    {
      SideStream long_rows(device_.stream());
      long_rows.follow();
      sluice::cuda::check(
          chain_rows({anchors_, scores(), runs.ordinal, input_.read_length}, rules, list, workspace_, device_.stream(), long_rows.stream()),
          "chain_rows");
      long_rows.join();
      host_rows_.chain(call, parameters, workspaces);  // while the device does the others
    }
    totals_ = device_.download(workspace_.chains.totals, rows_);
    const std::vector<std::uint8_t> undecided = device_.download(workspace_.chains.undecided, rows_);
    for (std::size_t row = 0; row < rows_; ++row)
      if (undecided[row] != 0) fetch(row);
    host_rows_.chain(call, parameters, workspaces);
  }

  void add_chains(Output& out) {
    using sluice::cuda::Memory;
    // Rows of the host have no chains in the workspace, so that copy_chains leaves their parts of the columns alone.
    host_rows_.count(totals_);
    const std::vector<std::int64_t> chain_offsets = offsets_by(&ChainTotals::chains), anchor_offsets = offsets_by(&ChainTotals::anchors);
    const std::int64_t chains = chain_offsets.back(), anchors = anchor_offsets.back();
    Memory score = device_.allocate_array<std::int32_t>(static_cast<std::size_t>(chains));
    Memory anchor_count = device_.allocate_array<std::int32_t>(static_cast<std::size_t>(chains));
    Memory x = device_.allocate_array<std::uint64_t>(static_cast<std::size_t>(anchors));
    Memory y = device_.allocate_array<std::uint64_t>(static_cast<std::size_t>(anchors));
    const Memory of_chains = device_.upload(chain_offsets), of_anchors = device_.upload(anchor_offsets);
    const RowChains columns{score.as<std::int32_t>(), anchor_count.as<std::int32_t>(), x.as<std::uint64_t>(), y.as<std::uint64_t>()};
    sluice::cuda::check(
        copy_chains(anchors_, workspace_.chains, {of_chains.as<std::int64_t>(), of_anchors.as<std::int64_t>(), columns}, device_.stream()),
        "copy_chains");
    host_rows_.copy(chain_offsets, anchor_offsets, columns);
    device_.add_list<std::int32_t>(out, "chain_score", of_chains, std::move(score), chains);
    device_.add_list<std::int32_t>(out, "chain_anchor_count", of_chains, std::move(anchor_count), chains);
    device_.add_list<std::uint64_t>(out, "chain_anchor_x", of_anchors, std::move(x), anchors);
    device_.add_list<std::uint64_t>(out, "chain_anchor_y", of_anchors, std::move(y), anchors);
    device_.synchronize();  // what was uploaded ends here
  }

  // Behind add_chains: excluded rows lose their scores.
  void add_scores(Output& out, bool wants_score, bool wants_predecessor) {
    if (!wants_score && !wants_predecessor) return;
    sluice::cuda::check(clear_excluded(anchors_, device_faults_, scores(), device_.stream()), "clear_excluded");
    const sluice::cuda::Memory offsets = device_.upload(offsets_);
    if (wants_score) device_.add_list<std::int32_t>(out, "anchor_score", offsets, score_, anchors_.count);
    if (wants_predecessor) device_.add_list<std::int32_t>(out, "anchor_predecessor", offsets, predecessor_, anchors_.count);
    device_.synchronize();
  }

 private:
  template <class T>
  T* allocate(std::size_t count) {
    return memory_.emplace_back(device_.allocate_array<T>(count)).template as<T>();
  }
  template <class T>
  const T* upload(const std::vector<T>& values) {
    return memory_.emplace_back(device_.upload(values)).template as<T>();
  }
  DeviceScores scores() const { return {score_.as<std::int32_t>(), predecessor_.as<std::int32_t>()}; }
  std::int64_t anchors_of(std::size_t row) const { return offsets_[row + 1] - offsets_[row]; }
  void fetch(std::size_t row) {
    host_rows_.fetch(static_cast<std::int64_t>(row), offsets_[row], offsets_[row + 1], anchors_, scores(), input_.read_length);
  }
  // The longest first: they end last.
  std::vector<std::uint32_t> list_rows() const {
    std::vector<std::uint32_t> listed;
    for (std::size_t row = 0; row < rows_; ++row)
      if (faults_[row] == 0 && anchors_of(row) > 0 && anchors_of(row) <= most_row_anchors_) listed.push_back(static_cast<std::uint32_t>(row));
    std::stable_sort(listed.begin(), listed.end(), [&](std::uint32_t a, std::uint32_t b) { return anchors_of(a) > anchors_of(b); });
    return listed;
  }
  std::vector<std::int64_t> offsets_by(std::uint32_t ChainTotals::*part) const {
    std::vector<std::int64_t> offsets{0};
    for (const ChainTotals& totals : totals_) offsets.push_back(offsets.back() + totals.*part);
    return offsets;
  }

  const sluice::cuda::DeviceCall& device_;
  const std::size_t rows_;
  const sluice::cuda::Memory row_status_;
  std::vector<sluice::cuda::Memory> memory_;  // until the device has done all
  DeviceRows input_;
  bool has_anchors_ = false;
  DeviceAnchors anchors_;              // as they come, but for rows with a fault
  std::vector<std::int64_t> offsets_;  // of anchors
  std::vector<std::uint8_t> faults_;   // per row
  const std::uint8_t* device_faults_ = nullptr;
  sluice::cuda::Memory score_, predecessor_;
  std::int64_t most_row_anchors_ = 0;  // of rows that the device does
  ChainWorkspace workspace_;
  std::vector<ChainTotals> totals_;  // per row
  HostRows host_rows_;
};

}  // namespace sluice::chaining::cuda
