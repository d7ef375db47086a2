// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "record/recorder.hpp"

#include <algorithm>
#include <utility>

#include "plugin/descriptor.hpp"

namespace sluice {
namespace {

LengthStatistics statistics_of(const Distribution& lengths, const std::string& unit) {
  LengthStatistics result;
  result.unit = unit;
  result.rows = lengths.count();
  result.total = static_cast<std::uint64_t>(lengths.sum());
  result.maximum = static_cast<std::uint64_t>(lengths.maximum());
  result.p50 = lengths.quantile(0.50);
  result.classes = lengths.occupied();
  double in_longer = 0;
  for (auto i = result.classes.rbegin(); i != result.classes.rend() && in_longer < lengths.sum() / 2; ++i) {
    result.n50 = std::min(i->first, lengths.maximum());
    in_longer += i->first * static_cast<double>(i->second);
  }
  return result;
}

}  // namespace

void StageCounts::add(const StageCounts& more) {
  batches += more.batches;
  rows_in += more.rows_in;
  rows_out += more.rows_out;
  output_bytes += more.output_bytes;
  for (const auto& [reason, count] : more.failed) failed[reason] += count;
  for (const auto& [reason, count] : more.accounted) accounted[reason] += count;
  for (const auto& [reason, count] : more.nameless) nameless[reason] += count;
  for (const auto& [name, outcome] : more.outcomes) {
    outcomes[name].good += outcome.good;
    outcomes[name].total += outcome.total;
  }
  for (const auto& [name, amount] : more.counters) counters[name] += amount;
}

StageRecorder::StageRecorder(const ResolvedStage& stage, RunListener* listener) : listener_(listener) {
  const sluice_stage_descriptor& d = *stage.entry.descriptor;
  totals_.name = stage.name;
  totals_.id = d.id;
  totals_.work_unit = d.work_unit == nullptr ? "row" : d.work_unit;
  totals_.role = kind_name(d.kind);
  totals_.row_type = d.input.row_type != nullptr ? d.input.row_type : d.output.row_type;
  if (d.row_length != nullptr) totals_.lengths.unit = d.row_length_unit, lengths_.emplace();
  totals_.row_noun = d.row_noun != nullptr ? d.row_noun : d.output.row_type != nullptr ? d.output.row_type : "";
}

// Where memory is missing for half of it, nothing is lost: a duration more than implementations is one that has nothing in it.
std::size_t StageRecorder::implementation(const std::string& device) {
  std::vector<ImplementationStatistics>& all = totals_.implementations;
  const auto found = std::find_if(all.begin(), all.end(), [&](const ImplementationStatistics& i) { return i.device == device; });
  const auto index = static_cast<std::size_t>(found - all.begin());
  if (found == all.end()) {
    durations_.resize(all.size() + 1);
    all.push_back({device});
  }
  return index;
}

void StageRecorder::call(std::uint64_t sequence, const std::string& device, double seconds, std::int64_t rows_in, std::int64_t rows_out, double work,
                         std::uint64_t output_bytes, std::uint64_t bytes_moved) {
  busy_seconds_.fetch_add(seconds, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  const std::size_t index = implementation(device);
  StageCounts& counts = this->counts(sequence);
  ++counts.batches;
  counts.rows_in += static_cast<std::uint64_t>(rows_in);
  counts.rows_out += static_cast<std::uint64_t>(rows_out);
  counts.output_bytes += output_bytes;
  totals_.busy_seconds += seconds;
  ImplementationStatistics& on = totals_.implementations[index];
  ++on.batches;
  on.rows += static_cast<std::uint64_t>(std::max(rows_in, rows_out));
  on.work += work;
  on.seconds += seconds;
  on.bytes_moved += bytes_moved;
  durations_[index].add(seconds);
}

void StageRecorder::retry(const std::string& device) {
  const std::lock_guard lock(mutex_);
  ++totals_.implementations[implementation(device)].retries;
}

void StageRecorder::lost(std::uint64_t sequence, const std::string& reason, const std::string& name) {
  if (listener_ == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    if (is_behind(sequence)) return losses_.push_back({name, reason});
  }
  listener_->lost(totals_.name, {name, reason});
}

void StageRecorder::failed_row(std::uint64_t sequence, const std::string& reason, const std::string& name) {
  lost(sequence, reason, name);
  const std::lock_guard lock(mutex_);
  ++counts(sequence).failed[reason];
  if (totals_.examples.size() < kept_examples) totals_.examples.push_back({name, reason});
}

void StageRecorder::accounted(std::uint64_t sequence, const std::string& reason, std::uint64_t count, const char* name) {
  if (name != nullptr) lost(sequence, reason, name);
  const std::lock_guard lock(mutex_);
  if (count > 0) counts(sequence).accounted[reason] += count;  // 0: named, but not lost
  if (totals_.role == "map") return;                           // the rows themselves are named where they fail
  if (name == nullptr) {
    counts(sequence).nameless[reason] += count;
    return;
  }
  if (totals_.examples.size() < kept_examples) totals_.examples.push_back({name, reason});
}

void StageRecorder::count(std::uint64_t sequence, const std::string& counter, double amount) {
  const std::lock_guard lock(mutex_);
  counts(sequence).counters[counter] += amount;
}

void StageRecorder::observe(const std::string& quantity, double value) {
  const std::lock_guard lock(mutex_);
  quantities_[quantity].add(value);
}

void StageRecorder::lengths(std::span<const std::int64_t> offsets, const std::uint16_t* status) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; lengths_ && i + 1 < offsets.size(); ++i)
    if (status == nullptr || status[i] == 0) lengths_->add(static_cast<double>(offsets[i + 1] - offsets[i]));
}

void StageRecorder::outcome(std::uint64_t sequence, const std::string& name, std::uint64_t good, std::uint64_t total) {
  const std::lock_guard lock(mutex_);
  OutcomeStatistics& outcome = counts(sequence).outcomes[name];
  outcome.good += good;
  outcome.total += total;
}

void StageRecorder::committed_by(double seconds_left) {
  const std::lock_guard lock(mutex_);
  ++totals_.batches_with_deadline;
  if (seconds_left < 0) ++totals_.late_batches;
}

void StageRecorder::waited(double seconds) {
  const std::lock_guard lock(mutex_);
  totals_.wait_seconds += seconds;
}

bool StageRecorder::beyond_memory(std::uint64_t bytes, const std::string& rows) {
  const std::lock_guard lock(mutex_);
  const bool is_first = totals_.beyond_memory == 0;
  if (bytes > totals_.beyond_memory) {
    totals_.beyond_memory_rows = rows;
    totals_.beyond_memory = bytes;
  }
  return is_first;
}

StageStatistics StageRecorder::statistics() const {
  const std::lock_guard lock(mutex_);
  StageStatistics result = totals_;
  result.add(behind_);
  for (std::size_t i = 0; i < result.implementations.size(); ++i) {
    auto& implementation = result.implementations[i];
    implementation.p50_seconds = durations_[i].quantile(0.50);
    implementation.p95_seconds = durations_[i].quantile(0.95);
    implementation.rate = implementation.seconds > 0 ? implementation.work / implementation.seconds : 0;
  }
  result.progress = progress();
  if (lengths_) result.lengths = statistics_of(*lengths_, totals_.lengths.unit);
  for (const auto& [name, values] : quantities_)
    result.quantities[name] = {values.count(), values.quantile(0.50), values.quantile(0.99), values.maximum()};
  return result;
}

void StageRecorder::stands_at(const std::string& position) {
  const std::lock_guard lock(mutex_);
  totals_.position = position;
}

void StageRecorder::border(std::uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  border_ = sequence;
}

StageCounts StageRecorder::counts_before_border() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

void StageRecorder::release() {
  std::vector<FailedRow> losses;
  {
    const std::lock_guard lock(mutex_);
    border_ = no_batch;
    totals_.add(std::exchange(behind_, {}));
    losses = std::exchange(losses_, {});
  }
  for (const FailedRow& row : losses) listener_->lost(totals_.name, row);
}

void StageRecorder::go_on_from(const StageCounts& counts) {
  const std::lock_guard lock(mutex_);
  totals_.add(counts);
}

Recorder::Recorder(const Plan& plan, RunListener* listener) : resources_(plan.pipeline.resources.size()), listener_(listener) {
  for (const ResolvedStage& resource : plan.pipeline.resources) stages_.emplace_back(resource, listener);
  for (const ResolvedStage& stage : plan.pipeline.stages) stages_.emplace_back(stage, listener);
}

}  // namespace sluice
