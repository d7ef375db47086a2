// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <memory>
#include <sluice/squiggle_reference.hpp>
#include <sluice/stage.hpp>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sdtw/search.hpp"

namespace sluice::sdtw {
namespace {

struct Parameters {
  std::string cost = "manhattan";
  bool reference_deletions = false;
};
struct StreamParameters : Parameters {
  std::int64_t max_channels = 65536;
};

template <class Stage>
void describe_both(Describe<Stage>& d) {
  d.map("read").work_unit("cell");
  d.uses("target", "squiggle_target", "expected levels of the targets, both strands");
  d.needs("query_level", "list<i16>", "normalised signal in steps of 1/16, within +-63");
  d.gives("sdtw_score", "i64", "cost of the best alignment, summed over the levels of the query");
  d.gives("sdtw_target", "i32", "row of the target where it lies, -1: there was no level yet");
  d.gives("sdtw_is_reverse", "u8", "1: on the reverse strand");
  d.gives("sdtw_start", "i64", "first k-mer of the alignment, on the forward strand of the target", Needed::optional);
  d.gives("sdtw_end", "i64", "end of the alignment, on the forward strand of the target", Needed::optional);
  d.gives("sdtw_length", "i32", "levels of the query");
  d.option("cost", &Stage::Parameters::cost, "cost of two levels: their distance or its square").choices({"manhattan", "squared"});
  d.option("reference_deletions", &Stage::Parameters::reference_deletions,
           "may an alignment skip k-mers of the reference without a level of their own? On the CPU only, and slow");
}

Method method_of(const Parameters& parameters) {
  return {parameters.cost == "squared" ? Cost::squared : Cost::manhattan,
          parameters.reference_deletions ? ReferenceDeletions::allowed : ReferenceDeletions::forbidden};
}

Reference reference_of(const Setup& setup) {
  const SquiggleReferenceView view(setup.resource("target"));
  Reference reference;
  for (std::int64_t target = 0; target < view.targets(); ++target) {
    const SquiggleTarget levels = view[target];
    reference.add_target(levels.forward_level, levels.reverse_level);
  }
  return reference;
}

// The columns that both stages give.
struct ResultColumns {
  ResultColumns(Output& out, bool wants_start, bool wants_end)
      : score(out.column<std::int64_t>("sdtw_score")),
        target(out.column<std::int32_t>("sdtw_target")),
        is_reverse(out.column<std::uint8_t>("sdtw_is_reverse")),
        length(out.column<std::int32_t>("sdtw_length")) {
    if (wants_start) start = out.column<std::int64_t>("sdtw_start");
    if (wants_end) end = out.column<std::int64_t>("sdtw_end");
  }
  void set(std::size_t row, const Reference& reference, const SearchResult& result, std::size_t query_levels) const {
    const Place place = place_of(reference, result.first_column, result.hit.column);
    score[row] = result.hit.score;
    target[row] = place.target;
    is_reverse[row] = place.strand == Strand::reverse ? 1 : 0;
    length[row] = static_cast<std::int32_t>(query_levels);
    if (!start.empty()) start[row] = place.start;
    if (!end.empty()) end[row] = place.end;
  }
  std::span<std::int64_t> score;
  std::span<std::int32_t> target;
  std::span<std::uint8_t> is_reverse;
  std::span<std::int32_t> length;
  std::span<std::int64_t> start, end;
};

// What both stages are made of. On the reverse strand the end is found as the start is: the first column is needed for either.
struct Targets {
  Targets(const Setup& setup, const Parameters& parameters)
      : reference(reference_of(setup)),
        search(reference, method_of(parameters)),
        wants_start(setup.wanted("sdtw_start")),
        wants_end(setup.wanted("sdtw_end")),
        path_start(wants_start || wants_end ? Search::PathStart::wanted : Search::PathStart::unwanted) {}
  Reference reference;
  Search search;
  bool wants_start, wants_end;
  Search::PathStart path_start;
};

class Sdtw {
 public:
  using Parameters = sdtw::Parameters;
  enum class Reason : std::uint32_t { level_outside_range, query_too_long };

  static void describe(Describe<Sdtw>& d) {
    d.id("sdtw").summary("finds where the signal of a read fits best in the targets (subsequence dynamic time warping)");
    d.doc(
        "All of the query is aligned, to any stretch of either strand of any target. Scores are exact integers. Without reference deletions, which "
        "is "
        "the default, the recurrence is that of DTWax (Sadasivan et al. 2023).");
    describe_both(d);
    d.reason("level_outside_range", "a level of the query is beyond +-63").reason("query_too_long", "the score might not fit 31 bits");
  }

  Sdtw(const Setup& setup, const Parameters& parameters) : targets_(setup, parameters) {}

  Estimate estimate(const Batch& in) const {
    const auto query = in.list<std::int16_t>("query_level").offsets();
    Estimate e;
    for (std::size_t row = 0; row + 1 < query.size(); ++row) {
      const double cells = static_cast<double>(query[row + 1] - query[row]) * static_cast<double>(targets_.reference.columns());
      e.work += cells;
      e.largest_row_work = std::max(e.largest_row_work, cells);
    }
    e.output_bytes = 33 * static_cast<std::uint64_t>(in.rows());
    e.scratch_bytes = targets_.search.workspace_bytes();
    return e;
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const auto query = in.list<std::int16_t>("query_level");
    const ResultColumns columns(out, targets_.wants_start, targets_.wants_end);
    const auto rows = static_cast<std::size_t>(in.rows());
    std::vector<std::uint8_t> searched(rows, 0);
    std::size_t longest = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      const auto row = static_cast<std::int64_t>(i);
      if (!in.ok(row)) continue;
      const std::span<const std::int16_t> levels = query[row];
      if (static_cast<std::int64_t>(levels.size()) > longest_query(targets_.search.method().cost)) {
        out.fail(row, Reason::query_too_long);
      } else if (!levels_are_valid(levels)) {
        out.fail(row, Reason::level_outside_range);
      } else {
        searched[i] = 1;
        longest = std::max(longest, levels.size());
      }
    }
    if (rows == 0) return;
    // Few reads and a long reference: several threads take parts of the reference.
    const auto threads = static_cast<std::size_t>(std::max(1, call.threads()));
    const std::size_t parts = rows >= 4 * threads ? 1 : targets_.search.useful_parts(longest, (4 * threads + rows - 1) / rows);
    std::vector<SearchResult> results(rows * parts);
    call.parallel_for(rows * parts, 1, [&](std::size_t begin, std::size_t end) {
      auto workspace = workspaces_.take();
      for (std::size_t item = begin; item < end && !call.cancelled(); ++item)
        if (searched[item / parts] != 0)
          results[item] = targets_.search.find_part(query[static_cast<std::int64_t>(item / parts)], item % parts, parts, *workspace);
    });
    call.parallel_for(rows, 1, [&](std::size_t begin, std::size_t end) {
      auto workspace = workspaces_.take();
      for (std::size_t i = begin; i < end && !call.cancelled(); ++i) {
        if (searched[i] == 0) continue;
        const std::span<const std::int16_t> levels = query[static_cast<std::int64_t>(i)];
        columns.set(i, targets_.reference,
                    targets_.search.join_parts(levels, std::span(results).subspan(i * parts, parts), targets_.path_start, *workspace), levels.size());
      }
    });
  }

 private:
  Targets targets_;
  Workspaces<Workspace> workspaces_;
};

class SdtwStream {
 public:
  using Parameters = StreamParameters;
  enum class Reason : std::uint32_t { level_outside_range, query_too_long, chunk_missing, too_many_channels };

  static void describe(Describe<SdtwStream>& d) {
    d.id("sdtw_stream").summary("the same for reads that arrive in chunks: what has been aligned is kept, for each channel").ordered();
    d.doc(
        "After every chunk the result is that of sdtw for all levels of the read so far, and no level is aligned twice. A channel's state is dropped "
        "with the last chunk of a read, or when another read begins (chunk 0).");
    describe_both(d);
    d.needs("channel", "i32", "channel of the flow cell").needs("chunk_index", "i32", "0: the first chunk of a read");
    d.needs("is_last_chunk", "u8", "1: the read ends with this chunk");
    d.option("max_channels", &Parameters::max_channels, "most channels with a read under way").range(1, 1e7);
    d.reason("level_outside_range", "a level of the query is beyond +-63").reason("query_too_long", "the score might not fit 31 bits");
    d.reason("chunk_missing", "a chunk of this read was lost or failed, so that the rest of it can't be aligned");
    d.reason("too_many_channels", "more channels have a read under way than max_channels");
  }

  SdtwStream(const Setup& setup, const Parameters& parameters)
      : targets_(setup, parameters), max_channels_(static_cast<std::size_t>(parameters.max_channels)) {}

  Estimate estimate(const Batch& in) const {
    const auto query = in.list<std::int16_t>("query_level").offsets();
    Estimate e;
    e.work = static_cast<double>(query.back() - query.front()) * static_cast<double>(targets_.reference.columns());
    for (std::size_t row = 0; row + 1 < query.size(); ++row)
      e.largest_row_work =
          std::max(e.largest_row_work, static_cast<double>(query[row + 1] - query[row]) * static_cast<double>(targets_.reference.columns()));
    e.output_bytes = 33 * static_cast<std::uint64_t>(in.rows());
    return e;
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const auto query = in.list<std::int16_t>("query_level");
    const ResultColumns columns(out, targets_.wants_start, targets_.wants_end);
    const auto channel = in.column<std::int32_t>("channel"), chunk_index = in.column<std::int32_t>("chunk_index");
    const auto is_last_chunk = in.column<std::uint8_t>("is_last_chunk");
    // Rows of one channel in their order, channels side by side.
    std::vector<std::int64_t> order;
    for (std::int64_t row = 0; row < in.rows(); ++row)
      if (in.ok(row)) order.push_back(row);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return channel[static_cast<std::size_t>(a)] < channel[static_cast<std::size_t>(b)]; });
    struct Turn {
      std::size_t begin, end;  // in order
      Channel* state;
    };
    std::vector<Turn> turns;
    for (std::size_t begin = 0; begin < order.size();) {
      const std::int32_t id = channel[static_cast<std::size_t>(order[begin])];
      std::size_t end = begin + 1;
      while (end < order.size() && channel[static_cast<std::size_t>(order[end])] == id) ++end;
      turns.push_back({begin, end, state_of(id)});
      begin = end;
    }
    call.parallel_for(turns.size(), 1, [&](std::size_t first, std::size_t last) {
      auto workspace = workspaces_.take();
      for (std::size_t t = first; t < last; ++t) {
        for (std::size_t at = turns[t].begin; at < turns[t].end && !call.cancelled(); ++at) {
          const std::int64_t row = order[at];
          const auto i = static_cast<std::size_t>(row);
          advance(turns[t].state, query[row], chunk_index[i], is_last_chunk[i] != 0, row, columns, out, *workspace);
        }
      }
    });
    for (const Turn& turn : turns)
      if (turn.state != nullptr && !turn.state->reading) release(channel[static_cast<std::size_t>(order[turn.begin])]);
  }

 private:
  struct Channel {
    Stream stream;
    std::int64_t next_chunk = 0;
    bool reading = false;  // a read is under way
  };

  // A channel's state, a new one if it has none; null: there are too many.
  Channel* state_of(std::int32_t id) {
    if (const auto found = channels_.find(id); found != channels_.end()) return found->second.get();
    if (channels_.size() >= max_channels_) return nullptr;
    std::unique_ptr<Channel> state;
    if (idle_.empty()) {
      state = std::make_unique<Channel>();
    } else {
      state = std::move(idle_.back());
      idle_.pop_back();
    }
    state->reading = false;
    return channels_.emplace(id, std::move(state)).first->second.get();
  }
  void release(std::int32_t id) {
    const auto found = channels_.find(id);
    idle_.push_back(std::move(found->second));
    channels_.erase(found);
  }

  void advance(Channel* state, std::span<const std::int16_t> levels, std::int32_t chunk_index, bool is_last, std::int64_t row,
               const ResultColumns& columns, Output& out, Workspace& workspace) const {
    if (state == nullptr) {
      out.fail(row, Reason::too_many_channels);
      return;
    }
    if (chunk_index == 0) {
      state->stream.restart();
      state->next_chunk = 0;
      state->reading = true;
    }
    if (!state->reading || chunk_index != state->next_chunk) {
      state->reading = false;
      out.fail(row, Reason::chunk_missing);
      return;
    }
    if (state->stream.length() + static_cast<std::int64_t>(levels.size()) > longest_query(targets_.search.method().cost)) {
      state->reading = false;
      out.fail(row, Reason::query_too_long);
      return;
    }
    if (!levels_are_valid(levels)) {
      state->reading = false;
      out.fail(row, Reason::level_outside_range);
      return;
    }
    ++state->next_chunk;
    state->stream.advance(targets_.search, levels, workspace);
    columns.set(static_cast<std::size_t>(row), targets_.reference, state->stream.result(targets_.search, targets_.path_start, workspace),
                static_cast<std::size_t>(state->stream.length()));
    if (is_last) state->reading = false;
  }

  Targets targets_;
  std::size_t max_channels_;
  std::unordered_map<std::int32_t, std::unique_ptr<Channel>> channels_;  // with a read under way
  std::vector<std::unique_ptr<Channel>> idle_;
  Workspaces<Workspace> workspaces_;
};

}  // namespace
}  // namespace sluice::sdtw

SLUICE_PLUGIN("sdtw", "0.1.0", "MIT", sluice::sdtw::Sdtw, sluice::sdtw::SdtwStream);
