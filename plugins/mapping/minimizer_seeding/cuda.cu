// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The steps of a batch one after the other, and what the host has to know between them.

#include <algorithm>
#include <bit>
#include <sluice/cuda.hpp>
#include <utility>

#include "minimizer_seeding/cuda.hpp"
#include "minimizer_seeding/cuda_batch.cuh"
#include "minimizer_seeding/cuda_steps.hpp"

namespace sluice::minimizer_seeding::cuda {

using sluice::cuda::check;

DeviceTables table_sizes(const MinimizerIndexView& index) {
  DeviceTables tables;
  tables.home_lines = index.home_lines;
  tables.k = index.k;
  tables.w = index.w;
  std::uint32_t longest = 0;
  for (const std::int32_t length : index.contig_length) longest = std::max(longest, static_cast<std::uint32_t>(length));
  tables.contig_bits = static_cast<std::uint32_t>(std::bit_width(index.contigs()));
  tables.place_bits = static_cast<std::uint32_t>(std::bit_width(longest));
  return tables;
}

bool seeds_on_device(const MinimizerIndexView& index) {
  const DeviceTables tables = table_sizes(index);
  return !index.homopolymer_compressed && index.k % 2 != 0 && tables.contig_bits + tables.place_bits <= most_place_bits;
}

struct DeviceSeeding::State {
  DeviceReads reads;
  DeviceTables tables;
  SeedingParameters parameters;
  Launch launch;
  std::uint64_t minimizers = 0, tied_rows = 0;
  Sketch sketch;
  MinimizerSeeds seeds;
  UsedSeeds used;
  DeviceAnchorFilter filter;
  std::uint32_t* tile_kept = nullptr;  // null: all anchors are

  std::size_t rows() const { return static_cast<std::size_t>(reads.rows); }
  template <class T>
  T* allocate(std::size_t count) {
    return static_cast<T*>(launch.allocate(count * sizeof(T)));
  }
  // `values` has to live until the next wait.
  template <class T>
  T* upload(const std::vector<T>& values) {
    T* const to = allocate<T>(values.size());
    if (!values.empty())
      check(cudaMemcpyAsync(to, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice, launch.stream), "copy to the device");
    return to;
  }
  template <class T>
  void download(const T* from, T* to, std::size_t count) {
    sluice::cuda::copy_to_host(to, from, count * sizeof(T), launch.stream);
  }
  void queued(cudaError_t error, const char* step) {
    check(error, step);
    if (launch.queued) launch.queued(step);
  }
  void wait() { check(cudaStreamSynchronize(launch.stream), "a kernel"); }
  void clear(void* memory, std::size_t bytes) { check(cudaMemsetAsync(memory, 0, bytes, launch.stream), "cudaMemsetAsync"); }
  void sum_up_counts(std::uint32_t* counts, std::uint64_t count) {
    std::size_t bytes = 0;
    check(sum_up(counts, count, nullptr, bytes, launch.stream), "sum_up");
    void* const space = launch.allocate(std::max<std::size_t>(bytes, 1));
    queued(sum_up(counts, count, space, bytes, launch.stream), "sum_up");
  }
  void list_seeds(const std::vector<RowSeeds>& row_seeds);
};

DeviceSeeding::DeviceSeeding(const DeviceReads& reads, const DeviceTables& tables, const SeedingParameters& parameters, Launch launch)
    : state_(std::make_unique<State>()) {
  state_->reads = reads;
  state_->tables = tables;
  state_->parameters = parameters;
  state_->launch = std::move(launch);
}
DeviceSeeding::~DeviceSeeding() = default;
std::uint64_t DeviceSeeding::minimizers() const { return state_->minimizers; }
std::uint64_t DeviceSeeding::tied_rows() const { return state_->tied_rows; }

std::vector<RowSeeds> DeviceSeeding::find_seeds() {
  State& s = *state_;
  std::vector<RowSeeds> result(s.rows());
  if (s.reads.bases > most_bases) throw Failure(SLUICE_ERROR_DEVICE_MEMORY, "a batch of more than 2^31 bases");
  if (s.rows() == 0) return result;
  const std::uint64_t tiles = tile_count(s.reads.bases);
  const cudaStream_t stream = s.launch.stream;
  s.sketch.packed = s.allocate<std::uint64_t>(packed_word_count(s.reads.bases));
  s.sketch.left_to_host = s.allocate<std::uint8_t>(s.rows());
  s.sketch.masks = s.allocate<std::uint32_t>(tiles * tile_masks);
  s.sketch.tile_first = s.allocate<std::uint32_t>(tiles + 1);
  s.sketch.row_first = s.allocate<std::uint32_t>(s.rows() + 1);
  s.queued(pack_reads(s.reads, s.sketch, stream), "pack_reads");
  if (tiles > 0) {
    s.queued(mark_minimizers(s.reads, s.tables, s.sketch, stream), "mark_minimizers");
    s.sum_up_counts(s.sketch.tile_first, tiles + 1);
  } else {
    s.clear(s.sketch.tile_first, sizeof(std::uint32_t));
  }
  std::uint32_t minimizers = 0;
  s.download(s.sketch.tile_first + tiles, &minimizers, 1);
  s.minimizers = minimizers;

  s.sketch.hash = s.allocate<std::uint64_t>(minimizers);
  s.sketch.place = s.allocate<std::uint32_t>(minimizers);
  s.seeds.value = s.allocate<std::uint64_t>(minimizers);
  s.seeds.place = s.allocate<std::uint32_t>(minimizers);
  s.seeds.state = s.allocate<std::uint8_t>(minimizers);
  s.seeds.streak_begin = s.allocate<std::uint32_t>(minimizers);
  s.seeds.rows = s.allocate<RowSeeds>(s.rows());
  s.clear(s.seeds.state, minimizers);
  s.queued(gather_minimizers(s.reads, s.tables, s.sketch, stream), "gather_minimizers");
  s.queued(find_repeated(s.reads, s.parameters, s.sketch, stream), "find_repeated");
  s.queued(look_up(s.tables, s.sketch, minimizers, s.seeds, stream), "look_up");
  s.queued(choose_seeds(s.reads, s.tables, s.parameters, s.sketch, s.seeds, stream), "choose_seeds");
  s.download(s.seeds.rows, result.data(), result.size());
  return result;
}

namespace {

// Places before each of the device's rows, and behind the last.
template <class Count>
std::vector<std::uint32_t> row_places(const std::vector<RowSeeds>& rows, const Count& count, std::uint64_t most) {
  std::vector<std::uint32_t> places(rows.size() + 1);
  std::uint64_t total = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    places[row] = static_cast<std::uint32_t>(total);
    if (rows[row].by == RowSeeds::By::device) total += count(rows[row]);
    if (total > most) throw Failure(SLUICE_ERROR_DEVICE_MEMORY, "a batch of more than 2^31 anchors");
  }
  places.back() = static_cast<std::uint32_t>(total);
  return places;
}

}  // namespace

void DeviceSeeding::State::list_seeds(const std::vector<RowSeeds>& row_seeds) {
  if (AnchorKeys(tables).bits_below_row() + static_cast<std::uint32_t>(std::bit_width(rows())) > 64)
    throw Failure(SLUICE_ERROR_DEVICE_MEMORY, "a batch of more rows than an anchor's key can number");
  const auto first = row_places(
      row_seeds, [](const RowSeeds& row) { return row.seeds; }, most_batch_anchors);
  const auto begin = row_places(
      row_seeds, [](const RowSeeds& row) { return row.anchors; }, most_batch_anchors);
  used.row_first = upload(first);
  used.row_begin = upload(begin);
  used.seeds = first.back();
  used.anchors = begin.back();
  used.value = allocate<std::uint64_t>(used.seeds);
  used.place = allocate<std::uint32_t>(used.seeds);
  used.tandem = allocate<std::uint8_t>(used.seeds);
  used.row = allocate<std::uint32_t>(used.seeds);
  used.begin = allocate<std::uint32_t>(std::size_t{used.seeds} + 1);
  if (!row_seeds.empty()) queued(list_used(reads, sketch, seeds, used, launch.stream), "list_used");
  wait();
}

void DeviceSeeding::choose_anchors(const DeviceAnchorFilter& filter, std::vector<RowSeeds>& rows) {
  State& s = *state_;
  s.filter = filter;
  s.list_seeds(rows);
  const std::uint64_t tiles = (std::uint64_t{s.used.anchors} + tile_anchors - 1) / tile_anchors;
  s.tile_kept = s.allocate<std::uint32_t>(tiles + 1);
  auto* const row_kept = s.allocate<unsigned long long>(rows.size());
  s.clear(row_kept, rows.size() * sizeof(unsigned long long));
  s.queued(count_kept(s.reads, s.tables, s.used, filter, s.tile_kept, row_kept, s.launch.stream), "count_kept");
  if (tiles > 0) s.sum_up_counts(s.tile_kept, tiles + 1);
  std::vector<unsigned long long> kept(rows.size());
  s.download(row_kept, kept.data(), kept.size());
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (rows[row].by == RowSeeds::By::device) rows[row].anchors = kept[row];
}

std::vector<std::int64_t> DeviceSeeding::write(const std::vector<RowSeeds>& rows, const ColumnOffsets& offsets, std::uint64_t* seed_position,
                                               std::uint64_t* anchor_x, std::uint64_t* anchor_y) {
  State& s = *state_;
  const cudaStream_t stream = s.launch.stream;
  if (rows.empty()) return {};
  if (s.tile_kept == nullptr) s.list_seeds(rows);
  const std::int64_t* const seed_offsets = s.upload(offsets.seeds);
  const std::int64_t* const anchor_offsets = s.upload(offsets.anchors);
  s.queued(write_seed_positions(s.tables, s.used, seed_offsets, seed_position, stream), "write_seed_positions");

  const auto row_first = row_places(
      rows, [](const RowSeeds& row) { return row.anchors; }, most_batch_anchors);
  Anchors anchors;
  anchors.row_first = s.upload(row_first);
  anchors.anchors = row_first.back();
  anchors.key = s.allocate<std::uint64_t>(anchors.anchors);
  anchors.y = s.allocate<std::uint64_t>(anchors.anchors);
  anchors.number = s.allocate<std::uint32_t>(anchors.anchors);
  anchors.sorted_key = s.allocate<std::uint64_t>(anchors.anchors);
  anchors.sorted_number = s.allocate<std::uint32_t>(anchors.anchors);
  s.queued(make_anchors(s.reads, s.tables, s.used, s.filter, s.tile_kept, anchors, stream), "make_anchors");
  if (anchors.anchors > 0) {
    std::size_t bytes = 0;
    check(sort_by_key(s.reads, s.tables, anchors, nullptr, bytes, stream), "sort_by_key");
    void* const space = s.launch.allocate(std::max<std::size_t>(bytes, 1));
    s.queued(sort_by_key(s.reads, s.tables, anchors, space, bytes, stream), "sort_by_key");
  }

  TiedRows tied;
  if (s.parameters.ties == Ties::place) {
    s.queued(write_anchors(s.tables, anchors, tied, anchor_offsets, anchor_x, anchor_y, stream), "write_anchors");
    s.wait();  // what was uploaded ends here
    return {};
  }
  set_most_anchors(s.launch.block_shared_bytes, tied);
  const std::size_t flag_bytes = s.rows() + 4;  // read as words
  tied.tied = s.allocate<std::uint8_t>(flag_bytes);
  tied.list = s.allocate<std::uint32_t>((order_classes + 1) * s.rows());
  tied.counts = s.allocate<std::uint32_t>(order_classes + 1);
  tied.order[0] = s.allocate<std::uint32_t>(anchors.anchors);
  tied.order[1] = s.allocate<std::uint32_t>(anchors.anchors);
  tied.place = s.allocate<std::uint32_t>(anchors.anchors);
  s.clear(tied.tied, flag_bytes);
  s.clear(tied.counts, (order_classes + 1) * sizeof(std::uint32_t));
  s.queued(find_tied_rows(s.reads, s.tables, anchors, tied, stream), "find_tied_rows");
  s.queued(order_tied_rows(s.reads, s.tables, anchors, tied, s.launch.multiprocessors, stream), "order_tied_rows");
  s.queued(write_anchors(s.tables, anchors, tied, anchor_offsets, anchor_x, anchor_y, stream), "write_anchors");

  std::vector<std::uint32_t> counts(order_classes + 1);
  s.download(tied.counts, counts.data(), counts.size());
  s.tied_rows = std::uint64_t{counts[0]} + counts[1] + counts[2];
  std::vector<std::uint32_t> left(counts.back());
  s.download(tied.list + order_classes * s.rows(), left.data(), left.size());
  std::sort(left.begin(), left.end());
  return {left.begin(), left.end()};
}

}  // namespace sluice::minimizer_seeding::cuda
