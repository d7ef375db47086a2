// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The CUDA methylation HMM against the CPU kernels, bit by bit, and its speed: methylation_hmm_gpu_test [Mbases [runs]]
//
// Mbases: simulated reads for the timings (default 40; 0: checks only, small enough for compute-sanitizer). The exit status is 1 when any bit differs.

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

#include "methylation_hmm/cuda.hpp"
#include "methylation_hmm/methylation.hpp"

namespace {

using namespace sluice;
using namespace sluice::methylation_hmm;

int failures = 0;

void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("FAILED %s: %s\n", what, cudaGetErrorString(error));
  std::exit(2);
}

template <class T>
struct DeviceArray {
  T* data = nullptr;
  std::size_t size = 0;

  explicit DeviceArray(std::size_t count) : size(count) { require(cudaMalloc(&data, std::max<std::size_t>(count, 1) * sizeof(T)), "cudaMalloc"); }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    require(cudaMemcpy(data, values.data(), size * sizeof(T), cudaMemcpyHostToDevice), "copy to the device");
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data); }
  std::vector<T> host() const {
    std::vector<T> values(size);
    require(cudaMemcpy(values.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost), "copy from the device");
    return values;
  }
  // Bytes that no result has, so that an entry nobody wrote shows.
  void poison() { require(cudaMemset(data, 0xAB, size * sizeof(T)), "cudaMemset"); }
};

struct SimulatedModel {
  std::vector<float> mean;
  std::vector<float> stdv;
  std::vector<float> log_stdv;
  KmerModelView view;

  SimulatedModel(std::uint32_t k, std::mt19937_64& random) {
    std::normal_distribution<float> level(90.0F, 12.0F);
    std::uniform_real_distribution<float> spread(1.0F, 3.0F);
    for (std::size_t i = 0; i < kmer_count(Alphabet::methylation, k); ++i) {
      mean.push_back(level(random));
      stdv.push_back(spread(random));
      log_stdv.push_back(std::log(stdv.back()));
    }
    view = {.k = k, .alphabet = Alphabet::methylation, .level_mean = mean, .level_stdv = stdv, .log_level_stdv = log_stdv};
  }
};

// A read that equals the reference under it, in forward reference order but for its events and their map.
struct SimulatedRead {
  std::string bases;
  std::vector<float> events;
  std::vector<std::int32_t> first_event;
  Strand strand = Strand::forward;

  void simulate(const SimulatedModel& model, std::size_t length, Strand read_strand, std::mt19937_64& random) {
    strand = read_strand;
    std::discrete_distribution<int> base({22, 28, 28, 22});
    std::normal_distribution<float> noise(0.0F, 1.0F);
    std::geometric_distribution<int> stays(0.59);
    for (std::size_t i = 0; i < length; ++i) bases += "ACGT"[base(random)];
    std::string read = bases;
    if (strand == Strand::reverse) {
      std::ranges::reverse(read);
      for (char& letter : read) letter = letter == 'A' ? 'T' : letter == 'C' ? 'G' : letter == 'G' ? 'C' : 'A';
    }
    for (std::size_t i = 0; i + model.view.k <= length; ++i) {
      const std::uint32_t rank = kmer_rank(Alphabet::methylation, std::string_view(read).substr(i, model.view.k));
      first_event.push_back(static_cast<std::int32_t>(events.size()));
      for (int stay = stays(random); stay >= 0; --stay) events.push_back(model.mean[rank] + noise(random) * model.stdv[rank]);
    }
  }
};

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

// Problems on the host, and the same as device columns.
struct Work {
  std::vector<ReadSignal> reads;
  std::vector<GroupProblem> problems;  // sequences are parts of `bases`
  std::string bases;
  std::int64_t longest_read_events = 0;

  std::vector<GroupScore> expected(const KmerModelView& model, EventsPerBase floor) const {
    std::vector<GroupScore> scores(problems.size());
    constexpr std::size_t kPiece = 2048;
    in_parallel((problems.size() + kPiece - 1) / kPiece, [&](std::size_t piece) {
      ScoreWorkspace workspace;
      const std::size_t begin = piece * kPiece;
      const std::size_t count = std::min(kPiece, problems.size() - begin);
      score_groups(reads, std::span(problems).subspan(begin, count), model, floor, workspace, std::span(scores).subspan(begin, count));
    });
    return scores;
  }
  double cells(std::uint32_t k) const {
    double sum = 0;
    for (const GroupProblem& problem : problems) {
      sum += 2.0 * static_cast<double>(problem.sequence.size() - k + 1) * (std::abs(static_cast<double>(problem.last_event) - problem.first_event) + 1);
    }
    return sum;
  }
};

struct DeviceWork {
  std::vector<std::int64_t> offsets{0};
  std::vector<float> means, scale, shift, var, log_var;
  std::vector<double> per_base;
  std::vector<std::uint8_t> reverse;
  std::vector<std::uint32_t> read;
  std::vector<std::int32_t> first, last, length;
  std::vector<std::int64_t> begin;

  explicit DeviceWork(const Work& work) {
    for (const ReadSignal& signal : work.reads) {
      means.insert(means.end(), signal.event_mean.begin(), signal.event_mean.end());
      offsets.push_back(static_cast<std::int64_t>(means.size()));
      scale.push_back(signal.scale);
      shift.push_back(signal.shift);
      var.push_back(signal.var);
      log_var.push_back(signal.log_var);
      per_base.push_back(signal.events_per_base);
      reverse.push_back(signal.strand == Strand::reverse ? 1 : 0);
    }
    for (const GroupProblem& problem : work.problems) {
      read.push_back(problem.read);
      first.push_back(problem.first_event);
      last.push_back(problem.last_event);
      begin.push_back(problem.sequence.data() - work.bases.data());
      length.push_back(static_cast<std::int32_t>(problem.sequence.size()));
    }
  }
};

// Everything score_groups needs, on the device.
struct DeviceProblem {
  DeviceWork host;
  DeviceArray<std::int64_t> offsets{host.offsets};
  DeviceArray<float> means{host.means}, scale{host.scale}, shift{host.shift}, var{host.var}, log_var{host.log_var};
  DeviceArray<double> per_base{host.per_base};
  DeviceArray<std::uint8_t> reverse{host.reverse};
  DeviceArray<std::uint32_t> read{host.read};
  DeviceArray<std::int32_t> first{host.first}, last{host.last}, length{host.length};
  DeviceArray<std::int64_t> begin{host.begin};
  DeviceArray<char> bases;
  DeviceArray<std::uint32_t> count;
  DeviceArray<std::byte> table_memory;
  DeviceArray<std::byte> workspace;
  DeviceArray<float> methylated, unmethylated;
  DeviceArray<ScoreStatus> status;
  cuda::Tables tables;
  cuda::Reads reads;
  cuda::Problems problems;
  cuda::Scores scores;

  DeviceProblem(const Work& work, const KmerModelView& model)
      : host(work),
        bases(std::vector<char>(work.bases.begin(), work.bases.end())),
        count(std::vector<std::uint32_t>{static_cast<std::uint32_t>(work.problems.size())}),
        table_memory(cuda::tables_bytes(model, work.longest_read_events)),
        workspace(cuda::score_workspace_bytes(static_cast<std::uint32_t>(work.reads.size()), static_cast<std::uint32_t>(work.problems.size()))),
        methylated(work.problems.size()),
        unmethylated(work.problems.size()),
        status(work.problems.size()) {
    require(cuda::upload_tables(model, work.longest_read_events, table_memory.data, nullptr, tables), "upload_tables");
    reads = {static_cast<std::uint32_t>(work.reads.size()), offsets.data, means.data, scale.data, shift.data, var.data, log_var.data, per_base.data, reverse.data};
    problems = {count.data, static_cast<std::uint32_t>(work.problems.size()), read.data, first.data, last.data, begin.data, length.data, bases.data};
    scores = {methylated.data, unmethylated.data, status.data};
  }

  void score(EventsPerBase floor, cuda::ScoreShape shape) {
    require(cuda::score_groups(reads, problems, tables, floor, scores, workspace.data, nullptr, shape), "score_groups");
  }
};

void compare(const char* name, const std::vector<GroupScore>& expected, DeviceProblem& device, EventsPerBase floor, cuda::ScoreShape shape) {
  device.methylated.poison();
  device.unmethylated.poison();
  device.status.poison();
  device.workspace.poison();
  device.score(floor, shape);
  require(cudaDeviceSynchronize(), name);
  const auto methylated = device.methylated.host();
  const auto unmethylated = device.unmethylated.host();
  const auto status = device.status.host();
  std::size_t different = 0;
  std::size_t ok = 0;
  // A NaN is a NaN: its bits mean nothing.
  const auto same = [](float a, float b) { return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0; };
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].status == ScoreStatus::ok) ++ok;
    if (status[i] == expected[i].status && same(methylated[i], expected[i].methylated) && same(unmethylated[i], expected[i].unmethylated)) continue;
    if (different++ < 5) {
      std::printf("  %s problem %zu: device %d %.9g %.9g, expected %d %.9g %.9g\n", name, i, static_cast<int>(status[i]), methylated[i], unmethylated[i],
                  static_cast<int>(expected[i].status), expected[i].methylated, expected[i].unmethylated);
    }
  }
  if (different != 0) ++failures;
  std::printf("%-34s columns %2d threads %4d: %9zu problems (%zu ok), %zu differ %s\n", name, shape.columns_per_lane, shape.threads, expected.size(), ok,
              different, different == 0 ? "ok" : "FAILED");
}

constexpr cuda::ScoreShape kShapes[] = {{4, 1024}, {4, 768}, {8, 768}, {8, 640}, {8, 512}, {16, 384}};

// Reads with all groups that the CPU finds in them.
Work simulated_work(const SimulatedModel& model, std::vector<SimulatedRead>& simulated) {
  Work work;
  std::vector<CpgGroup> groups;
  std::vector<GroupEvents> events;
  LocateWorkspace locate;
  std::size_t total = 0;
  for (const SimulatedRead& read : simulated) total += read.bases.size();
  work.bases.reserve(total);
  for (const SimulatedRead& read : simulated) {
    const std::size_t at = work.bases.size();
    work.bases += read.bases;
    const std::string_view segment = std::string_view(work.bases).substr(at);
    find_cpg_groups(segment, groups);
    events.resize(groups.size());
    const std::uint32_t cigar[] = {static_cast<std::uint32_t>(read.bases.size()) << 4U};
    locate_group_events({.cigar = cigar, .read_length = read.bases.size(), .strand = read.strand}, read.first_event, model.view.k, HardClips::count, groups,
                        locate, events);
    const auto index = static_cast<std::uint32_t>(work.reads.size());
    work.reads.push_back({.event_mean = read.events,
                          .events_per_base = static_cast<double>(read.events.size()) / static_cast<double>(read.bases.size()),
                          .strand = read.strand});
    work.longest_read_events = std::max(work.longest_read_events, static_cast<std::int64_t>(read.events.size()));
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (events[i].status == GroupStatus::ok) {
        work.problems.push_back({index, events[i].first_event, events[i].last_event, calling_sequence(segment, groups[i])});
      }
    }
  }
  return work;
}

std::vector<SimulatedRead> simulate(const SimulatedModel& model, std::size_t count, std::size_t length, std::uint64_t seed) {
  std::vector<SimulatedRead> reads(count);
  in_parallel(count, [&](std::size_t i) {
    std::mt19937_64 random(seed + i);
    reads[i].simulate(model, length, i % 2 == 0 ? Strand::forward : Strand::reverse, random);
  });
  return reads;
}

// Random problems, most of them odd: any length, any direction, values that are not finite, indices outside.
void check_odd(std::uint32_t k, std::size_t problem_count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto chance = [&](int one_in) { return random() % static_cast<unsigned>(one_in) == 0; };
  SimulatedModel model(k, random);
  for (int i = 0; i < 20; ++i) {
    const std::size_t at = random() % model.mean.size();
    constexpr float kOdd[] = {0.0F, -1.0F, 1e-20F, 1e20F, 1e15F, 1e-15F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()};
    (chance(2) ? model.stdv : model.mean)[at] = kOdd[random() % std::size(kOdd)];
    if (chance(3)) model.log_stdv[at] = kOdd[random() % std::size(kOdd)];
  }
  Work work;
  std::vector<std::vector<float>> events(60);
  std::normal_distribution<float> level(90.0F, 15.0F);
  constexpr double kPerBase[] = {1.0, 1.0 + 1e-9, 1.25, 1.7, 2.0, 5.0, 284.9, 286.0, 0.5, 0.0, -1.0, 1e300,
                                 std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};
  for (std::size_t i = 0; i < events.size(); ++i) {
    events[i].resize(chance(10) ? random() % 3 : 50 + random() % 3000);
    for (float& mean : events[i]) {
      mean = level(random);
      if (chance(20)) mean = 90.0F + static_cast<float>(random() % 7) * 1e-3F;
    }
    constexpr float kOdd[] = {1e15F, -1e15F, 1e16F, 0.0F, 1e-42F, -1e-38F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()};
    if (chance(3) && !events[i].empty()) {
      for (int n = 0; n < 3; ++n) events[i][random() % events[i].size()] = kOdd[random() % std::size(kOdd)];
    }
    ReadSignal signal{.event_mean = events[i], .scale = 1.0F, .shift = 0.0F, .var = 1.0F, .log_var = 0.0F, .events_per_base = 1.0 + 0.01 * (random() % 300),
                      .strand = chance(2) ? Strand::forward : Strand::reverse};
    if (chance(2)) signal.scale = 0.8F + 0.001F * (random() % 400), signal.shift = -20.0F + 0.1F * (random() % 400), signal.var = 0.5F + 0.01F * (random() % 200);
    signal.log_var = std::log(signal.var);
    if (chance(4)) signal.events_per_base = kPerBase[random() % std::size(kPerBase)];
    if (chance(15)) signal.scale = 1e14F;
    if (chance(15)) signal.var = 1e-15F, signal.log_var = -34.5F;
    if (chance(20)) signal.shift = std::numeric_limits<float>::quiet_NaN();
    work.reads.push_back(signal);
    work.longest_read_events = std::max(work.longest_read_events, static_cast<std::int64_t>(events[i].size()));
  }
  constexpr std::size_t kBases = 200000;
  constexpr std::string_view kLetters = "ACGTACGTACGTACGTACGTACGTCGCGCGCGNacgtMR*\xFF";
  for (std::size_t i = 0; i < kBases; ++i) work.bases += kLetters[random() % (i % 5 == 0 ? kLetters.size() : 30)];
  for (std::size_t i = 0; i < problem_count; ++i) {
    GroupProblem problem;
    problem.read = static_cast<std::uint32_t>(random() % (events.size() + (chance(50) ? 5 : 0)));
    const auto event_count = static_cast<std::int64_t>(problem.read < events.size() ? events[problem.read].size() : 100);
    const std::int64_t span = chance(40) ? 1500 : chance(4) ? 1 + static_cast<std::int64_t>(random() % 4) : 120;
    const auto any = [&](std::int64_t below) { return below <= 0 ? 0 : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(below)); };
    problem.first_event = static_cast<std::int32_t>(any(event_count));
    problem.last_event = static_cast<std::int32_t>(std::clamp<std::int64_t>(problem.first_event + any(2 * span + 1) - span, 0, std::max<std::int64_t>(0, event_count - 1)));
    if (chance(100)) problem.last_event = chance(2) ? -1 : std::numeric_limits<std::int32_t>::max();
    if (chance(200)) problem.first_event = std::numeric_limits<std::int32_t>::min();
    if (chance(200)) problem.last_event = static_cast<std::int32_t>(event_count);
    std::size_t length = k + random() % 60;
    if (chance(3)) length = k + 15;
    if (chance(15)) length = k + random() % 260;
    if (chance(60)) length = 200 + random() % 830;
    if (chance(60)) length = random() % (k + 1);
    problem.sequence = std::string_view(work.bases).substr(random() % (kBases - 1100), length);
    work.problems.push_back(problem);
  }
  DeviceProblem device(work, model.view);
  for (const EventsPerBase floor : {EventsPerBase::raised, EventsPerBase::compat}) {
    const auto expected = work.expected(model.view, floor);
    const std::string name = "odd k=" + std::to_string(k) + (floor == EventsPerBase::raised ? " raised" : " compat");
    for (const cuda::ScoreShape shape : kShapes) compare(name.c_str(), expected, device, floor, shape);
  }
}

double median_milliseconds(int runs, const auto& body) {
  cudaEvent_t start, stop;
  require(cudaEventCreate(&start), "event");
  require(cudaEventCreate(&stop), "event");
  std::vector<float> times;
  for (int run = 0; run < runs + 1; ++run) {
    require(cudaEventRecord(start), "event");
    body();
    require(cudaEventRecord(stop), "event");
    require(cudaEventSynchronize(stop), "timing");
    float time = 0;
    require(cudaEventElapsedTime(&time, start, stop), "event");
    if (run > 0) times.push_back(time);
  }
  std::ranges::sort(times);
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  return times[times.size() / 2];
}

void bench(double megabases, int runs) {
  std::mt19937_64 random(7);
  const SimulatedModel model(6, random);
  constexpr std::size_t kReadLength = 8000;
  auto simulated = simulate(model, std::max<std::size_t>(1, static_cast<std::size_t>(megabases * 1e6 / kReadLength)), kReadLength, 100);
  const Work work = simulated_work(model, simulated);
  const double bases = static_cast<double>(work.bases.size());
  const double cells = work.cells(6);
  const auto expected = work.expected(model.view, EventsPerBase::raised);
  std::printf("%.1f Mbases, %zu reads, %zu groups, %.1f cells a base over both hypotheses\n", bases / 1e6, work.reads.size(), work.problems.size(), cells / bases);
  DeviceProblem device(work, model.view);
  for (const cuda::ScoreShape shape : kShapes) {
    compare("simulated", expected, device, EventsPerBase::raised, shape);
    const double time = median_milliseconds(runs, [&] { device.score(EventsPerBase::raised, shape); });
    std::printf("TIME score_groups columns %2d threads %4d: %8.3f ms, %8.1f Mbases/s, %7.1f Gcells/s, %7.1f G log-sums/s\n", shape.columns_per_lane, shape.threads,
                time, bases / time / 1e3, cells / time / 1e6, 7 * cells / time / 1e6);
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  const double megabases = argument_count > 1 ? std::atof(arguments[1]) : 40.0;
  const int runs = argument_count > 2 ? std::max(1, std::atoi(arguments[2])) : 7;
  check_odd(6, megabases > 0 ? 20000 : 300, 1);
  check_odd(9, megabases > 0 ? 5000 : 100, 2);
  check_odd(1, megabases > 0 ? 2000 : 100, 3);
  if (megabases > 0) bench(megabases, runs);
  std::printf("%s\n", failures == 0 ? "ALL OK" : "SOME FAILED");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
