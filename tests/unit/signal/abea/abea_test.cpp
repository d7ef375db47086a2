// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <sluice/methods/abea/abea.hpp>
#include <sluice/methods/abea/narrow_arithmetic.hpp>
#include <sstream>
#include <string>

#include "simulated_read.hpp"
#include "unit/instruction_sets.hpp"

using namespace sluice;
using namespace sluice::abea;

namespace {

struct Outcome {
  AlignmentResult result;
  std::vector<std::int32_t> first_event, last_event;
  std::vector<AlignedPair> pairs;
};

Outcome align_scalar(const AlignmentInput& input) {
  Outcome outcome;
  outcome.first_event.resize(input.kmer_ranks.size());
  outcome.last_event.resize(input.kmer_ranks.size());
  outcome.result = align_events_scalar(input, outcome.first_event, outcome.last_event, &outcome.pairs);
  return outcome;
}

Outcome align(const AlignmentInput& input, AlignmentWorkspace& workspace) {
  Outcome outcome;
  outcome.first_event.resize(input.kmer_ranks.size());
  outcome.last_event.resize(input.kmer_ranks.size());
  outcome.result = align_events(input, workspace, outcome.first_event, outcome.last_event, &outcome.pairs);
  return outcome;
}

void require_same_as_scalar(const AlignmentInput& input) {
  const Outcome expected = align_scalar(input);
  AlignmentWorkspace workspace;
  sluice::testing::for_each_instruction_set([&] {
    const Outcome outcome = align(input, workspace);
    REQUIRE(name(outcome.result.status) == name(expected.result.status));
    REQUIRE(outcome.pairs == expected.pairs);
    REQUIRE(outcome.first_event == expected.first_event);
    REQUIRE(outcome.last_event == expected.last_event);
    REQUIRE(outcome.result.pair_count == expected.result.pair_count);
    REQUIRE(outcome.result.longest_skip == expected.result.longest_skip);
    if (!std::isnan(expected.result.average_emission)) REQUIRE(outcome.result.average_emission == expected.result.average_emission);
    REQUIRE(outcome.result.events_per_base == expected.result.events_per_base);
  });
}

AlignmentLimits no_limits() { return {15.0F, -std::numeric_limits<double>::infinity(), std::numeric_limits<std::int32_t>::max()}; }

// Four k-mers of one base with levels 60, 80, 100, 120 pA and a spread of 2 pA.
simulation::Model four_levels() {
  simulation::Model model;
  model.k = 1;
  model.level_mean = {60.0F, 80.0F, 100.0F, 120.0F};
  model.level_stdv.assign(4, 2.0F);
  model.log_level_stdv.assign(4, static_cast<float>(std::log(2.0)));
  return model;
}

}  // namespace

TEST_SUITE("abea") {
  TEST_CASE("events at the levels of the k-mers are aligned to those k-mers") {
    const simulation::Model model = four_levels();
    const std::vector<std::uint32_t> ranks = {0, 3, 1, 2};
    const std::vector<float> events = {60.0F, 60.5F, 120.0F, 80.0F, 80.0F, 79.5F, 100.0F};
    const AlignmentInput input{events, ranks, model.view(), {}, {}};
    const Outcome outcome = align_scalar(input);
    REQUIRE(name(outcome.result.status) == "ok");
    CHECK(outcome.first_event == std::vector<std::int32_t>{0, 2, 3, 6});
    CHECK(outcome.last_event == std::vector<std::int32_t>{1, 2, 5, 6});
    CHECK(outcome.pairs == std::vector<AlignedPair>{{0, 0}, {0, 1}, {1, 2}, {2, 3}, {2, 4}, {2, 5}, {3, 6}});
    CHECK(outcome.result.events_per_base == 6.0 / 4.0);
    require_same_as_scalar(input);
  }

  TEST_CASE("a k-mer without an event of its own is skipped and gets no event") {
    const simulation::Model model = four_levels();
    const std::vector<std::uint32_t> ranks = {0, 3, 1, 3, 2, 0};
    const std::vector<float> events = {60.0F, 60.0F, 120.0F, 80.0F, 100.0F, 60.0F};
    const AlignmentInput input{events, ranks, model.view(), {}, no_limits()};
    const Outcome outcome = align_scalar(input);
    REQUIRE(name(outcome.result.status) == "ok");
    CHECK(outcome.first_event == std::vector<std::int32_t>{0, 2, 3, -1, 4, 5});
    CHECK(outcome.result.longest_skip == 1);
    require_same_as_scalar(input);
  }

  TEST_CASE("events before the first k-mer and after the last one are trimmed") {
    const simulation::Model model = four_levels();
    const std::vector<std::uint32_t> ranks = {0, 3, 1};
    const std::vector<float> events = {150.0F, 20.0F, 60.0F, 120.0F, 80.0F, 150.0F, 20.0F, 160.0F};
    const AlignmentInput input{events, ranks, model.view(), {}, {}};
    const Outcome outcome = align_scalar(input);
    REQUIRE(name(outcome.result.status) == "ok");
    CHECK(outcome.first_event == std::vector<std::int32_t>{2, 3, 4});
    CHECK(outcome.last_event == std::vector<std::int32_t>{2, 3, 4});
    require_same_as_scalar(input);
  }

  TEST_CASE("a path moves one step at a time, spans all k-mers and agrees with the map") {
    const simulation::Model model = simulation::make_model();
    simulation::ReadParameters parameters;
    parameters.noise = 0.8F;
    const simulation::Read read = simulation::make_read(model, parameters, 3);
    AlignmentWorkspace workspace;
    const Outcome outcome = align(read.input(model), workspace);
    REQUIRE(name(outcome.result.status) == "ok");
    REQUIRE(outcome.pairs.size() == outcome.result.pair_count);
    CHECK(outcome.pairs.front().kmer == 0);
    CHECK(outcome.pairs.back().kmer == static_cast<std::int32_t>(parameters.kmer_count) - 1);
    std::vector<std::int32_t> first(parameters.kmer_count, -1), last(parameters.kmer_count, -1);
    std::int32_t previous = -1;
    for (std::size_t i = 0; i < outcome.pairs.size(); ++i) {
      const AlignedPair pair = outcome.pairs[i];
      if (i > 0) {
        const std::int32_t kmer_step = pair.kmer - outcome.pairs[i - 1].kmer;
        const std::int32_t event_step = pair.event - outcome.pairs[i - 1].event;
        REQUIRE((kmer_step == 0 || kmer_step == 1));
        REQUIRE((event_step == 0 || event_step == 1));
        REQUIRE(kmer_step + event_step > 0);
      }
      const auto kmer = static_cast<std::size_t>(pair.kmer);
      if (pair.event != previous) {
        if (first[kmer] == -1) first[kmer] = pair.event;
        last[kmer] = pair.event;
      }
      previous = pair.event;
    }
    CHECK(first == outcome.first_event);
    CHECK(last == outcome.last_event);
  }

  TEST_CASE("every instruction set gives the bits of the scalar reference on simulated reads") {
    for (std::uint64_t seed = 1; seed <= 24; ++seed) {
      const simulation::Model model = simulation::make_model(6, 1.1F + 0.1F * static_cast<float>(seed % 5), seed);
      simulation::ReadParameters parameters;
      parameters.kmer_count = seed % 3 == 0 ? 1500 + seed : 150 + 31 * seed;
      parameters.noise = 0.5F + 0.1F * static_cast<float>(seed % 10);
      parameters.events_per_kmer = 1.2 + 0.3 * static_cast<double>(seed % 9);
      parameters.outliers = seed % 4 == 0 ? 0.05 : 0.002;
      const simulation::Read read = simulation::make_read(model, parameters, seed);
      AlignmentInput input = read.input(model);
      input.limits = no_limits();
      CAPTURE(seed);
      require_same_as_scalar(input);
    }
  }

  TEST_CASE("most bands of a read of ordinary length are filled in single precision") {
    const simulation::Model model = simulation::make_model();
    simulation::ReadParameters parameters;
    parameters.kmer_count = 5000;
    const simulation::Read read = simulation::make_read(model, parameters, 5);
    AlignmentWorkspace workspace;
    sluice::testing::for_each_instruction_set([&] {
      const BandCounts bands = align(read.input(model), workspace).result.bands;
      if (bands.narrow + bands.checked + bands.wide == 0) {
        MESSAGE("no vector unit: the scalar reference ran");
        return;
      }
      CHECK(bands.narrow + bands.checked + bands.wide == static_cast<std::int64_t>(read.event_means.size() + parameters.kmer_count));
      CHECK(bands.narrow > 8 * bands.wide);
      CHECK(bands.repeated * 20 < bands.checked + 20);
    });
  }

  TEST_CASE("reads from one k-mer and one event up give the bits of the scalar reference") {
    const simulation::Model model = simulation::make_model();
    std::mt19937_64 random(11);
    for (std::size_t kmer_count = 1; kmer_count < 420; kmer_count += 1 + kmer_count / 3) {
      for (std::size_t event_count = 1; event_count < 420; event_count += 1 + event_count / 3) {
        simulation::ReadParameters parameters;
        parameters.kmer_count = kmer_count;
        parameters.skipped_kmers = 0.0;
        simulation::Read read = simulation::make_read(model, parameters, random());
        while (read.event_means.size() < event_count) read.event_means.push_back(90.0F);
        read.event_means.resize(event_count);
        AlignmentInput input = read.input(model);
        input.limits = no_limits();
        CAPTURE(kmer_count);
        CAPTURE(event_count);
        require_same_as_scalar(input);
      }
    }
  }

  TEST_CASE("ties between the three moves are broken as in the scalar reference") {
    simulation::Model model = four_levels();
    model.level_mean.assign(4, 80.0F);
    std::vector<std::uint32_t> ranks(600);
    for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<std::uint32_t>(i % 4);
    for (const std::size_t event_count : {600U, 1200U, 599U, 150U}) {
      const std::vector<float> events(event_count, 80.0F);
      require_same_as_scalar({events, ranks, model.view(), {}, no_limits()});
    }
  }

  TEST_CASE("hostile events, scalings and models end in a status, the same everywhere") {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const simulation::Model model = simulation::make_model();
    simulation::ReadParameters parameters;
    parameters.kmer_count = 700;
    const simulation::Read read = simulation::make_read(model, parameters, 21);
    for (const float value : {nan, infinity, -infinity, 1e30F, -1e30F, 3e38F, 0.0F, 1e-40F, 5e4F}) {
      CAPTURE(value);
      for (const std::size_t position : {std::size_t{0}, std::size_t{3}, read.event_means.size() / 2, read.event_means.size() - 1}) {
        simulation::Read broken = read;
        broken.event_means[position] = value;
        AlignmentInput input = broken.input(model);
        input.limits = no_limits();
        require_same_as_scalar(input);
      }
      simulation::Read scaled = read;
      scaled.scaling.scale = value;
      AlignmentInput input = scaled.input(model);
      input.limits = no_limits();
      require_same_as_scalar(input);
      scaled = read;
      scaled.scaling.shift = value;
      input = scaled.input(model);
      input.limits = no_limits();
      require_same_as_scalar(input);
      simulation::Model broken_model = model;
      broken_model.level_stdv[read.kmer_ranks[300]] = value;
      broken_model.log_level_stdv[read.kmer_ranks[400]] = value;
      input = read.input(broken_model);
      input.limits = no_limits();
      require_same_as_scalar(input);
    }
    const std::vector<float> all_nan(read.event_means.size(), nan);
    AlignmentInput input = read.input(model);
    input.event_means = all_nan;
    CHECK(name(align_scalar(input).result.status) == "no_end_cell_in_band");
    require_same_as_scalar(input);
  }

  TEST_CASE("models with narrow levels are filled in double precision and still agree") {
    const simulation::Model model = simulation::make_model(6, 0.2F, 2);
    simulation::ReadParameters parameters;
    parameters.kmer_count = 900;
    const simulation::Read read = simulation::make_read(model, parameters, 8);
    AlignmentInput input = read.input(model);
    input.limits = no_limits();
    require_same_as_scalar(input);
  }

  TEST_CASE("each reason not to align has its status") {
    const simulation::Model model = four_levels();
    const std::vector<std::uint32_t> ranks = {0, 3, 1, 2};
    const std::vector<float> events = {60.0F, 120.0F, 80.0F, 100.0F};
    AlignmentWorkspace workspace;
    const auto status_of = [&](const AlignmentInput& input) {
      const Outcome outcome = align(input, workspace);
      CHECK(outcome.pairs.empty() == (outcome.result.status != AlignmentStatus::ok));
      return name(outcome.result.status);
    };
    AlignmentInput input{events, ranks, model.view(), {}, {}};
    CHECK(status_of(input) == "ok");

    input.event_means = {};
    CHECK(status_of(input) == "no_events");
    input.event_means = events;
    input.kmer_ranks = {};
    CHECK(status_of(input) == "too_few_kmers");
    const std::vector<std::uint32_t> beyond = {0, 4};
    input.kmer_ranks = beyond;
    CHECK(status_of(input) == "kmer_outside_model");
    input.kmer_ranks = ranks;

    const std::vector<float> sixty(60, 60.0F);
    input.event_means = sixty;
    CHECK(status_of(input) == "too_many_events_per_base");
    input.event_means = events;

    input.model.log_level_stdv = input.model.log_level_stdv.first(3);
    CHECK(status_of(input) == "invalid_model");
    input.model = model.view();
    input.model.k = 0;
    CHECK(status_of(input) == "invalid_model");
    input.model = model.view();

    input.scaling.shift = 30.0F;
    CHECK(status_of(input) == "low_average_emission");
    input.scaling = {};

    std::array<std::int32_t, 4> four{};
    std::array<std::int32_t, 3> three{};
    CHECK(align_events(input, workspace, four, three).status == AlignmentStatus::output_size_mismatch);

    // One event for 60 k-mers: all but one of them are skipped.
    const std::vector<std::uint32_t> long_ranks(60, 0);
    const std::vector<float> few = {60.0F, 60.0F};
    input.kmer_ranks = long_ranks;
    input.event_means = few;
    CHECK(status_of(input) == "too_many_skipped_kmers");
    for (const std::int32_t event : align(input, workspace).first_event) CHECK(event == -1);
  }

  TEST_CASE("the workspace holds what abea_workspace_bytes says and does not grow for a smaller read") {
    const simulation::Model model = simulation::make_model();
    simulation::ReadParameters parameters;
    parameters.kmer_count = 3000;
    const simulation::Read large = simulation::make_read(model, parameters, 1);
    parameters.kmer_count = 200;
    const simulation::Read small = simulation::make_read(model, parameters, 2);
    AlignmentWorkspace workspace;
    align(large.input(model), workspace);
    CHECK(workspace.bytes() == abea_workspace_bytes(large.event_means.size(), 3000));
    align(small.input(model), workspace);
    CHECK(workspace.bytes() == abea_workspace_bytes(large.event_means.size(), 3000));
    CHECK(abea_workspace_bytes(800000, 400000) < std::size_t{46} << 20U);
    workspace.give_back_beyond(0);
    CHECK(workspace.bytes() == 0);
  }
}

TEST_SUITE("abea narrow arithmetic") {
  TEST_CASE("a sum rounded to odd and then to nearest is the double-precision result, next to midpoints too") {
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> unit(0.0, 1.0);
    std::size_t checked = 0;
    for (int read = 0; read < 200; ++read) {
      BandFillInput input{};
      input.ranges = {40.0F, 130.0F, 1.2F, 6.0F, -3.0F, -1.1F};
      input.events_are_moderate = true;
      input.log_probability = transitions(1000 + random() % 4000, 1000);
      const NarrowTransitions narrow = narrow_transitions(input);
      REQUIRE(narrow.possible);
      for (const auto& [wide, cut] : {std::pair{input.log_probability.stay, narrow.stay}, std::pair{input.log_probability.step, narrow.step}}) {
        for (int i = 0; i < 2000; ++i) {
          const auto score = static_cast<float>(-std::exp(6.0 + 7.0 * unit(random)));
          // A result halfway between two floats, and the emission that comes closest to it.
          const float near = score - static_cast<float>(60.0 * unit(random));
          const double midpoint = (static_cast<double>(near) + static_cast<double>(std::nextafter(near, 0.0F))) / 2.0;
          auto emission = static_cast<float>(midpoint - static_cast<double>(score) - wide);
          if (i % 3 == 1) emission = std::nextafter(emission, 0.0F);
          if (i % 3 == 2) emission = std::nextafter(emission, -1000.0F);
          if (emission > -1.1F || near < narrow.lowest_exact_score) continue;
          const auto expected = static_cast<float>((static_cast<double>(score) + wide) + static_cast<double>(emission));
          const float odd = round_to_odd(static_cast<double>(emission) + static_cast<double>(cut) - 0x1p-25);
          if (!(4.0F * odd >= expected)) continue;
          REQUIRE(score + odd == expected);
          ++checked;
        }
      }
    }
    CHECK(checked > 100000);
  }

  TEST_CASE("a quotient from a reciprocal and one correction is correctly rounded, next to midpoints too") {
    std::mt19937_64 random(6);
    std::uniform_real_distribution<float> spread(1.0F, 2.0F);
    for (int i = 0; i < 300000; ++i) {
      const float divisor = i % 16 == 0 ? 2.0F - static_cast<float>(1 + i % 1024) * 0x1p-23F : spread(random);
      const float near = spread(random) * std::ldexp(1.0F, static_cast<int>(random() % 8) - 2);
      const double midpoint = (static_cast<double>(near) + static_cast<double>(std::nextafter(near, 1000.0F))) / 2.0;
      auto dividend = static_cast<float>(midpoint * static_cast<double>(divisor));
      if (i % 3 == 1) dividend = std::nextafter(dividend, 0.0F);
      if (i % 3 == 2) dividend = std::nextafter(dividend, 1000.0F);
      const float reciprocal = 1.0F / divisor;
      const float quotient = dividend * reciprocal;
      REQUIRE(std::fma(std::fma(-quotient, divisor, dividend), reciprocal, quotient) == dividend / divisor);
    }
  }

  TEST_CASE("the bound on emissions lies below every emission") {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<float> level(50.0F, 130.0F), spread(1.1F, 6.0F);
    for (int i = 0; i < 20000; ++i) {
      const float event = level(random), mean = level(random), stdv = spread(random);
      const float peak = log_normal_constant - std::log(stdv);
      const LevelRanges ranges{mean, mean + 1.0F, stdv, stdv, peak, peak};
      CHECK(lowest_emission(event - 0.5F, event, ranges) < emission(event, mean, stdv, peak));
    }
  }

  TEST_CASE("reads whose arithmetic would not be exact are refused") {
    BandFillInput input{};
    input.ranges = {40.0F, 130.0F, 1.2F, 6.0F, -3.0F, -1.1F};
    input.events_are_moderate = true;
    input.log_probability = transitions(2000, 1000);
    CHECK(narrow_transitions(input).possible);
    input.ranges.highest_peak = -0.5F;
    CHECK_FALSE(narrow_transitions(input).possible);
    input.ranges.highest_peak = -1.1F;
    input.events_are_moderate = false;
    CHECK_FALSE(narrow_transitions(input).possible);
    input.events_are_moderate = true;
    input.log_probability.stay = -0.5;
    CHECK_FALSE(narrow_transitions(input).possible);
    input.log_probability = transitions(14000, 1000);
    CHECK_FALSE(narrow_transitions(input).possible);
  }
}

namespace {

std::string decompress(const std::string& command) {
  std::string text;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) return text;
  std::vector<char> buffer(1U << 16U);
  for (std::size_t count = 0; (count = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) > 0;) text.append(buffer.data(), count);
  return text;
}

// Records of one header line ">name ..." and one line of {a,b,...} groups; the chosen field of each group.
template <class Group>
std::vector<std::pair<std::string, std::vector<Group>>> parse_groups(const std::string& text, Group (*parse)(const char*)) {
  std::vector<std::pair<std::string, std::vector<Group>>> records;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    if (line.front() == '>') {
      records.push_back({line.substr(1, line.find_first_of(" \t") - 1), {}});
      continue;
    }
    for (std::size_t at = line.find('{'); at != std::string::npos; at = line.find('{', at + 1)) {
      records.back().second.push_back(parse(line.c_str() + at));
    }
  }
  return records;
}

}  // namespace

TEST_CASE("abea: the pairs of the first ten E. coli reads are those of f5c") {
  const std::string folder = std::string(SLUICE_SHARED_DIR) + "/data/ecoli_r9_real/";
  const std::string model_path = std::string(SLUICE_SHARED_DIR) + "/models/r9.4_450bps.nucleotide.6mer.template.model";
  std::ifstream model_file(model_path);
  if (!model_file) {
    MESSAGE("skipped: no " << model_path);
    return;
  }
  simulation::Model model;
  for (std::string line; std::getline(model_file, line);) {
    if (line.empty() || line.front() == '#' || line.starts_with("kmer")) continue;
    std::istringstream fields(line);
    std::string kmer;
    float mean = 0.0F, stdv = 0.0F;
    fields >> kmer >> mean >> stdv;
    REQUIRE(kmer_rank(Alphabet::nucleotide, kmer) == model.level_mean.size());
    model.level_mean.push_back(mean);
    model.level_stdv.push_back(stdv);
    model.log_level_stdv.push_back(static_cast<float>(std::log(static_cast<double>(stdv))));
  }
  std::map<std::string, std::string> bases;
  std::ifstream reads(folder + "reads.fasta");
  for (std::string line, read_name; std::getline(reads, line);) {
    if (line.starts_with('>')) {
      read_name = line.substr(1, line.find_first_of(" \t") - 1);
    } else {
      bases[read_name] += line;
    }
  }

  const auto events = parse_groups<float>(decompress("xz -dc " + folder + "expected/f5c_print_events.first10reads.txt.xz"), [](const char* group) {
    float mean = 0.0F;
    std::sscanf(group, "{%*d,%*f,%f", &mean);
    return mean;
  });
  const auto expected =
      parse_groups<AlignedPair>(decompress("gzip -dc " + folder + "expected/f5c_print_banded_aln.first10reads.txt.gz"), [](const char* group) {
        AlignedPair pair{};
        std::sscanf(group, "{%d,%d", &pair.kmer, &pair.event);
        return pair;
      });
  REQUIRE(events.size() == 10);
  REQUIRE(expected.size() == 10);

  AlignmentWorkspace workspace;
  for (std::size_t i = 0; i < events.size(); ++i) {
    REQUIRE(events[i].first == expected[i].first);
    CAPTURE(events[i].first);
    const std::string& read_bases = bases[events[i].first];
    const std::vector<float>& means = events[i].second;
    std::vector<std::uint32_t> ranks;
    double level_sum = 0.0, level_square_sum = 0.0, event_sum = 0.0, spread_sum = 0.0;
    for (std::size_t at = 0; at + 6 <= read_bases.size(); ++at) {
      ranks.push_back(kmer_rank(Alphabet::nucleotide, std::string_view(read_bases).substr(at, 6)));
      const double level = model.level_mean[ranks.back()];
      level_sum += level;
      level_square_sum += level * level;
    }
    const auto event_count = static_cast<double>(means.size());
    const auto kmer_count = static_cast<double>(ranks.size());
    for (const float mean : means) event_sum += static_cast<double>(mean);
    const double shift = event_sum / event_count - level_sum / kmer_count;
    for (const float mean : means) spread_sum += (static_cast<double>(mean) - shift) * (static_cast<double>(mean) - shift);
    const double scale = (spread_sum / event_count) / (level_square_sum / kmer_count);

    const AlignmentInput input{means, ranks, model.view(), {static_cast<float>(scale), static_cast<float>(shift)}, {}};
    sluice::testing::for_each_instruction_set([&] {
      const Outcome outcome = align(input, workspace);
      CHECK(name(outcome.result.status) == "ok");
      CHECK(outcome.pairs == expected[i].second);
    });
  }
}
