// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <ostream>
#include <string>
#include <string_view>

#include "generators/sequence_errors.hpp"
#include "generators/test_inputs.hpp"

namespace sluice::test_input {
namespace {

constexpr std::uint64_t errors_per_million = 80'000, genome_errors = 20'000;

std::string repeated(std::string_view unit, std::size_t bases) {
  std::string text;
  while (text.size() < bases) text += unit;
  return text;
}

struct HostileGenome {
  std::string text, satellite, long_unit;
  std::size_t satellite_at, long_unit_at;
};

// Random bases with runs of A and AC, and two tandem repeats whose copies differ: 500 of 171 bases, 100 of 1 kb.
HostileGenome make_genome(std::uint64_t seed, std::size_t bases) {
  Random random = random_numbers(seed, 0);
  HostileGenome genome{random_bases(random, bases), random_bases(random, 171), random_bases(random, 1000), bases / 5, bases / 5 * 3};
  std::string satellites, long_units;
  for (int copy = 0; copy < 500; ++copy) satellites += with_errors(genome.satellite, genome_errors, random);
  for (int copy = 0; copy < 100; ++copy) long_units += with_errors(genome.long_unit, genome_errors, random);
  genome.text.insert(genome.long_unit_at, long_units);
  genome.text.insert(bases / 5 * 2, repeated("AC", 3000) + repeated("A", 2000));
  genome.text.insert(genome.satellite_at, satellites);
  return genome;
}

}  // namespace

void write_hostile_genome(std::ostream& out, std::uint64_t seed, std::size_t bases) {
  const std::string genome = make_genome(seed, bases).text;
  out << ">genome\n";
  for (std::size_t at = 0; at < genome.size(); at += 80) out << std::string_view(genome).substr(at, 80) << '\n';
}

void write_hostile_reads(std::ostream& out, std::uint64_t seed, std::size_t bases) {
  const HostileGenome genome = make_genome(seed, bases);
  Random random = random_numbers(seed, 1);
  const auto noisy = [&](const std::string& text) { return with_errors(text, errors_per_million, random); };
  const auto write = [&](const char* name, const std::string& text) { out << '>' << name << '\n' << text << '\n'; };
  const std::string& text = genome.text;
  const std::size_t tenth = text.size() / 10;
  write("over_a_deletion", noisy(text.substr(0, 4 * tenth) + text.substr(5 * tenth)));
  write("of_n", std::string(100'000, 'N'));
  write("half_n", noisy(text.substr(tenth, 20'000)) + std::string(60'000, 'N') + noisy(text.substr(tenth + 80'000, 20'000)));
  write("one_base", std::string(100'000, 'A'));
  write("two_bases", repeated("AC", 100'000));
  write("seven_bases", noisy(repeated("ACGTTCA", 100'000)));
  write("satellite", noisy(repeated(genome.satellite, 100'000)));
  write("long_unit", noisy(repeated(genome.long_unit, 100'000)));
  write("over_satellites", noisy(text.substr(genome.satellite_at - 10'000, 110'000)));
  write("with_a_run", noisy(text.substr(tenth, 20'000)) + std::string(50'000, 'A') + noisy(text.substr(tenth + 20'000, 20'000)));
  std::string turns;
  for (int turn = 0; turn < 10; ++turn) turns += turn % 2 == 0 ? text.substr(2 * tenth, 5000) : reverse_complement(text.substr(2 * tenth, 5000));
  write("turns_round", noisy(turns));
}

}  // namespace sluice::test_input
