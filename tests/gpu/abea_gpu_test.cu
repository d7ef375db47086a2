// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// ABEA on the device against the CPU kernel, byte by byte, then timings. Run: abea_gpu_test [small | check | bench | all = all] [reads of the
// benchmark = 12000]. `small` is short enough for compute-sanitizer. Prints one table; the exit status is 1 when any result differs.

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

#include "../unit/abea/simulated_read.hpp"
#include "abea/abea.hpp"
#include "abea/cuda.hpp"

namespace {

using namespace sluice::abea;

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
  std::vector<float> event_means;
  std::vector<std::uint32_t> kmer_ranks;
  std::vector<std::int64_t> event_offsets{0}, kmer_offsets{0};
  std::vector<float> scale, shift;
  void add(const simulation::Read& read) {
    event_means.insert(event_means.end(), read.event_means.begin(), read.event_means.end());
    kmer_ranks.insert(kmer_ranks.end(), read.kmer_ranks.begin(), read.kmer_ranks.end());
    event_offsets.push_back(static_cast<std::int64_t>(event_means.size()));
    kmer_offsets.push_back(static_cast<std::int64_t>(kmer_ranks.size()));
    scale.push_back(read.scaling.scale);
    shift.push_back(read.scaling.shift);
  }
  std::size_t rows() const { return scale.size(); }
  std::int64_t band_count() const { return event_offsets.back() + kmer_offsets.back() + 2 * static_cast<std::int64_t>(rows()); }
};

struct Variant {
  const char* name;
  cuda::AlignmentForm form;
  std::size_t overlap;  // parts under way at a time
};
constexpr cuda::AlignmentForm fused{};
constexpr cuda::AlignmentForm fused_queue{cuda::FillForm::mixed, cuda::FillBlocks::queue, cuda::WalkBack::after_filling};
constexpr cuda::AlignmentForm apart{cuda::FillForm::mixed, cuda::FillBlocks::one_read, cuda::WalkBack::in_own_kernel};
constexpr cuda::AlignmentForm apart_queue{cuda::FillForm::mixed, cuda::FillBlocks::queue, cuda::WalkBack::in_own_kernel};
constexpr cuda::AlignmentForm wide{cuda::FillForm::wide};
constexpr Variant variants[] = {
    {"apart, queue", apart_queue, 1}, {"apart", apart, 1},     {"apart", apart, 2}, {"apart", apart, 4},
    {"fused, queue", fused_queue, 1}, {"fused", fused, 1},     {"fused", fused, 2}, {"fused", fused, 4},
    {"wide (f64)", wide, 1},          {"wide (f64)", wide, 4},
};
// Every kernel, and every number of parts under way.
constexpr Variant checked_variants[] = {
    {"apart, queue", apart_queue, 1}, {"apart", apart, 4}, {"fused, queue", fused_queue, 2}, {"fused", fused, 1}, {"fused", fused, 4},
    {"wide (f64)", wide, 3}};

// A batch on the device with room for its results.
class DeviceRun {
 public:
  DeviceRun(const Batch& batch, const simulation::Model& model, const AlignmentLimits& limits, std::size_t overlap,
            std::size_t workspace_limit = std::numeric_limits<std::size_t>::max())
      : limits(limits),
        plan(cuda::plan_batch(batch.event_offsets, batch.kmer_offsets, model.view(), limits, {}, workspace_limit, overlap)),
        reads(plan.reads),
        workspace(plan.workspace_bytes()),
        event_means(batch.event_means),
        kmer_ranks(batch.kmer_ranks),
        scale(batch.scale),
        shift(batch.shift),
        level_mean(model.level_mean),
        level_stdv(model.level_stdv),
        log_level_stdv(model.log_level_stdv),
        first_event(batch.kmer_ranks.size()),
        last_event(batch.kmer_ranks.size()),
        events_per_base(batch.rows()),
        status(batch.rows()),
        reports(batch.rows()) {
    columns = {event_means.data(), kmer_ranks.data(), scale.data(), shift.data()};
    levels = {level_mean.data(), level_stdv.data(), log_level_stdv.data(), static_cast<std::uint32_t>(model.level_mean.size())};
    alignments = {first_event.data(), last_event.data(), events_per_base.data(), status.data(), reports.data()};
  }
  void poison() {
    workspace.fill_bytes(0x5A);
    first_event.fill_bytes(0x5A);
    last_event.fill_bytes(0x5A);
    events_per_base.fill_bytes(0x5A);
    status.fill_bytes(0);
    reports.fill_bytes(0x5A);
  }
  void launch(const cuda::AlignmentForm& form) const {
    require(cuda::align_batch(plan, reads.data(), workspace.data(), limits, columns, levels, alignments, nullptr, form), "align_batch");
  }
  void align(const cuda::AlignmentForm& form) const {
    launch(form);
    require(cudaDeviceSynchronize(), "alignment");
  }

  AlignmentLimits limits;
  cuda::BatchPlan plan;
  DeviceArray<cuda::ReadPlan> reads;
  DeviceArray<std::byte> workspace;
  DeviceArray<float> event_means;
  DeviceArray<std::uint32_t> kmer_ranks;
  DeviceArray<float> scale, shift, level_mean, level_stdv, log_level_stdv;
  DeviceArray<std::int32_t> first_event, last_event;
  DeviceArray<double> events_per_base;
  DeviceArray<AlignmentStatus> status;
  DeviceArray<cuda::AlignmentReport> reports;
  cuda::DeviceBatch columns{};
  cuda::DeviceModel levels{};
  cuda::DeviceAlignments alignments{};
};

struct Expected {
  std::vector<AlignmentResult> results;
  std::vector<std::int32_t> first_event, last_event;
};

Expected align_on_host(const Batch& batch, const simulation::Model& model, const AlignmentLimits& limits) {
  Expected expected;
  expected.results.resize(batch.rows());
  expected.first_event.resize(batch.kmer_ranks.size());
  expected.last_event.resize(batch.kmer_ranks.size());
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (unsigned int thread = 0; thread < std::max(1U, std::thread::hardware_concurrency()); ++thread) {
    threads.emplace_back([&] {
      AlignmentWorkspace workspace;
      for (std::size_t row = next++; row < batch.rows(); row = next++) {
        const auto event_begin = static_cast<std::size_t>(batch.event_offsets[row]),
                   event_end = static_cast<std::size_t>(batch.event_offsets[row + 1]);
        const auto kmer_begin = static_cast<std::size_t>(batch.kmer_offsets[row]), kmer_end = static_cast<std::size_t>(batch.kmer_offsets[row + 1]);
        const AlignmentInput input{std::span(batch.event_means).subspan(event_begin, event_end - event_begin),
                                   std::span(batch.kmer_ranks).subspan(kmer_begin, kmer_end - kmer_begin),
                                   model.view(),
                                   {batch.scale[row], batch.shift[row]},
                                   limits};
        expected.results[row] = align_events(input, workspace, std::span(expected.first_event).subspan(kmer_begin, kmer_end - kmer_begin),
                                             std::span(expected.last_event).subspan(kmer_begin, kmer_end - kmer_begin));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return expected;
}

bool same(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b)); }

int failures = 0;

void check(const char* title, const Batch& batch, const simulation::Model& model, const AlignmentLimits& limits,
           std::size_t workspace_limit = std::numeric_limits<std::size_t>::max()) {
  const Expected expected = align_on_host(batch, model, limits);
  std::size_t ok = 0;
  for (const AlignmentResult& result : expected.results) ok += result.status == AlignmentStatus::ok ? 1 : 0;
  for (const Variant& variant : checked_variants) {
    DeviceRun run(batch, model, limits, variant.overlap, workspace_limit);
    run.poison();
    run.align(variant.form);
    const auto first_event = run.first_event.download(), last_event = run.last_event.download();
    const auto status = run.status.download();
    const auto events_per_base = run.events_per_base.download();
    const auto reports = run.reports.download();
    std::size_t different = 0;
    long long narrow = 0, checked = 0, repeated = 0, wide = 0;
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      const AlignmentResult& result = expected.results[row];
      const cuda::AlignmentReport& report = reports[row];
      const auto begin = batch.kmer_offsets[row], end = batch.kmer_offsets[row + 1];
      const bool same_map = std::equal(first_event.begin() + begin, first_event.begin() + end, expected.first_event.begin() + begin) &&
                            std::equal(last_event.begin() + begin, last_event.begin() + end, expected.last_event.begin() + begin);
      const bool agrees = status[row] == result.status && same_map && same(events_per_base[row], result.events_per_base) &&
                          same(report.average_emission, result.average_emission) && report.longest_skip == result.longest_skip &&
                          report.pair_count == static_cast<std::int64_t>(result.pair_count);
      narrow += report.narrow;
      checked += report.checked;
      repeated += report.repeated;
      wide += report.wide;
      if (!agrees && different++ < 3) {
        std::printf(
            "  row %zu: %lld events, %lld k-mers; status %s, expected %s; map %s; pairs %lld / %zu; mean emission %.17g / %.17g; skip %d / %d; "
            "events per base %.17g / %.17g\n",
            row, static_cast<long long>(batch.event_offsets[row + 1] - batch.event_offsets[row]), static_cast<long long>(end - begin),
            name(status[row]).data(), name(result.status).data(), same_map ? "same" : "DIFFERENT", static_cast<long long>(report.pair_count),
            result.pair_count, report.average_emission, result.average_emission, report.longest_skip, result.longest_skip, events_per_base[row],
            result.events_per_base);
      }
    }
    if (different > 0) ++failures;
    std::printf("%-34s %-14s %d %s (%zu of %zu reads differ; %zu ok; bands narrow %lld, checked %lld, repeated %lld, wide %lld)\n", title,
                variant.name, static_cast<int>(variant.overlap), different == 0 ? "same" : "DIFFERENT", different, batch.rows(), ok, narrow, checked,
                repeated, wide);
  }
}

AlignmentLimits no_limits() { return {15.0F, -std::numeric_limits<double>::infinity(), std::numeric_limits<std::int32_t>::max()}; }

void check_all(bool small) {
  const simulation::Model model = simulation::make_model();
  for (int set = 0; set < 3; ++set) {
    const simulation::Model other = simulation::make_model(6, 1.1F + 0.3F * static_cast<float>(set), 40 + set);
    Batch batch;
    for (std::uint64_t seed = 1; seed <= (small ? 12 : 1500); ++seed) {
      simulation::ReadParameters parameters;
      parameters.kmer_count = 1 + (seed * 7919) % (small ? 1200 : 5000);
      parameters.noise = 0.5F + 0.1F * static_cast<float>(seed % 10);
      parameters.events_per_kmer = 1.1 + 0.3 * static_cast<double>(seed % 12);
      parameters.outliers = seed % 4 == 0 ? 0.05 : 0.002;
      parameters.skipped_kmers = 0.01 * static_cast<double>(seed % 7);
      batch.add(simulation::make_read(other, parameters, seed + 10000 * static_cast<std::uint64_t>(set)));
    }
    check("random reads, no limits", batch, other, no_limits());
    check("random reads, limits", batch, other, {});
    if (set == 0) check("random reads, in small parts", batch, other, {}, 1 << 20);
  }
  {
    Batch batch;
    std::mt19937_64 random(11);
    for (std::size_t kmer_count = 0; kmer_count < 420; kmer_count += 1 + kmer_count / (small ? 1 : 6)) {
      for (std::size_t event_count = 0; event_count < 420; event_count += 1 + event_count / (small ? 1 : 6)) {
        simulation::ReadParameters parameters;
        parameters.kmer_count = kmer_count;
        parameters.skipped_kmers = 0.0;
        simulation::Read read = simulation::make_read(model, parameters, random());
        while (read.event_means.size() < event_count) read.event_means.push_back(90.0F);
        read.event_means.resize(event_count);
        batch.add(read);
      }
    }
    check("small matrices", batch, model, no_limits());
  }
  {
    Batch batch;
    simulation::Model flat;
    flat.k = 1;
    flat.level_mean.assign(4, 80.0F);
    flat.level_stdv.assign(4, 2.0F);
    flat.log_level_stdv.assign(4, static_cast<float>(std::log(2.0)));
    for (const std::size_t event_count : {600U, 1200U, 599U, 150U, 4000U}) {
      simulation::Read read;
      for (std::uint32_t i = 0; i < 600; ++i) read.kmer_ranks.push_back(i % 4);
      read.event_means.assign(event_count, 80.0F);
      batch.add(read);
    }
    check("ties", batch, flat, no_limits());
  }
  {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    constexpr float infinity = std::numeric_limits<float>::infinity();
    simulation::ReadParameters parameters;
    parameters.kmer_count = 700;
    const simulation::Read read = simulation::make_read(model, parameters, 21);
    Batch batch;
    int broken_models = 0;
    for (const float value : {nan, infinity, -infinity, 1e30F, -1e30F, 3e38F, 0.0F, 1e-40F, 5e4F, 1e6F, 2e6F}) {
      for (const std::size_t position : {std::size_t{0}, std::size_t{3}, read.event_means.size() / 2, read.event_means.size() - 1}) {
        simulation::Read broken = read;
        broken.event_means[position] = value;
        batch.add(broken);
      }
      simulation::Read broken = read;
      broken.event_means.assign(broken.event_means.size(), value);
      batch.add(broken);
      broken = read;
      broken.scaling.scale = value;
      batch.add(broken);
      broken = read;
      broken.scaling.shift = value;
      batch.add(broken);
      broken = read;
      broken.kmer_ranks[350] = 4096;
      batch.add(broken);
      broken.kmer_ranks[350] = 0xFFFFFFFFU;
      batch.add(broken);

      if (small && ++broken_models > 2) continue;
      simulation::Model broken_model = model;
      broken_model.level_stdv[read.kmer_ranks[300]] = value;
      broken_model.log_level_stdv[read.kmer_ranks[400]] = value;
      broken_model.level_mean[read.kmer_ranks[500]] = value;
      Batch one;
      one.add(read);
      check("hostile model", one, broken_model, no_limits());
    }
    check("hostile events and scalings", batch, model, no_limits());
    check("hostile, with limits", batch, model, {});
    check("empty batch", Batch{}, model, {});
  }
  {
    const simulation::Model narrow_levels = simulation::make_model(6, 0.2F, 2);
    Batch batch;
    for (std::uint64_t seed = 1; seed <= (small ? 3 : 60); ++seed) {
      simulation::ReadParameters parameters;
      parameters.kmer_count = 900;
      batch.add(simulation::make_read(narrow_levels, parameters, seed));
    }
    check("narrow levels", batch, narrow_levels, no_limits());
  }
  if (small) return;
  {
    Batch batch;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      simulation::ReadParameters parameters;
      parameters.kmer_count = 20000 * seed;
      parameters.noise = 0.8F;
      parameters.outliers = 0.0005;
      batch.add(simulation::make_read(model, parameters, seed));
    }
    check("long reads, 20 to 400 kb", batch, model, {});
  }
}

double median(std::vector<float>& milliseconds) {
  if (milliseconds.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(milliseconds.begin(), milliseconds.end());
  return milliseconds[milliseconds.size() / 2] * 1e-3;
}

// Milliseconds of each repeat, the first one left out: the steps one by one when there is one part, and all of it as the stage calls it.
struct Timing {
  std::vector<float> prepare, fill, walk_back, sum_paths, total;
};

Timing time_variant(const DeviceRun& run, const Variant& variant, int repeats) {
  cudaEvent_t marks[5];
  for (cudaEvent_t& mark : marks) require(cudaEventCreate(&mark), "cudaEventCreate");
  const auto between = [&](int first, int last) {
    float milliseconds = 0.0F;
    require(cudaEventElapsedTime(&milliseconds, marks[first], marks[last]), "cudaEventElapsedTime");
    return milliseconds;
  };
  Timing timing;
  if (run.plan.parts.size() == 1) {
    const cuda::DeviceWork work{run.reads.data(), run.plan.parts.front(), run.limits, run.workspace.data()};
    for (int i = 0; i < repeats; ++i) {
      require(cudaEventRecord(marks[0]), "record");
      require(cuda::prepare_levels(work, run.columns, run.levels, run.alignments, nullptr), "prepare_levels");
      require(cudaEventRecord(marks[1]), "record");
      require(cuda::fill_bands(work, run.columns, run.alignments, nullptr, variant.form), "fill_bands");
      require(cudaEventRecord(marks[2]), "record");
      if (variant.form.walk_back == cuda::WalkBack::in_own_kernel) require(cuda::walk_back(work, run.alignments, nullptr), "walk_back");
      require(cudaEventRecord(marks[3]), "record");
      require(cuda::sum_paths(work, run.columns, run.alignments, nullptr), "sum_paths");
      require(cudaEventRecord(marks[4]), "record");
      require(cudaEventSynchronize(marks[4]), "alignment");
      timing.prepare.push_back(between(0, 1));
      timing.fill.push_back(between(1, 2));
      timing.walk_back.push_back(between(2, 3));
      timing.sum_paths.push_back(between(3, 4));
    }
  }
  for (int i = 0; i < repeats + 1; ++i) {
    require(cudaEventRecord(marks[0]), "record");
    run.launch(variant.form);
    require(cudaEventRecord(marks[1]), "record");
    require(cudaEventSynchronize(marks[1]), "alignment");
    if (i > 0) timing.total.push_back(between(0, 1));
  }
  for (cudaEvent_t mark : marks) require(cudaEventDestroy(mark), "cudaEventDestroy");
  return timing;
}

void bench(const char* title, const Batch& batch, const simulation::Model& model, int repeats) {
  const double cells = static_cast<double>(batch.band_count()) * band_width;
  const double bases = static_cast<double>(batch.kmer_ranks.size());
  std::printf("\n%s: %zu reads, %.1f Mbases, %.2f bands per base\n\n", title, batch.rows(), bases * 1e-6,
              static_cast<double>(batch.band_count()) / bases);
  std::printf(
      "| variant | overlap | parts | workspace GB | prepare ms | fill ms | walk back ms | sum paths ms | all ms | Gcells/s | Mbases/s | narrow %% | "
      "checked %% | repeated %% | wide %% | ok |\n");
  std::printf("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const Variant& variant : variants) {
    if (variant.overlap > batch.rows()) continue;
    DeviceRun run(batch, model, {}, variant.overlap);
    Timing timing = time_variant(run, variant, repeats);
    long long narrow = 0, checked = 0, repeated = 0, wide = 0;
    std::size_t ok = 0;
    for (const cuda::AlignmentReport& report : run.reports.download())
      narrow += report.narrow, checked += report.checked, repeated += report.repeated, wide += report.wide;
    for (const AlignmentStatus status : run.status.download()) ok += status == AlignmentStatus::ok ? 1 : 0;
    const double seconds = median(timing.total);
    const double percent = 100.0 / static_cast<double>(batch.band_count());
    std::printf("| %s | %zu | %zu | %.2f | %.3f | %.3f | %.3f | %.3f | %.3f | %.1f | %.0f | %.1f | %.1f | %.2f | %.1f | %zu |\n", variant.name,
                variant.overlap, run.plan.parts.size(), static_cast<double>(run.plan.workspace_bytes()) * 1e-9, median(timing.prepare) * 1e3,
                median(timing.fill) * 1e3, median(timing.walk_back) * 1e3, median(timing.sum_paths) * 1e3, seconds * 1e3, cells / seconds * 1e-9,
                bases / seconds * 1e-6, static_cast<double>(narrow) * percent, static_cast<double>(checked) * percent,
                static_cast<double>(repeated) * percent, static_cast<double>(wide) * percent, ok);
  }
}

void bench_all(std::size_t read_count) {
  const simulation::Model model = simulation::make_model();
  simulation::ReadParameters parameters;
  std::vector<simulation::Read> distinct;
  const auto make_batch = [&](std::size_t reads, std::size_t distinct_count, auto&& length_of) {
    distinct.assign(distinct_count, {});
    std::atomic<std::size_t> next{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 16; ++thread) {
      threads.emplace_back([&] {
        for (std::size_t i = next++; i < distinct_count; i = next++) {
          simulation::ReadParameters own = parameters;
          own.kmer_count = length_of(i);
          distinct[i] = simulation::make_read(model, own, i + 1);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    Batch batch;
    for (std::size_t i = 0; i < reads; ++i) batch.add(distinct[i % distinct_count]);
    return batch;
  };
  bench("8 kb reads", make_batch(read_count, 500, [](std::size_t) { return std::size_t{8000}; }), model, 3);
  bench("1 kb reads", make_batch(read_count * 4, 2000, [](std::size_t) { return std::size_t{1000}; }), model, 3);
  bench("mixed reads, mean 8 kb, lognormal",
        make_batch(read_count / 2, 3000,
                   [](std::size_t i) {
                     std::mt19937_64 random(i);
                     std::lognormal_distribution<double> length(8.5, 0.95);
                     return std::clamp<std::size_t>(static_cast<std::size_t>(length(random)), 200, 300000);
                   }),
        model, 2);
  bench("one read of 400 kb", make_batch(1, 1, [](std::size_t) { return std::size_t{400000}; }), model, 2);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "all";
  cudaDeviceProp device{};
  require(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  std::printf("%s, %d multiprocessors\n", device.name, device.multiProcessorCount);
  if (what == "small" || what == "check" || what == "all") check_all(what == "small");
  if (what == "bench" || what == "all") bench_all(argc > 2 ? static_cast<std::size_t>(std::atoll(argv[2])) : 12000);
  std::printf("%s\n", failures == 0 ? "all the same" : "DIFFERENCES");
  return failures == 0 ? 0 : 1;
}
