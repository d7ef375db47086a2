// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "flow_cell_simulator/flow_cell_model.hpp"

#include <algorithm>
#include <limits>
#include <sluice/natural_log.hpp>
#include <utility>

namespace sluice::flow_cell_simulator {
namespace {

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
constexpr std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31U);
}
constexpr std::uint64_t golden = 0x9E3779B97F4A7C15U;  // 2^64 / golden ratio, odd

constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t channel, std::uint64_t count) {
  return mix(mix(mix(seed + golden) + channel * golden) + count * golden);
}

// Exponential with mean 1, a function of its arguments only.
double exponential(std::uint64_t seed, std::uint64_t channel, std::uint64_t count) {
  const std::uint64_t bits = random_bits(seed, channel, count);
  const double uniform = (static_cast<double>(bits >> 12U) + 0.5) * 0x1p-52;  // never 0, never 1
  return -natural_log(uniform);
}

}  // namespace

FlowCellModel::FlowCellModel(const FlowCellSettings& settings)
    : settings_(settings), channels_(static_cast<std::size_t>(settings.channels)), counts_(settings.conditions.size()) {
  for (std::int32_t number = 0; number < settings_.channels; ++number) {
    const auto at = static_cast<std::size_t>(number);
    Channel& channel = channels_[at];
    const auto last = static_cast<std::int32_t>(settings_.conditions.size()) - 1;
    channel.condition = at < settings_.channel_condition.size() ? settings_.channel_condition[at] : last;
    channel.free_at = capture_time(channel, number);
  }
}

double FlowCellModel::capture_time(const Channel& channel, std::int32_t number) const {
  return channel.free_at + settings_.capture_seconds * exponential(settings_.seed, static_cast<std::uint64_t>(number), channel.captures);
}

void FlowCellModel::add_read(ReadHandle read) {
  if (read->length > 0 && read->sampling_rate > 0) reads_.push_back(std::move(read));
}

bool FlowCellModel::is_over() const {
  const bool more = settings_.repeat == Repeat::for_ever ? !reads_.empty() : !reads_.empty() || !reads_end_;
  return !more && std::all_of(channels_.begin(), channels_.end(), [](const Channel& channel) { return channel.read == nullptr; });
}

double FlowCellModel::quiet_until() const {
  double first = std::numeric_limits<double>::infinity();
  for (const Channel& channel : channels_) {
    if (channel.read != nullptr) return 0;
    first = std::min(first, channel.free_at);
  }
  return first;
}

bool FlowCellModel::begin_read(Channel& channel, double now) {
  if (reads_.empty()) {
    if (!reads_end_ && !channel.starved) ++counts_of(channel).starved;
    channel.starved = true;
    channel.free_at = now;
    return false;
  }
  if (settings_.repeat == Repeat::for_ever) {
    // In turn, channels that eject would meet other reads than those that do not: what comes next depends on what was kept.
    const auto number = static_cast<std::uint64_t>(&channel - channels_.data());
    channel.read = reads_[mix(random_bits(settings_.seed, number, channel.captures)) % reads_.size()];
  } else {
    channel.read = std::move(reads_.front());
    reads_.pop_front();
  }
  channel.start = std::exchange(channel.starved, false) ? now : channel.free_at;
  const double seconds = static_cast<double>(channel.read->length) / channel.read->sampling_rate;
  channel.end = channel.start + seconds;
  channel.sent = 0;
  channel.chunk_index = 0;
  channel.verdict = Verdict::open;
  channel.read_number = ++read_numbers_;
  ++channel.captures;
  FlowCellCounts& counts = counts_of(channel);
  ++counts.reads;
  counts.read_seconds += seconds;
  if (is_wanted(channel)) {
    ++counts.target_reads;
    counts.target_read_seconds += seconds;
  }
  return true;
}

void FlowCellModel::end_read(Channel& channel, std::int32_t number, double ejection) {
  const double seconds = channel.end - channel.start;
  counts_of(channel).sequenced_seconds += seconds;
  if (is_wanted(channel)) counts_of(channel).target_seconds += seconds;
  channel.read.reset();
  channel.free_at = channel.end + ejection;
  channel.free_at = capture_time(channel, number);
}

void FlowCellModel::send(Channel& channel, std::int32_t number, double now, std::vector<Chunk>& chunks) {
  const RecordedRead& read = *channel.read;
  const bool ended = now >= channel.end;
  const auto kept = static_cast<std::int64_t>(read.samples.size());
  const auto grown = ended ? read.length : std::min(read.length, static_cast<std::int64_t>((now - channel.start) * read.sampling_rate));
  const std::int64_t available = std::min(grown, kept);
  if (available - channel.sent > settings_.largest_chunk) {
    channel.verdict = Verdict::without;
    ++counts_of(channel).given_up;
    return;
  }
  const bool is_last = ended && available == read.length;
  if (available > channel.sent || is_last) {
    chunks.push_back({number, channel.chunk_index++, is_last, channel.read, channel.sent, available, channel.read_number, channel.start});
    channel.sent = available;
  }
  if (ended) ++counts_of(channel).ended;
}

void FlowCellModel::advance(double now, std::int32_t first, std::int32_t step, std::vector<Chunk>& chunks) {
  for (std::int32_t number = first; number < settings_.channels; number += step) {
    Channel& channel = channels_[static_cast<std::size_t>(number)];
    // One chunk of a channel at a time: the next read's first one comes with the next call.
    bool has_sent = false;
    for (;;) {
      if (channel.read == nullptr && (channel.free_at > now || !begin_read(channel, now))) break;
      if (channel.verdict == Verdict::open) {
        if (has_sent) break;
        const std::size_t before = chunks.size();
        send(channel, number, now, chunks);
        has_sent = chunks.size() > before;
      }
      if (channel.end > now) break;
      end_read(channel, number, channel.verdict == Verdict::rejected ? settings_.ejection_seconds : 0.0);
    }
  }
}

Effect FlowCellModel::decide(double now, std::int32_t number, std::uint64_t read_number, Decision decision, double available) {
  if (decision == Decision::wait) return Effect::none;
  Channel& channel = channels_[static_cast<std::size_t>(number)];
  // Chunks that were under way when a read was decided on say it again.
  if (read_number == channel.answered) return Effect::none;
  const bool is_here = channel.read != nullptr && channel.read_number == read_number && now < channel.end;
  if (is_here && channel.verdict != Verdict::open) return Effect::none;
  channel.answered = read_number;
  FlowCellCounts& counts = counts_of(channel);
  const bool is_late = now - available > settings_.deadline_seconds;
  if (is_late && settings_.stop_seconds > 0) stopped_until_ = now + settings_.stop_seconds;
  if (!is_here || is_late) {
    if (is_here) channel.verdict = Verdict::without;
    ++counts.late;
    return Effect::late;
  }
  if (decision == Decision::reject && is_stopped(now)) {
    channel.verdict = Verdict::without;
    ++counts.withheld;
    return Effect::withheld;
  }
  const double whole = static_cast<double>(channel.read->length) / channel.read->sampling_rate;
  counts.decision_seconds += now - channel.start;
  if (decision == Decision::accept) {
    channel.verdict = Verdict::accepted;
    ++counts.accepted;
    counts.accepted_read_seconds += whole;
    if (is_wanted(channel)) ++counts.accepted_targets;
    return Effect::accepted;
  }
  channel.verdict = Verdict::rejected;
  channel.end = now;
  ++counts.rejected;
  if (is_wanted(channel)) ++counts.rejected_targets;
  return Effect::rejected;
}

void FlowCellModel::give_up(std::int32_t number, std::uint64_t read_number) {
  Channel& channel = channels_[static_cast<std::size_t>(number)];
  if (channel.read == nullptr || channel.read_number != read_number || channel.verdict != Verdict::open) return;
  channel.verdict = Verdict::without;
  ++counts_of(channel).not_decided;
}

void FlowCellCounts::add(const FlowCellCounts& more) {
  for (std::uint64_t FlowCellCounts::*member :
       {&FlowCellCounts::reads, &FlowCellCounts::target_reads, &FlowCellCounts::accepted, &FlowCellCounts::rejected,
        &FlowCellCounts::accepted_targets, &FlowCellCounts::rejected_targets, &FlowCellCounts::late, &FlowCellCounts::ended,
        &FlowCellCounts::withheld, &FlowCellCounts::given_up, &FlowCellCounts::not_decided, &FlowCellCounts::starved})
    this->*member += more.*member;
  for (double FlowCellCounts::*member : {&FlowCellCounts::sequenced_seconds, &FlowCellCounts::target_seconds, &FlowCellCounts::decision_seconds,
                                         &FlowCellCounts::read_seconds, &FlowCellCounts::target_read_seconds, &FlowCellCounts::accepted_read_seconds})
    this->*member += more.*member;
}

FlowCellCounts FlowCellModel::counts(double now) const {
  FlowCellCounts all;
  for (std::size_t condition = 0; condition < counts_.size(); ++condition) all.add(counts(now, condition));
  return all;
}

FlowCellCounts FlowCellModel::counts(double now, std::size_t condition) const {
  FlowCellCounts result = counts_[condition];
  for (const Channel& channel : channels_) {
    if (channel.read == nullptr || static_cast<std::size_t>(channel.condition) != condition) continue;
    const double seconds = std::max(std::min(now, channel.end) - channel.start, 0.0);
    result.sequenced_seconds += seconds;
    if (is_wanted(channel)) result.target_seconds += seconds;
  }
  return result;
}

std::int32_t FlowCellModel::channels_of(std::size_t condition) const {
  return static_cast<std::int32_t>(std::count_if(channels_.begin(), channels_.end(),
                                                 [&](const Channel& channel) { return static_cast<std::size_t>(channel.condition) == condition; }));
}

}  // namespace sluice::flow_cell_simulator
