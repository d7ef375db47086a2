// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "poly_a_length/cdna_tail.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

using namespace sluice::poly_a_length;

namespace {

constexpr double digitisation = 8192, range = 1475, offset = -200;
constexpr int dwell = 10;

// A read of R10.4.1 whose bases have the same level for the same letters in a row, from a small generator.
class MadeRead {
 public:
  MadeRead& any(int count) {
    for (int i = 0; i < count; ++i) {
      const char base = "ACGT"[static_cast<std::size_t>(draw() * 4) & 3U];
      const float first = draw(), second = draw();
      add(base, 80 + 24 * (first + second - 1));
    }
    return *this;
  }
  MadeRead& run(char letter, int count) {
    for (int i = 0; i < count; ++i) add(letter, 95);
    return *this;
  }
  std::string bases;
  std::vector<std::int16_t> samples;
  std::vector<std::int8_t> moves = {5};

 private:
  void add(char base, float level) {
    bases += base;
    for (int i = 0; i < dwell; ++i)
      samples.push_back(
          static_cast<std::int16_t>((level + 3 * (draw() - 0.5F)) * static_cast<float>(digitisation / range) - static_cast<float>(offset)));
    moves.insert(moves.end(), {1, 0});
  }
  float draw() { return static_cast<float>((state_ = state_ * 1664525U + 1013904223U) >> 8U) / 0x1p24F; }
  std::uint32_t state_ = 3;
};
TailLength length_of(const MadeRead& read, bool with_moves) {
  return cdna_tail_length(read.samples, digitisation, range, 4000, read.bases, with_moves ? read.moves : std::vector<std::int8_t>());
}

}  // namespace

TEST_CASE("the bases say on which side the tail is") {
  const std::string body = "GATTACAGGCATCGATCGGATCCATG";
  CHECK_FALSE(find_tail_bases(""));
  CHECK_FALSE(find_tail_bases(body));
  CHECK_FALSE(find_tail_bases("TTTTTTTTT" + body));
  const auto front = find_tail_bases("GCGC" + std::string(20, 'T') + body);
  REQUIRE(front);
  CHECK(front->side == TailSide::front);
  CHECK(front->begin == 4);
  CHECK(front->end == 24);
  // With errors in it, behind a long body, in front of a primer.
  const std::string bodies = body + body + body + body + body + body + body + body + body + body;
  const auto rear = find_tail_bases(bodies + "C" + std::string(12, 'A') + "G" + std::string(8, 'A') + "CGCG");
  REQUIRE(rear);
  CHECK(rear->side == TailSide::rear);
  CHECK(rear->begin == bodies.size() + 1);
  CHECK(rear->end == bodies.size() + 22);
  // T at the end and A at the begin are none.
  CHECK_FALSE(find_tail_bases(std::string(20, 'A') + bodies + std::string(20, 'T')));
}

TEST_CASE("a run begins behind the last stretch that scores nothing, and ends where its score was first the best") {
  const std::string body = "GCGCGCGCGC";
  const auto begun = find_tail_bases("GTTC" + std::string(12, 'T') + body);  // two T less one C score nothing
  REQUIRE(begun);
  CHECK(begun->begin == 4);
  CHECK(begun->end == 16);
  const auto ended = find_tail_bases(std::string(12, 'T') + "CTT" + body);  // two more T only make up for the C
  REQUIRE(ended);
  CHECK(ended->end == 12);
  CHECK(find_tail_bases(std::string(10, 'T') + body));
  CHECK_FALSE(find_tail_bases(std::string(9, 'T') + body));
}

namespace {

// 160 bases of ten samples, a step is 1 pA: 0 and 100 pA in turn, but 50 pA for twenty bases from one on.
std::vector<std::int16_t> flat_from(std::size_t base, std::size_t bases = 160) {
  std::vector<std::int16_t> samples;
  for (std::size_t i = 0; i < bases; ++i) {
    const int level = i >= base && i < base + 20 ? 50 : i % 2 == 0 ? 0 : 100;
    samples.insert(samples.end(), 10, static_cast<std::int16_t>(level));
  }
  return samples;
}
std::string run_from(std::size_t base, char letter) {
  std::string bases;
  for (std::size_t i = 0; i < 160; ++i) bases += i >= base && i < base + 20 ? letter : i % 2 == 0 ? 'G' : 'C';
  return bases;
}
std::vector<std::int8_t> moves_of(std::int8_t stride, std::size_t first_blocks, std::size_t blocks_of_base) {
  std::vector<std::int8_t> moves(1 + first_blocks, 0);
  moves[0] = stride;
  for (int i = 0; i < 160; ++i) {
    moves.push_back(1);
    moves.resize(moves.size() + blocks_of_base - 1, 0);
  }
  return moves;
}
TailLength exact(std::size_t signal, const std::vector<std::int8_t>& moves, char letter = 'T', std::size_t run = 20) {
  return cdna_tail_length(flat_from(signal), 1000, 1000, 4000, run_from(run, letter), moves);
}

}  // namespace

TEST_CASE("a tail's samples are those of its bases, from either side") {
  const std::vector<std::int8_t> moves = moves_of(5, 0, 2);
  const TailLength front = exact(20, moves);
  CHECK(front.bases == 20);
  CHECK(front.begin == 200);
  CHECK(front.end == 400);
  CHECK(front.anchor == 200);
  const TailLength rear = exact(120, moves, 'A', 120);
  CHECK(rear.bases == 20);
  CHECK(rear.begin == 1200);
  CHECK(rear.end == 1400);
  CHECK(rear.anchor == 1400);
}

TEST_CASE("a tail begins at most fifteen bases behind the end of the run, where the moves say that it is") {
  const std::vector<std::int8_t> moves = moves_of(5, 0, 2);  // base 40, the run's end, at sample 400
  CHECK(exact(55, moves).begin == 550);
  CHECK(exact(56, moves).bases == TailLength::no_tail);
  // Base 40 at sample 500, as the first 100 have none: blocks of one sample.
  CHECK(exact(65, moves_of(1, 100, 10)).begin == 650);
  CHECK(exact(66, moves_of(1, 100, 10)).bases == TailLength::no_tail);
  // A stride alone, or one that is none, says nothing: bases pass at one speed.
  for (const std::vector<std::int8_t>& none : {std::vector<std::int8_t>{5}, moves_of(0, 0, 2)}) {
    CHECK(exact(55, none).begin == 550);
    CHECK(exact(56, none).bases == TailLength::no_tail);
  }
  // Moves of one base: what comes behind it is at the end.
  CHECK(exact(20, {5, 1}).bases == TailLength::no_tail);
}

TEST_CASE("a tail of cDNA is as long as its signal, on either side") {
  for (const bool with_moves : {true, false})
    for (const int tail : {20, 40, 120}) {
      CAPTURE(with_moves);
      CAPTURE(tail);
      const MadeRead front = MadeRead().any(40).run('T', tail).any(700), rear = MadeRead().any(700).run('A', tail).any(40);
      const TailLength of_front = length_of(front, with_moves), of_rear = length_of(rear, with_moves);
      CHECK(of_front.bases == doctest::Approx(tail).epsilon(0.2));
      CHECK(of_rear.bases == doctest::Approx(tail).epsilon(0.2));
      CHECK(of_front.begin == doctest::Approx(40 * dwell).epsilon(0.2));
      CHECK(of_rear.begin == doctest::Approx(700 * dwell).epsilon(0.02));
      CHECK(of_rear.end == doctest::Approx((700 + tail) * dwell).epsilon(0.02));
    }
}

TEST_CASE("a basecaller that shortens the tail does not shorten what is measured") {
  MadeRead read = MadeRead().any(40).run('T', 90).any(700);
  read.bases.erase(60, 60);  // 30 of 90 T are left
  CHECK(length_of(read, false).bases == doctest::Approx(90).epsilon(0.2));
}

TEST_CASE("cDNA without a tail, or without its signal") {
  CHECK(length_of(MadeRead().any(700), true).bases == TailLength::no_adapter);
  CHECK(cdna_tail_length({}, digitisation, range, 4000, "", {}).bases == TailLength::no_adapter);
  CHECK(cdna_tail_length({}, digitisation, range, 4000, std::string(30, 'T'), {}).bases == TailLength::no_tail);
  MadeRead other = MadeRead().any(760);
  other.bases.replace(40, 30, std::string(30, 'T'));
  CHECK(length_of(other, true).bases == TailLength::no_tail);
}
