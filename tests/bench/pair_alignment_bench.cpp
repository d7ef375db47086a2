// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Milliseconds of processor time a pair on one thread, for every instruction set and for edlib where it is installed: the least of the rounds, which
// take turns. Pairs are random bases and the same with errors, a third each of substitutions, insertions and deletions. Says how many alignments
// differ from edlib's.
//   pair_alignment_bench ROUNDS PAIRS BASES ERROR_RATE
#define HWY_WANT_AVX3_DL
#include <fmt/format.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "bench/thread_time.hpp"
#include "pair_alignment/pair_aligner.hpp"

#ifdef SLUICE_WITH_EDLIB
#include <edlib.h>
#endif

using namespace sluice::pair_alignment;

namespace {

struct Pair {
  std::string query, target;
};
using Cigar = std::vector<std::uint32_t>;

std::vector<Pair> make_pairs(std::size_t count, std::size_t bases, double rate) {
  std::mt19937 random(1);
  const auto happens = [&] { return random() < rate / 3 * 4294967296.0; };
  std::vector<Pair> pairs(count);
  for (Pair& pair : pairs) {
    for (std::size_t i = 0; i < bases; ++i) pair.target += "ACGT"[random() % 4];
    for (const char base : pair.target) {
      if (happens()) pair.query += "ACGT"[random() % 4];
      if (happens()) continue;
      pair.query += happens() ? "ACGT"[random() % 4] : base;
    }
  }
  return pairs;
}

void align_all(PairAligner& aligner, const std::vector<Pair>& pairs, std::vector<Cigar>& cigars) {
  cigars.resize(pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) aligner.align(pairs[i].query, pairs[i].target, cigars[i]);
}

#ifdef SLUICE_WITH_EDLIB
void align_all_by_edlib(const std::vector<Pair>& pairs, std::vector<Cigar>& cigars) {
  cigars.assign(pairs.size(), {});
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto& [query, target] = pairs[i];
    const EdlibAlignResult result = edlibAlign(query.data(), static_cast<int>(query.size()), target.data(), static_cast<int>(target.size()),
                                               edlibNewAlignConfig(-1, EDLIB_MODE_NW, EDLIB_TASK_PATH, nullptr, 0));
    for (int k = 0; k < result.alignmentLength; ++k) {
      const std::uint32_t operation = result.alignment[k] % 3;
      if (!cigars[i].empty() && (cigars[i].back() & 15U) == operation)
        cigars[i].back() += 16;
      else
        cigars[i].push_back(16U | operation);
    }
    edlibFreeAlignResult(result);
  }
}
#endif

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return fmt::print(stderr, "pair_alignment_bench ROUNDS PAIRS BASES ERROR_RATE\n"), 2;
  const int rounds = std::stoi(argv[1]);
  const std::vector<Pair> pairs = make_pairs(std::stoul(argv[2]), std::stoul(argv[3]), std::stod(argv[4]));
  sluice::bench::choose_instruction_sets(0);
  const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  std::vector<PairAligner> aligners(targets.size());  // as in a run, their memory has been used before
  std::vector<Cigar> ours, theirs;
  std::vector<double> least(targets.size() + 1, std::numeric_limits<double>::max());
  std::size_t different = 0;
  const auto measure = [&](std::size_t which, const std::function<void()>& body) {
    least[which] = std::min(least[which], sluice::bench::thread_seconds(body));
  };
  for (int round = 0; round < rounds; ++round) {
#ifdef SLUICE_WITH_EDLIB
    if (round < 2) measure(targets.size(), [&] { align_all_by_edlib(pairs, theirs); });
#endif
    for (std::size_t t = 0; t < targets.size(); ++t) {
      sluice::bench::choose_instruction_sets(targets[t]);
      measure(t, [&] { align_all(aligners[t], pairs, ours); });
      for (std::size_t i = 0; i < theirs.size(); ++i) different += ours[i] != theirs[i] ? 1U : 0U;
    }
  }
  for (std::size_t t = 0; t < targets.size(); ++t)
    fmt::print("{} {:.3f} ms, ", hwy::TargetName(targets[t]), 1e3 * least[t] / static_cast<double>(pairs.size()));
  if (theirs.empty()) return fmt::print("edlib is not installed\n"), 0;
  fmt::print("edlib {:.3f} ms; {} differ from edlib\n", 1e3 * least.back() / static_cast<double>(pairs.size()), different);
  return different == 0 ? 0 : 1;
}
