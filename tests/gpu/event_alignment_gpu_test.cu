// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The CUDA event alignment against the CPU kernels, event by event, and its speed. The command line is that of kernel_check.hpp; AMOUNT: Mbases of
// simulated reads of 8 kb in the largest timing (default 48).

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "event_alignment/cuda.hpp"
#include "event_alignment/event_alignment.hpp"
#include "kernel_check.hpp"
#include "unit/signal/event_alignment/simulated_record.hpp"

namespace {

using namespace sluice;
using namespace sluice::gpu_test;
using namespace sluice::event_alignment;
using simulation::SimulatedRecord;

int failures = 0;

struct Path {
  RecordStatus status = RecordStatus::ok;
  std::vector<std::int32_t> event, position;
  std::vector<std::uint8_t> state;
  bool operator==(const Path&) const = default;
};

// Records on the host, and the columns that they make. Every record has a contig of its own.
class Columns {
 public:
  explicit Columns(const std::vector<SimulatedRecord>& records) {
    for (const SimulatedRecord& record : records) {
      contigs.push_back(record.contig);
      contig.push_back(static_cast<std::int32_t>(contig.size()));
      ref_start.push_back(record.ref_start);
      ref_end.push_back(std::clamp<std::int64_t>(record.ref_end(), record.ref_start, static_cast<std::int64_t>(record.contig.size())));
      is_reverse.push_back(record.strand == Strand::reverse ? 1 : 0);
      append(cigar, cigar_offsets, record.cigar);
      bases_offsets.push_back(bases_offsets.back() + static_cast<std::int64_t>(record.read_length));
      append(event_mean, event_offsets, record.event_mean);
      append(first_event, map_offsets, record.first_event);
      scale.push_back(record.scaling.scale);
      shift.push_back(record.scaling.shift);
      var.push_back(record.scaling.var);
      log_var.push_back(record.scaling.log_var);
      events_per_base.push_back(record.events_per_base);
    }
  }
  std::vector<std::string_view> contigs;
  std::vector<std::int32_t> contig, first_event;
  std::vector<std::int64_t> ref_start, ref_end, cigar_offsets{0}, bases_offsets{0}, event_offsets{0}, map_offsets{0};
  std::vector<std::uint8_t> is_reverse;
  std::vector<std::uint32_t> cigar;
  std::vector<float> event_mean, scale, shift, var, log_var;
  std::vector<double> events_per_base;

 private:
  template <class T>
  static void append(std::vector<T>& values, std::vector<std::int64_t>& offsets, const std::vector<T>& more) {
    values.insert(values.end(), more.begin(), more.end());
    offsets.push_back(static_cast<std::int64_t>(values.size()));
  }
};

// What is done with rows that end with a stall.
enum class Stalls { left, aligned };

// The columns on the device, with the reference, the model and room for paths.
class OnDevice {
 public:
  OnDevice(const Columns& c, const CheckedModel& model)
      : rows_in_all_(static_cast<std::uint32_t>(c.contig.size())),
        contig_(c.contig),
        first_event_(c.first_event),
        ref_start_(c.ref_start),
        ref_end_(c.ref_end),
        cigar_offsets_(c.cigar_offsets),
        bases_offsets_(c.bases_offsets),
        event_offsets_(c.event_offsets),
        map_offsets_(c.map_offsets),
        is_reverse_(c.is_reverse),
        cigar_(c.cigar),
        event_mean_(c.event_mean),
        scale_(c.scale),
        shift_(c.shift),
        var_(c.var),
        log_var_(c.log_var),
        events_per_base_(c.events_per_base),
        reference_memory_(cuda::reference_bytes(c.contigs)),
        model_memory_(cuda::model_bytes(model)),
        event_(c.event_mean.size(), Contents::poison),
        position_(c.event_mean.size(), Contents::poison),
        state_(c.event_mean.size(), Contents::poison),
        count_(rows_in_all_, Contents::poison),
        status_(rows_in_all_, Contents::poison),
        event_offsets_of_rows_(c.event_offsets) {
    require(cuda::upload_reference(c.contigs, reference_memory_.data(), nullptr, reference_), "upload_reference");
    require(cuda::upload_model(model, model_memory_.data(), nullptr, model_), "upload_model");
    rows_ = {.count = rows_in_all_,
             .contig = contig_.data(),
             .ref_start = ref_start_.data(),
             .ref_end = ref_end_.data(),
             .is_reverse = is_reverse_.data(),
             .cigar_offsets = cigar_offsets_.data(),
             .cigar = cigar_.data(),
             .cigar_operations = static_cast<std::int64_t>(c.cigar.size()),
             .bases_offsets = bases_offsets_.data(),
             .event_offsets = event_offsets_.data(),
             .event_mean = event_mean_.data(),
             .map_offsets = map_offsets_.data(),
             .first_event = first_event_.data(),
             .scale = scale_.data(),
             .shift = shift_.data(),
             .var = var_.data(),
             .log_var = log_var_.data(),
             .events_per_base = events_per_base_.data()};
    paths_ = {event_.data(), position_.data(), state_.data(), count_.data(), status_.data()};
  }

  // Aligns the rows of `order`; returns the milliseconds of one run of `runs`, 0 for runs = 0.
  double align(const std::vector<std::uint32_t>& order, Stalls stalls, const Settings& settings, int runs = 0) {
    const auto count = static_cast<std::uint32_t>(order.size());
    const std::vector<std::uint32_t> chunk_begin = cuda::chunks_of(order, event_offsets_of_rows_);
    const cuda::Plan plan = stalls == Stalls::left ? cuda::plan_usual(chunk_begin) : cuda::plan_stalled(count);
    const DeviceArray<std::uint32_t> on_device(order), chunks(chunk_begin);
    const DeviceArray<std::uint8_t> workspace(cuda::workspace_bytes(rows_, count, plan), Contents::poison);
    const auto run = [&] {
      require(cuda::align_rows(rows_, on_device.data(), count, chunks.data(), reference_, model_, settings, plan, workspace.data(), paths_, nullptr),
              "align_rows");
    };
    run();
    require(cudaDeviceSynchronize(), "align_rows");
    return runs > 0 ? median_milliseconds(runs, run) : 0.0;
  }
  std::vector<RecordStatus> statuses() const { return status_.download(); }

  std::vector<Path> paths() const {
    const std::vector<std::int64_t> counts = count_.download();
    std::vector<std::int64_t> offsets{0};
    for (const std::int64_t count : counts) offsets.push_back(offsets.back() + count);
    const auto all = static_cast<std::size_t>(offsets.back());
    const DeviceArray<std::int64_t> on_device(offsets);
    const DeviceArray<std::int32_t> event(all, Contents::poison), position(all, Contents::poison);
    const DeviceArray<std::uint8_t> state(all, Contents::poison);
    require(cuda::gather_paths(rows_, paths_, on_device.data(), {event.data(), position.data(), state.data(), nullptr, nullptr}, nullptr),
            "gather_paths");
    require(cudaDeviceSynchronize(), "gather_paths");
    const auto events = event.download(), positions = position.download();
    const auto states = state.download();
    const auto status = statuses();
    std::vector<Path> result(counts.size());
    for (std::size_t row = 0; row < counts.size(); ++row) {
      const auto from = offsets[row], to = offsets[row + 1];
      result[row] = {status[row],
                     {events.begin() + from, events.begin() + to},
                     {positions.begin() + from, positions.begin() + to},
                     {states.begin() + from, states.begin() + to}};
    }
    return result;
  }

 private:
  std::uint32_t rows_in_all_;
  DeviceArray<std::int32_t> contig_, first_event_;
  DeviceArray<std::int64_t> ref_start_, ref_end_, cigar_offsets_, bases_offsets_, event_offsets_, map_offsets_;
  DeviceArray<std::uint8_t> is_reverse_;
  DeviceArray<std::uint32_t> cigar_;
  DeviceArray<float> event_mean_, scale_, shift_, var_, log_var_;
  DeviceArray<double> events_per_base_;
  DeviceArray<std::uint8_t> reference_memory_, model_memory_;
  DeviceArray<std::int32_t> event_, position_;
  DeviceArray<std::uint8_t> state_;
  DeviceArray<std::int64_t> count_;
  DeviceArray<RecordStatus> status_;
  cuda::Reference reference_;
  cuda::Model model_;
  cuda::Rows rows_;
  cuda::Paths paths_;
  std::vector<std::int64_t> event_offsets_of_rows_;
};

std::vector<Path> paths_of_cpu(const std::vector<SimulatedRecord>& records, const CheckedModel& model, const Settings& settings) {
  std::vector<Path> result(records.size());
  in_parallel(records.size(), [&](std::size_t i) {
    thread_local Workspace workspace;
    EventPath path;
    result[i].status = align_events(records[i].view(), model, settings, segment_path, workspace, path);
    result[i].event = path.event;
    result[i].position = path.position;
    result[i].state = path.state;
  });
  return result;
}

void compare(const std::string& name, const std::vector<Path>& expected, const std::vector<Path>& found) {
  std::size_t differ = 0, events = 0, failed = 0;
  for (std::size_t row = 0; row < expected.size(); ++row) {
    events += expected[row].event.size();
    failed += expected[row].status == RecordStatus::ok ? 0 : 1;
    if (expected[row] == found[row]) continue;
    if (differ++ == 0)
      std::printf("%s: row %zu differs: status %d and %d, %zu and %zu events\n", name.c_str(), row, static_cast<int>(expected[row].status),
                  static_cast<int>(found[row].status), expected[row].event.size(), found[row].event.size());
  }
  failures += differ > 0 ? 1 : 0;
  std::printf("%s %s: %zu rows, %zu failed, %zu events, %zu rows differ\n", differ == 0 ? "ok" : "FAILED", name.c_str(), expected.size(), failed,
              events, differ);
}

// As the stage does it: all rows, then those with a stall again.
std::vector<Path> paths_of_device(const std::vector<SimulatedRecord>& records, const CheckedModel& model, const Settings& settings) {
  OnDevice device(Columns(records), model);
  std::vector<std::uint32_t> order(records.size());
  std::iota(order.begin(), order.end(), 0U);
  device.align(order, Stalls::left, settings);
  const auto statuses = device.statuses();
  std::erase_if(order, [&](std::uint32_t row) { return statuses[row] != RecordStatus::stalled; });
  if (!order.empty()) device.align(order, Stalls::aligned, settings);
  return device.paths();
}

// Puts `events` copies of one event into the signal.
void stall(SimulatedRecord& record, std::size_t events, std::mt19937_64& random) {
  if (record.event_mean.empty()) return;
  const std::size_t at = random() % record.event_mean.size();
  record.event_mean.insert(record.event_mean.begin() + static_cast<std::ptrdiff_t>(at), events, record.event_mean[at]);
  for (std::int32_t& event : record.first_event)
    if (event > static_cast<std::int32_t>(at)) event += static_cast<std::int32_t>(events);
}

void spoil(SimulatedRecord& record, std::mt19937_64& random) {
  const auto any = [&](auto& values) -> auto& { return values[random() % values.size()]; };
  constexpr float infinity = std::numeric_limits<float>::infinity();
  switch (random() % 12) {
    case 0:
      any(record.cigar) = static_cast<std::uint32_t>(random() % (60U << 4U));
      break;
    case 1:
      any(record.cigar) = static_cast<std::uint32_t>(random());
      break;
    case 2:
      any(record.first_event) = static_cast<std::int32_t>(random());
      break;
    case 3:
      if (!record.event_mean.empty()) any(record.event_mean) = random() % 2 == 0 ? infinity : 1e15F;
      break;
    case 4:
      record.scaling.var = random() % 2 == 0 ? 0.0F : 3e-12F;
      break;
    case 5:
      record.events_per_base = random() % 2 == 0 ? 0.7 : 400.0;
      break;
    case 6:
      record.read_length += random() % 3;
      break;
    case 7:
      record.ref_start = random() % 2 == 0 ? -1 : static_cast<std::int64_t>(random() % 2000);
      break;
    case 8:
      record.first_event.assign(record.first_event.size(), -1);
      break;
    case 9:
      record.cigar.clear();
      break;
    case 10:
      record.scaling.log_var = random() % 2 == 0 ? std::numeric_limits<float>::quiet_NaN() : -0.918938F;
      break;
    default:
      record.event_mean.clear();
  }
}

// The CPU's functions do not see ref_end; such rows are left to the stage's tests.
bool ends_on_its_contig(const SimulatedRecord& record) {
  return record.ref_start >= 0 && record.ref_start <= static_cast<std::int64_t>(record.contig.size());
}

void check(std::uint32_t k, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const simulation::Model simulated(k);
  const CheckedModel model(simulated.view);
  std::vector<SimulatedRecord> records;
  while (records.size() < count) {
    simulation::Options options;
    options.aligned_bases = 1 + random() % (random() % 16 == 0 ? 8000 : 1200);
    options.splices = random() % 5 == 0 ? 0.01 : 0.0;
    options.long_deletions = random() % 5 == 0 ? 0.01 : 0.0;
    options.missing_events = random() % 5 == 0 ? 0.5 : 0.05;
    SimulatedRecord record = simulate_record(simulated, random() % 2 == 0 ? Strand::forward : Strand::reverse, options, random);
    if (random() % 50 == 0) stall(record, random() % 4000, random);
    if (random() % 4 == 0 && !record.cigar.empty()) spoil(record, random);
    if (ends_on_its_contig(record)) records.push_back(std::move(record));
  }
  const std::pair<const char*, Settings> variants[] = {
      {"", {}},
      {" compat", {.hard_clips = HardClips::compat, .events_per_base = event_hmm::EventsPerBase::compat}},
      {" region", {.clip_start = 200, .clip_end = 700}}};
  for (const auto& [name, settings] : variants)
    compare("k=" + std::to_string(k) + name, paths_of_cpu(records, model, settings), paths_of_device(records, model, settings));
}

void check_stalls(std::size_t longest) {
  std::mt19937_64 random(9);
  const simulation::Model simulated(6);
  const CheckedModel model(simulated.view);
  std::vector<SimulatedRecord> records;
  for (const std::size_t events : {std::size_t{900}, std::size_t{1500}, longest, std::size_t{70'000}}) {
    records.push_back(simulate_record(simulated, records.size() % 2 == 0 ? Strand::forward : Strand::reverse, {.aligned_bases = 400}, random));
    stall(records.back(), events, random);
  }
  compare("stalls", paths_of_cpu(records, model, {}), paths_of_device(records, model, {}));
}

// Reads of `bases` aligned bases: their time, beside what an H200 needs to issue the inner loop's instructions.
void time_reads(std::size_t reads, std::size_t bases, int runs) {
  const simulation::Model simulated(6);
  const CheckedModel model(simulated.view);
  std::vector<SimulatedRecord> records(reads);
  in_parallel(records.size(), [&](std::size_t i) {
    std::mt19937_64 own(i);
    records[i] = simulate_record(simulated, i % 2 == 0 ? Strand::forward : Strand::reverse, {.aligned_bases = bases}, own);
  });
  const std::vector<Path> expected = paths_of_cpu(records, model, {});
  OnDevice device(Columns(records), model);
  std::vector<std::uint32_t> order(records.size());
  std::iota(order.begin(), order.end(), 0U);
  const double time = device.align(order, Stalls::left, {}, runs);
  const std::string name = std::to_string(reads) + " reads of " + std::to_string(bases / 1000) + " kb";
  compare(name, expected, device.paths());
  // 573 cells a base of such reads (event_alignment_bench); 27,000 instructions for a segment of 175 events and 96 k-mers; 132 processors issue 4 a
  // cycle at 1.755 GHz.
  constexpr double kCellsPerBase = 573, kInstructionsPerCell = 27'000.0 / (175 * 96), kIssuedPerSecond = 132 * 4 * 1.755e9;
  const double all = static_cast<double>(reads * bases);
  std::printf("TIME align_rows, %s: %8.3f ms, %8.1f Mbases/s, %7.1f Gcells/s; floor of an H200 %8.3f ms\n", name.c_str(), time, all / time / 1e3,
              all * kCellsPerBase / time / 1e6, all * kCellsPerBase * kInstructionsPerCell / kIssuedPerSecond * 1e3);
}

void bench(double megabases, int runs) {
  constexpr std::size_t kReadLength = 8000;
  time_reads(85, kReadLength, runs);
  time_reads(1000, kReadLength, runs);
  time_reads(std::max<std::size_t>(1, static_cast<std::size_t>(megabases * 1e6 / kReadLength)), kReadLength, runs);
  time_reads(1, 400'000, runs);
}

}  // namespace

int main(int argument_count, char** arguments) {
  const CommandLine command = parse_command_line(argument_count, arguments, 48.0);
  const bool small = command.checks == Extent::small;
  if (command.checks != Extent::none) {
    check(6, small ? 60 : 4000, 1);
    check(9, small ? 20 : 1000, 2);
    check(5, small ? 20 : 1000, 3);
    check(1, small ? 20 : 500, 4);
    check_stalls(small ? 2'000 : 30'000);
  }
  if (command.amount > 0) bench(command.amount, command.runs);
  std::printf("%s\n", failures == 0 ? "ALL OK" : "SOME FAILED");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
