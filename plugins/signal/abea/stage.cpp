// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <optional>
#include <sluice/kmer_model.hpp>
#include <sluice/methods/abea/abea.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <vector>

#include "abea/moves.hpp"

#ifdef SLUICE_WITH_CUDA
#include <sluice/cuda.hpp>

#include "abea/cuda.hpp"
#endif

namespace sluice::abea {
namespace {

// A read whose traces need more than this gives its memory back at once: one ultra-long read would else pin it for the whole run.
constexpr std::size_t kept_workspace_bytes = std::size_t{16} << 20;

class Abea {
 public:
  struct Parameters {
    double max_events_per_base = 15.0;
    double min_average_emission = -5.0;
    std::int64_t max_skipped_kmers = 50;
    std::string moves = "check";
    std::int64_t moves_within = 50;
    double least_near_moves = 0.5;
  };

  static void describe(Describe<Abea>& d) {
    d.id("abea")
        .summary("aligns the events of a read to the k-mers of its own sequence (adaptive banded event alignment)")
        .map("read")
        .work_unit("band cell");
    d.doc(
        "Algorithm 1 of Gamaarachchi et al. 2020 (f5c): a band of 100 cells that moves by the Suzuki-Kasahara rule, with the transitions, the "
        "rounding and the tie rules of f5c 1.6.\n\n"
        "Where the basecaller's moves are known, a read fails unless enough of its k-mers begin near the blocks of their bases. With moves = use the "
        "band is 36 cells wide and follows the moves instead of its scores.");
    d.uses("model", "kmer", "the nucleotide k-mer model of the pore");
    d.needs("event_mean", "list<f32>", "pA").needs("kmer_rank", "list<u32>", "ranks of the read's k-mers in the model");
    d.needs("moment_shift", "f32", "pA").needs("moment_scale", "f32", "pA per model unit");
    d.needs("moves", "list<i8>", "where the basecaller says that bases begin: stride, then 1 for each stride of samples with one; empty: unknown",
            Needed::optional);
    d.needs("event_start", "list<i32>", "first sample of each event, to compare with the moves", Needed::optional);
    d.gives("first_event", "list<i32>", "first event of each k-mer of the read, -1: none");
    d.gives("last_event", "list<i32>", "last event of each k-mer of the read, -1: none");
    d.gives("events_per_base", "f64", "aligned events per k-mer");
    d.option("max_events_per_base", &Parameters::max_events_per_base, "a read with more events per base has stalled and is not aligned")
        .range(1, 1000);
    d.option("min_average_emission", &Parameters::min_average_emission, "least mean log-likelihood of the path").range(-1000, 0);
    d.option("max_skipped_kmers", &Parameters::max_skipped_kmers, "most k-mers in a row without an event of their own").range(0, 1e6);
    d.option("moves", &Parameters::moves, "use: the band follows them; check: reads that contradict them fail; ignore")
        .choices({"use", "check", "ignore"});
    d.option("moves_within", &Parameters::moves_within, "how near the begin of a k-mer's events is to that of its base")
        .range(0, 1e6)
        .unit("samples");
    d.option("least_near_moves", &Parameters::least_near_moves, "least share of k-mers that are so near").range(0, 1);
#ifdef SLUICE_WITH_CUDA
    d.implementation<&Abea::process_cuda>("cuda",
                                          "one warp a read: the band in registers, two-bit traces in device memory, the walk back by the same warp");
#endif
    // In the order of AlignmentStatus, without ok.
    d.reason("too_few_kmers", "the read is shorter than k").reason("no_events", "the read has no events");
    d.reason("too_many_events_per_base", "the read has stalled: too many events for its bases");
    d.reason("read_too_long", "events and k-mers do not fit 31 bits")
        .reason("output_size_mismatch", "internal")
        .reason("invalid_model", "the model's columns differ in length");
    d.reason("kmer_outside_model", "a k-mer rank is beyond the model");
    d.reason("no_end_cell_in_band", "the alignment lost its way: the band never reached the end of the read");
    d.reason("low_average_emission", "the events do not fit the bases: often the wrong chemistry");
    d.reason("not_spanning", "the alignment does not begin at the first base");
    d.reason("too_many_skipped_kmers", "a stretch of bases has no events");
    d.reason("against_moves", "most of its k-mers lie elsewhere in the signal than the basecaller's moves say, or these are of another length");
  }

  Abea(const Setup& setup, const Parameters& p)
      : model_(kmer_model_view(setup.resource("model"))),
        has_moves_(p.moves != "ignore" && setup.available("moves") && setup.available("event_start")),
        follows_moves_(p.moves == "use"),
        moves_within_(static_cast<std::int32_t>(p.moves_within)),
        least_near_moves_(p.least_near_moves) {
    if (model_.alphabet != Alphabet::nucleotide) throw Failure::usage("the model is a methylation model", "give abea the nucleotide model");
    limits_.max_events_per_base = static_cast<float>(p.max_events_per_base);
    limits_.min_average_emission = p.min_average_emission;
    limits_.max_skipped_kmers = static_cast<std::int32_t>(p.max_skipped_kmers);
  }

  Estimate estimate(const Batch& in) const {
    const auto events = in.list<float>("event_mean").offsets();
    const auto kmers = in.list<std::uint32_t>("kmer_rank").offsets();
    std::optional<std::span<const std::int64_t>> guided_rows;
    if (has_moves_ && follows_moves_) guided_rows = in.list<std::int8_t>("moves").offsets();
    Estimate e;
    for (std::size_t row = 0; row + 1 < events.size(); ++row) {
      const auto n = static_cast<std::size_t>(events[row + 1] - events[row]), k = static_cast<std::size_t>(kmers[row + 1] - kmers[row]);
      const bool is_guided = guided_rows && (*guided_rows)[row + 1] > (*guided_rows)[row];
      const double cells = static_cast<double>(n + k + 2) * (is_guided ? guided_band_width : band_width);
      e.work += cells;
      e.largest_row_work = std::max(e.largest_row_work, cells);
      e.output_bytes += k * 8;
      e.scratch_bytes = std::max<std::uint64_t>(e.scratch_bytes, abea_workspace_bytes(n, k));
    }
    return e;
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const auto events = in.list<float>("event_mean");
    const auto kmers = in.list<std::uint32_t>("kmer_rank");
    const auto shift = in.column<float>("moment_shift"), scale = in.column<float>("moment_scale");
    std::optional<ListView<std::int8_t>> moves;
    std::optional<ListView<std::int32_t>> starts;
    if (has_moves_) {
      moves.emplace(in.list<std::int8_t>("moves"));
      starts.emplace(in.list<std::int32_t>("event_start"));
    }
    const Buffer offsets = out.offsets([&](std::int64_t row) { return kmers[row].size(); });
    const auto at = offsets.as<std::int64_t>();
    const auto first = out.list<std::int32_t>("first_event", offsets), last = out.list<std::int32_t>("last_event", offsets);
    const auto events_per_base = out.column<double>("events_per_base");
    call.parallel_for(static_cast<std::size_t>(in.rows()), 1, [&](std::size_t begin, std::size_t end) {
      auto workspace = workspaces_.take();
      for (std::size_t i = begin; i < end; ++i) {
        const auto row = static_cast<std::int64_t>(i);
        const auto from = static_cast<std::size_t>(at[i]), count = static_cast<std::size_t>(at[i + 1] - at[i]);
        const auto first_event = first.subspan(from, count), last_event = last.subspan(from, count);
        if (!in.ok(row)) {
          std::fill(first_event.begin(), first_event.end(), -1);
          std::fill(last_event.begin(), last_event.end(), -1);
          continue;
        }
        std::optional<MovedKmers> moved;
        if (moves && !(*moves)[row].empty() && (*starts)[row].size() == events[row].size())
          moved.emplace((*moves)[row], (*starts)[row], count, model_.k);
        std::vector<std::uint64_t> guide;
        if (follows_moves_ && moved && moved->fit()) guide = guide_along(moved->expected_kmers(), count);
        const AlignmentInput input{events[row], kmers[row], model_, {scale[i], shift[i]}, limits_, guide};
        const AlignmentResult result = align_events(input, *workspace, first_event, last_event);
        fail(out, row, result.status);
        if (result.status == AlignmentStatus::ok && moved && contradicts(*moved, first_event, last_event)) out.fail(row, against_moves);
        if (result.status == AlignmentStatus::ok) events_per_base[i] = result.events_per_base;
        workspace->give_back_beyond(kept_workspace_bytes);
      }
    });
  }

#ifdef SLUICE_WITH_CUDA
  void process_cuda(const Call& call, const Batch& in, Output& out) {
    const sluice::cuda::DeviceCall device(call);
    const auto rows = static_cast<std::size_t>(in.rows());
    const auto events = device.list<float>(in, "event_mean");
    const auto kmers = device.list<std::uint32_t>(in, "kmer_rank");
    const auto kmer_count = static_cast<std::size_t>(kmers.count);
    cuda::DeviceBatch columns{events.values, kmers.values, device.column<float>(in, "moment_scale"), device.column<float>(in, "moment_shift")};
    const DeviceModel& model = models_.get(device.ordinal(), [&] { return DeviceModel(device, model_); });

    // Asked once: the driver takes long to say it, and lets nobody else in meanwhile.
    const std::size_t free_bytes = free_bytes_.get(device.ordinal(), [] {
      std::size_t free = 0, all = 0;
      sluice::cuda::check(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
      return free;
    });
    const std::vector<std::int64_t> event_offsets = device.download(events.offsets, rows + 1),
                                    kmer_offsets = device.download(kmers.offsets, rows + 1);
    const std::uint16_t* const row_status = in.raw().row_status;
    const HostMoves moves = has_moves_ ? HostMoves(device, in, event_offsets) : HostMoves();
    cuda::BatchPlan plan =
        cuda::plan_batch(event_offsets, kmer_offsets, model_, limits_, {row_status, row_status == nullptr ? 0 : rows}, free_bytes / workspace_share);

    std::vector<std::uint32_t> guides;
    if (follows_moves_ && !moves.is_empty())
      for (cuda::ReadPlan& read : plan.reads)
        if (read.status == AlignmentStatus::ok) add_guide(moves, read, guides);
    const sluice::cuda::Memory device_guides = device.upload(guides);
    if (!guides.empty()) columns.guides = device_guides.as<std::uint32_t>();

    sluice::cuda::Memory offsets = device.allocate_array<std::int64_t>(rows + 1);
    sluice::cuda::check(cudaMemcpyAsync(offsets.get(), kmers.offsets, offsets.bytes(), cudaMemcpyDeviceToDevice, device.stream()), "offsets");
    sluice::cuda::Memory first = device.allocate_array<std::int32_t>(kmer_count), last = device.allocate_array<std::int32_t>(kmer_count);
    sluice::cuda::Memory events_per_base = device.allocate_array<double>(rows);
    const sluice::cuda::Memory status = device.allocate_array<AlignmentStatus>(rows), reports = device.allocate_array<cuda::AlignmentReport>(rows);
    const cuda::DeviceAlignments alignments{first.as<std::int32_t>(), last.as<std::int32_t>(), events_per_base.as<double>(),
                                            status.as<AlignmentStatus>(), reports.as<cuda::AlignmentReport>()};
    const sluice::cuda::Memory reads = device.upload(plan.reads);
    const sluice::cuda::Memory workspace = device.allocate(plan.workspace_bytes);
    sluice::cuda::check(
        cuda::align_batch(plan, reads.as<cuda::ReadPlan>(), workspace.get(), limits_, columns, model.view, alignments, device.stream()),
        "align_batch");
    const std::vector<AlignmentStatus> statuses = device.download(status.as<AlignmentStatus>(), rows);
    for (std::size_t i = 0; i < rows; ++i) {
      const auto row = static_cast<std::int64_t>(i);
      if (in.ok(row)) fail(out, row, statuses[i]);
    }
    if (!moves.is_empty()) {
      const std::vector<std::int32_t> first_event = device.download(first.as<std::int32_t>(), kmer_count),
                                      last_event = device.download(last.as<std::int32_t>(), kmer_count);
      call.parallel_for(rows, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          const auto row = static_cast<std::int64_t>(i);
          const auto from = static_cast<std::size_t>(kmer_offsets[i]), count = static_cast<std::size_t>(kmer_offsets[i + 1]) - from;
          if (!in.ok(row) || statuses[i] != AlignmentStatus::ok || moves.of_row(i).empty()) continue;
          const MovedKmers moved(moves.of_row(i), moves.event_starts(i), count, model_.k);
          if (contradicts(moved, std::span(first_event).subspan(from, count), std::span(last_event).subspan(from, count)))
            out.fail(row, against_moves);
        }
      });
    }
    device.add_list<std::int32_t>(out, "first_event", offsets, std::move(first), kmers.count);
    device.add_list<std::int32_t>(out, "last_event", std::move(offsets), std::move(last), kmers.count);
    device.add_column<double>(out, "events_per_base", std::move(events_per_base));
  }
#endif

 private:
  // The reason behind those of AlignmentStatus.
  static constexpr auto against_moves = static_cast<std::uint32_t>(AlignmentStatus::too_many_skipped_kmers);
  bool contradicts(const MovedKmers& moved, std::span<const std::int32_t> first_event, std::span<const std::int32_t> last_event) const {
    return !moved.fit() || moved.agreement(first_event, last_event, moves_within_).share() < least_near_moves_;
  }
  static void fail(Output& out, std::int64_t row, AlignmentStatus status) {
    if (status != AlignmentStatus::ok) out.fail(row, static_cast<std::uint32_t>(status) - 1);
  }

  KmerModelView model_;
  AlignmentLimits limits_;
  bool has_moves_, follows_moves_;
  std::int32_t moves_within_;
  double least_near_moves_;
  Workspaces<AlignmentWorkspace> workspaces_;
#ifdef SLUICE_WITH_CUDA
  // The workspace of a call takes at most this part of the free memory; a batch that needs more is aligned in several parts.
  static constexpr std::size_t workspace_share = 4;

  // The moves of a batch, and where its events begin, if any row has moves.
  class HostMoves {
   public:
    HostMoves() = default;
    HostMoves(const sluice::cuda::DeviceCall& device, const Batch& in, const std::vector<std::int64_t>& event_offsets) : events_(event_offsets) {
      const auto rows = static_cast<std::size_t>(in.rows());
      const auto moves = device.list<std::int8_t>(in, "moves");
      if (moves.count == 0) return;
      offsets_ = device.download(moves.offsets, rows + 1);
      values_ = device.download(moves.values, static_cast<std::size_t>(moves.count));
      const auto starts = device.list<std::int32_t>(in, "event_start");
      if (device.download(starts.offsets, rows + 1) == events_) starts_ = device.download(starts.values, static_cast<std::size_t>(starts.count));
    }
    bool is_empty() const { return starts_.empty(); }
    std::span<const std::int8_t> of_row(std::size_t row) const { return part(values_, offsets_, row); }
    std::span<const std::int32_t> event_starts(std::size_t row) const { return part(starts_, events_, row); }

   private:
    template <class T>
    static std::span<const T> part(const std::vector<T>& values, const std::vector<std::int64_t>& offsets, std::size_t row) {
      return std::span(values).subspan(static_cast<std::size_t>(offsets[row]), static_cast<std::size_t>(offsets[row + 1] - offsets[row]));
    }
    std::vector<std::int64_t> events_, offsets_;
    std::vector<std::int8_t> values_;
    std::vector<std::int32_t> starts_;
  };
  void add_guide(const HostMoves& moves, cuda::ReadPlan& read, std::vector<std::uint32_t>& guides) const {
    const auto row = static_cast<std::size_t>(read.row), kmers = static_cast<std::size_t>(read.kmer_count);
    if (moves.of_row(row).empty()) return;
    const MovedKmers moved(moves.of_row(row), moves.event_starts(row), kmers, model_.k);
    if (!moved.fit()) return;
    read.guide_begin = static_cast<std::int64_t>(guides.size());
    for (const std::uint64_t word : guide_along(moved.expected_kmers(), kmers)) {
      guides.push_back(static_cast<std::uint32_t>(word));
      guides.push_back(static_cast<std::uint32_t>(word >> 32));
    }
  }

  struct DeviceModel {
    DeviceModel(const sluice::cuda::DeviceCall& device, const KmerModelView& model) : memory(device.allocate(3 * model.level_mean.size_bytes())) {
      auto* to = memory.as<float>();
      const std::size_t rows = model.level_mean.size();
      view = {to, to + rows, to + 2 * rows, static_cast<std::uint32_t>(rows)};
      for (const std::span<const float> column : {model.level_mean, model.level_stdv, model.log_level_stdv}) {
        // With columns of different length nothing is aligned (plan_batch).
        const std::size_t bytes = std::min(column.size_bytes(), model.level_mean.size_bytes());
        sluice::cuda::check(cudaMemcpyAsync(to, column.data(), bytes, cudaMemcpyHostToDevice, device.stream()), "the k-mer model");
        to += rows;
      }
      device.synchronize();  // other lanes of this device use the model, too
    }
    sluice::cuda::Memory memory;
    cuda::DeviceModel view{};
  };
  sluice::cuda::PerDevice<DeviceModel> models_;
  sluice::cuda::PerDevice<std::size_t> free_bytes_;
#endif
};

}  // namespace
}  // namespace sluice::abea

SLUICE_PLUGIN("abea", "0.1.0", "MIT", sluice::abea::Abea);
