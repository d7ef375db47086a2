// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A warp and its row: what is checked before any segment, and the walk over the segments (record_walk.hpp). All lanes do the same on the same values.

#include "event_alignment/cuda_segment.cuh"

namespace sluice::event_alignment::cuda {

// What is found out about a row before its segments.
struct CheckedRow {
  RecordStatus status;
  std::uint32_t blocks;         // all of them, those that end stretches included
  std::uint32_t first_stretch;  // blocks of the first one
  bool has_transitions;
  event_hmm::Transitions transitions;
  StretchEnds ends;  // of the first stretch
};

__device__ inline Walk walk_of(const Rows& rows, std::uint32_t row, const Reference& reference, std::uint32_t k, const Settings& settings) {
  const std::int64_t map_begin = rows.map_offsets[row];
  return {reference.contig_begin[rows.contig[row] + 1] - reference.contig_begin[rows.contig[row]],
          rows.ref_start[row],
          rows.bases_offsets[row + 1] - rows.bases_offsets[row],
          k,
          rows.is_reverse[row] != 0 ? Strand::reverse : Strand::forward,
          {rows.first_event + map_begin, static_cast<std::size_t>(rows.map_offsets[row + 1] - map_begin)},
          settings.hard_clips,
          settings.clip_start,
          settings.clip_end};
}

__device__ inline event_hmm::ReadScaling scaling_of(const Rows& rows, std::uint32_t row) {
  return {rows.scale[row], rows.shift[row], rows.var[row], rows.log_var[row]};
}

// Loads are begun eight at a time: one after the other their latency was most of what a read of 400 kb took.
inline constexpr std::int64_t kLoads = 8;

// As is_base_to_event_map in event_alignment.cpp, by one warp.
__device__ inline bool is_base_to_event_map(std::span<const std::int32_t> first_event, std::int64_t events, int lane) {
  std::int32_t before = -1;
  bool wrong = false;
  const auto size = static_cast<std::int64_t>(first_event.size());
  for (std::int64_t begin = lane; begin - lane < size; begin += kLoads * kLanes) {
    std::int32_t loaded[kLoads];
#pragma unroll
    for (std::int64_t i = 0; i < kLoads; ++i) loaded[i] = begin + i * kLanes < size ? first_event[static_cast<std::size_t>(begin + i * kLanes)] : -1;
#pragma unroll
    for (const std::int32_t event : loaded) {
      const unsigned present = __ballot_sync(whole_warp, event != -1);
      const unsigned lower = present & ((1U << lane) - 1U);
      const std::int32_t of_lower = __shfl_sync(whole_warp, event, lower == 0 ? 0 : 31 - __clz(static_cast<int>(lower)));
      const std::int32_t previous = lower == 0 ? before : of_lower;
      wrong = wrong || (event != -1 && (event <= previous || event >= events));
      const std::int32_t last = __shfl_sync(whole_warp, event, present == 0 ? 0 : 31 - __clz(static_cast<int>(present)));
      if (present != 0) before = last;
    }
  }
  return __any_sync(whole_warp, wrong) == 0;
}

__device__ inline bool are_usable(const float* event_mean, std::int64_t events, int lane) {
  bool usable = true;
  for (std::int64_t begin = lane; begin < events; begin += kLoads * kLanes) {
    float loaded[kLoads];
#pragma unroll
    for (std::int64_t i = 0; i < kLoads; ++i) loaded[i] = event_mean[begin + i * kLanes < events ? begin + i * kLanes : begin];
#pragma unroll
    for (const float mean : loaded) usable = usable && event_hmm::is_usable(mean);
  }
  return __all_sync(whole_warp, usable) != 0;
}

// As list_aligned_bases in record_walk.hpp, 32 operations at a time. A block of length 0 ends a stretch.
class BlockList {
 public:
  __device__ BlockList(AlignedBlock* blocks, int lane) : blocks_(blocks), lane_(lane) {}
  std::uint32_t size = 0;
  std::uint32_t first_stretch = 0;  // blocks of the first one

  __device__ RecordStatus fill(const Walk& walk, std::span<const std::uint32_t> cigar) {
    std::int64_t position = walk.ref_start, read_position = 0;
    for (std::size_t begin = 0; begin < cigar.size(); begin += kLanes) {
      const std::size_t at = begin + static_cast<std::size_t>(lane_);
      const CigarStep step = cigar_step(at < cigar.size() ? cigar[at] : 0U, walk.hard_clips);  // 0: no match
      const std::int64_t contig_end = position + sluice::cuda::inclusive_sum_over_warp(step.on_contig, lane_);
      const std::int64_t read_end = read_position + sluice::cuda::inclusive_sum_over_warp(step.on_read, lane_);
      const std::int64_t contig_begin = contig_end - step.on_contig, read_begin = read_end - step.on_read;
      const bool is_outside = step.is_aligned && are_outside(walk, contig_begin, step.length);
      if (const unsigned wrong = __ballot_sync(whole_warp, is_outside || !step.is_defined); wrong != 0) {
        const unsigned undefined = __ballot_sync(whole_warp, !step.is_defined);
        return (undefined & wrong & (0U - wrong)) != 0 ? RecordStatus::bad_cigar : RecordStatus::outside_contig;  // the first of them
      }
      const AlignedBlock block = walked_part(walk, contig_begin, read_begin, step.length);
      add(block, __ballot_sync(whole_warp, step.is_aligned && block.length > 0), __ballot_sync(whole_warp, step.ends_stretch));
      position = __shfl_sync(whole_warp, contig_end, kLanes - 1);
      read_position = __shfl_sync(whole_warp, read_end, kLanes - 1);
    }
    if (!stopped_ && !is_empty_) end_stretch();
    __syncwarp();
    return RecordStatus::ok;
  }

 private:
  // The blocks of some lanes, in their order; other lanes end a stretch.
  __device__ void add(const AlignedBlock& block, unsigned with_block, unsigned ending) {
    while (ending != 0) {
      const unsigned end = ending & (0U - ending), before = with_block & (end - 1U);
      add(block, before);
      stopped_ = stopped_ || is_empty_;
      if (!stopped_) end_stretch();
      is_empty_ = true;
      with_block &= ~before;
      ending &= ~end;
    }
    add(block, with_block);
  }
  __device__ void add(const AlignedBlock& block, unsigned with_block) {
    if (stopped_ || with_block == 0) return;
    if ((with_block >> lane_ & 1U) != 0) blocks_[size + static_cast<std::uint32_t>(__popc(with_block & ((1U << lane_) - 1U)))] = block;
    size += static_cast<std::uint32_t>(__popc(with_block));
    is_empty_ = false;
  }
  __device__ void end_stretch() {
    if (first_stretch == 0) first_stretch = size;
    if (lane_ == 0) blocks_[size] = {};
    ++size;
  }

  AlignedBlock* blocks_;
  int lane_;
  bool is_empty_ = true, stopped_ = false;
};

// The checks of align_events in event_alignment.cpp, one after the other, and the list of aligned bases.
__device__ inline CheckedRow check_row(const Rows& rows, std::uint32_t row, const Reference& reference, const Model& model, const Settings& settings,
                                       AlignedBlock* blocks) {
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const Walk walk = walk_of(rows, row, reference, model.k, settings);
  CheckedRow checked{};
  const auto ends_with = [&checked](RecordStatus status) {
    checked.status = status;
    return checked;
  };
  if (walk.ref_start < 0 || rows.ref_end[row] < walk.ref_start || rows.ref_end[row] > walk.contig_length)
    return ends_with(RecordStatus::outside_contig);
  if (!model.extremes.are_usable_with(scaling_of(rows, row))) return ends_with(RecordStatus::not_finite);
  const std::int64_t first = rows.event_offsets[row], events = rows.event_offsets[row + 1] - first;
  constexpr std::int64_t most = 0x7FFFFFFF;
  if (walk.read_length < walk.k || walk.read_length > most || static_cast<std::int64_t>(walk.first_event.size()) != walk.read_length - walk.k + 1 ||
      events > most || !is_base_to_event_map(walk.first_event, events, lane)) {
    return ends_with(RecordStatus::bad_base_to_event_map);
  }
  if (!are_usable(rows.event_mean + first, events, lane)) return ends_with(RecordStatus::not_finite);

  const std::int64_t cigar_begin = rows.cigar_offsets[row];
  BlockList list(blocks, lane);
  checked.status = list.fill(walk, {rows.cigar + cigar_begin, static_cast<std::size_t>(rows.cigar_offsets[row + 1] - cigar_begin)});
  if (checked.status != RecordStatus::ok) return checked;
  checked.blocks = list.size;
  checked.first_stretch = list.first_stretch;

  const auto transitions = event_hmm::make_transitions(rows.events_per_base[row], settings.events_per_base);
  if (!transitions && !stays_in_last_kmer(rows.events_per_base[row], settings.events_per_base)) return ends_with(RecordStatus::bad_events_per_base);
  checked.has_transitions = transitions.has_value();
  if (transitions) checked.transitions = *transitions;
  if (checked.blocks > 0) checked.ends = ends_of(walk, AlignedBases({blocks, checked.first_stretch}));
  return checked;
}

// Where a walk is: behind `written` entries of the row's path.
struct WalkState {
  PathPlace at;
  std::int64_t written;
  RecordStatus status;
  bool is_over;
};

// What a chunk of a row's path is when the path is at `position` where the chunk begins; position is -1 if nothing is known.
struct Chunk {
  std::int64_t position;
  WalkState end;
};
inline constexpr std::int64_t kChunkSegments = 16;
inline constexpr std::int64_t kChunkEvents = kChunkSegments * kSegmentOutputs;

template <int kColumns>
struct RowWarp {
  Walk walk;
  SegmentWarp<kColumns> segments;

  __device__ static RowWarp of(const Rows& rows, std::uint32_t row, const CheckedRow& checked, const Reference& reference, const Model& model,
                               const Settings& settings, const Paths& paths, const ChoiceRoom& room) {
    const std::int64_t first = rows.event_offsets[row];
    return {walk_of(rows, row, reference, model.k, settings),
            {static_cast<int>(threadIdx.x) % kLanes,
             reference.bases + reference.contig_begin[rows.contig[row]],
             rows.event_mean + first,
             rows.event_offsets[row + 1] - first,
             rows.is_reverse[row] != 0,
             model,
             scaling_of(rows, row),
             checked.transitions,
             checked.has_transitions,
             room,
             {paths.event + first, paths.position + first, paths.state + first, nullptr, nullptr}}};
  }

  enum class Until { stop, irregular };

  // Walks until at least `stop` entries are written. Irregular: and only segments that are not kept whole, and until one of them has not all its
  // entries. A segment is not begun if it has more than kMaximumSegmentEvents, or is kept whole and has more than most_whole. Entries before `first`
  // are dropped.
  __device__ void walk_on(WalkState& state, AlignedBases& bases, const StretchEnds& ends, std::int64_t first, std::int64_t stop,
                          std::int64_t most_whole, Until until) const {
    SegmentPlace segment{};
    while (state.written < stop) {
      if (!next_segment(walk, bases, ends, state.at, segment)) {
        state.is_over = true;
        return;
      }
      if (segment.is_last && until == Until::irregular) return;
      if (segment.rows > (segment.is_last ? most_whole : kMaximumSegmentEvents)) {
        state.is_over = true;
        state.status = RecordStatus::stalled;
        return;
      }
      const SegmentEnd kept = segments.align(segment, state.written, state.written < first ? Entries::dropped : Entries::written);
      state.at = {kept.event, kept.position};
      state.written += kept.written;
      bases.advance(state.at.position);
      if (kept.written != kSegmentOutputs && until == Until::irregular) return;
    }
  }

  // Whether a walk has had full segments only.
  __device__ static bool is_regular(const WalkState& state, const StretchEnds& ends) {
    return state.written % kSegmentOutputs == 0 && state.at.event == ends.first.event + state.written * ends.step();
  }

  // Fills a chunk from where the path probably is: one segment before it, from the place that the base-to-event map gives.
  __device__ Chunk fill_chunk(std::int64_t chunk, const CheckedRow& checked, const AlignedBlock* blocks) const {
    const StretchEnds& ends = checked.ends;
    const std::int64_t begin = chunk * kChunkEvents, step = ends.step();
    Chunk result{-1, {ends.first, begin, RecordStatus::ok, false}};
    if (!ends.is_walked || begin >= (ends.last_event - ends.first.event) * step) return result;
    AlignedBases bases({blocks, checked.first_stretch});
    WalkState& state = result.end;
    if (chunk > 0) {
      state.written = begin - kSegmentOutputs;
      state.at.event = ends.first.event + state.written * step;
      state.at.position = likely_position(walk, bases, state.at.event);
      bases.seek(state.at.position);
    }
    // First to where the chunk begins, then through it.
#pragma unroll 1
    for (const std::int64_t stop : {begin, begin + kChunkEvents}) {
      walk_on(state, bases, ends, begin, stop, kMaximumSegmentEvents, Until::irregular);
      if (stop != begin) break;
      if (state.written != begin || state.is_over || !is_regular(state, ends)) return result;
      result.position = state.at.position;
    }
    return result;
  }

  // Walks a whole row. Where its path comes to a place that the path of a chunk has come to, the rest of the chunk is known.
  __device__ WalkState align(const CheckedRow& checked, const AlignedBlock* blocks, std::span<const Chunk> chunks, std::int64_t most_whole) const {
    WalkState state{{}, 0, RecordStatus::ok, false};
    for (std::uint32_t begin = 0; begin < checked.blocks;) {
      std::uint32_t end = begin == 0 ? checked.first_stretch : begin;
      while (blocks[end].length != 0) ++end;
      AlignedBases bases({blocks + begin, end - begin});
      const StretchEnds ends = begin == 0 ? checked.ends : ends_of(walk, bases);
      state.at = ends.first;
      state.is_over = !ends.is_walked;
      bool has_jumped = false;
      while (!state.is_over) {
        const std::int64_t at = state.written / kChunkEvents;
        const bool has_chunk = begin == 0 && at < static_cast<std::int64_t>(chunks.size()) && is_regular(state, ends) && chunks[at].position >= 0 &&
                               chunks[at].end.written >= state.written + kSegmentOutputs;
        if (has_chunk && state.written == at * kChunkEvents && chunks[at].position == state.at.position) {
          state = chunks[at].end;
          has_jumped = true;
          continue;
        }
        // Where the chunk's path comes to with its next segment; if this one comes there too, it goes on as the chunk's does.
        const std::int64_t joined = state.written + kSegmentOutputs;
        PathPlace of_chunk{-1, -1};
        if (has_chunk) of_chunk = {segments.path.event[joined - 1], segments.path.position[joined - 1]};
        __syncwarp();
        if (has_jumped) bases.seek(state.at.position);
        has_jumped = false;
        walk_on(state, bases, ends, 0, state.written + 1, most_whole, Until::stop);
        if (has_chunk && state.written == joined && state.at.event == of_chunk.event && state.at.position == of_chunk.position) {
          state = chunks[at].end;
          has_jumped = true;
        }
      }
      if (state.status != RecordStatus::ok) break;
      begin = end + 1;
    }
    return state;
  }
};

}  // namespace sluice::event_alignment::cuda
