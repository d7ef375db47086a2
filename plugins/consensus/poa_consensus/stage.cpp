// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <sluice/file_joining.hpp>
#include <sluice/stage.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "poa_consensus/consensus_writer.hpp"
#include "poa_consensus/window_consensus.hpp"
#include "poa_consensus/window_reader.hpp"
#ifdef SLUICE_WITH_CUDA
#include <sluice/cuda.hpp>

#include "poa_consensus/cuda.hpp"
#endif

namespace sluice::poa_consensus {
namespace {

constexpr std::size_t windows_per_part = 16;

// Cells of the alignments: each sequence against a graph about as long as the sequences are on average.
double cells(std::span<const std::int32_t> lengths) {
  double letters = 0;
  for (const std::int32_t length : lengths) letters += length;
  return lengths.empty() ? 1 : 1 + letters * (letters / static_cast<double>(lengths.size()));
}

class PoaConsensus {
 public:
  struct Parameters {
    std::string algorithm = "heaviest_bundle", alignment = "global", layer_order = "file", trim = "none";
    std::int64_t match = 5, mismatch = -4, gap_open = -8, gap_extend = -8;
    std::int64_t min_sequences = 1, min_support = 0;
    std::optional<std::int64_t> rounds;
    bool template_fallback = true;
    Size matrix = {std::uint64_t{1} << 31U};
  };
  // In the order of the reason() calls below.
  enum class Reason : std::uint32_t { bad_sequences, bad_layers, too_large };

  static void describe(Describe<PoaConsensus>& d) {
    d.id("poa_consensus")
        .map("window")
        .summary("makes the consensus of each window by partial order alignment")
        .doc(
            "The sequences of a window are merged into a partial order graph one after the other. The consensus is the graph's heaviest bundle, with "
            "the same letters as spoa 4.0.8, or the majority of each column of the alignment. Layers (sequences that belong to a part of sequence 0) "
            "are aligned to that part of the graph, as in racon 1.5.0.")
        .work_unit("cell")
        .host_columns();
    d.needs("sequences", "utf8", "the window's sequences, one after the other")
        .needs("sequence_length", "list<i32>", "length of each")
        .needs("sequence_qualities", "utf8", "Phred scores + 33 of all their letters; empty: every letter weighs 1", Needed::optional)
        .needs("layer_begin", "list<i32>", "per sequence: first position on sequence 0", Needed::optional)
        .needs("layer_end", "list<i32>", "per sequence: last position on sequence 0", Needed::optional);
    d.gives("consensus", "utf8", "the window's consensus")
        .gives("is_polished", "u8", "0: too few sequences, sequence 0 was kept")
        .gives("consensus_coverage", "list<i32>", "per base: sequences with a letter there", Needed::optional)
        .gives("msa", "utf8", "the sequences with gaps, each followed by a newline", Needed::optional);
    d.option("algorithm", &Parameters::algorithm, "heaviest_bundle: spoa's; majority: of each column").choices({"heaviest_bundle", "majority"});
    d.option("alignment", &Parameters::alignment, "of a sequence to the graph").choices({"global", "local", "semi_global"});
    d.option("match", &Parameters::match, "score of equal letters").range(-128, 127);
    d.option("mismatch", &Parameters::mismatch, "score of different letters").range(-128, 127);
    d.option("gap_open", &Parameters::gap_open, "score of a gap's first base").range(-128, 0);
    d.option("gap_extend", &Parameters::gap_extend, "score of each further base of a gap; not above gap_open: the same for all").range(-128, 0);
    d.option("layer_order", &Parameters::layer_order, "order of merging: file: as they come; racon: by layer_begin").choices({"file", "racon"});
    d.option("trim", &Parameters::trim, "racon: cut the ends that less than half of the layers cover").choices({"none", "racon"});
    d.option("min_sequences", &Parameters::min_sequences, "windows of fewer sequences keep sequence 0 (racon: 3)").range(1, 1000000);
    d.option("min_support", &Parameters::min_support, "majority: a column that fewer sequences agree on is undecided")
        .range(0, 1000000)
        .unit("sequences");
    d.option("template_fallback", &Parameters::template_fallback,
             "majority: undecided columns take sequence 0's letter, or its gap; else their first letter");
    d.option("rounds", &Parameters::rounds,
             "merge all sequences so often; from the second time on into a graph that begins with the consensus so far. Windows with layers: once; "
             "without it once for heaviest_bundle, twice for majority")
        .range(1, 10);
    d.option("matrix", &Parameters::matrix, "windows that need a larger matrix fail");
#ifdef SLUICE_WITH_CUDA
    d.implementation<&PoaConsensus::process_cuda>(
        "cuda",
        "a warp a window, from the first sequence to the consensus; global alignment with linear gaps; windows that do not fit are made by the CPU");
#endif
    d.reason("bad_sequences", "lengths, letters and qualities of the sequences do not fit each other");
    d.reason("bad_layers", "a layer does not lie on sequence 0");
    d.reason("too_large", "an alignment of the window needs more memory than the option matrix allows");
  }

  static void check_parameters(const Parameters& p) {
    if (p.alignment == "local" && p.match <= 0)
      throw Failure::usage("a local alignment needs a positive score of equal letters", "give match a value above 0");
  }

  PoaConsensus(const Setup& setup, const Parameters& p)
      : has_qualities_(setup.available("sequence_qualities")),
        has_layers_(setup.available("layer_begin") && setup.available("layer_end")),
        wants_coverage_(setup.wanted("consensus_coverage")),
        wants_alignment_(setup.wanted("msa")) {
    parameters_.algorithm = p.algorithm == "majority" ? Algorithm::majority : Algorithm::heaviest_bundle;
    Scoring& scoring = parameters_.scoring;
    scoring.mode = p.alignment == "local" ? AlignmentMode::local : p.alignment == "semi_global" ? AlignmentMode::semi_global : AlignmentMode::global;
    scoring.match = static_cast<std::int32_t>(p.match);
    scoring.mismatch = static_cast<std::int32_t>(p.mismatch);
    scoring.gap_open = static_cast<std::int32_t>(p.gap_open);
    scoring.gap_extend = static_cast<std::int32_t>(p.gap_extend);
    parameters_.layer_order = p.layer_order == "racon" ? LayerOrder::racon : LayerOrder::file;
    parameters_.trim = p.trim == "racon" ? Trim::racon : Trim::none;
    parameters_.min_sequences = static_cast<std::int32_t>(p.min_sequences);
    parameters_.min_support = static_cast<std::int32_t>(p.min_support);
    parameters_.rounds = static_cast<std::int32_t>(p.rounds.value_or(parameters_.algorithm == Algorithm::majority ? 2 : 1));
    parameters_.undecided = p.template_fallback ? Undecided::keep_template : Undecided::take_letter;
    parameters_.matrix_bytes = p.matrix.bytes;
  }

  Estimate estimate(const Batch& in) const {
    const auto lengths = in.list<std::int32_t>("sequence_length");
    Estimate e;
    e.row_work.reserve(static_cast<std::size_t>(in.rows()));
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      const double work = in.ok(row) ? cells(lengths[row]) : 1;
      e.row_work.push_back(work);
      e.work += work;
      e.largest_row_work = std::max(e.largest_row_work, work);
    }
    const auto letters = in.text("sequences").offsets();
    e.output_bytes = static_cast<std::uint64_t>(letters.back() - letters.front()) * (wants_alignment_ ? 2 : 1);
    e.scratch_bytes = static_cast<std::uint64_t>(e.largest_row_work) * 2;
    return e;
  }

  void process(const Call& call, const Batch& in, Output& out) {
    give(call, in, out, [&](std::int64_t row, WindowConsensus& maker, WindowResult& result) { return maker.make(window(in, row), result); });
  }

  // A device aligns globally with linear gaps. The alignment's rows are left to the CPU.
  bool offers(std::string_view device) const {
    const Scoring& scoring = parameters_.scoring;
    return device == "cpu" ||
           (scoring.mode == AlignmentMode::global && scoring.gap_cost() == GapCost::linear && scoring.gap_open < 0 && scoring.gap_open >= -127 &&
            !wants_alignment_ && (parameters_.rounds == 1 || parameters_.algorithm == Algorithm::majority));
  }

#ifdef SLUICE_WITH_CUDA
  void process_cuda(const Call& call, const Batch& in, Output& out) {
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
    cuda::DeviceConsensus result{offsets.as<std::int64_t>(), nullptr, nullptr, length.as<std::uint32_t>(), outcome.as<cuda::Outcome>()};
    const cuda::WindowPlan plan = cuda::plan_windows(windows, rules, result, device.stream(), allocate);
    const auto room = static_cast<std::size_t>(plan.consensus_room);
    const bool needs_coverage = wants_coverage_ || parameters_.trim == Trim::racon;
    result.bases = static_cast<char*>(allocate(room));
    if (needs_coverage) result.coverage = static_cast<std::int32_t*>(allocate(room * sizeof(std::int32_t)));
    cuda::make_consensus(windows, rules, plan, result, device.ordinal(), scratch_bytes(device.ordinal()), device.stream(), allocate);
    const cuda::PackedConsensus packed = cuda::pack_consensus(result, in.rows(), plan.consensus_room, device.stream(), allocate);
    const std::vector<std::int64_t> begin = device.download(packed.begin, rows + 1);
    const auto made = static_cast<std::size_t>(begin.back());
    const std::vector<cuda::Outcome> outcomes = device.download(result.outcome, rows);
    if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "the consensus was cancelled");
    if (parameters_.trim == Trim::none && std::all_of(outcomes.begin(), outcomes.end(), [](cuda::Outcome o) { return o == cuda::Outcome::done; }))
      return give_all(device, packed, begin, out);
    const std::vector<char> bases = device.download(packed.bases, made);
    const std::vector<std::int32_t> coverage = device.download(packed.coverage, needs_coverage ? made : 0);

    const auto unfit =
        std::count_if(outcomes.begin(), outcomes.end(), [](cuda::Outcome o) { return o != cuda::Outcome::done && o != cuda::Outcome::unfit_input; });
    if (unfit != 0) call.count("windows_left_to_cpu", static_cast<double>(unfit));
    give(call, in, out, [&](std::int64_t row, WindowConsensus& maker, WindowResult& window_result) {
      const auto i = static_cast<std::size_t>(row);
      if (outcomes[i] != cuda::Outcome::done) return maker.make(window(in, row), window_result);
      const auto first = static_cast<std::ptrdiff_t>(begin[i]), last = static_cast<std::ptrdiff_t>(begin[i + 1]);
      window_result.consensus.assign(bases.begin() + first, bases.begin() + last);
      window_result.coverage.clear();
      if (needs_coverage) window_result.coverage.assign(coverage.begin() + first, coverage.begin() + last);
      window_result.is_polished = true;
      window_result.is_untrimmed = false;
      if (parameters_.trim == Trim::racon) trim_ends(static_cast<std::int32_t>(window(in, row).lengths.size()), window_result);
      return WindowProblem::none;
    });
  }
#endif

 private:
  // A workspace that one huge window has blown up is not kept.
  static constexpr std::size_t kept_bytes = std::size_t{32} << 20U;

  // What the windows of a part give, one after the other.
  struct Part {
    std::string consensus, alignment;
    std::vector<std::int32_t> coverage;
  };
  struct RowSize {
    std::size_t consensus = 0, alignment = 0;
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

  Window window(const Batch& in, std::int64_t row) const {
    Window window;
    window.sequences = in.text("sequences")[row];
    window.lengths = in.list<std::int32_t>("sequence_length")[row];
    if (has_qualities_) window.qualities = in.text("sequence_qualities")[row];
    if (has_layers_) {
      window.layer_begin = in.list<std::int32_t>("layer_begin")[row];
      window.layer_end = in.list<std::int32_t>("layer_end")[row];
    }
    return window;
  }

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
              give_row(call, maker, workspace->result, parts[part], sizes[i], is_polished[i]);
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
    const auto joined = [&](std::size_t RowSize::*size, std::string Part::*text, const char* name) {
      auto to = out.text(name, out.offsets([&](std::int64_t row) { return sizes[static_cast<std::size_t>(row)].*size; })).begin();
      for (const Part& part : parts) to = std::copy((part.*text).begin(), (part.*text).end(), to);
    };
    joined(&RowSize::consensus, &Part::consensus, "consensus");
    if (wants_alignment_) joined(&RowSize::alignment, &Part::alignment, "msa");
    if (!wants_coverage_) return;
    auto to =
        out.list<std::int32_t>("consensus_coverage", out.offsets([&](std::int64_t row) { return sizes[static_cast<std::size_t>(row)].consensus; }))
            .begin();
    for (const Part& part : parts) to = std::copy(part.coverage.begin(), part.coverage.end(), to);
  }

  void give_row(const Call& call, WindowConsensus& maker, const WindowResult& result, Part& part, RowSize& size, std::uint8_t& is_polished) const {
    is_polished = result.is_polished ? 1 : 0;
    if (!result.is_polished) call.count("windows_kept", 1);
    if (result.is_untrimmed) call.count("windows_untrimmed", 1);
    part.consensus += result.consensus;
    size.consensus = result.consensus.size();
    if (wants_coverage_) part.coverage.insert(part.coverage.end(), result.coverage.begin(), result.coverage.end());
    if (!wants_alignment_) return;
    const std::size_t before = part.alignment.size();
    maker.append_alignment(part.alignment);
    size.alignment = part.alignment.size() - before;
  }

#ifdef SLUICE_WITH_CUDA
  // The scratch of a call takes at most an eighth of a device's memory; with less of it fewer windows are made at a time.
  std::size_t scratch_bytes(int device) {
    return scratch_of_device_.get(device, [] {
      std::size_t free_bytes = 0, all_bytes = 0;
      sluice::cuda::check(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo");
      return all_bytes / 8;
    });
  }

  // Every window is made and stays as it is: the device's columns are the stage's.
  void give_all(const sluice::cuda::DeviceCall& device, const cuda::PackedConsensus& packed, const std::vector<std::int64_t>& begin,
                Output& out) const {
    std::ranges::fill(out.column<std::uint8_t>("is_polished"), std::uint8_t{1});
    const auto download = [&](const auto* from, auto to) { sluice::cuda::copy_to_host(to.data(), from, to.size_bytes(), device.stream()); };
    const auto size = [&](std::int64_t row) { return begin[static_cast<std::size_t>(row) + 1] - begin[static_cast<std::size_t>(row)]; };
    download(packed.bases, out.text("consensus", out.offsets(size)));
    if (wants_coverage_) download(packed.coverage, out.list<std::int32_t>("consensus_coverage", out.offsets(size)));
  }

  cuda::WindowRules device_rules() const {
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
  std::vector<std::int32_t> layer_orders(const Batch& in) const {
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

  cuda::DeviceWindows windows_on_device(const sluice::cuda::DeviceCall& device, const Batch& in, const std::vector<std::int32_t>& order,
                                        std::vector<sluice::cuda::Memory>& memory) const {
    const auto host_offsets = in.list<std::int32_t>("sequence_length").offsets();
    const sluice::cuda::Text text = device.text(in, "sequences");
    const auto lengths = device.list<std::int32_t>(in, "sequence_length");
    cuda::DeviceWindows windows;
    windows.count = in.rows();
    windows.sequences = host_offsets.back() - host_offsets.front();
    windows.text_offsets = text.offsets;
    windows.letters = text.bytes;
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
#endif

  ConsensusParameters parameters_;
  bool has_qualities_, has_layers_, wants_coverage_, wants_alignment_;
  Workspaces<Workspace> workspaces_;
#ifdef SLUICE_WITH_CUDA
  sluice::cuda::PerDevice<std::size_t> scratch_of_device_;
#endif
};

}  // namespace
}  // namespace sluice::poa_consensus

SLUICE_PLUGIN_WITH((sluice::file_joining<sluice::poa_consensus::ConsensusWriter, sluice::poa_consensus::MsaWriter>), "poa_consensus", "0.1.0", "MIT",
                   sluice::poa_consensus::PoaConsensus, sluice::poa_consensus::WindowReader, sluice::poa_consensus::ConsensusWriter,
                   sluice::poa_consensus::MsaWriter);
