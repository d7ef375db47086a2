// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The stage sdtw_stream: a row is a chunk of a query.

#include <optional>
#include <sluice/channel_states.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "sdtw/targets.hpp"

#ifdef SLUICE_WITH_CUDA
#include "sdtw/device_search.hpp"
#include "sdtw/device_states.hpp"
#include "sdtw/host_columns.hpp"
#endif

namespace sluice::sdtw {

struct StreamParameters : Parameters {
  std::int64_t max_channels = 65536;
};

class SdtwStream {
 public:
  using Parameters = StreamParameters;
  enum class Reason : std::uint32_t { level_outside_range, query_too_long, chunk_missing, too_many_channels, bad_candidates };

  static void describe(Describe<SdtwStream>& d) {
    d.id("sdtw_stream").summary("the same for reads that arrive in chunks: what has been aligned is kept, for each channel").ordered().restartable();
    d.doc(
        "After every chunk the result is that of sdtw for all levels of the read so far, and without candidates no level is aligned twice. A "
        "channel's state is dropped "
        "with the last chunk of a read, or when another read begins (chunk 0).");
    describe_both(d);
    d.needs("channel", "i32", "channel of the flow cell").needs("chunk_index", "i32", "0: the first chunk of a read");
    d.needs("is_last_chunk", "u8", "1: the read ends with this chunk");
    d.option("max_channels", &Parameters::max_channels, "most channels with a read in flight").range(1, 1e7);
#ifdef SLUICE_WITH_CUDA
    d.implementation<&SdtwStream::process_cuda>("cuda", "the last rows stay on the device; channels for which it has no room are the CPU's");
#endif
    d.reason("level_outside_range", "a level of the query is beyond +-63").reason("query_too_long", "the score might not fit 31 bits");
    d.reason("chunk_missing", "a chunk of this read was lost or failed, so that the rest of it can't be aligned");
    d.reason("too_many_channels", "more channels have a read in flight than max_channels");
    d.reason("bad_candidates", "the candidates do not ascend, overlap, or do not lie within one strand each");
  }

  SdtwStream(const Setup& setup, const Parameters& parameters)
      : targets_(setup, parameters), max_channels_(static_cast<std::size_t>(parameters.max_channels)) {
#ifdef SLUICE_WITH_CUDA
    if (!targets_.can_be_searched_on_devices()) return;
    device_search_.emplace(targets_.reference);
    states_.emplace(device_search_->packed());
#endif
  }

  bool offers(std::string_view device) const { return device == "cpu" || targets_.can_be_searched_on_devices(); }

  Estimate estimate(const Batch& in) const {
    const auto query = in.list<std::int16_t>("query_level").offsets();
    Estimate e;
    e.work = targets_.cells(query.back() - query.front());
    for (std::size_t row = 0; row + 1 < query.size(); ++row)
      e.largest_row_work = std::max(e.largest_row_work, targets_.cells(query[row + 1] - query[row]));
    e.output_bytes = 33 * static_cast<std::uint64_t>(in.rows());
    return e;
  }

  void process(const Call& call, const Batch& in, Output& out) {
#ifdef SLUICE_WITH_CUDA
    leave_device(in);
#endif
    const auto query = in.list<std::int16_t>("query_level");
    const ResultColumns columns(out, targets_.wants_start, targets_.wants_end);
    const auto channel = in.column<std::int32_t>("channel"), chunk_index = in.column<std::int32_t>("chunk_index");
    const auto is_last_chunk = in.column<std::uint8_t>("is_last_chunk");
    std::optional<CandidateColumns> candidates;
    if (targets_.by_seeds) candidates.emplace(in);
    begin_turns(in, channel);
    call.parallel_for(turns_.size(), 1, [&](std::size_t first, std::size_t last) {
      auto workspace = workspaces_.take();
      for (std::size_t t = first; t < last; ++t) {
        for (std::size_t at = turns_[t].begin; at < turns_[t].end && !call.cancelled(); ++at) {
          const std::size_t row = order_[at];
          Channel* const state = turns_[t].channel;
          const std::span<const std::int16_t> levels = query[static_cast<std::int64_t>(row)];
          if (!admit(state, levels, chunk_index[row], nullptr, row, out)) continue;
          state->stream.append(levels);
          if (!targets_.by_seeds) {
            bring_up_to_date(*state, *workspace);
          } else if (!align_to_candidates(*state, *candidates, static_cast<std::int64_t>(row), *workspace)) {
            state->reading = false;
            out.fail(static_cast<std::int64_t>(row), Reason::bad_candidates);
            continue;
          }
          columns.set(row, targets_.reference, state->result, static_cast<std::size_t>(state->stream.length()));
          if (is_last_chunk[row] != 0) state->reading = false;
        }
      }
    });
  }

#ifdef SLUICE_WITH_CUDA
  void process_cuda(const Call& call, const Batch& in, Output& out) {
    const sluice::cuda::DeviceCall device(call);
    const cuda::HostList<std::int16_t> query(device, in, "query_level");
    const cuda::HostColumn<std::int32_t> channel(device, in, "channel"), chunk_index(device, in, "chunk_index");
    const cuda::HostColumn<std::uint8_t> is_last_chunk(device, in, "is_last_chunk");
    const std::int16_t* const levels = device.list<std::int16_t>(in, "query_level").values;
    const ResultColumns columns(out, targets_.wants_start, targets_.wants_end);
    begin_turns(in, channel);
    for (Turn& turn : turns_)
      if (turn.channel != nullptr) turn.before = {turn.channel->stream.mark(), turn.channel->next_chunk, turn.channel->reading, turn.channel->result};
    last_on_device_ = in.sequence();
    // In each round one chunk of every channel.
    std::size_t waiting = order_.size();
    std::vector<Chunk> chunks;
    for (std::size_t round = 0; waiting > 0 && !call.cancelled(); ++round) {
      chunks.clear();
      for (Turn& turn : turns_) {
        if (turn.begin + round >= turn.end) continue;
        --waiting;
        const std::size_t row = order_[turn.begin + round];
        Channel* const state = turn.channel;
        if (!admit(state, query[row], chunk_index[row], &turn.before.stream, row, out)) continue;
        if (chunk_index[row] == 0) begin_read(call, device, *state);
        chunks.push_back({row, query.begin(row), static_cast<std::int64_t>(query[row].size()), is_last_chunk[row] != 0, state});
        state->stream.append(query[row]);
        if (is_last_chunk[row] != 0) state->reading = false;
      }
      compute(call, device, chunks, levels);
      for (const Chunk& chunk : chunks)
        columns.set(chunk.row, targets_.reference, chunk.state->result, static_cast<std::size_t>(chunk.state->stream.length()));
    }
  }
#endif

 private:
  struct Channel {
    Stream stream;
    std::int64_t next_chunk = 0;
    bool reading = false;      // a read is under way
    SearchResult result;       // of this read so far
    std::int64_t aligned = 0;  // by seeds: levels that it is of
#ifdef SLUICE_WITH_CUDA
    std::optional<cuda::DeviceStates::State> device_state;
    int last_row = 0;             // which of its rows is the last one
    bool has_device_row = false;  // of this read
    bool is_on_device = false;    // this read
#endif
  };
  // The rows of one channel in a batch.
  struct Turn {
    std::int32_t id = 0;
    std::size_t begin = 0, end = 0;  // in order_
    Channel* channel = nullptr;      // null: there are too many
    struct Before {
      Stream::Mark stream;
      std::int64_t next_chunk = 0;
      bool reading = false;
      SearchResult result;
    } before = {};
  };

  // Rows of one channel in their order, channel after channel. Turns stay until the next batch.
  template <class Channels>
  void begin_turns(const Batch& in, const Channels& channel) {
    for (const Turn& turn : turns_)
      if (turn.channel != nullptr && !turn.channel->reading) channels_.release(turn.id);
    turns_.clear();
    order_.clear();
    for (std::size_t row = 0; row < static_cast<std::size_t>(in.rows()); ++row)
      if (in.ok(static_cast<std::int64_t>(row))) order_.push_back(row);
    const auto is_before = [&](std::size_t a, std::size_t b) { return channel[a] < channel[b]; };
    if (!std::is_sorted(order_.begin(), order_.end(), is_before)) std::stable_sort(order_.begin(), order_.end(), is_before);
    for (std::size_t begin = 0; begin < order_.size();) {
      const std::int32_t id = channel[order_[begin]];
      std::size_t end = begin + 1;
      while (end < order_.size() && channel[order_[end]] == id) ++end;
      turns_.push_back({id, begin, end, channel_of(id)});
      begin = end;
    }
  }

  // A channel's state, a new one if it has none; null: there are too many.
  Channel* channel_of(std::int32_t id) {
    if (Channel* const state = channels_.find(id)) return state;
    if (channels_.size() >= max_channels_) return nullptr;
    Channel& state = channels_.take(id);
    state.reading = false;
    return &state;
  }

  // Is this the chunk that comes next, and can it be aligned? A first chunk makes the channel forget the read before, down to `mark` if that is
  // given.
  bool admit(Channel* state, std::span<const std::int16_t> levels, std::int32_t chunk_index, Stream::Mark* mark, std::size_t row, Output& out) const {
    const auto fail = [&](Reason reason) {
      if (state != nullptr) state->reading = false;
      out.fail(static_cast<std::int64_t>(row), reason);
      return false;
    };
    if (state == nullptr) return fail(Reason::too_many_channels);
    if (chunk_index == 0) {
      if (mark != nullptr)
        state->stream.restart(*mark);
      else
        state->stream.restart();
      state->next_chunk = 0;
      state->reading = true;
      state->result = {};
      state->aligned = 0;
    }
    if (!state->reading || chunk_index != state->next_chunk) return fail(Reason::chunk_missing);
    if (state->stream.length() + static_cast<std::int64_t>(levels.size()) > longest_query(targets_.method.cost)) return fail(Reason::query_too_long);
    if (!levels_are_valid(levels)) return fail(Reason::level_outside_range);
    ++state->next_chunk;
    return true;
  }

  // Computes what the levels that came last change. Most chunks bring none: levels come in blocks, and behind the adapter.
  void bring_up_to_date(Channel& state, Workspace& workspace) const {
    if (state.stream.is_up_to_date()) return;
    state.stream.catch_up(targets_.search(), workspace);
    state.result = state.stream.result(targets_.search(), targets_.path_start, workspace);
  }

  // The same by seeds: candidates change as levels come, so all levels are aligned anew. False: the candidates are none.
  bool align_to_candidates(Channel& state, const CandidateColumns& candidates, std::int64_t row, Workspace& workspace) const {
    std::vector<Stretch> stretches;
    if (!candidates.of(row, stretches) || !targets_.candidates->are_valid(stretches)) return false;
    if (state.aligned == state.stream.length()) return true;
    state.aligned = state.stream.length();
    state.result = targets_.candidates->find(state.stream.query(), stretches, targets_.path_start, workspace);
    return true;
  }

#ifdef SLUICE_WITH_CUDA
  struct Chunk {
    std::size_t row;
    std::int64_t query, levels;  // in the levels on the device
    bool ends_read;
    Channel* state;
  };

  void begin_read(const Call& call, const sluice::cuda::DeviceCall& device, Channel& state) {
    if (!state.device_state) {
      cuda::DeviceStates::State taken;
      if (states_->take(device, taken)) state.device_state = taken;
    }
    if (!state.device_state) call.count("reads_without_room_on_the_device", 1);
    state.is_on_device = state.device_state.has_value();
    state.has_device_row = false;
    state.last_row = 0;
  }

  // Brings the results of the chunks' channels up to date.
  void compute(const Call& call, const sluice::cuda::DeviceCall& device, std::span<const Chunk> chunks, const std::int16_t* levels) {
    const bool wants_paths = targets_.path_start == Search::PathStart::wanted;
    std::vector<cuda::Job> jobs;
    std::vector<cuda::Append> appends;
    std::vector<Channel*> of_job, of_path, for_the_cpu;
    for (const Chunk& chunk : chunks) {
      Channel& state = *chunk.state;
      if (!state.is_on_device) for_the_cpu.push_back(&state);
      if (!state.is_on_device || chunk.levels == 0) continue;
      cuda::Job job{chunk.query, chunk.levels, static_cast<std::int32_t>(jobs.size())};
      job.state[0] = state.device_state->rows[state.last_row];
      job.state[1] = state.device_state->rows[1 - state.last_row];
      job.resumes = state.has_device_row;
      job.keeps = !chunk.ends_read;
      state.last_row ^= cuda::state_after(job.levels);
      state.has_device_row = true;
      jobs.push_back(job);
      of_job.push_back(&state);
      if (wants_paths && state.stream.length() <= cuda::most_rows)
        appends.push_back({chunk.query, chunk.levels, state.device_state->query + (state.stream.length() - chunk.levels)});
    }
    const sluice::cuda::Memory appends_on_device = device.upload(appends);
    sluice::cuda::check(cuda::append_levels(appends_on_device.as<cuda::Append>(), static_cast<std::int64_t>(appends.size()), levels, device.stream()),
                        "levels of streams");
    const std::vector<Hit> hits = device_search_->find(device, jobs, levels);
    std::vector<cuda::PathJob> paths;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      Channel& state = *of_job[j];
      state.result = {hits[j], -1, CellWidth::narrow};
      // Scores only grow: what does not fit 16 bits will not with the next chunk.
      if (!cuda::is_exact(hits[j])) state.is_on_device = false;
      if (!state.is_on_device || (wants_paths && state.stream.length() > cuda::most_rows)) {
        for_the_cpu.push_back(&state);
      } else if (wants_paths) {
        paths.push_back({state.device_state->query, state.stream.length(), hits[j], static_cast<std::int32_t>(paths.size())});
        of_path.push_back(&state);
      }
    }
    const std::vector<std::int64_t> starts = device_search_->path_starts(device, paths);
    for (std::size_t p = 0; p < paths.size(); ++p) of_path[p]->result.first_column = starts[p];

    if (!for_the_cpu.empty()) call.count("chunks_finished_by_the_cpu", static_cast<double>(for_the_cpu.size()));
    call.parallel_for(for_the_cpu.size(), 1, [&](std::size_t begin, std::size_t end) {
      auto workspace = workspaces_.take();
      for (std::size_t i = begin; i < end && !call.cancelled(); ++i) {
        Channel& state = *for_the_cpu[i];
        if (state.is_on_device) {
          state.result.first_column = path_start(targets_.reference, state.stream.query(), state.result.hit, targets_.method.cost, workspace->path);
          continue;
        }
        bring_up_to_date(state, *workspace);
      }
    });
  }

  // Ahead of a batch for the CPU. Reads that are under way on the device are computed again from their levels. The batch is there for the second time
  // if the call on the device was not successful; all that this call did is undone.
  void leave_device(const Batch& in) {
    if (!last_on_device_) return;
    if (*last_on_device_ == in.sequence()) {
      for (Turn& turn : turns_) {
        if (turn.channel == nullptr) continue;
        turn.channel->stream.undo(std::move(turn.before.stream));
        turn.channel->next_chunk = turn.before.next_chunk;
        turn.channel->reading = turn.before.reading;
        turn.channel->result = turn.before.result;
      }
    }
    last_on_device_.reset();
    channels_.for_each([](Channel& state) {
      state.device_state.reset();
      state.is_on_device = state.has_device_row = false;
    });
    states_->clear();
  }
#endif

  Targets targets_;
  std::size_t max_channels_;
  ChannelStates<Channel> channels_;  // with a read under way, or in the batch before
  std::vector<std::size_t> order_;   // rows of the batch
  std::vector<Turn> turns_;
  Workspaces<Workspace> workspaces_;
#ifdef SLUICE_WITH_CUDA
  std::optional<cuda::DeviceSearch> device_search_;
  std::optional<cuda::DeviceStates> states_;
  std::optional<std::uint64_t> last_on_device_;  // the last batch, if it was given to a device
#endif
};

}  // namespace sluice::sdtw
