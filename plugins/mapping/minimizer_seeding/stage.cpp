// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <sluice/minimizer_index.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <vector>

#include "minimizer_seeding/index_parts.hpp"
#include "minimizer_seeding/seeding.hpp"
#include "minimizer_seeding/sketch.hpp"

#ifdef SLUICE_WITH_CUDA
#include "minimizer_seeding/device_index.hpp"
#endif

namespace sluice::minimizer_seeding {
namespace {

// Working memory beyond this is given back after a read that needed it: an ordinary long read needs a few MiB.
constexpr std::size_t largest_kept_bytes = std::size_t{16} << 20;
// Anchors of a base, at most, of ordinary reads: about 0.2 minimizers, most of them unique.
constexpr std::uint64_t bytes_per_base = 8;

class MinimizerSeeding {
 public:
  struct Parameters {
    float f = 2e-4F;
    std::int32_t min_occ = 10;
    std::int32_t max_occ = 1000000;
    std::int32_t max_max_occ = 4095;
    std::int32_t occ_dist = 500;
    float q_occ_frac = 0.01F;
    bool no_diagonal = false;
    bool dual = true;
    bool for_only = false;
    bool rev_only = false;
  };
  enum class Reason : std::uint32_t { too_long, too_many_anchors };

  static void describe(Describe<MinimizerSeeding>& d) {
    d.id("minimizer_seeding").summary("finds the k-mers that reads share with reference sequences").map("read").work_unit("base");
    d.doc(
        "The read's minimizers are looked up in the index; those that are frequent on the reference or in the read are left out but for the least "
        "frequent "
        "of long stretches of them; each position of a seed becomes an anchor. As minimap2 2.24, down to the order of equal anchors.");
    d.uses("index", "minimizer_index", "the reference sequences' minimizers");
    d.needs("read_id", "utf8", "name").needs("bases", "utf8", "the whole read");
    d.needs("index_part", "i32", "of an index in parts: the one that the read is looked up in", Needed::optional);
    d.gives("read_length", "i32", "bases").gives("repeat_length", "i32", "bases under minimizers that are too frequent to be seeds");
    d.gives("seed_position", "list<u64>", "of each seed, ascending: span << 32 | place of the k-mer's last base on the read");
    d.gives("anchor_x", "list<u64>", "strand << 63 | contig << 32 | place of the k-mer's last base on the contig, ascending");
    d.gives("anchor_y", "list<u64>", "flags | span << 32 | place of the k-mer's last base on the read's strand; bit 42: tandem, bit 43: self");
    d.option("f", &Parameters::f,
             "a minimizer with more positions than all but this share of minimizers is no seed; 1 or more: with more than this many positions")
        .range(0, 2e9);
    d.option("min_occ", &Parameters::min_occ, "the least number of positions that f may come to (minimap2's -U, first)")
        .range(0, max_minimizer_occurrences - 1);
    d.option("max_occ", &Parameters::max_occ, "the greatest number of positions that f may come to (-U, second)")
        .range(0, max_minimizer_occurrences - 1);
    d.option("max_max_occ", &Parameters::max_max_occ, "a minimizer with more positions is never a seed").range(0, max_minimizer_occurrences - 1);
    d.option("occ_dist", &Parameters::occ_dist, "in a stretch of too frequent minimizers one is a seed about every so many bases; 0: none")
        .range(0, std::numeric_limits<std::int32_t>::max())
        .unit("bases");
    d.option("q_occ_frac", &Parameters::q_occ_frac,
             "a minimizer is no seed that is a larger share of the read's own and as frequent there as f forbids; 0: any")
        .range(0, 1);
    d.option("no_diagonal", &Parameters::no_diagonal, "leave out where a sequence meets itself (minimap2's -D)");
    d.option("dual", &Parameters::dual,
             "no: map a read only to contigs whose name does not come before its own, so that reads against reads meet once");
    d.option("for_only", &Parameters::for_only, "the contigs' forward strand only");
    d.option("rev_only", &Parameters::rev_only, "the contigs' reverse strand only");
#ifdef SLUICE_WITH_CUDA
    d.implementation<&MinimizerSeeding::process_cuda>(
        "cuda",
        "one thread a base, a minimizer, an anchor; reads with ambiguous bases are left to the CPU; an odd k, without homopolymer compression");
#endif
    d.reason("too_long", "the read has 2^31 bases or more").reason("too_many_anchors", "the read has 2^31 anchors or more: lower f or max_max_occ");
  }

  static void check_parameters(const Parameters& p) {
    if (p.for_only && p.rev_only) throw Failure::usage("for_only and rev_only together leave nothing", "give one of them");
  }

  MinimizerSeeding(const Setup& setup, const Parameters& p) : index_(minimizer_index_view(setup.resource("index"))), kernels_(sketch_kernels()) {
    if (p.f >= 1.0F)
      parameters_.mid_occ = static_cast<std::int32_t>(std::min(p.f + .499, double{max_minimizer_occurrences - 1}));
    else
      parameters_.mid_occ =
          std::min(occurrence_threshold(index_, p.f, p.min_occ, p.max_occ), static_cast<std::int32_t>(max_minimizer_occurrences - 1));
    parameters_.max_max_occ = p.max_max_occ;
    parameters_.occ_dist = p.occ_dist;
    parameters_.q_occ_frac = p.q_occ_frac;
    if (p.for_only) parameters_.strands = Strands::forward_only;
    if (p.rev_only) parameters_.strands = Strands::reverse_only;
    if (p.no_diagonal) parameters_.diagonal = Diagonal::skip;
    if (!p.dual) parameters_.pairs = Pairs::once;
    const bool has_parts = index_.parts() > 1;
    if (p.no_diagonal || !p.dual || has_parts) order_ = NameOrder(index_);
    if (has_parts) look_up_in_parts();
  }

#ifdef SLUICE_WITH_CUDA
  bool offers(std::string_view device) const { return device != "cuda" || cuda::seeds_on_device(index_); }
#endif

  Estimate estimate(const Batch& in) const {
    const auto bases = in.text("bases");
    Estimate e;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      const auto length = static_cast<double>(bases[row].size());
      e.work += length;
      e.largest_row_work = std::max(e.largest_row_work, length);
    }
    e.output_bytes = static_cast<std::uint64_t>(e.work) * bytes_per_base;
    e.scratch_bytes = 4 * static_cast<std::uint64_t>(e.largest_row_work) * bytes_per_base;
    return e;
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const auto rows = static_cast<std::size_t>(in.rows());
    const auto names = in.text("read_id"), bases = in.text("bases");
    const std::shared_ptr<const IndexPart> index_part = part_of(call, in, [&] { return in.column<std::int32_t>("index_part"); });
    const MinimizerIndexView& index = index_part ? index_part->view : index_;
    const auto read_length = out.column<std::int32_t>("read_length"), repeat_length = out.column<std::int32_t>("repeat_length");
    std::vector<std::size_t> anchor_count(rows), seed_count(rows);
    std::vector<FinishedPart> parts;
    std::mutex mutex;  // guards parts
    call.parallel_for(rows, 1, [&](std::size_t begin, std::size_t end) {
      auto read = reads_.take();
      FinishedPart part{begin, end, results_.take()};
      part.results->clear();
      for (std::size_t i = begin; i < end; ++i) {
        const auto row = static_cast<std::int64_t>(i);
        if (!in.ok(row)) continue;
        if (bases[row].size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
          out.fail(row, Reason::too_long);
          continue;
        }
        const Absent absent = index_part && order_.place(names[row]).found ? Absent::seed : Absent::no_seed;
        find_anchors(index, parameters_, order_, names[row], bases[row], kernels_, *read, absent);
        if (read->too_many_anchors) {
          out.fail(row, Reason::too_many_anchors);
          continue;
        }
        read_length[i] = static_cast<std::int32_t>(bases[row].size());
        repeat_length[i] = read->repeat_length;
        anchor_count[i] = read->anchors.size();
        seed_count[i] = read->seed_positions.size();
        if (part.results->anchors.empty())  // a read full of repeats has gigabytes of them
          part.results->anchors.swap(read->anchors);
        else
          part.results->anchors.insert(part.results->anchors.end(), read->anchors.begin(), read->anchors.end());
        part.results->seeds.insert(part.results->seeds.end(), read->seed_positions.begin(), read->seed_positions.end());
      }
      if (read->anchors.capacity() * sizeof(Anchor) + bases_bytes(*read) > largest_kept_bytes) read.discard();
      const std::lock_guard lock(mutex);
      parts.push_back(std::move(part));
    });

    const Buffer anchor_offsets = out.offsets([&](std::int64_t row) { return anchor_count[static_cast<std::size_t>(row)]; });
    const Buffer seed_offsets = out.offsets([&](std::int64_t row) { return seed_count[static_cast<std::size_t>(row)]; });
    const auto seeds = out.list<std::uint64_t>("seed_position", seed_offsets);
    const auto x = out.list<std::uint64_t>("anchor_x", anchor_offsets), y = out.list<std::uint64_t>("anchor_y", anchor_offsets);
    call.parallel_for(parts.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        FinishedPart& part = parts[i];
        auto at = static_cast<std::size_t>(anchor_offsets.as<std::int64_t>()[part.begin]);
        for (const Anchor& anchor : part.results->anchors) {
          x[at] = anchor.x;
          y[at++] = anchor.y;
        }
        std::copy(part.results->seeds.begin(), part.results->seeds.end(), seeds.begin() + seed_offsets.as<std::int64_t>()[part.begin]);
        if (part.results->anchors.capacity() * sizeof(Anchor) > largest_kept_bytes) part.results.discard();
      }
    });
  }

#ifdef SLUICE_WITH_CUDA
  void process_cuda(const Call& call, const Batch& in, Output& out) {
    using By = cuda::RowSeeds::By;
    const sluice::cuda::DeviceCall device(call);
    const auto rows = static_cast<std::size_t>(in.rows());
    const sluice::cuda::Text bases = device.text(in, "bases");
    const std::vector<std::int64_t> at = device.download(bases.offsets, rows + 1);
    const sluice::cuda::Memory row_status = device.row_status(in);
    std::vector<NameOrder::Place> places;
    if (order_.used()) {
      const sluice::cuda::HostText names(device, in, "read_id");
      for (std::size_t row = 0; row < rows; ++row) places.push_back(order_.place(names[row]));
    }
    std::vector<std::uint8_t> takes_absent;
    if (parts_)
      for (const NameOrder::Place& place : places) takes_absent.push_back(place.found ? 1 : 0);
    const sluice::cuda::Memory of_rows = device.upload(takes_absent);
    const cuda::DeviceReads reads{in.rows(),
                                  bases.offsets,
                                  bases.bytes,
                                  row_status.as<std::uint16_t>(),
                                  at.front(),
                                  static_cast<std::uint64_t>(at.back() - at.front()),
                                  parts_ ? of_rows.as<std::uint8_t>() : nullptr};
    const std::shared_ptr<const IndexPart> index_part =
        part_of(call, in, [&] { return device.download(device.column<std::int32_t>(in, "index_part"), rows); });
    const MinimizerIndexView& host_index = index_part ? index_part->view : index_;
    const std::shared_ptr<const DeviceIndex> on_device =
        indexes_.get(device.ordinal(), index_part ? index_part->part : 0, [&] { return DeviceIndex(device, host_index, order_, parameters_); });
    const DeviceIndex& index = *on_device;
    std::vector<sluice::cuda::Memory> memory;  // until the device has done all
    cuda::DeviceSeeding seeding(reads, index.tables, parameters_, launch(device, memory));
    std::vector<cuda::RowSeeds> found = seeding.find_seeds();

    std::vector<std::size_t> by_host;
    for (std::size_t row = 0; row < rows; ++row) {
      if (found[row].by == By::device && found[row].anchors > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max())) {
        out.fail(static_cast<std::int64_t>(row), Reason::too_many_anchors);
        found[row] = {.by = By::nobody};
      }
      if (found[row].by == By::host) by_host.push_back(row);
    }
    HostRows host_rows;
    find_on_host(call, device, in, host_index, by_host, out, found, host_rows);
    if (!index.filter.keeps_all()) {
      cuda::DeviceAnchorFilter filter = index.filter;
      if (order_.used()) filter.read_place = memory.emplace_back(device.upload(places)).as<NameOrder::Place>();
      seeding.choose_anchors(filter, found);
    }

    cuda::ColumnOffsets offsets{std::vector<std::int64_t>(rows + 1), std::vector<std::int64_t>(rows + 1)};
    const auto read_length = out.column<std::int32_t>("read_length"), repeat_length = out.column<std::int32_t>("repeat_length");
    for (std::size_t row = 0; row < rows; ++row) {
      offsets.seeds[row + 1] = offsets.seeds[row] + found[row].seeds;
      offsets.anchors[row + 1] = offsets.anchors[row] + static_cast<std::int64_t>(found[row].anchors);
      if (found[row].by != By::nobody) read_length[row] = static_cast<std::int32_t>(at[row + 1] - at[row]);
      repeat_length[row] = found[row].repeat_length;
    }
    const auto seed_count = offsets.seeds.back(), anchor_count = offsets.anchors.back();
    sluice::cuda::Memory seeds = device.allocate_array<std::uint64_t>(static_cast<std::size_t>(seed_count));
    sluice::cuda::Memory x = device.allocate_array<std::uint64_t>(static_cast<std::size_t>(anchor_count));
    sluice::cuda::Memory y = device.allocate_array<std::uint64_t>(static_cast<std::size_t>(anchor_count));
    const std::vector<std::int64_t> left = seeding.write(found, offsets, seeds.as<std::uint64_t>(), x.as<std::uint64_t>(), y.as<std::uint64_t>());
    find_on_host(call, device, in, host_index, {left.begin(), left.end()}, out, found, host_rows);
    host_rows.copy(device, offsets, seeds.as<std::uint64_t>(), x.as<std::uint64_t>(), y.as<std::uint64_t>());
    const sluice::cuda::Memory anchor_offsets = device.upload(offsets.anchors);
    device.add_list<std::uint64_t>(out, "seed_position", device.upload(offsets.seeds), std::move(seeds), seed_count);
    device.add_list<std::uint64_t>(out, "anchor_x", anchor_offsets, std::move(x), anchor_count);
    device.add_list<std::uint64_t>(out, "anchor_y", anchor_offsets, std::move(y), anchor_count);
    device.synchronize();  // `offsets` and `memory` end here
  }
#endif

 private:
  // Limits of occurrences are those of all parts. What lies between them in minimap2's rule has positions in all parts, which no table has.
  void look_up_in_parts() {
    if (parameters_.occ_dist > 0 && parameters_.max_max_occ > parameters_.mid_occ)
      throw Failure::usage("occ_dist looks at all positions of frequent minimizers, but the index comes in parts",
                           "give occ_dist 0, or raise part_bases");
    if (parameters_.mid_occ < static_cast<std::int32_t>(frequent_above))
      throw Failure::usage("f and min_occ leave out minimizers of " + std::to_string(parameters_.mid_occ) +
                               " positions, but the index comes in parts, which know those of more than " + std::to_string(frequent_above),
                           "raise min_occ or part_bases");
    parameters_.ties = Ties::place;
    parts_ = std::make_unique<IndexParts>(index_, parameters_.mid_occ, kernels_);
  }
  // The part that the batch is looked up in; none: there is one table. parts_of_rows(): the column.
  template <class Column>
  std::shared_ptr<const IndexPart> part_of(const Call& call, const Batch& in, const Column& parts_of_rows) {
    if (!parts_) return nullptr;
    if (!in.has("index_part"))
      throw Failure::usage("minimizer_seeding: the index comes in parts, but the reads do not",
                           "read them with stored_reads, which is given the index, or let part_bases be 0");
    const auto part = parts_of_rows();
    for (const std::int32_t p : part)
      if (p < 0 || p != part[0]) throw Failure::input("a batch of reads is for several parts of the index");
    return parts_->get(part.empty() ? 0 : static_cast<std::size_t>(part[0]), call);
  }

#ifdef SLUICE_WITH_CUDA
  static cuda::Launch launch(const sluice::cuda::DeviceCall& device, std::vector<sluice::cuda::Memory>& memory) {
    cuda::Launch launch{.stream = device.stream()};
    int shared_bytes = 0;
    sluice::cuda::check(cudaDeviceGetAttribute(&launch.multiprocessors, cudaDevAttrMultiProcessorCount, device.ordinal()), "cudaDeviceGetAttribute");
    sluice::cuda::check(cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device.ordinal()), "cudaDeviceGetAttribute");
    launch.block_shared_bytes = static_cast<std::size_t>(shared_bytes);
    launch.allocate = [&device, &memory](std::size_t bytes) { return memory.emplace_back(device.allocate(bytes)).get(); };
    return launch;
  }

  // Rows of a device's batch that the device leaves to the host.
  void find_on_host(const Call& call, const sluice::cuda::DeviceCall& device, const Batch& in, const MinimizerIndexView& index,
                    const std::vector<std::size_t>& rows, Output& out, std::vector<cuda::RowSeeds>& found, HostRows& results) {
    if (rows.empty()) return;
    const sluice::cuda::HostText bases(device, in, "bases"), names(device, in, "read_id");
    std::mutex mutex;  // guards results
    call.parallel_for(rows.size(), 1, [&](std::size_t begin, std::size_t end) {
      auto read = reads_.take();
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t row = rows[i];
        const Absent absent = parts_ && order_.place(names[row]).found ? Absent::seed : Absent::no_seed;
        find_anchors(index, parameters_, order_, names[row], bases[row], kernels_, *read, absent);
        if (read->too_many_anchors) {
          out.fail(static_cast<std::int64_t>(row), Reason::too_many_anchors);
          found[row] = {.by = cuda::RowSeeds::By::nobody};
          continue;
        }
        found[row] = {.anchors = read->anchors.size(),
                      .seeds = static_cast<std::uint32_t>(read->seed_positions.size()),
                      .repeat_length = read->repeat_length,
                      .by = cuda::RowSeeds::By::host};
        HostRows::Row result{static_cast<std::int64_t>(row), read->seed_positions, {}, {}};
        for (const Anchor& anchor : read->anchors) {
          result.anchor_x.push_back(anchor.x);
          result.anchor_y.push_back(anchor.y);
        }
        const std::lock_guard lock(mutex);
        results.add(std::move(result));
      }
      if (read->anchors.capacity() * sizeof(Anchor) + bases_bytes(*read) > largest_kept_bytes) read.discard();
    });
  }
#endif

  // Anchors and seeds of consecutive rows, until the sizes of the columns are known.
  struct Results {
    std::vector<Anchor> anchors;
    std::vector<std::uint64_t> seeds;
    void clear() {
      anchors.clear();
      seeds.clear();
    }
  };
  struct FinishedPart {
    std::size_t begin, end;
    Workspaces<Results>::Lease results;
  };
  static std::size_t bases_bytes(const ReadSeeds& read) {
    return read.sketch.words.capacity() * 8 + read.minimizers.capacity() * sizeof(Minimizer) + read.seeds.capacity() * sizeof(Seed);
  }

  MinimizerIndexView index_;
  SketchKernels kernels_;
  SeedingParameters parameters_;
  NameOrder order_;
  std::unique_ptr<IndexParts> parts_;  // none: the index has a table
  Workspaces<ReadSeeds> reads_;
  Workspaces<Results> results_;
#ifdef SLUICE_WITH_CUDA
  DeviceIndexes indexes_;
#endif
};

}  // namespace
}  // namespace sluice::minimizer_seeding

SLUICE_PLUGIN("minimizer_seeding", "0.1.0", "MIT", sluice::minimizer_seeding::MinimizerSeeding);
