// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The work of the device's lanes and teams on the host, against the plain form. (Kernels: tests/gpu/base_alignment_gpu_test.cu.)

#include <doctest/doctest.h>

#include <barrier>
#include <string>
#include <thread>

#include "base_alignment/cuda/band_lane.hpp"
#include "base_alignment/cuda/block_rows.hpp"
#include "base_alignment/cuda/job.hpp"
#include "base_alignment/cuda/path.hpp"
#include "base_alignment/cuda/plan.hpp"
#include "base_alignment/cuda/spliced_lane.hpp"
#include "base_alignment/gap_filling.hpp"
#include "base_alignment/splicing/cut_target.hpp"
#include "spliced_problems.hpp"

using namespace sluice::base_alignment;
using namespace kernel_problems;

namespace {

std::string text(std::span<const std::uint32_t> cigar) {
  std::string result;
  for (const std::uint32_t operation : cigar) result += std::to_string(operation >> 4) + "MIDN"[operation & 15U];
  return result;
}
template <class Made>
std::string text(const Made& a, std::span<const std::uint32_t> cigar) {
  const auto number = [](std::int32_t value) { return ' ' + std::to_string(value); };
  return number(a.best) + number(a.best_target) + number(a.best_query) + number(a.query_end_score) + number(a.query_end_target) + number(a.score) +
         (a.dropped ? " dropped" : "") + (a.reached_end ? " end" : "") + ' ' + text(cigar);
}

// Memory of one job.
struct Memory {
  explicit Memory(const Problem& problem) : job(cuda::job_of(problem)) {
    codes.assign(problem.query, problem.query + problem.query_length);
    codes.insert(codes.end(), problem.target, problem.target + problem.target_length);
    job.target = problem.query_length;
    operations.resize(static_cast<std::size_t>(problem.query_length + problem.target_length), 0xABABABAB);
  }
  std::span<const std::uint32_t> cigar(const cuda::Answer& answer) const {
    return std::span(operations).subspan(static_cast<std::size_t>(answer.operations), static_cast<std::size_t>(answer.operation_count));
  }
  cuda::Job job;
  std::vector<std::uint8_t> codes, steps;
  std::vector<std::uint32_t> operations;
};

template <bool two_pieces, int words, int lanes>
cuda::Answer align_in_band(const Scores& scores, const Problem& problem, Memory& memory) {
  using Walk = cuda::BandWalk<two_pieces, words, lanes>;
  using Lane = typename Walk::Lane;
  const cuda::BandRule rule = cuda::band_rule(scores);
  const Diagonals band = diagonals_around(problem, Walk::width);
  const std::int32_t rows = problem.query_length + problem.target_length - 1;
  memory.steps.assign(static_cast<std::size_t>(rows) * Walk::width, 0xFF);
  std::vector<Walk> walks(lanes);
  for (int lane = 0; lane < lanes; ++lane)
    walks[static_cast<std::size_t>(lane)].start(rule, memory.codes.data(), memory.codes.data() + memory.job.target, problem.query_length,
                                                problem.target_length, band.lowest, lane);
  const std::int32_t bordered = cuda::bordered_rows(rows, band);
  for (std::int32_t row = 0; row < rows; ++row) {
    const bool even = row % 2 == 0;
    std::vector<cuda::Passing> passing;
    for (const Walk& walk : walks) passing.push_back(even ? walk.passing_even() : walk.passing_odd());
    for (int lane = 0; lane < lanes; ++lane) {
      const int from = even ? std::max(lane - 1, 0) : std::min(lane + 1, lanes - 1);
      Walk& walk = walks[static_cast<std::size_t>(lane)];
      const cuda::Passing in = passing[static_cast<std::size_t>(from)];
      std::uint32_t steps[Lane::step_words];
      if (even && row < bordered)
        walk.template fill_even<true>(rule, scores, row, in, steps);
      else if (even)
        walk.template fill_even<false>(rule, scores, row, in, steps);
      else if (row < bordered)
        walk.template fill_odd<true>(rule, scores, row, in, steps);
      else
        walk.template fill_odd<false>(rule, scores, row, in, steps);
      for (int c = 0; c < Lane::cells; ++c)
        memory.steps[static_cast<std::size_t>(row) * Walk::width + static_cast<std::size_t>(lane * Lane::cells + c)] =
            static_cast<std::uint8_t>(steps[c / 4] >> 8 * (c % 4));
    }
  }
  cuda::Answer answer;
  memory.job.least_score = static_cast<std::int32_t>(highest_outside(scores, problem, band));
  cuda::write_path_of(memory.job, cuda::BandSteps{memory.steps.data(), band.lowest, Walk::width}, memory.operations.data(), answer);
  cuda::read_path_of(scores, memory.job, memory.codes.data(), memory.operations.data(), true, answer);
  return answer;
}

class LoneThread {
 public:
  std::int32_t rank() const { return 0; }
  std::int32_t size() const { return 1; }
  void sync() {}
  cuda::RowBest best(std::int32_t, cuda::RowBest cell) { return cell; }
};

class ThreadTeam {
 public:
  struct Shared {
    explicit Shared(std::int32_t threads)
        : barrier(threads), cells{Cells(static_cast<std::size_t>(threads)), Cells(static_cast<std::size_t>(threads))} {}
    using Cells = std::vector<cuda::RowBest>;
    std::barrier<> barrier;
    Cells cells[2];
  };
  ThreadTeam(Shared& shared, std::int32_t rank) : shared_(shared), rank_(rank) {}
  std::int32_t rank() const { return rank_; }
  std::int32_t size() const { return static_cast<std::int32_t>(shared_.cells[0].size()); }
  void sync() { shared_.barrier.arrive_and_wait(); }
  cuda::RowBest best(std::int32_t row, cuda::RowBest cell) {
    std::vector<cuda::RowBest>& cells = shared_.cells[row & 1];
    cells[static_cast<std::size_t>(rank_)] = cell;
    sync();
    for (const cuda::RowBest& other : cells)
      if (other.beats(cell)) cell = other;
    return cell;
  }

 private:
  Shared& shared_;
  std::int32_t rank_;
};

cuda::Answer align_in_blocks(const Scores& scores, const Problem& problem, std::int32_t threads, Memory& memory) {
  cuda::plan_blocks(problem, memory.job);
  std::vector<std::int32_t> ring_memory(static_cast<std::size_t>(cuda::RowRing::bytes(memory.job.ring)) / 4, 0x5A5A5A5A);
  const cuda::RowRing ring(ring_memory.data(), memory.job.ring);
  memory.steps.assign(static_cast<std::size_t>(cuda::step_bytes(memory.job)), 0xFF);
  cuda::Edge edge{};
  cuda::Answer answer;
  const auto run = [&]<class Team>(Team team, cuda::Answer& made) {
    const auto rows = [&]<bool two_pieces>() {
      return cuda::BlockRows<Team, two_pieces>(team, scores, memory.job, memory.codes.data(), ring, edge, memory.steps.data()).run();
    };
    made = scores.one_piece() ? rows.template operator()<false>() : rows.template operator()<true>();
  };
  if (threads == 1) {
    run(LoneThread(), answer);
  } else {
    ThreadTeam::Shared shared(threads);
    std::vector<cuda::Answer> answers(static_cast<std::size_t>(threads));
    std::vector<std::jthread> team;
    for (std::int32_t rank = 0; rank < threads; ++rank)
      team.emplace_back([&, rank] { run(ThreadTeam(shared, rank), answers[static_cast<std::size_t>(rank)]); });
    team.clear();
    for (const cuda::Answer& other : answers) CHECK(text(other, {}) == text(answers[0], {}));
    answer = answers[0];
  }
  cuda::write_path_of(memory.job, cuda::BlockSteps{memory.steps.data(), memory.job}, memory.operations.data(), answer);
  return answer;
}

// The lanes of a warp, row by row.
template <int cells, TieOrder ties>
class SplicedLanes {
 public:
  using Lane = cuda::SplicedLane<cells>;
  SplicedLanes(const Scores& scores, const std::vector<cuda::SiteWord>& target, Memory& memory)
      : scores_(scores), target_(target), memory_(memory), rule_(cuda::spliced_rule(scores)), all_(lanes) {
    memory.job.step_stride = lanes * cells;
    for (int lane = 0; lane < lanes; ++lane) at(lane).start(scores, memory.codes.data(), memory.job.query_length, lane * cells);
  }

  cuda::Answer run(const std::vector<std::int32_t>& of_cuts) {
    cuda::Job& job = memory_.job;
    const std::int32_t rows = job.query_length + job.target_length - 1, last = job.query_length - 1;
    memory_.steps.assign(static_cast<std::size_t>(rows) * static_cast<std::size_t>(job.step_stride), 0xFF);
    std::vector<std::int32_t> numbers_memory(static_cast<std::size_t>(cuda::CutNumbers::bytes(job.cuts, job.query_length)) / 4, 0x5A5A5A5A);
    const cuda::CutNumbers numbers(numbers_memory.data(), job, of_cuts.data());
    numbers.start(scores_, 0, 1);
    cuda::Answer answer;
    for (std::int32_t row = 0; row < rows && !answer.dropped; ++row) {
      fill(row, 0, job.target_length, Lane::before_first(scores_, row), memory_.steps.data() + static_cast<std::size_t>(row * job.step_stride));
      for (std::int32_t cut = 0; cut < job.cuts; ++cut)
        for (const Lane& lane : all_)
          lane.write_edge(row, numbers.column(cut), job.query_length, numbers.score_before(cut), numbers.intron_before(cut));
      if (job.goal == Goal::ends) continue;
      cuda::RowBest best{std::numeric_limits<std::int32_t>::min(), 0xFFFFFFFFU};
      const SplicedRow of_row = cuda::spliced_row(job, row);
      for (const Lane& lane : all_)
        if (const cuda::RowBest cell = lane.best(row, of_row); cell.beats(best)) best = cell;
      answer.dropped = !cuda::take_spliced_row(job, row, of_row, best, at(last / cells).score_at(last), answer);
    }
    if (!answer.dropped) answer.score = at(last / cells).score_at(last);
    cuda::write_path_of(job, cuda::SplicedSteps{memory_.steps.data(), job, longest_deletion(scores_)}, memory_.operations.data(), answer);
    for (std::int32_t cut = 0; cut < job.cuts; ++cut) {
      numbers.find_best(cut, 0, 1);
      numbers.go_through(scores_, cut, 0, 1);
      const std::int32_t begin = numbers.column(cut) + 1, end = cut + 1 < job.cuts ? numbers.column(cut + 1) + 1 : job.target_length;
      for (Lane& lane : all_) lane.start_behind(scores_, numbers.score(), numbers.intron(), job.query_length);
      std::vector<std::uint8_t> unused(static_cast<std::size_t>(job.step_stride));
      for (std::int32_t row = 0; row < job.query_length + end - begin - 1; ++row) {
        fill(row, begin, end, Lane::before_first_behind(scores_, numbers.score()[0]), unused.data());
        for (const Lane& lane : all_) lane.write_edge(row, end - begin - 1, job.query_length, numbers.score_through(), numbers.intron_through());
      }
    }
    if (job.cuts > 0) answer.highest_through_cuts = numbers.score_through()[job.query_length];
    return answer;
  }

 private:
  static constexpr int lanes = 32;
  Lane& at(std::int32_t lane) { return all_[static_cast<std::size_t>(lane)]; }

  // Of the target's [begin, end).
  void fill(std::int32_t row, std::int32_t begin, std::int32_t end, cuda::SplicedPassing before, std::uint8_t* steps_of_row) {
    std::vector<cuda::SplicedPassing> passed{before};
    for (const Lane& lane : all_) passed.push_back(lane.passing());
    for (int lane = 0; lane < lanes; ++lane) {
      const std::int32_t place = begin + row - lane * cells;
      const cuda::SiteWord entering = place >= begin && place < end ? target_[static_cast<std::size_t>(place)] : 0;
      std::uint32_t steps[Lane::step_words];
      if (row < memory_.job.query_length)
        at(lane).template fill<ties, true>(rule_, row, entering, passed[static_cast<std::size_t>(lane)], steps);
      else
        at(lane).template fill<ties, false>(rule_, row, entering, passed[static_cast<std::size_t>(lane)], steps);
      for (int c = 0; c < cells; ++c) steps_of_row[lane * cells + c] = static_cast<std::uint8_t>(steps[c / 4] >> 8 * (c % 4));
    }
  }

  const Scores& scores_;
  const std::vector<cuda::SiteWord>& target_;
  Memory& memory_;
  const cuda::SplicedRule rule_;
  std::vector<Lane> all_;
};
std::vector<cuda::SiteWord> words_of(const std::uint8_t* codes, const SiteScores& sites) {
  std::vector<cuda::SiteWord> words;
  for (std::size_t i = 0; i < sites.donor.size(); ++i) words.push_back(cuda::site_word(codes[i], sites.donor[i], sites.acceptor[i]));
  return words;
}
template <int cells>
void compare_spliced_lanes(const Scores& scores, const Problem& problem, const SiteScores& sites, const std::string& expected) {
  if (problem.query_length > 32 * cells) return;
  Memory memory(problem);
  const std::vector<cuda::SiteWord> target = words_of(problem.target, sites);
  const cuda::Answer made = problem.ties == TieOrder::gap_right ? SplicedLanes<cells, TieOrder::gap_right>(scores, target, memory).run({})
                                                                : SplicedLanes<cells, TieOrder::gap_left>(scores, target, memory).run({});
  REQUIRE(text(made, memory.cigar(made)) == expected);
}

std::string plain_text(const Scores& scores, const Problem& problem) {
  MatrixRows rows;
  Alignment made;
  align_plainly(scores, problem, rows, made);
  return text(made, made.cigar);
}

std::int32_t compared = 0;

template <int words, int lanes>
void compare_band(const Scores& scores, const Problem& problem, const std::string& expected) {
  if (!holds_ends(problem, diagonals_around(problem, 2 * words * lanes))) return;
  Memory memory(problem);
  const cuda::Answer made =
      scores.one_piece() ? align_in_band<false, words, lanes>(scores, problem, memory) : align_in_band<true, words, lanes>(scores, problem, memory);
  if (made.too_narrow) return;
  ++compared;
  REQUIRE(text(made, memory.cigar(made)) == expected);
}

bool any_n(const Pair& pair) {
  const auto has = [](const Bases& bases) { return std::find(bases.begin(), bases.end(), 4) != bases.end(); };
  return has(pair.query) || has(pair.target);
}

}  // namespace

TEST_CASE("the device's narrow band gives the plain form's paths, where it gives any") {
  std::mt19937 random(7);
  compared = 0;
  for (int round = 0; round < 1200; ++round) {
    Pair pair = random_pair(random, 1 + random() % 300, 1 + random() % 300);
    if (any_n(pair)) continue;
    Problem problem = pair.problem(random, false);
    problem.goal = Goal::ends;
    problem.ties = TieOrder::gap_right;
    const Scores& scores = score_sets[random() % score_sets.size()];
    if (!kernel_takes(scores)) continue;
    const std::string expected = plain_text(scores, problem);
    CAPTURE(round);
    compare_band<4, 8>(scores, problem, expected);
    compare_band<4, 16>(scores, problem, expected);
    compare_band<2, 16>(scores, problem, expected);
    compare_band<1, 32>(scores, problem, expected);
  }
  CHECK(compared > 600);
}

TEST_CASE("the device's blocks give the plain form's answers") {
  std::mt19937 random(8);
  for (int round = 0; round < 10000; ++round) {
    const std::size_t most = round % 100 == 0 ? 600 : 120;
    Pair pair = random_pair(random, 1 + random() % most, 1 + random() % most);
    const Problem problem = pair.problem(random, random() % 2 == 0);
    const Scores& scores = score_sets[random() % score_sets.size()];
    if (!kernel_takes(scores)) continue;
    Memory memory(problem);
    CAPTURE(round);
    const std::int32_t threads = round % 200 == 0 ? 4 : 1;
    const cuda::Answer made = align_in_blocks(scores, problem, threads, memory);
    REQUIRE(text(made, memory.cigar(made)) == plain_text(scores, problem));
  }
}

TEST_CASE("the device's lanes across introns give the plain form's answers") {
  std::mt19937 random(10);
  SplicedRows rows;
  for (int round = 0; round < 1500; ++round) {
    const Scores& scores = spliced_scores[random() % spliced_scores.size()];
    const std::size_t longest = round % 50 == 0 ? 512 : round % 5 == 0 ? 250 : 70;
    const SplicedPair made = random_spliced_pair(random, longest, 2 * longest);
    const Problem problem = made.problem(random);
    if (!cuda::fits_spliced_lanes(scores, problem)) continue;
    Alignment expected;
    align_spliced_plainly(scores, problem, {made.sites.donor, made.sites.acceptor}, rows, expected);
    CAPTURE(round);
    const std::string expected_text = text(expected, expected.cigar);
    compare_spliced_lanes<2>(scores, problem, made.sites, expected_text);
    compare_spliced_lanes<4>(scores, problem, made.sites, expected_text);
    compare_spliced_lanes<8>(scores, problem, made.sites, expected_text);
    compare_spliced_lanes<16>(scores, problem, made.sites, expected_text);
  }
}

TEST_CASE("the device's lanes say what paths through cuts may score as the host does") {
  std::mt19937 random(12);
  SplicedRows rows;
  CutScratch scratch;
  Cuts cuts;
  ShortTarget shorter;
  int compared_cuts = 0, several = 0;
  for (int round = 0; round < 150; ++round) {
    CAPTURE(round);
    const Scores& scores = spliced_scores[random() % 4];
    const Pair pair = random_long_pair(random);
    Problem whole = pair.problem(random, false);
    whole.goal = Goal::ends;
    whole.ties = TieOrder::gap_right;
    find_cuts(scores, whole, scratch, cuts);
    if (!cuts.any()) continue;
    cut_out({}, {.codes = pair.target, .sites = static_cast<Sites>(random() % 3)}, cuts.of_target, shorter);
    Problem problem = whole;
    problem.target = shorter.codes.data();
    problem.target_length -= cuts.bases();
    want_edges(cuts, scratch);
    std::vector<std::int32_t> of_cuts;
    for (const SplicedEdge& edge : scratch.edges) of_cuts.push_back(edge.column);
    for (const Cut& cut : cuts.of_target) of_cuts.insert(of_cuts.end(), cut.losses.begin(), cut.losses.end());
    Alignment expected;
    align_spliced(scores, problem, {shorter.sites.donor, shorter.sites.acceptor}, rows, expected, scratch.edges);
    if (scratch.edges[0].score.empty()) continue;  // beyond 8 bits
    const std::int32_t highest = highest_through_cuts(scores, whole, cuts, shorter, rows, scratch);
    Memory memory(problem);
    memory.job.cuts = static_cast<std::int32_t>(cuts.of_target.size());
    const std::vector<cuda::SiteWord> target = words_of(problem.target, shorter.sites);
    const cuda::Answer made = SplicedLanes<16, TieOrder::gap_right>(scores, target, memory).run(of_cuts);
    CHECK(text(made, memory.cigar(made)) == text(expected, expected.cigar));
    CHECK(std::min(made.highest_through_cuts, highest_with_two_introns(scores, whole)) == highest);
    compared_cuts += highest < highest_with_two_introns(scores, whole) ? 1 : 0;
    several += cuts.of_target.size() > 1 ? 1 : 0;
  }
  CHECK(compared_cuts > 50);
  CHECK(several > 20);
}

TEST_CASE("a fall is seen by the host if and only if the device's reader sees one as deep") {
  std::mt19937 random(9);
  AlignmentMemory memory;
  int falls = 0;
  for (int round = 0; round < 2000; ++round) {
    const Pair pair = random_pair(random, 1 + random() % 200, 1 + random() % 200);
    AlignmentSettings settings;
    settings.scores = score_sets[random() % score_sets.size()];
    settings.find_inversions = false;
    settings.z_drop = settings.z_drop_inversion = static_cast<std::int32_t>(random() % 120);
    const Piece piece{.query = pair.query, .target = pair.target};
    align_piece(settings, piece, memory);
    const std::vector<std::uint32_t> cigar = memory.piece.cigar;
    const auto deepest = cuda::PathReader(settings.scores, pair.query.data(), pair.target.data())
                             .read(cigar.data(), static_cast<std::int32_t>(cigar.size()))
                             .deepest_fall;
    CHECK((look_for_fall(settings, piece, memory) == Fall::break_off) == (deepest > settings.z_drop));
    falls += deepest > settings.z_drop ? 1 : 0;
  }
  CHECK(falls > 100);
}
