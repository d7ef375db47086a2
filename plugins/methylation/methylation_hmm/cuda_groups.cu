// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Groups of sites and their events for all rows of a batch: site_groups.cpp and group_events.cpp on a CUDA device.
//
// The groups of the reference are listed once. A row then needs two binary searches for the groups under it, and a warp to turn its CIGAR into
// aligned blocks by prefix sums; after that every group of every row is a thread of its own.

#include <cub/block/block_scan.cuh>
#include <sluice/cuda/warp.cuh>
#include <vector>

#include "methylation_hmm/cuda.hpp"

namespace sluice::methylation_hmm::cuda {
namespace {

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xFFFFFFFFU;
constexpr std::size_t kAlignment = 256;
constexpr std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// ---- Prefix sums -------------------------------------------------------------------------------------------------------

constexpr int kScanThreads = 1024;

// Replaces `count` numbers by the sums of those before each; values[count] becomes the sum of all. One block.
__global__ void __launch_bounds__(kScanThreads) scan(std::int64_t* values, std::int64_t count) {
  using Scan = cub::BlockScan<std::int64_t, kScanThreads>;
  __shared__ typename Scan::TempStorage storage;
  std::int64_t before = 0;
  for (std::int64_t begin = 0; begin < count; begin += kScanThreads) {
    const std::int64_t at = begin + threadIdx.x;
    std::int64_t sum = 0;
    std::int64_t all = 0;
    Scan(storage).ExclusiveSum(at < count ? values[at] : 0, sum, all);
    __syncthreads();
    if (at < count) values[at] = before + sum;
    before += all;
  }
  if (threadIdx.x == 0) values[count] = before;
}

// First index in [0, count) for which `is_behind(index)` holds, or count; it holds for all that follow.
template <class IsBehind>
__device__ std::int64_t partition_point(std::int64_t count, const IsBehind& is_behind) {
  std::int64_t first = 0;
  while (count > 0) {
    const std::int64_t half = count / 2;
    if (is_behind(first + half)) {
      count = half;
    } else {
      first += half + 1;
      count -= half + 1;
    }
  }
  return first;
}

// ---- The reference -----------------------------------------------------------------------------------------------------

constexpr int kListThreads = 256;
constexpr std::int64_t kBasesPerThread = 64;
constexpr std::int64_t kBasesPerPart = kListThreads * kBasesPerThread;

std::int64_t parts_of(const Reference& reference) { return (reference.bytes + kBasesPerPart - 1) / kBasesPerPart; }

// Is `at` a site without another one up to group_reach bases before it?
__device__ bool begins_group(const Reference& reference, const MotifSites& sites, std::int64_t at) {
  if (at + sites.length > reference.bytes || !is_motif_site(reference.bases + at, sites)) return false;
  const std::int64_t reach = group_reach(sites);
  for (std::int64_t before = at > reach ? at - reach : 0; before < at; ++before) {
    if (is_motif_site(reference.bases + before, sites)) return false;
  }
  return true;
}

__device__ std::int64_t first_base_of_thread() { return blockIdx.x * kBasesPerPart + threadIdx.x * kBasesPerThread; }

__device__ std::int64_t count_groups_of_thread(const Reference& reference, const MotifSites& sites) {
  const std::int64_t begin = first_base_of_thread();
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < kBasesPerThread; ++i) count += begins_group(reference, sites, begin + i) ? 1 : 0;
  return count;
}

using ListScan = cub::BlockScan<std::int64_t, kListThreads>;

__global__ void __launch_bounds__(kListThreads) count_groups(Reference reference, Strand strand, std::int64_t* counts) {
  __shared__ typename ListScan::TempStorage storage;
  std::int64_t before = 0;
  std::int64_t all = 0;
  ListScan(storage).ExclusiveSum(count_groups_of_thread(reference, reference.sites[static_cast<int>(strand)]), before, all);
  if (threadIdx.x == 0) counts[blockIdx.x] = all;
}

__global__ void __launch_bounds__(kListThreads)
    list_groups(Reference reference, Strand strand, const std::int64_t* offsets, std::int64_t* group_begin) {
  __shared__ typename ListScan::TempStorage storage;
  const MotifSites& sites = reference.sites[static_cast<int>(strand)];
  std::int64_t before = 0;
  ListScan(storage).ExclusiveSum(count_groups_of_thread(reference, sites), before);
  std::int64_t to = offsets[blockIdx.x] + before;
  const std::int64_t begin = first_base_of_thread();
  for (std::int64_t i = 0; i < kBasesPerThread; ++i) {
    if (begins_group(reference, sites, begin + i)) group_begin[to++] = begin + i;
  }
}

// ---- Rows --------------------------------------------------------------------------------------------------------------

// A run of aligned bases, cut to the read positions k .. read length - k - 1.
struct AlignedBlock {
  std::int64_t reference_offset;  // from ref_start
  std::int32_t read_position;     // on the BAM orientation
  std::int32_t length;
};

struct RowWorkspace {
  AlignedBlock* blocks;       // those of a row begin at cigar_offsets[row]
  std::int64_t* block_count;  // by row
  std::int64_t* first_group;  // by row: index into Reference::group_begin
};

RowWorkspace divide(void* memory, std::uint32_t rows, std::int64_t cigar_operations) {
  auto* at = static_cast<std::byte*>(memory);
  RowWorkspace workspace;
  workspace.blocks = reinterpret_cast<AlignedBlock*>(at);
  at += aligned(sizeof(AlignedBlock) * static_cast<std::size_t>(cigar_operations));
  workspace.block_count = reinterpret_cast<std::int64_t*>(at);
  at += aligned(sizeof(std::int64_t) * rows);
  workspace.first_group = reinterpret_cast<std::int64_t*>(at);
  return workspace;
}

// event_at of group_events.cpp.
struct EventMap {
  const std::int32_t* first_event;
  std::int64_t kmers;
  std::int64_t read_length;
  std::int64_t k;
  bool reverse;

  __device__ std::int32_t at(std::int64_t read_position) const {
    return nearest_event({first_event, static_cast<std::size_t>(kmers)}, reverse ? read_length - read_position - k : read_position);
  }
};

__device__ EventMap event_map(const Alignments& alignments, std::uint32_t row, std::uint32_t k) {
  const std::int64_t begin = alignments.map_offsets[row];
  return {alignments.first_event + begin, alignments.map_offsets[row + 1] - begin, alignments.bases_offsets[row + 1] - alignments.bases_offsets[row],
          static_cast<std::int64_t>(k), alignments.is_reverse[row] != 0};
}

// list_aligned_blocks of group_events.cpp, by one warp.
__device__ RowStatus list_aligned_blocks(const Alignments& alignments, std::uint32_t row, std::uint32_t k, HardClips hard_clips,
                                         std::int64_t read_length, AlignedBlock* blocks, std::int64_t& block_count) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t lowest = k;
  const std::int64_t read_end = read_length - k;
  const std::int64_t end = alignments.cigar_offsets[row + 1];
  std::int64_t reference_offset = 0;
  std::int64_t read_position = 0;
  block_count = 0;
  for (std::int64_t begin = alignments.cigar_offsets[row]; begin < end; begin += kWarp) {
    const std::uint32_t word = begin + lane < end ? alignments.cigar[begin + lane] : 0U;  // a match of no bases
    const std::uint32_t operation = word & 0xFU;
    const std::int64_t length = word >> 4U;
    const bool is_aligned = operation == 0 || operation == 7 || operation == 8;
    const bool on_reference = is_aligned || operation == 2;
    const bool on_read = is_aligned || operation == 1 || operation == 4 || (operation == 5 && hard_clips == HardClips::count);
    const unsigned failing = __ballot_sync(kAllLanes, operation == 3 || operation >= 9);
    if (failing != 0) {
      const std::uint32_t first = __shfl_sync(kAllLanes, operation, __ffs(static_cast<int>(failing)) - 1);
      return first == 3 ? RowStatus::reference_skip : RowStatus::bad_cigar;
    }
    const std::int64_t reference_sum = sluice::cuda::inclusive_sum_over_warp(on_reference ? length : 0, lane);
    const std::int64_t read_sum = sluice::cuda::inclusive_sum_over_warp(on_read ? length : 0, lane);
    const std::int64_t position = read_position + read_sum - (on_read ? length : 0);
    const std::int64_t skipped = position < lowest ? lowest - position : 0;
    const std::int64_t within = length < read_end - position ? length : read_end - position;
    const std::int64_t kept = is_aligned ? within - skipped : 0;
    const unsigned keeping = __ballot_sync(kAllLanes, kept > 0);
    if (kept > 0) {
      blocks[block_count + __popc(keeping & ((1U << lane) - 1U))] = {reference_offset + reference_sum - length + skipped,
                                                                     static_cast<std::int32_t>(position + skipped), static_cast<std::int32_t>(kept)};
    }
    block_count += __popc(keeping);
    reference_offset += __shfl_sync(kAllLanes, reference_sum, kWarp - 1);
    read_position += __shfl_sync(kAllLanes, read_sum, kWarp - 1);
  }
  return block_count == 0 ? RowStatus::no_aligned_events : RowStatus::ok;
}

// Which of the lists that there are for reads of either strand.
__device__ int strand_of(const Alignments& alignments, std::uint32_t row) { return alignments.is_reverse[row] != 0 ? 1 : 0; }

// The segment under a row, its end inclusive and cut at the contig's.
struct Segment {
  std::int64_t begin;  // into Reference::bases
  std::int64_t last;   // before `begin` when there is none
};
__device__ Segment segment_of(const Alignments& alignments, const Reference& reference, std::uint32_t row) {
  const std::int64_t contig = reference.contig_begin[alignments.contig[row]];
  const std::int64_t last_of_contig = reference.contig_begin[alignments.contig[row] + 1] - 2;
  const std::int64_t last = contig + alignments.ref_end[row];
  return {contig + alignments.ref_start[row], last < last_of_contig ? last : last_of_contig};
}

__device__ RowStatus align_row(const Alignments& alignments, const Reference& reference, std::uint32_t row, std::uint32_t k, HardClips hard_clips,
                               const RowWorkspace& workspace) {
  if (alignments.row_status != nullptr && alignments.row_status[row] != 0) return RowStatus::skipped;
  const std::int32_t contig = alignments.contig[row];
  if (contig < 0 || contig >= reference.contigs) return RowStatus::contig_not_in_reference;
  const std::int64_t start = alignments.ref_start[row];
  const std::int64_t end = alignments.ref_end[row];
  if (start < 0 || end < start || end > reference.contig_begin[contig + 1] - reference.contig_begin[contig] - 1) return RowStatus::outside_contig;
  const EventMap map = event_map(alignments, row, k);
  if (map.read_length < k || map.read_length > 0x7FFFFFFF || map.kmers != map.read_length - k + 1) return RowStatus::bad_base_to_event_map;
  AlignedBlock* const blocks = workspace.blocks + alignments.cigar_offsets[row];
  std::int64_t block_count = 0;
  if (const RowStatus status = list_aligned_blocks(alignments, row, k, hard_clips, map.read_length, blocks, block_count); status != RowStatus::ok)
    return status;
  __syncwarp();  // the blocks are other lanes'
  if (threadIdx.x % kWarp == 0) workspace.block_count[row] = block_count;
  const AlignedBlock last = blocks[block_count - 1];
  return map.at(blocks[0].read_position) == map.at(last.read_position + last.length - 1) ? RowStatus::degenerate : RowStatus::ok;
}

constexpr int kRowThreads = 128;

// One warp a row.
__global__ void __launch_bounds__(kRowThreads) align(Alignments alignments, Reference reference, std::uint32_t k, HardClips hard_clips,
                                                     RowWorkspace workspace, RowStatus* statuses, std::int64_t* group_counts, RowTotals* totals) {
  const std::uint32_t row = (blockIdx.x * blockDim.x + threadIdx.x) / kWarp;
  if (row >= alignments.count) return;
  const RowStatus status = align_row(alignments, reference, row, k, hard_clips, workspace);
  if (threadIdx.x % kWarp != 0) return;
  statuses[row] = status;
  std::int64_t groups = 0;
  if (status == RowStatus::ok) {
    // Groups that begin within the flank and the reach behind the first base are not called; the last one needs its whole first site in the segment.
    const Segment segment = segment_of(alignments, reference, row);
    const int strand = strand_of(alignments, row);
    const MotifSites& sites = reference.sites[strand];
    const GroupList& list = reference.groups[strand];
    const std::int64_t begin = segment.begin + kGroupFlank + group_reach(sites);
    const std::int64_t first = partition_point(list.count, [&](std::int64_t i) { return list.begin[i] > begin; });
    const std::int64_t end = partition_point(list.count, [&](std::int64_t i) { return list.begin[i] + sites.length > segment.last + 1; });
    workspace.first_group[row] = first;
    groups = end > first ? end - first : 0;
    const std::int64_t events = alignments.event_offsets[row + 1] - alignments.event_offsets[row];
    atomicMax(reinterpret_cast<unsigned long long*>(&totals->longest_read_events), static_cast<unsigned long long>(events));
  }
  group_counts[row] = groups;
}

__global__ void copy_total(const std::int64_t* group_offsets, std::uint32_t rows, RowTotals* totals) { totals->groups = group_offsets[rows]; }

// ---- Problems ----------------------------------------------------------------------------------------------------------

// A bound of a group: the event at the first aligned base at or after an offset from ref_start.
struct Bound {
  bool inside;
  std::int32_t event;
};
__device__ Bound find_bound(const AlignedBlock* blocks, std::int64_t block_count, const EventMap& map, std::int64_t offset) {
  const std::int64_t at = partition_point(block_count, [&](std::int64_t i) { return blocks[i].reference_offset + blocks[i].length > offset; });
  if (at == block_count) return {false, -1};
  const AlignedBlock block = blocks[at];
  const std::int64_t behind = offset > block.reference_offset ? offset - block.reference_offset : 0;
  return {true, map.at(block.read_position + behind)};
}

constexpr int kGroupThreads = 256;

__global__ void __launch_bounds__(kGroupThreads)
    locate(Alignments alignments, Reference reference, std::uint32_t k, SiteRegion region, RowWorkspace workspace, const std::int64_t* group_offsets,
           std::uint32_t group_count, Groups groups) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * kGroupThreads + threadIdx.x;
  if (index >= group_count) return;
  const auto row = static_cast<std::uint32_t>(partition_point(alignments.count, [&](std::int64_t i) { return group_offsets[i + 1] > index; }));
  const Segment segment = segment_of(alignments, reference, row);
  const int strand = strand_of(alignments, row);
  const std::int64_t first_site = reference.groups[strand].begin[workspace.first_group[row] + (index - group_offsets[row])];
  const MotifSites& sites = reference.sites[strand];
  const std::int64_t reach = group_reach(sites);

  std::int64_t last_site = first_site;
  std::int32_t site_count = 1;
  for (std::int64_t at = first_site + sites.length;
       at <= last_site + reach && at + sites.length <= segment.last + 1 && last_site - first_site <= kMaximumGroupSpan;) {
    if (is_motif_site(reference.bases + at, sites)) {
      last_site = at;
      ++site_count;
      at += sites.length;
    } else {
      ++at;
    }
  }

  const auto is_called = [&](std::int32_t& first_event, std::int32_t& last_event) {
    if (last_site - first_site > kMaximumGroupSpan) return false;
    const std::int64_t contig = reference.contig_begin[alignments.contig[row]];
    const bool in_region =
        region.contig < 0 || (region.contig == alignments.contig[row] && first_site - contig >= region.start && last_site - contig < region.end);
    if (!in_region) return false;
    const AlignedBlock* const blocks = workspace.blocks + alignments.cigar_offsets[row];
    const std::int64_t block_count = workspace.block_count[row];
    const EventMap map = event_map(alignments, row, k);
    const std::int64_t start = first_site - kGroupFlank - segment.begin;
    if (start < blocks[0].reference_offset) return false;
    const Bound at_start = find_bound(blocks, block_count, map, start);
    const Bound at_end = find_bound(blocks, block_count, map, last_site + reach - segment.begin);
    if (!at_start.inside || !at_end.inside || at_start.event < 0 || at_end.event < 0) return false;
    first_event = at_start.event;
    last_event = at_end.event;
    const std::int64_t distance = static_cast<std::int64_t>(last_event) - first_event;
    return (distance < 0 ? -distance : distance) > kMinimumEventDistance && (distance > 0) != map.reverse;
  };
  std::int32_t first_event = 0;
  std::int32_t last_event = 0;
  const bool called = is_called(first_event, last_event);
  const std::int64_t begin = first_site - kGroupFlank;
  const std::int64_t last = last_site + reach < segment.last ? last_site + reach : segment.last;
  groups.read[index] = row;
  groups.first_event[index] = first_event;
  groups.last_event[index] = last_event;
  groups.sequence_begin[index] = begin;
  groups.sequence_length[index] = called ? static_cast<std::int32_t>(last - begin + 1) : -1;
  groups.site_span[index] = static_cast<std::int32_t>(last_site - first_site);
  groups.site_count[index] = site_count;
}

// ---- Called groups -----------------------------------------------------------------------------------------------------

__device__ bool is_located(const Groups& groups, std::int64_t index) { return groups.sequence_length[index] >= 0; }
__device__ bool is_kept(const Groups& groups, const Scores& scores, Unscored unscored, std::int64_t index) {
  return is_located(groups, index) && (unscored == Unscored::kept || scores.status[index] == ScoreStatus::ok);
}

// One warp a row.
__global__ void __launch_bounds__(kRowThreads) count_kept(std::uint32_t rows, const std::int64_t* group_offsets, Groups groups, Scores scores,
                                                          Unscored unscored, std::int64_t* counts, CalledTotals* totals) {
  const std::uint32_t row = (blockIdx.x * blockDim.x + threadIdx.x) / kWarp;
  if (row >= rows) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t end = group_offsets[row + 1];
  std::int64_t kept = 0;
  std::int64_t left_out = 0;
  for (std::int64_t begin = group_offsets[row]; begin < end; begin += kWarp) {
    const std::int64_t index = begin + lane;
    const bool located = index < end && is_located(groups, index);
    const unsigned keeping = __ballot_sync(kAllLanes, located && is_kept(groups, scores, unscored, index));
    kept += __popc(keeping);
    left_out += __popc(__ballot_sync(kAllLanes, located)) - __popc(keeping);
  }
  if (lane != 0) return;
  counts[row] = kept;
  if (left_out > 0) atomicAdd(reinterpret_cast<unsigned long long*>(&totals->not_scored), static_cast<unsigned long long>(left_out));
}

__global__ void copy_called(const std::int64_t* offsets, std::uint32_t rows, CalledTotals* totals) { totals->called = offsets[rows]; }

__global__ void __launch_bounds__(kRowThreads) gather(Alignments alignments, Reference reference, const std::int64_t* group_offsets, Groups groups,
                                                      Scores scores, Unscored unscored, const std::int64_t* offsets, CalledGroups called) {
  const std::uint32_t row = (blockIdx.x * blockDim.x + threadIdx.x) / kWarp;
  if (row >= alignments.count) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t end = group_offsets[row + 1];
  std::int64_t to = offsets[row];
  for (std::int64_t begin = group_offsets[row]; begin < end; begin += kWarp) {
    const std::int64_t index = begin + lane;
    const bool kept = index < end && is_kept(groups, scores, unscored, index);
    const unsigned keeping = __ballot_sync(kAllLanes, kept);
    if (kept) {
      const std::int64_t at = to + __popc(keeping & ((1U << lane) - 1U));
      const std::int64_t first_site = groups.sequence_begin[index] + kGroupFlank - reference.contig_begin[alignments.contig[row]];
      called.site_start[at] = first_site;
      called.site_end[at] = first_site + groups.site_span[index];
      called.site_motifs[at] = groups.site_count[index];
      called.log_lik_methylated[at] = scores.log_lik_methylated[index];
      called.log_lik_unmethylated[at] = scores.log_lik_unmethylated[index];
    }
    to += __popc(keeping);
  }
}

unsigned blocks_for_rows(std::uint32_t rows) { return (rows + kRowThreads / kWarp - 1) / (kRowThreads / kWarp); }

}  // namespace

std::size_t reference_bytes(std::span<const std::string_view> contigs) {
  std::size_t bytes = 0;
  for (const std::string_view contig : contigs) bytes += contig.size() + 1;
  return aligned(bytes) + aligned(sizeof(std::int64_t) * (contigs.size() + 1)) + 2 * sizeof(MotifSites);
}

cudaError_t upload_reference(std::span<const std::string_view> contigs, const Motif& motif, void* memory, cudaStream_t stream, Reference& reference) {
  auto* const bases = static_cast<char*>(memory);
  std::vector<std::int64_t> begin{0};
  for (const std::string_view contig : contigs) begin.push_back(begin.back() + static_cast<std::int64_t>(contig.size()) + 1);
  if (const cudaError_t error = cudaMemsetAsync(bases, 0, static_cast<std::size_t>(begin.back()), stream); error != cudaSuccess) return error;
  for (std::size_t i = 0; i < contigs.size(); ++i) {
    if (contigs[i].empty()) continue;
    const cudaError_t error = cudaMemcpyAsync(bases + begin[i], contigs[i].data(), contigs[i].size(), cudaMemcpyHostToDevice, stream);
    if (error != cudaSuccess) return error;
  }
  auto* const contig_begin = reinterpret_cast<std::int64_t*>(bases + aligned(static_cast<std::size_t>(begin.back())));
  if (const cudaError_t error = cudaMemcpyAsync(contig_begin, begin.data(), begin.size() * sizeof(std::int64_t), cudaMemcpyHostToDevice, stream);
      error != cudaSuccess) {
    return error;
  }
  const MotifSites both[] = {motif.forward, motif.reverse};
  auto* const sites = reinterpret_cast<MotifSites*>(reinterpret_cast<std::byte*>(contig_begin) + aligned(begin.size() * sizeof(std::int64_t)));
  if (const cudaError_t error = cudaMemcpyAsync(sites, both, sizeof both, cudaMemcpyHostToDevice, stream); error != cudaSuccess) return error;
  reference = {bases, begin.back(), contig_begin, static_cast<std::int32_t>(contigs.size()), sites, {}};
  return cudaStreamSynchronize(stream);
}

std::size_t reference_group_workspace_bytes(const Reference& reference) {
  return sizeof(std::int64_t) * (static_cast<std::size_t>(parts_of(reference)) + 1);
}

cudaError_t count_reference_groups(const Reference& reference, Strand strand, void* workspace, const std::int64_t*& total, cudaStream_t stream) {
  auto* const counts = static_cast<std::int64_t*>(workspace);
  const std::int64_t parts = parts_of(reference);
  total = counts + parts;
  if (parts > 0) count_groups<<<static_cast<unsigned>(parts), kListThreads, 0, stream>>>(reference, strand, counts);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  scan<<<1, kScanThreads, 0, stream>>>(counts, parts);
  return cudaGetLastError();
}

cudaError_t list_reference_groups(const Reference& reference, Strand strand, const void* workspace, std::int64_t* group_begin, cudaStream_t stream) {
  const std::int64_t parts = parts_of(reference);
  if (parts > 0)
    list_groups<<<static_cast<unsigned>(parts), kListThreads, 0, stream>>>(reference, strand, static_cast<const std::int64_t*>(workspace),
                                                                           group_begin);
  return cudaGetLastError();
}

std::size_t aligned_rows_workspace_bytes(std::uint32_t rows, std::int64_t cigar_operations) {
  return aligned(sizeof(AlignedBlock) * static_cast<std::size_t>(cigar_operations)) + 2 * aligned(sizeof(std::int64_t) * rows);
}

cudaError_t align_rows(const Alignments& alignments, std::int64_t cigar_operations, const Reference& reference, std::uint32_t k, HardClips hard_clips,
                       const AlignedRows& rows, cudaStream_t stream) {
  if (k == 0) return cudaErrorInvalidValue;
  if (const cudaError_t error = cudaMemsetAsync(rows.totals, 0, sizeof(RowTotals), stream); error != cudaSuccess) return error;
  if (alignments.count > 0) {
    align<<<blocks_for_rows(alignments.count), kRowThreads, 0, stream>>>(alignments, reference, k, hard_clips,
                                                                         divide(rows.workspace, alignments.count, cigar_operations), rows.status,
                                                                         rows.group_offsets, rows.totals);
    if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  }
  scan<<<1, kScanThreads, 0, stream>>>(rows.group_offsets, alignments.count);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  copy_total<<<1, 1, 0, stream>>>(rows.group_offsets, alignments.count, rows.totals);
  return cudaGetLastError();
}

cudaError_t locate_groups(const Alignments& alignments, std::int64_t cigar_operations, const Reference& reference, std::uint32_t k,
                          const SiteRegion& region, const AlignedRows& rows, std::uint32_t group_count, const Groups& groups, cudaStream_t stream) {
  if (group_count == 0) return cudaSuccess;
  locate<<<(group_count - 1) / kGroupThreads + 1, kGroupThreads, 0, stream>>>(
      alignments, reference, k, region, divide(rows.workspace, alignments.count, cigar_operations), rows.group_offsets, group_count, groups);
  return cudaGetLastError();
}

cudaError_t count_called(const Alignments& alignments, const AlignedRows& rows, const Groups& groups, const Scores& scores, Unscored unscored,
                         std::int64_t* offsets, CalledTotals* totals, cudaStream_t stream) {
  if (const cudaError_t error = cudaMemsetAsync(totals, 0, sizeof(CalledTotals), stream); error != cudaSuccess) return error;
  if (alignments.count > 0) {
    count_kept<<<blocks_for_rows(alignments.count), kRowThreads, 0, stream>>>(alignments.count, rows.group_offsets, groups, scores, unscored, offsets,
                                                                              totals);
    if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  }
  scan<<<1, kScanThreads, 0, stream>>>(offsets, alignments.count);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  copy_called<<<1, 1, 0, stream>>>(offsets, alignments.count, totals);
  return cudaGetLastError();
}

cudaError_t gather_called(const Alignments& alignments, const Reference& reference, const AlignedRows& rows, const Groups& groups,
                          const Scores& scores, Unscored unscored, const std::int64_t* offsets, const CalledGroups& called, cudaStream_t stream) {
  if (alignments.count == 0) return cudaSuccess;
  gather<<<blocks_for_rows(alignments.count), kRowThreads, 0, stream>>>(alignments, reference, rows.group_offsets, groups, scores, unscored, offsets,
                                                                        called);
  return cudaGetLastError();
}

}  // namespace sluice::methylation_hmm::cuda
