// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Event detection on the device against the CPU kernel, byte by byte, then timings.
// Run: event_detection_gpu_test [check | small | bench | profile | all = all] [millions of samples of the benchmark = 400]
// Prints one table; the exit status is 1 when any result differs. `small` is short enough for compute-sanitizer.

#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "event_detection/cuda.hpp"
#include "event_detection/cuda_statistic.hpp"
#include "event_detection/events.hpp"

namespace {

using namespace sluice::event_detection;
using cuda::Division;
using cuda::division_for;

void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("FAILED: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t size) : size_(size) { require(cudaMalloc(&data_, std::max<std::size_t>(1, size) * sizeof(T)), "cudaMalloc"); }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    if (!values.empty()) require(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "upload");
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }
  T* data() const { return data_; }
  void fill_bytes(int value) { require(cudaMemset(data_, value, size_ * sizeof(T)), "cudaMemset"); }
  std::vector<T> download() const {
    std::vector<T> values(size_);
    if (size_ > 0) require(cudaMemcpy(values.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost), "download");
    return values;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

struct Batch {
  std::vector<std::int16_t> samples;
  std::vector<std::int64_t> offsets{0};
  std::vector<double> offset, range, digitisation;
  std::vector<std::uint16_t> row_status;

  std::size_t rows() const { return offset.size(); }
  void add(const std::vector<std::int16_t>& read, double unit_offset = 10.0, double unit_range = 1467.61, double levels = 8192.0,
           std::uint16_t status = 0) {
    samples.insert(samples.end(), read.begin(), read.end());
    offsets.push_back(static_cast<std::int64_t>(samples.size()));
    offset.push_back(unit_offset);
    range.push_back(unit_range);
    digitisation.push_back(levels);
    row_status.push_back(status);
  }
};

using Random = std::mt19937;

std::int16_t clamp16(double x) { return static_cast<std::int16_t>(std::lround(std::min(32767.0, std::max(-32768.0, x)))); }

// Steps between random levels with noise, in raw units: like R9.4 DNA at 8.9 samples per base.
std::vector<std::int16_t> squiggle(std::size_t samples, Random& random, double mean_dwell = 8.9, double noise_raw = 9.0, double mean = 480.0,
                                   double spread = 70.0) {
  std::normal_distribution<double> level(mean, spread);
  std::normal_distribution<double> noise(0.0, std::max(noise_raw, 1e-9));
  std::geometric_distribution<int> dwell(1.0 / mean_dwell);
  std::vector<std::int16_t> raw;
  while (raw.size() < samples) {
    const double current = level(random);
    for (int left = 1 + dwell(random); left > 0 && raw.size() < samples; --left) raw.push_back(clamp16(current + noise(random)));
  }
  return raw;
}

struct Result {
  std::vector<std::int64_t> offsets;
  std::vector<DetectionStatus> statuses;
  std::vector<float> mean, stdv;
  std::vector<std::int32_t> start, length;
  cuda::Account account;
};

class DeviceBatch {
 public:
  explicit DeviceBatch(const Batch& batch, bool with_status = true)
      : samples(batch.samples),
        offsets(batch.offsets),
        offset(batch.offset),
        range(batch.range),
        digitisation(batch.digitisation),
        row_status(batch.row_status) {
    signals.rows = static_cast<std::int64_t>(batch.rows());
    signals.offsets = offsets.data();
    signals.samples = samples.data();
    signals.sample_count = static_cast<std::int64_t>(batch.samples.size());
    signals.offset = offset.data();
    signals.range = range.data();
    signals.digitisation = digitisation.data();
    signals.row_status = with_status ? row_status.data() : nullptr;
  }
  DeviceArray<std::int16_t> samples;
  DeviceArray<std::int64_t> offsets;
  DeviceArray<double> offset, range, digitisation;
  DeviceArray<std::uint16_t> row_status;
  cuda::Signals signals;
};

enum class EventOrder : std::uint8_t { ascending, descending };  // in time

Result run_device(const Batch& batch, const DetectorParams& params, const Division& division, EventOrder order) {
  const DeviceBatch device(batch);
  DeviceArray<char> workspace(cuda::workspace_bytes(device.signals.rows, device.signals.sample_count, division));
  workspace.fill_bytes(0xA5);
  DeviceArray<std::int64_t> event_offsets(batch.rows() + 1);
  DeviceArray<DetectionStatus> statuses(batch.rows());
  event_offsets.fill_bytes(0xFF);
  require(cuda::find_boundaries(device.signals, params, workspace.data(), event_offsets.data(), statuses.data(), nullptr, division),
          "find_boundaries");
  require(cudaDeviceSynchronize(), "find_boundaries");
  Result result;
  result.offsets = event_offsets.download();
  result.statuses = statuses.download();
  const auto count = static_cast<std::size_t>(result.offsets.back());
  DeviceArray<float> mean(count), stdv(count);
  DeviceArray<std::int32_t> start(count), length(count);
  mean.fill_bytes(0xFF);
  stdv.fill_bytes(0xFF);
  start.fill_bytes(0xFF);
  length.fill_bytes(0xFF);
  require(cuda::emit_events(device.signals, params, workspace.data(), event_offsets.data(), {mean.data(), start.data(), length.data(), stdv.data()},
                            nullptr, division),
          "emit_events");
  if (order == EventOrder::descending) {
    require(cuda::reverse_events(device.signals.rows, event_offsets.data(), result.offsets.back(),
                                 {mean.data(), start.data(), length.data(), stdv.data()}, nullptr),
            "reverse_events");
  }
  require(cudaDeviceSynchronize(), "emit_events");
  result.mean = mean.download();
  result.stdv = stdv.download();
  result.start = start.download();
  result.length = length.download();
  if (batch.rows() > 0) require(cudaMemcpy(&result.account, workspace.data(), sizeof(result.account), cudaMemcpyDeviceToHost), "account");
  return result;
}

template <class T>
bool same(const std::vector<T>& device, std::size_t begin, const std::vector<T>& host) {
  return begin + host.size() <= device.size() && (host.empty() || std::memcmp(device.data() + begin, host.data(), host.size() * sizeof(T)) == 0);
}

int failures = 0;

void reverse(EventTable& events) {
  const auto turn = [](auto& column) { std::reverse(column.begin(), column.end()); };
  turn(events.start_sample);
  turn(events.length_samples);
  turn(events.mean);
  turn(events.stdv);
}

void compare(const char* name, const Batch& batch, const DetectorParams& params, const Division& division, EventOrder order = EventOrder::ascending) {
  const Result result = run_device(batch, params, division, order);
  std::vector<EventTable> expected(batch.rows());
  std::vector<DetectionStatus> statuses(batch.rows(), DetectionStatus::ok);
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(1U, std::thread::hardware_concurrency()); ++t) {
    threads.emplace_back([&] {
      DetectorWorkspace workspace;
      for (std::size_t row = next++; row < batch.rows(); row = next++) {
        if (batch.row_status[row] != 0) continue;
        const Calibration calibration{static_cast<float>(batch.offset[row]), static_cast<float>(batch.range[row]),
                                      static_cast<float>(batch.digitisation[row])};
        const std::span<const std::int16_t> raw(batch.samples.data() + batch.offsets[row],
                                                static_cast<std::size_t>(batch.offsets[row + 1] - batch.offsets[row]));
        statuses[row] = detect_events(raw, calibration, params, workspace, expected[row]);
        if (order == EventOrder::descending) reverse(expected[row]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::size_t different = 0;
  std::size_t ok = 0;
  std::int64_t count = 0;
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    const EventTable& events = expected[row];
    const auto begin = static_cast<std::size_t>(count);
    const bool agrees = result.offsets[row] == count && result.statuses[row] == statuses[row] && same(result.start, begin, events.start_sample) &&
                        same(result.length, begin, events.length_samples) && same(result.mean, begin, events.mean) &&
                        same(result.stdv, begin, events.stdv);
    count += static_cast<std::int64_t>(events.size());
    ok += statuses[row] == DetectionStatus::ok;
    if (agrees) continue;
    if (++different > 3) continue;
    std::printf("  row %zu of %lld samples: status %d (expected %d), first event %lld (expected %lld), %zu events expected\n", row,
                static_cast<long long>(batch.offsets[row + 1] - batch.offsets[row]), static_cast<int>(result.statuses[row]),
                static_cast<int>(statuses[row]), static_cast<long long>(result.offsets[row]), static_cast<long long>(begin), events.size());
    for (std::size_t i = 0; i < events.size() && begin + i < result.start.size(); ++i) {
      if (result.start[begin + i] == events.start_sample[i] && result.length[begin + i] == events.length_samples[i] &&
          std::memcmp(&result.mean[begin + i], &events.mean[i], 4) == 0 && std::memcmp(&result.stdv[begin + i], &events.stdv[i], 4) == 0) {
        continue;
      }
      std::printf("    event %zu: start %d length %d mean %.9g stdv %.9g, expected %d %d %.9g %.9g\n", i, result.start[begin + i],
                  result.length[begin + i], result.mean[begin + i], result.stdv[begin + i], events.start_sample[i], events.length_samples[i],
                  events.mean[i], events.stdv[i]);
      break;
    }
  }
  const bool total_agrees = result.offsets.back() == count;
  if (different != 0 || !total_agrees) ++failures;
  std::printf(
      "%-44s chunk %4d warm-up %3d: %zu of %zu reads differ (%zu ok), %lld events; exact chunks %u, irregular reads %u (%u chunks), slow reads %u, "
      "wrong guesses %u, long stretches %u, long "
      "boundaries %u %s\n",
      name, division.chunk_samples, division.warm_up_samples, different, batch.rows(), ok, static_cast<long long>(count), result.account.exact_chunks,
      result.account.irregular_reads, result.account.definition_chunks, result.account.slow_reads, result.account.wrong_guesses,
      result.account.long_stretches, result.account.long_boundaries, different == 0 && total_agrees ? "same" : "DIFFERENT");
  std::fflush(stdout);
}

// Every mantissa of a variance: is the root correctly rounded, is the reciprocal of the root, and does the quotient agree with IEEE operations?
__global__ void check_integer_quotients(unsigned long long* wrong) {
  const auto n = static_cast<float>(blockIdx.x + 1);
  const float reciprocal = cuda::approximate_reciprocal(n);
  std::uint32_t state = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761U + 12345U;
  for (int k = 0; k < 32; ++k) {
    state = state * 1664525U + 1013904223U;
    const float x = __uint_as_float(0x3F800000U + (state >> 8));
    if (cuda::divide_by_integer(x, n, reciprocal) != x / n) atomicAdd(wrong, 1ULL);
  }
}

__global__ void check_roots(unsigned long long* wrong) {
  const std::uint32_t mantissa = blockIdx.x * blockDim.x + threadIdx.x;
  const float variance = __uint_as_float(0x3F000000U + mantissa);  // both parities of the exponent
  const float root = sqrtf(variance);
  const float y = cuda::approximate_inverse_root(variance);
  const float g = variance * y;
  if (fmaf(fmaf(-g, g, variance), 0.5F * y, g) != root) atomicAdd(wrong, 1ULL);
  const float reciprocal = fmaf(fmaf(-root, y, 1.0F), y, y);
  if (reciprocal != 1.0F / root) atomicAdd(wrong + 1, 1ULL);
  std::uint32_t state = mantissa * 2654435761U + 12345U;
  for (int n = 0; n < 256; ++n) {
    state = state * 1664525U + 1013904223U;
    const float distance = __uint_as_float(0x3F800000U + (state >> 9));
    const float quotient = distance / root;
    if (cuda::divide_by_root(distance, variance) != quotient) atomicAdd(wrong + 2, 1ULL);
    const float q0 = distance * reciprocal;
    if (fmaf(fmaf(-root, q0, distance), reciprocal, q0) != quotient) atomicAdd(wrong + 3, 1ULL);
  }
}

void check_arithmetic() {
  DeviceArray<unsigned long long> wrong(5);
  wrong.fill_bytes(0);
  check_roots<<<(1U << 24) / 256, 256>>>(wrong.data());
  check_integer_quotients<<<65'535, 256>>>(wrong.data() + 4);
  require(cudaDeviceSynchronize(), "check_roots");
  const auto counts = wrong.download();
  const bool right = counts[0] == 0 && counts[2] == 0 && counts[4] == 0;
  if (!right) ++failures;
  std::printf(
      "2^24 roots: %llu wrong; reciprocals of them: %llu not correctly rounded; 2^32 quotients: %llu wrong (corrected once only: %llu); 2^29 "
      "quotients by integers: %llu wrong %s\n",
      counts[0], counts[1], counts[2], counts[3], counts[4], right ? "same" : "DIFFERENT");
}

Batch ordinary(std::size_t reads, std::size_t longest, double dwell, std::uint32_t seed) {
  Random random(seed);
  Batch batch;
  for (std::size_t i = 0; i < reads; ++i) batch.add(squiggle(1 + random() % longest, random, dwell));
  return batch;
}

// With a few samples near zero or below it, as real reads have them.
Batch negative(std::size_t reads, std::size_t longest, double dwell, std::uint32_t seed) {
  Random random(seed);
  Batch batch;
  for (std::size_t i = 0; i < reads; ++i) {
    auto raw = squiggle(1 + random() % longest, random, dwell);
    for (std::size_t n = 0; n < i % 5; ++n) raw[random() % raw.size()] = static_cast<std::int16_t>(static_cast<int>(random() % 8) - 15);
    batch.add(raw);
  }
  return batch;
}

Batch short_reads(std::size_t reads, std::uint32_t seed) {
  Random random(seed);
  Batch batch;
  for (std::size_t i = 0; i < reads; ++i) batch.add(squiggle(random() % 64, random, 4.0), 10.0, 1467.61, 8192.0, random() % 10 == 0 ? 7 : 0);
  return batch;
}

// Signals that leave the ordinary at some place: negative and tiny currents, spikes, silence, one-unit noise, slow ramps, large steps.
Batch odd(std::size_t reads, std::size_t longest, std::uint32_t seed) {
  Random random(seed);
  Batch batch;
  const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (std::size_t i = 0; i < reads; ++i) {
    const std::size_t n = 1 + pick(longest);
    std::vector<std::int16_t> raw =
        squiggle(n, random, 2.0 + static_cast<double>(pick(60)), static_cast<double>(pick(4)) * 4.0, 480.0, static_cast<double>(pick(3)) * 60.0);
    double offset = 10.0;
    double range = 1467.61;
    double levels = 8192.0;
    switch (i % 16) {
      case 0:  // a spike
        raw[pick(n)] = static_cast<std::int16_t>(random());
        break;
      case 1:  // near zero
        for (int k = 0; k < 3; ++k) raw[pick(n)] = static_cast<std::int16_t>(static_cast<int>(pick(5)) - 12);
        break;
      case 2:  // silence
        for (std::size_t k = n / 3; k < n / 2; ++k) raw[k] = 500;
        break;
      case 3:  // two values
        for (std::size_t k = n / 4; k < n; ++k) raw[k] = static_cast<std::int16_t>(500 + pick(2));
        break;
      case 4:  // ramps: long windows see them, short ones hardly
        for (std::size_t k = 0; k < n; ++k) raw[k] = clamp16(450.0 + 60.0 * std::sin(static_cast<double>(k) / 9.0) + static_cast<double>(pick(3)));
        break;
      case 5:  // all of int16
        for (auto& sample : raw) sample = static_cast<std::int16_t>(random());
        break;
      case 6:  // around zero
        for (auto& sample : raw) sample = static_cast<std::int16_t>(sample - 480);
        break;
      case 7:
        offset = 3.37;
        range = 1e3 / 3;
        break;
      case 8:
        range = -1467.61;
        break;
      case 9:
        range = pick(2) == 0 ? 1e30 : 1e-30;
        break;
      case 10:
        offset = pick(2) == 0 ? 1e6 : -1e6;
        break;
      case 11:
        levels = pick(3) == 0 ? 0.0 : pick(2) == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
        break;
      case 12:  // small steps every 20 samples, little noise: the long detector's own
        for (std::size_t k = 0; k < n; ++k) raw[k] = clamp16(480.0 + 2.0 * static_cast<double>(k / 20 % 2) + static_cast<double>(pick(2)));
        break;
      case 13:  // a silent start, then steps
        for (std::size_t k = 0; k < n / 2; ++k) raw[k] = 300;
        break;
      case 14:  // decaying
        for (std::size_t k = 0; k < n; ++k)
          raw[k] = clamp16(400.0 + 300.0 * std::exp(-static_cast<double>(k % 97) / 12.0) + static_cast<double>(pick(5)));
        break;
      default:
        break;
    }
    batch.add(raw, offset, range, levels, pick(50) == 0 ? 3 : 0);
  }
  return batch;
}

void check(bool small) {
  const DetectorParams dna = DetectorParams::dna();
  const DetectorParams rna = DetectorParams::rna();
  const std::size_t reads = small ? 6 : 400;
  const std::size_t longest = small ? 3000 : 60'000;
  if (!small) check_arithmetic();
  compare("no reads", Batch{}, dna, division_for(dna));
  {
    Batch batch;
    batch.add({});
    batch.add({});
    compare("empty reads", batch, dna, division_for(dna));
    compare("empty reads, last event first", batch, rna, division_for(rna), EventOrder::descending);
  }
  compare("DNA", ordinary(reads, longest, 8.9, 1), dna, division_for(dna));
  compare("DNA", ordinary(reads, longest, 8.9, 2), dna, {512, 64});
  compare("DNA", ordinary(reads, longest, 8.9, 3), dna, {32, 8});
  compare("DNA", ordinary(reads, longest, 8.9, 4), dna, {64, 0});
  compare("DNA", ordinary(reads, longest, 8.9, 5), dna, {2048, 96});
  compare("RNA", ordinary(reads, longest, 30.0, 6), rna, division_for(rna));
  compare("RNA", ordinary(reads, longest, 30.0, 7), rna, {256, 32});
  compare("DNA, negative currents", negative(reads, longest, 8.9, 21), dna, division_for(dna));
  compare("DNA, negative currents", negative(reads, longest, 8.9, 22), dna, {64, 32});
  compare("RNA, negative currents", negative(reads, longest, 30.0, 23), rna, division_for(rna));
  compare("DNA, short reads", short_reads(small ? 300 : 100'000, 8), dna, division_for(dna));
  compare("RNA, short reads", short_reads(small ? 300 : 100'000, 9), rna, division_for(rna));
  compare("DNA, odd signals", odd(small ? 32 : 1600, longest / 2, 10), dna, division_for(dna));
  compare("DNA, odd short signals", odd(small ? 64 : 20'000, 300, 11), dna, division_for(dna));
  compare("DNA, odd short signals", odd(small ? 64 : 20'000, 3000, 12), dna, {96, 32});
  compare("RNA, odd signals", odd(small ? 32 : 1600, longest / 2, 13), rna, division_for(rna));
  compare("RNA, odd short signals", odd(small ? 64 : 20'000, 300, 14), rna, division_for(rna));
  compare("RNA, last event first", ordinary(reads, longest, 30.0, 24), rna, division_for(rna), EventOrder::descending);
  compare("RNA, short reads, last event first", short_reads(small ? 300 : 100'000, 25), rna, division_for(rna), EventOrder::descending);
  compare("RNA, odd signals, last event first", odd(small ? 32 : 1600, longest / 2, 26), rna, division_for(rna), EventOrder::descending);
  const DetectorParams others[] = {{5, 32, 2.0F, 4.0F, 0.5F}, {2, 256, 1.0F, 3.0F, 0.0F}, {256, 2, 1.0F, 1.0F, 0.1F},
                                   {3, 6, 5.0F, 9.0F, 0.2F},  {3, 6, 0.0F, 9.0F, 0.0F},   {3, 6, 1.4F, 3.0F, 0.2F}};
  for (const DetectorParams& params : others) {
    char name[64];
    std::snprintf(name, sizeof(name), "windows %u %u, thresholds %.1f %.1f, height %.1f", params.window_short, params.window_long,
                  params.threshold_short, params.threshold_long, params.peak_height);
    compare(name, odd(small ? 16 : 300, longest / 4, 15), params, division_for(params));
  }
  compare("bad parameters", ordinary(5, 1000, 8.9, 16), {1, 6, 1.4F, 9.0F, 0.2F}, division_for(dna));
}

// Device time from one step to the next, by name in the order of their first appearance.
class StepTimes {
 public:
  StepTimes() {
    for (auto& event : events_) require(cudaEventCreate(&event), "cudaEventCreate");
  }
  StepTimes(const StepTimes&) = delete;
  StepTimes& operator=(const StepTimes&) = delete;
  ~StepTimes() {
    for (auto& event : events_) cudaEventDestroy(event);
  }

  cuda::StepObserver observer() {
    return {[](void* self, const char* step, cudaStream_t stream) { static_cast<StepTimes*>(self)->note(step, stream); }, this};
  }
  void begin() {
    used_ = 0;
    names_.clear();
    require(cudaEventRecord(events_[0]), "cudaEventRecord");
  }
  void end() {
    require(cudaDeviceSynchronize(), "steps");
    for (std::size_t i = 0; i < names_.size(); ++i) {
      float ms = 0.0F;
      require(cudaEventElapsedTime(&ms, events_[i], events_[i + 1]), "cudaEventElapsedTime");
      auto step = std::find_if(times_.begin(), times_.end(), [&](const auto& entry) { return entry.first == names_[i]; });
      if (step == times_.end()) step = times_.insert(times_.end(), {names_[i], {}});
      step->second.push_back(ms);
    }
  }
  const std::vector<std::pair<std::string, std::vector<float>>>& times() const { return times_; }

 private:
  void note(const char* step, cudaStream_t stream) {
    names_.emplace_back(step);
    require(cudaEventRecord(events_[++used_], stream), "cudaEventRecord");
  }

  cudaEvent_t events_[16];
  std::size_t used_ = 0;
  std::vector<std::string> names_;
  std::vector<std::pair<std::string, std::vector<float>>> times_;
};

double median(std::vector<float> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void bench(const char* name, const DetectorParams& params, double dwell, std::int64_t millions, double odd_share, bool all_divisions) {
  // Distinct reads for 32 Mi samples, then copies of them.
  Random random(99);
  Batch batch;
  std::lognormal_distribution<double> length(std::log(50'000.0), 0.6);
  while (batch.samples.size() < (std::size_t{32} << 20)) {
    auto raw = squiggle(static_cast<std::size_t>(length(random)) + 100, random, dwell);
    if (static_cast<double>(random() % 1000) < odd_share * 1000.0) raw[raw.size() / 2] = -11;  // one sample of -0.2 pA
    batch.add(raw);
  }
  const std::vector<std::int16_t> base = batch.samples;
  const std::size_t base_rows = batch.rows();
  const std::vector<std::int64_t> base_offsets = batch.offsets;
  while (static_cast<std::int64_t>(batch.samples.size()) < millions * 1'000'000) {
    for (std::size_t row = 0; row < base_rows && static_cast<std::int64_t>(batch.samples.size()) < millions * 1'000'000; ++row) {
      batch.add(std::vector<std::int16_t>(base.begin() + base_offsets[row], base.begin() + base_offsets[row + 1]));
    }
  }
  const DeviceBatch device(batch, false);
  const double samples = static_cast<double>(batch.samples.size());
  std::vector<Division> divisions{division_for(params)};
  if (all_divisions) {
    if (params.window_short == 3) {
      divisions.insert(divisions.end(), {{512, 64}, {128, 48}});
    } else {
      divisions.push_back({512, 256});
    }
  }
  for (const Division& division : divisions) {
    DeviceArray<char> workspace(cuda::workspace_bytes(device.signals.rows, device.signals.sample_count, division));
    DeviceArray<std::int64_t> event_offsets(batch.rows() + 1);
    DeviceArray<DetectionStatus> statuses(batch.rows());
    const auto find = [&](const cuda::StepObserver& observer) {
      require(cuda::find_boundaries(device.signals, params, workspace.data(), event_offsets.data(), statuses.data(), nullptr, division, observer),
              "find_boundaries");
    };
    find({});
    require(cudaDeviceSynchronize(), "find_boundaries");
    const auto count = static_cast<std::size_t>(event_offsets.download().back());
    DeviceArray<float> mean(count), stdv(count);
    DeviceArray<std::int32_t> start(count), length_samples(count);
    const auto emit = [&](const cuda::StepObserver& observer) {
      const cuda::EventColumns columns{mean.data(), start.data(), length_samples.data(), stdv.data()};
      require(cuda::emit_events(device.signals, params, workspace.data(), event_offsets.data(), columns, nullptr, division, observer), "emit_events");
    };
    emit({});
    cudaEvent_t ends[2];
    for (auto& event : ends) require(cudaEventCreate(&event), "cudaEventCreate");
    std::vector<float> whole;
    StepTimes steps;
    for (int run = 0; run < 9; ++run) {
      cudaEventRecord(ends[0]);
      find({});
      emit({});
      cudaEventRecord(ends[1]);
      require(cudaDeviceSynchronize(), "bench");
      float ms = 0.0F;
      cudaEventElapsedTime(&ms, ends[0], ends[1]);
      whole.push_back(ms);
      steps.begin();
      find(steps.observer());
      emit(steps.observer());
      steps.end();
    }
    for (auto& event : ends) cudaEventDestroy(event);
    cuda::Account account;
    require(cudaMemcpy(&account, workspace.data(), sizeof(account), cudaMemcpyDeviceToHost), "account");
    const double ms = median(whole);
    const double bytes = samples * 2.0 + static_cast<double>(count) * 16.0;
    std::printf("| %s | %.0f M in %zu reads | %d, %d | whole | %.3f | %.1f | %.0f |\n", name, samples * 1e-6, batch.rows(), division.chunk_samples,
                division.warm_up_samples, ms, samples / ms * 1e-6, bytes / ms * 1e-6);
    for (const auto& [step, times] : steps.times()) {
      std::printf("| | | | %s | %.3f | %.1f | |\n", step.c_str(), median(times), samples / median(times) * 1e-6);
    }
    std::printf(
        "| | | | %.2f samples an event, %u exact chunks, %u irregular reads, %u + %u chunks of them, %u slow reads, %u wrong guesses, %u long "
        "stretches, %u long boundaries | | | |\n",
        samples / static_cast<double>(count), account.exact_chunks, account.irregular_reads, account.definition_chunks, account.special_chunks,
        account.slow_reads, account.wrong_guesses, account.long_stretches, account.long_boundaries);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  const std::string what = argument_count > 1 ? arguments[1] : "all";
  const std::int64_t millions = argument_count > 2 ? std::atoll(arguments[2]) : 400;
  if (what == "check" || what == "all") check(false);
  if (what == "small") check(true);
  if (failures == 0 && (what == "bench" || what == "all" || what == "profile")) {
    std::printf("| input | samples | chunk, warm-up | step | ms | Gsamples/s | GB/s of samples and events |\n|---|---|---|---|---|---|---|\n");
    const bool all_divisions = what != "profile";
    bench("DNA", DetectorParams::dna(), 8.9, millions, 0.0, all_divisions);
    if (what != "profile") bench("DNA, one read in ten with a negative current", DetectorParams::dna(), 8.9, millions, 0.1, false);
    bench("RNA", DetectorParams::rna(), 30.0, millions, 0.0, all_divisions);
  }
  std::printf(failures == 0 ? "all the same\n" : "%d FAILED\n", failures);
  return failures == 0 ? 0 : 1;
}
