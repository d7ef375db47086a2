// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <limits>
#include <sluice/channel_states.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <vector>

#include "signal_normalization/prefix_normalizer.hpp"
#include "signal_normalization/prefix_series.hpp"

namespace sluice::signal_normalization {
namespace {

// In the order of the reasons of both stages; the last is the stream's alone.
enum class Reason : std::uint32_t { bad_calibration, flat_signal, chunk_missing };

Reason reason_of(NormalizationStatus status) {
  return status == NormalizationStatus::bad_calibration ? Reason::bad_calibration : Reason::flat_signal;
}

struct NormalizationOptions : NormalizationParameters {
  std::string tail_name = "none";
};

// Warns where the pore says that a tail has to be expected, or refuses one that can't be.
NormalizationParameters parameters_of(const Setup& setup, const NormalizationOptions& options) {
  NormalizationParameters parameters = options;
  parameters.tail = tail_named(options.tail_name);
  if (!setup.has_resource("model")) return parameters;
  const std::string pore(setup.resource("model").attribute("pore"));
  const bool is_rna = pore.starts_with("rna");
  if (parameters.tail == Tail::poly_a && !is_rna && !pore.empty())
    throw Failure::usage("strands of DNA have no poly(A) tail, and the pore '" + pore + "' is of DNA",
                         "leave --tail and --preset rna004 out; if this is direct RNA, give --pore rna004");
  if (parameters.tail == Tail::none && is_rna)
    setup.warn("reads of direct RNA (" + pore + ") begin with adapter and poly(A) tail, and the tail is not looked for: give --preset rna004" +
               (pore == "rna004" ? "" : ", or --tail poly_a with --bases-per-second and --samples-per-level") +
               ", unless the signal has been cut to the transcripts");
  return parameters;
}

template <class Stage>
void describe_normalization(Describe<Stage>& d) {
  using Parameters = NormalizationParameters;
  d.uses("model", "kmer", "the model of the pore, which says whether a tail has to be expected", Needed::optional);
  d.needs("raw_signal", "list<i16>", "samples of the converter").needs("digitisation", "f64", "number of the converter's levels");
  d.needs("range", "f64", "the converter's range, pA");
  d.needs("sampling_rate", "f64", "Hz");
  d.needs("prefix_bases", "f64", "in place of the option prefix_bases", Needed::optional);
  d.gives("query_level", "list<i16>", "normalised levels in steps of 1/16 standard deviation, -63 to 63; empty while the strand has not begun");
  d.gives("query_sample", "list<i16>", "the samples of these levels, by the same scale, in steps of 1/64, -252 to 252", Needed::optional);
  d.gives("prefix_samples", "i32", "samples of the read up to the end of its last level, trimmed ones included; without a level: samples seen");
  d.gives("query_complete", "u8", "1: the whole prefix is there");
  d.option("samples_per_level", &Parameters::samples_per_level, "a level is the mean of so many samples").range(1, 64).unit("samples");
  d.option("prefix_bases", &Parameters::prefix_bases, "signal to use, behind the adapter").range(1, 1e6).unit("bases");
  d.option("adapter_bases", &Parameters::adapter_bases, "signal to leave out at the beginning of the strand; at least 150 samples are")
      .range(0, 1e6)
      .unit("bases");
  d.option("calibration_bases", &Parameters::calibration_bases, "signal of which the first shift and scale are taken; no level comes earlier")
      .range(1, 1e6)
      .unit("bases");
  d.option("recalibration_bases", &Parameters::recalibration_bases, "shift and scale are brought up to date every so much further signal")
      .range(1, 1e6)
      .unit("bases");
  d.option("stall_stdv", &Parameters::stall_stdv, "signal is at rest while the standard deviation of 50 samples is below this")
      .range(0, 1000)
      .unit("pA");
  d.option("bases_per_second", &Parameters::bases_per_second, "speed of strands through the pore").range(1, 1e5).unit("bases/s");
  d.option("tail", &NormalizationOptions::tail_name, "what passes the pore between adapter and molecule: poly_a in direct RNA")
      .choices({"none", "poly_a"});
  d.reason("bad_calibration", "digitisation, range or sampling_rate is not a positive number");
  d.reason("flat_signal", "all levels are the same: saturated, or no strand at all");
  d.work_unit("sample");
}

constexpr const char* method =
    "Finds where the strand begins to move, leaves the adapter out (of direct RNA, with tail = poly_a, all up to the end of the tail), takes means "
    "of a few samples as levels, and normalises them by mean and standard "
    "deviation of all levels so far, block by block: levels that were given never change, and where the signal is cut makes no difference.";

// Of a read whose prefix is not complete. A beginning that is too short would give fewer levels than the read has, and nobody would see it.
void check_that_all_is_there(std::size_t samples, std::int64_t sample_count) {
  if (static_cast<std::int64_t>(samples) < sample_count)
    throw Failure::usage(
        "only " + std::to_string(samples) + " of a read's " + std::to_string(sample_count) + " samples were decoded, and more are needed",
        "give signal_decode the same prefix_bases, adapter_bases, bases_per_second, stall_stdv and tail as signal_normalization, or none");
}

// What both stages need of a batch.
class Signals {
 public:
  explicit Signals(const Batch& in)
      : raw_signal(in.list<std::int16_t>("raw_signal")),
        digitisation_(in.column<double>("digitisation")),
        range_(in.column<double>("range")),
        sampling_rate_(in.column<double>("sampling_rate")) {
    if (in.has("prefix_bases")) prefix_bases_ = in.column<double>("prefix_bases");
  }
  NormalizationStatus begin(NormalizationParameters parameters, std::size_t row, PrefixNormalizer& normalizer) const {
    if (!prefix_bases_.empty()) parameters.prefix_bases = prefix_bases_[row];
    return normalizer.begin(parameters, digitisation_[row], range_[row], sampling_rate_[row]);
  }
  ListView<std::int16_t> raw_signal;

 private:
  std::span<const double> digitisation_, range_, sampling_rate_, prefix_bases_;
};

// The columns on their way to the output.
struct Prefixes {
  std::vector<NormalizedSignal> signal;
  std::vector<std::int32_t> samples;
  std::vector<std::uint8_t> complete;

  NormalizedSignal::Samples wants_samples = NormalizedSignal::Samples::unwanted;

  void clear(std::size_t rows, NormalizedSignal::Samples wants) {
    wants_samples = wants;
    if (signal.size() < rows) signal.resize(rows);
    for (std::size_t row = 0; row < rows; ++row) {
      signal[row].clear();
      signal[row].wants = wants;
    }
    samples.assign(rows, 0);
    complete.assign(rows, 0);
  }
  void set(std::size_t row, const PrefixNormalizer& normalizer) {
    samples[row] = static_cast<std::int32_t>(std::min<std::int64_t>(normalizer.prefix_samples(), std::numeric_limits<std::int32_t>::max()));
    complete[row] = normalizer.complete() ? 1 : 0;
  }
  void give(Output& out) const {
    give_lists("query_level", &NormalizedSignal::levels, out);
    if (wants_samples == NormalizedSignal::Samples::wanted) give_lists("query_sample", &NormalizedSignal::samples, out);
    std::copy(samples.begin(), samples.end(), out.column<std::int32_t>("prefix_samples").begin());
    std::copy(complete.begin(), complete.end(), out.column<std::uint8_t>("query_complete").begin());
  }

 private:
  void give_lists(const char* name, std::vector<std::int16_t> NormalizedSignal::*list, Output& out) const {
    std::vector<std::span<const std::int16_t>> rows;
    for (std::size_t row = 0; row < static_cast<std::size_t>(out.rows()); ++row) rows.emplace_back(signal[row].*list);
    const Buffer offsets = out.offsets([&](std::int64_t row) { return rows[static_cast<std::size_t>(row)].size(); });
    out.gather<std::int16_t>(name, offsets, rows);
  }
};

NormalizedSignal::Samples wanted_samples(const Setup& setup) {
  return setup.wanted("query_sample") ? NormalizedSignal::Samples::wanted : NormalizedSignal::Samples::unwanted;
}

// One row a read.
class SignalNormalization {
 public:
  using Parameters = NormalizationOptions;
  using Reason = signal_normalization::Reason;

  static void describe(Describe<SignalNormalization>& d) {
    d.id("signal_normalization").summary("normalises the beginning of a read's signal to the levels of a squiggle reference").map("read").doc(method);
    describe_normalization(d);
    d.needs("sample_count", "i64", "samples of the whole read: where raw_signal may be its beginning, it is checked that it is enough",
            Needed::optional);
  }
  SignalNormalization(const Setup& setup, const Parameters& parameters)
      : parameters_(parameters_of(setup, parameters)), wants_(wanted_samples(setup)) {}

  void process(const Call& call, const Batch& in, Output& out) {
    const auto rows = static_cast<std::size_t>(in.rows());
    const Signals signals(in);
    auto prefixes = prefixes_.take();
    prefixes->clear(rows, wants_);
    const auto sample_count = in.has("sample_count") ? in.column<std::int64_t>("sample_count") : std::span<const std::int64_t>();
    call.parallel_for(rows, 16, [&](std::size_t begin, std::size_t end) {
      auto normalizer = normalizers_.take();
      for (std::size_t i = begin; i < end; ++i) {
        const auto row = static_cast<std::int64_t>(i);
        if (!in.ok(row)) continue;
        NormalizationStatus status = signals.begin(parameters_, i, *normalizer);
        if (status == NormalizationStatus::ok) status = normalizer->take(signals.raw_signal[row], prefixes->signal[i]);
        if (status == NormalizationStatus::ok && !sample_count.empty() && !normalizer->complete())
          check_that_all_is_there(signals.raw_signal[row].size(), sample_count[i]);
        if (status == NormalizationStatus::ok) status = normalizer->end(prefixes->signal[i]);
        if (status != NormalizationStatus::ok) out.fail(row, reason_of(status));
        prefixes->set(i, *normalizer);
      }
    });
    prefixes->give(out);
  }

 private:
  NormalizationParameters parameters_;
  NormalizedSignal::Samples wants_;
  Workspaces<PrefixNormalizer> normalizers_;
  Workspaces<Prefixes> prefixes_;
};

// One row a chunk of a read of a channel.
class SignalNormalizationStream {
 public:
  using Parameters = NormalizationOptions;
  using Reason = signal_normalization::Reason;

  static void describe(Describe<SignalNormalizationStream>& d) {
    d.id("signal_normalization_stream").summary("signal_normalization for reads that come in chunks, channel by channel").map("read").ordered();
    d.doc(
        "The method of signal_normalization; the levels of all chunks of a read, one after the other, are those of the whole read. Each channel has "
        "its own state, from the chunk with index 0 to the one that is the last of its read. A row gives the levels that its chunk completes; "
        "prefix_samples and query_complete are those of the read so far. A read fails with all its further chunks when one is missing.");
    describe_normalization(d);
    d.needs("channel", "i32", "channel of the flow cell")
        .needs("chunk_index", "i32", "0: first chunk of a read")
        .needs("is_last_chunk", "u8", "1: the read ends");
    d.reason("chunk_missing", "the chunk does not follow on the one before of its channel");
  }
  SignalNormalizationStream(const Setup& setup, const Parameters& parameters)
      : parameters_(parameters_of(setup, parameters)), wants_(wanted_samples(setup)) {}

  void process(const Call& call, const Batch& in, Output& out) {
    const auto rows = static_cast<std::size_t>(in.rows());
    const Signals signals(in);
    prefixes_.clear(rows, wants_);
    const std::span<const RowsByChannel::Group> groups = rows_by_channel_.of(in);
    channels_of_groups_.clear();
    for (const RowsByChannel::Group& group : groups) channels_of_groups_.push_back(&channel_of(group.channel));
    const auto chunk_index = in.column<std::int32_t>("chunk_index");
    const auto is_last_chunk = in.column<std::uint8_t>("is_last_chunk");
    call.parallel_for(groups.size(), 8, [&](std::size_t begin, std::size_t end) {
      for (std::size_t g = begin; g < end; ++g)
        for (const std::size_t i : groups[g].rows) {
          const auto row = static_cast<std::int64_t>(i);
          Channel& channel = *channels_of_groups_[g];
          NormalizationStatus status = NormalizationStatus::ok;
          if (chunk_index[i] == 0) {
            status = signals.begin(parameters_, i, channel.normalizer);
          } else if (channel.next_chunk != chunk_index[i] || chunk_index[i] < 0) {
            channel.next_chunk = no_read;
            out.fail(row, Reason::chunk_missing);
            continue;
          } else if (channel.failed != NormalizationStatus::ok) {
            status = channel.failed;
          }
          if (status == NormalizationStatus::ok) status = channel.normalizer.take(signals.raw_signal[row], prefixes_.signal[i]);
          if (status == NormalizationStatus::ok && is_last_chunk[i] != 0) status = channel.normalizer.end(prefixes_.signal[i]);
          if (status != NormalizationStatus::ok) out.fail(row, reason_of(status));
          channel.failed = status;
          channel.next_chunk = is_last_chunk[i] != 0 || chunk_index[i] == std::numeric_limits<std::int32_t>::max() ? no_read : chunk_index[i] + 1;
          prefixes_.set(i, channel.normalizer);
        }
    });
    for (std::size_t g = 0; g < groups.size(); ++g)
      if (channels_of_groups_[g]->next_chunk == no_read) channels_.release(groups[g].channel);
    prefixes_.give(out);
  }

 private:
  static constexpr std::int32_t no_read = -1;
  struct Channel {
    PrefixNormalizer normalizer;
    std::int32_t next_chunk = no_read;
    NormalizationStatus failed = NormalizationStatus::ok;
  };
  Channel& channel_of(std::int32_t number) {
    if (Channel* const state = channels_.find(number)) return *state;
    Channel& state = channels_.take(number);
    state.next_chunk = no_read;
    state.failed = NormalizationStatus::ok;
    return state;
  }

  NormalizationParameters parameters_;
  NormalizedSignal::Samples wants_;
  ChannelStates<Channel> channels_;  // while they have a read
  Prefixes prefixes_;
  RowsByChannel rows_by_channel_;
  std::vector<Channel*> channels_of_groups_;
};

}  // namespace
}  // namespace sluice::signal_normalization

SLUICE_PLUGIN("signal_normalization", "0.1.0", "MIT", sluice::signal_normalization::SignalNormalization,
              sluice::signal_normalization::SignalNormalizationStream, sluice::signal_normalization::PrefixSeries);
