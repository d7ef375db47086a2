// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/history_tree.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

// Enough for a line of a thousand pixels.
constexpr std::size_t most_intervals = 128, most_tracks = 40;
// Of rates, which jump by whole batches where intervals are short.
constexpr std::size_t most_rates = 40;

double with_few_digits(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double scale = std::pow(10.0, 3 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

// As many samples as there are intervals to draw, and one more; the last is the run's end.
std::vector<HistorySample> thinned(const RunHistory& history, const RunStatistics& last) {
  std::vector<HistorySample> samples = {HistorySample{}};
  const std::size_t step = history.samples.size() / most_intervals + 1;
  for (std::size_t i = step - 1; i < history.samples.size(); i += step) samples.push_back(history.samples[i]);
  HistorySample end = sample_of(last, history.samples.empty() ? last.resident_peak : history.samples.back().resident_bytes);
  // What lies close before the end would be an interval of noise.
  const double usual = end.seconds / static_cast<double>(samples.size());
  if (samples.size() > 1 && end.seconds - samples.back().seconds < usual / 2) samples.pop_back();
  samples.push_back(std::move(end));
  // The process had computed before the run began: at the first look that is no longer to be told apart.
  if (samples.size() > 2) {
    const double rate = (samples[2].cpu_seconds - samples[1].cpu_seconds) / std::max(samples[2].seconds - samples[1].seconds, 1e-9);
    samples[0].cpu_seconds = samples[1].cpu_seconds - rate * samples[1].seconds;
  }
  return samples;
}

// value(sample) per second, in every interval.
template <class Value>
Json rates(const std::vector<HistorySample>& samples, double most, const Value& value) {
  Json series = Json::array();
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const double seconds = samples[i].seconds - samples[i - 1].seconds;
    const double rate = seconds > 0 ? (value(samples[i]) - value(samples[i - 1])) / seconds : 0;
    series.push_back(with_few_digits(std::clamp(rate, 0.0, most)));
  }
  return series;
}

template <class Value>
Json values(const std::vector<HistorySample>& samples, const Value& value) {
  Json series = Json::array();
  for (std::size_t i = 1; i < samples.size(); ++i) series.push_back(with_few_digits(value(samples[i])));
  return series;
}

// A device that has come later is not there in the first samples.
HistorySample::OfDevice device_of(const HistorySample& sample, std::size_t i) {
  return i < sample.devices.size() ? sample.devices[i] : HistorySample::OfDevice{};
}
HistorySample::OfStage stage_of(const HistorySample& sample, std::size_t i) {
  return i < sample.stages.size() ? sample.stages[i] : HistorySample::OfStage{};
}

// The first, the last, and every n-th between them.
std::vector<HistorySample> coarse(const std::vector<HistorySample>& samples) {
  const std::size_t step = samples.size() / most_rates + 1;
  std::vector<HistorySample> result;
  for (std::size_t i = 0; i + 1 < samples.size(); i += step) result.push_back(samples[i]);
  result.push_back(samples.back());
  return result;
}

Json stages(const std::vector<HistorySample>& samples, const RunStatistics& last) {
  const std::vector<HistorySample> few = coarse(samples);
  Json list = Json::array();
  for (std::size_t i = 0; i < last.stages.size(); ++i) {
    const StageStatistics& stage = last.stages[i];
    if (stage.role != "source" && stage.role != "sink") continue;
    Json entry = {{"name", stage.name}, {"role", stage.role}, {"called", stage.row_noun.empty() ? stage.row_type : stage.row_noun}};
    entry["rows"] = Json::array();
    for (std::size_t k = 1; k < samples.size(); ++k) entry["rows"].push_back(stage_of(samples[k], i).rows);
    if (stage.role == "source") {
      entry["unit"] = stage.work_unit;
      entry["work_per_second"] = rates(few, 1e300, [&](const HistorySample& s) { return stage_of(s, i).work; });
      entry["waiting"] = rates(samples, 1, [&](const HistorySample& s) { return stage_of(s, i).wait_seconds; });
    }
    list.push_back(std::move(entry));
  }
  return list;
}

Json devices(const std::vector<HistorySample>& samples, const RunStatistics& last) {
  Json list = Json::array();
  for (std::size_t i = 0; i < last.devices.size(); ++i)
    list.push_back(
        {{"name", last.devices[i].name},
         {"busy", rates(samples, 1, [&](const HistorySample& s) { return device_of(s, i).busy_seconds; })},
         {"to_device", rates(samples, 1e300, [&](const HistorySample& s) { return static_cast<double>(device_of(s, i).bytes_to_device); })},
         {"to_host", rates(samples, 1e300, [&](const HistorySample& s) { return static_cast<double>(device_of(s, i).bytes_to_host); })},
         {"memory_bytes", values(samples, [&](const HistorySample& s) { return static_cast<double>(device_of(s, i).memory_bytes); })}});
  return list;
}

// The busiest ones, in the order in which they first appeared.
std::vector<const ActivityTrack*> busiest(const RunHistory& history) {
  const auto total = [](const ActivityTrack* track) { return std::accumulate(track->busy_seconds.begin(), track->busy_seconds.end(), 0.0); };
  std::vector<const ActivityTrack*> tracks;
  for (const ActivityTrack& track : history.tracks) tracks.push_back(&track);
  if (tracks.size() <= most_tracks) return tracks;
  std::stable_sort(tracks.begin(), tracks.end(), [&](const auto* a, const auto* b) { return total(a) > total(b); });
  tracks.resize(most_tracks);
  std::sort(tracks.begin(), tracks.end());
  return tracks;
}

Json tracks(const RunHistory& history, double elapsed) {
  // Of a short run intervals are many: a picture needs no more than it has pixels for.
  const auto intervals = std::min(static_cast<std::size_t>(std::ceil(elapsed / history.interval_seconds)), most_points);
  const std::size_t step = intervals / most_intervals + 1;
  Json list = Json::array();
  for (const ActivityTrack* track : busiest(history)) {
    Json calls = Json::array();
    for (std::size_t i = 0; i < intervals; i += step) {
      double seconds = 0;
      for (std::size_t k = i; k < std::min(i + step, track->busy_seconds.size()); ++k) seconds += track->busy_seconds[k];
      calls.push_back(with_few_digits(seconds / (history.interval_seconds * static_cast<double>(step))));
    }
    list.push_back({{"lane", track->lane}, {"stage", track->stage}, {"calls", std::move(calls)}});
  }
  return {{"interval_seconds", history.interval_seconds * static_cast<double>(step)}, {"list", std::move(list)}};
}

}  // namespace

Json history_tree(const RunHistory& history, const RunStatistics& last) {
  const std::vector<HistorySample> samples = thinned(history, last);
  Json tree;
  tree["seconds"] = values(samples, [](const HistorySample& s) { return s.seconds; });
  tree["coarse_seconds"] = values(coarse(samples), [](const HistorySample& s) { return s.seconds; });
  tree["threads_busy"] = rates(samples, 1e9, [](const HistorySample& s) { return s.cpu_seconds; });
  tree["resident_bytes"] = values(samples, [](const HistorySample& s) { return static_cast<double>(s.resident_bytes); });
  tree["column_bytes"] = values(samples, [](const HistorySample& s) { return static_cast<double>(s.column_bytes); });
  tree["stages"] = stages(samples, last);
  tree["devices"] = devices(samples, last);
  tree["tracks"] = history.interval_seconds > 0 ? tracks(history, last.elapsed_seconds) : Json::object();
  return tree;
}

}  // namespace sluice
