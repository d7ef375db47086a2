// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The CUDA event scaling against the CPU kernels, bit by bit, and its speed. The command line is that of kernel_check.hpp; AMOUNT: Mbases of
// simulated reads for the timings (default 40).

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <sluice/methods/event_scaling/scaling.hpp>
#include <string>
#include <vector>

#include "event_scaling/cuda.hpp"
#include "kernel_check.hpp"

namespace {

using namespace sluice;
using namespace sluice::gpu_test;
using namespace sluice::event_scaling;

int failures = 0;

// Columns of a batch on the host.
struct Rows {
  std::vector<std::uint16_t> status;
  std::vector<std::int64_t> bases_offsets{0}, event_offsets{0}, first_offsets{0}, last_offsets{0};
  std::string bases;
  std::vector<float> events;
  std::vector<std::int32_t> first, last;
  // When not empty, the ranks to recalibrate with instead of the reads' own.
  std::vector<std::int64_t> rank_offsets{0};
  std::vector<std::uint32_t> ranks;

  std::size_t size() const { return status.size(); }
};

template <class T>
std::span<const T> part(const std::vector<T>& values, const std::vector<std::int64_t>& offsets, std::size_t row) {
  return std::span(values).subspan(static_cast<std::size_t>(offsets[row]), static_cast<std::size_t>(offsets[row + 1] - offsets[row]));
}

bool same(float a, float b) { return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0; }

void report(const std::string& name, std::size_t rows, std::size_t ok, std::size_t different) {
  if (different != 0) ++failures;
  std::printf("%-34s %7zu rows (%zu ok), %zu differ %s\n", name.c_str(), rows, ok, different, different == 0 ? "ok" : "FAILED");
}

// Ranks, moments and recalibration of all rows on the device against the CPU; with runs > 0 prints what each takes.
void compare(const std::string& name, const Rows& rows, const SimulatedModel& model, const RecalibrationParams& params, int runs,
             EventOrder order = EventOrder::ascending) {
  const std::uint32_t k = model.view.k;
  const auto count = static_cast<std::uint32_t>(rows.size());
  const DeviceArray<std::uint16_t> row_status(rows.status);
  const DeviceArray<std::int64_t> bases_offsets(rows.bases_offsets), event_offsets(rows.event_offsets), first_offsets(rows.first_offsets),
      last_offsets(rows.last_offsets);
  const DeviceArray<char> bases(std::vector<char>(rows.bases.begin(), rows.bases.end()));
  const DeviceArray<float> event_means(rows.events);
  const DeviceArray<std::int32_t> first(rows.first), last(rows.last);
  const DeviceArray<std::byte> model_memory(cuda::model_bytes(model.view));
  cuda::Model device_model;
  require(cuda::upload_model(model.view, model_memory.data(), nullptr, device_model), "upload_model");
  const cuda::Rows device_rows{count, row_status.data()};
  const cuda::Events events{event_offsets.data(), event_means.data()};

  const DeviceArray<std::int64_t> rank_offsets(count + std::size_t{1});
  const auto find_offsets = [&] { require(cuda::kmer_offsets(device_rows, bases_offsets.data(), k, rank_offsets.data(), nullptr), "kmer_offsets"); };
  find_offsets();
  const std::vector<std::int64_t> offsets = rank_offsets.download();
  const DeviceArray<std::uint32_t> ranks(static_cast<std::size_t>(offsets.back()));
  const auto find_ranks = [&] {
    require(cuda::kmer_ranks(device_rows, bases_offsets.data(), bases.data(), model.view.alphabet, k, rank_offsets.data(), offsets.back(),
                             ranks.data(), nullptr),
            "kmer_ranks");
  };
  find_ranks();
  const DeviceArray<float> shift(count), scale(count);
  const DeviceArray<ScalingStatus> status(count);
  const auto find_moments = [&] {
    require(cuda::moments(device_rows, events, order, {rank_offsets.data(), ranks.data()}, device_model, {shift.data(), scale.data(), status.data()},
                          nullptr),
            "moments");
  };
  find_moments();
  require(cudaDeviceSynchronize(), "moments");

  const std::vector<std::uint32_t> device_ranks = ranks.download();
  const auto device_shift = shift.download(), device_scale = scale.download();
  const auto device_status = status.download();
  std::size_t different = 0, different_ranks = 0, ok = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::string_view read(rows.bases.data() + rows.bases_offsets[row],
                                static_cast<std::size_t>(rows.bases_offsets[row + 1] - rows.bases_offsets[row]));
    const bool works = rows.status[row] == 0;
    std::vector<std::uint32_t> expected(works ? read_kmer_count(read.size(), k) : 0);
    MomentScaling scaling{0.0F, works ? 1.0F : 0.0F};
    ScalingStatus expected_status = ScalingStatus::ok;
    if (works) {
      expected_status = kmer_ranks(read, model.view.alphabet, k, expected);
      if (expected_status == ScalingStatus::ok)
        expected_status = moments(part(rows.events, rows.event_offsets, row), order, expected, model.view, scaling);
    }
    if (!std::ranges::equal(expected, part(device_ranks, offsets, row))) ++different_ranks;
    if (works && expected_status == ScalingStatus::ok) ++ok;
    if (device_status[row] == expected_status && same(device_shift[row], scaling.shift) && same(device_scale[row], scaling.scale)) continue;
    if (different++ < 5) {
      std::printf("  %s row %zu: device %d %.9g %.9g, expected %d %.9g %.9g\n", name.c_str(), row, static_cast<int>(device_status[row]),
                  device_shift[row], device_scale[row], static_cast<int>(expected_status), scaling.shift, scaling.scale);
    }
  }
  report(name + " ranks", rows.size(), rows.size(), different_ranks);
  report(name + " moments", rows.size(), ok, different);

  const bool own_ranks = rows.ranks.empty();
  const std::vector<std::int64_t>& fit_offsets = own_ranks ? offsets : rows.rank_offsets;
  const std::vector<std::uint32_t>& fit_ranks = own_ranks ? device_ranks : rows.ranks;
  const DeviceArray<std::int64_t> device_fit_offsets(fit_offsets);
  const DeviceArray<std::uint32_t> device_fit_ranks(fit_ranks);
  const DeviceArray<float> fit_shift(count), fit_scale(count), fit_var(count), fit_log_var(count);
  const DeviceArray<ScalingStatus> fit_status(count);
  const auto find_fit = [&] {
    require(cuda::recalibrate(device_rows, events, {device_fit_offsets.data(), device_fit_ranks.data()},
                              {first_offsets.data(), first.data(), last_offsets.data(), last.data()}, device_model, params,
                              {fit_shift.data(), fit_scale.data(), fit_var.data(), fit_log_var.data(), fit_status.data()}, nullptr),
            "recalibrate");
  };
  find_fit();
  require(cudaDeviceSynchronize(), "recalibrate");
  const auto found_shift = fit_shift.download(), found_scale = fit_scale.download(), found_var = fit_var.download(),
             found_log_var = fit_log_var.download();
  const auto found_status = fit_status.download();
  different = ok = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    Recalibration expected{0.0F, 0.0F, 0.0F, 0.0F, 0};
    ScalingStatus expected_status = ScalingStatus::ok;
    if (rows.status[row] == 0) {
      expected_status = recalibrate(part(rows.events, rows.event_offsets, row), part(fit_ranks, fit_offsets, row),
                                    part(rows.first, rows.first_offsets, row), part(rows.last, rows.last_offsets, row), model.view, params, expected);
      if (expected_status == ScalingStatus::ok) ++ok;
    }
    if (found_status[row] == expected_status && same(found_shift[row], expected.shift) && same(found_scale[row], expected.scale) &&
        same(found_var[row], expected.var) && same(found_log_var[row], expected.log_var)) {
      continue;
    }
    if (different++ < 5) {
      std::printf("  %s row %zu: device %d %.9g %.9g %.9g %.9g, expected %d %.9g %.9g %.9g %.9g\n", name.c_str(), row,
                  static_cast<int>(found_status[row]), found_shift[row], found_scale[row], found_var[row], found_log_var[row],
                  static_cast<int>(expected_status), expected.shift, expected.scale, expected.var, expected.log_var);
    }
  }
  report(name + " recalibration", rows.size(), ok, different);
  if (runs == 0) return;
  const double megabases = static_cast<double>(rows.bases.size()) / 1e6;
  const auto time = [&](const char* step, const auto& body) {
    const double milliseconds = median_milliseconds(runs, body);
    std::printf("TIME %-14s %8.3f ms, %9.1f Mbases/s\n", step, milliseconds, megabases / milliseconds * 1e3);
  };
  time("kmer_offsets", find_offsets);
  time("kmer_ranks", find_ranks);
  time("moments", find_moments);
  time("recalibrate", find_fit);
}

// Reads of random length; odd ones have letters, values, maps and ranks that no read should have.
enum class Oddness { none, odd };

Rows simulate(std::size_t count, std::size_t mean_length, Oddness oddness, const SimulatedModel& model, std::mt19937_64& random) {
  const bool odd = oddness == Oddness::odd;
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  const auto chance = [&](std::size_t one_in) { return odd && below(one_in) == 0; };
  std::normal_distribution<float> noise(0.0F, 1.0F);
  Rows rows;
  for (std::size_t row = 0; row < count; ++row) {
    rows.status.push_back(chance(30) ? 2 : 0);
    const std::size_t length = chance(10) ? below(12) : odd ? below(2 * mean_length) : mean_length;
    std::string read;
    const bool homopolymers = chance(3);
    while (read.size() < length) read.append(homopolymers && chance(5) ? 1 + below(20) : 1, chance(50) ? "acgtNM*\xFF"[below(8)] : "ACGT"[below(4)]);
    read.resize(length);
    rows.bases += read;
    rows.bases_offsets.push_back(static_cast<std::int64_t>(rows.bases.size()));
    const std::size_t kmers = read_kmer_count(length, model.view.k);
    const float scale = 0.9F + 0.001F * static_cast<float>(below(200));
    const std::size_t first_event = rows.events.size();
    std::size_t gap = 0;
    for (std::size_t kmer = 0; kmer < kmers; ++kmer) {
      const std::uint32_t rank = kmer_rank(model.view.alphabet, std::string_view(read).substr(kmer, model.view.k));
      if (chance(30)) gap = below(chance(20) ? 2000 : 20);
      const auto at = static_cast<std::int32_t>(rows.events.size() - first_event);
      const auto stays = static_cast<std::int32_t>(below(4));
      if (gap > 0 || stays == 0) {
        gap -= gap > 0 ? 1 : 0;
        rows.first.push_back(-1);
        rows.last.push_back(-1);
        continue;
      }
      for (std::int32_t i = 0; i < stays; ++i) rows.events.push_back(scale * model.mean[rank] + 5.0F + noise(random) * model.stdv[rank]);
      rows.first.push_back(at);
      rows.last.push_back(chance(100) ? at - 1 : at + stays - 1);
    }
    if (chance(25)) rows.events.resize(first_event);
    constexpr float kOdd[] = {
        0.0F, -0.0F, 1e-42F, 1e15F, -1e30F, 3e38F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()};
    if (rows.events.size() > first_event) {
      if (chance(6)) rows.events[first_event + below(rows.events.size() - first_event)] = kOdd[below(std::size(kOdd))];
      if (chance(15)) std::fill(rows.events.begin() + static_cast<std::ptrdiff_t>(first_event), rows.events.end(), 90.0F);
    }
    if (chance(30)) rows.first.push_back(0);
    if (chance(30)) rows.last.push_back(0);
    if (chance(20) && !rows.first.empty() && kmers > 0) rows.first.back() = rows.last.back() = std::numeric_limits<std::int32_t>::max();
    rows.event_offsets.push_back(static_cast<std::int64_t>(rows.events.size()));
    rows.first_offsets.push_back(static_cast<std::int64_t>(rows.first.size()));
    rows.last_offsets.push_back(static_cast<std::int64_t>(rows.last.size()));
    if (!odd) continue;
    // Ranks of their own: runs of equal ones, ranks behind the model, no rank at all.
    const std::uint32_t models = static_cast<std::uint32_t>(model.mean.size());
    for (std::size_t kmer = 0; kmer < kmers; ++kmer) {
      std::uint32_t rank = kmer > 0 && chance(4) ? rows.ranks.back() : static_cast<std::uint32_t>(below(models));
      if (chance(20000)) rank = chance(2) ? models : 0xFFFFFFFFU;
      rows.ranks.push_back(rank);
    }
    if (chance(15)) std::fill(rows.ranks.end() - static_cast<std::ptrdiff_t>(kmers / 2), rows.ranks.end(), 7U);
    if (chance(40) && kmers > 0) rows.ranks[rows.ranks.size() - kmers] = 0xFFFFFFFFU;
    rows.rank_offsets.push_back(static_cast<std::int64_t>(rows.ranks.size()));
  }
  return rows;
}

void check_odd(Alphabet alphabet, std::uint32_t k, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  SimulatedModel model(alphabet, k, random);
  const std::string name = std::string(alphabet == Alphabet::nucleotide ? "nucleotide" : "methylation") + " k=" + std::to_string(k);
  Rows rows = simulate(count, 900, Oddness::odd, model, random);
  compare(name + " other ranks", rows, model, {.min_recalibration_events = 50}, 0);
  rows.ranks.clear();
  compare(name, rows, model, {}, 0);
  compare(name + " last event first", rows, model, {}, 0, EventOrder::descending);
  constexpr float kOdd[] = {0.0F, -1.0F, 1e-20F, 1e20F, 1e-42F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()};
  for (std::size_t i = 0; i < 1 + model.mean.size() / 1000; ++i)
    (i % 2 == 0 ? model.stdv : model.mean)[random() % model.mean.size()] = kOdd[random() % std::size(kOdd)];
  compare(name + " odd model", rows, model, {.min_recalibration_events = 1, .max_var = 1.0F}, 0);
}

}  // namespace

int main(int argument_count, char** arguments) {
  const CommandLine command = parse_command_line(argument_count, arguments, 40.0);
  if (command.checks != Extent::none) {
    const std::size_t rows = command.checks == Extent::small ? 120 : 3000;
    check_odd(Alphabet::nucleotide, 6, rows, 1);
    check_odd(Alphabet::methylation, 5, rows, 2);
    check_odd(Alphabet::nucleotide, 1, rows / 4, 3);
    check_odd(Alphabet::nucleotide, 9, rows / 4, 4);
  }
  if (command.amount > 0) {
    std::mt19937_64 random(5);
    const SimulatedModel model(Alphabet::nucleotide, 6, random);
    for (const std::size_t length : {8000, 400000}) {
      const auto count = std::max<std::size_t>(1, static_cast<std::size_t>(command.amount * 1e6) / length);
      const Rows simulated = simulate(count, length, Oddness::none, model, random);
      std::printf("%zu reads of %zu bases, %.1f events a base\n", count, length,
                  static_cast<double>(simulated.events.size()) / static_cast<double>(simulated.bases.size()));
      compare("simulated", simulated, model, {}, command.runs);
    }
  }
  std::printf("%s\n", failures == 0 ? "ALL OK" : "SOME FAILED");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
