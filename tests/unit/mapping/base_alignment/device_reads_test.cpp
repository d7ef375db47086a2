// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Rounds of reads, whose pieces are aligned by the CPU's kernel here, against each read by itself.

#include "base_alignment/device_reads.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "base_alignment/cuda/path.hpp"
#include "base_alignment/kernel/align.hpp"
#include "read_chains.hpp"

using namespace sluice::base_alignment;
using namespace read_chains;

namespace {

// What a device answers of one problem.
void add_answer(const Scores& scores, const Problem& problem, const std::uint8_t* target, const Alignment& made, cuda::Answers& answers) {
  cuda::Answer& answer = answers.of.emplace_back();
  answer.best = made.best;
  answer.best_target = made.best_target;
  answer.best_query = made.best_query;
  answer.query_end_score = made.query_end_score;
  answer.query_end_target = made.query_end_target;
  answer.score = made.score;
  answer.dropped = made.dropped;
  answer.reached_end = made.reached_end;
  answer.operations = static_cast<std::int64_t>(answers.operations.size());
  answer.operation_count = static_cast<std::int32_t>(made.cigar.size());
  answers.operations.insert(answers.operations.end(), made.cigar.begin(), made.cigar.end());
  if (problem.goal == Goal::ends) {
    const cuda::PathScore path = cuda::PathReader(scores, problem.query, target).read(made.cigar.data(), answer.operation_count);
    answer.deepest_fall = static_cast<std::int32_t>(path.deepest_fall);
  }
  answers.is_done.push_back(1);
}
void add_none(cuda::Answers& answers) {
  answers.of.emplace_back();
  answers.is_done.push_back(0);
}
// Of a round; one in `left` is not done.
cuda::Answers answers_of(const AlignmentSettings& settings, std::span<RoundRead> reads, std::mt19937& random, std::uint32_t left) {
  const Scores& scores = settings.scores;
  cuda::Answers answers;
  Alignment made;
  if (settings.splice.enabled) {
    SplicedRows rows;
    for (const cuda::SplicedProblem& spliced : spliced_problems_of(reads)) {
      if (random() % left == 0) {
        add_none(answers);
        continue;
      }
      SiteScores sites;
      std::vector<std::uint8_t> target;
      for (std::int32_t i = 0; i < spliced.problem.target_length; ++i) {
        const cuda::SiteWord word = spliced.target[i];
        target.push_back(word & 7U);
        sites.donor.push_back(static_cast<std::int8_t>(word >> 16 & 255U));
        sites.acceptor.push_back(static_cast<std::int8_t>(word >> 24));
      }
      Problem problem = spliced.problem;
      problem.target = target.data();
      made.cigar.clear();
      Cuts cuts;
      CutScratch scratch;
      const std::int32_t* numbers = spliced.of_cuts;
      for (std::int32_t cut = 0; cut < spliced.cuts; ++cut) scratch.edges.emplace_back().column = *numbers++;
      for (std::int32_t cut = 0; cut < spliced.cuts; ++cut, numbers += problem.query_length + 1)
        cuts.of_target.emplace_back().losses.assign(numbers, numbers + problem.query_length + 1);
      align_spliced(scores, problem, {sites.donor, sites.acceptor}, rows, made, scratch.edges);
      add_answer(scores, problem, target.data(), made, answers);
      if (cuts.any()) answers.of.back().highest_through_cuts = highest_through_cuts(scores, problem, cuts, {target, sites}, rows, scratch);
    }
    return answers;
  }
  MatrixRows rows;
  for (const Problem& problem : problems_of(reads)) {
    if (random() % left == 0) {
      add_none(answers);
      continue;
    }
    made.cigar.clear();
    align(scores, problem, rows, made);
    add_answer(scores, problem, problem.target, made, answers);
  }
  return answers;
}

std::string text(const std::vector<AlignedHit>& hits) {
  std::string result;
  const auto add = [&](std::int32_t value) { result += std::to_string(value) + ' '; };
  for (const AlignedHit& hit : hits) {
    for (const std::int32_t value : {hit.query_start, hit.query_end, hit.target_start, hit.target_end, hit.score, hit.best_score, hit.chain_score,
                                     hit.anchors, hit.id, hit.parent, hit.matches, hit.columns})
      add(value);
    for (const int value : {int{hit.split}, int{hit.inversion}, int{hit.leads}, int{hit.mapping_quality}}) add(value);
    for (const std::uint32_t operation : hit.cigar) result += std::to_string(operation >> 4) + "MIDN"[operation & 15U];
    result += "; ";
  }
  return result;
}

// Each read by itself, and all in rounds with one in `left` of the answers missing; what each read by itself becomes.
struct Compared {
  int rounds = 0;
  std::size_t unproven = 0;
  std::vector<std::vector<AlignedHit>> alone;
};
Compared compare(const AlignmentSettings& settings, const sluice::Batch& columns, std::size_t reads, const sluice::MinimizerIndexView& view,
                 std::mt19937& random, std::uint32_t left) {
  Compared result;
  ReadAligner alone(settings, view), aligner(settings, view);
  std::vector<RoundRead> in_rounds(reads);
  for (std::size_t row = 0; row < reads; ++row) {
    aligner.start(read_hits_of(columns, static_cast<std::int64_t>(row)), in_rounds[row].state);
    plan_round(settings, aligner, in_rounds[row]);
  }
  for (bool goes_on = true; goes_on; ++result.rounds) {
    goes_on = false;
    const cuda::Answers answers = answers_of(settings, in_rounds, random, left);
    for (RoundRead& read : in_rounds) {
      if (!take_round(aligner, answers, read, result.unproven)) continue;
      plan_round(settings, aligner, read);
      goes_on = true;
    }
  }
  for (std::size_t row = 0; row < reads; ++row) {
    const ReadHits hits = read_hits_of(columns, static_cast<std::int64_t>(row));
    aligner.finish(hits.repeat_length, in_rounds[row].state);
    result.alone.push_back(alone.align(hits));
    CHECK(text(in_rounds[row].state.hits) == text(result.alone.back()));
  }
  return result;
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "reads in rounds become what each becomes by itself, splits and inversions too") {
  std::vector<ReadChain> reads;
  for (int i = 0; i < 40; ++i) {
    const std::size_t begin = random() % 9000, second = begin + 2500 + random() % 4000, third = second + 300 + random() % 1500;
    const std::string middle = piece(second, third);
    std::string read = piece(begin, second);
    switch (random() % 4) {
      case 0:
        read += reverse_complement(middle);
        break;
      case 1:
        read += random_bases(random, random() % 3000);
        break;
      case 2:
        break;
      default:
        read += middle + middle;
    }
    read += piece(third, third + 2500 + random() % 3000);
    if (random() % 4 == 0) read = random_bases(random, 600) + read + random_bases(random, 900);
    reads.push_back(chain_of(contig, with_errors(read, 15 + random() % 60)));
  }
  reads.push_back({"ACGT", {}, {}});
  const TestBatch batch = columns_of(reads).build(), index = index_of(contig);
  const sluice::Batch columns = batch.view();
  const sluice::MinimizerIndexView view = sluice::minimizer_index_view(index.view());
  AlignmentSettings settings;
  settings.k = k;
  for (const std::uint32_t left : {1U, 3U, 1'000'000U}) {
    const Compared compared = compare(settings, columns, reads.size(), view, random, left);
    CHECK(compared.rounds > 1);
    std::ptrdiff_t inversions = 0;
    for (const std::vector<AlignedHit>& hits : compared.alone)
      inversions += std::count_if(hits.begin(), hits.end(), [](const AlignedHit& hit) { return hit.inversion; });
    CHECK(inversions > 0);
  }
}

TEST_CASE_FIXTURE(Fixture, "spliced reads in rounds become what each becomes by itself") {
  std::vector<ReadChain> reads;
  for (int i = 0; i < 40; ++i) {
    std::string read;
    std::size_t at = random() % 3000;
    for (std::size_t exon = 0; exon < 5; ++exon) {
      const std::size_t length = 40 + random() % 500;
      read += piece(at, at + length);
      at += length + (random() % 3 == 0 ? 30 + random() % 200 : 900 + random() % 2500);
    }
    if (random() % 4 == 0) read.insert(read.size() / 2, random_bases(random, 300));
    if (random() % 4 == 0) read = random_bases(random, 60) + read + random_bases(random, 90);
    reads.push_back(chain_of(contig, with_errors(read, 8 + random() % 60)));
  }
  const TestBatch batch = columns_of(reads).build(), index = index_of(contig);
  const sluice::MinimizerIndexView view = sluice::minimizer_index_view(index.view());
  AlignmentSettings settings;
  settings.k = k;
  settings.scores = {1, 2, 1, 2, 1, 32, 0};
  settings.splice.enabled = true;
  settings.find_inversions = false;
  settings.z_drop = 200;
  settings.z_drop_inversion = 100;
  settings.bw = settings.bw_long = 200000;
  settings.max_gap = 2000;
  for (const bool both : {true, false}) {
    settings.splice.along = both;
    std::size_t spliced = 0, unproven = 0;
    for (const std::uint32_t left : {1U, 3U, 1'000'000U}) {
      const Compared compared = compare(settings, batch.view(), reads.size(), view, random, left);
      unproven += compared.unproven;
      for (const std::vector<AlignedHit>& hits : compared.alone)
        spliced += static_cast<std::size_t>(std::count_if(hits.begin(), hits.end(), [](const AlignedHit& hit) { return hit.spliced; }));
    }
    CHECK(spliced > 60);
    CHECK(unproven > 0);
  }
}
