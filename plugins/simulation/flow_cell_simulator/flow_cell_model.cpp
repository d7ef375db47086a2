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

// Exponential with mean 1, a function of its arguments only.
double exponential(std::uint64_t seed, std::uint64_t channel, std::uint64_t count) {
  const std::uint64_t bits = mix(mix(mix(seed + golden) + channel * golden) + count * golden);
  const double uniform = (static_cast<double>(bits >> 12U) + 0.5) * 0x1p-52;  // never 0, never 1
  return -natural_log(uniform);
}

}  // namespace

FlowCellModel::FlowCellModel(const FlowCellSettings& settings) : settings_(settings), channels_(static_cast<std::size_t>(settings.channels)) {
  for (std::int32_t number = 0; number < settings_.channels; ++number) {
    Channel& channel = channels_[static_cast<std::size_t>(number)];
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
    if (!reads_end_ && !channel.starved) ++counts_.starved;
    channel.starved = true;
    channel.free_at = now;
    return false;
  }
  if (settings_.repeat == Repeat::for_ever) {
    channel.read = reads_[next_ % reads_.size()];
    next_ = (next_ + 1) % reads_.size();
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
  ++counts_.reads;
  counts_.read_seconds += seconds;
  if (channel.read->is_target) {
    ++counts_.target_reads;
    counts_.target_read_seconds += seconds;
  }
  return true;
}

void FlowCellModel::end_read(Channel& channel, std::int32_t number, double ejection) {
  const double seconds = channel.end - channel.start;
  counts_.sequenced_seconds += seconds;
  if (channel.read->is_target) counts_.target_seconds += seconds;
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
    ++counts_.given_up;
    return;
  }
  const bool is_last = ended && available == read.length;
  if (available > channel.sent || is_last) {
    chunks.push_back({number, channel.chunk_index++, is_last, channel.read, channel.sent, available, channel.read_number, channel.start});
    channel.sent = available;
  }
  if (ended) {
    channel.verdict = Verdict::without;
    ++counts_.ended;
  }
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
  if (!is_here || now - available > settings_.deadline_seconds) {
    if (is_here) channel.verdict = Verdict::without;
    ++counts_.late;
    return Effect::late;
  }
  const double whole = static_cast<double>(channel.read->length) / channel.read->sampling_rate;
  counts_.decision_seconds += now - channel.start;
  if (decision == Decision::accept) {
    channel.verdict = Verdict::accepted;
    ++counts_.accepted;
    counts_.accepted_read_seconds += whole;
    if (channel.read->is_target) ++counts_.accepted_targets;
    return Effect::accepted;
  }
  channel.verdict = Verdict::rejected;
  channel.end = now;
  ++counts_.rejected;
  if (channel.read->is_target) ++counts_.rejected_targets;
  return Effect::rejected;
}

void FlowCellModel::give_up(std::int32_t number, std::uint64_t read_number) {
  Channel& channel = channels_[static_cast<std::size_t>(number)];
  if (channel.read == nullptr || channel.read_number != read_number || channel.verdict != Verdict::open) return;
  channel.verdict = Verdict::without;
  ++counts_.not_decided;
}

FlowCellCounts FlowCellModel::counts(double now) const {
  FlowCellCounts result = counts_;
  for (const Channel& channel : channels_) {
    if (channel.read == nullptr) continue;
    const double seconds = std::max(std::min(now, channel.end) - channel.start, 0.0);
    result.sequenced_seconds += seconds;
    if (channel.read->is_target) result.target_seconds += seconds;
  }
  return result;
}

}  // namespace sluice::flow_cell_simulator
