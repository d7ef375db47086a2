// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <limits>
#include <optional>
#include <sluice/channel_states.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <vector>

#include "signal_seeding/candidates.hpp"
#include "signal_seeding/index_resource.hpp"
#include "signal_seeding/seeding.hpp"

#ifdef SLUICE_WITH_CUDA
#include "signal_seeding/cuda_candidates.hpp"
#include "signal_seeding/device_index.hpp"
#endif

namespace sluice::signal_seeding {
namespace {

struct SeedingOptions : SeedingParameters {
  std::int32_t window = segmentation.window;
  double least_statistic = segmentation.least_statistic;
};

Seeding seeding_of(const SeedingOptions& options, const SquiggleIndexView& index) {
  SeedingParameters parameters = options;
  parameters.segmentation.window = options.window;
  parameters.segmentation.least_statistic = static_cast<float>(options.least_statistic);
  parameters.segmentation.least_difference = index.least_difference;
  return {parameters, index};
}

template <class Stage>
void describe_seeding(Describe<Stage>& d) {
  d.map("read").work_unit("sample");
  d.uses("index", "squiggle_index", "runs of events of the targets");
  d.needs("query_sample", "list<i16>", "normalised samples in steps of 1/64 standard deviation, within +-252");
  d.gives("read_length", "i32", "events of the read so far, on the scale of the anchors' places on it");
  d.gives("anchor_x", "list<u64>", "2 * target (+ 1: reverse) << 32 | column of the strand, in the order in which it passes the pore; ascending");
  d.gives("anchor_y", "list<u64>", "events of the run << 32 | place of its last event on the read");
  d.option("window", &SeedingOptions::window, "samples on either side of a border between events").range(2, 16).unit("samples");
  d.option("least_statistic", &SeedingOptions::least_statistic, "of a border: squared difference of the means over its variance").range(0, 1e6);
  d.option("uncertainty", &SeedingParameters::uncertainty, "an event this near to a border of symbols, in 1/64 standard deviations, may have either")
      .range(0, 252);
  d.option("most_uncertain", &SeedingParameters::most_uncertain, "so many uncertain events of a run are tried with both symbols")
      .range(0, most_tried_events);
  d.option("most_occurrences", &SeedingParameters::most_occurrences, "seeds that are more frequent in the targets are left out").range(1, 1e6);
  d.option("most_distance", &SeedingParameters::most_distance, "anchors with no other so near on their strand are left out")
      .range(0, 1e9)
      .unit("k-mers");
  d.option("most_shift", &SeedingParameters::most_shift, "and on a diagonal that differs by no more: bw of chaining").range(0, 1e9).unit("k-mers");
}

// The columns on their way to the output.
struct AnchorRows {
  std::vector<std::vector<Anchor>> anchors;
  std::vector<std::int32_t> length;
  void clear(std::size_t rows) {
    if (anchors.size() < rows) anchors.resize(rows);
    for (std::size_t row = 0; row < rows; ++row) anchors[row].clear();
    length.assign(rows, 0);
  }
  void set(std::size_t row, ReadSeeds& seeds) {
    seeds.copy_chainable(anchors[row]);
    length[row] = seeds.length();
  }
  void give(const Call& call, Output& out) const {
    const Buffer offsets = out.offsets([&](std::int64_t row) { return anchors[static_cast<std::size_t>(row)].size(); });
    const std::span<std::uint64_t> x = out.list<std::uint64_t>("anchor_x", offsets), y = out.list<std::uint64_t>("anchor_y", offsets);
    if (!x.empty()) call.count("anchors", static_cast<double>(x.size()));
    std::size_t at = 0;
    for (std::size_t row = 0; row < length.size(); ++row)
      for (const Anchor& anchor : anchors[row]) {
        x[at] = anchor.x;
        y[at++] = anchor.y;
      }
    std::copy(length.begin(), length.end(), out.column<std::int32_t>("read_length").begin());
  }
};

class SignalSeeding {
 public:
  using Parameters = SeedingOptions;

  static void describe(Describe<SignalSeeding>& d) {
    d.id("signal_seeding").summary("finds where runs of events of a read's signal are expected in the targets");
    d.doc(
        "Cuts the normalised signal into events, writes their levels as symbols, and looks runs of them up in the index; an event near a border "
        "between two "
        "symbols is tried with both. Anchors are in the form that the stage chaining takes. Without an index (search = sdtw) there are none.");
    describe_seeding(d);
#ifdef SLUICE_WITH_CUDA
    d.implementation<&SignalSeeding::process_cuda>("cuda", "a block cuts a read into events, a warp looks up the runs of an event");
#endif
  }
  SignalSeeding(const Setup& setup, const Parameters& options)
      : index_(setup.resource("index")), by_seeds_(is_by_seeds(index_)), seeding_(seeding_of(options, index_view(index_))) {}

#ifdef SLUICE_WITH_CUDA
  // Without an index nothing is to be done.
  bool offers(std::string_view device) const { return device != "cuda" || by_seeds_; }
#endif

  Estimate estimate(const Batch& in) const {
    // About an anchor a sample is found among random targets, of which half stay; working memory is a device's.
    constexpr std::uint64_t output_bytes_of_sample = 10, working_bytes_of_sample = 48;
    const auto offsets = in.list<std::int16_t>("query_sample").offsets();
    Estimate e;
    for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
      const auto samples = static_cast<double>(offsets[row + 1] - offsets[row]);
      e.work += samples;
      e.largest_row_work = std::max(e.largest_row_work, samples);
    }
    e.output_bytes = by_seeds_ ? static_cast<std::uint64_t>(e.work) * output_bytes_of_sample : 0;
    e.scratch_bytes = by_seeds_ ? static_cast<std::uint64_t>(e.work) * working_bytes_of_sample : 0;
    return e;
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const auto samples = in.list<std::int16_t>("query_sample");
    auto rows = rows_.take();
    rows->clear(static_cast<std::size_t>(in.rows()));
    call.parallel_for(by_seeds_ ? static_cast<std::size_t>(in.rows()) : 0, 4, [&](std::size_t begin, std::size_t end) {
      ReadSeeds seeds(seeding_);
      for (std::size_t i = begin; i < end && !call.cancelled(); ++i) {
        if (!in.ok(static_cast<std::int64_t>(i))) continue;
        seeds.restart();
        seeds.take(samples[static_cast<std::int64_t>(i)]);
        rows->set(i, seeds);
      }
    });
    rows->give(call, out);
  }

#ifdef SLUICE_WITH_CUDA
  void process_cuda(const Call& call, const Batch& in, Output& out) {
    const sluice::cuda::DeviceCall device(call);
    const auto samples = device.list<std::int16_t>(in, "query_sample");
    const auto rows = static_cast<std::size_t>(in.rows());
    const std::vector<std::int64_t> at = device.download(samples.offsets, rows + 1);
    const sluice::cuda::Memory row_status = device.row_status(in);
    cuda::DeviceReads reads{in.rows(), samples.offsets, samples.values, row_status.as<std::uint16_t>(), at.front(), at.back() - at.front()};
    for (std::size_t row = 0; row < rows; ++row) reads.longest = std::max(reads.longest, at[row + 1] - at[row]);
    std::vector<sluice::cuda::Memory> memory;  // until the device has done all
    cuda::DeviceSeeding seeding(reads, index_on(call, device).tables, seeding_.parameters, launch(device, memory));
    sluice::cuda::Memory length = device.allocate_array<std::int32_t>(rows);
    const std::int64_t anchors = seeding.find(length.as<std::int32_t>());
    const sluice::cuda::Memory offsets = device.allocate_array<std::int64_t>(rows + 1);
    sluice::cuda::Memory x = device.allocate_array<std::uint64_t>(static_cast<std::size_t>(anchors));
    sluice::cuda::Memory y = device.allocate_array<std::uint64_t>(static_cast<std::size_t>(anchors));
    seeding.write(offsets.as<std::int64_t>(), x.as<std::uint64_t>(), y.as<std::uint64_t>());
    if (anchors > 0) call.count("anchors", static_cast<double>(anchors));
    device.add_column<std::int32_t>(out, "read_length", std::move(length));
    device.add_list<std::uint64_t>(out, "anchor_x", offsets, std::move(x), anchors);
    device.add_list<std::uint64_t>(out, "anchor_y", offsets, std::move(y), anchors);
  }
#endif

 private:
#ifdef SLUICE_WITH_CUDA
  static cuda::Launch launch(const sluice::cuda::DeviceCall& device, std::vector<sluice::cuda::Memory>& memory) {
    cuda::Launch launch{.stream = device.stream()};
    sluice::cuda::check(cudaDeviceGetAttribute(&launch.multiprocessors, cudaDevAttrMultiProcessorCount, device.ordinal()), "cudaDeviceGetAttribute");
    launch.allocate = [&device, &memory](std::size_t bytes) { return memory.emplace_back(device.allocate(bytes)).get(); };
    return launch;
  }
  // Where the index has no room the batch is done elsewhere.
  const DeviceIndex& index_on(const Call& call, const sluice::cuda::DeviceCall& device) {
    try {
      return indexes_.get(device.ordinal(), [&] { return DeviceIndex(device, seeding_); });
    } catch (const Failure& failure) {
      if (failure.status() == SLUICE_ERROR_DEVICE_MEMORY) call.count("batches_without_room_for_the_index_on_the_device", 1);
      throw;
    }
  }
#endif

  Batch index_;
  bool by_seeds_;
  Seeding seeding_;
  Workspaces<AnchorRows> rows_;
#ifdef SLUICE_WITH_CUDA
  sluice::cuda::PerDevice<DeviceIndex> indexes_;
#endif
};

// One row a chunk of a read of a channel.
class SignalSeedingStream {
 public:
  using Parameters = SeedingOptions;
  enum class Reason : std::uint32_t { chunk_missing };

  static void describe(Describe<SignalSeedingStream>& d) {
    d.id("signal_seeding_stream").summary("signal_seeding for reads that come in chunks, channel by channel").ordered();
    d.doc(
        "After every chunk the anchors are those of signal_seeding for all of the read so far, and no event is looked up twice. A channel's state is "
        "dropped "
        "with the last chunk of a read, or when another read begins (chunk 0).");
    describe_seeding(d);
    d.needs("channel", "i32", "channel of the flow cell")
        .needs("chunk_index", "i32", "0: first chunk of a read")
        .needs("is_last_chunk", "u8", "1: the read ends");
    d.reason("chunk_missing", "the chunk does not follow on the one before of its channel");
  }
  SignalSeedingStream(const Setup& setup, const Parameters& options)
      : index_(setup.resource("index")), by_seeds_(is_by_seeds(index_)), seeding_(seeding_of(options, index_view(index_))) {}

  void process(const Call& call, const Batch& in, Output& out) {
    rows_.clear(static_cast<std::size_t>(in.rows()));
    if (by_seeds_) find_anchors(call, in, out);
    rows_.give(call, out);
  }

 private:
  static constexpr std::int32_t no_read = -1;
  struct Channel {
    std::optional<ReadSeeds> seeds;
    std::int32_t next_chunk = no_read;
  };

  void find_anchors(const Call& call, const Batch& in, Output& out) {
    const auto samples = in.list<std::int16_t>("query_sample");
    const auto chunk_index = in.column<std::int32_t>("chunk_index");
    const auto is_last_chunk = in.column<std::uint8_t>("is_last_chunk");
    const std::span<const RowsByChannel::Group> groups = rows_by_channel_.of(in);
    channels_of_groups_.clear();
    for (const RowsByChannel::Group& group : groups) channels_of_groups_.push_back(&channel_of(group.channel));
    call.parallel_for(groups.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t g = begin; g < end && !call.cancelled(); ++g)
        for (const std::size_t row : groups[g].rows) {
          Channel& channel = *channels_of_groups_[g];
          if (chunk_index[row] == 0) {
            channel.seeds->restart();
          } else if (channel.next_chunk != chunk_index[row] || chunk_index[row] < 0) {
            channel.next_chunk = no_read;
            out.fail(static_cast<std::int64_t>(row), Reason::chunk_missing);
            continue;
          }
          channel.seeds->take(samples[static_cast<std::int64_t>(row)]);
          rows_.set(row, *channel.seeds);
          const bool ends = is_last_chunk[row] != 0 || chunk_index[row] == std::numeric_limits<std::int32_t>::max();
          channel.next_chunk = ends ? no_read : chunk_index[row] + 1;
        }
    });
    for (std::size_t g = 0; g < groups.size(); ++g)
      if (channels_of_groups_[g]->next_chunk == no_read) channels_.release(groups[g].channel);
  }
  Channel& channel_of(std::int32_t number) {
    if (Channel* const state = channels_.find(number)) return *state;
    Channel& state = channels_.take(number);
    if (!state.seeds) state.seeds.emplace(seeding_);
    state.next_chunk = no_read;
    return state;
  }

  Batch index_;
  bool by_seeds_;
  Seeding seeding_;
  AnchorRows rows_;
  ChannelStates<Channel> channels_;  // while they have a read
  RowsByChannel rows_by_channel_;
  std::vector<Channel*> channels_of_groups_;
};

class SeedCandidates {
 public:
  using Parameters = CandidateParameters;
  enum class Reason : std::uint32_t { bad_chains };

  static void describe(Describe<SeedCandidates>& d) {
    d.id("seed_candidates").summary("the stretches of the targets around a read's best chains of seeds").map("read").work_unit("row");
    d.doc(
        "For sdtw, which then aligns to these alone. What lies before and behind a chain on the read is added at both ends, with room for a strand "
        "that moves unevenly.");
    d.uses("index", "squiggle_index", "the index that the anchors come from");
    d.needs("read_length", "i32", "events of the read").needs("chain_score", "list<i32>", "score of each chain");
    d.needs("chain_anchor_count", "list<i32>", "anchors of each chain").needs("chain_anchor_x", "list<u64>", "anchor_x of the chains' anchors");
    d.needs("chain_anchor_y", "list<u64>", "anchor_y of the chains' anchors");
    d.gives("candidate_begin", "list<i64>", "first column of each stretch among all strands of all targets, ascending");
    d.gives("candidate_end", "list<i64>", "column behind its last");
    d.option("most_chains", &Parameters::most_chains, "the best so many chains count").range(1, 1e6);
    d.option("stretch", &Parameters::stretch, "what lies beside a chain may be longer by this share").range(0, 10);
    d.option("margin", &Parameters::margin, "and by so many k-mers").range(0, 1e6).unit("k-mers");
#ifdef SLUICE_WITH_CUDA
    d.implementation<&SeedCandidates::process_cuda>("cuda", "a warp a read; most_chains of 32 or fewer");
#endif
    d.reason("bad_chains", "the chains are not of this index, or their anchors are not as many as they say");
  }
  SeedCandidates(const Setup& setup, const Parameters& parameters)
      : index_(setup.resource("index")), view_(index_view(index_)), parameters_(parameters) {}

#ifdef SLUICE_WITH_CUDA
  bool offers(std::string_view device) const {
    return device != "cuda" || (is_by_seeds(index_) && parameters_.most_chains <= cuda::most_device_chains);
  }
#endif

  void process(const Call& call, const Batch& in, Output& out) {
    const auto length = in.column<std::int32_t>("read_length");
    const auto score = in.list<std::int32_t>("chain_score"), count = in.list<std::int32_t>("chain_anchor_count");
    const auto x = in.list<std::uint64_t>("chain_anchor_x"), y = in.list<std::uint64_t>("chain_anchor_y");
    std::vector<std::vector<Candidate>> candidates(static_cast<std::size_t>(in.rows()));
    std::uint64_t without = 0;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      const ChainsOfRead chains{score[row], count[row], x[row], y[row]};
      if (!chains_are_valid(chains, view_.strand_begin))
        out.fail(row, Reason::bad_chains);
      else
        find_candidates(chains, length[static_cast<std::size_t>(row)], view_.strand_begin, parameters_, candidates[static_cast<std::size_t>(row)]);
      if (candidates[static_cast<std::size_t>(row)].empty()) ++without;
    }
    const Buffer offsets = out.offsets([&](std::int64_t row) { return candidates[static_cast<std::size_t>(row)].size(); });
    const std::span<std::int64_t> begin = out.list<std::int64_t>("candidate_begin", offsets), end = out.list<std::int64_t>("candidate_end", offsets);
    std::size_t at = 0;
    for (const std::vector<Candidate>& of_row : candidates)
      for (const Candidate& candidate : of_row) {
        begin[at] = candidate.begin;
        end[at++] = candidate.end;
      }
    if (is_by_seeds(index_)) call.count("rows without a candidate", static_cast<double>(without));
  }

#ifdef SLUICE_WITH_CUDA
  void process_cuda(const Call& call, const Batch& in, Output& out) {
    const sluice::cuda::DeviceCall device(call);
    const auto rows = static_cast<std::size_t>(in.rows());
    const auto score = device.list<std::int32_t>(in, "chain_score"), anchor_count = device.list<std::int32_t>(in, "chain_anchor_count");
    const auto x = device.list<std::uint64_t>(in, "chain_anchor_x"), y = device.list<std::uint64_t>(in, "chain_anchor_y");
    const sluice::cuda::Memory row_status = device.row_status(in);
    const sluice::cuda::Memory& strand_begin = strands_.get(device.ordinal(), [&] {
      const std::vector<std::int64_t> begins(view_.strand_begin.begin(), view_.strand_begin.end());
      sluice::cuda::Memory memory = device.upload(begins);
      device.synchronize();  // other lanes of this device use it, too
      return memory;
    });
    const cuda::DeviceChains chains{in.rows(),
                                    device.column<std::int32_t>(in, "read_length"),
                                    {score.offsets, score.values},
                                    {anchor_count.offsets, anchor_count.values},
                                    {x.offsets, x.values},
                                    {y.offsets, y.values},
                                    row_status.as<std::uint16_t>(),
                                    static_cast<std::int64_t>(view_.strand_begin.size()),
                                    strand_begin.as<std::int64_t>()};
    const sluice::cuda::Memory first_anchor = device.allocate_array<std::int64_t>(static_cast<std::size_t>(anchor_count.count));
    const sluice::cuda::Memory found = device.allocate_array<Candidate>(rows * static_cast<std::size_t>(parameters_.most_chains));
    const sluice::cuda::Memory count = device.allocate_array<std::int32_t>(rows);
    sluice::cuda::check(
        cuda::find_candidates(chains, parameters_, first_anchor.as<std::int64_t>(), found.as<Candidate>(), count.as<std::int32_t>(), device.stream()),
        "find_candidates");
    const std::vector<std::int32_t> counts = device.download(count.as<std::int32_t>(), rows);
    std::vector<std::int64_t> at(rows + 1, 0);
    std::uint64_t without = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      const bool bad = counts[row] == cuda::bad_chains;
      if (bad) out.fail(static_cast<std::int64_t>(row), Reason::bad_chains);
      at[row + 1] = at[row] + (bad ? 0 : counts[row]);
      if (in.ok(static_cast<std::int64_t>(row)) && at[row + 1] == at[row]) ++without;
    }
    const sluice::cuda::Memory offsets = device.upload(at);
    sluice::cuda::Memory begin = device.allocate_array<std::int64_t>(static_cast<std::size_t>(at.back()));
    sluice::cuda::Memory end = device.allocate_array<std::int64_t>(static_cast<std::size_t>(at.back()));
    sluice::cuda::check(cuda::write_candidates(in.rows(), parameters_.most_chains, found.as<Candidate>(), offsets.as<std::int64_t>(),
                                               begin.as<std::int64_t>(), end.as<std::int64_t>(), device.stream()),
                        "write_candidates");
    device.add_list<std::int64_t>(out, "candidate_begin", offsets, std::move(begin), at.back());
    device.add_list<std::int64_t>(out, "candidate_end", offsets, std::move(end), at.back());
    if (is_by_seeds(index_)) call.count("rows without a candidate", static_cast<double>(without));
  }
#endif

 private:
  Batch index_;
  SquiggleIndexView view_;
  CandidateParameters parameters_;
#ifdef SLUICE_WITH_CUDA
  sluice::cuda::PerDevice<sluice::cuda::Memory> strands_;
#endif
};

}  // namespace
}  // namespace sluice::signal_seeding

SLUICE_PLUGIN("signal_seeding", "0.1.0", "MIT", sluice::signal_seeding::SquiggleIndexResource, sluice::signal_seeding::SignalSeeding,
              sluice::signal_seeding::SignalSeedingStream, sluice::signal_seeding::SeedCandidates);
