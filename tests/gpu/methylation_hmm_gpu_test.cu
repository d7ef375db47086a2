// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The CUDA methylation HMM against the CPU kernels, bit by bit, and its speed. The command line is that of kernel_check.hpp; AMOUNT: Mbases of
// simulated reads for the timings (default 40).

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

#include "kernel_check.hpp"
#include "methylation_hmm/cuda.hpp"
#include "methylation_hmm/methylation.hpp"

namespace {

using namespace sluice;
using namespace sluice::gpu_test;
using namespace sluice::methylation_hmm;

int failures = 0;
const Motif kCpg = parse_motif("cpg");

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

// Problems on the host, and the same as device columns.
struct Work {
  std::vector<ReadSignal> reads;
  std::vector<GroupProblem> problems;  // sequences are parts of `bases`
  std::string bases;
  std::int64_t longest_read_events = 0;

  std::vector<GroupScore> expected(const KmerModelView& model, const Motif& motif, EventsPerBase floor) const {
    std::vector<GroupScore> scores(problems.size());
    constexpr std::size_t kPiece = 2048;
    in_parallel((problems.size() + kPiece - 1) / kPiece, [&](std::size_t piece) {
      ScoreWorkspace workspace;
      const std::size_t begin = piece * kPiece;
      const std::size_t count = std::min(kPiece, problems.size() - begin);
      score_groups(reads, std::span(problems).subspan(begin, count), model, motif, floor, workspace, std::span(scores).subspan(begin, count));
    });
    return scores;
  }
  double cells(std::uint32_t k) const {
    double sum = 0;
    for (const GroupProblem& problem : problems) {
      sum +=
          2.0 * static_cast<double>(problem.sequence.size() - k + 1) * (std::abs(static_cast<double>(problem.last_event) - problem.first_event) + 1);
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
  DeviceArray<std::byte> table_memory;
  DeviceArray<std::byte> workspace;
  DeviceArray<float> methylated, unmethylated;
  DeviceArray<ScoreStatus> status;
  cuda::Tables tables;
  cuda::Reads reads;
  cuda::Problems problems;
  cuda::Scores scores;

  DeviceProblem(const Work& work, const KmerModelView& model, const Motif& motif)
      : host(work),
        bases(std::vector<char>(work.bases.begin(), work.bases.end())),
        table_memory(cuda::tables_bytes(model, work.longest_read_events)),
        workspace(cuda::score_workspace_bytes(static_cast<std::uint32_t>(work.reads.size()), static_cast<std::uint32_t>(work.problems.size()))),
        methylated(work.problems.size()),
        unmethylated(work.problems.size()),
        status(work.problems.size()) {
    require(cuda::upload_tables(model, motif, work.longest_read_events, table_memory.data(), nullptr, tables), "upload_tables");
    reads = {static_cast<std::uint32_t>(work.reads.size()),
             offsets.data(),
             means.data(),
             scale.data(),
             shift.data(),
             var.data(),
             log_var.data(),
             per_base.data(),
             reverse.data()};
    problems = {static_cast<std::uint32_t>(work.problems.size()), read.data(), first.data(), last.data(), begin.data(), length.data(), bases.data()};
    scores = {methylated.data(), unmethylated.data(), status.data()};
  }

  void score(EventsPerBase floor) { require(cuda::score_groups(reads, problems, tables, floor, scores, workspace.data(), nullptr), "score_groups"); }
};

void compare(const char* name, const std::vector<GroupScore>& expected, DeviceProblem& device, EventsPerBase floor) {
  device.methylated.poison();
  device.unmethylated.poison();
  device.status.poison();
  device.workspace.poison();
  device.score(floor);
  require(cudaDeviceSynchronize(), name);
  const auto methylated = device.methylated.download();
  const auto unmethylated = device.unmethylated.download();
  const auto status = device.status.download();
  std::size_t different = 0;
  std::size_t ok = 0;
  // A NaN is a NaN: its bits mean nothing.
  const auto same = [](float a, float b) { return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0; };
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].status == ScoreStatus::ok) ++ok;
    if (status[i] == expected[i].status && same(methylated[i], expected[i].methylated) && same(unmethylated[i], expected[i].unmethylated)) continue;
    if (different++ < 5) {
      std::printf("  %s problem %zu: device %d %.9g %.9g, expected %d %.9g %.9g\n", name, i, static_cast<int>(status[i]), methylated[i],
                  unmethylated[i], static_cast<int>(expected[i].status), expected[i].methylated, expected[i].unmethylated);
    }
  }
  if (different != 0) ++failures;
  std::printf("%-34s %9zu problems (%zu ok), %zu differ %s\n", name, expected.size(), ok, different, different == 0 ? "ok" : "FAILED");
}

// Reads with all groups that the CPU finds in them.
Work simulated_work(const SimulatedModel& model, std::vector<SimulatedRead>& simulated) {
  Work work;
  std::vector<SiteGroup> groups;
  std::vector<GroupEvents> events;
  LocateWorkspace locate;
  std::size_t total = 0;
  for (const SimulatedRead& read : simulated) total += read.bases.size();
  work.bases.reserve(total);
  for (const SimulatedRead& read : simulated) {
    const std::size_t at = work.bases.size();
    work.bases += read.bases;
    const std::string_view segment = std::string_view(work.bases).substr(at);
    find_site_groups(segment, kCpg.sites(read.strand), groups);
    events.resize(groups.size());
    const std::uint32_t cigar[] = {static_cast<std::uint32_t>(read.bases.size()) << 4U};
    locate_group_events({.cigar = cigar, .read_length = read.bases.size(), .strand = read.strand}, read.first_event, model.view.k, HardClips::count,
                        groups, locate, events);
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
void check_odd(std::uint32_t k, std::size_t problem_count, std::uint64_t seed, const Motif& motif) {
  std::mt19937_64 random(seed);
  const auto chance = [&](int one_in) { return random() % static_cast<unsigned>(one_in) == 0; };
  SimulatedModel model(Alphabet::methylation, k, random);
  for (int i = 0; i < 20; ++i) {
    const std::size_t at = random() % model.mean.size();
    constexpr float kOdd[] = {
        0.0F, -1.0F, 1e-20F, 1e20F, 1e15F, 1e-15F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()};
    (chance(2) ? model.stdv : model.mean)[at] = kOdd[random() % std::size(kOdd)];
    if (chance(3)) model.log_stdv[at] = kOdd[random() % std::size(kOdd)];
  }
  Work work;
  std::vector<std::vector<float>> events(60);
  std::normal_distribution<float> level(90.0F, 15.0F);
  constexpr double kPerBase[] = {1.0,
                                 1.0 + 1e-9,
                                 1.25,
                                 1.7,
                                 2.0,
                                 5.0,
                                 284.9,
                                 286.0,
                                 0.5,
                                 0.0,
                                 -1.0,
                                 1e300,
                                 std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN()};
  for (std::size_t i = 0; i < events.size(); ++i) {
    events[i].resize(chance(10) ? random() % 3 : 50 + random() % 3000);
    for (float& mean : events[i]) {
      mean = level(random);
      if (chance(20)) mean = 90.0F + static_cast<float>(random() % 7) * 1e-3F;
    }
    constexpr float kOdd[] = {
        1e15F, -1e15F, 1e16F, 0.0F, 1e-42F, -1e-38F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()};
    if (chance(3) && !events[i].empty()) {
      for (int n = 0; n < 3; ++n) events[i][random() % events[i].size()] = kOdd[random() % std::size(kOdd)];
    }
    ReadSignal signal{.event_mean = events[i],
                      .scale = 1.0F,
                      .shift = 0.0F,
                      .var = 1.0F,
                      .log_var = 0.0F,
                      .events_per_base = 1.0 + 0.01 * (random() % 300),
                      .strand = chance(2) ? Strand::forward : Strand::reverse};
    if (chance(2))
      signal.scale = 0.8F + 0.001F * (random() % 400), signal.shift = -20.0F + 0.1F * (random() % 400), signal.var = 0.5F + 0.01F * (random() % 200);
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
    problem.last_event = static_cast<std::int32_t>(
        std::clamp<std::int64_t>(problem.first_event + any(2 * span + 1) - span, 0, std::max<std::int64_t>(0, event_count - 1)));
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
  DeviceProblem device(work, model.view, motif);
  for (const EventsPerBase floor : {EventsPerBase::raised, EventsPerBase::compat}) {
    const auto expected = work.expected(model.view, motif, floor);
    const std::string name = motif.name + " odd k=" + std::to_string(k) + (floor == EventsPerBase::raised ? " raised" : " compat");
    compare(name.c_str(), expected, device, floor);
  }
}

// ---- From rows to called groups ----------------------------------------------------------------------------------------

// Columns of a batch of aligned reads on the host.
struct Rows {
  std::vector<std::string> contigs;
  std::vector<std::uint16_t> status;
  std::vector<std::int32_t> contig;
  std::vector<std::int64_t> ref_start, ref_end;
  std::vector<std::uint8_t> reverse;
  std::vector<std::int64_t> cigar_offsets{0}, bases_offsets{0}, event_offsets{0}, map_offsets{0};
  std::vector<std::uint32_t> cigar;
  std::vector<float> events, scale, shift, var, log_var;
  std::vector<std::int32_t> map;
  std::vector<double> per_base;

  std::vector<std::string_view> contig_views() const { return {contigs.begin(), contigs.end()}; }
  std::size_t size() const { return status.size(); }
};

struct Options {
  Motif motif = kCpg;
  HardClips hard_clips = HardClips::count;
  EventsPerBase floor = EventsPerBase::raised;
  cuda::Unscored unscored = cuda::Unscored::left_out;
  cuda::SiteRegion region;
};

struct CalledLists {
  std::vector<cuda::RowStatus> status;
  std::vector<std::int64_t> offsets{0}, site_start, site_end;
  std::vector<std::int32_t> motifs;
  std::vector<float> methylated, unmethylated;
  std::int64_t not_scored = 0;
};

// The functions of methylation.hpp, one row after the other, as the stage calls them on the CPU.
CalledLists expected_lists(const Rows& rows, const KmerModelView& model, const Options& options) {
  struct Found {
    std::vector<SiteGroup> groups;
    std::vector<GroupEvents> events;
    std::vector<GroupScore> scores;
  };
  CalledLists lists;
  lists.status.resize(rows.size());
  std::vector<Found> found(rows.size());
  in_parallel(rows.size(), [&](std::size_t row) {
    auto& status = lists.status[row];
    if (rows.status[row] != 0) return void(status = cuda::RowStatus::skipped);
    if (rows.contig[row] < 0 || static_cast<std::size_t>(rows.contig[row]) >= rows.contigs.size())
      return void(status = cuda::RowStatus::contig_not_in_reference);
    const std::string_view contig = rows.contigs[static_cast<std::size_t>(rows.contig[row])];
    const std::int64_t start = rows.ref_start[row];
    const std::int64_t end = rows.ref_end[row];
    if (start < 0 || end < start || end > static_cast<std::int64_t>(contig.size())) return void(status = cuda::RowStatus::outside_contig);
    const std::string_view segment = contig.substr(static_cast<std::size_t>(start), static_cast<std::size_t>(end - start) + 1);
    std::vector<SiteGroup> groups;
    const Strand strand = rows.reverse[row] != 0 ? Strand::reverse : Strand::forward;
    find_site_groups(segment, options.motif.sites(strand), groups);
    std::vector<GroupEvents> events(groups.size());
    LocateWorkspace locate;
    const auto part = [](const auto& values, const std::vector<std::int64_t>& offsets, std::size_t i) {
      return std::span(values).subspan(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(offsets[i + 1] - offsets[i]));
    };
    const RecordStatus record = locate_group_events(
        {part(rows.cigar, rows.cigar_offsets, row), static_cast<std::size_t>(rows.bases_offsets[row + 1] - rows.bases_offsets[row]), strand},
        part(rows.map, rows.map_offsets, row), model.k, options.hard_clips, groups, locate, events);
    status = record == RecordStatus::ok ? cuda::RowStatus::ok
                                        : static_cast<cuda::RowStatus>(static_cast<int>(cuda::RowStatus::outside_contig) + static_cast<int>(record));
    if (record != RecordStatus::ok) return;
    std::vector<GroupProblem> problems;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const auto& region = options.region;
      if (events[i].status != GroupStatus::ok) continue;
      if (region.contig >= 0 &&
          (region.contig != rows.contig[row] || start + groups[i].first_site < region.start || start + groups[i].last_site >= region.end))
        continue;
      found[row].groups.push_back(groups[i]);
      problems.push_back({0, events[i].first_event, events[i].last_event, calling_sequence(segment, groups[i])});
    }
    const ReadSignal read{
        part(rows.events, rows.event_offsets, row), rows.scale[row], rows.shift[row], rows.var[row], rows.log_var[row], rows.per_base[row], strand};
    found[row].scores.resize(problems.size());
    ScoreWorkspace workspace;
    score_groups(std::span(&read, 1), problems, model, options.motif, options.floor, workspace, found[row].scores);
  });
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t i = 0; i < found[row].groups.size(); ++i) {
      const GroupScore& score = found[row].scores[i];
      if (options.unscored == cuda::Unscored::left_out && score.status != ScoreStatus::ok) {
        ++lists.not_scored;
        continue;
      }
      lists.site_start.push_back(rows.ref_start[row] + found[row].groups[i].first_site);
      lists.site_end.push_back(rows.ref_start[row] + found[row].groups[i].last_site);
      lists.motifs.push_back(found[row].groups[i].site_count);
      lists.methylated.push_back(score.methylated);
      lists.unmethylated.push_back(score.unmethylated);
    }
    lists.offsets.push_back(static_cast<std::int64_t>(lists.site_start.size()));
  }
  return lists;
}

// The same on the device; with runs > 0 prints what each step takes.
CalledLists device_lists(const Rows& host, const SimulatedModel& model, const Options& options, int runs) {
  const auto contigs = host.contig_views();
  DeviceArray<std::byte> reference_memory(cuda::reference_bytes(contigs));
  cuda::Reference reference;
  require(cuda::upload_reference(contigs, options.motif, reference_memory.data(), nullptr, reference), "upload_reference");
  DeviceArray<std::byte> reference_workspace(cuda::reference_group_workspace_bytes(reference));
  const auto count_groups = [&](Strand strand) {
    const std::int64_t* total = nullptr;
    require(cuda::count_reference_groups(reference, strand, reference_workspace.data(), total, nullptr), "count_reference_groups");
    std::int64_t groups = 0;
    require(cudaMemcpy(&groups, total, sizeof groups, cudaMemcpyDeviceToHost), "reference groups");
    return groups;
  };
  const auto list_groups = [&](Strand strand, DeviceArray<std::int64_t>& groups) {
    require(cuda::list_reference_groups(reference, strand, reference_workspace.data(), groups.data(), nullptr), "list_reference_groups");
    reference.groups_of(strand).begin = groups.data();
  };
  reference.groups_of(Strand::forward).count = count_groups(Strand::forward);
  DeviceArray<std::int64_t> forward_groups(static_cast<std::size_t>(reference.groups_of(Strand::forward).count));
  list_groups(Strand::forward, forward_groups);
  reference.groups_of(Strand::reverse).count = count_groups(Strand::reverse);
  DeviceArray<std::int64_t> reverse_groups(static_cast<std::size_t>(reference.groups_of(Strand::reverse).count));
  list_groups(Strand::reverse, reverse_groups);

  const auto count = static_cast<std::uint32_t>(host.size());
  const DeviceArray<std::uint16_t> row_status(host.status);
  const DeviceArray<std::int32_t> contig(host.contig), map(host.map);
  const DeviceArray<std::int64_t> ref_start(host.ref_start), ref_end(host.ref_end), cigar_offsets(host.cigar_offsets),
      bases_offsets(host.bases_offsets), event_offsets(host.event_offsets), map_offsets(host.map_offsets);
  const DeviceArray<std::uint8_t> reverse(host.reverse);
  const DeviceArray<std::uint32_t> cigar(host.cigar);
  const DeviceArray<float> events(host.events), scale(host.scale), shift(host.shift), var(host.var), log_var(host.log_var);
  const DeviceArray<double> per_base(host.per_base);
  const cuda::Alignments alignments{
      count,        row_status.data(),    contig.data(),        ref_start.data(),   ref_end.data(), reverse.data(), cigar_offsets.data(),
      cigar.data(), bases_offsets.data(), event_offsets.data(), map_offsets.data(), map.data()};
  const auto operations = static_cast<std::int64_t>(host.cigar.size());

  DeviceArray<cuda::RowStatus> results(count);
  DeviceArray<std::int64_t> group_offsets(count + std::size_t{1}), offsets(count + std::size_t{1});
  DeviceArray<cuda::RowTotals> row_totals(1);
  DeviceArray<cuda::CalledTotals> called_totals(1);
  DeviceArray<std::byte> row_workspace(cuda::aligned_rows_workspace_bytes(count, operations));
  results.poison();
  row_workspace.poison();
  group_offsets.poison();
  offsets.poison();
  const cuda::AlignedRows aligned{results.data(), group_offsets.data(), row_totals.data(), row_workspace.data()};
  const auto align = [&] {
    require(cuda::align_rows(alignments, operations, reference, model.view.k, options.hard_clips, aligned, nullptr), "align_rows");
  };
  align();
  const cuda::RowTotals totals = row_totals.download().front();
  const auto group_count = static_cast<std::uint32_t>(totals.groups);

  DeviceArray<std::uint32_t> read(group_count);
  DeviceArray<std::int32_t> first(group_count), last(group_count), length(group_count), span(group_count), sites(group_count);
  DeviceArray<std::int64_t> begin(group_count);
  for (DeviceArray<std::int32_t>* values : {&first, &last, &length, &span, &sites}) values->poison();
  const cuda::Groups groups{read.data(), first.data(), last.data(), begin.data(), length.data(), span.data(), sites.data()};
  const auto locate = [&] {
    require(cuda::locate_groups(alignments, operations, reference, model.view.k, options.region, aligned, group_count, groups, nullptr),
            "locate_groups");
  };
  locate();

  DeviceArray<std::byte> table_memory(cuda::tables_bytes(model.view, totals.longest_read_events));
  cuda::Tables tables;
  require(cuda::upload_tables(model.view, options.motif, totals.longest_read_events, table_memory.data(), nullptr, tables), "upload_tables");
  DeviceArray<float> methylated(group_count), unmethylated(group_count);
  DeviceArray<ScoreStatus> status(group_count);
  const cuda::Scores scores{methylated.data(), unmethylated.data(), status.data()};
  DeviceArray<std::byte> workspace(cuda::score_workspace_bytes(count, group_count));
  workspace.poison();
  const cuda::Reads reads{count,      event_offsets.data(), events.data(),   scale.data(),  shift.data(),
                          var.data(), log_var.data(),       per_base.data(), reverse.data()};
  const cuda::Problems problems{group_count, read.data(), first.data(), last.data(), begin.data(), length.data(), reference.bases};
  const auto score = [&] { require(cuda::score_groups(reads, problems, tables, options.floor, scores, workspace.data(), nullptr), "score_groups"); };
  score();
  const auto count_called = [&] {
    require(cuda::count_called(alignments, aligned, groups, scores, options.unscored, offsets.data(), called_totals.data(), nullptr), "count_called");
  };
  count_called();
  const cuda::CalledTotals called = called_totals.download().front();
  const auto calls = static_cast<std::size_t>(called.called);
  DeviceArray<std::int64_t> site_start(calls), site_end(calls);
  DeviceArray<std::int32_t> motifs(calls);
  DeviceArray<float> called_methylated(calls), called_unmethylated(calls);
  const cuda::CalledGroups lists{site_start.data(), site_end.data(), motifs.data(), called_methylated.data(), called_unmethylated.data()};
  const auto gather = [&] {
    require(cuda::gather_called(alignments, reference, aligned, groups, scores, options.unscored, offsets.data(), lists, nullptr), "gather_called");
  };
  gather();
  require(cudaDeviceSynchronize(), "the steps of a row");
  if (runs > 0) {
    const double megabases = static_cast<double>(host.bases_offsets.back()) / 1e6;
    const auto time = [&](const char* name, const auto& step) {
      const double milliseconds = median_milliseconds(runs, step);
      std::printf("TIME %-14s %8.3f ms, %9.1f Mbases/s\n", name, milliseconds, megabases / milliseconds * 1e3);
    };
    time("reference", [&] {
      count_groups(Strand::forward);
      list_groups(Strand::forward, forward_groups);
    });
    time("align_rows", align);
    time("locate_groups", locate);
    time("score_groups", score);
    time("count_called", count_called);
    time("gather_called", gather);
    time("all of a row", [&] { align(), locate(), score(), count_called(), gather(); });
  }
  return {results.download(), offsets.download(),           site_start.download(),          site_end.download(),
          motifs.download(),  called_methylated.download(), called_unmethylated.download(), called.not_scored};
}

void compare_lists(const std::string& name, const CalledLists& expected, const CalledLists& device) {
  const auto same = [](const std::vector<float>& a, const std::vector<float>& b) {
    return std::ranges::equal(a, b, [](float x, float y) { return (std::isnan(x) && std::isnan(y)) || std::memcmp(&x, &y, sizeof x) == 0; });
  };
  std::string wrong;
  if (expected.status != device.status) wrong += " status";
  if (expected.offsets != device.offsets) wrong += " offsets";
  if (expected.site_start != device.site_start) wrong += " site_start";
  if (expected.site_end != device.site_end) wrong += " site_end";
  if (expected.motifs != device.motifs) wrong += " site_motifs";
  if (!same(expected.methylated, device.methylated)) wrong += " log_lik_methylated";
  if (!same(expected.unmethylated, device.unmethylated)) wrong += " log_lik_unmethylated";
  if (expected.not_scored != device.not_scored) wrong += " not_scored";
  for (std::size_t row = 0; row < expected.status.size() && row < device.status.size(); ++row) {
    if (expected.status[row] == device.status[row]) continue;
    std::printf("  %s row %zu: status %d, expected %d\n", name.c_str(), row, static_cast<int>(device.status[row]),
                static_cast<int>(expected.status[row]));
    break;
  }
  if (!wrong.empty()) ++failures;
  const auto ok = std::ranges::count(expected.status, cuda::RowStatus::ok);
  std::printf("%-34s %9zu rows (%td ok), %zu groups called, %lld not scored; %s\n", name.c_str(), expected.status.size(), ok,
              expected.site_start.size(), static_cast<long long>(expected.not_scored), wrong.empty() ? "ok" : ("FAILED:" + wrong).c_str());
}

// Rows as an aligner gives them and rows that it never would: clipped, spliced, off their contig, with maps that have holes or run the wrong way.
Rows odd_rows(std::size_t count, std::uint32_t k, const Motif& motif, std::mt19937_64& random) {
  const auto below = [&](std::int64_t limit) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit)); };
  const auto chance = [&](std::int64_t one_in) { return below(one_in) == 0; };
  std::string site = motif.letters;
  for (char& letter : site)
    if (motif_bit(letter) == 0) letter = letter == 'R' || letter == 'W' || letter == 'N' ? 'A' : 'C';
  Rows rows;
  for (const std::int64_t length : {0L, 1L, 2L, 30L, 700L, 60000L, 20000L, 45L}) {
    std::string contig;
    // Stretches of few and of many sites, down to nothing but sites (groups of more than 200 bases).
    while (static_cast<std::int64_t>(contig.size()) < length) {
      const std::int64_t kind = below(12);
      const std::int64_t stretch = 1 + below(300);
      for (std::int64_t i = 0; i < stretch; ++i) {
        if (kind == 0)
          contig += site;
        else if (kind == 1)
          contig += std::string_view("ACGTCGTCCG").substr(below(10), 1), contig += site;
        else if (kind < 3)
          contig += "ACGGCGTCCG"[below(10)];
        else if (kind == 3)
          contig += "ACGTNacgtcgM*"[below(13)];
        else
          contig += "ACGTACGTATTA"[below(12)];
      }
    }
    contig.resize(static_cast<std::size_t>(length));
    if (length > 100) contig.back() = 'C';  // its G would be in the next contig
    if (length > 100) contig.front() = 'G';
    rows.contigs.push_back(contig);
  }
  for (std::size_t row = 0; row < count; ++row) {
    rows.status.push_back(chance(40) ? 3 : 0);
    std::int32_t contig = chance(8) ? static_cast<std::int32_t>(below(static_cast<std::int64_t>(rows.contigs.size()))) : chance(3) ? 6 : 5;
    const auto size = static_cast<std::int64_t>(rows.contigs[static_cast<std::size_t>(contig)].size());
    std::int64_t start = below(size + 1);
    std::int64_t end = std::min(size, start + below(chance(10) ? 20000 : 1500));
    if (chance(12)) end = size;

    // A CIGAR that covers the segment, more or less.
    std::int64_t read_length = 0;
    const auto add = [&](std::uint32_t operation, std::int64_t length) {
      rows.cigar.push_back(static_cast<std::uint32_t>(length) << 4U | operation);
      if (operation == 0 || operation == 1 || operation == 4 || operation == 5 || operation == 7 || operation == 8) read_length += length;
    };
    if (chance(3)) add(5, below(200));
    if (chance(3)) add(4, below(60));
    for (std::int64_t at = start; at < end && !chance(2000);) {
      const std::int64_t run = std::min(end - at, 1 + below(chance(5) ? 400 : 12));
      constexpr std::uint32_t kAligned[] = {0, 7, 8};
      add(kAligned[below(3)], run);
      at += run;
      if (chance(3)) add(1, below(chance(20) ? 300 : 4));
      if (at < end && chance(3)) {
        const std::int64_t deleted = std::min(end - at, below(chance(20) ? 300 : 4));
        add(2, deleted);
        at += deleted;
      }
      if (chance(40)) add(6, below(5));
      if (chance(3000)) add(3, below(50));
      if (chance(4000)) add(9 + static_cast<std::uint32_t>(below(7)), below(50));
      if (chance(5000)) add(static_cast<std::uint32_t>(below(9)), 0x0FFFFFFF);
    }
    if (chance(3)) add(4, below(60));
    if (chance(6)) add(5, below(200));
    if (read_length > 100000) read_length = below(3000);
    if (chance(30)) read_length = std::max<std::int64_t>(0, read_length + below(61) - 30);
    if (chance(100)) read_length = below(2 * k + 3);
    rows.cigar_offsets.push_back(static_cast<std::int64_t>(rows.cigar.size()));
    rows.bases_offsets.push_back(rows.bases_offsets.back() + read_length);

    std::int64_t kmers = std::max<std::int64_t>(0, read_length - k + 1);
    if (chance(100)) kmers += 1;
    std::int32_t event = 0;
    const bool holes = chance(2);
    std::int64_t hole = 0;
    for (std::int64_t kmer = 0; kmer < kmers; ++kmer) {
      if (holes && chance(60)) hole = below(chance(50) ? 2500 : 30);
      if (hole > 0) {
        --hole;
        rows.map.push_back(-1 - static_cast<std::int32_t>(below(3)));
        continue;
      }
      rows.map.push_back(event);
      event += 1 + static_cast<std::int32_t>(below(3));
      if (chance(500)) event = std::max(0, event - 200);
    }
    if (chance(60)) std::fill(rows.map.begin() + rows.map_offsets.back(), rows.map.end(), static_cast<std::int32_t>(below(4)) - 1);
    rows.map_offsets.push_back(static_cast<std::int64_t>(rows.map.size()));
    const std::int64_t events = chance(40) ? below(event + 1) : event + 3;
    for (std::int64_t i = 0; i < events; ++i) rows.events.push_back(60.0F + static_cast<float>(below(6000)) * 0.01F);
    if (chance(20) && events > 0)
      rows.events[rows.events.size() - 1 - static_cast<std::size_t>(below(events))] = std::numeric_limits<float>::quiet_NaN();
    rows.event_offsets.push_back(static_cast<std::int64_t>(rows.events.size()));

    if (chance(50)) contig = chance(2) ? -1 : static_cast<std::int32_t>(rows.contigs.size());
    if (chance(60)) start = chance(2) ? -1 : std::numeric_limits<std::int64_t>::min();
    if (chance(60)) end = chance(2) ? start - 1 : chance(2) ? size + 1 : std::numeric_limits<std::int64_t>::max();
    rows.contig.push_back(contig);
    rows.ref_start.push_back(start);
    rows.ref_end.push_back(end);
    rows.reverse.push_back(chance(2) ? 1 : 0);
    rows.scale.push_back(0.9F + 0.001F * static_cast<float>(below(200)));
    rows.shift.push_back(static_cast<float>(below(20)));
    rows.var.push_back(chance(50) ? 0.0F : 0.7F + 0.01F * static_cast<float>(below(100)));
    rows.log_var.push_back(std::log(rows.var.back()));
    rows.per_base.push_back(chance(30) ? 0.7 : 1.0 + 0.01 * static_cast<double>(below(200)));
  }
  return rows;
}

void check_rows(std::uint32_t k, std::size_t count, std::uint64_t seed, const Motif& motif) {
  std::mt19937_64 random(seed);
  const SimulatedModel model(Alphabet::methylation, k, random);
  const Rows rows = odd_rows(count, k, motif, random);
  const Options variants[] = {{motif},
                              {motif, HardClips::compat, EventsPerBase::compat, cuda::Unscored::kept, {}},
                              {motif, HardClips::count, EventsPerBase::raised, cuda::Unscored::left_out, {5, 20000, 33000}}};
  for (const Options& options : variants) {
    const std::string name = motif.name + " rows k=" + std::to_string(k) +
                             (options.region.contig >= 0                 ? " region"
                              : options.unscored == cuda::Unscored::kept ? " compat"
                                                                         : "");
    compare_lists(name, expected_lists(rows, model.view, options), device_lists(rows, model, options, 0));
  }
}

// Simulated reads as rows: an aligned block every three bases, as many operations as real alignments have.
Rows simulated_rows(const std::vector<SimulatedRead>& reads) {
  Rows rows;
  rows.contigs.emplace_back();
  for (const SimulatedRead& read : reads) {
    const auto length = static_cast<std::int64_t>(read.bases.size());
    const auto at = static_cast<std::int64_t>(rows.contigs[0].size());
    rows.contigs[0] += read.bases;
    rows.status.push_back(0);
    rows.contig.push_back(0);
    rows.ref_start.push_back(at);
    rows.ref_end.push_back(at + length);
    rows.reverse.push_back(read.strand == Strand::reverse ? 1 : 0);
    for (std::int64_t done = 0; done < length; done += 3)
      rows.cigar.push_back(static_cast<std::uint32_t>(std::min<std::int64_t>(3, length - done)) << 4U);
    rows.cigar_offsets.push_back(static_cast<std::int64_t>(rows.cigar.size()));
    rows.bases_offsets.push_back(at + length);
    rows.map.insert(rows.map.end(), read.first_event.begin(), read.first_event.end());
    rows.map_offsets.push_back(static_cast<std::int64_t>(rows.map.size()));
    rows.events.insert(rows.events.end(), read.events.begin(), read.events.end());
    rows.event_offsets.push_back(static_cast<std::int64_t>(rows.events.size()));
    rows.scale.push_back(1.0F);
    rows.shift.push_back(0.0F);
    rows.var.push_back(1.0F);
    rows.log_var.push_back(0.0F);
    rows.per_base.push_back(static_cast<double>(read.events.size()) / static_cast<double>(length));
  }
  return rows;
}

void bench(double megabases, int runs) {
  std::mt19937_64 random(7);
  const SimulatedModel model(Alphabet::methylation, 6, random);
  constexpr std::size_t kReadLength = 8000;
  auto simulated = simulate(model, std::max<std::size_t>(1, static_cast<std::size_t>(megabases * 1e6 / kReadLength)), kReadLength, 100);
  {
    const Work work = simulated_work(model, simulated);
    const double bases = static_cast<double>(work.bases.size());
    const double cells = work.cells(6);
    std::printf("%.1f Mbases, %zu reads, %zu groups, %.1f cells a base over both hypotheses\n", bases / 1e6, work.reads.size(), work.problems.size(),
                cells / bases);
    DeviceProblem device(work, model.view, kCpg);
    compare("simulated", work.expected(model.view, kCpg, EventsPerBase::raised), device, EventsPerBase::raised);
    const double time = median_milliseconds(runs, [&] { device.score(EventsPerBase::raised); });
    std::printf("TIME score_groups alone: %8.3f ms, %8.1f Mbases/s, %7.1f Gcells/s, %7.1f G log-sums/s\n", time, bases / time / 1e3,
                cells / time / 1e6, 7 * cells / time / 1e6);
  }
  const Rows rows = simulated_rows(simulated);
  compare_lists("simulated rows", expected_lists(rows, model.view, {}), device_lists(rows, model, {}, runs));
}

}  // namespace

int main(int argument_count, char** arguments) {
  const CommandLine command = parse_command_line(argument_count, arguments, 40.0);
  const bool small = command.checks == Extent::small;
  if (command.checks != Extent::none) {
    check_odd(6, small ? 300 : 20000, 1, kCpg);
    check_odd(9, small ? 100 : 5000, 2, kCpg);
    check_odd(1, small ? 100 : 2000, 3, kCpg);
    check_rows(6, small ? 150 : 4000, 4, kCpg);
    check_rows(9, small ? 60 : 1000, 5, kCpg);
    // The named ones, free ones that are not their own reverse complement, the longest that there are, and a single letter.
    for (const char* const name : {"gpc", "dam", "dcm", "GAAGC:2:a", "CTR:0:m", "GAHTHCCATTYT:1:a", "GAYTACCWTTCATMCA:1:a", "A:0:a"}) {
      const Motif motif = parse_motif(name);
      check_odd(6, small ? 200 : 5000, 6, motif);
      check_rows(6, small ? 100 : 2000, 7, motif);
    }
  }
  if (command.amount > 0) bench(command.amount, command.runs);
  std::printf("%s\n", failures == 0 ? "ALL OK" : "SOME FAILED");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
