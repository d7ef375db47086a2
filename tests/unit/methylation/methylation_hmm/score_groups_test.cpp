// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "methylation_hmm/log_sum_polynomials.hpp"
#include "methylation_hmm/methylation.hpp"
#include "methylation_hmm/profile_hmm.hpp"
#include "unit/instruction_sets.hpp"

namespace sluice::methylation_hmm {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();
const Motif kCpg = parse_motif("cpg");

// The named ones, free ones that are not their own reverse complement, and a single letter.
const char* const kMotifs[] = {"cpg", "gpc", "dam", "dcm", "GAAGC:2:a", "CTR:0:m", "GAHTHCCATTYT:1:a", "A:0:a"};

struct RandomModel {
  std::vector<float> mean;
  std::vector<float> stdv;
  std::vector<float> log_stdv;
  KmerModelView view;

  RandomModel(std::uint32_t k, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> level(90.0F, 12.0F);
    std::uniform_real_distribution<float> spread(1.0F, 3.0F);
    const std::size_t size = kmer_count(Alphabet::methylation, k);
    for (std::size_t i = 0; i < size; ++i) {
      mean.push_back(level(random));
      stdv.push_back(spread(random));
      log_stdv.push_back(std::log(stdv.back()));
    }
    view = {.k = k, .alphabet = Alphabet::methylation, .level_mean = mean, .level_stdv = stdv, .log_level_stdv = log_stdv};
  }
};

// Reads and group problems that own their data.
struct Problems {
  std::vector<std::vector<float>> events;
  std::vector<std::string> sequences;
  std::vector<ReadSignal> reads;
  std::vector<GroupProblem> problems;

  void connect() {
    for (std::size_t i = 0; i < reads.size(); ++i) reads[i].event_mean = events[i];
    for (std::size_t i = 0; i < problems.size(); ++i) problems[i].sequence = sequences[i];
  }
};

std::string reverse_complement(std::string bases) {
  std::ranges::reverse(bases);
  for (char& base : bases) base = base == 'A' ? 'T' : base == 'C' ? 'G' : base == 'G' ? 'C' : base == 'T' ? 'A' : base;
  return bases;
}

// Random bases with sites of the motif on both strands.
std::string random_bases(std::mt19937_64& random, std::size_t length, const Motif& motif = kCpg) {
  std::string bases;
  while (bases.size() < length) {
    if (random() % 6 == 0) {
      std::string site;
      for (const char letter : motif.letters) site += letter == 'W' || letter == 'R' || letter == 'H' ? 'A' : letter == 'Y' ? 'T' : letter;
      bases += random() % 2 == 0 ? site : reverse_complement(site);
    }
    bases += "ACGT"[random() % 4];
  }
  bases.resize(length);
  return bases;
}

Problems random_problems(const KmerModelView& model, std::size_t count, std::uint64_t seed, const Motif& motif = kCpg) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> noise(0.0F, 2.0F);
  Problems result;
  const std::size_t read_count = 1 + count / 20;
  for (std::size_t i = 0; i < read_count; ++i) {
    ReadSignal read;
    read.scale = 0.9F + 0.002F * static_cast<float>(random() % 100);
    read.shift = static_cast<float>(random() % 20) - 10.0F;
    read.var = 0.8F + 0.01F * static_cast<float>(random() % 60);
    read.log_var = std::log(read.var);
    read.events_per_base = 0.5 + 0.01 * static_cast<double>(random() % 300);
    read.strand = random() % 2 == 0 ? Strand::forward : Strand::reverse;
    std::vector<float> events;
    for (int e = 0; e < 700; ++e) events.push_back(model.level_mean[random() % model.level_mean.size()] + noise(random));
    result.reads.push_back(read);
    result.events.push_back(std::move(events));
  }
  for (std::size_t i = 0; i < count; ++i) {
    GroupProblem problem;
    problem.read = static_cast<std::uint32_t>(random() % read_count);
    const std::size_t length = random() % 3 == 0 ? model.k + random() % 200 : model.k + 10 + random() % 20;
    result.sequences.push_back(random_bases(random, length, motif));
    const auto rows = static_cast<std::int32_t>(random() % (random() % 5 == 0 ? 300 : 60));
    const auto lowest = static_cast<std::int32_t>(random() % (699 - static_cast<std::uint64_t>(rows)));
    problem.first_event = result.reads[problem.read].strand == Strand::forward ? lowest : lowest + rows;
    problem.last_event = result.reads[problem.read].strand == Strand::forward ? lowest + rows : lowest;
    if (random() % 2 == 0) {  // events that follow the k-mers: a likely path
      const std::size_t columns = length - model.k + 1;
      std::vector<std::uint32_t> unmethylated(columns), methylated(columns);
      const ReadSignal& read = result.reads[problem.read];
      hypothesis_ranks(result.sequences.back(), model.k, read.strand, motif.sites(read.strand), unmethylated.data(), methylated.data());
      for (std::int32_t row = 0; row <= rows; ++row) {
        const std::uint32_t rank = methylated[static_cast<std::size_t>(row) * columns / static_cast<std::size_t>(rows + 1)];
        const std::int32_t event = read.strand == Strand::forward ? lowest + row : lowest + rows - row;
        result.events[problem.read][static_cast<std::size_t>(event)] = read.scale * model.level_mean[rank] + read.shift + noise(random);
      }
    }
    result.problems.push_back(problem);
  }
  result.connect();
  return result;
}

std::vector<GroupScore> reference_scores(const Problems& problems, const KmerModelView& model, EventsPerBase floor = EventsPerBase::raised,
                                         const Motif& motif = kCpg) {
  std::vector<GroupScore> scores(problems.problems.size());
  REQUIRE(score_groups_reference(problems.reads, problems.problems, model, motif, floor, scores));
  return scores;
}

std::vector<GroupScore> vector_scores(const Problems& problems, const KmerModelView& model, EventsPerBase floor = EventsPerBase::raised,
                                      const Motif& motif = kCpg, LogSums log_sums = fastest_log_sums()) {
  std::vector<GroupScore> scores(problems.problems.size());
  ScoreWorkspace workspace;
  workspace.log_sums = log_sums;
  REQUIRE(score_groups(problems.reads, problems.problems, model, motif, floor, workspace, scores));
  return scores;
}

// score_groups with either kind of log-sums, on every instruction set.
template <class Check>
void for_each_form(const Check& check) {
  for (const LogSums log_sums : {LogSums::gathered, LogSums::computed}) {
    CAPTURE(static_cast<int>(log_sums));
    sluice::testing::for_each_instruction_set([&] { check(log_sums); });
  }
}

bool same_bits(const GroupScore& a, const GroupScore& b) {
  return std::bit_cast<std::uint32_t>(a.methylated) == std::bit_cast<std::uint32_t>(b.methylated) &&
         std::bit_cast<std::uint32_t>(a.unmethylated) == std::bit_cast<std::uint32_t>(b.unmethylated) && a.status == b.status;
}

std::size_t differing(const std::vector<GroupScore>& a, const std::vector<GroupScore>& b) {
  REQUIRE(a.size() == b.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += same_bits(a[i], b[i]) ? 0 : 1;
  return count;
}

// One problem of one read whose event means are given.
Problems single_problem(std::string sequence, std::vector<float> events, Strand strand = Strand::forward) {
  Problems result;
  GroupProblem problem;
  const auto last = static_cast<std::int32_t>(events.size()) - 1;
  problem.first_event = strand == Strand::forward ? 0 : last;
  problem.last_event = strand == Strand::forward ? last : 0;
  ReadSignal read;
  read.strand = strand;
  read.events_per_base = 2.0;
  result.events.push_back(std::move(events));
  result.sequences.push_back(std::move(sequence));
  result.reads.push_back(read);
  result.problems.push_back(problem);
  result.connect();
  return result;
}

// Forward in double precision with exact logarithms, over probabilities as the equations have them.
double exact_forward(const Problems& problems, const KmerModelView& model, const std::vector<std::uint32_t>& ranks) {
  const GroupProblem& problem = problems.problems[0];
  const ReadSignal& read = problems.reads[0];
  const double minus_infinity = -std::numeric_limits<double>::infinity();
  const auto lse = [&](std::initializer_list<double> terms) {
    const double high = std::max(terms);
    if (high == minus_infinity) return minus_infinity;
    double sum = 0;
    for (const double term : terms) sum += std::exp(term - high);
    return high + std::log(sum);
  };
  const double stay = 1.0 - 1.0 / read.events_per_base;
  const double next = 1.0 - stay - 0.0025 - 0.001;
  const double bad_out = std::log((1.0 - 0.001) / 3.0);
  const auto clip = [](std::int64_t d) {
    return d == 0 ? std::log(0.5) : std::log(0.5) - 3.0 * static_cast<double>(d) + std::log(0.1) + static_cast<double>(d - 1) * std::log(0.9);
  };
  const std::size_t columns = ranks.size();
  const std::int64_t rows = event_count(problem);
  std::vector<double> match(columns + 1, minus_infinity), bad = match, skip = match;
  double end = minus_infinity;
  for (std::int64_t t = 1; t <= rows; ++t) {
    std::vector<double> new_match(columns + 1, minus_infinity), new_bad = new_match, new_skip = new_match;
    const double event = problems.events[0][static_cast<std::size_t>(problem.first_event <= problem.last_event ? t - 1 : rows - t)];
    for (std::size_t j = 1; j <= columns; ++j) {
      const double mean = read.scale * static_cast<double>(model.level_mean[ranks[j - 1]]) + read.shift;
      const double stdv = read.var * static_cast<double>(model.level_stdv[ranks[j - 1]]);
      const double a = (event - mean) / stdv;
      const double emission = -0.918938 - std::log(stdv) - 0.5 * a * a;
      new_match[j] = emission + lse({match[j] + std::log(stay), match[j - 1] + std::log(next), bad[j] + bad_out, bad[j - 1] + bad_out,
                                     skip[j - 1] + std::log(0.7), j == 1 ? clip(t - 1) : minus_infinity});
      new_bad[j] = lse({match[j] + std::log(0.001), bad[j] + std::log(0.001)});
      new_skip[j] = lse({new_match[j - 1] + std::log(0.0025), new_bad[j - 1] + bad_out, new_skip[j - 1] + std::log(0.3)});
    }
    match = new_match;
    bad = new_bad;
    skip = new_skip;
    end = lse({end, match[columns] + clip(rows - t), bad[columns] + clip(rows - t), skip[columns] + clip(rows - t)});
  }
  return end;
}

TEST_CASE("the index rule of the log-sum table is the limit of 15.7, for every single-precision difference") {
  for (float difference = 15.6F; difference < 15.8F; difference = std::nextafter(difference, 100.0F)) {
    const bool beyond = static_cast<std::int32_t>(difference * kLogSumScale) >= kLogSumLast;
    REQUIRE(beyond == (difference >= 15.7F));  // multiplication by a constant is monotone, so it holds outside this range too
  }
}

TEST_CASE("the log-sum table holds ln(1 + exp(-i / 1000)), descending to 0") {
  const float* table = log_sum_table();
  CHECK(table[0] == static_cast<float>(std::log(2.0)));
  CHECK(table[1000] == static_cast<float>(std::log(1.0 + std::exp(-1.0))));
  for (std::int32_t i = 1; i <= kLogSumLast; ++i) CHECK_MESSAGE(table[i] <= table[i - 1], i);
  CHECK(table[kLogSumLast - 1] > 0.0F);
  CHECK(table[kLogSumLast] == 0.0F);
}

TEST_CASE("the polynomials give each entry of the log-sum table or its lower neighbour") {
  const float* table = log_sum_table();
  int other_entries = 0, neighbours = 0;
  for (std::int32_t i = 0; i <= kLogSumLast; ++i) {
    const std::int32_t place = i + kFirstSegmentEntry;
    const auto segment = static_cast<std::size_t>(place >> kSegmentBits);
    REQUIRE(segment < 32);
    const auto x = static_cast<float>(place % (1 << kSegmentBits) - kSegmentCentre);
    float entry = kLogSumPolynomials[kPolynomialDegree][segment];
    for (int power = kPolynomialDegree - 1; power >= 0; --power) entry = std::fma(entry, x, kLogSumPolynomials[power][segment]);
    const auto distance = static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(table[i]) - std::bit_cast<std::uint32_t>(entry));
    other_entries += distance != 0 && distance != 1 ? 1 : 0;
    neighbours += distance == 1 ? 1 : 0;
  }
  CHECK(other_entries == 0);
  CHECK(neighbours > 0);
}

// Few events and levels near 0, hence sums with many of the bits of an entry: that is where neighbouring entries differ most often.
TEST_CASE("log-sums of short and likely paths have the bits of the reference") {
  RandomModel model(2, 21);
  for (std::size_t i = 0; i < model.mean.size(); ++i) {
    model.mean[i] = 90.0F + static_cast<float>(i) / 8;
    model.stdv[i] = 0.25F;
    model.log_stdv[i] = std::log(model.stdv[i]);
  }
  std::mt19937_64 random(21);
  std::normal_distribution<float> noise(91.5F, 1.0F);
  Problems problems = random_problems(model.view, 2000, 21);
  for (auto& events : problems.events) {
    for (float& event : events) event = noise(random);
  }
  for (auto& problem : problems.problems) {
    const std::int32_t step = problem.first_event <= problem.last_event ? 1 : -1;
    const std::int32_t rows = 1 + static_cast<std::int32_t>(random() % 4);
    if (std::abs(problem.last_event - problem.first_event) + 1 > rows) problem.last_event = problem.first_event + step * (rows - 1);
  }
  const auto expected = reference_scores(problems, model.view);
  for_each_form(
      [&](LogSums log_sums) { CHECK(differing(vector_scores(problems, model.view, EventsPerBase::raised, kCpg, log_sums), expected) == 0); });
}

TEST_CASE("transition probabilities out of each state sum to one") {
  for (const double events_per_base : {1.0, 1.25, 1.7, 2.0, 4.9}) {
    const auto t = make_transitions(events_per_base, EventsPerBase::compat);
    REQUIRE(t);
    CHECK(std::exp(t->match_stay) + std::exp(t->match_next) + std::exp(t->match_bad) + std::exp(t->match_skip) == doctest::Approx(1.0));
    CHECK(2 * std::exp(t->bad_match) + std::exp(t->bad_stay) + std::exp(t->bad_skip) == doctest::Approx(1.0));
    CHECK(std::exp(t->skip_match) + std::exp(t->skip_stay) == doctest::Approx(1.0));
  }
}

// Whether a letter of the IUPAC code may be this base, written out.
bool stands_for(char letter, char base) {
  switch (letter) {
    case 'H':
      return base != 'G';
    case 'W':
      return base == 'A' || base == 'T';
    case 'R':
      return base == 'A' || base == 'G';
    case 'Y':
      return base == 'C' || base == 'T';
    default:
      return letter == base;
  }
}

// A strand with M in place of the modified base wherever it has the motif.
std::string methylate(const std::string& bases, const Motif& motif) {
  std::string modified = bases;
  for (std::size_t at = 0; at + motif.letters.size() <= bases.size(); ++at) {
    bool is_site = true;
    for (std::size_t i = 0; i < motif.letters.size(); ++i) is_site = is_site && stands_for(motif.letters[i], bases[at + i]);
    if (is_site) modified[at + static_cast<std::size_t>(motif.forward.modified)] = 'M';
  }
  return modified;
}

TEST_CASE("the ranks of both hypotheses are those of the k-mers spelled out, on both strands") {
  std::mt19937_64 random(3);
  for (const char* const name : kMotifs) {
    const Motif motif = parse_motif(name);
    std::size_t with_sites = 0;
    for (const std::uint32_t k : {1U, 2U, 6U, 9U, 12U}) {
      for (int round = 0; round < 50; ++round) {
        const std::string sequence = random_bases(random, k + random() % 60, motif);
        const std::size_t columns = sequence.size() - k + 1;
        std::vector<std::uint32_t> unmethylated(columns), methylated(columns);
        hypothesis_ranks(sequence, k, Strand::forward, motif.forward, unmethylated.data(), methylated.data());
        const std::string modified = methylate(sequence, motif);
        for (std::size_t i = 0; i < columns; ++i) {
          CHECK(unmethylated[i] == kmer_rank(Alphabet::methylation, sequence.substr(i, k)));
          CHECK(methylated[i] == kmer_rank(Alphabet::methylation, modified.substr(i, k)));
        }
        hypothesis_ranks(sequence, k, Strand::reverse, motif.reverse, unmethylated.data(), methylated.data());
        const std::string reverse = reverse_complement(sequence);
        const std::string reverse_modified = methylate(reverse, motif);
        with_sites += reverse_modified != reverse ? 1 : 0;
        for (std::size_t i = 0; i < columns; ++i) {
          const std::size_t at = sequence.size() - i - k;
          CHECK(unmethylated[i] == kmer_rank(Alphabet::methylation, reverse.substr(at, k)));
          CHECK(methylated[i] == kmer_rank(Alphabet::methylation, reverse_modified.substr(at, k)));
        }
      }
    }
    CHECK(with_sites > 50);
  }
}

TEST_CASE("one event on one k-mer: its emission and half a chance of clipping on either side") {
  const RandomModel model(6, 1);
  const Problems problems = single_problem("ACTTTG", {91.5F});
  const std::uint32_t rank = kmer_rank(Alphabet::methylation, "ACTTTG");
  const float a = (91.5F - model.mean[rank]) / model.stdv[rank];
  const float emission = -0.918938F - model.log_stdv[rank] + -0.5F * a * a;
  const auto half = static_cast<float>(std::log(0.5));
  sluice::testing::for_each_instruction_set([&] {
    const auto scores = vector_scores(problems, model.view);
    CHECK(scores[0].status == ScoreStatus::ok);
    CHECK(scores[0].unmethylated == half + emission + half);
    CHECK(scores[0].methylated == scores[0].unmethylated);
  });
}

TEST_CASE("the reference agrees with Forward in double precision to the error of its table") {
  const RandomModel model(2, 5);
  std::mt19937_64 random(11);
  std::normal_distribution<float> noise(0.0F, 1.5F);
  for (const char* const name : kMotifs) {
    const Motif motif = parse_motif(name);
    for (int round = 0; round < 100; ++round) {
      const Strand strand = round % 2 == 0 ? Strand::forward : Strand::reverse;
      const std::string sequence = random_bases(random, 2 + random() % 24, motif);
      // In forward reference order, from the letters of the read's own strand.
      const std::string own = strand == Strand::forward ? sequence : reverse_complement(sequence);
      const std::string modified = methylate(own, motif);
      std::vector<std::uint32_t> unmethylated, methylated;
      for (std::size_t i = 0; i + 1 < own.size(); ++i) {
        unmethylated.push_back(kmer_rank(Alphabet::methylation, own.substr(i, 2)));
        methylated.push_back(kmer_rank(Alphabet::methylation, modified.substr(i, 2)));
      }
      if (strand == Strand::reverse) std::ranges::reverse(unmethylated), std::ranges::reverse(methylated);
      std::vector<float> events;
      for (const std::uint32_t rank : methylated) {
        for (std::uint64_t i = 0; i < 1 + random() % 3; ++i) events.push_back(model.mean[rank] + noise(random));
      }
      if (strand == Strand::reverse) std::ranges::reverse(events);
      const Problems problems = single_problem(sequence, events, strand);
      const auto scores = reference_scores(problems, model.view, EventsPerBase::raised, motif);
      CHECK(std::abs(scores[0].unmethylated - exact_forward(problems, model.view, unmethylated)) < 0.08);
      CHECK(std::abs(scores[0].methylated - exact_forward(problems, model.view, methylated)) < 0.08);
    }
  }
}

TEST_CASE("every instruction set gives the bits of the reference for every motif") {
  for (const char* const name : kMotifs) {
    const Motif motif = parse_motif(name);
    const RandomModel model(6, 3);
    const Problems problems = random_problems(model.view, 200, 9, motif);
    const auto expected = reference_scores(problems, model.view, EventsPerBase::raised, motif);
    for_each_form(
        [&](LogSums log_sums) { CHECK(differing(expected, vector_scores(problems, model.view, EventsPerBase::raised, motif, log_sums)) == 0); });
  }
}

TEST_CASE("every instruction set gives the bits of the reference") {
  for (const std::uint32_t k : {1U, 2U, 6U}) {
    const RandomModel model(k, k);
    for (const std::size_t count : {0U, 1U, 2U, 15U, 16U, 17U, 300U}) {
      const Problems problems = random_problems(model.view, count, 100 * k + count);
      const auto expected = reference_scores(problems, model.view);
      for_each_form(
          [&](LogSums log_sums) { CHECK(differing(vector_scores(problems, model.view, EventsPerBase::raised, kCpg, log_sums), expected) == 0); });
    }
  }
}

TEST_CASE("a 9-mer model gives the bits of the reference") {
  const RandomModel model(9, 9);
  const Problems problems = random_problems(model.view, 100, 9);
  const auto expected = reference_scores(problems, model.view);
  for_each_form(
      [&](LogSums log_sums) { CHECK(differing(vector_scores(problems, model.view, EventsPerBase::raised, kCpg, log_sums), expected) == 0); });
}

TEST_CASE("extreme but usable values give the bits of the reference") {
  const RandomModel model(2, 8);
  Problems problems = random_problems(model.view, 200, 8);
  std::mt19937_64 random(8);
  for (auto& events : problems.events) {
    for (float& event : events) {
      if (random() % 10 == 0) event = random() % 2 == 0 ? 9e14F : -9e14F;
      if (random() % 10 == 0) event = 0.0F;
    }
  }
  for (auto& read : problems.reads) {
    if (random() % 3 == 0) read.var = random() % 2 == 0 ? 1e-12F : 1e12F;
    if (random() % 4 == 0) read.events_per_base = random() % 2 == 0 ? 1.0 : 280.0;
  }
  const auto expected = reference_scores(problems, model.view);
  CHECK(std::ranges::none_of(expected, [](const GroupScore& score) { return score.status == ScoreStatus::ok && std::isnan(score.methylated); }));
  for_each_form(
      [&](LogSums log_sums) { CHECK(differing(vector_scores(problems, model.view, EventsPerBase::raised, kCpg, log_sums), expected) == 0); });
}

TEST_CASE("events that no path can emit have a likelihood of zero") {
  const RandomModel model(2, 8);
  Problems problems = single_problem("ACG", {9e14F});
  problems.reads[0].var = 1e-12F;
  sluice::testing::for_each_instruction_set([&] {
    const auto scores = vector_scores(problems, model.view);
    CHECK(scores[0].status == ScoreStatus::ok);
    CHECK(scores[0].methylated == -kInfinity);
    CHECK(scores[0].unmethylated == -kInfinity);
  });
}

TEST_CASE("a score does not depend on the other problems of the call, nor on their order") {
  const RandomModel model(6, 2);
  Problems problems = random_problems(model.view, 200, 21);
  const auto together = vector_scores(problems, model.view);
  ScoreWorkspace workspace;
  std::size_t different = 0;
  for (std::size_t i = 0; i < problems.problems.size(); ++i) {
    GroupScore alone;
    REQUIRE(score_groups(problems.reads, {&problems.problems[i], 1}, model.view, kCpg, EventsPerBase::raised, workspace, {&alone, 1}));
    different += same_bits(alone, together[i]) ? 0 : 1;
  }
  CHECK(different == 0);
  std::ranges::reverse(problems.problems);
  auto reversed = vector_scores(problems, model.view);
  std::ranges::reverse(reversed);
  CHECK(differing(reversed, together) == 0);
}

TEST_CASE("events from methylated levels score higher under the methylated hypothesis, from unmethylated ones lower") {
  const RandomModel model(6, 4);
  std::mt19937_64 random(4);
  std::normal_distribution<float> noise(0.0F, 1.0F);
  int right = 0;
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    const std::string sequence = "ATTACTGATT" + std::string("CG") + "TTCAGATTCA";
    std::vector<std::uint32_t> unmethylated(17), methylated(17);
    hypothesis_ranks(sequence, 6, Strand::forward, kCpg.forward, unmethylated.data(), methylated.data());
    const bool is_methylated = round % 2 == 0;
    std::vector<float> events;
    for (const std::uint32_t rank : is_methylated ? methylated : unmethylated) {
      events.push_back(model.mean[rank] + noise(random));
      events.push_back(model.mean[rank] + noise(random));
    }
    const auto scores = vector_scores(single_problem(sequence, events), model.view);
    right += (scores[0].methylated > scores[0].unmethylated) == is_methylated ? 1 : 0;
  }
  CHECK(right > kRounds * 9 / 10);
}

TEST_CASE("without a CpG both hypotheses have the same score") {
  const RandomModel model(6, 6);
  const auto scores = vector_scores(single_problem("ATTACTGATTCCTTGGATTCA", std::vector<float>(40, 90.0F)), model.view);
  CHECK(scores[0].status == ScoreStatus::ok);
  CHECK(scores[0].methylated == scores[0].unmethylated);
}

TEST_CASE("fewer than one event per base counts as 1.25, or as f5c's NaN") {
  const RandomModel model(6, 6);
  Problems problems = single_problem("ATTACTGATTCGTTGGATTCA", std::vector<float>(40, 90.0F));
  const auto with = [&](double events_per_base, EventsPerBase floor) {
    problems.reads[0].events_per_base = events_per_base;
    return vector_scores(problems, model.view, floor)[0];
  };
  CHECK(same_bits(with(0.99, EventsPerBase::raised), with(1.25, EventsPerBase::compat)));
  for (const double sane : {1.0, 1.01, 1.25, 2.0, 5.0}) CHECK(same_bits(with(sane, EventsPerBase::raised), with(sane, EventsPerBase::compat)));
  CHECK(with(0.99, EventsPerBase::compat).status == ScoreStatus::bad_events_per_base);
  CHECK(std::isnan(with(0.99, EventsPerBase::compat).methylated));
  CHECK(with(1e9, EventsPerBase::raised).status == ScoreStatus::bad_events_per_base);
  CHECK(with(std::nan(""), EventsPerBase::raised).status == ScoreStatus::bad_events_per_base);
  CHECK(with(-3.0, EventsPerBase::raised).status == ScoreStatus::ok);
}

TEST_CASE("problems that can't be scored say why, and the others of the call are scored all the same") {
  const RandomModel model(6, 6);
  Problems problems = random_problems(model.view, 40, 5);
  const auto before = vector_scores(problems, model.view);
  problems.reads.push_back(problems.reads[0]);
  problems.reads.back().scale = kNotANumber;
  problems.reads.push_back(problems.reads[0]);
  problems.reads.back().var = 0.0F;
  const std::vector<float> spoiled = {90.0F, kNotANumber, 90.0F, kInfinity};
  problems.reads.push_back(problems.reads[0]);
  problems.reads.back().event_mean = spoiled;
  const auto spoiled_read = static_cast<std::uint32_t>(problems.reads.size() - 1);
  const std::string long_sequence(kMaximumSequenceLength + 1, 'A');
  struct Bad {
    GroupProblem problem;
    ScoreStatus status;
  };
  const std::vector<Bad> bad = {
      {{.read = 1000, .first_event = 0, .last_event = 3, .sequence = "ACGTACGT"}, ScoreStatus::no_such_read},
      {{.read = 0, .first_event = -1, .last_event = 3, .sequence = "ACGTACGT"}, ScoreStatus::no_such_event},
      {{.read = 0, .first_event = 0, .last_event = 700, .sequence = "ACGTACGT"}, ScoreStatus::no_such_event},
      {{.read = 0, .first_event = 2147483647, .last_event = 0, .sequence = "ACGTACGT"}, ScoreStatus::no_such_event},
      {{.read = 0, .first_event = 0, .last_event = 3, .sequence = "ACGTA"}, ScoreStatus::sequence_too_short},
      {{.read = 0, .first_event = 0, .last_event = 3, .sequence = ""}, ScoreStatus::sequence_too_short},
      {{.read = 0, .first_event = 0, .last_event = 3, .sequence = long_sequence}, ScoreStatus::sequence_too_long},
      {{.read = spoiled_read - 2, .first_event = 0, .last_event = 3, .sequence = "ACGTACGT"}, ScoreStatus::not_finite},
      {{.read = spoiled_read - 1, .first_event = 0, .last_event = 3, .sequence = "ACGTACGT"}, ScoreStatus::not_finite},
      {{.read = spoiled_read, .first_event = 0, .last_event = 1, .sequence = "ACGTACGT"}, ScoreStatus::not_finite},
      {{.read = spoiled_read, .first_event = 3, .last_event = 2, .sequence = "ACGTACGT"}, ScoreStatus::not_finite},
  };
  for (const Bad& one : bad) problems.problems.push_back(one.problem);
  const auto expected = reference_scores(problems, model.view);
  sluice::testing::for_each_instruction_set([&] {
    const auto scores = vector_scores(problems, model.view);
    for (std::size_t i = 0; i < before.size(); ++i) CHECK(same_bits(scores[i], before[i]));
    for (std::size_t i = 0; i < bad.size(); ++i) {
      const GroupScore& score = scores[before.size() + i];
      CHECK(score.status == bad[i].status);
      CHECK(std::isnan(score.methylated));
      CHECK(std::isnan(score.unmethylated));
    }
    CHECK(differing(scores, expected) == 0);
  });
}

TEST_CASE("a model that does not fit, or spans of different length, are refused") {
  const RandomModel model(2, 1);
  const Problems problems = single_problem("ACGT", {90.0F, 91.0F});
  ScoreWorkspace workspace;
  std::vector<GroupScore> scores(1);
  const auto score = [&](const KmerModelView& view, std::span<GroupScore> out) {
    const bool reference = score_groups_reference(problems.reads, problems.problems, view, kCpg, EventsPerBase::raised, out);
    CHECK(score_groups(problems.reads, problems.problems, view, kCpg, EventsPerBase::raised, workspace, out) == reference);
    return reference;
  };
  CHECK(score(model.view, scores));
  CHECK_FALSE(score(model.view, {}));
  KmerModelView wrong = model.view;
  wrong.k = 3;
  CHECK_FALSE(score(wrong, scores));
  wrong.k = 0;
  CHECK_FALSE(score(wrong, scores));
  wrong = model.view;
  wrong.alphabet = Alphabet::nucleotide;
  CHECK_FALSE(score(wrong, scores));
}

}  // namespace
}  // namespace sluice::methylation_hmm
