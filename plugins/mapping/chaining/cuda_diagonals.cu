// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Scores of runs with wide windows, as satellites make them: thousands of predecessors, few of them on a diagonal within reach. The anchors of a run
// are sorted into stripes of diagonals at least as wide as the band, and by number within a stripe. The predecessors of an anchor then lie in one
// stretch of its own stripe and one of each neighbour. Other pairs of its window are no valid steps, and are not looked at.
//
// A warp takes an anchor, in the order of the run, and waits for the scores that it needs, which other warps anywhere on the device compute. A score
// is one word that is written once, so it is its own flag. The warp that has the first anchor without a score never waits, hence no deadlock,
// whatever is resident.

#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <sluice/cuda/warp.cuh>

#include "chaining/cuda_step.cuh"

namespace sluice::chaining::cuda {
namespace {

constexpr int threads = 256;
constexpr int scoring_threads = 512;
constexpr int scoring_blocks_per_multiprocessor = 3;

// No score is negative.
constexpr int unscored_byte = 0x80;
constexpr std::int32_t unscored = static_cast<std::int32_t>(0x80808080U);

// Places on diagonals shift by this, which makes them positive.
constexpr std::int64_t diagonal_shift = std::int64_t{1} << 31;

unsigned int blocks_of(std::int64_t items) { return static_cast<unsigned int>((items + threads - 1) / threads); }

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

int bits_of(std::uint64_t value) {
  int bits = 0;
  for (; value != 0; value >>= 1) ++bits;
  return bits;
}

std::size_t sort_bytes_of(const RunTotals& totals) {
  std::size_t sort = 0, scan = 0;
  const auto n = static_cast<std::int64_t>(totals.wide_anchors());
  const std::uint64_t* key = nullptr;
  const std::uint32_t* value = nullptr;
  std::uint64_t* sorted_key = nullptr;
  std::uint32_t* sorted_value = nullptr;
  cub::DeviceRadixSort::SortPairs(nullptr, sort, key, sorted_key, value, sorted_value, n);
  cub::DeviceScan::InclusiveSum(nullptr, scan, value, sorted_value, n);
  return std::max(sort, scan);
}

template <class Take>
void lay_out(const RunTotals& totals, Diagonals& diagonals, Take&& take) {
  const auto n = static_cast<std::size_t>(totals.wide_anchors());
  diagonals.sort_bytes = sort_bytes_of(totals);
  take(diagonals.stripe[0], n);
  take(diagonals.stripe[1], n);
  take(diagonals.number[0], n);
  take(diagonals.number[1], n);
  take(diagonals.ordinal, n);
  take(diagonals.stripe_begin, n + 1);
  take(diagonals.sorted, n);
  take(diagonals.sorted_score, n);
  take(diagonals.reach, n);
  take(diagonals.offered, n);
  auto* space = static_cast<std::byte*>(nullptr);
  take(space, diagonals.sort_bytes);
  diagonals.sort_space = space;
}

// The wide run of an anchor by its number.
__device__ std::uint32_t wide_run_of(const WideRun* wide, std::uint32_t wide_runs, std::uint32_t number) {
  std::uint32_t low = 0, high = wide_runs;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    if (wide[middle].first_sorted <= number) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

__global__ void __launch_bounds__(threads)
    find_stripes_kernel(DeviceAnchors anchors, Runs runs, std::uint32_t wide_runs, std::uint32_t count, int stripe_shift, Diagonals diagonals) {
  const std::uint32_t number = blockIdx.x * threads + threadIdx.x;
  if (number >= count) return;
  const std::uint32_t ordinal = wide_run_of(runs.wide, wide_runs, number);
  const WideRun run = runs.wide[ordinal];
  const std::uint32_t i = run.begin + (number - run.first_sorted);
  const std::int64_t diagonal = std::int64_t{device_target(anchors.x[i])} - device_query(anchors.y[i]) + diagonal_shift;
  // One more, so that the stripe below the lowest does not belong to another run.
  diagonals.stripe[0][number] = std::uint64_t{ordinal} << 32 | static_cast<std::uint64_t>((diagonal >> stripe_shift) + 1);
  diagonals.number[0][number] = number;
  diagonals.offered[number] = -1;
}

__global__ void __launch_bounds__(threads) mark_stripes_kernel(std::uint32_t count, const std::uint64_t* stripe, std::uint32_t* head) {
  const std::uint32_t place = blockIdx.x * threads + threadIdx.x;
  if (place < count) head[place] = place == 0 || stripe[place] != stripe[place - 1] ? 1 : 0;
}

__global__ void __launch_bounds__(threads) list_stripes_kernel(std::uint32_t count, Diagonals diagonals) {
  const std::uint32_t place = blockIdx.x * threads + threadIdx.x;
  if (place >= count) return;
  const std::uint32_t ordinal = diagonals.ordinal[place];
  if (place == count - 1) diagonals.stripe_begin[ordinal] = count;
  if (place == 0 || diagonals.ordinal[place - 1] != ordinal) diagonals.stripe_begin[ordinal - 1] = place;
}

// The first place of [low, high) whose number is at least `number`.
__device__ std::uint32_t lower_place(const std::uint32_t* numbers, std::uint32_t low, std::uint32_t high, std::uint32_t number) {
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (numbers[middle] < number) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

__global__ void __launch_bounds__(threads) find_reach_kernel(DeviceAnchors anchors, Runs runs, std::uint32_t count, Diagonals diagonals) {
  const std::uint32_t place = blockIdx.x * threads + threadIdx.x;
  if (place >= count) return;
  const std::uint32_t number = diagonals.number[1][place];
  const std::uint64_t stripe = diagonals.stripe[1][place];
  const WideRun run = runs.wide[stripe >> 32];
  const std::uint32_t i = run.begin + (number - run.first_sorted);
  const std::uint32_t window = run.first_sorted + (runs.window_begin[i] - run.begin);  // as a number
  const std::uint64_t y = anchors.y[i];
  diagonals.sorted[place] = {device_target(anchors.x[i]), device_query(y), device_span(y), number};

  const std::uint32_t* const numbers = diagonals.number[1];
  const std::uint32_t own = diagonals.ordinal[place] - 1;
  const std::uint32_t own_begin = diagonals.stripe_begin[own], own_end = diagonals.stripe_begin[own + 1];
  Reach reach{};
  reach.place = place;
  reach.same = lower_place(numbers, own_begin, place, window);
  if (own_begin > 0 && diagonals.stripe[1][own_begin - 1] == stripe - 1) {
    const std::uint32_t begin = diagonals.stripe_begin[own - 1];
    reach.below = lower_place(numbers, begin, own_begin, window);
    reach.below_count = lower_place(numbers, reach.below, own_begin, number) - reach.below;
  }
  if (own_end < count && diagonals.stripe[1][own_end] == stripe + 1) {
    const std::uint32_t end = diagonals.stripe_begin[own + 2];
    reach.above = lower_place(numbers, own_end, end, window);
    reach.above_count = lower_place(numbers, reach.above, end, number) - reach.above;
  }
  diagonals.reach[number] = reach;
}

__device__ __forceinline__ std::int32_t load_score(const std::int32_t* score) { return *static_cast<const volatile std::int32_t*>(score); }

// A score and its anchor's number in one key: the higher score wins, then the later anchor; a predecessor never wins over beginning a chain with an
// equal score.
__device__ __forceinline__ std::uint64_t key_of(std::int32_t score, std::uint32_t number) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(score)) << 32 | number;
}

// A sum may be negative, and then is no candidate.
__device__ __forceinline__ std::uint64_t better(std::uint64_t best, std::int32_t sum, std::uint32_t number) {
  return sum < 0 ? best : max(best, key_of(sum, number));
}

struct Candidates {
  Reach reach;
  std::uint32_t same_count;
  __device__ explicit Candidates(const Reach& r) : reach(r), same_count(r.place - r.same) {}
  __device__ std::uint32_t count() const { return reach.below_count + reach.above_count + same_count; }
  __device__ std::uint32_t place(std::uint32_t t) const {
    if (t < reach.below_count) return reach.below + t;
    t -= reach.below_count;
    return t < reach.above_count ? reach.above + t : reach.same + (t - reach.above_count);
  }
};

template <Penalty penalty>
__global__ void __launch_bounds__(scoring_threads)
    diagonals_kernel(DeviceAnchors anchors, StepRules rules, Runs runs, std::uint32_t wide_runs, Diagonals diagonals, DeviceScores scores) {
  __shared__ std::uint16_t table[most_tabled_band + 1];
  if constexpr (penalty == Penalty::tabled) fill_penalties(table, rules);
  __syncthreads();
  const std::uint32_t lane = threadIdx.x % warp_lanes;
  std::uint64_t evaluated = 0;
  // Warps of a block begin with one run, so that its anchors stay in the cache; then they help with others.
  for (std::uint32_t group = 0; group < wide_runs; group += warp_lanes) {
    const std::uint32_t candidate = (blockIdx.x + group + lane) % wide_runs;
    const bool in_group = group + lane < wide_runs;
    for (;;) {
      const bool open = in_group && *static_cast<volatile std::uint32_t*>(&runs.wide[candidate].next_anchor) < runs.wide[candidate].anchors;
      const std::uint32_t open_lanes = __ballot_sync(whole_warp, open);
      if (open_lanes == 0) break;
      const std::uint32_t ordinal = __shfl_sync(whole_warp, candidate, __ffs(static_cast<int>(open_lanes)) - 1);
      const WideRun run = runs.wide[ordinal];
      for (;;) {
        std::uint32_t turn = 0;
        if (lane == 0) turn = atomicAdd(&runs.wide[ordinal].next_anchor, 1U);
        turn = __shfl_sync(whole_warp, turn, 0);
        if (turn >= run.anchors) break;
        const std::uint32_t number = run.first_sorted + turn;
        const std::uint64_t y = anchors.y[run.begin + turn];
        const std::int32_t target = device_target(anchors.x[run.begin + turn]), query = device_query(y), span = device_span(y);
        const Candidates from(diagonals.reach[number]);
        const std::uint32_t count = from.count();
        std::uint64_t best = key_of(span, no_anchor);
        std::uint32_t pending = 0;  // by 32 candidates: this lane's was not scored yet
        for (std::uint32_t t = lane; t - lane < count; t += warp_lanes) {
          if (t >= count) continue;
          const std::uint32_t place = from.place(t);
          const SortedAnchor p = diagonals.sorted[place];
          const Step s = step<penalty>(target, query, p.target, p.query, p.span, rules, table);
          if (!s.valid) continue;
          std::int32_t score = load_score(&diagonals.sorted_score[place]);
          if (score == unscored) {
            if (t / warp_lanes < 32) {
              pending |= 1U << t / warp_lanes;
              continue;
            }
            do score = load_score(&diagonals.sorted_score[place]);
            while (score == unscored);
          }
          best = better(best, score + s.score, p.number);
        }
        __syncwarp();
        while (__any_sync(whole_warp, pending != 0)) {
          if (pending != 0) {
            const std::uint32_t place = from.place((static_cast<std::uint32_t>(__ffs(static_cast<int>(pending))) - 1) * warp_lanes + lane);
            const std::int32_t score = load_score(&diagonals.sorted_score[place]);
            if (score != unscored) {
              const SortedAnchor p = diagonals.sorted[place];
              const Step s = step<penalty>(target, query, p.target, p.query, p.span, rules, table);
              best = better(best, score + s.score, p.number);
              pending &= pending - 1;
            }
          }
          __syncwarp();
        }
        evaluated += lane == 0 ? count : 0;
        if (lane == 0 && diagonals.offered[number] >= 0) {
          const auto peak = static_cast<std::uint32_t>(diagonals.offered[number]);
          const std::uint32_t j = run.begin + (peak - run.first_sorted);
          const std::uint64_t peak_y = anchors.y[j];
          const Step s = step<penalty>(target, query, device_target(anchors.x[j]), device_query(peak_y), device_span(peak_y), rules, table);
          if (s.valid) {
            std::int32_t score;
            do score = load_score(&diagonals.sorted_score[diagonals.reach[peak].place]);
            while (score == unscored);
            best = better(best, score + s.score, peak);
          }
        }
        __syncwarp();
        const std::int32_t highest = __reduce_max_sync(whole_warp, static_cast<std::int32_t>(best >> 32));
        const bool is_highest = static_cast<std::int32_t>(best >> 32) == highest;
        const std::uint32_t chosen = __reduce_max_sync(whole_warp, is_highest ? static_cast<std::uint32_t>(best) : 0U);
        if (lane == 0) {
          *static_cast<volatile std::int32_t*>(&diagonals.sorted_score[from.reach.place]) = highest;
          scores.score[run.begin + turn] = highest;
          const std::uint32_t j = run.begin + (chosen - run.first_sorted);
          scores.predecessor[run.begin + turn] = chosen == no_anchor ? -1 : static_cast<std::int32_t>(j - run.row_begin);
        }
      }
    }
  }
  if (lane == 0) atomicAdd(reinterpret_cast<unsigned long long*>(&runs.totals->evaluated_pairs), evaluated);
}

// -----------------------------------------------------------------------------------------------------------------------------------------------
// The best anchor so far

constexpr std::uint32_t peak_threads = 1024;
constexpr std::uint32_t peak_warps = peak_threads / warp_lanes;
static_assert(peak_warps == warp_lanes, "a warp reduces over the warps");

constexpr std::uint64_t no_peak = 0;

// Of equal scores the earlier anchor is greater: a later one takes its place only when it is higher.
__device__ __forceinline__ std::uint64_t peak_of(std::int32_t score, std::uint32_t anchor) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(score)) << 32 | ~anchor;
}
__device__ __forceinline__ std::uint32_t anchor_of(std::uint64_t peak) { return ~static_cast<std::uint32_t>(peak); }
__device__ __forceinline__ std::int32_t score_of(std::uint64_t peak) { return static_cast<std::int32_t>(peak >> 32); }

// What the threads of peaks_kernel share.
struct PeakMemory {
  std::uint16_t table[most_tabled_band + 1];
  std::uint64_t highest_in_warp[peak_warps];
  std::uint32_t expired_in_warp[peak_warps];
  std::uint32_t first_changed;
};

// The anchor that a thread has in hand.
struct AnchorInHand {
  std::uint32_t number;
  bool active;  // false: the run has ended
  std::uint64_t x;
  std::int32_t score;
  std::uint32_t window;  // where its window begins
  bool took_offer;       // its predecessor lies before its window
  std::int32_t offered;  // the step that it was offered: a place among the sorted anchors, -1: none
};

__device__ __forceinline__ AnchorInHand take_anchor(std::uint32_t number, const WideRun& run, const DeviceAnchors& anchors, const Runs& runs,
                                                    const Diagonals& diagonals, const DeviceScores& scores) {
  if (number >= run.begin + run.anchors) return {number, false, 0, 0, 0, false, -1};
  const std::uint32_t window = runs.window_begin[number];
  const std::int32_t predecessor = scores.predecessor[number];
  const bool took_offer = predecessor >= 0 && static_cast<std::uint32_t>(predecessor) + run.row_begin < window;
  return {number, true, anchors.x[number], scores.score[number], window, took_offer, diagonals.offered[run.first_sorted + (number - run.begin)]};
}

// The highest of `peak` and of the values of all threads below. `of_warp`: the highest value of the warp whose number is this lane's.
__device__ __forceinline__ std::uint64_t highest_before(std::uint64_t value, std::uint64_t peak, PeakMemory& shared, std::uint64_t& of_warp) {
  const std::uint32_t lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes;
  const std::uint64_t scanned =
      sluice::cuda::scan_over_warp(value, static_cast<int>(lane), [](std::uint64_t own, std::uint64_t below) { return max(own, below); });
  std::uint64_t before = __shfl_up_sync(whole_warp, scanned, 1);
  if (lane == 0) before = no_peak;
  if (lane == warp_lanes - 1) shared.highest_in_warp[warp] = scanned;
  __syncthreads();
  of_warp = shared.highest_in_warp[lane];
  return max(before, max(peak, sluice::cuda::highest_of_warp(lane < warp ? of_warp : no_peak)));
}

// The first thread of the block for which the condition holds, peak_threads: none.
__device__ __forceinline__ std::uint32_t first_thread_with(bool condition, PeakMemory& shared) {
  const std::uint32_t lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes;
  const std::uint32_t lanes = __ballot_sync(whole_warp, condition);
  if (lane == 0)
    shared.expired_in_warp[warp] = lanes == 0 ? peak_threads : warp * warp_lanes + static_cast<std::uint32_t>(__ffs(static_cast<int>(lanes))) - 1;
  __syncthreads();
  return __reduce_min_sync(whole_warp, shared.expired_in_warp[lane]);
}

// The step that the anchor should be offered; is_expired: its peak lies in its window.
template <Penalty penalty>
__device__ __forceinline__ std::int32_t wanted_offer(const AnchorInHand& anchor, std::uint64_t peak, bool is_expired, const WideRun& run,
                                                     const DeviceAnchors& anchors, const StepRules& rules, const PeakMemory& shared) {
  const std::uint32_t peak_anchor = anchor_of(peak);
  const bool beyond_window = !is_expired && anchor.window > 0 && peak_anchor < anchor.window - 1;
  if (!beyond_window) return anchor.took_offer ? -1 : anchor.offered;
  const auto peak_number = static_cast<std::int32_t>(run.first_sorted + (peak_anchor - run.begin));
  if (anchor.offered == peak_number || anchor.took_offer) return peak_number;
  const std::uint64_t y = anchors.y[anchor.number], peak_x = anchors.x[peak_anchor], peak_y = anchors.y[peak_anchor];
  const Step s =
      step<penalty>(device_target(anchor.x), device_query(y), device_target(peak_x), device_query(peak_y), device_span(peak_y), rules, shared.table);
  return s.valid && score_of(peak) + s.score > anchor.score ? peak_number : anchor.offered;
}

// The peak behind anchor `at`, chosen anew: the best of its window, the latest of equal ones; then the anchor itself if it is higher.
__device__ __forceinline__ std::uint64_t peak_of_window(std::uint32_t at, const Runs& runs, const DeviceScores& scores, PeakMemory& shared) {
  const std::uint32_t lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes;
  const std::uint32_t at_window = runs.window_begin[at];
  std::uint64_t best = 0;
  for (std::uint32_t j = at_window + threadIdx.x; j < at; j += peak_threads) best = max(best, key_of(scores.score[j], j));
  best = sluice::cuda::highest_of_warp(best);
  if (lane == 0) shared.highest_in_warp[warp] = best;
  __syncthreads();
  best = sluice::cuda::highest_of_warp(shared.highest_in_warp[lane]);
  __syncthreads();
  const std::int32_t at_score = scores.score[at];
  const bool from_window = at_window < at && score_of(best) >= at_score;
  return from_window ? peak_of(score_of(best), static_cast<std::uint32_t>(best)) : peak_of(at_score, at);
}

// One block walks along a run in order, an anchor a thread, with the anchor that the method keeps as the best so far, and compares what it would do
// with what score_diagonals did. It differs only at anchors whose window was cut by max_chain_iter and whose step from that anchor wins. Such an
// anchor is offered the step, and it and all behind it are scored again. The anchors before the first difference are right, so this ends, and since
// the method determines every score from those before it, a run without differences has the method's scores.
//
// The best so far is a running maximum, hence a scan, until it is out of reach at some anchor. There it is chosen anew from the window, and the scan
// goes on behind that anchor.
template <Penalty penalty>
__global__ void __launch_bounds__(peak_threads)
    peaks_kernel(DeviceAnchors anchors, StepRules rules, Runs runs, Diagonals diagonals, DeviceScores scores) {
  __shared__ PeakMemory shared;
  WideRun& shared_run = runs.wide[blockIdx.x];
  const WideRun run = shared_run;
  if (runs.window_cut[runs.ordinal[run.begin] - 1] == 0) return;
  if constexpr (penalty == Penalty::tabled) fill_penalties(shared.table, rules);
  if (threadIdx.x == 0) shared.first_changed = no_anchor;
  __syncthreads();
  const auto reach = static_cast<std::uint64_t>(rules.limits.target_gap);
  std::uint64_t peak = no_peak;  // before the anchors in hand
  for (std::uint32_t tile = run.begin; tile < run.begin + run.anchors; tile += peak_threads) {
    const AnchorInHand anchor = take_anchor(tile + threadIdx.x, run, anchors, runs, diagonals, scores);
    for (std::uint32_t from = 0;;) {  // threads before are done
      const bool open = anchor.active && threadIdx.x >= from;
      std::uint64_t of_warp = 0;
      const std::uint64_t before = highest_before(open ? peak_of(anchor.score, anchor.number) : no_peak, peak, shared, of_warp);
      const bool expired = open && (before == no_peak || anchor.x - anchors.x[anchor_of(before)] > reach);
      const std::uint32_t first_expired = first_thread_with(expired, shared);

      // What is scanned stands for the threads before the first expired one; that one finds its peak in its window.
      if (open && threadIdx.x <= first_expired) {
        const std::int32_t wanted = wanted_offer<penalty>(anchor, before, threadIdx.x == first_expired, run, anchors, rules, shared);
        if (wanted != anchor.offered) {
          diagonals.offered[run.first_sorted + (anchor.number - run.begin)] = wanted;
          atomicMin(&shared.first_changed, anchor.number);
        }
      }
      if (first_expired == peak_threads) {
        peak = max(peak, sluice::cuda::highest_of_warp(of_warp));
        break;
      }
      peak = peak_of_window(tile + first_expired, runs, scores, shared);
      from = first_expired + 1;
    }
  }
  __syncthreads();
  const std::uint32_t first_changed = shared.first_changed;
  if (first_changed == no_anchor) return;
  for (std::uint32_t number = run.first_sorted + (first_changed - run.begin) + threadIdx.x; number < run.first_sorted + run.anchors;
       number += peak_threads)
    diagonals.sorted_score[diagonals.reach[number].place] = unscored;
  if (threadIdx.x == 0) {
    shared_run.next_anchor = first_changed - run.begin;
    atomicAdd(&runs.totals->unsettled_runs, 1U);
  }
}

}  // namespace

std::size_t diagonal_workspace_bytes(const RunTotals& totals) {
  if (totals.wide_anchors() == 0) return 0;
  Diagonals diagonals;
  std::size_t bytes = 0;
  lay_out(totals, diagonals, [&]<class T>(T*&, std::size_t count) { bytes += aligned(count * sizeof(T)); });
  return bytes;
}

Diagonals diagonals_in(void* workspace, const RunTotals& totals) {
  Diagonals diagonals;
  if (totals.wide_anchors() == 0) return diagonals;
  auto* at = static_cast<std::byte*>(workspace);
  lay_out(totals, diagonals, [&]<class T>(T*& part, std::size_t count) {
    part = reinterpret_cast<T*>(at);
    at += aligned(count * sizeof(T));
  });
  return diagonals;
}

cudaError_t sort_diagonals(const DeviceAnchors& anchors, const StepRules& rules, const Runs& runs, const RunTotals& totals,
                           const Diagonals& diagonals, cudaStream_t stream) {
  const std::uint32_t count = totals.wide_anchors();
  if (count == 0) return cudaSuccess;
  const int stripe_shift = std::max(6, bits_of(static_cast<std::uint64_t>(rules.limits.band - 1)));  // 2^stripe_shift >= band
  find_stripes_kernel<<<blocks_of(count), threads, 0, stream>>>(anchors, runs, totals.wide_runs(), count, stripe_shift, diagonals);
  std::size_t bytes = diagonals.sort_bytes;
  if (const cudaError_t error =
          cub::DeviceRadixSort::SortPairs(diagonals.sort_space, bytes, diagonals.stripe[0], diagonals.stripe[1], diagonals.number[0],
                                          diagonals.number[1], static_cast<std::int64_t>(count), 0, 32 + bits_of(totals.wide_runs()), stream);
      error != cudaSuccess)
    return error;
  std::uint32_t* const head = diagonals.number[0];
  mark_stripes_kernel<<<blocks_of(count), threads, 0, stream>>>(count, diagonals.stripe[1], head);
  bytes = diagonals.sort_bytes;
  if (const cudaError_t error =
          cub::DeviceScan::InclusiveSum(diagonals.sort_space, bytes, head, diagonals.ordinal, static_cast<std::int64_t>(count), stream);
      error != cudaSuccess)
    return error;
  list_stripes_kernel<<<blocks_of(count), threads, 0, stream>>>(count, diagonals);
  find_reach_kernel<<<blocks_of(count), threads, 0, stream>>>(anchors, runs, count, diagonals);
  if (const cudaError_t error = cudaMemsetAsync(diagonals.sorted_score, unscored_byte, std::size_t{count} * sizeof(std::int32_t), stream);
      error != cudaSuccess)
    return error;
  return cudaGetLastError();
}

cudaError_t score_diagonals(const DeviceAnchors& anchors, const StepRules& rules, const Runs& runs, const RunTotals& totals,
                            const Diagonals& diagonals, const DeviceScores& scores, int multiprocessors, cudaStream_t stream) {
  if (totals.wide_runs() == 0) return cudaSuccess;
  const auto blocks = static_cast<unsigned int>(multiprocessors * scoring_blocks_per_multiprocessor);
  if (rules.tabled) {
    diagonals_kernel<Penalty::tabled><<<blocks, scoring_threads, 0, stream>>>(anchors, rules, runs, totals.wide_runs(), diagonals, scores);
  } else {
    diagonals_kernel<Penalty::computed><<<blocks, scoring_threads, 0, stream>>>(anchors, rules, runs, totals.wide_runs(), diagonals, scores);
  }
  return cudaGetLastError();
}

cudaError_t settle_peaks(const DeviceAnchors& anchors, const StepRules& rules, const Runs& runs, const RunTotals& totals, const Diagonals& diagonals,
                         const DeviceScores& scores, cudaStream_t stream) {
  if (totals.wide_runs() == 0) return cudaSuccess;
  if (const cudaError_t error = cudaMemsetAsync(&runs.totals->unsettled_runs, 0, sizeof(std::uint32_t), stream); error != cudaSuccess) return error;
  if (rules.tabled) {
    peaks_kernel<Penalty::tabled><<<totals.wide_runs(), peak_threads, 0, stream>>>(anchors, rules, runs, diagonals, scores);
  } else {
    peaks_kernel<Penalty::computed><<<totals.wide_runs(), peak_threads, 0, stream>>>(anchors, rules, runs, diagonals, scores);
  }
  return cudaGetLastError();
}

}  // namespace sluice::chaining::cuda
