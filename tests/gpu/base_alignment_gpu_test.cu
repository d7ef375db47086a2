// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The CUDA alignment of gaps and ends, and of pieces across introns, against the CPU's, score for score and operation for operation, and its speed,
// of gaps and ends beside a loop of the same cells that touches registers only. The command line is that of kernel_check.hpp; AMOUNT: Mbases of
// pieces for the timings (default 100).

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base_alignment/cuda/band_lane.hpp"
#include "base_alignment/cuda/block_cell.hpp"
#include "base_alignment/cuda/cuda.hpp"
#include "base_alignment/cuda/spliced_lane.hpp"
#include "base_alignment/kernel/align.hpp"
#include "base_alignment/splicing/cut_target.hpp"
#include "kernel_check.hpp"
#include "unit/mapping/base_alignment/spliced_problems.hpp"

namespace {

using namespace sluice;
using namespace sluice::gpu_test;
using namespace sluice::base_alignment;
using kernel_problems::Bases;
using kernel_problems::Pair;

int failures = 0;

struct Set {
  std::vector<Pair> pairs;
  std::vector<Problem> problems;
};

std::vector<Alignment> of_cpu(const Scores& scores, const std::vector<Problem>& problems) {
  std::vector<Alignment> result(problems.size());
  const std::size_t part = 256;
  in_parallel((problems.size() + part - 1) / part, [&](std::size_t k) {
    MatrixRows rows;
    for (std::size_t i = k * part; i < std::min(problems.size(), (k + 1) * part); ++i) align(scores, problems[i], rows, result[i]);
  });
  return result;
}

using Laps = std::function<void(cuda::Phase, double)>;

// Memory for one call: poisoned, or as a pool gives it, which was asked for the same before.
class CallMemory {
 public:
  explicit CallMemory(Contents contents) : contents_(contents) {}
  void* get(std::size_t bytes) {
    if (next_ == arrays_.size() || arrays_[next_]->size() < bytes) {
      arrays_.resize(next_);
      arrays_.push_back(std::make_unique<DeviceArray<std::uint8_t>>(bytes, contents_));
      require(cudaDeviceSynchronize(), "memory");
    }
    return arrays_[next_++]->data();
  }
  void start_again() { next_ = 0; }

 private:
  Contents contents_;
  std::vector<std::unique_ptr<DeviceArray<std::uint8_t>>> arrays_;
  std::size_t next_ = 0;
};

cuda::Resources resources_of(std::size_t scratch, CallMemory& memory, const Laps& laps) {
  cuda::Resources resources;
  resources.allocate = [&memory](std::size_t bytes) { return memory.get(bytes); };
  resources.scratch_bytes = scratch;
  resources.lap = laps;
  return resources;
}
void align_on_device(const Scores& scores, const std::vector<Problem>& problems, std::size_t scratch, CallMemory& memory, cuda::Answers& answers,
                     const Laps& laps = {}) {
  cuda::align(scores, problems, resources_of(scratch, memory, laps), answers);
}

bool same(const Alignment& a, const cuda::Answer& b, std::span<const std::uint32_t> cigar, Goal goal) {
  const bool path = std::equal(a.cigar.begin(), a.cigar.end(), cigar.begin(), cigar.end());
  const bool best = goal == Goal::ends || (a.best == b.best && a.best_target == b.best_target && a.best_query == b.best_query &&
                                           a.query_end_score == b.query_end_score && a.query_end_target == b.query_end_target);
  return path && best && a.score == b.score && a.dropped == b.dropped && a.reached_end == b.reached_end;
}

std::string text(std::span<const std::uint32_t> cigar) {
  std::string result;
  for (const std::uint32_t operation : cigar) result += std::to_string(operation >> 4) + "MIDN"[operation & 15U];
  return result.substr(0, 200);
}

// all_fit: none may be left to the CPU.
void compare(const std::string& name, const std::vector<Problem>& problems, const std::vector<Alignment>& expected, const cuda::Answers& answers,
             bool all_fit) {
  std::size_t wrong = 0, left = 0;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (answers.is_done[i] == 0) {
      ++left;
      continue;
    }
    if (same(expected[i], answers.of[i], answers.cigar(i), problems[i].goal)) continue;
    if (++wrong > 3) continue;
    const Problem& p = problems[i];
    const Alignment& a = expected[i];
    const cuda::Answer& b = answers.of[i];
    std::printf(
        "  %zu: %d x %d band %d drop %d bonus %d goal %d ties %d\n   CPU %d (%d, %d) %d (%d) %d %d%d %s\n   GPU %d (%d, %d) %d (%d) %d %d%d %s\n", i,
        p.query_length, p.target_length, p.band, p.z_drop, p.end_bonus, static_cast<int>(p.goal), static_cast<int>(p.ties), a.best, a.best_target,
        a.best_query, a.query_end_score, a.query_end_target, a.score, a.dropped, a.reached_end, text(a.cigar).c_str(), b.best, b.best_target,
        b.best_query, b.query_end_score, b.query_end_target, b.score, b.dropped, b.reached_end, text(answers.cigar(i)).c_str());
  }
  const bool good = wrong == 0 && (left == 0 || !all_fit);
  if (!good) ++failures;
  std::printf("%s %s: %zu of %zu wrong; %zu in 128 cells, %zu in blocks, %zu left\n", good ? "ok" : "FAILED", name.c_str(), wrong, problems.size(),
              answers.in_wide_bands, answers.in_blocks, left);
}
void compare(const std::string& name, const Scores& scores, const std::vector<Problem>& problems, std::size_t scratch) {
  cuda::Answers answers;
  CallMemory memory(Contents::poison);
  align_on_device(scores, problems, scratch, memory, answers);
  compare(name, problems, of_cpu(scores, problems), answers, true);
}

Set random_set(std::size_t count, std::size_t longest, bool banded, unsigned seed) {
  std::mt19937 random(seed);
  Set set;
  set.pairs.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    set.pairs.push_back(kernel_problems::random_pair(random, random() % (longest + 1), random() % (longest + 1)));
  for (const Pair& pair : set.pairs) {
    set.problems.push_back(pair.problem(random, banded && random() % 2 == 0));
    if (random() % 2 == 0) continue;
    set.problems.back().goal = Goal::ends;
    set.problems.back().ties = TieOrder::gap_right;
  }
  return set;
}

// A sequence and what a sequencer makes of it.
Pair read_like(std::mt19937& random, std::size_t length, double errors) {
  Pair pair;
  pair.target = kernel_problems::random_bases(random, length, 4, 0);
  std::uniform_real_distribution<double> chance(0.0, 1.0);
  for (const std::uint8_t base : pair.target) {
    const double kind = chance(random);
    if (kind < errors * 0.4) continue;
    if (kind < errors * 0.7) pair.query.push_back(static_cast<std::uint8_t>(random() % 4));
    pair.query.push_back(kind > 1 - errors * 0.3 ? static_cast<std::uint8_t>((base + 1) % 4) : base);
  }
  if (pair.query.empty()) pair.query.push_back(0);
  return pair;
}

struct Kind {
  const char* name;
  Scores scores;
  std::size_t shortest, longest;
  double errors;
  Goal goal;
  std::int32_t band, z_drop;
};
const std::array<Kind, 4> kinds{Kind{"nanopore gaps", {}, 200, 320, 0.10, Goal::ends, 30001, 400},
                                Kind{"HiFi gaps", {1, 4, 1, 6, 2, 26, 1}, 200, 420, 0.005, Goal::ends, 30001, 400},
                                Kind{"short ends", {}, 10, 80, 0.10, Goal::extension, 751, 400},
                                Kind{"long ends", {}, 2000, 5000, 0.12, Goal::extension, 751, 400}};

Set set_of(const Kind& kind, std::size_t count, unsigned seed) {
  Set set;
  set.pairs.resize(count);
  in_parallel(count, [&](std::size_t i) {
    std::mt19937 random(static_cast<unsigned>(seed + i));
    set.pairs[i] = read_like(random, kind.shortest + random() % (kind.longest - kind.shortest + 1), kind.errors);
    // Ends have more of the target than they need, and some are another sequence from the middle on.
    if (kind.goal != Goal::extension) return;
    const Bases more = kernel_problems::random_bases(random, set.pairs[i].query.size() / 2, 4, 0);
    set.pairs[i].target.insert(set.pairs[i].target.end(), more.begin(), more.end());
    if (random() % 4 == 0) {
      const Bases other = kernel_problems::random_bases(random, set.pairs[i].query.size() / 2, 4, 0);
      std::copy(other.begin(), other.end(), set.pairs[i].query.end() - static_cast<std::ptrdiff_t>(other.size()));
    }
  });
  std::mt19937 random(seed);
  for (const Pair& pair : set.pairs) {
    Problem p = pair.problem(random, false);
    p.band = kind.band;
    p.z_drop = kind.z_drop;
    p.end_bonus = -1;
    p.goal = kind.goal;
    p.ties = kind.goal == Goal::extension && random() % 2 == 0 ? TieOrder::gap_left : TieOrder::gap_right;
    set.problems.push_back(p);
  }
  return set;
}

// ---- across introns
struct SplicedSet {
  std::vector<kernel_problems::SplicedPair> pairs;
  std::vector<std::vector<cuda::SiteWord>> words;
  std::vector<Problem> problems;
  std::vector<cuda::SplicedProblem> spliced;
  std::vector<std::vector<std::int32_t>> of_cuts;  // of targets that something was cut out of
  std::vector<std::int32_t> highest;               // of paths through the cuts, as the host says

  void add_problem(const Problem& problem) {
    const kernel_problems::SplicedPair& pair = pairs[problems.size()];
    std::vector<cuda::SiteWord>& target = words.emplace_back();
    for (std::size_t i = 0; i < pair.pair.target.size(); ++i)
      target.push_back(cuda::site_word(pair.pair.target[i], pair.sites.donor[i], pair.sites.acceptor[i]));
    problems.push_back(problem);
    spliced.push_back({problem, target.data()});
  }
};
std::vector<Alignment> of_cpu(const Scores& scores, const SplicedSet& set) {
  std::vector<Alignment> result(set.problems.size());
  const std::size_t part = 16;
  in_parallel((result.size() + part - 1) / part, [&](std::size_t k) {
    SplicedRows rows;
    for (std::size_t i = k * part; i < std::min(result.size(), (k + 1) * part); ++i)
      align_spliced(scores, set.problems[i], {set.pairs[i].sites.donor, set.pairs[i].sites.acceptor}, rows, result[i]);
  });
  return result;
}
SplicedSet random_spliced_set(std::size_t count, std::size_t longest_read, std::size_t longest_intron, unsigned seed) {
  std::mt19937 random(seed);
  SplicedSet set;
  for (std::size_t i = 0; i < count; ++i) set.pairs.push_back(kernel_problems::random_spliced_pair(random, longest_read, longest_intron));
  for (const kernel_problems::SplicedPair& pair : set.pairs) set.add_problem(pair.problem(random));
  return set;
}
// A read's part between two anchors over an intron, from end to end.
SplicedSet intron_set(std::size_t count, std::size_t read, std::size_t intron, double errors, unsigned seed) {
  SplicedSet set;
  set.pairs.resize(count);
  in_parallel(count, [&](std::size_t i) {
    std::mt19937 random(static_cast<unsigned>(seed + i));
    const Pair pair = read_like(random, read, errors);
    Bases target = pair.target, between = kernel_problems::random_bases(random, intron, 4, 0);
    between[0] = 2, between[1] = 3, between[intron - 2] = 0, between[intron - 1] = 2;  // GT, AG
    target.insert(target.begin() + static_cast<std::ptrdiff_t>(random() % target.size()), between.begin(), between.end());
    set.pairs[i].pair = {pair.query, target};
    set.pairs[i].sites = kernel_problems::sites_of(target, i % 2 == 0 ? kernel_problems::Sites::forward : kernel_problems::Sites::reverse);
  });
  for (const kernel_problems::SplicedPair& pair : set.pairs) {
    Problem problem;
    problem.query = pair.pair.query.data();
    problem.target = pair.pair.target.data();
    problem.query_length = static_cast<std::int32_t>(pair.pair.query.size());
    problem.target_length = static_cast<std::int32_t>(pair.pair.target.size());
    set.add_problem(problem);
  }
  return set;
}
// Targets without what is cut out of them.
SplicedSet cut_set(std::size_t count, unsigned seed) {
  const Scores& scores = kernel_problems::spliced_scores[0];
  std::mt19937 random(seed);
  SplicedSet set;
  SplicedRows rows;
  CutScratch scratch;
  Cuts cuts;
  std::vector<Bases> reads;
  while (set.pairs.size() < count) {
    const Pair pair = kernel_problems::random_long_pair(random);
    Problem whole = pair.problem(random, false);
    whole.goal = Goal::ends;
    whole.ties = TieOrder::gap_right;
    find_cuts(scores, whole, scratch, cuts);
    if (!cuts.any()) continue;
    ShortTarget target;
    cut_out({}, {.codes = pair.target, .sites = static_cast<kernel_problems::Sites>(random() % 3)}, cuts.of_target, target);
    want_edges(cuts, scratch);
    Problem problem = whole;
    problem.target = target.codes.data();
    problem.target_length -= cuts.bases();
    Alignment made;
    align_spliced(scores, problem, {target.sites.donor, target.sites.acceptor}, rows, made, scratch.edges);
    set.highest.push_back(highest_through_cuts(scores, whole, cuts, target, rows, scratch));
    std::vector<std::int32_t>& numbers = set.of_cuts.emplace_back();
    for (const SplicedEdge& edge : scratch.edges) numbers.push_back(edge.column);
    for (const Cut& cut : cuts.of_target) numbers.insert(numbers.end(), cut.losses.begin(), cut.losses.end());
    set.pairs.push_back({{pair.query, target.codes}, target.sites});
  }
  for (std::size_t i = 0; i < set.pairs.size(); ++i) {
    Problem problem;
    problem.query = set.pairs[i].pair.query.data();
    problem.target = set.pairs[i].pair.target.data();
    problem.query_length = static_cast<std::int32_t>(set.pairs[i].pair.query.size());
    problem.target_length = static_cast<std::int32_t>(set.pairs[i].pair.target.size());
    set.add_problem(problem);
    set.spliced.back().cuts = static_cast<std::int32_t>(set.of_cuts[i].size() / (2 + set.pairs[i].pair.query.size()));
    set.spliced.back().of_cuts = set.of_cuts[i].data();
  }
  return set;
}
void compare_spliced(const std::string& name, const Scores& scores, const SplicedSet& set, std::size_t scratch, bool all_fit) {
  cuda::Answers answers;
  CallMemory memory(Contents::poison);
  cuda::align_spliced(scores, set.spliced, resources_of(scratch, memory, {}), answers);
  compare(name, set.problems, of_cpu(scores, set), answers, all_fit);
  std::size_t other = 0;
  for (std::size_t i = 0; i < set.highest.size(); ++i)
    other += std::min(answers.of[i].highest_through_cuts, highest_with_two_introns(scores, set.problems[i])) == set.highest[i] ? 0U : 1U;
  if (set.highest.empty()) return;
  if (other > 0) ++failures;
  std::printf("%s %s: %zu of %zu paths through cuts may score otherwise\n", other == 0 ? "ok" : "FAILED", name.c_str(), other, set.highest.size());
}
void check_spliced(bool small) {
  const std::size_t few = std::size_t{64} << 20, much = std::size_t{2} << 30;
  for (std::size_t k = 0; k < kernel_problems::spliced_scores.size(); ++k) {
    const Scores& scores = kernel_problems::spliced_scores[k];
    const std::string name = "introns, scores " + std::to_string(k);
    const auto seed = static_cast<unsigned>(1000 + 10 * k);
    compare_spliced(name + " short", scores, random_spliced_set(small ? 200 : 20'000, 70, 140, seed), few, true);
    compare_spliced(name + " medium", scores, random_spliced_set(small ? 40 : 5'000, 300, 1500, seed + 1), much, true);
    // Reads of more than 512 bases are the CPU's.
    if (!small) compare_spliced(name + " long", scores, random_spliced_set(300, 900, 6000, seed + 2), much, false);
  }
  compare_spliced("introns between anchors", kernel_problems::spliced_scores[0], intron_set(small ? 20 : 3000, 210, small ? 1500 : 6000, 0.05, 1),
                  much, true);
  compare_spliced("introns with cuts", kernel_problems::spliced_scores[0], cut_set(small ? 20 : 5000, 4), much, true);
  if (small) return;
  compare_spliced("an intron of 200 kb", kernel_problems::spliced_scores[0], intron_set(8, 210, 200'000, 0.05, 2), much, true);
  compare_spliced("an intron without room", kernel_problems::spliced_scores[0], intron_set(4, 210, 200'000, 0.05, 3), std::size_t{16} << 20, false);
}
void bench_spliced(int runs) {
  const Scores& scores = kernel_problems::spliced_scores[0];
  struct SplicedKind {
    const char* name;
    std::size_t count, read, intron;
  };
  for (const SplicedKind& kind : {SplicedKind{"introns without their middles", 100'000, 210, 300}, SplicedKind{"introns of 6 kb", 10'000, 210, 6000},
                                  SplicedKind{"parts of 50 bases", 200'000, 50, 100}}) {
    const SplicedSet set = intron_set(kind.count, kind.read, kind.intron, 0.05, 77);
    double cells = 0;
    for (const Problem& p : set.problems) cells += static_cast<double>(p.query_length) * p.target_length;
    std::array<double, cuda::phases> seconds{};
    cuda::Answers answers;
    CallMemory memory(Contents::undefined);
    for (int run = 0; run < std::max(2, runs); ++run) {
      memory.start_again();
      seconds.fill(0);
      auto before = std::chrono::steady_clock::now();
      const Laps laps = [&](cuda::Phase phase, double) {
        require(cudaDeviceSynchronize(), "a phase");
        const auto now = std::chrono::steady_clock::now();
        seconds[static_cast<std::size_t>(phase)] += std::chrono::duration<double>(now - before).count();
        before = now;
      };
      cuda::align_spliced(scores, set.spliced, resources_of(std::size_t{8} << 30, memory, laps), answers);
    }
    const double filled = seconds[static_cast<std::size_t>(cuda::Phase::fill_spliced)];
    std::printf("TIME %s, %zu: rows %.2f ms (%.1f Gcells/s), paths %.2f ms, upload %.2f ms, download %.2f ms, preparation %.2f ms, left %zu\n",
                kind.name, set.problems.size(), filled * 1e3, cells / filled / 1e9, seconds[static_cast<std::size_t>(cuda::Phase::follow)] * 1e3,
                seconds[static_cast<std::size_t>(cuda::Phase::upload)] * 1e3, seconds[static_cast<std::size_t>(cuda::Phase::download)] * 1e3,
                seconds[static_cast<std::size_t>(cuda::Phase::prepare)] * 1e3, answers.left);
    const auto start = std::chrono::steady_clock::now();
    const std::vector<Alignment> expected = of_cpu(scores, set);
    std::printf("TIME   CPU, %u threads: %.2f ms\n", std::thread::hardware_concurrency(),
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() * 1e3);
    compare(kind.name, set.problems, expected, answers, true);
  }
}

void check(bool small) {
  check_spliced(small);
  const std::size_t few = std::size_t{64} << 20, much = std::size_t{2} << 30;
  for (std::size_t k = 0; k < kernel_problems::score_sets.size(); ++k) {
    const Scores& scores = kernel_problems::score_sets[k];
    const auto seed = static_cast<unsigned>(100 * k);
    const std::string name = "scores " + std::to_string(k);
    compare(name + " short", scores, random_set(small ? 500 : 200'000, 80, true, seed).problems, few);
    compare(name + " medium", scores, random_set(small ? 100 : 50'000, 500, true, seed + 1).problems, much);
    if (!small) compare(name + " long", scores, random_set(300, 4000, true, seed + 2).problems, much);
  }
  for (const Kind& kind : kinds) compare(kind.name, kind.scores, set_of(kind, small ? 50 : kind.longest > 1000 ? 300 : 50'000, 7).problems, much);
}

// Rows of one lane's cells with their steps, in registers.
constexpr int threads_of_floor = 128;
template <int words>
__global__ void __launch_bounds__(threads_of_floor) floor_kernel(const __grid_constant__ cuda::BandRule rule, std::int32_t rows, std::uint32_t* out) {
  using Lane = cuda::BandLane<true, words>;
  Lane lane;
  lane.start(rule);
  std::uint32_t kept = threadIdx.x * 0x9E3779B9U;
  for (std::int32_t row = 0; row < rows; ++row) {
    std::uint32_t steps[Lane::step_words];
    lane.move_target(kept & 3U);
    lane.fill(rule, steps);
    for (const std::uint32_t step : steps) kept = kept * 5 + step;
  }
  out[blockIdx.x * threads_of_floor + threadIdx.x] = kept;
}
template <int words>
double floor_cells_per_second(int runs) {
  int device = 0, multiprocessors = 0;
  require(cudaGetDevice(&device), "cudaGetDevice");
  require(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
  const int blocks = multiprocessors * 16;
  constexpr std::int32_t rows = 20'000;
  const cuda::BandRule rule = cuda::band_rule(Scores{});
  const DeviceArray<std::uint32_t> out(static_cast<std::size_t>(blocks) * threads_of_floor);
  const double time =
      median_milliseconds(runs, [&] { floor_kernel<words><<<static_cast<unsigned int>(blocks), threads_of_floor>>>(rule, rows, out.data()); });
  return static_cast<double>(blocks) * threads_of_floor * rows * 2 * words / time * 1e3;
}

// The same of one cell of a block.
__global__ void __launch_bounds__(threads_of_floor) block_floor_kernel(const __grid_constant__ Scores scores, std::int32_t rows, std::uint32_t* out) {
  cuda::LeftCell left{-6, -25, -6, -6};
  cuda::UpperCell upper{-6, -25, -6, 2};
  std::uint32_t kept = threadIdx.x * 0x9E3779B9U;
  for (std::int32_t row = 0; row < rows; ++row) {
    upper.substitution = static_cast<std::int8_t>((kept >> 16 & 1U) != 0 ? scores.match : -scores.mismatch);
    kept = kept * 5 + cuda::BlockCell<true, TieOrder::gap_left>::fill(scores, left, upper);
  }
  out[blockIdx.x * threads_of_floor + threadIdx.x] = kept;
}
double block_floor_cells_per_second(int runs) {
  const int blocks = 132 * 16;
  constexpr std::int32_t rows = 20'000;
  const DeviceArray<std::uint32_t> out(static_cast<std::size_t>(blocks) * threads_of_floor);
  const double time =
      median_milliseconds(runs, [&] { block_floor_kernel<<<static_cast<unsigned int>(blocks), threads_of_floor>>>(Scores{}, rows, out.data()); });
  return static_cast<double>(blocks) * threads_of_floor * rows / time * 1e3;
}

void bench(double megabases, int runs) {
  const double floor = floor_cells_per_second<4>(runs);
  std::printf("TIME registers only, steps included: %8.1f Gcells/s (4 words a lane), %8.1f (2), %8.1f (1)\n", floor / 1e9,
              floor_cells_per_second<2>(runs) / 1e9, floor_cells_per_second<1>(runs) / 1e9);
  const double block_floor = block_floor_cells_per_second(runs);
  std::printf("TIME registers only, cells of blocks: %8.1f Gcells/s\n", block_floor / 1e9);
  for (const Kind& kind : kinds) {
    const double share = kind.goal == Goal::extension ? 0.1 : 1.0;
    const auto mean = static_cast<double>(kind.shortest + kind.longest) / 2;
    const Set set = set_of(kind, static_cast<std::size_t>(std::max(16.0, megabases * share * 1e6 / mean)), 11);
    std::array<double, cuda::phases> seconds{}, cells{};
    cuda::Answers answers;
    CallMemory memory(Contents::undefined);
    for (int run = 0; run < 2; ++run) {
      memory.start_again();
      seconds.fill(0);
      cells.fill(0);
      auto before = std::chrono::steady_clock::now();
      align_on_device(kind.scores, set.problems, std::size_t{8} << 30, memory, answers, [&](cuda::Phase phase, double count) {
        require(cudaDeviceSynchronize(), "a phase");
        const auto now = std::chrono::steady_clock::now();
        seconds[static_cast<std::size_t>(phase)] += std::chrono::duration<double>(now - before).count();
        cells[static_cast<std::size_t>(phase)] += count;
        before = now;
      });
    }
    std::printf("TIME %s, %zu: 128 cells %zu, blocks %zu, left %zu\n", kind.name, set.problems.size(), answers.in_wide_bands, answers.in_blocks,
                answers.left);
    constexpr const char* names[cuda::phases] = {"preparation", "upload", "band of 64", "band of 128", "blocks", "introns", "paths", "download"};
    for (std::size_t phase = 0; phase < cuda::phases; ++phase) {
      if (seconds[phase] == 0) continue;
      std::printf("TIME   %-12s %8.2f ms", names[phase], seconds[phase] * 1e3);
      if (cells[phase] > 0) std::printf(", %8.1f Gcells/s", cells[phase] / seconds[phase] / 1e9);
      if (cells[phase] > 0 && phase >= 2 && phase <= 4)
        std::printf(", %5.1f %% of registers only", cells[phase] / seconds[phase] / (phase == 4 ? block_floor : floor) * 100);
      std::printf("\n");
    }
    const auto start = std::chrono::steady_clock::now();
    const std::vector<Alignment> expected = of_cpu(kind.scores, set.problems);
    std::printf("TIME   CPU, %u threads: %.2f ms\n", std::thread::hardware_concurrency(),
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() * 1e3);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (answers.is_done[i] == 0 || !same(expected[i], answers.of[i], answers.cigar(i), kind.goal)) ++wrong;
    if (wrong != 0) ++failures;
    std::printf("%s %s: %zu wrong\n", wrong == 0 ? "ok" : "FAILED", kind.name, wrong);
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  const CommandLine command = parse_command_line(argument_count, arguments, 100.0);
  if (command.checks != Extent::none) check(command.checks == Extent::small);
  if (command.amount > 0) {
    bench(command.amount, command.runs);
    bench_spliced(command.runs);
  }
  std::printf("%s\n", failures == 0 ? "ALL OK" : "SOME FAILED");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
