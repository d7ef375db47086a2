// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where the poly(A) tail ends in the signal of direct RNA, which passes the pore with its 3' end first: adapter, tail, and then the transcript.
//
// A homopolymer is one k-mer over and over: the means of stretches as long as a base hardly differ, while they do everywhere else. That a tail is a
// run of windows of low spread is the idea of tailfindr (Krause et al. 2019) and of the tail estimate of the base caller dorado; here it is decided
// sample by sample, forwards only, in integers, so that where the signal is cut into pieces makes no difference. How much current a read has is not
// asked: in the model of RNA004 the levels of poly(A) and poly(G) are 1 pA apart, and scales of reads differ by more.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

// One read at a time. Lengths are in blocks, which have the samples of one base on average.
class PolyATail {
 public:
  // Spread of the means of so many blocks; of a flat window it is below the limit. Means have little of the samples' noise.
  static constexpr std::size_t window_blocks = 8;
  // Flat windows so near to each other are one run: tails have other letters in them, and strands slip. What of the transcript is flat behind a tail
  // is then counted to it, in fewer than one of four simulated reads, at the cost of some bases that nothing is decided by.
  static constexpr std::int64_t patience_blocks = 16;
  // The tail is the run with the most flat windows of those that begin within so many blocks: 9,300 samples of RNA004,
  // which adapters are taken to be shorter than.
  static constexpr std::int64_t search_blocks = 300;
  // It has at least so many (12 bases in one piece): adapters are ligated by ten T, which ask for as many A. Where levels of neighbours happen to be
  // alike, and strands stay, there are such runs elsewhere, too: in 3 % of simulated adapters of some 60 bases.
  static constexpr std::int64_t least_windows = 5;
  // A run of so many (30 bases in one piece) is a tail whatever comes behind it.
  static constexpr std::int64_t sure_windows = 23;

  // samples_per_base: above 0. least_stdv: flat below it, in steps of the converter.
  void begin(double samples_per_base, double least_stdv) {
    block_samples_ = static_cast<std::int64_t>(std::clamp(samples_per_base + 0.5, 1.0, longest_block));
    // 64 n^2 times the variance of the means of eight blocks of n samples: an integer made of their sums.
    const double factor = static_cast<double>(window_blocks * window_blocks) * static_cast<double>(block_samples_ * block_samples_);
    limit_ = least_stdv * least_stdv * factor;
    blocks_ = in_block_ = sum_ = 0;
    run_ = longest_ = Run();
    state_ = State::searching;
  }

  // Takes further samples, and returns how many of them it has looked at: all, unless it was decided before their end.
  std::size_t take(std::span<const std::int16_t> samples) {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (is_decided()) return i;
      sum_ += samples[i];
      if (++in_block_ < block_samples_) continue;
      add_block();
    }
    return samples.size();
  }
  // The read has ended: decides by what there was.
  void finish() {
    if (is_decided()) return;
    end_run();
    decide();
  }

  bool is_decided() const { return state_ == State::found || state_ == State::none; }
  bool is_found() const { return state_ == State::found; }
  // Samples up to the end of the tail, if it was found.
  std::int64_t end() const { return longest_.end * block_samples_; }
  // Samples in front of it, if it was found.
  std::int64_t first() const { return longest_.begin * block_samples_; }
  // Most samples that are looked at when there is no tail.
  static std::int64_t search_samples(double samples_per_base) {
    return search_blocks * static_cast<std::int64_t>(std::clamp(samples_per_base + 0.5, 1.0, longest_block));
  }

 private:
  enum class State : std::uint8_t { searching, found, none };
  struct Run {
    std::int64_t windows = 0;  // that are flat
    std::int64_t begin = 0;    // of the first of them, in blocks
    std::int64_t end = 0;      // of the last of them
  };
  static constexpr double longest_block = 10'000;  // the squares of eight sums then stay within 63 bits

  void add_block() {
    window_[static_cast<std::size_t>(blocks_) % window_blocks] = sum_;
    ++blocks_;
    in_block_ = sum_ = 0;
    if (is_flat()) {
      if (run_.windows == 0) run_.begin = blocks_ - static_cast<std::int64_t>(window_blocks);
      ++run_.windows;
      run_.end = blocks_;
    } else if (blocks_ - run_.end >= patience_blocks) {
      end_run();
      if (longest_.windows >= sure_windows || blocks_ >= search_blocks) decide();
    }
  }
  void end_run() {
    if (run_.windows > longest_.windows) longest_ = run_;
    run_.windows = 0;
  }
  void decide() { state_ = longest_.windows >= least_windows ? State::found : State::none; }
  bool is_flat() const {
    if (blocks_ < static_cast<std::int64_t>(window_blocks)) return false;
    std::int64_t sum = 0, squares = 0;
    for (const std::int64_t block : window_) {
      sum += block;
      squares += block * block;
    }
    return static_cast<double>(static_cast<std::int64_t>(window_blocks) * squares - sum * sum) < limit_;
  }

  std::int64_t block_samples_ = 1;
  double limit_ = 0;
  State state_ = State::searching;
  std::array<std::int64_t, window_blocks> window_{};  // sums of the last blocks, in no order
  std::int64_t blocks_ = 0, in_block_ = 0, sum_ = 0;
  Run run_, longest_;
};

}  // namespace sluice
