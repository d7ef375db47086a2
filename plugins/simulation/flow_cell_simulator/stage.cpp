// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <fmt/format.h>

#include <cmath>
#include <condition_variable>
#include <map>
#include <mutex>
#include <sluice/input_text.hpp>
#include <sluice/read_until_conditions.hpp>
#include <sluice/stage.hpp>

#include "flow_cell_simulator/flow_cell_model.hpp"
#include "flow_cell_simulator/flow_cell_report.hpp"
#include "flow_cell_simulator/model_clock.hpp"
#include "flow_cell_simulator/read_labels.hpp"

namespace sluice::flow_cell_simulator {
namespace {

const char* const method =
    "Plays reads on the channels of a flow cell. A free pore captures a strand after a time with exponential distribution; the strand's signal comes "
    "in "
    "chunks, in which it is sent on until it has been decided on; a rejected strand is ejected, and any other is sequenced to its end. What a "
    "channel "
    "does is a matter of time alone: it waits for nobody, and decisions that come too late mean \"continue\".\n\n"
    "The reads come from the stage in front of it, recorded or simulated, and go to channels in that order. Reads are read ahead, at least one per "
    "channel; of a read the first `decision_samples` are kept.\n\n"
    "With speed = 0 time is virtual: it passes as fast as the decisions come, and a decision takes effect exactly `virtual_latency` chunks after its "
    "chunk. Then all results are the same bytes on every machine and at any number of threads. With another speed time is that of the clock, and the "
    "report has the latency of decisions: from the moment when the last sample that was needed had been sequenced to the moment when the decision "
    "came, in seconds of the clock.";

class FlowCell {
 public:
  struct Parameters {
    std::int32_t channels = 512;
    double speed = 1;
    std::int64_t chunk_samples = 200, decision_samples = 16000, largest_chunk = 4000;
    std::int32_t waves = 4, virtual_latency = 1;
    double capture_seconds = 1.0, ejection_seconds = 0.5, deadline_seconds = 1.0, duration_seconds = 0, stop_seconds = 5;
    bool repeat = false;
    std::int64_t seed = 1;
    double bases_per_second = 450;
    std::optional<Path> labels;
    std::string label_column;
    double target_bases = 0, coverage = 30, cost_per_hour = 0;
  };
  enum class Reason : std::uint32_t { not_played, bad_sampling_rate };

  static void describe(Describe<FlowCell>& d) {
    d.id("flow_cell")
        .summary("plays reads on the channels of a flow cell, and ejects those that are rejected")
        .regroup("read", "read")
        .rows_named_by("read_id")
        .rows_are("chunk")
        .doc(method);
    d.needs("read_id", "utf8", "name of the read").needs("raw_signal", "list<i16>", "samples of the converter");
    d.needs("digitisation", "f64", "number of the converter's levels").needs("range", "f64", "the converter's range, pA");
    d.needs("offset", "f64", "added to a sample before scaling, levels").needs("sampling_rate", "f64", "samples per second, Hz");
    d.gives("read_id", "utf8", "name of the read").gives("raw_signal", "list<i16>", "samples of the chunk");
    d.gives("digitisation", "f64", "number of levels of the converter").gives("range", "f64", "range of the converter, pA");
    d.gives("offset", "f64", "added to a sample before scaling, levels").gives("sampling_rate", "f64", "samples per second, Hz");
    d.gives("channel", "i32", "channel of the flow cell, from 0").gives("chunk_index", "i32", "0: first chunk of a read");
    d.gives("is_last_chunk", "u8", "1: the read ends with this chunk");
    d.feedback("read");
    d.feedback_needs("decision", "u8", "0 wait, 1 accept, 2 reject");
    d.feedback_needs("action", "u8", "0 proceed, 1 stop_receiving, 2 unblock; where it is there it counts instead of the decision", Needed::optional);
    d.uses("conditions", "read_until_condition", "conditions of channels, which the report tells apart", Needed::optional);
    d.feedback_needs("prefix_samples", "i32", "samples of the read that the decision needed", Needed::optional);
    d.option("channels", &Parameters::channels, "pores that sequence at once").range(1, 1e6);
    d.option("speed", &Parameters::speed, "seconds of the flow cell in a second; 0: as fast as possible, in virtual time").range(0, 1e6);
    d.option("chunk_samples", &Parameters::chunk_samples, "signal is sent on every so many samples").range(1, 1e6).unit("samples");
    d.option("waves", &Parameters::waves, "channels send in so many groups, evenly spaced in time").range(1, 1e4);
    d.option("decision_samples", &Parameters::decision_samples, "no more of a read is sent on").range(1, 1e9).unit("samples");
    d.option("largest_chunk", &Parameters::largest_chunk, "a read whose pipeline is further behind is sequenced to its end undecided")
        .range(1, 1e9)
        .unit("samples");
    d.option("virtual_latency", &Parameters::virtual_latency, "speed 0: chunks until a decision takes effect").range(1, 1000).unit("chunks");
    d.option("capture_seconds", &Parameters::capture_seconds, "mean time until a free pore has a strand").range(0, 1e6).unit("s");
    d.option("ejection_seconds", &Parameters::ejection_seconds, "time until the pore of a rejected strand is free").range(0, 1e6).unit("s");
    d.option("deadline_seconds", &Parameters::deadline_seconds, "decisions later than this after their chunk mean \"continue\"")
        .range(0, 1e6)
        .unit("s");
    d.option("stop_seconds", &Parameters::stop_seconds, "when a decision was late, nothing is ejected for so long; 0: never mind")
        .range(0, 1e6)
        .unit("s");
    d.option("duration_seconds", &Parameters::duration_seconds, "end then; 0: when all reads have been played").range(0, 1e9).unit("s");
    d.option("repeat", &Parameters::repeat, "strands are drawn from the first reads (4 per channel), for duration_seconds");
    d.option("seed", &Parameters::seed, "of the capture times");
    d.option("bases_per_second", &Parameters::bases_per_second, "speed of strands, for counts in bases").range(1, 1e6);
    d.option("labels", &Parameters::labels, "table whose first column is the read id, for recall and enrichment").reads();
    d.option("label_column", &Parameters::label_column, "column that says whether a read is a target; without it all reads of the table are");
    d.option("target_bases", &Parameters::target_bases, "length of the targets, for the model of sequencing time; 0: no model").range(0, 1e12);
    d.option("coverage", &Parameters::coverage, "coverage of the targets that is wanted").range(0, 1e6);
    d.option("cost_per_hour", &Parameters::cost_per_hour, "of the flow cell, in any currency").range(0, 1e9);
    d.reason("not_played", "the flow cell ended before this read, or repeats others")
        .reason("bad_sampling_rate", "the sampling rate is not a positive number");
    d.work_unit("sample");
  }

  static void check_parameters(const Parameters& p) {
    if (p.repeat && p.duration_seconds <= 0) throw Failure::usage("repeat without duration_seconds would never end", "set duration_seconds");
  }

  FlowCell(const Setup& setup, const Parameters& p)
      : p_(p),
        conditions_(conditions_of(setup)),
        model_(settings(p, conditions_)),
        answers_(setup.feedback_sinks()),
        waits_(p.speed == 0 && setup.feedback_sinks() > 0) {
    if (answers_ > 1) throw Failure::usage("several sinks give feedback to a flow cell", "name the one that writes the decisions");
    if (p_.labels && !p_.labels->empty()) {
      labels_ = ReadLabels(whole_text(setup, *p_.labels, "labels"), p_.label_column, *p_.labels);
      has_labels_ = true;
      if (labels_.targets() == 0) setup.warn("labels '" + *p_.labels + "' name no target");
    }
    if (conditions_ && conditions_->named_channels() > p.channels)
      setup.warn("conditions name channels up to " + std::to_string(conditions_->named_channels()) + ", and this flow cell has " +
                 std::to_string(p.channels) + ": those behind them are not played (give a flow cell of so many channels, or conditions of these)");
    if (p.speed > 0)
      clock_ = std::make_unique<RealClock>(p.speed);
    else
      clock_ = std::make_unique<VirtualClock>();
  }

  void process(const Call& call, const Batch& in, Output& out) {
    take(call, in);
    play(call, out);
  }

  void finish(const Call& call, Output& out) {
    {
      const std::lock_guard lock(mutex_);
      model_.end_of_reads();
    }
    reads_end_ = true;
    play(call, out);
    wait_for_answers(call, next_tick_ + 1);
    report(call);
  }

  void feedback(const Call& call, const Batch& in) {
    const std::lock_guard lock(mutex_);
    const auto sent = sent_.find(in.sequence());
    if (sent == sent_.end()) return;
    Answer answer{std::move(sent->second), {}, {}};
    sent_.erase(sent);
    // 0, 1 and 2 of an action mean the same to a pore: wait, go on to the end, eject.
    const auto decision = in.column<std::uint8_t>(in.has("action") ? "action" : "decision");
    for (std::size_t row = 0; row < answer.sent.rows.size() && row < decision.size(); ++row)
      answer.decisions.push_back(in.ok(static_cast<std::int64_t>(row)) ? decision[row] : failed);
    if (in.find("prefix_samples") != nullptr) {
      const auto prefix = in.column<std::int32_t>("prefix_samples");
      answer.prefix_samples.assign(prefix.begin(), prefix.end());
    }
    if (clock_->speed() > 0)
      apply(call, answer, clock_->now());
    else
      answers_by_tick_.emplace(answer.sent.tick, std::move(answer));
    came_.notify_all();
  }

 private:
  static constexpr std::uint8_t failed = 255;  // of a row
  struct SentRow {
    std::int32_t channel;
    std::uint64_t read_number;
    double start, sampling_rate;
    bool is_last;
  };
  struct SentBatch {
    std::uint64_t tick = 0;
    double time = 0;
    std::vector<SentRow> rows;
  };
  struct Answer {
    SentBatch sent;
    std::vector<std::uint8_t> decisions;
    std::vector<std::int32_t> prefix_samples;
  };

  static std::optional<ReadUntilConditionsView> conditions_of(const Setup& setup) {
    if (!setup.has_resource("conditions")) return std::nullopt;
    return ReadUntilConditionsView(setup.resource("conditions"));
  }

  static FlowCellSettings settings(const Parameters& p, const std::optional<ReadUntilConditionsView>& conditions) {
    FlowCellSettings s;
    s.stop_seconds = p.stop_seconds;
    if (conditions) {
      s.conditions.clear();
      for (std::int64_t i = 0; i < conditions->size(); ++i)
        s.conditions.push_back(conditions->select(i) == Select::deplete ? Wanted::others : Wanted::targets);
      for (std::int32_t channel = 0; channel < p.channels; ++channel) s.channel_condition.push_back(conditions->of_channel(channel));
    }
    s.channels = p.channels;
    s.seed = static_cast<std::uint64_t>(p.seed);
    s.capture_seconds = p.capture_seconds;
    s.ejection_seconds = p.ejection_seconds;
    s.deadline_seconds = p.deadline_seconds;
    s.largest_chunk = p.largest_chunk;
    s.repeat = p.repeat ? Repeat::for_ever : Repeat::never;
    return s;
  }

  std::size_t pool_size() const { return 4 * static_cast<std::size_t>(p_.channels); }

  void take(const Call& call, const Batch& in) {
    const TextView read_ids = in.text("read_id");
    const auto signal = in.list<std::int16_t>("raw_signal");
    const auto digitisation = in.column<double>("digitisation"), range = in.column<double>("range"), offset = in.column<double>("offset"),
               sampling_rate = in.column<double>("sampling_rate");
    const std::lock_guard lock(mutex_);
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      const auto r = static_cast<std::size_t>(row);
      if (is_over_ || (p_.repeat && model_.waiting_reads() >= pool_size())) {
        call.account(Reason::not_played, 1, std::string(read_ids[row]));
        continue;
      }
      if (!std::isfinite(sampling_rate[r]) || sampling_rate[r] <= 0 || sampling_rate[r] > 1e9) {
        call.account(Reason::bad_sampling_rate, 1, std::string(read_ids[row]));
        continue;
      }
      auto read = std::make_shared<RecordedRead>();
      const auto samples = signal[row];
      read->read_id = read_ids[row];
      read->length = static_cast<std::int64_t>(samples.size());
      read->samples.assign(samples.begin(), samples.begin() + std::min<std::ptrdiff_t>(p_.decision_samples, std::ssize(samples)));
      read->digitisation = digitisation[r], read->range = range[r], read->offset = offset[r], read->sampling_rate = sampling_rate[r];
      read->is_target = has_labels_ && labels_.is_target(read->read_id);
      has_target_ |= read->is_target;
      // All channels keep the time of the first read's chunks.
      if (tick_seconds_ == 0) tick_seconds_ = static_cast<double>(p_.chunk_samples) / read->sampling_rate / p_.waves;
      model_.add_read(std::move(read));
    }
  }

  bool has_enough_reads() {
    const std::lock_guard lock(mutex_);
    return model_.waiting_reads() >= (p_.repeat ? pool_size() : static_cast<std::size_t>(p_.channels));
  }

  // Until more reads are needed, or all is over.
  void play(const Call& call, Output& out) {
    if (tick_seconds_ == 0) return;
    const auto cancelled = [&call] { return call.cancelled(); };
    while (!is_over_ && !cancelled() && (reads_end_ || has_enough_reads())) {
      if (!running_) clock_->start();
      running_ = true;
      if (clock_->speed() == 0) skip_quiet_time();
      const double time = static_cast<double>(next_tick_) * tick_seconds_;
      if (p_.duration_seconds > 0 && time > p_.duration_seconds) {
        is_over_ = true;
        break;
      }
      clock_->wait_until(time, cancelled);
      wait_for_answers(call, next_tick_);
      if (cancelled()) break;
      chunks_.clear();
      {
        const std::lock_guard lock(mutex_);
        time_ = time;
        model_.advance(time, static_cast<std::int32_t>(next_tick_ % static_cast<std::uint64_t>(p_.waves)), p_.waves, chunks_);
        is_over_ = model_.is_over();
        remember_sent(time);
      }
      if (!chunks_.empty()) send(call, out, time);
      ++next_tick_;
      skip_what_is_past();
    }
  }

  void skip_quiet_time() {
    const std::lock_guard lock(mutex_);
    const double ticks = model_.quiet_until() / tick_seconds_;
    if (ticks > static_cast<double>(next_tick_) && ticks < 1e18) next_tick_ = static_cast<std::uint64_t>(ticks);
  }

  // A pipeline that has been behind for more than a round gets what has come since in one chunk, not in as many as were missed.
  void skip_what_is_past() {
    if (clock_->speed() == 0) return;
    const auto now = static_cast<std::uint64_t>(clock_->now() / tick_seconds_);
    const std::uint64_t next = tick_after(next_tick_, now, static_cast<std::uint64_t>(p_.waves));
    if (next != next_tick_) ++rounds_behind_;
    next_tick_ = next;
  }

  void remember_sent(double time) {
    if (chunks_.empty() || answers_ == 0) return;
    SentBatch sent{next_tick_, time, {}};
    for (const Chunk& chunk : chunks_) sent.rows.push_back({chunk.channel, chunk.read_number, chunk.start, chunk.read->sampling_rate, chunk.is_last});
    sent_.emplace(batches_sent_, std::move(sent));
  }

  void send(const Call& call, Output& out, double time) {
    ++batches_sent_;
    out.set_rows(std::ssize(chunks_));
    std::vector<std::string_view> read_ids;
    for (const Chunk& chunk : chunks_) read_ids.push_back(chunk.read->read_id);
    out.text_rows("read_id", read_ids);
    const Buffer offsets =
        out.offsets([&](std::int64_t row) { return chunks_[static_cast<std::size_t>(row)].end - chunks_[static_cast<std::size_t>(row)].begin; });
    const auto signal = out.list<std::int16_t>("raw_signal", offsets);
    // The samples lie scattered: 51,200 channels have 20,000 chunks every 25 ms.
    const std::span<const std::int64_t> places = offsets.as<std::int64_t>();
    call.parallel_for(chunks_.size(), 512, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        const auto begin = chunks_[i].read->samples.begin();
        std::copy(begin + chunks_[i].begin, begin + chunks_[i].end, signal.begin() + places[i]);
      }
    });
    const auto fill = [&](const char* name, double RecordedRead::*member) {
      const auto values = out.column<double>(name);
      for (std::size_t row = 0; row < chunks_.size(); ++row) values[row] = (*chunks_[row].read).*member;
    };
    fill("digitisation", &RecordedRead::digitisation);
    fill("range", &RecordedRead::range);
    fill("offset", &RecordedRead::offset);
    fill("sampling_rate", &RecordedRead::sampling_rate);
    const auto channel = out.column<std::int32_t>("channel"), chunk_index = out.column<std::int32_t>("chunk_index");
    const auto is_last_chunk = out.column<std::uint8_t>("is_last_chunk");
    for (std::size_t row = 0; row < chunks_.size(); ++row) {
      channel[row] = chunks_[row].channel;
      chunk_index[row] = chunks_[row].chunk_index;
      is_last_chunk[row] = chunks_[row].is_last ? 1 : 0;
    }
    out.set_work(static_cast<double>(signal.size()));
    if (clock_->speed() > 0) out.set_deadline(std::max((time + p_.deadline_seconds - clock_->now()) / clock_->speed(), 0.0));
    out.emit();
    if (p_.duration_seconds > 0) call.progress(time / p_.duration_seconds);
  }

  // Virtual time: the decisions about chunks that are old enough take effect, in the order of the chunks, once all of them are there.
  void wait_for_answers(const Call& call, std::uint64_t tick) {
    if (!waits_) return;
    const auto age = static_cast<std::uint64_t>(p_.virtual_latency) * static_cast<std::uint64_t>(p_.waves);
    std::unique_lock lock(mutex_);
    const auto is_due = [&](std::uint64_t sent_at) { return sent_at + age <= tick; };
    const auto is_missing = [&] { return std::any_of(sent_.begin(), sent_.end(), [&](const auto& sent) { return is_due(sent.second.tick); }); };
    while (is_missing()) {
      if (call.cancelled()) return;
      came_.wait_for(lock, std::chrono::milliseconds(50));
    }
    while (!answers_by_tick_.empty() && is_due(answers_by_tick_.begin()->first)) {
      apply(call, answers_by_tick_.begin()->second, static_cast<double>(answers_by_tick_.begin()->first + age) * tick_seconds_);
      answers_by_tick_.erase(answers_by_tick_.begin());
    }
  }

  // mutex_ is held.
  void apply(const Call& call, const Answer& answer, double now) {
    const double speed = clock_->speed();
    if (speed > 0) call.observe("chunk_latency", (now - answer.sent.time) / speed);
    for (std::size_t row = 0; row < answer.decisions.size(); ++row) {
      const SentRow& sent = answer.sent.rows[row];
      if (sent.is_last) continue;  // the read has ended anyway
      if (answer.decisions[row] > static_cast<std::uint8_t>(Decision::reject)) {
        model_.give_up(sent.channel, sent.read_number);
        continue;
      }
      const Effect effect = model_.decide(now, sent.channel, sent.read_number, static_cast<Decision>(answer.decisions[row]), answer.sent.time);
      tell_of_stop(call, now);
      if (effect == Effect::none || speed == 0) continue;
      // The last sample that was needed came earlier than the end of its chunk.
      double needed = answer.sent.time;
      if (row < answer.prefix_samples.size()) needed = std::min(needed, sent.start + answer.prefix_samples[row] / sent.sampling_rate);
      call.observe("decision_latency", (now - needed) / speed);
    }
  }

  void tell_of_stop(const Call& call, double now) {
    if (model_.is_stopped(now) == is_stopped_) return;
    is_stopped_ = !is_stopped_;
    if (is_stopped_)
      call.warn(fmt::format("decisions come more than {:.3g} s late: nothing is ejected until they have been in time for {:.3g} s",
                            p_.deadline_seconds, p_.stop_seconds));
    else
      call.info("decisions come in time again: reads are ejected");
  }

  void report(const Call& call) {
    const std::lock_guard lock(mutex_);
    if (labels_.targets() > 0 && !has_target_)
      call.warn("none of the " + std::to_string(labels_.targets()) + " targets of labels '" + *p_.labels +
                "' is among the reads that came: are its first column the read ids of these signal files, and tabs between its columns?");
    const FlowCellReport::Conditions flow_cell{p_.channels,     p_.capture_seconds, p_.ejection_seconds, p_.bases_per_second,
                                               p_.target_bases, p_.coverage,        p_.cost_per_hour,    has_labels_};
    FlowCellReport(call, flow_cell, model_, conditions_).write(time_, rounds_behind_);
  }

  const Parameters p_;
  ReadLabels labels_;
  bool has_labels_ = false, has_target_ = false;
  std::unique_ptr<ModelClock> clock_;
  std::mutex mutex_;  // guards the model and what has been sent and answered
  std::condition_variable came_;
  const std::optional<ReadUntilConditionsView> conditions_;
  FlowCellModel model_;
  std::map<std::uint64_t, SentBatch> sent_;          // by sequence number: not answered yet
  std::map<std::uint64_t, Answer> answers_by_tick_;  // virtual time: not in effect yet
  const int answers_;                                // sinks that give them
  const bool waits_;
  std::vector<Chunk> chunks_;
  std::uint64_t batches_sent_ = 0, next_tick_ = 0, rounds_behind_ = 0;
  double tick_seconds_ = 0;  // 0: no read yet
  double time_ = 0;
  bool is_stopped_ = false;  // as was told
  bool running_ = false, reads_end_ = false, is_over_ = false;
};

}  // namespace
}  // namespace sluice::flow_cell_simulator

SLUICE_PLUGIN("flow_cell_simulator", "0.1.0", "MIT", sluice::flow_cell_simulator::FlowCell);
