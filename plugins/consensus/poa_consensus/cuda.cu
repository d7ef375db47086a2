// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <numeric>
#include <sluice/cuda.hpp>
#include <vector>

#include "poa_consensus/cuda.hpp"
#include "poa_consensus/cuda_window.cuh"
#include "poa_consensus/scratch_shares.hpp"

namespace sluice::poa_consensus::cuda {
namespace {

using sluice::cuda::check;

constexpr int threads = 256;
constexpr int warps_of_block = 4;
constexpr std::uint32_t most_nodes = 65000;
constexpr std::int64_t most_letters_of_window = std::int64_t{1} << 28;
// Every letter counts in two edges, with up to 94; a consensus' score has 32 bits.
constexpr std::int64_t most_letters_with_qualities = ((std::int64_t{1} << 31) - 1) / (2 * 94);
constexpr std::uint32_t smallest_capacity = 64;  // nodes; every further capacity is twice the one before
constexpr std::uint32_t no_group = 255;

// Words of two columns that a lane has in the kernels.
__host__ __device__ constexpr int halves_of_width(int width) {
  constexpr int halves[WindowPlan::widths] = {1, 2, 3, 4, 6, 8, 12, 16};
  return halves[width];
}
static_assert(2 * 16 * warp_lanes - 1 == most_letters_of_sequence);

__host__ __device__ constexpr std::uint32_t nodes_of_capacity(int capacity) {
  const std::uint32_t nodes = smallest_capacity << capacity;
  return nodes < most_nodes ? nodes : most_nodes;
}

struct PlanMemory {
  std::uint32_t* key;
  std::uint32_t* window;
  std::uint32_t* windows_of_group;
  std::uint32_t* sequence_begin;
};

__device__ bool counts_fit(const std::int64_t* offsets, std::int64_t window, std::int64_t count, bool may_be_empty) {
  const std::int64_t values = offsets == nullptr ? 0 : offsets[window + 1] - offsets[window];
  return values == count || (may_be_empty && values == 0);
}

// A thread a window. Graphs of reads with 10 % of errors get 5 to 6 % of new nodes a sequence; there is room for 10 %.
__global__ void __launch_bounds__(threads)
    measure_kernel(DeviceWindows windows, std::int32_t min_sequences, DeviceConsensus result, PlanMemory plan) {
  const std::int64_t window = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (window >= windows.count) return;
  const std::int64_t begin = windows.sequence_offsets[window], end = windows.sequence_offsets[window + 1];
  const std::int64_t total = windows.text_offsets[window + 1] - windows.text_offsets[window];
  const bool has_layers = !counts_fit(windows.layer_begin_offsets, window, 0, false) || !counts_fit(windows.layer_end_offsets, window, 0, false);
  bool fits = begin < end && end - begin >= min_sequences && (windows.row_status == nullptr || windows.row_status[window] == 0) &&
              counts_fit(windows.quality_offsets, window, total, true);
  if (has_layers)
    fits = fits && counts_fit(windows.layer_begin_offsets, window, end - begin, false) &&
           counts_fit(windows.layer_end_offsets, window, end - begin, false);
  std::int64_t longest = 0, sum = 0;
  for (std::int64_t s = begin; s < end && fits; ++s) {
    const std::int32_t length = windows.length[s];
    plan.sequence_begin[s - windows.sequence_offsets[0]] = static_cast<std::uint32_t>(sum);
    longest = max(longest, static_cast<std::int64_t>(length));
    sum += length;
    fits = length >= 0 && sum <= total && total <= (windows.qualities == nullptr ? most_letters_of_window : most_letters_with_qualities);
    if (has_layers && s > begin) {
      const std::int32_t from = windows.layer_begin[windows.layer_begin_offsets[window] + (s - begin)];
      const std::int32_t to = windows.layer_end[windows.layer_end_offsets[window] + (s - begin)];
      fits = fits && from >= 0 && from <= to && to < windows.length[begin];
    }
  }
  fits = fits && sum == total;
  const Outcome outcome = !fits ? Outcome::unfit_input : longest > most_letters_of_sequence ? Outcome::too_long_sequence : Outcome::done;
  std::uint32_t group = no_group;
  std::uint32_t work = 0;
  if (outcome == Outcome::done) {
    int width = 0;
    while (2 * halves_of_width(width) * warp_lanes <= longest) ++width;
    const std::int64_t nodes = min(total, longest + longest * (end - begin) / 10 + 64);
    int capacity = 0;
    while (capacity < WindowPlan::capacities - 1 && nodes_of_capacity(capacity) < nodes) ++capacity;
    group = static_cast<std::uint32_t>(width * WindowPlan::capacities + capacity);
    atomicAdd(&plan.windows_of_group[group], 1U);
    work = __float_as_uint(static_cast<float>(total) * static_cast<float>(nodes + total)) >> 11;
  }
  // The sort is ascending.
  plan.key[window] = ~(group == no_group ? 0 : (group + 1) << 20 | work);
  plan.window[window] = static_cast<std::uint32_t>(window);
  result.outcome[window] = outcome;
  result.length[window] = 0;
  result.offsets[window + 1] = outcome == Outcome::done ? min(total, 2 * longest + 64) : 0;
  if (window == 0) result.offsets[0] = 0;
}

struct Job {
  DeviceWindows windows;
  DeviceConsensus result;
  WindowRules rules;
  const std::uint32_t* order;
  const std::uint32_t* sequence_begin;
  std::uint32_t count;
  std::uint32_t* next;
  std::byte* scratch;
  std::uint32_t scratch_of_warp;
  std::uint32_t node_capacity, kept_capacity;
  std::uint32_t place[members_of_graph];  // of the graph's arrays in a warp's memory
};

template <int halves>
void lay_out_scratch(Job& job, std::uint32_t nodes) {
  Graph g{};
  g.node_capacity = job.node_capacity = nodes;
  g.kept_capacity = job.kept_capacity = nodes / 4 + 16;
  std::uint32_t bytes = 0;
  lay_out(g, Columns<halves>::row_words * sizeof(std::uint32_t), RowMemory<halves>::bytes, [&](Member member, std::uint64_t size) {
    job.place[member] = bytes;
    bytes += static_cast<std::uint32_t>((size + 15) / 16 * 16);
  });
  job.scratch_of_warp = (bytes + 255) / 256 * 256;
}

// Registers are what limits the number of warps. The code between the alignments waits for memory most of the time, so more warps are worth a few
// spills.
template <int halves>
constexpr int blocks_of_multiprocessor = halves <= 2   ? 8
                                         : halves <= 4 ? 6
                                         : halves <= 8 ? 5
                                                       : 4;

// Kernels of one stream overlap from compute capability 9.0 on; before, the next one starts when the one before has ended.
__device__ void let_next_kernel_start() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}
__device__ void wait_for_kernel_before() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

template <int halves>
__global__ void __launch_bounds__(warps_of_block* warp_lanes, blocks_of_multiprocessor<halves>) consensus_kernel(const __grid_constant__ Job job) {
  extern __shared__ uint4 shared_memory[];
  const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
  let_next_kernel_start();
  auto& shared = reinterpret_cast<SharedMemory<halves>*>(shared_memory)[warp];
  Graph g{};
  g.node_capacity = job.node_capacity;
  g.kept_capacity = job.kept_capacity;
  g.memory = job.scratch + (static_cast<std::uint64_t>(blockIdx.x) * warps_of_block + static_cast<std::uint64_t>(warp)) * job.scratch_of_warp;
  g.place = job.place;
  for (;;) {
    std::uint32_t turn = 0;
    if (lane_id() == 0) turn = take_ticket(job.next);
    turn = broadcast(turn, 0);
    if (turn >= job.count) break;
    const std::int64_t window = job.order[turn];
    std::uint32_t length = 0;
    const Outcome outcome = consensus_of_window<halves>(g, shared, job.windows, job.rules, job.sequence_begin, window, job.result, length);
    if (lane_id() == 0) {
      job.result.outcome[window] = outcome;
      job.result.length[window] = outcome == Outcome::done ? length : 0;
    }
    synchronize_warp();
  }
  // What follows in the stream reads the results of all kernels, also of those before.
  wait_for_kernel_before();
}

// A warp a window.
__global__ void __launch_bounds__(threads) pack_kernel(DeviceConsensus result, std::int64_t count, PackedConsensus packed) {
  const std::int64_t window = (static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x) / warp_lanes;
  if (window >= count) return;
  const std::int64_t from = result.offsets[window], to = packed.begin[window];
  for (std::uint32_t i = threadIdx.x % warp_lanes; i < result.length[window]; i += warp_lanes) {
    packed.bases[to + i] = result.bases[from + i];
    if (packed.coverage != nullptr) packed.coverage[to + i] = result.coverage[from + i];
    if (packed.support != nullptr) packed.support[to + i] = result.support[from + i];
  }
}

struct Shape {
  std::size_t shared_bytes;
  int blocks;  // that the device has room for at a time
  bool may_overlap;
};

template <int halves>
Shape shape_of_kernel(int device) {
  Shape shape{sizeof(SharedMemory<halves>) * warps_of_block, 0, false};
  int multiprocessors = 0, blocks = 0, capability = 0;
  check(cudaDeviceGetAttribute(&capability, cudaDevAttrComputeCapabilityMajor, device), "cudaDeviceGetAttribute");
  shape.may_overlap = capability >= 9;
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
  check(cudaFuncSetAttribute(consensus_kernel<halves>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.shared_bytes)),
        "cudaFuncSetAttribute");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, consensus_kernel<halves>, warps_of_block * warp_lanes, shape.shared_bytes),
        "occupancy");
  shape.blocks = multiprocessors * std::max(1, blocks);
  return shape;
}

// A kernel on windows that follow each other in the plan's order.
struct Launch {
  Job job;
  Shape shape;
  void (*start)(const Launch& launch, int blocks, bool is_first, cudaStream_t stream);
};

template <int halves>
void start_kernel(const Launch& launch, int blocks, bool is_first, cudaStream_t stream) {
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned int>(blocks));
  config.blockDim = dim3(warps_of_block * warp_lanes);
  config.dynamicSmemBytes = launch.shape.shared_bytes;
  config.stream = stream;
  config.attrs = &overlap;
  config.numAttrs = launch.shape.may_overlap && !is_first ? 1 : 0;  // the first one needs what the stream did before
  check(cudaLaunchKernelEx(&config, consensus_kernel<halves>, launch.job), "consensus_kernel");
}

struct Launches {
  std::vector<Launch> launch;
  std::vector<ScratchDemand> demand;
};

// Windows of one width. Smaller graphs go with larger ones as long as the memory for that does not leave multiprocessors idle. A kernel's blocks
// start where those of the one before have ended: the last windows of a width are few, and take as long as the first ones.
template <int halves>
void list_width(Job job, const std::uint32_t* windows, std::uint32_t first, int device, std::size_t scratch, Launches& launches) {
  const Shape shape = shape_of_kernel<halves>(device);
  for (int capacity = WindowPlan::capacities - 1; capacity >= 0;) {
    if (windows[capacity] == 0) {
      --capacity;
      continue;
    }
    lay_out_scratch<halves>(job, nodes_of_capacity(capacity));
    const std::uint64_t of_block = static_cast<std::uint64_t>(job.scratch_of_warp) * warps_of_block;
    const auto room = static_cast<int>(std::clamp<std::uint64_t>(scratch / of_block, 1, static_cast<std::uint64_t>(shape.blocks)));
    std::uint32_t count = windows[capacity--];
    while (capacity >= 0 && room == shape.blocks) count += windows[capacity--];
    Launch launch{job, shape, start_kernel<halves>};
    launch.job.order += first;
    launch.job.count = count;
    launches.launch.push_back(launch);
    launches.demand.push_back(
        {of_block, static_cast<std::uint32_t>(std::min(room, static_cast<int>((count + warps_of_block - 1) / warps_of_block)))});
    first += count;
  }
}

// Starts the kernels, which share one piece of memory: they run side by side.
void start(Launches& launches, std::size_t scratch, std::uint32_t* tickets, cudaStream_t stream, const Allocate& allocate) {
  std::byte* memory = nullptr;
  std::vector<std::uint32_t> blocks;
  for (std::uint64_t budget = scratch; memory == nullptr;) {
    blocks = share_scratch(launches.demand, budget);
    const std::uint64_t bytes = scratch_of(launches.demand, blocks);
    try {
      memory = static_cast<std::byte*>(allocate(bytes));
    } catch (const Failure& failure) {
      // The run's quota of the device, or what others have left of it.
      const bool is_least = std::all_of(blocks.begin(), blocks.end(), [](std::uint32_t of_launch) { return of_launch == 1; });
      if (failure.status() != SLUICE_ERROR_DEVICE_MEMORY || is_least) throw;
      budget = bytes / 2;
    }
  }
  for (std::size_t i = 0; i < launches.launch.size(); ++i) {
    Launch& launch = launches.launch[i];
    launch.job.scratch = memory;
    launch.job.next = tickets + i;
    launch.start(launch, static_cast<int>(blocks[i]), i == 0, stream);
    memory += launches.demand[i].bytes_of_block * blocks[i];
  }
}

}  // namespace

WindowPlan plan_windows(const DeviceWindows& windows, const WindowRules& rules, const DeviceConsensus& result, cudaStream_t stream,
                        const Allocate& allocate) {
  WindowPlan plan;
  if (windows.count == 0) return plan;
  const auto count = static_cast<std::size_t>(windows.count);
  const auto take = [&](std::size_t values) { return static_cast<std::uint32_t*>(allocate(values * sizeof(std::uint32_t))); };
  const PlanMemory memory{take(count), take(count), take(plan.windows.size()), take(static_cast<std::size_t>(windows.sequences))};
  std::uint32_t* const sorted_key = take(count);
  std::uint32_t* const sorted_window = take(count);
  check(cudaMemsetAsync(memory.windows_of_group, 0, plan.windows.size() * sizeof(std::uint32_t), stream), "cudaMemsetAsync");
  measure_kernel<<<static_cast<unsigned int>((windows.count + threads - 1) / threads), threads, 0, stream>>>(windows, rules.min_sequences, result,
                                                                                                             memory);
  check(cudaGetLastError(), "measure_kernel");
  std::size_t sort = 0, scan = 0;
  const auto items = static_cast<std::int64_t>(count);
  check(cub::DeviceRadixSort::SortPairs(nullptr, sort, memory.key, sorted_key, memory.window, sorted_window, items), "DeviceRadixSort");
  check(cub::DeviceScan::InclusiveSum(nullptr, scan, result.offsets, result.offsets, items + 1), "DeviceScan");
  std::size_t bytes = std::max(sort, scan);
  void* const space = allocate(bytes);
  check(cub::DeviceRadixSort::SortPairs(space, bytes, memory.key, sorted_key, memory.window, sorted_window, items, 0, 32, stream), "DeviceRadixSort");
  check(cub::DeviceScan::InclusiveSum(space, bytes, result.offsets, result.offsets, items + 1, stream), "DeviceScan");
  plan.order = sorted_window;
  plan.sequence_begin = memory.sequence_begin;
  sluice::cuda::copy_to_host(plan.windows.data(), memory.windows_of_group, plan.windows.size() * sizeof(std::uint32_t), stream);
  sluice::cuda::copy_to_host(&plan.consensus_room, result.offsets + count, sizeof(std::int64_t), stream);
  return plan;
}

void make_consensus(const DeviceWindows& windows, const WindowRules& rules, const WindowPlan& plan, const DeviceConsensus& result, int device,
                    std::size_t scratch_bytes, cudaStream_t stream, const Allocate& allocate) {
  // A ticket counter for every kernel. They are cleared before the first: a kernel may start before the one before it has ended.
  auto* const tickets = static_cast<std::uint32_t*>(allocate(plan.windows.size() * sizeof(std::uint32_t)));
  check(cudaMemsetAsync(tickets, 0, plan.windows.size() * sizeof(std::uint32_t), stream), "cudaMemsetAsync");
  const Job job{windows, result, rules, plan.order, plan.sequence_begin, 0, tickets, nullptr, 0, 0, 0, {}};
  Launches launches;
  std::uint32_t first = 0;
  for (int width = WindowPlan::widths - 1; width >= 0; --width) {
    const std::uint32_t* const of_width = plan.windows.data() + width * WindowPlan::capacities;
    const std::uint32_t count = std::accumulate(of_width, of_width + WindowPlan::capacities, std::uint32_t{0});
    if (count == 0) continue;
    const auto list = [&]<int halves>() { list_width<halves>(job, of_width, first, device, scratch_bytes, launches); };
    switch (halves_of_width(width)) {
      case 1:
        list.template operator()<1>();
        break;
      case 2:
        list.template operator()<2>();
        break;
      case 3:
        list.template operator()<3>();
        break;
      case 4:
        list.template operator()<4>();
        break;
      case 6:
        list.template operator()<6>();
        break;
      case 8:
        list.template operator()<8>();
        break;
      case 12:
        list.template operator()<12>();
        break;
      default:
        list.template operator()<16>();
        break;
    }
    first += count;
  }
  if (!launches.launch.empty()) start(launches, scratch_bytes, tickets, stream, allocate);
}

PackedConsensus pack_consensus(const DeviceConsensus& result, std::int64_t count, std::int64_t consensus_room, cudaStream_t stream,
                               const Allocate& allocate) {
  PackedConsensus packed;
  const auto windows = static_cast<std::size_t>(count);
  packed.begin = static_cast<std::int64_t*>(allocate((windows + 1) * sizeof(std::int64_t)));
  check(cudaMemsetAsync(packed.begin, 0, sizeof(std::int64_t), stream), "cudaMemsetAsync");
  if (count == 0) return packed;
  const auto room = static_cast<std::size_t>(consensus_room);
  packed.bases = static_cast<char*>(allocate(room));
  if (result.coverage != nullptr) packed.coverage = static_cast<std::int32_t*>(allocate(room * sizeof(std::int32_t)));
  if (result.support != nullptr) packed.support = static_cast<std::int32_t*>(allocate(room * sizeof(std::int32_t)));
  std::size_t bytes = 0;
  check(cub::DeviceScan::InclusiveSum(nullptr, bytes, result.length, packed.begin + 1, count), "DeviceScan");
  void* const space = allocate(bytes);
  check(cub::DeviceScan::InclusiveSum(space, bytes, result.length, packed.begin + 1, count, stream), "DeviceScan");
  constexpr int windows_of_block = threads / warp_lanes;
  pack_kernel<<<static_cast<unsigned int>((count + windows_of_block - 1) / windows_of_block), threads, 0, stream>>>(result, count, packed);
  check(cudaGetLastError(), "pack_kernel");
  return packed;
}

}  // namespace sluice::poa_consensus::cuda
