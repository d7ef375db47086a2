// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// For the sweep `consensus`: windows that are unkind to a partial order alignment, and what libspoa makes of windows.
//   spoa_windows make SEED COUNT                     windows on standard output
//   spoa_windows solve TYPE M N G E Q C <WINDOWS     consensus and rows of the alignment, as FASTA: >NAME, then >NAME/ROW for each
//   spoa_windows consensus TYPE M N G E Q C <WINDOWS the same without the rows
// TYPE: global, local or semi_global; M, N: scores of equal and other letters; G, E, Q, C: of gaps (spoa's -g, -e, -q, -c).

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <spoa/spoa.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "generators/sequence_errors.hpp"

namespace {

using sluice::test_input::Random;
using sluice::test_input::random_bases;
using sluice::test_input::random_numbers;
using sluice::test_input::with_errors;

// Of few different letters, so that many paths are equally good.
std::string repeats(Random& random, std::size_t bases) {
  const std::string unit = random_bases(random, 1 + random.below(4));
  std::string text;
  while (text.size() < bases) text += unit;
  text.resize(bases);
  return text;
}

std::string template_of(Random& random) {
  const std::uint64_t kind = random.below(6), bases = 1 + random.below(kind == 5 ? 900 : 160);
  if (kind == 0) return repeats(random, bases);
  if (kind == 1) return random_bases(random, bases / 3) + repeats(random, bases / 3 + 1) + random_bases(random, bases / 3);
  return random_bases(random, bases);
}

// Most are noisy copies; some lack a piece, have one twice, are cut, in lower case, of something else, or have an N.
std::string copy_of(const std::string& whole, std::uint64_t errors_per_million, Random& random) {
  std::string copy = with_errors(whole, errors_per_million, random);
  const std::uint64_t kind = random.below(14);
  const std::size_t begin = copy.empty() ? 0 : random.below(copy.size()), bases = copy.empty() ? 0 : 1 + random.below(copy.size() - begin);
  if (copy.empty()) return "A";
  if (kind == 0) copy.erase(begin, bases);
  if (kind == 1) copy.insert(begin, copy.substr(begin, bases));
  if (kind == 2) copy = copy.substr(begin, bases);
  if (kind == 3) copy = sluice::test_input::lower_case(copy);
  if (kind == 4) copy = random_bases(random, 1 + random.below(2 * copy.size()));
  if (kind == 5) copy[begin] = 'N';
  return copy.empty() ? "C" : copy;
}

void make(std::uint64_t seed, std::uint64_t count) {
  for (std::uint64_t window = 0; window < count; ++window) {
    Random random = random_numbers(seed, window);
    const std::string whole = template_of(random);
    const std::uint64_t copies = 1 + random.below(random.below(8) == 0 ? 60 : 12), errors = random.below(3) * random.below(200'000);
    std::cout << ">w" << window << ' ' << copies << '\n';
    for (std::uint64_t i = 0; i < copies; ++i) std::cout << copy_of(whole, errors, random) << '\n';
  }
}

int solve(char** arguments, bool with_rows) {
  const std::string type = arguments[0];
  const auto score = [&](int i) { return static_cast<std::int8_t>(std::stoi(arguments[i])); };
  const auto engine = spoa::AlignmentEngine::Create(type == "global"  ? spoa::AlignmentType::kNW
                                                    : type == "local" ? spoa::AlignmentType::kSW
                                                                      : spoa::AlignmentType::kOV,
                                                    score(1), score(2), score(3), score(4), score(5), score(6));
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream head(line.substr(1));
    std::string name, sequence;
    std::size_t copies = 0;
    head >> name >> copies;
    spoa::Graph graph;
    for (std::size_t i = 0; i < copies && std::getline(std::cin, sequence); ++i) {
      std::transform(sequence.begin(), sequence.end(), sequence.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
      std::int32_t best = 0;
      spoa::Alignment alignment = engine->Align(sequence, graph, &best);
      // Ours puts what only costs beside the graph, spoa where it costs least: the one difference (README of poa_consensus).
      if (type == "semi_global" && best <= 0) alignment.clear();
      graph.AddAlignment(alignment, sequence);
    }
    std::cout << '>' << name << '\n' << graph.GenerateConsensus() << '\n';
    if (!with_rows) continue;
    std::size_t row = 0;
    for (const std::string& aligned : graph.GenerateMultipleSequenceAlignment()) std::cout << '>' << name << '/' << row++ << '\n' << aligned << '\n';
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  std::ios::sync_with_stdio(false);
  const std::string what = count > 1 ? arguments[1] : "";
  if (what == "make" && count == 4) {
    make(std::stoull(arguments[2]), std::stoull(arguments[3]));
  } else if ((what == "solve" || what == "consensus") && count == 9) {
    return solve(arguments + 2, what == "solve");
  } else {
    std::cerr << "spoa_windows make SEED COUNT | solve|consensus TYPE M N G E Q C <WINDOWS\n";
    return 2;
  }
  return std::cout.flush() ? 0 : 1;
}
