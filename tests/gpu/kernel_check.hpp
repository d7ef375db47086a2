// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the programs of this folder share: memory on the device, timing, simulated models and reads, and their command line.
//
// Every program is called as PROGRAM_gpu_test [small | check | bench | all = all] [AMOUNT]. `small` checks inputs that are short enough
// for compute-sanitizer, `check` the full ones, `bench` prints timings only (lines that begin with TIME); AMOUNT is the size of the
// timed input in the program's own unit. The exit status is 1 when any result differs from the CPU's.

#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <sluice/kmer_model.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace sluice::gpu_test {

// Ends the program: what comes after an error of the device says nothing.
inline void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("FAILED: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

enum class Contents { undefined, poison };

// Memory on the device for the life of the object.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t size, Contents contents = Contents::undefined) : size_(size) {
    require(cudaMalloc(&data_, std::max<std::size_t>(1, size) * sizeof(T)), "cudaMalloc");
    if (contents == Contents::poison) poison();
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    if (!values.empty()) require(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice), "copy to the device");
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }
  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  void fill_bytes(int value) { require(cudaMemset(data_, value, size_ * sizeof(T)), "cudaMemset"); }
  // Bytes that no result has, so that an entry nobody wrote shows.
  void poison() { fill_bytes(0xAB); }
  std::vector<T> download() const {
    std::vector<T> values(size_);
    if (size_ > 0) require(cudaMemcpy(values.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost), "copy from the device");
    return values;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

// Median time of `runs` executions on the default stream by CUDA events, after one that does not count.
template <class Body>
double median_milliseconds(int runs, const Body& body) {
  cudaEvent_t start = nullptr, stop = nullptr;
  require(cudaEventCreate(&start), "cudaEventCreate");
  require(cudaEventCreate(&stop), "cudaEventCreate");
  std::vector<float> times;
  for (int run = 0; run < runs + 1; ++run) {
    require(cudaEventRecord(start), "cudaEventRecord");
    body();
    require(cudaEventRecord(stop), "cudaEventRecord");
    require(cudaEventSynchronize(stop), "timing");
    float time = 0;
    require(cudaEventElapsedTime(&time, start, stop), "cudaEventElapsedTime");
    if (run > 0) times.push_back(time);
  }
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// body(i) for every i below count, on all processors: expected results are made by the CPU kernels.
template <class Body>
void in_parallel(std::size_t count, const Body& body) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> threads;
  const unsigned thread_count = std::max(1U, std::thread::hardware_concurrency());
  for (unsigned i = 0; i < thread_count; ++i) {
    threads.emplace_back([&] {
      for (std::size_t at = next++; at < count; at = next++) body(at);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Levels like those of R9.4: 90 pA with a spread of 12, noise of 1 to 3.
struct SimulatedModel {
  std::vector<float> mean, stdv, log_stdv;
  KmerModelView view;

  SimulatedModel(Alphabet alphabet, std::uint32_t k, std::mt19937_64& random) {
    std::normal_distribution<float> level(90.0F, 12.0F);
    std::uniform_real_distribution<float> spread(1.0F, 3.0F);
    for (std::size_t i = 0; i < kmer_count(alphabet, k); ++i) {
      mean.push_back(level(random));
      stdv.push_back(spread(random));
      log_stdv.push_back(std::log(stdv.back()));
    }
    view = {.k = k, .alphabet = alphabet, .level_mean = mean, .level_stdv = stdv, .log_level_stdv = log_stdv};
  }
};

enum class Extent { small, full, none };

struct CommandLine {
  Extent checks = Extent::full;
  double amount = 0;  // of the timed input; 0: no timings
  int runs = 7;       // of which the median is taken
};

inline CommandLine parse_command_line(int argument_count, char** arguments, double default_amount) {
  CommandLine result;
  const std::string_view what = argument_count > 1 ? arguments[1] : "all";
  if (what != "small" && what != "check" && what != "bench" && what != "all") {
    std::fprintf(stderr, "%s [small | check | bench | all] [AMOUNT]\n", arguments[0]);
    std::exit(2);
  }
  result.checks = what == "small" ? Extent::small : what == "bench" ? Extent::none : Extent::full;
  if (what == "bench" || what == "all") result.amount = argument_count > 2 ? std::atof(arguments[2]) : default_amount;
  return result;
}

}  // namespace sluice::gpu_test
