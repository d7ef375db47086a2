// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The stage poa_consensus: windows of a batch, made side by side.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "poa_consensus/window_consensus.hpp"
#ifdef SLUICE_WITH_CUDA
#include <sluice/cuda.hpp>

#include "poa_consensus/cuda.hpp"
#endif

namespace sluice::poa_consensus {

class PoaConsensus {
 public:
  struct Parameters {
    std::string algorithm = "heaviest_bundle", alignment = "global", layer_order = "file", trim = "none", strands = "as_given", compat = "none";
    std::int64_t match = 5, mismatch = -4, gap_open = -8, gap_extend = -8;
    std::optional<std::int64_t> second_gap_open, second_gap_extend;
    std::int64_t min_sequences = 1, min_support = 0, most_haplotypes = 1, layer_rounds = 1;
    double min_frequency = 0.25;
    std::optional<std::int64_t> rounds;
    bool template_fallback = true;
    Size matrix = {std::uint64_t{1} << 31U};
  };
  // In the order of the reason() calls of describe().
  enum class Reason : std::uint32_t { bad_sequences, bad_layers, too_large };

  static void describe(Describe<PoaConsensus>& d);
  static void check_parameters(const Parameters& p);
  PoaConsensus(const Setup& setup, const Parameters& p);
  Estimate estimate(const Batch& in) const;
  void process(const Call& call, const Batch& in, Output& out);
  bool offers(std::string_view device) const;
#ifdef SLUICE_WITH_CUDA
  void process_cuda(const Call& call, const Batch& in, Output& out);
#endif

 private:
  // A workspace that one huge window has blown up is not kept.
  static constexpr std::size_t kept_bytes = std::size_t{32} << 20U;
  static constexpr std::size_t windows_per_part = 16;

  // Text columns that a window gives.
  enum Text : std::size_t { consensus, alignment, gfa, dot, haplotypes, texts };
  // What the windows of a part give, one after the other.
  struct Part {
    std::array<std::string, texts> text;
    std::vector<std::int32_t> coverage, support, haplotype_of;
  };
  struct RowSize {
    std::array<std::size_t, texts> text{};
    std::size_t haplotype_of = 0;
  };
  // Default-constructible, as Workspaces wants it.
  struct Workspace {
    WindowResult result;
    std::unique_ptr<WindowConsensus> maker;
    WindowConsensus& get(const ConsensusParameters& parameters) {
      if (!maker) maker = std::make_unique<WindowConsensus>(parameters);
      return *maker;
    }
  };

  bool wants(Text text) const { return wants_text_[text]; }
  // Something that is read from the graph, not from the consensus.
  bool wants_graph() const { return wants(alignment) || wants(gfa) || wants(dot) || parameters_.groups.most_groups > 1; }
  Window window(const Batch& in, std::int64_t row) const;
  void give_row(const Call& call, const Batch& in, std::int64_t row, WindowConsensus& maker, const WindowResult& result, Part& part, RowSize& size,
                std::uint8_t& is_polished) const;
  void join(const std::vector<Part>& parts, const std::vector<RowSize>& sizes, Output& out) const;

  // make(row, maker, result) -> WindowProblem, called side by side.
  template <class Make>
  void give(const Call& call, const Batch& in, Output& out, Make&& make) {
    const auto rows = static_cast<std::size_t>(in.rows());
    const auto is_polished = out.column<std::uint8_t>("is_polished");
    std::vector<Part> parts((rows + windows_per_part - 1) / windows_per_part);
    std::vector<RowSize> sizes(rows);
    call.parallel_for(parts.size(), 1, [&](std::size_t begin, std::size_t end) {
      auto workspace = workspaces_.take();
      WindowConsensus& maker = workspace->get(parameters_);
      for (std::size_t part = begin; part < end; ++part) {
        const std::size_t first = part * windows_per_part, last = std::min(rows, first + windows_per_part);
        for (std::size_t i = first; i < last; ++i) {
          const auto row = static_cast<std::int64_t>(i);
          if (call.cancelled() || !in.ok(row)) continue;
          switch (make(row, maker, workspace->result)) {
            case WindowProblem::none:
              give_row(call, in, row, maker, workspace->result, parts[part], sizes[i], is_polished[i]);
              break;
            case WindowProblem::bad_sequences:
              out.fail(row, Reason::bad_sequences);
              break;
            case WindowProblem::bad_layers:
              out.fail(row, Reason::bad_layers);
              break;
            case WindowProblem::too_large:
              out.fail(row, Reason::too_large);
              break;
          }
        }
      }
      if (maker.bytes() > kept_bytes) workspace.discard();
    });
    join(parts, sizes, out);
  }

#ifdef SLUICE_WITH_CUDA
  struct Fetched;
  std::size_t scratch_bytes(int device);
  void give_all(const sluice::cuda::DeviceCall& device, const cuda::PackedConsensus& packed, const std::vector<std::int64_t>& begin,
                Output& out) const;
  cuda::WindowRules device_rules() const;
  std::vector<std::int32_t> layer_orders(const Batch& in) const;
  cuda::DeviceWindows windows_on_device(const sluice::cuda::DeviceCall& device, const Batch& in, const std::vector<std::int32_t>& order,
                                        std::vector<sluice::cuda::Memory>& memory) const;
  WindowProblem read_window(const Batch& in, std::int64_t row, const Fetched& fetched, WindowConsensus& maker, WindowResult& result) const;
#endif

  ConsensusParameters parameters_;
  bool has_qualities_, has_layers_, has_name_, wants_coverage_, wants_support_;
  std::array<bool, texts> wants_text_{};
  bool wants_haplotype_of_;
  Workspaces<Workspace> workspaces_;
#ifdef SLUICE_WITH_CUDA
  sluice::cuda::PerDevice<std::size_t> scratch_of_device_;
#endif
};

}  // namespace sluice::poa_consensus
