// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <sluice/squiggle_reference.hpp>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "signal_normalization/prefix_normalizer.hpp"

using namespace sluice::signal_normalization;
using sluice::testing::BatchBuilder;
using sluice::testing::Result;
using sluice::testing::run_stage;
using sluice::testing::TestBatch;
namespace testing = sluice::testing;

namespace {

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const info = testing::load_plugin(SLUICE_PLUGIN_DIR "/signal_normalization.so");
  return *info;
}

using Signal = std::vector<std::int16_t>;

// A stall, and then k-mers that stay for nine samples each.
Signal strand(std::size_t stall, std::size_t samples, std::uint32_t seed) {
  std::mt19937 random(seed);
  Signal signal;
  for (std::size_t i = 0; i < stall; ++i) signal.push_back(static_cast<std::int16_t>(520 + random() % 9));
  int level = 500;
  for (std::size_t i = 0; i < samples; ++i) {
    if (i % 9 == 0) level = (i % 18 == 0 ? 380 : 560) + static_cast<int>(random() % 60);
    signal.push_back(static_cast<std::int16_t>(level + static_cast<int>(random() % 15)));
  }
  return signal;
}

struct Prefix {
  NormalizationStatus status = NormalizationStatus::ok;
  std::vector<std::int16_t> levels, sample;
  bool complete = false;
  std::int64_t samples = 0;
  bool operator==(const Prefix&) const = default;
};

constexpr double digitisation = 8192, range = 1400, rate = 4000;

// Takes the signal in pieces that end at `cuts`.
Prefix normalize(const Signal& signal, const NormalizationParameters& parameters, const std::vector<std::size_t>& cuts = {}) {
  PrefixNormalizer normalizer;
  Prefix prefix;
  NormalizedSignal normalized;
  normalized.wants = NormalizedSignal::Samples::wanted;
  prefix.status = normalizer.begin(parameters, digitisation, range, rate);
  std::size_t at = 0;
  std::vector<std::size_t> ends = cuts;
  ends.push_back(signal.size());
  for (const std::size_t end : ends) {
    if (prefix.status == NormalizationStatus::ok) prefix.status = normalizer.take(std::span(signal).subspan(at, end - at), normalized);
    at = end;
  }
  if (prefix.status == NormalizationStatus::ok) prefix.status = normalizer.end(normalized);
  prefix.levels = normalized.levels;
  prefix.sample = normalized.samples;
  prefix.complete = normalizer.complete();
  prefix.samples = normalizer.prefix_samples();
  return prefix;
}

// The definition, in f64, from the first sample of the first level on.
std::vector<double> expected_levels(const Signal& signal, std::size_t first, const NormalizationParameters& p) {
  const auto levels_in = [&](double bases) {
    return std::max<std::size_t>(1, static_cast<std::size_t>(bases * rate / p.bases_per_second) / static_cast<std::size_t>(p.samples_per_level));
  };
  const auto per_level = static_cast<std::size_t>(p.samples_per_level);
  std::vector<double> means, result;
  for (std::size_t i = first; i + per_level <= signal.size() && means.size() < levels_in(p.prefix_bases); i += per_level) {
    double sum = 0;
    for (std::size_t k = 0; k < per_level; ++k) sum += signal[i + k];
    means.push_back(sum / static_cast<double>(per_level));
  }
  for (std::size_t begin = 0; begin < means.size();) {
    const std::size_t end = std::min(means.size(), begin + levels_in(begin == 0 ? p.calibration_bases : p.recalibration_bases));
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < end; ++i) sum += means[i];
    const double mean = sum / static_cast<double>(end);
    for (std::size_t i = 0; i < end; ++i) squares += (means[i] - mean) * (means[i] - mean);
    for (; begin < end; ++begin)
      result.push_back(std::clamp(16 * (means[begin] - mean) / std::sqrt(squares / static_cast<double>(end)), -63.0, 63.0));
  }
  return result;
}

TestBatch batch_of(const std::vector<Signal>& signals, double steps = digitisation) {
  const auto rows = static_cast<std::int64_t>(signals.size());
  return BatchBuilder("read", rows)
      .list<std::int16_t>("raw_signal", signals)
      .column<double>("digitisation", std::vector<double>(signals.size(), steps))
      .column<double>("range", std::vector<double>(signals.size(), range))
      .column<double>("sampling_rate", std::vector<double>(signals.size(), rate))
      .build();
}

struct Chunk {
  std::int32_t channel, index;
  std::uint8_t is_last;
  Signal signal;
};
TestBatch batch_of(const std::vector<Chunk>& chunks) {
  std::vector<Signal> signals;
  std::vector<std::int32_t> channel, index;
  std::vector<std::uint8_t> is_last;
  for (const Chunk& chunk : chunks) {
    signals.push_back(chunk.signal);
    channel.push_back(chunk.channel);
    index.push_back(chunk.index);
    is_last.push_back(chunk.is_last);
  }
  return BatchBuilder("read", static_cast<std::int64_t>(chunks.size()))
      .list<std::int16_t>("raw_signal", signals)
      .column<double>("digitisation", std::vector<double>(signals.size(), digitisation))
      .column<double>("range", std::vector<double>(signals.size(), range))
      .column<double>("sampling_rate", std::vector<double>(signals.size(), rate))
      .column<std::int32_t>("channel", channel)
      .column<std::int32_t>("chunk_index", index)
      .column<std::uint8_t>("is_last_chunk", is_last)
      .build();
}

}  // namespace

TEST_CASE("levels are means of samples, normalised by all levels up to the end of their block") {
  for (const std::int32_t samples_per_level : {1, 2, 3, 7}) {
    NormalizationParameters parameters;
    parameters.samples_per_level = samples_per_level;
    const Signal signal = strand(1000, 6000, 1);
    const Prefix prefix = normalize(signal, parameters);
    REQUIRE(prefix.status == NormalizationStatus::ok);
    CHECK(prefix.complete);
    // The stall ends in the window that begins at 1000; three windows show it; 800 samples of adapter are left out.
    const auto expected = expected_levels(signal, 1000 + 800, parameters);
    REQUIRE(prefix.levels.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(std::abs(prefix.levels[i] - expected[i]) <= 0.5 + 1e-3);
    CHECK(prefix.samples == 1800 + static_cast<std::int64_t>(expected.size()) * samples_per_level);
  }
}

TEST_CASE("where the signal is cut makes no difference") {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    NormalizationParameters parameters;
    parameters.samples_per_level = 1 + static_cast<std::int32_t>(random() % 5);
    parameters.prefix_bases = 1 + random() % 300;
    parameters.adapter_bases = random() % 100;
    parameters.calibration_bases = 1 + random() % 150;
    parameters.recalibration_bases = 1 + random() % 50;
    parameters.tail = round % 2 == 0 ? sluice::Tail::none : sluice::Tail::poly_a;
    Signal signal = strand(random() % 500, random() % 4000, random());
    if (round % 3 != 0) {
      const Signal molecule = strand(random() % 1500, random() % 4000, random());  // what rests before it is taken for a tail
      signal.insert(signal.end(), molecule.begin(), molecule.end());
    }
    std::vector<std::size_t> cuts;
    for (std::size_t i = random() % 20; i > 0; --i) cuts.push_back(random() % (signal.size() + 1));
    std::sort(cuts.begin(), cuts.end());
    CHECK(normalize(signal, parameters, cuts) == normalize(signal, parameters));
  }
}

TEST_CASE("a read that ends early gives the levels that it has") {
  const NormalizationParameters parameters;
  const Prefix prefix = normalize(strand(0, 800 + 1000, 2), parameters);
  CHECK(prefix.status == NormalizationStatus::ok);
  CHECK(!prefix.complete);
  CHECK(prefix.levels.size() == 333);
  CHECK(prefix.samples == 800 + 999);
  const Prefix adapter_only = normalize(strand(0, 700, 2), parameters);
  CHECK(adapter_only.levels.empty());
  CHECK(adapter_only.samples == 700);
  CHECK(normalize({}, parameters).levels.empty());
}

TEST_CASE("behind a tail come the levels of the molecule, and of the whole strand where there is no tail") {
  NormalizationParameters parameters;
  parameters.adapter_bases = 30;
  // Levels that follow no pattern: means of nine samples of strand() may all be alike.
  const auto wandering = [](std::size_t stall, std::size_t samples, std::uint32_t seed) {
    std::mt19937 random(seed);
    Signal signal = strand(stall, 0, seed);
    int level = 500;
    for (std::size_t i = 0; i < samples; ++i) {
      if (random() % 9 == 0) level = 350 + static_cast<int>(random() % 300);
      signal.push_back(static_cast<std::int16_t>(level + static_cast<int>(random() % 15)));
    }
    return signal;
  };
  const Signal adapter = wandering(300, 1000, 5), molecule = wandering(900, 5000, 6);
  Signal with_tail = adapter;
  with_tail.insert(with_tail.end(), molecule.begin(), molecule.end());
  NormalizationParameters with = parameters;
  with.tail = sluice::Tail::poly_a;
  const Prefix behind = normalize(with_tail, with);
  CHECK(behind.complete);
  const std::int64_t first = behind.samples - 3 * std::ssize(behind.levels);
  CHECK(std::abs(first - (300 + 1000 + 900)) <= 4 * 9);
  CHECK(normalize(adapter, with) == normalize(adapter, parameters));
  const Signal no_tail = wandering(300, 6000, 5);
  CHECK(normalize(no_tail, with, {100, 2000, 2001}) == normalize(no_tail, parameters));
}

TEST_CASE("a pore of RNA has to have a tail looked for, and one of DNA has none") {
  const auto with = [](const std::string& pore, const std::string& tail) {
    const TestBatch model = BatchBuilder("kmer", 0).attribute("pore", pore).build();
    return run_stage(testing::stage_of(plugin(), "signal_normalization"), batch_of(std::vector<Signal>{strand(200, 5000, 1)}))
        .resource("model", model)
        .with({{"tail", tail}})
        .run();
  };
  CHECK(with("r9", "poly_a").status == SLUICE_ERROR_USAGE);
  CHECK(with("r9", "poly_a").message.find("have no poly(A) tail") != std::string::npos);
  for (const auto& [pore, tail] : {std::pair{"rna004", "poly_a"}, {"rna004", "none"}, {"r10", "none"}, {"", "poly_a"}}) CHECK(with(pore, tail).ok());
}

TEST_CASE("a strand that never moves gives no level") {
  const Prefix prefix = normalize(strand(20000, 0, 3), NormalizationParameters{});
  CHECK(prefix.status == NormalizationStatus::ok);
  CHECK(prefix.levels.empty());
  CHECK(!prefix.complete);
}

TEST_CASE("a signal that is saturated where it matters is flat") {
  Signal signal = strand(0, 400, 4);
  signal.resize(20000, std::numeric_limits<std::int16_t>::max());
  CHECK(normalize(signal, NormalizationParameters{}).status == NormalizationStatus::flat_signal);
  signal[3000] = std::numeric_limits<std::int16_t>::min();  // behind the first block
  CHECK(normalize(signal, NormalizationParameters{}).status == NormalizationStatus::flat_signal);
  signal[1000] = std::numeric_limits<std::int16_t>::min();
  const Prefix prefix = normalize(signal, NormalizationParameters{});
  CHECK(prefix.status == NormalizationStatus::ok);
  CHECK(*std::min_element(prefix.levels.begin(), prefix.levels.end()) == -63);
}

TEST_CASE("any samples give levels within the limit") {
  std::mt19937 random(6);
  for (int round = 0; round < 100; ++round) {
    Signal signal(random() % 5000);
    for (std::int16_t& sample : signal) sample = static_cast<std::int16_t>(random());
    NormalizationParameters parameters;
    parameters.samples_per_level = 1 + static_cast<std::int32_t>(random() % 64);
    for (const std::int16_t level : normalize(signal, parameters).levels) CHECK(std::abs(level) <= 63);
  }
}

TEST_CASE("each level has its samples, whose mean it is") {
  const Signal signal = strand(300, 5000, 8);
  const NormalizationParameters parameters;
  const Prefix prefix = normalize(signal, parameters, {700, 1501, 4999});
  CHECK(prefix == normalize(signal, parameters));
  const auto per_level = static_cast<std::size_t>(parameters.samples_per_level);
  REQUIRE(!prefix.levels.empty());
  REQUIRE(prefix.sample.size() == prefix.levels.size() * per_level);
  for (std::size_t i = 0; i < prefix.levels.size(); ++i) {
    double sum = 0;
    bool is_clipped = false;
    for (std::size_t k = 0; k < per_level; ++k) {
      sum += prefix.sample[i * per_level + k];
      is_clipped = is_clipped || std::abs(prefix.sample[i * per_level + k]) == sluice::squiggle_sample_limit;
    }
    // Rounded once to 1/16 and three times to 1/64.
    if (!is_clipped) CHECK(std::abs(sum / 3 / 4 - prefix.levels[i]) < 0.7);
  }
}

TEST_CASE("a read's calibration cancels out, and has to be possible") {
  const Signal signal = strand(300, 5000, 8);
  PrefixNormalizer normalizer;
  NormalizedSignal one, other;
  CHECK(normalizer.begin({}, 8192, 1400, 4000) == NormalizationStatus::ok);
  CHECK(normalizer.take(signal, one) == NormalizationStatus::ok);
  CHECK(normalizer.begin({}, 8192, 1500, 4000) == NormalizationStatus::ok);
  CHECK(normalizer.take(signal, other) == NormalizationStatus::ok);
  CHECK(one.levels == other.levels);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -1.0, nan, infinite}) {
    CHECK(normalizer.begin({}, bad, 1400, 4000) == NormalizationStatus::bad_calibration);
    CHECK(normalizer.begin({}, 8192, bad, 4000) == NormalizationStatus::bad_calibration);
    CHECK(normalizer.begin({}, 8192, 1400, bad) == NormalizationStatus::bad_calibration);
  }
  CHECK(normalizer.begin({}, 8192, 1400, 1e300) == NormalizationStatus::ok);
  CHECK(normalizer.take(signal, one) == NormalizationStatus::ok);
}

TEST_CASE("the stage gives one prefix a read, and fails what can't be normalised") {
  Signal flat = strand(0, 400, 4);
  flat.resize(20000, 32767);
  const Result result = run_stage(testing::stage_of(plugin(), "signal_normalization"), batch_of({strand(200, 5000, 1), flat, strand(0, 1500, 2), {}}))
                            .threads(2)
                            .expect_rows(3);
  const auto batch = result.batch().view();
  CHECK(result.failed == std::vector<testing::FailedRow>{{0, 1, "flat_signal"}});
  CHECK(batch.list<std::int16_t>("query_level")[0].size() == 740);
  CHECK(batch.column<std::uint8_t>("query_complete")[0] == 1);
  CHECK(batch.column<std::int32_t>("prefix_samples")[0] == 200 + 800 + 2220);
  CHECK(batch.column<std::uint8_t>("query_complete")[2] == 0);
  CHECK(batch.list<std::int16_t>("query_level")[3].empty());
  const Result bad = run_stage(testing::stage_of(plugin(), "signal_normalization"), batch_of({strand(200, 5000, 1)}, 0)).run();
  CHECK(bad.failed == std::vector<testing::FailedRow>{{0, 0, "bad_calibration"}});
}

TEST_CASE("chunks of many channels, however they are cut and mixed, give the levels of the whole reads") {
  std::mt19937 random(9);
  for (int round = 0; round < 20; ++round) {
    // Reads of a channel follow each other; the channels' chunks are interleaved at random.
    constexpr int channels = 5, reads_a_channel = 3;
    std::vector<std::vector<Chunk>> waiting(channels);
    std::vector<Signal> reads;
    std::vector<std::vector<std::int16_t>> levels(channels * reads_a_channel);
    for (int channel = 0; channel < channels; ++channel)
      for (int read = 0; read < reads_a_channel; ++read) {
        const Signal signal = strand(random() % 600, 200 + random() % 4500, random());
        std::int32_t index = 0;
        for (std::size_t at = 0; at < signal.size();) {
          const std::size_t end = std::min(signal.size(), at + 1 + random() % 900);
          waiting[static_cast<std::size_t>(channel)].push_back(
              {channel * 1000 - 7, index++, static_cast<std::uint8_t>(end == signal.size()),
               Signal(signal.begin() + static_cast<std::ptrdiff_t>(at), signal.begin() + static_cast<std::ptrdiff_t>(end))});
          at = end;
        }
        reads.push_back(signal);
      }
    std::vector<TestBatch> batches;
    std::vector<std::vector<std::size_t>> owner;  // per batch and row: the read
    std::vector<std::size_t> next(channels), read_of(channels);
    for (bool more = true; more;) {
      std::vector<Chunk> rows;
      std::vector<std::size_t> owners;
      for (std::size_t i = 1 + random() % 12; i > 0; --i) {
        const std::size_t channel = random() % channels;
        if (next[channel] == waiting[channel].size()) continue;
        rows.push_back(waiting[channel][next[channel]++]);
        owners.push_back(channel * reads_a_channel + read_of[channel]);
        if (rows.back().is_last != 0) ++read_of[channel];
      }
      batches.push_back(batch_of(rows));
      owner.push_back(owners);
      more = false;
      for (std::size_t channel = 0; channel < channels; ++channel) more = more || next[channel] < waiting[channel].size();
    }
    const Result result = run_stage(testing::stage_of(plugin(), "signal_normalization_stream"), batches).threads(2).run();
    REQUIRE_MESSAGE(result.ok(), result.message);
    CHECK(result.failed.empty());
    std::vector<std::int32_t> samples(reads.size());
    std::vector<std::uint8_t> complete(reads.size());
    for (std::size_t b = 0; b < batches.size(); ++b) {
      const auto view = result.batches[b].view();
      for (std::int64_t row = 0; row < view.rows(); ++row) {
        const std::size_t read = owner[b][static_cast<std::size_t>(row)];
        const auto part = view.list<std::int16_t>("query_level")[row];
        levels[read].insert(levels[read].end(), part.begin(), part.end());
        samples[read] = view.column<std::int32_t>("prefix_samples")[static_cast<std::size_t>(row)];
        complete[read] = view.column<std::uint8_t>("query_complete")[static_cast<std::size_t>(row)];
      }
    }
    const Result whole = run_stage(testing::stage_of(plugin(), "signal_normalization"), batch_of(reads)).run();
    const auto view = whole.batch().view();
    for (std::size_t read = 0; read < reads.size(); ++read) {
      const auto expected = view.list<std::int16_t>("query_level")[static_cast<std::int64_t>(read)];
      CHECK(levels[read] == std::vector<std::int16_t>(expected.begin(), expected.end()));
      CHECK(samples[read] == view.column<std::int32_t>("prefix_samples")[read]);
      CHECK(complete[read] == view.column<std::uint8_t>("query_complete")[read]);
    }
  }
}

TEST_CASE("a read of which a chunk is missing fails, and the channel's next read does not") {
  const Signal piece = strand(0, 500, 1);
  const Result result = run_stage(testing::stage_of(plugin(), "signal_normalization_stream"), batch_of({{1, 0, 0, piece},
                                                                                                        {1, 2, 0, piece},
                                                                                                        {1, 3, 1, piece},
                                                                                                        {2, 5, 0, piece},
                                                                                                        {1, 0, 0, piece},
                                                                                                        {1, 1, 1, piece},
                                                                                                        {1, 2, 0, piece},
                                                                                                        {3, -1, 0, piece}}))
                            .run();
  REQUIRE(result.ok());
  CHECK(result.failed ==
        std::vector<testing::FailedRow>{
            {0, 1, "chunk_missing"}, {0, 2, "chunk_missing"}, {0, 3, "chunk_missing"}, {0, 6, "chunk_missing"}, {0, 7, "chunk_missing"}});
}

TEST_CASE("a prefix series gives each read once a length") {
  const auto reads = BatchBuilder("read", 3)
                         .text("read_id", {"a", "b", "c"})
                         .list<std::int16_t>("raw_signal", {{1, 2, 3}, {4}, {}})
                         .column<double>("digitisation", {1, 2, 3})
                         .column<double>("range", {4, 5, 6})
                         .column<double>("sampling_rate", {7, 8, 9})
                         .failed(1)
                         .build();
  const Result result = run_stage(testing::stage_of(plugin(), "prefix_series"), reads).with({{"prefix_bases", "50,250"}}).expect_rows(4);
  const auto batch = result.batch().view();
  CHECK(batch.text("read_id")[1] == "a");
  CHECK(batch.text("read_id")[2] == "c");
  CHECK(batch.list<std::int16_t>("raw_signal")[1].size() == 3);
  CHECK(batch.column<double>("prefix_bases")[2] == 50);
  CHECK(batch.column<double>("prefix_bases")[3] == 250);
  CHECK(batch.column<double>("sampling_rate")[3] == 9);
  for (const char* wrong : {"", "50,", "a", "50,50", "0", "-1", "1e9"})
    CHECK(run_stage(testing::stage_of(plugin(), "prefix_series"), reads).with({{"prefix_bases", wrong}}).run().status == SLUICE_ERROR_USAGE);
}

TEST_CASE("the beginning of a read has to be enough, and is refused where it is not") {
  const auto reads_with = [](std::vector<Signal> raw, const std::vector<std::int64_t>& sample_count) {
    const auto rows = static_cast<std::int64_t>(raw.size());
    const std::vector<double> rates(raw.size(), rate), ranges(raw.size(), range), levels(raw.size(), digitisation);
    return BatchBuilder("read", rows)
        .text("read_id", std::vector<std::string>(raw.size(), "a"))
        .list<std::int16_t>("raw_signal", std::move(raw))
        .column<double>("digitisation", levels)
        .column<double>("range", ranges)
        .column<double>("sampling_rate", rates)
        .column<std::int64_t>("sample_count", sample_count)
        .build();
  };
  const Signal whole = strand(100, 9000, 1);
  const Signal enough(whole.begin(), whole.begin() + 4000), short_of(whole.begin(), whole.begin() + 2000), two = strand(0, 900, 2);
  const auto all = static_cast<std::int64_t>(whole.size());
  const auto normalization = testing::stage_of(plugin(), "signal_normalization");
  const auto part =
      run_stage(normalization, reads_with({enough, two, Signal(300, 5)}, {all, static_cast<std::int64_t>(two.size()), 300})).run().expect_rows(3);
  const auto full = run_stage(normalization, reads_with({whole}, {all})).run().expect_rows(1);
  CHECK(std::ranges::equal(part.batch().view().list<std::int16_t>("query_level")[0], full.batch().view().list<std::int16_t>("query_level")[0]));
  for (const auto& refused : {reads_with({enough, short_of}, {all, all}), reads_with({Signal(300, 5)}, {301})}) {
    const Result result = run_stage(normalization, refused).run();
    CHECK(result.status == SLUICE_ERROR_USAGE);
    CHECK(result.remedy.find("give signal_decode the same prefix_bases") != std::string::npos);
  }
  const auto series = testing::stage_of(plugin(), "prefix_series");
  CHECK(run_stage(series, reads_with({enough}, {all})).run().status == SLUICE_ERROR_USAGE);
  run_stage(series, reads_with({whole}, {all})).expect_rows(5);
}

TEST_CASE("the stages keep the contract") {
  const Signal one = strand(100, 4000, 1), two = strand(0, 900, 2);
  const auto reads = BatchBuilder("read", 2)
                         .text("read_id", {"a", "b"})
                         .list<std::int16_t>("raw_signal", {one, two})
                         .column<double>("digitisation", {digitisation, digitisation})
                         .column<double>("range", {range, range})
                         .column<double>("sampling_rate", {rate, rate})
                         .build();
  const auto chunks = batch_of({{1, 0, 0, one}, {2, 0, 1, two}, {1, 1, 1, two}});
  const auto problems = testing::contract_problems(plugin(), {{"signal_normalization", {.batches = {reads}}},
                                                              {"prefix_series", {.batches = {reads}}},
                                                              {"signal_normalization_stream", {.batches = {chunks}}}});
  for (const std::string& problem : problems) FAIL_CHECK(problem);
}
