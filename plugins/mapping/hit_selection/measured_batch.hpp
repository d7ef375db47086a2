// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A batch whose chains a CUDA device goes through, and what comes back of it.

#include <cstdint>
#include <sluice/cuda.hpp>
#include <span>
#include <vector>

#include "hit_selection/cuda.hpp"
#include "hit_selection/selection.hpp"

namespace sluice::hit_selection::cuda {

// On a device.
class TargetLengths {
 public:
  TargetLengths(const sluice::cuda::DeviceCall& device, std::span<const std::int32_t> length)
      : memory_(device.upload(std::vector(length.begin(), length.end()))), count_(static_cast<std::uint32_t>(length.size())) {
    device.synchronize();  // other lanes of this device use them, too
  }
  Targets targets() const { return {memory_.as<std::int32_t>(), count_}; }

 private:
  sluice::cuda::Memory memory_;
  std::uint32_t count_;
};

class MeasuredBatch {
 public:
  MeasuredBatch(const sluice::cuda::DeviceCall& device, const Batch& in, const TargetLengths& targets)
      : rows_(static_cast<std::size_t>(in.rows())),
        read_ids_(device, in, "read_id"),
        read_length_(host_values(device, in, "read_length")),
        repeat_length_(host_values(device, in, "repeat_length")) {
    const sluice::cuda::Memory row_status = device.row_status(in);
    const DeviceReads reads{.rows = in.rows(),
                            .row_status = row_status.as<std::uint16_t>(),
                            .length = device.column<std::int32_t>(in, "read_length"),
                            .seed_position = lists<std::uint64_t>(device, in, "seed_position"),
                            .chain_score = lists<std::int32_t>(device, in, "chain_score"),
                            .chain_anchor_count = lists<std::int32_t>(device, in, "chain_anchor_count"),
                            .anchor_x = lists<std::uint64_t>(device, in, "chain_anchor_x"),
                            .anchor_y = lists<std::uint64_t>(device, in, "chain_anchor_y")};
    seeds_ = device.download(reads.seed_position.offsets, rows_ + 1);
    score_ = OnHost(device, reads.chain_score, rows_);
    count_ = OnHost(device, reads.chain_anchor_count, rows_);
    measure(device, in, reads, targets.targets());
    for (std::size_t row = 0; row < rows_; ++row) {
      if (repeat_length_[row] < 0 && in.ok(static_cast<std::int64_t>(row))) row_[row].by_host = 1;
      if (row_[row].by_host != 0) fetch(device, reads, row);
    }
  }

  // `in` and this must outlive it.
  ReadChains read(std::size_t row) const {
    ReadChains read{.read_id = read_ids_[row],
                    .read_length = read_length_[row],
                    .repeat_length = repeat_length_[row],
                    .seed_position = {},
                    .chain_score = score_.row(row),
                    .chain_anchor_count = count_.row(row),
                    .anchors = {}};
    if (row_[row].by_host != 0) {
      const Fetched& fetched = fetched_[fetched_at_[row]];
      read.seed_position = fetched.seeds;
      read.anchors = {fetched.x, fetched.y};
    } else {
      read.measured = std::span(chain_).subspan(static_cast<std::size_t>(count_.offsets[row]), read.chain_score.size());
      read.mean_span = mean_span_of(row_[row].spans, static_cast<std::size_t>(seeds_[row + 1] - seeds_[row]));
    }
    return read;
  }

 private:
  template <class T>
  struct OnHost {
    OnHost() = default;
    OnHost(const sluice::cuda::DeviceCall& device, const Lists<T>& lists, std::size_t rows)
        : offsets(device.download(lists.offsets, rows + 1)), values(device.download(lists.values, static_cast<std::size_t>(lists.count))) {}
    std::span<const T> row(std::size_t row) const {
      return std::span(values).subspan(static_cast<std::size_t>(offsets[row]), static_cast<std::size_t>(offsets[row + 1] - offsets[row]));
    }
    std::vector<std::int64_t> offsets;
    std::vector<T> values;
  };
  struct Fetched {
    std::vector<std::uint64_t> seeds, x, y;
  };

  template <class T>
  static Lists<T> lists(const sluice::cuda::DeviceCall& device, const Batch& in, const char* name) {
    const sluice::cuda::List<T> list = device.list<T>(in, name);
    return {list.offsets, list.values, list.count};
  }
  static std::vector<std::int32_t> host_values(const sluice::cuda::DeviceCall& device, const Batch& in, const char* name) {
    return device.download(device.column<std::int32_t>(in, name), static_cast<std::size_t>(in.rows()));
  }

  void measure(const sluice::cuda::DeviceCall& device, const Batch& in, const DeviceReads& reads, const Targets& targets) {
    std::vector<std::int64_t> first_word{0};
    for (std::size_t row = 0; row < rows_; ++row) {
      const bool used = in.ok(static_cast<std::int64_t>(row)) && read_length_[row] > 0;
      first_word.push_back(first_word.back() + (used ? seed_words(read_length_[row]) : 0));
    }
    const auto words = static_cast<std::size_t>(first_word.back()), chains = static_cast<std::size_t>(reads.chain_anchor_count.count);
    const sluice::cuda::Memory of_rows = device.upload(first_word), of_words = device.allocate_array<SeedWord>(words),
                               first_anchor = device.allocate_array<std::int64_t>(chains), chain_row = device.allocate_array<std::uint32_t>(chains),
                               measured_rows = device.allocate_array<MeasuredRow>(rows_), measured = device.allocate_array<MeasuredChain>(chains);
    const Workspace workspace{of_rows.as<std::int64_t>(), of_words.as<SeedWord>(), first_anchor.as<std::int64_t>(), chain_row.as<std::uint32_t>()};
    using sluice::cuda::check;
    check(cudaMemsetAsync(of_words.get(), 0, words * sizeof(SeedWord), device.stream()), "cudaMemsetAsync");
    check(prepare_rows(reads, workspace, measured_rows.as<MeasuredRow>(), device.stream()), "prepare_rows");
    check(measure_chains(reads, targets, workspace, measured_rows.as<MeasuredRow>(), measured.as<MeasuredChain>(), device.stream()),
          "measure_chains");
    chain_ = device.download(measured.as<MeasuredChain>(), chains);
    row_ = device.download(measured_rows.as<MeasuredRow>(), rows_);
  }

  // What the host goes through itself, or says what is wrong with.
  void fetch(const sluice::cuda::DeviceCall& device, const DeviceReads& reads, std::size_t row) {
    const auto part = [&](const Lists<std::uint64_t>& lists) {
      const std::vector<std::int64_t> ends = device.download(lists.offsets + row, 2);
      return device.download(lists.values + ends[0], static_cast<std::size_t>(ends[1] - ends[0]));
    };
    fetched_at_.resize(rows_);
    fetched_at_[row] = fetched_.size();
    fetched_.push_back({part(reads.seed_position), part(reads.anchor_x), part(reads.anchor_y)});
  }

  const std::size_t rows_;
  const sluice::cuda::HostText read_ids_;
  const std::vector<std::int32_t> read_length_, repeat_length_;
  std::vector<std::int64_t> seeds_;  // offsets
  OnHost<std::int32_t> score_, count_;
  std::vector<MeasuredChain> chain_;
  std::vector<MeasuredRow> row_;
  std::vector<Fetched> fetched_;
  std::vector<std::size_t> fetched_at_;  // of rows for the host
};

}  // namespace sluice::hit_selection::cuda
