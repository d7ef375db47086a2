// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Chaining of made-up anchors, one thread: processor time of the fast and of the plain form of the first engine, and of everything. "Pairs of the
// window" are those that an exact scan evaluates: anchors of one target and strand within max_gap and max_chain_iter.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <vector>

#include "chaining/predecessor_search.hpp"
#include "unit/mapping/chaining/made_up_anchors.hpp"

using namespace sluice::chaining;

namespace {

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Work>
double least_seconds(Work work) {
  double least = 1e9;
  for (int repetition = 0; repetition < 5; ++repetition) {
    const double start = processor_seconds();
    work();
    least = std::min(least, processor_seconds() - start);
  }
  return least;
}

std::uint64_t window_pairs(const MadeUpRead& read, const ChainingParameters& parameters) {
  std::uint64_t pairs = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < read.x.size(); ++i) {
    while (read.x[start] >> 32 != read.x[i] >> 32 || read.x[i] > read.x[start] + static_cast<std::uint64_t>(parameters.max_gap)) ++start;
    pairs += std::min<std::uint64_t>(i - start, static_cast<std::uint64_t>(parameters.max_chain_iter));
  }
  return pairs;
}

}  // namespace

int main() {
  struct Set {
    const char* name;
    AnchorKind kind;
    int reads;
  };
  const ChainingParameters parameters;
  for (const Set& set :
       {Set{"short reads, few repeats", {500, 1, 8000, 2, 1, 15}, 2000}, Set{"8 kb reads, many repeats", {3500, 1, 8000, 60, 1, 15}, 300},
        Set{"100 kb reads, many repeats", {40000, 1, 100000, 600, 1, 15}, 20}, Set{"tandem repeats", {8000, 1, 4000, 40, 31, 15}, 50}}) {
    std::mt19937 random(1);
    std::vector<MadeUpRead> reads;
    std::uint64_t pairs = 0, anchors = 0;
    for (int i = 0; i < set.reads; ++i) {
      reads.push_back(make_up_anchors(set.kind, random));
      pairs += window_pairs(reads.back(), parameters);
      anchors += reads.back().x.size();
    }
    std::vector<std::int32_t> score(static_cast<std::size_t>(set.kind.count)), predecessor(score.size()), count(score.size()), stamps;
    std::vector<std::uint64_t> x(score.size()), y(score.size());
    PredecessorSearchScratch scratch;
    ChainingWorkspace workspace;
    const double searched = least_seconds([&] {
      scratch.pairs = 0;
      for (const MadeUpRead& read : reads) search_predecessors(read.anchors(), parameters, scratch, {score, predecessor});
    });
    const double scanned = least_seconds([&] {
      for (const MadeUpRead& read : reads) scan_predecessors(read.anchors(), parameters, stamps, {score, predecessor});
    });
    const double all = least_seconds([&] {
      for (const MadeUpRead& read : reads) chain_anchors(read.anchors(), read.length, parameters, workspace, {score, count, x, y});
    });
    const auto n = static_cast<double>(anchors), window = static_cast<double>(pairs);
    fmt::print(
        "{:<28} {:6.0f} pairs an anchor in the window, {:5.1f} evaluated; search {:6.1f} ns an anchor = {:5.1f} Gpairs/s of the window, scan {:7.1f} "
        "ns, all {:6.1f} ns\n",
        set.name, window / n, static_cast<double>(scratch.pairs) / n, 1e9 * searched / n, 1e-9 * window / searched, 1e9 * scanned / n, 1e9 * all / n);
  }
}
