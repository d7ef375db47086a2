// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Windows a second of processor time on one thread: spoa where it is installed, the heaviest bundle on every instruction set, and the majority in two
// rounds. Best of the rounds, which alternate between spoa and us. Says how many consensuses differ from spoa's.
//   poa_consensus_bench ROUNDS WINDOWS_PER_FILE global|local MATCH MISMATCH OPEN[,EXTEND[,SECOND_OPEN,SECOND_EXTEND]] FILE...
#include <fmt/format.h>
#include <hwy/targets.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "bench/thread_time.hpp"
#include "poa_consensus/window_consensus.hpp"
#include "poa_consensus/window_file.hpp"

#ifdef SLUICE_WITH_SPOA
#include <spoa/spoa.hpp>
#endif

using namespace sluice::poa_consensus;

namespace {

std::vector<FileWindow> read_windows(const std::string& path, std::size_t most) {
  WindowFile file(path);
  std::vector<FileWindow> windows;
  for (FileWindow window; windows.size() < most && file.next(window);) windows.push_back(window);
  return windows;
}

void make_all(const std::vector<FileWindow>& windows, const ConsensusParameters& parameters, std::vector<std::string>& consensus) {
  WindowConsensus maker(parameters);
  WindowResult result;
  consensus.clear();
  for (const FileWindow& window : windows) {
    maker.make({window.sequences, window.lengths, {}, {}, {}}, result);
    consensus.push_back(result.consensus);
  }
}

#ifdef SLUICE_WITH_SPOA
void make_all_by_spoa(const std::vector<FileWindow>& windows, const Scoring& scoring, std::vector<std::string>& consensus) {
  const auto small = [](std::int32_t score) { return static_cast<std::int8_t>(score); };
  const bool is_convex = scoring.gap_cost() == GapCost::convex;
  const auto engine = spoa::AlignmentEngine::Create(scoring.mode == AlignmentMode::local ? spoa::AlignmentType::kSW : spoa::AlignmentType::kNW,
                                                    small(scoring.match), small(scoring.mismatch), small(scoring.gap_open), small(scoring.gap_extend),
                                                    small(is_convex ? scoring.second_gap_open : scoring.gap_open),
                                                    small(is_convex ? scoring.second_gap_extend : scoring.gap_extend));
  consensus.clear();
  for (const FileWindow& window : windows) {
    spoa::Graph graph;
    std::size_t begin = 0;
    for (const std::int32_t length : window.lengths) {
      const char* const sequence = window.sequences.data() + begin;
      const auto letters = static_cast<std::uint32_t>(length);
      graph.AddAlignment(engine->Align(sequence, letters, graph), sequence, letters);
      begin += letters;
    }
    consensus.push_back(graph.GenerateConsensus());
  }
}
#endif

}  // namespace

int main(int argc, char** argv) {
  if (argc < 8) return fmt::print(stderr, "poa_consensus_bench ROUNDS WINDOWS_PER_FILE global|local MATCH MISMATCH GAP FILE...\n"), 2;
  std::vector<std::int32_t> gaps;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    const std::string text = argv[6];
    end = text.find(',', begin);
    gaps.push_back(std::stoi(text.substr(begin, end - begin)));
  }
  if (gaps.size() == 1) gaps.push_back(gaps[0]);
  const int rounds = std::stoi(argv[1]);
  ConsensusParameters bundle, majority;
  bundle.scoring = {std::string(argv[3]) == "local" ? AlignmentMode::local : AlignmentMode::global, std::stoi(argv[4]), std::stoi(argv[5]), gaps[0],
                    gaps[1]};
  if (gaps.size() == 4) {
    bundle.scoring.second_gap_open = gaps[2];
    bundle.scoring.second_gap_extend = gaps[3];
  }
  majority.algorithm = Algorithm::majority;
  majority.rounds = 2;
  sluice::bench::choose_instruction_sets(0);
  const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  for (int file = 7; file < argc; ++file) {
    const std::vector<FileWindow> windows = read_windows(argv[file], std::stoul(argv[2]));
    std::vector<std::string> ours, theirs;
    std::vector<double> least(targets.size() + 2, std::numeric_limits<double>::max());
    std::size_t different = 0;
    const auto measure = [&](std::size_t which, const std::function<void()>& body) {
      least[which] = std::min(least[which], sluice::bench::thread_seconds(body));
    };
    for (int round = 0; round < rounds; ++round) {
#ifdef SLUICE_WITH_SPOA
      measure(0, [&] { make_all_by_spoa(windows, bundle.scoring, theirs); });
#endif
      for (std::size_t t = 0; t < targets.size(); ++t) {
        sluice::bench::choose_instruction_sets(targets[t]);
        measure(t + 1, [&] { make_all(windows, bundle, ours); });
        for (std::size_t i = 0; i < theirs.size(); ++i) different += ours[i] != theirs[i] ? 1U : 0U;
      }
      sluice::bench::choose_instruction_sets(0);
      measure(targets.size() + 1, [&] { make_all(windows, majority, ours); });
    }
    const auto rate = [&](std::size_t which) { return static_cast<double>(windows.size()) / least[which]; };
    fmt::print("{} ({} windows): spoa {:.0f}/s", argv[file], windows.size(), rate(0));
    for (std::size_t t = 0; t < targets.size(); ++t)
      fmt::print(", {} {:.0f}/s ({:.2f})", hwy::TargetName(targets[t]), rate(t + 1), rate(t + 1) / rate(0));
    fmt::print(", majority {:.0f}/s; {} differ from spoa\n", rate(targets.size() + 1), different);
  }
  return 0;
}
