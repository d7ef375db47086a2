// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Consensus of windows on the device against WindowConsensus, every letter and coverage, then timings.
// Run: poa_consensus_gpu_test [small [windows a set = 40] | check | bench | all = all] [thousands of windows of the smallest class of the timings =
// 80]

#include <array>
#include <memory>
#include <sluice/failure.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernel_check.hpp"
#include "poa_consensus/cuda.hpp"
#include "poa_consensus/window_consensus.hpp"
#include "simulated_windows.hpp"
#include "window_polisher.hpp"

namespace {

namespace poa = sluice::poa_consensus;
namespace device = sluice::poa_consensus::cuda;
using namespace sluice::gpu_test;

int failures = 0;

poa::ConsensusParameters parameters_of(const device::WindowRules& rules) {
  poa::ConsensusParameters parameters;
  parameters.scoring.match = rules.scoring.match;
  parameters.scoring.mismatch = rules.scoring.mismatch;
  parameters.scoring.gap_open = parameters.scoring.gap_extend = rules.scoring.gap;
  parameters.algorithm = rules.consensus == device::Consensus::majority ? poa::Algorithm::majority : poa::Algorithm::heaviest_bundle;
  parameters.undecided =
      rules.majority.undecided == device::UndecidedColumn::keep_template ? poa::Undecided::keep_template : poa::Undecided::take_letter;
  parameters.min_support = static_cast<std::int32_t>(rules.majority.support);
  parameters.min_sequences = rules.min_sequences;
  parameters.rounds = rules.rounds;
  return parameters;
}

poa::Window window_of(const WindowColumns& columns, std::size_t i) {
  const auto at = [i](const std::vector<std::int64_t>& offsets) {
    return std::pair(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(offsets[i + 1] - offsets[i]));
  };
  const auto [text, letters] = at(columns.text_offsets);
  const auto [first, sequences] = at(columns.sequence_offsets);
  const auto [quality, qualities] = at(columns.quality_offsets);
  const auto [layer, layers] = at(columns.layer_offsets);
  return {std::string_view(columns.letters).substr(text, letters), std::span(columns.length).subspan(first, sequences),
          std::string_view(columns.qualities).substr(quality, qualities), std::span(columns.layer_begin).subspan(layer, layers),
          std::span(columns.layer_end).subspan(layer, layers)};
}

std::string outcome_counts(const std::vector<device::Outcome>& outcomes) {
  constexpr std::array<const char*, device::outcomes> names = {"done",      "too long",         "unknown letter", "nodes", "in-edges",
                                                               "kept rows", "too large scores", "long consensus", "unfit"};
  std::array<std::size_t, device::outcomes> counts{};
  std::size_t poisoned = 0;
  for (const device::Outcome outcome : outcomes) {
    if (static_cast<std::size_t>(outcome) < counts.size())
      ++counts[static_cast<std::size_t>(outcome)];
    else
      ++poisoned;
  }
  std::string text;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] != 0) text += (text.empty() ? "" : ", ") + std::to_string(counts[i]) + " " + names[i];
  if (poisoned != 0) text += ", NOT WRITTEN " + std::to_string(poisoned);
  return text;
}

std::string graph_text(poa::WindowConsensus& maker) {
  std::string text;
  maker.append_alignment(text);
  maker.append_gfa("w", text);
  maker.append_dot("w", text);
  return text;
}

// Every window that the device did not leave to the CPU. `most_left`: windows that it may leave.
// Alignment, GFA and DOT of the graph come from the device's paths.
struct Memory {
  std::size_t scratch_bytes = std::size_t{8} << 30;
  std::size_t most_bytes = std::size_t{1} << 40;
};
void check(const std::string& name, const WindowColumns& columns, const device::WindowRules& rules, std::size_t most_left = 0, Memory memory = {}) {
  Polisher polisher(columns, rules);
  polisher.scratch_bytes = memory.scratch_bytes;
  polisher.most_bytes = memory.most_bytes;
  polisher.wants_graphs = true;
  polisher.plan();
  polisher.make();
  const std::vector<device::Outcome> outcomes = polisher.outcomes();
  const std::vector<Text> texts = polisher.texts();
  const Graphs graphs = polisher.graphs();
  std::vector<std::uint8_t> is_different(columns.windows());
  in_parallel((columns.windows() + 63) / 64, [&](std::size_t group) {
    poa::WindowConsensus maker(parameters_of(rules)), reader(parameters_of(rules));
    poa::WindowResult want, read;
    for (std::size_t i = group * 64; i < std::min(columns.windows(), group * 64 + 64); ++i) {
      if (outcomes[i] != device::Outcome::done) continue;
      is_different[i] = maker.make(window_of(columns, i), want) != poa::WindowProblem::none || want.consensus != texts[i].consensus ||
                        want.coverage != texts[i].coverage || want.support != texts[i].support ||
                        !reader.read(window_of(columns, i), graphs.paths(columns, i), read) || read.consensus != want.consensus ||
                        graph_text(reader) != graph_text(maker);
    }
  });
  std::size_t different = 0, left = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (is_different[i] != 0 && different++ == 0) std::printf("first different window: %zu\n", i);
    left += outcomes[i] != device::Outcome::done;
  }
  const bool is_right = different == 0 && left <= most_left;
  if (!is_right) ++failures;
  std::printf("%s %-34s %zu windows, %zu different; %s\n", is_right ? "same" : "FAILED", name.c_str(), columns.windows(), different,
              outcome_counts(outcomes).c_str());
}

device::WindowRules racon_rules() {
  device::WindowRules rules;
  rules.scoring = {3, -5, -4};
  return rules;
}
device::WindowRules majority_rules(device::UndecidedColumn undecided, std::uint32_t support) {
  device::WindowRules rules;
  rules.consensus = device::Consensus::majority;
  rules.majority = {undecided, support};
  return rules;
}

enum class Layers { whole, parts };
enum class Qualities { none, random };

// Windows of all kinds of sequences: unrelated ones, empty ones, other letters.
WindowColumns odd_windows(WindowRandom& random, std::size_t windows, std::size_t most_length, std::size_t most_sequences, double errors,
                          Qualities qualities, Layers layers) {
  WindowColumns columns;
  for (std::size_t i = 0; i < windows; ++i) {
    const std::string alphabet = std::string("ACGTNU").substr(0, 4 + random() % 3);
    const std::string original = random_sequence(random, 1 + random() % most_length, alphabet);
    const std::size_t sequences = 1 + random() % most_sequences, begin_of_window = columns.letters.size();
    for (std::size_t s = 0; s < sequences; ++s) {
      std::size_t begin = 0, end = original.size() - 1;
      if (layers == Layers::parts && s > 0 && random() % 2 == 0) {
        begin = random() % original.size();
        end = begin + random() % (original.size() - begin);
      }
      std::string sequence = original;
      if (s > 0) sequence = noisy_copy(random, std::string_view(original).substr(begin, end - begin + 1), errors, alphabet);
      if (layers == Layers::whole) {
        if (random() % 10 == 0) sequence = random_sequence(random, 1 + random() % most_length, alphabet);
        if (random() % 20 == 0) sequence.clear();
      }
      sequence.resize(std::min(sequence.size(), std::size_t{1023}));
      columns.add_sequence(sequence);
      if (layers == Layers::parts) {
        columns.layer_begin.push_back(static_cast<std::int32_t>(begin));
        columns.layer_end.push_back(static_cast<std::int32_t>(end));
      }
    }
    if (qualities == Qualities::random && random() % 4 != 0)
      while (columns.qualities.size() < static_cast<std::size_t>(columns.quality_offsets.back()) + columns.letters.size() - begin_of_window)
        columns.qualities += static_cast<char>(33 + random() % 40);
    columns.end_window();
  }
  return columns;
}

// Sequences that lack a part of any length before the same letter: up to 40 in-edges meet there.
WindowColumns deletions(WindowRandom& random, std::size_t windows, Layers layers) {
  constexpr std::size_t whole = 60, behind = 40, sequences = 40;
  WindowColumns columns;
  for (std::size_t i = 0; i < windows; ++i) {
    const std::string original = random_sequence(random, whole, "ACGT");
    for (std::size_t s = 0; s < sequences; ++s) {
      columns.add_sequence(
          s == 0 ? original : original.substr(0, random() % (behind + 1)) + random_sequence(random, random() % 3, "ACGT") + original.substr(behind));
      if (layers == Layers::whole) continue;
      const bool is_whole = s == 0 || random() % 2 == 0;
      columns.layer_begin.push_back(is_whole ? 0 : static_cast<std::int32_t>(random() % 20));
      columns.layer_end.push_back(is_whole ? static_cast<std::int32_t>(whole) - 1 : static_cast<std::int32_t>(45 + random() % 14));
    }
    columns.end_window();
  }
  return columns;
}

// More than 16 bits count.
WindowColumns many_sequences() {
  WindowColumns columns;
  for (int sequence = 0; sequence < 70'000; ++sequence) columns.add_sequence(sequence % 3 == 0 ? "ACGTA" : "ACTTA");
  columns.end_window();
  return columns;
}

void check_odd_windows(std::size_t windows) {
  WindowRandom random(3);
  device::WindowRules odd;
  odd.scoring = {1, 0, -1};
  const std::size_t few = windows / 10 + 1;
  check("tiny", odd_windows(random, windows, 4, 8, 20, Qualities::none, Layers::whole), {});
  check("odd scores, 40 % errors", odd_windows(random, windows, 30, 8, 40, Qualities::random, Layers::whole), odd, few);
  check("qualities", odd_windows(random, windows, 250, 10, 12, Qualities::random, Layers::whole), racon_rules(), few);
  check("layers", odd_windows(random, windows, 120, 12, 12, Qualities::none, Layers::parts), racon_rules(), few);
  check("layers, qualities, 30 % errors", odd_windows(random, windows, 120, 12, 30, Qualities::random, Layers::parts), odd, few);
  check("long layers", odd_windows(random, windows / 4 + 1, 900, 8, 12, Qualities::random, Layers::parts), racon_rules(), few);
  check("majority", odd_windows(random, windows, 120, 12, 15, Qualities::none, Layers::whole),
        majority_rules(device::UndecidedColumn::take_letter, 0), few);
  check("majority or template", odd_windows(random, windows, 120, 12, 15, Qualities::none, Layers::parts),
        majority_rules(device::UndecidedColumn::keep_template, 2), few);
  check("many in-edges", deletions(random, few, Layers::whole), {}, few);
  check("many in-edges, layers", deletions(random, few, Layers::parts), odd, few);
  check("many in-edges, majority", deletions(random, few, Layers::whole), majority_rules(device::UndecidedColumn::take_letter, 0), few);
  device::WindowRules two_rounds = majority_rules(device::UndecidedColumn::keep_template, 0);
  two_rounds.rounds = 2;
  check("majority, two rounds", odd_windows(random, windows, 120, 12, 15, Qualities::random, Layers::whole), two_rounds, few);
  check("all kinds, little memory", odd_windows(random, windows, 500, 20, 15, Qualities::none, Layers::whole), {}, few,
        {.scratch_bytes = std::size_t{64} << 20});
  check("all kinds, little quota", odd_windows(random, windows, 500, 20, 15, Qualities::none, Layers::whole), {}, few,
        {.most_bytes = std::size_t{32} << 20});
  check("70,000 sequences", many_sequences(), majority_rules(device::UndecidedColumn::take_letter, 0));
}

void check_classes(std::size_t windows) {
  WindowRandom random(11);
  for (const WindowClass& kind :
       {WindowClass{1, 31, 2, 8}, {32, 63, 17, 32}, {64, 127, 2, 8}, {64, 127, 17, 32}, {128, 255, 2, 8}, {128, 255, 17, 32}, {450, 550, 20, 30}})
    check(kind.name(), simulated_windows(random, kind, std::max<std::size_t>(8, windows * 64 / kind.most_length / kind.most_sequences)), {},
          windows / 100);
}

// Cells of a window's alignments, from a sample of windows on the CPU.
double cells_of_window(const WindowColumns& columns, const device::WindowRules& rules) {
  poa::WindowConsensus maker(parameters_of(rules));
  poa::WindowResult result;
  double cells = 0;
  const std::size_t windows = std::min<std::size_t>(columns.windows(), 50);
  for (std::size_t i = 0; i < windows; ++i) {
    poa::Window window = window_of(columns, i);
    const std::span<const std::int32_t> lengths = window.lengths;
    std::size_t letters = 0;
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      if (s > 0) {
        window.lengths = lengths.first(s);
        window.sequences = window_of(columns, i).sequences.substr(0, letters);
        maker.make(window, result);
        cells += static_cast<double>(maker.graph().node_count()) * lengths[s];
      }
      letters += static_cast<std::size_t>(lengths[s]);
    }
  }
  return cells / static_cast<double>(windows);
}

void measure(const WindowClass& kind, const device::WindowRules& rules, std::size_t windows, int runs) {
  WindowRandom random(17);
  const WindowColumns columns = simulated_windows(random, kind, windows);
  Polisher polisher(columns, rules);
  const double planning = median_milliseconds(runs, [&] { polisher.plan(); });
  const double making = median_milliseconds(runs, [&] { polisher.make(); });
  const double cells = cells_of_window(columns, rules);
  const auto count = static_cast<double>(windows);
  std::printf("TIME %-20s %s %7zu windows: plan %6.2f ms, consensus %8.2f ms = %8.1f k windows/s, %6.1f Gcells/s, %.0f cells a window; %s\n",
              kind.name().c_str(), rules.consensus == device::Consensus::majority ? "majority" : "bundle  ", windows, planning, making,
              count / making, count * cells / making / 1e6, cells, outcome_counts(polisher.outcomes()).c_str());
  std::fflush(stdout);
}

void measure_classes(double thousands, int runs) {
  const auto measure_share = [&](const WindowClass& kind, const device::WindowRules& rules, double share) {
    measure(kind, rules, static_cast<std::size_t>(thousands * 1000 * share), runs);
  };
  measure_share({64, 127, 2, 8}, {}, 1);
  measure_share({64, 127, 9, 16}, {}, 0.5);
  measure_share({64, 127, 17, 32}, {}, 0.25);
  measure_share({128, 255, 2, 8}, {}, 0.5);
  measure_share({128, 255, 9, 16}, {}, 0.25);
  measure_share({128, 255, 17, 32}, {}, 0.25);
  measure_share({450, 550, 20, 30}, {}, 0.08);
  measure_share({64, 127, 2, 8}, majority_rules(device::UndecidedColumn::take_letter, 0), 1);
  measure_share({128, 255, 17, 32}, majority_rules(device::UndecidedColumn::take_letter, 0), 0.1);
}

}  // namespace

int main(int count, char** arguments) {
  const CommandLine command = parse_command_line(count, arguments, 80);
  // A tool that watches every access wants fewer windows.
  if (command.checks == Extent::small) check_odd_windows(count > 2 ? static_cast<std::size_t>(std::atoi(arguments[2])) : 40);
  if (command.checks == Extent::full) {
    check_odd_windows(2000);
    check_classes(20000);
  }
  if (command.amount > 0) measure_classes(command.amount, command.runs);
  std::printf(failures == 0 ? "all the same\n" : "FAILED: %d sets differ\n", failures);
  return failures == 0 ? 0 : 1;
}
