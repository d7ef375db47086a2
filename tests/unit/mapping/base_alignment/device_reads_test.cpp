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

// What a device would answer; one in `left` is not done.
cuda::Answers answers_of(const Scores& scores, const std::vector<Problem>& problems, std::mt19937& random, std::uint32_t left) {
  cuda::Answers answers;
  answers.of.resize(problems.size());
  answers.is_done.assign(problems.size(), 0);
  MatrixRows rows;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (random() % left == 0) continue;
    Alignment made;
    align(scores, problems[i], rows, made);
    cuda::Answer& answer = answers.of[i];
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
    if (problems[i].goal == Goal::ends) {
      const cuda::PathScore path = cuda::PathReader(scores, problems[i].query, problems[i].target).read(made.cigar.data(), answer.operation_count);
      answer.deepest_fall = static_cast<std::int32_t>(path.deepest_fall);
    }
    answers.is_done[i] = 1;
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
    for (const std::uint32_t operation : hit.cigar) result += std::to_string(operation >> 4) + "MID"[operation & 15U];
    result += "; ";
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
    ReadAligner alone(settings, view), aligner(settings, view);
    std::vector<RoundRead> in_rounds(reads.size());
    for (std::size_t row = 0; row < reads.size(); ++row) {
      aligner.start(read_hits_of(columns, static_cast<std::int64_t>(row)), in_rounds[row].state);
      plan_round(settings, aligner, in_rounds[row]);
    }
    int rounds = 0;
    for (bool goes_on = true; goes_on; ++rounds) {
      goes_on = false;
      const std::vector<Problem> problems = problems_of(in_rounds);
      const cuda::Answers answers = answers_of(settings.scores, problems, random, left);
      for (RoundRead& read : in_rounds) {
        if (!take_round(aligner, answers, read)) continue;
        plan_round(settings, aligner, read);
        goes_on = true;
      }
    }
    CHECK(rounds > 1);
    std::size_t inversions = 0;
    for (std::size_t row = 0; row < reads.size(); ++row) {
      const ReadHits hits = read_hits_of(columns, static_cast<std::int64_t>(row));
      aligner.finish(hits.repeat_length, in_rounds[row].state);
      const std::vector<AlignedHit>& expected = alone.align(hits);
      CHECK(text(in_rounds[row].state.hits) == text(expected));
      inversions += static_cast<std::size_t>(std::count_if(expected.begin(), expected.end(), [](const AlignedHit& hit) { return hit.inversion; }));
    }
    CHECK(inversions > 0);
  }
}
