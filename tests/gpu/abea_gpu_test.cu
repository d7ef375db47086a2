// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// ABEA on the device against the CPU kernel, byte by byte, then timings. The command line is that of kernel_check.hpp; AMOUNT: reads of the first
// timed set (default 12,000), the others in proportion.

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <random>
#include <sluice/methods/abea/abea.hpp>
#include <span>
#include <string>
#include <vector>

#include "../unit/signal/abea/simulated_read.hpp"
#include "abea/cuda.hpp"
#include "kernel_check.hpp"

namespace {

using namespace sluice::abea;
using namespace sluice::gpu_test;

struct Batch {
  std::vector<float> event_means;
  std::vector<std::uint32_t> kmer_ranks;
  std::vector<std::int64_t> event_offsets{0}, kmer_offsets{0};
  std::vector<float> scale, shift;
  std::vector<std::vector<std::uint64_t>> guides;  // one per row, empty: none
  void add(const simulation::Read& read, std::vector<std::uint64_t> guide = {}) {
    guides.push_back(std::move(guide));
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

// A batch on the device with room for its results.
class DeviceRun {
 public:
  DeviceRun(const Batch& batch, const simulation::Model& model, const AlignmentLimits& limits, Contents contents,
            std::size_t workspace_limit = std::numeric_limits<std::size_t>::max())
      : limits(limits),
        plan(cuda::plan_batch(batch.event_offsets, batch.kmer_offsets, model.view(), limits, {}, workspace_limit)),
        guide_words(place_guides(batch, plan)),
        reads(plan.reads),
        guides(guide_words),
        workspace(plan.workspace_bytes, contents),
        event_means(batch.event_means),
        kmer_ranks(batch.kmer_ranks),
        scale(batch.scale),
        shift(batch.shift),
        level_mean(model.level_mean),
        level_stdv(model.level_stdv),
        log_level_stdv(model.log_level_stdv),
        first_event(batch.kmer_ranks.size(), contents),
        last_event(batch.kmer_ranks.size(), contents),
        events_per_base(batch.rows(), contents),
        status(batch.rows(), contents),
        reports(batch.rows(), contents) {
    columns = {event_means.data(), kmer_ranks.data(), scale.data(), shift.data(), guide_words.empty() ? nullptr : guides.data()};
    levels = {level_mean.data(), level_stdv.data(), log_level_stdv.data(), static_cast<std::uint32_t>(model.level_mean.size())};
    alignments = {first_event.data(), last_event.data(), events_per_base.data(), status.data(), reports.data()};
  }
  void launch(cuda::FillForm form) const {
    require(cuda::align_batch(plan, reads.data(), workspace.data(), limits, columns, levels, alignments, nullptr, form), "align_batch");
  }

  // Of all reads, one after the other, in words of the device.
  static std::vector<std::uint32_t> place_guides(const Batch& batch, cuda::BatchPlan& plan) {
    std::vector<std::uint32_t> words;
    for (cuda::ReadPlan& read : plan.reads) {
      const std::vector<std::uint64_t>& guide = batch.guides[static_cast<std::size_t>(read.row)];
      if (guide.empty()) continue;
      read.guide_begin = static_cast<std::int64_t>(words.size());
      for (const std::uint64_t word : guide) words.insert(words.end(), {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)});
    }
    return words;
  }

  AlignmentLimits limits;
  cuda::BatchPlan plan;
  std::vector<std::uint32_t> guide_words;
  DeviceArray<cuda::ReadPlan> reads;
  DeviceArray<std::uint32_t> guides;
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
  in_parallel(batch.rows(), [&](std::size_t row) {
    thread_local AlignmentWorkspace workspace;
    const auto event_begin = static_cast<std::size_t>(batch.event_offsets[row]), event_end = static_cast<std::size_t>(batch.event_offsets[row + 1]);
    const auto kmer_begin = static_cast<std::size_t>(batch.kmer_offsets[row]), kmer_end = static_cast<std::size_t>(batch.kmer_offsets[row + 1]);
    const AlignmentInput input{std::span(batch.event_means).subspan(event_begin, event_end - event_begin),
                               std::span(batch.kmer_ranks).subspan(kmer_begin, kmer_end - kmer_begin),
                               model.view(),
                               {batch.scale[row], batch.shift[row]},
                               limits,
                               batch.guides[row]};
    expected.results[row] = align_events(input, workspace, std::span(expected.first_event).subspan(kmer_begin, kmer_end - kmer_begin),
                                         std::span(expected.last_event).subspan(kmer_begin, kmer_end - kmer_begin));
  });
  return expected;
}

bool same(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b)); }

struct BandCounts {
  long long narrow = 0, checked = 0, repeated = 0, wide = 0;
  explicit BandCounts(const std::vector<cuda::AlignmentReport>& reports) {
    for (const cuda::AlignmentReport& report : reports) {
      narrow += report.narrow;
      checked += report.checked;
      repeated += report.repeated;
      wide += report.wide;
    }
  }
};

int failures = 0;

// Rows that differ from those of the CPU; prints the first three.
std::size_t differences(const Batch& batch, const Expected& expected, const DeviceRun& run) {
  const auto first_event = run.first_event.download(), last_event = run.last_event.download();
  const auto status = run.status.download();
  const auto events_per_base = run.events_per_base.download();
  const auto reports = run.reports.download();
  std::size_t different = 0;
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    const AlignmentResult& result = expected.results[row];
    const cuda::AlignmentReport& report = reports[row];
    const auto begin = batch.kmer_offsets[row], end = batch.kmer_offsets[row + 1];
    const bool same_map = std::equal(first_event.begin() + begin, first_event.begin() + end, expected.first_event.begin() + begin) &&
                          std::equal(last_event.begin() + begin, last_event.begin() + end, expected.last_event.begin() + begin);
    const bool agrees = status[row] == result.status && same_map && same(events_per_base[row], result.events_per_base) &&
                        same(report.average_emission, result.average_emission) && report.longest_skip == result.longest_skip &&
                        report.pair_count == static_cast<std::int64_t>(result.pair_count);
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
  return different;
}

class Checker {
 public:
  explicit Checker(Extent extent) : small_(extent == Extent::small) {}
  void all() const;

 private:
  // The full sets begin on poisoned memory; the small ones on memory that nobody wrote, so that initcheck sees it being read.
  void check(const char* title, const Batch& batch, const simulation::Model& model, const AlignmentLimits& limits,
             std::size_t workspace_limit = std::numeric_limits<std::size_t>::max()) const {
    const Expected expected = align_on_host(batch, model, limits);
    std::size_t ok = 0;
    for (const AlignmentResult& result : expected.results) ok += result.status == AlignmentStatus::ok ? 1 : 0;
    for (const cuda::FillForm form : {cuda::FillForm::wide, cuda::FillForm::mixed}) {
      const DeviceRun run(batch, model, limits, small_ ? Contents::undefined : Contents::poison, workspace_limit);
      run.launch(form);
      require(cudaDeviceSynchronize(), "alignment");
      const bool wide = form == cuda::FillForm::wide;
      if (const std::size_t different = differences(batch, expected, run); different > 0) {
        ++failures;
        std::printf("%s, %s: DIFFERENT in %zu of %zu reads\n", title, wide ? "wide" : "mixed", different, batch.rows());
      } else if (!wide) {
        const BandCounts bands(run.reports.download());
        std::printf("%s: same (%zu reads, %zu aligned, in %zu parts; bands: %lld narrow, %lld checked, %lld of them repeated, %lld wide)\n", title,
                    batch.rows(), ok, run.plan.parts.size(), bands.narrow, bands.checked, bands.repeated, bands.wide);
      }
    }
  }
  void random_reads() const;
  void guided_reads() const;
  void small_matrices() const;
  void ties() const;
  void hostile_input() const;
  void narrow_levels() const;
  void long_reads() const;

  bool small_;
  simulation::Model model_ = simulation::make_model();
};

AlignmentLimits no_limits() { return {15.0F, -std::numeric_limits<double>::infinity(), std::numeric_limits<std::int32_t>::max()}; }

void Checker::random_reads() const {
  for (int set = 0; set < 3; ++set) {
    const simulation::Model other = simulation::make_model(6, 1.1F + 0.3F * static_cast<float>(set), 40 + set);
    Batch batch;
    for (std::uint64_t seed = 1; seed <= (small_ ? 12 : 1500); ++seed) {
      simulation::ReadParameters parameters;
      parameters.kmer_count = 1 + (seed * 7919) % (small_ ? 1200 : 5000);
      parameters.noise = 0.5F + 0.1F * static_cast<float>(seed % 10);
      parameters.events_per_kmer = 1.1 + 0.3 * static_cast<double>(seed % 12);
      parameters.outliers = seed % 4 == 0 ? 0.05 : 0.002;
      parameters.skipped_kmers = 0.01 * static_cast<double>(seed % 7);
      batch.add(simulation::make_read(other, parameters, seed + 10000 * static_cast<std::uint64_t>(set)));
    }
    check("random reads, no limits", batch, other, no_limits());
    check("random reads, limits", batch, other, {});
    if (set == 0) check("random reads, in small parts", batch, other, {}, std::size_t{1} << 20);
  }
}

// Ways that lead along the read, or anywhere; every third read has none.
void Checker::guided_reads() const {
  std::mt19937_64 random(17);
  Batch batch;
  for (std::uint64_t seed = 1; seed <= (small_ ? 12 : 1500); ++seed) {
    simulation::ReadParameters parameters;
    parameters.kmer_count = 1 + (seed * 7919) % (small_ ? 1200 : 5000);
    parameters.events_per_kmer = 1.1 + 0.3 * static_cast<double>(seed % 12);
    parameters.outliers = seed % 4 == 0 ? 0.05 : 0.002;
    const simulation::Read read = simulation::make_read(model_, parameters, seed);
    std::vector<std::int32_t> way(read.event_means.size());
    const double per_event = static_cast<double>(read.kmer_ranks.size()) / static_cast<double>(std::max<std::size_t>(way.size(), 1));
    const double spread = seed % 2 == 0 ? 1.0 : 3.0;
    double at = -1 + static_cast<double>(random() % 9);
    for (std::int32_t& kmer : way) {
      kmer = static_cast<std::int32_t>(std::min(at, static_cast<double>(read.kmer_ranks.size()) - 1));
      at += per_event * (1 + spread * (static_cast<double>(random() % 1000) / 999 - 0.5));
      at = std::max(at, static_cast<double>(kmer));
    }
    if (seed % 3 == 0)
      batch.add(read);
    else
      batch.add(read, guide_along(way, read.kmer_ranks.size()));
  }
  check("guided reads, no limits", batch, model_, no_limits());
  check("guided reads, limits", batch, model_, {});
  check("guided reads, in small parts", batch, model_, {}, std::size_t{1} << 20);
}

void Checker::small_matrices() const {
  Batch batch;
  std::mt19937_64 random(11);
  for (std::size_t kmer_count = 0; kmer_count < 420; kmer_count += 1 + kmer_count / (small_ ? 1 : 6)) {
    for (std::size_t event_count = 0; event_count < 420; event_count += 1 + event_count / (small_ ? 1 : 6)) {
      simulation::ReadParameters parameters;
      parameters.kmer_count = kmer_count;
      parameters.skipped_kmers = 0.0;
      simulation::Read read = simulation::make_read(model_, parameters, random());
      while (read.event_means.size() < event_count) read.event_means.push_back(90.0F);
      read.event_means.resize(event_count);
      batch.add(read);
    }
  }
  check("small matrices", batch, model_, no_limits());
}

void Checker::ties() const {
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

void Checker::hostile_input() const {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  simulation::ReadParameters parameters;
  parameters.kmer_count = 700;
  const simulation::Read read = simulation::make_read(model_, parameters, 21);
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

    if (small_ && ++broken_models > 2) continue;
    simulation::Model broken_model = model_;
    broken_model.level_stdv[read.kmer_ranks[300]] = value;
    broken_model.log_level_stdv[read.kmer_ranks[400]] = value;
    broken_model.level_mean[read.kmer_ranks[500]] = value;
    Batch one;
    one.add(read);
    check(("a model with " + std::to_string(value)).c_str(), one, broken_model, no_limits());
  }
  check("hostile events and scalings", batch, model_, no_limits());
  check("hostile events and scalings, limits", batch, model_, {});
  check("empty batch", Batch{}, model_, {});
}

void Checker::narrow_levels() const {
  const simulation::Model narrow = simulation::make_model(6, 0.2F, 2);
  Batch batch;
  for (std::uint64_t seed = 1; seed <= (small_ ? 3 : 60); ++seed) {
    simulation::ReadParameters parameters;
    parameters.kmer_count = 900;
    batch.add(simulation::make_read(narrow, parameters, seed));
  }
  check("narrow levels", batch, narrow, no_limits());
}

void Checker::long_reads() const {
  Batch batch;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    simulation::ReadParameters parameters;
    parameters.kmer_count = 20000 * seed;
    parameters.noise = 0.8F;
    parameters.outliers = 0.0005;
    batch.add(simulation::make_read(model_, parameters, seed));
  }
  check("long reads, 20 to 400 kb", batch, model_, {});
}

void Checker::all() const {
  random_reads();
  guided_reads();
  small_matrices();
  ties();
  hostile_input();
  narrow_levels();
  if (!small_) long_reads();
}

// One line for each form: all of it as the stage calls it, and its steps when there is one part.
void time_batch(const char* title, const Batch& batch, const simulation::Model& model, std::initializer_list<cuda::FillForm> forms, int runs) {
  const cuda::BatchPlan plan = cuda::plan_batch(batch.event_offsets, batch.kmer_offsets, model.view(), {});
  std::size_t free_bytes = 0, all_bytes = 0;
  require(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo");
  const std::size_t needed = plan.workspace_bytes + batch.event_means.size() * 4 + batch.kmer_ranks.size() * 12 + (std::size_t{1} << 28);
  if (needed > free_bytes) {
    std::printf("%s, %zu reads: SKIPPED, needs %.1f GB of memory on the device\n", title, batch.rows(), static_cast<double>(needed) * 1e-9);
    return;
  }
  const DeviceRun run(batch, model, {}, Contents::undefined);
  for (const cuda::FillForm form : forms) {
    const double all = median_milliseconds(runs, [&] { run.launch(form); });
    double prepare = 0.0, fill = 0.0, sums = 0.0;
    if (run.plan.parts.size() == 1) {
      const cuda::DeviceWork work{run.reads.data(), run.plan.parts.front(), run.limits, run.workspace.data()};
      constexpr int step_runs = 3;
      prepare =
          median_milliseconds(step_runs, [&] { require(cuda::prepare_levels(work, run.columns, run.levels, run.alignments, nullptr), "prepare"); });
      fill = median_milliseconds(step_runs, [&] { require(cuda::fill_bands(work, run.columns, run.alignments, nullptr, form), "fill"); });
      // Summing up adds to the sums of the read and changes its status: on a prepared and filled batch only.
      sums = all - prepare - fill;
    }
    const BandCounts bands(run.reports.download());
    const double band_count = static_cast<double>(batch.band_count()), bases = static_cast<double>(batch.kmer_ranks.size());
    std::printf(
        "TIME %s, %s: %zu reads, %.0f Mbases, workspace %.1f GB: %.2f ms (prepare %.2f, fill %.2f, sums %.2f), %.0f Gcells/s, %.0f Mbases/s; bands: "
        "%.1f %% narrow, %.1f %% checked, %.1f %% wide\n",
        title, form == cuda::FillForm::wide ? "all wide" : "mixed", batch.rows(), bases * 1e-6, static_cast<double>(run.plan.workspace_bytes) * 1e-9,
        all, prepare, fill, sums, band_count * band_width / all * 1e-6, bases / all * 1e-3, 100.0 * static_cast<double>(bands.narrow) / band_count,
        100.0 * static_cast<double>(bands.checked) / band_count, 100.0 * static_cast<double>(bands.wide) / band_count);
  }
}

template <class LengthOf>
std::vector<simulation::Read> make_reads(const simulation::Model& model, std::size_t count, const LengthOf& length_of) {
  std::vector<simulation::Read> reads(count);
  in_parallel(count, [&](std::size_t i) {
    simulation::ReadParameters parameters;
    parameters.kmer_count = length_of(i);
    reads[i] = simulation::make_read(model, parameters, i + 1);
  });
  return reads;
}

Batch repeated(const std::vector<simulation::Read>& reads, std::size_t count) {
  Batch batch;
  const std::size_t rounds = count / reads.size() + 1;
  std::size_t events = 0, kmers = 0;
  for (const simulation::Read& read : reads) events += read.event_means.size(), kmers += read.kmer_ranks.size();
  batch.event_means.reserve(events * rounds);
  batch.kmer_ranks.reserve(kmers * rounds);
  for (std::size_t i = 0; i < count; ++i) batch.add(reads[i % reads.size()]);
  return batch;
}

void time_all(std::size_t read_count, int runs) {
  using cuda::FillForm;
  const simulation::Model model = simulation::make_model();
  {
    const std::vector<simulation::Read> reads = make_reads(model, 500, [](std::size_t) { return std::size_t{8000}; });
    time_batch("8 kb reads", repeated(reads, read_count), model, {FillForm::mixed, FillForm::wide}, runs);
    time_batch("8 kb reads", repeated(reads, 4 * read_count), model, {FillForm::mixed}, runs);
  }
  {
    const std::vector<simulation::Read> reads = make_reads(model, 2000, [](std::size_t) { return std::size_t{1000}; });
    time_batch("1 kb reads", repeated(reads, 4 * read_count), model, {FillForm::mixed}, runs);
  }
  {
    const std::vector<simulation::Read> reads = make_reads(model, 3000, [](std::size_t i) {
      std::mt19937_64 random(i);
      std::lognormal_distribution<double> length(8.5, 0.95);
      return std::clamp<std::size_t>(static_cast<std::size_t>(length(random)), 200, 300000);
    });
    for (const std::size_t count : {read_count / 2, 2 * read_count})
      time_batch("lognormal lengths, mean 8 kb", repeated(reads, count), model, {FillForm::mixed}, runs);
  }
  time_batch("one read of 400 kb", repeated(make_reads(model, 1, [](std::size_t) { return std::size_t{400000}; }), 1), model, {FillForm::mixed},
             runs);
}

}  // namespace

int main(int argument_count, char** arguments) {
  const CommandLine command = parse_command_line(argument_count, arguments, 12000);
  cudaDeviceProp device{};
  require(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  std::printf("%s, %d multiprocessors\n", device.name, device.multiProcessorCount);
  if (command.checks != Extent::none) Checker(command.checks).all();
  if (command.amount > 0) time_all(static_cast<std::size_t>(std::max(2.0, command.amount)), command.runs);
  std::printf("%s\n", failures == 0 ? "all the same" : "DIFFERENCES");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
