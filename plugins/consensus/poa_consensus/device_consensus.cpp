// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The stage's calls on a CUDA device.
#ifdef SLUICE_WITH_CUDA
#include <algorithm>
#include <span>

#include "poa_consensus/consensus_stage.hpp"

namespace sluice::poa_consensus {
namespace {

struct FetchedGraphs {
  std::vector<std::uint16_t> node, aligned_from;
  std::vector<std::uint32_t> nodes, guide_length;
  std::vector<char> guide;
  std::vector<std::int64_t> offsets;  // of windows in the room for consensuses
};

// Nodes are no more than letters and those of a guide, which is no longer than the room for a consensus.
cuda::DeviceGraphs room_for_graphs(const cuda::DeviceWindows& windows, std::size_t consensus_room, const cuda::Allocate& allocate) {
  const auto take = [&]<class T>(T, std::size_t count) { return static_cast<T*>(allocate(count * sizeof(T))); };
  const auto letters = static_cast<std::size_t>(windows.letter_count), rows = static_cast<std::size_t>(windows.count);
  cuda::DeviceGraphs graphs;
  graphs.node = take(std::uint16_t{}, letters);
  graphs.aligned_from = take(std::uint16_t{}, letters + consensus_room);
  graphs.guide = take(char{}, consensus_room);
  graphs.nodes = take(std::uint32_t{}, rows);
  graphs.guide_length = take(std::uint32_t{}, rows);
  return graphs;
}

FetchedGraphs fetch_graphs(const sluice::cuda::DeviceCall& device, const cuda::DeviceConsensus& result, const cuda::DeviceWindows& windows,
                           std::size_t consensus_room) {
  const auto letters = static_cast<std::size_t>(windows.letter_count), rows = static_cast<std::size_t>(windows.count);
  return {device.download(result.graph.node, letters),         device.download(result.graph.aligned_from, letters + consensus_room),
          device.download(result.graph.nodes, rows),           device.download(result.graph.guide_length, rows),
          device.download(result.graph.guide, consensus_room), device.download(result.offsets, rows + 1)};
}

}  // namespace

// What was fetched from the device.
struct PoaConsensus::Fetched {
  std::vector<std::int64_t> begin;  // of windows in bases and coverage
  std::vector<cuda::Outcome> outcome;
  std::vector<char> bases;
  std::vector<std::int32_t> coverage, support;
  FetchedGraphs graph;

  GraphPaths paths(std::size_t window, std::span<const std::int64_t> text_offsets) const {
    const auto first = static_cast<std::size_t>(text_offsets[window] - text_offsets[0]);
    const auto room = static_cast<std::size_t>(graph.offsets[window]);
    return {std::span(graph.node).subspan(first, static_cast<std::size_t>(text_offsets[window + 1] - text_offsets[window])),
            std::span(graph.aligned_from).subspan(first + room, graph.nodes[window]),
            std::span(graph.guide).subspan(room, graph.guide_length[window])};
  }
};

void PoaConsensus::process_cuda(const Call& call, const Batch& in, Output& out) {
  using sluice::cuda::check;
  const sluice::cuda::DeviceCall device(call);
  const auto rows = static_cast<std::size_t>(in.rows());
  std::vector<sluice::cuda::Memory> memory;  // until the device has done all
  const cuda::Allocate allocate = [&](std::size_t bytes) { return memory.emplace_back(device.allocate(bytes)).get(); };
  const std::vector<std::int32_t> order = layer_orders(in);
  const cuda::DeviceWindows windows = windows_on_device(device, in, order, memory);
  const cuda::WindowRules rules = device_rules();

  const sluice::cuda::Memory offsets = device.allocate_array<std::int64_t>(rows + 1), length = device.allocate_array<std::uint32_t>(rows),
                             outcome = device.allocate_array<cuda::Outcome>(rows);
  cuda::DeviceConsensus result{offsets.as<std::int64_t>(), nullptr, nullptr, nullptr, length.as<std::uint32_t>(), outcome.as<cuda::Outcome>(), {}};
  const cuda::WindowPlan plan = cuda::plan_windows(windows, rules, result, device.stream(), allocate);
  const auto room = static_cast<std::size_t>(plan.consensus_room);
  const bool needs_coverage = wants_coverage_ || parameters_.trim == Trim::racon;
  result.bases = static_cast<char*>(allocate(room));
  if (needs_coverage) result.coverage = static_cast<std::int32_t*>(allocate(room * sizeof(std::int32_t)));
  if (wants_support_) result.support = static_cast<std::int32_t*>(allocate(room * sizeof(std::int32_t)));
  if (wants_graph()) result.graph = room_for_graphs(windows, room, allocate);
  cuda::make_consensus(windows, rules, plan, result, device.ordinal(), scratch_bytes(device.ordinal()), device.stream(), allocate);
  const cuda::PackedConsensus packed = cuda::pack_consensus(result, in.rows(), plan.consensus_room, device.stream(), allocate);
  const std::vector<std::int64_t> begin = device.download(packed.begin, rows + 1);
  const auto made = static_cast<std::size_t>(begin.back());
  const std::vector<cuda::Outcome> outcomes = device.download(result.outcome, rows);
  if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "the consensus was cancelled");
  if (parameters_.trim == Trim::none && !wants_graph() &&
      std::all_of(outcomes.begin(), outcomes.end(), [](cuda::Outcome o) { return o == cuda::Outcome::done; }))
    return give_all(device, packed, begin, out);
  Fetched fetched{begin,
                  outcomes,
                  device.download(packed.bases, made),
                  device.download(packed.coverage, needs_coverage ? made : 0),
                  device.download(packed.support, wants_support_ ? made : 0),
                  {}};
  if (wants_graph()) fetched.graph = fetch_graphs(device, result, windows, room);
  const auto unfit =
      std::count_if(outcomes.begin(), outcomes.end(), [](cuda::Outcome o) { return o != cuda::Outcome::done && o != cuda::Outcome::unfit_input; });
  if (unfit != 0) call.count("windows_left_to_cpu", static_cast<double>(unfit));
  give(call, in, out,
       [&](std::int64_t row, WindowConsensus& maker, WindowResult& made_result) { return read_window(in, row, fetched, maker, made_result); });
}

// What a device has made of a window. Graphs are read from their paths; a window that a device left to the CPU is made here.
WindowProblem PoaConsensus::read_window(const Batch& in, std::int64_t row, const Fetched& fetched, WindowConsensus& maker,
                                        WindowResult& result) const {
  const auto i = static_cast<std::size_t>(row);
  if (fetched.outcome[i] != cuda::Outcome::done) return maker.make(window(in, row), result);
  if (wants_graph()) {
    if (!maker.read(window(in, row), fetched.paths(i, in.text("sequences").offsets()), result))
      throw Failure(SLUICE_ERROR_INTERNAL, "poa_consensus: the graph that the device returned does not fit its window");
    return WindowProblem::none;
  }
  const auto first = static_cast<std::ptrdiff_t>(fetched.begin[i]), last = static_cast<std::ptrdiff_t>(fetched.begin[i + 1]);
  result.consensus.assign(fetched.bases.begin() + first, fetched.bases.begin() + last);
  result.coverage.clear();
  result.haplotypes.clear();
  result.support.clear();
  if (!fetched.support.empty()) result.support.assign(fetched.support.begin() + first, fetched.support.begin() + last);
  if (!fetched.coverage.empty()) result.coverage.assign(fetched.coverage.begin() + first, fetched.coverage.begin() + last);
  result.is_polished = true;
  result.is_untrimmed = false;
  if (parameters_.trim == Trim::racon) trim_ends(static_cast<std::int32_t>(window(in, row).lengths.size()), result);
  return WindowProblem::none;
}

// The scratch of all kernels of a call: eight streams have such calls under way, and half of a device is for columns. With less of it fewer windows
// are made at a time; make_consensus() takes less where the run's quota of the device has no room for it.
std::size_t PoaConsensus::scratch_bytes(int device) {
  return scratch_of_device_.get(device, [] {
    std::size_t free_bytes = 0, all_bytes = 0;
    sluice::cuda::check(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo");
    return all_bytes / 16;
  });
}

// Every window is made and stays as it is: the device's columns are the stage's.
void PoaConsensus::give_all(const sluice::cuda::DeviceCall& device, const cuda::PackedConsensus& packed, const std::vector<std::int64_t>& begin,
                            Output& out) const {
  std::ranges::fill(out.column<std::uint8_t>("is_polished"), std::uint8_t{1});
  const auto download = [&](const auto* from, auto to) { sluice::cuda::copy_to_host(to.data(), from, to.size_bytes(), device.stream()); };
  const auto size = [&](std::int64_t row) { return begin[static_cast<std::size_t>(row) + 1] - begin[static_cast<std::size_t>(row)]; };
  download(packed.bases, out.text("consensus", out.offsets(size)));
  if (wants_coverage_) download(packed.coverage, out.list<std::int32_t>("consensus_coverage", out.offsets(size)));
  if (wants_support_) download(packed.support, out.list<std::int32_t>("consensus_support", out.offsets(size)));
  // Nobody has asked for haplotypes: wants_graph() would say so.
  const auto none = [](std::int64_t) { return 0; };
  if (wants(haplotypes)) out.text("haplotypes", out.offsets(none));
  if (wants_haplotype_of_) out.list<std::int32_t>("haplotype_of", out.offsets(none));
}

cuda::WindowRules PoaConsensus::device_rules() const {
  cuda::WindowRules rules;
  rules.scoring = {parameters_.scoring.match, parameters_.scoring.mismatch, parameters_.scoring.gap_open};
  rules.consensus = parameters_.algorithm == Algorithm::majority ? cuda::Consensus::majority : cuda::Consensus::heaviest_bundle;
  rules.majority.undecided =
      parameters_.undecided == Undecided::keep_template ? cuda::UndecidedColumn::keep_template : cuda::UndecidedColumn::take_letter;
  rules.majority.support = static_cast<std::uint32_t>(parameters_.min_support);
  rules.min_sequences = parameters_.min_sequences;
  rules.rounds = parameters_.rounds;
  return rules;
}

// In which turn each sequence is merged, of all windows; empty: as they come.
std::vector<std::int32_t> PoaConsensus::layer_orders(const Batch& in) const {
  std::vector<std::int32_t> order;
  if (!has_layers_ || parameters_.layer_order == LayerOrder::file) return order;
  const auto lengths = in.list<std::int32_t>("sequence_length"), layer_begin = in.list<std::int32_t>("layer_begin");
  const auto offsets = lengths.offsets();
  order.resize(static_cast<std::size_t>(offsets.back() - offsets.front()));
  for (std::int64_t row = 0; row < in.rows(); ++row) {
    const auto from = static_cast<std::size_t>(offsets[static_cast<std::size_t>(row)] - offsets.front());
    order_layers(parameters_.layer_order, layer_begin[row], std::span(order).subspan(from, lengths[row].size()));
  }
  return order;
}

cuda::DeviceWindows PoaConsensus::windows_on_device(const sluice::cuda::DeviceCall& device, const Batch& in, const std::vector<std::int32_t>& order,
                                                    std::vector<sluice::cuda::Memory>& memory) const {
  const auto host_offsets = in.list<std::int32_t>("sequence_length").offsets(), letter_offsets = in.text("sequences").offsets();
  const sluice::cuda::Text text = device.text(in, "sequences");
  const auto lengths = device.list<std::int32_t>(in, "sequence_length");
  cuda::DeviceWindows windows;
  windows.count = in.rows();
  windows.sequences = host_offsets.back() - host_offsets.front();
  windows.text_offsets = text.offsets;
  windows.letters = text.bytes;
  windows.letter_count = letter_offsets.back() - letter_offsets.front();
  windows.sequence_offsets = lengths.offsets;
  windows.length = lengths.values;
  if (has_qualities_) {
    const sluice::cuda::Text qualities = device.text(in, "sequence_qualities");
    windows.quality_offsets = qualities.offsets;
    windows.qualities = qualities.bytes;
  }
  if (has_layers_) {
    const auto begin = device.list<std::int32_t>(in, "layer_begin"), end = device.list<std::int32_t>(in, "layer_end");
    windows.layer_begin_offsets = begin.offsets;
    windows.layer_begin = begin.values;
    windows.layer_end_offsets = end.offsets;
    windows.layer_end = end.values;
  }
  if (!order.empty()) windows.order = memory.emplace_back(device.upload(order)).as<std::int32_t>();
  if (in.raw().row_status != nullptr) windows.row_status = memory.emplace_back(device.row_status(in)).as<std::uint16_t>();
  return windows;
}

}  // namespace sluice::poa_consensus
#endif
