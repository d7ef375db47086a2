// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The device's walks over chunks, compiled for the host: the marks they leave are the events of the CPU kernel. What needs a device (sums across
// threads, emission) is in tests/gpu.
#include <doctest/doctest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "event_detection/cuda_definition_walk.hpp"
#include "event_detection/cuda_exact_walk.hpp"
#include "event_detection/events.hpp"

namespace {

using namespace sluice::event_detection;
using namespace sluice::event_detection::cuda;
using Random = std::mt19937;
using Samples16 = std::vector<std::int16_t>;

std::int16_t clamp16(double x) { return static_cast<std::int16_t>(std::lround(std::min(32767.0, std::max(-32768.0, x)))); }

// Steps between random levels with noise, in raw units.
Samples16 squiggle(std::size_t samples, Random& random, double mean_dwell, double noise_raw = 9.0, double mean = 480.0, double spread = 70.0) {
  std::normal_distribution<double> level(mean, spread);
  std::normal_distribution<double> noise(0.0, noise_raw);
  std::geometric_distribution<int> dwell(1.0 / mean_dwell);
  Samples16 raw;
  while (raw.size() < samples) {
    const double current = level(random);
    for (int left = 1 + dwell(random); left > 0 && raw.size() < samples; --left) raw.push_back(clamp16(current + noise(random)));
  }
  return raw;
}

// One read, in slots of its own.
struct Walked {
  ReadRecord record{};
  std::vector<PickerState> starts, ends;
  std::vector<ChunkState> states;
  std::vector<Sums> sums;
  std::vector<std::uint32_t> marks;
  std::vector<Stretch> stretches;
  int fast = 0, exact = 0, definition = 0, wrong_guesses = 0;
};

struct HostSink {
  Walked& walked;

  SampleGroup load(const std::int16_t* samples) const {
    SampleGroup group;
    std::memcpy(&group, samples, sizeof(group));
    return group;
  }
  void guessed(std::int64_t slot, const PickerState& state) const { walked.starts[slot] = state; }
  void ended(std::int64_t slot, const PickerState& state) const { walked.ends[slot] = state; }
  void store(std::int64_t word, std::uint32_t marks) const { walked.marks[word] = marks; }
  void add(std::int64_t word, std::uint32_t marks) const { walked.marks[word] |= marks; }
  void remove(std::int64_t word, std::uint32_t marks) const { walked.marks[word] &= ~marks; }
  bool append(const Stretch& stretch) const {
    walked.stretches.push_back(stretch);
    return true;
  }
  void lose(std::int64_t) const { walked.record.path_lost = 1; }
  void defer(std::int64_t, std::int64_t slot) const {
    walked.record.irregular = 1;
    walked.states[slot].odd = true;
  }
  void find(std::int64_t) const {}
  void extend(std::int64_t, float, float, double, bool) const {}
};

enum class Sums64 : std::uint8_t { exact, checked };  // whether the read's sums are looked at for rounding

template <int W>
Walked walk(const Samples16& raw, std::int64_t begin, const DetectorParams& params, const Division& division, const Calibration& calibration,
            Sums64 sums_are) {
  Samples16 samples(static_cast<std::size_t>(begin) + raw.size() + 64, 400);
  std::copy(raw.begin(), raw.end(), samples.begin() + begin);
  Signals signals;
  signals.rows = 1;
  signals.samples = samples.data();
  signals.sample_count = static_cast<std::int64_t>(samples.size()) - 32;
  alignas(256) char account[256];
  Frame frame(signals, params, account, division);
  Walked w;
  w.record.begin = begin + frame.shift;
  w.record.length = static_cast<std::int32_t>(raw.size());
  w.record.offset = calibration.offset;
  w.record.unit = calibration.range / calibration.digitisation;
  w.record.path = ReadPath::chunked;
  const auto slots = static_cast<std::size_t>(frame.slots) + 1;
  w.starts.resize(slots);
  w.ends.resize(slots);
  w.states.resize(slots);
  w.sums.resize(slots);
  w.marks.resize(static_cast<std::size_t>(frame.tiles) * 32 + 64);
  frame.records = &w.record;
  frame.starts = w.starts.data();
  frame.ends = w.ends.data();
  frame.chunk_states = w.states.data();
  frame.chunk_sums = w.sums.data();
  frame.marks = w.marks.data();
  const HostSink sink{w};
  const FastLimits limits = FastLimits::of<W>(params, frame.long_possible_above);
  constexpr int primed = (FastStatistic<W>::samples_before_first + 7) / 8 * 8;
  for (std::int64_t slot = 0; slot < frame.slots; ++slot) {
    const Chunk chunk = chunk_at(frame, slot);
    if (chunk.row < 0) continue;
    const bool inner = chunk.end - chunk.begin == division.chunk_samples && chunk.begin - chunk.read.begin >= division.warm_up_samples + primed &&
                       chunk.end < chunk.read.begin + chunk.read.length;
    if (inner && walk_fast<W>(frame, limits, sink, slot, chunk)) {
      ++w.fast;
      continue;
    }
    ++w.exact;
    w.states[slot].walker = ChunkWalker::exact;
    ChunkWalk<W, HostSink>(frame, sink, slot, chunk).run();
  }
  if (sums_are == Sums64::checked && w.record.path_lost == 0) {
    w.record.irregular = 1;
    const ReadChunks chunks(frame, 0);
    Sums sums{0.0, 0.0};
    for (std::int32_t i = 0; i < chunks.count; ++i) {
      w.sums[chunks.first_slot + i] = sums;
      w.states[chunks.first_slot + i].rounding = add_in_order(frame, chunks.at(frame, i), sums);
    }
    std::vector<std::int64_t> listed;
    for (std::int32_t i = 0; i < chunks.count; ++i) {
      if (!is_definition_chunk(frame, chunks, i)) continue;
      if (!clear_chunk(frame, sink, chunks, i)) w.record.path_lost = 1;
      listed.push_back(chunks.first_slot + i);
    }
    for (const std::int64_t slot : listed) {
      ++w.definition;
      w.states[slot].walker = ChunkWalker::definition;
      walk_by_definition<W>(frame, sink, slot, chunk_at(frame, slot));
    }
  }
  for (std::int64_t slot = 1; slot < frame.slots; ++slot) {
    const Chunk chunk = chunk_at(frame, slot);
    if (chunk.row >= 0 && chunk.begin != chunk.read.begin && !same_state(w.ends[slot - 1], w.starts[slot])) ++w.wrong_guesses;
  }
  // The long detector, as the definition says.
  for (const Stretch& stretch : w.stretches) {
    if (w.states[stretch.slot].walker != stretch.walker || w.record.path_lost != 0) continue;
    DefinitionStatistic definition(frame, 0, w.record, w.record.irregular != 0 ? stretch.first : 0, params.window_long);
    float value = FLT_MAX;
    int peak = -1;
    bool fell = false;
    for (int i = stretch.first; i < stretch.stop; ++i) {
      const float t = w.record.irregular != 0 ? definition.at(i) : statistic_at(frame.signals.samples, w.record, i, params.window_long);
      if (peak < 0) {
        if (t < value) {
          value = t;
        } else if (t - value > params.peak_height) {
          value = t;
          peak = i;
        }
        continue;
      }
      if (t > value) {
        value = t;
        peak = i;
      }
      if (value - t > params.peak_height && value > params.threshold_long) fell = true;
      if (fell && i - peak > static_cast<int>(params.window_long / 2)) {
        sink.add((w.record.begin + peak) / 32, 1U << ((w.record.begin + peak) % 32));
        peak = -1;
        value = t;
        fell = false;
      }
    }
  }
  return w;
}

// Positions where marks and events differ; the first event starts at 0 without a mark.
std::size_t differences(const Walked& walked, const Samples16& raw, const DetectorParams& params, const Calibration& calibration) {
  DetectorWorkspace workspace;
  EventTable events;
  detect_events(raw, calibration, params, workspace, events);
  std::vector<std::uint32_t> expected(walked.marks.size());
  for (std::size_t i = 1; i < events.size(); ++i) {
    const std::int64_t sample = walked.record.begin + events.start_sample[i];
    expected[static_cast<std::size_t>(sample / 32)] |= 1U << (sample % 32);
  }
  std::size_t count = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) count += expected[i] != walked.marks[i] ? 1 : 0;
  return count;
}

constexpr Calibration r9{10.0F, 1467.61F, 8192.0F};

template <int W>
Walked check(const Samples16& raw, std::int64_t begin, const DetectorParams& params, const Division& division, Sums64 sums_are = Sums64::exact,
             const Calibration& calibration = r9) {
  Walked walked = walk<W>(raw, begin, params, division, calibration, sums_are);
  // Otherwise the read takes the slow walk.
  if (walked.record.path_lost == 0 && walked.wrong_guesses == 0) CHECK(differences(walked, raw, params, calibration) == 0);
  return walked;
}

}  // namespace

TEST_CASE("the chunks of ordinary reads are walked fast, nearly all, and leave the events of the CPU kernel") {
  Random random(5);
  for (int i = 0; i < 4; ++i) {
    const Walked dna = check<3>(squiggle(50'000 + random() % 100'000, random, 8.9), random() % 100, DetectorParams::dna(), {256, 64});
    CHECK(dna.wrong_guesses == 0);
    CHECK(dna.record.path_lost == 0);
    CHECK(dna.fast > 10 * dna.exact);
    const Walked rna = check<7>(squiggle(200'000, random, 30.0), random() % 100, DetectorParams::rna(), {1024, 256});
    CHECK(rna.wrong_guesses == 0);
    CHECK(rna.fast > 5 * rna.exact);
    check<3>(squiggle(100'000, random, 8.9, 1.0), random() % 100, DetectorParams::dna(), {512, 64});
    check<3>(squiggle(100'000, random, 8.9, 20.0, 600, 250), random() % 100, DetectorParams::dna(), {512, 64});
    check<7>(squiggle(100'000, random, 30.0, 2.0), random() % 100, DetectorParams::rna(), {1024, 256});
  }
  for (int i = 0; i < 200; ++i) check<3>(squiggle(1 + random() % 2000, random, 8.9), random() % 100, DetectorParams::dna(), {64, 32});
}

TEST_CASE("a read with negative currents is walked by the definition only where its sums round") {
  Random random(6);
  int clean = 0;
  for (int i = 0; i < 40; ++i) {
    Samples16 raw = squiggle(20'000 + random() % 100'000, random, 8.9);
    for (int n = 0; n <= i % 4; ++n) raw[random() % raw.size()] = static_cast<std::int16_t>(-14 + static_cast<int>(random() % 6));
    const Walked walked = check<3>(raw, random() % 100, DetectorParams::dna(), {256, 64}, Sums64::checked);
    clean += walked.record.path_lost == 0 && walked.wrong_guesses == 0 ? 1 : 0;
    CHECK(walked.definition > 0);
    CHECK(walked.definition <= 40);
    Samples16 rna = squiggle(100'000, random, 30.0);
    rna[random() % rna.size()] = -11;
    check<7>(rna, random() % 100, DetectorParams::rna(), {1024, 256}, Sums64::checked);
  }
  CHECK(clean >= 36);
}

TEST_CASE("odd reads: around zero, spikes, all of int16, negative units, tiny units") {
  Random random(7);
  int clean = 0;
  for (int i = 0; i < 400; ++i) {
    const std::size_t n = 1 + random() % 3000;
    Samples16 raw = squiggle(n, random, 2.0 + random() % 60, 1.0 + random() % 9, 480.0, static_cast<double>(random() % 3) * 60.0);
    Calibration calibration = r9;
    switch (i % 6) {
      case 0:
        for (auto& sample : raw) sample = static_cast<std::int16_t>(sample - 480);
        break;
      case 1:
        raw[random() % n] = static_cast<std::int16_t>(random());
        break;
      case 2:
        for (auto& sample : raw) sample = static_cast<std::int16_t>(random());
        break;
      case 3:
        calibration.range = -1467.61F;
        break;
      case 4:
        calibration.range = 1e-30F;
        break;
      default:
        for (std::size_t k = n / 3; k < n / 2; ++k) raw[k] = -10;
        break;
    }
    const Division division = i % 2 == 0 ? Division{256, 64} : Division{64, 32};
    const Walked walked = check<3>(raw, random() % 100, DetectorParams::dna(), division, Sums64::checked, calibration);
    clean += walked.record.path_lost == 0 && walked.wrong_guesses == 0 ? 1 : 0;
    if (i % 4 == 0) check<7>(raw, random() % 100, DetectorParams::rna(), {128, 64}, Sums64::checked, calibration);
  }
  CHECK(clean >= 200);
}
