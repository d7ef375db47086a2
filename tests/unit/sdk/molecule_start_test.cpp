// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <sluice/molecule_start.hpp>
#include <span>
#include <vector>

using namespace sluice;

namespace {

using Signal = std::vector<std::int16_t>;

// Steps of 0.171 pA, 4,000 Hz, 130 bases/s: a base has 31 samples on average.
constexpr double digitisation = 8192, range = 1402.882, rate = 4000;
constexpr MoleculeStartParameters rna{.bases_per_second = 130, .tail = Tail::poly_a};

// What passes the pore, piece by piece; currents in pA.
class Strand {
 public:
  explicit Strand(std::uint32_t seed, double noise = 3) : random_(seed), noise_(0, noise) {}
  Strand& rest(std::size_t samples, double current) {
    for (std::size_t i = 0; i < samples; ++i) add(current + noise_(random_) / 4);
    return *this;
  }
  // Bases of random levels around 84 pA, as of transcripts and adapters.
  Strand& bases(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) base(level_(random_));
    return *this;
  }
  Strand& tail(std::size_t count, double current = 95) {
    for (std::size_t i = 0; i < count; ++i) base(current + visit_(random_));
    return *this;
  }
  std::int64_t size() const { return std::ssize(signal_); }
  const Signal& signal() const { return signal_; }

 private:
  void base(double current) {
    for (std::size_t dwell = dwell_(random_); dwell > 0; --dwell) add(current + noise_(random_));
  }
  void add(double picoamps) { signal_.push_back(static_cast<std::int16_t>(picoamps * digitisation / range)); }
  std::mt19937 random_;
  std::normal_distribution<double> noise_, level_{84, 12.7}, visit_{0, 1.5};
  std::uniform_int_distribution<std::size_t> dwell_{5, 57};
  Signal signal_;
};

// Where the molecule begins; the signal comes in pieces of these sizes.
struct Found {
  bool is_found;
  std::int64_t first;
  Signal kept;
  bool operator==(const Found&) const = default;
};
Found find(const Signal& signal, const MoleculeStartParameters& parameters, std::size_t piece = 100'000) {
  MoleculeStart start;
  REQUIRE(start.begin(parameters, digitisation, range, rate));
  for (std::size_t at = 0; at < signal.size() && !start.found(); at += piece)
    start.take(std::span(signal).subspan(at, std::min(piece, signal.size() - at)));
  start.finish();
  return {start.found(), start.first(), Signal(start.kept().begin(), start.kept().end())};
}

// A window of eight bases may hold some of the transcript and still be flat, and so may be what follows: then some of the transcript is lost.
constexpr std::int64_t bases_off = 4 * 31, most_lost = 50 * 31;
class Ends {
 public:
  void add(std::int64_t first, std::int64_t end) {
    CHECK(first >= end - bases_off);
    CHECK(first <= end + most_lost);
    ++all_;
    near_ += first <= end + bases_off ? 1 : 0;
  }
  ~Ends() { CHECK(near_ * 4 >= all_ * 3); }

 private:
  int all_ = 0, near_ = 0;
};

}  // namespace

TEST_CASE("a molecule of direct RNA begins where its tail ends") {
  Ends ends;
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    Strand strand(seed);
    strand.rest(700, 60).bases(60 + seed % 3 * 40).tail(15 + 3 * seed);
    const std::int64_t end = strand.size();
    strand.bases(400);
    const Found found = find(strand.signal(), rna);
    REQUIRE(found.is_found);
    ends.add(found.first, end);
  }
}

TEST_CASE("a tail is found whatever its current, with noise of samples four times as large, and with letters in it") {
  Ends ends;
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    for (const double current : {60.0, 84.0, 110.0}) {
      Strand strand(seed, seed % 2 == 0 ? 3 : 12);
      strand.bases(80).tail(40, current).bases(2).tail(30, current);
      const std::int64_t end = strand.size();
      ends.add(find(strand.bases(400).signal(), rna).first, end);
    }
  }
}

TEST_CASE("without a tail the molecule begins behind the adapter's bases, and no sample of it is lost") {
  const Signal signal = Strand(3).rest(500, 60).bases(700).signal();
  const Found found = find(signal, rna);
  REQUIRE(found.is_found);
  const Found as_dna = find(signal, {.bases_per_second = 130});
  CHECK(found.first == as_dna.first);
  CHECK(as_dna.kept.empty());
  REQUIRE(!found.kept.empty());
  CHECK(std::equal(found.kept.begin(), found.kept.end(), signal.begin() + found.first));
}

TEST_CASE("where the signal is cut makes no difference to the molecule's beginning") {
  for (const bool has_tail : {false, true}) {
    Strand strand(5);
    strand.rest(321, 60).bases(90);
    if (has_tail) strand.tail(80);
    const Signal signal = strand.bases(500).signal();
    const Found whole = find(signal, rna);
    MoleculeStart start;
    for (const std::size_t piece : {1UL, 7UL, 50UL, 200UL, 4999UL}) CHECK(find(signal, rna, piece) == whole);
  }
}

TEST_CASE("a read that ends before it is known begins by what there was") {
  Strand strand(6);
  strand.bases(80).tail(60);
  const std::int64_t end = strand.size();
  strand.bases(10);  // fewer than are waited for
  CHECK(std::abs(find(strand.signal(), rna).first - end) <= bases_off);
  const Found short_read = find(Strand(7).bases(100).signal(), rna);
  CHECK(short_read.is_found);
  CHECK(short_read.first == find(Strand(7).bases(100).signal(), {.bases_per_second = 130}).first);
  CHECK_FALSE(find(Strand(8).rest(5000, 60).signal(), rna).is_found);
  CHECK_FALSE(find({}, rna).is_found);
}

TEST_CASE("any samples and rates are taken") {
  std::mt19937 random(9);
  for (int round = 0; round < 100; ++round) {
    Signal signal(random() % 30'000);
    for (std::int16_t& sample : signal) sample = static_cast<std::int16_t>(random());
    MoleculeStartParameters parameters = rna;
    parameters.bases_per_second = round % 3 == 0 ? 1 : round % 3 == 1 ? 130 : 100'000;
    const Found found = find(signal, parameters, 1 + random() % 500);
    CHECK(found.first <= static_cast<std::int64_t>(longest_signal_prefix) + std::ssize(signal));
  }
}
