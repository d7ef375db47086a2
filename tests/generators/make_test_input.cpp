// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Writes one input file of the tests of whole programs to its standard output. Those tests have no other random numbers: awk's, Python's and the
// shell's differ between machines.
//   make_test_input KIND NUMBERS... [<FILE]

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <iostream>
#include <string_view>
#include <vector>

#include "generators/test_inputs.hpp"

namespace {

using namespace sluice::test_input;
using Numbers = std::vector<std::uint64_t>;

struct Kind {
  std::string_view name;
  std::string_view numbers;  // what they mean, separated by spaces
  void (*write)(const Numbers&);
};

NoisyReads noisy_reads(const Numbers& n) {
  return {.seed = n[0], .genome_bases = n[1], .reads = n[2], .mean_bases = n[3], .errors_per_million = n[4]};
}

constexpr std::array<Kind, 27> kinds = {{
    {"windows", "SEED COUNT", [](const Numbers& n) { write_windows(std::cout, n[0], n[1]); }},
    {"window_class", "SEED WINDOWS LEAST_COPIES MOST_COPIES LEAST_BASES MOST_BASES ERRORS_PER_MILLION",
     [](const Numbers& n) {
       write_window_class(std::cout, {n[0], n[1], n[2], n[3], n[4], n[5], n[6]});
     }},
    {"ragged_windows", "SEED WINDOWS COPIES BASES ERRORS_PER_MILLION UNIT",
     [](const Numbers& n) {
       write_ragged_windows(std::cout, {n[0], n[1], n[2], n[3], n[4], n[5]});
     }},
    {"haplotypes", "SEED COUNT", [](const Numbers& n) { write_haplotypes(std::cout, n[0], n[1]); }},
    {"mapping_reference", "SEED", [](const Numbers& n) { write_mapping_reference(std::cout, n[0]); }},
    {"mapping_reads", "SEED READS ERRORS_PER_MILLION", [](const Numbers& n) { write_mapping_reads(std::cout, n[0], n[1], n[2]); }},
    {"rearranged_genome", "SEED", [](const Numbers& n) { write_rearranged_genome(std::cout, n[0]); }},
    {"rearranged_reads", "SEED READS ERRORS_PER_MILLION", [](const Numbers& n) { write_rearranged_reads(std::cout, n[0], n[1], n[2]); }},
    {"spliced_genome", "SEED GENES", [](const Numbers& n) { write_spliced_genome(std::cout, n[0], n[1]); }},
    {"spliced_reads", "SEED GENES READS ERRORS_PER_MILLION", [](const Numbers& n) { write_spliced_reads(std::cout, n[0], n[1], n[2], n[3]); }},
    {"spliced_junctions", "SEED GENES", [](const Numbers& n) { write_spliced_junctions(std::cout, n[0], n[1]); }},
    {"spliced_transcripts", "SEED GENES", [](const Numbers& n) { write_spliced_transcripts(std::cout, n[0], n[1]); }},
    {"long_intron_genome", "SEED GENES", [](const Numbers& n) { write_long_intron_genome(std::cout, n[0], n[1]); }},
    {"long_intron_reads", "SEED GENES READS ERRORS_PER_MILLION",
     [](const Numbers& n) { write_long_intron_reads(std::cout, n[0], n[1], n[2], n[3]); }},
    {"hostile_genome", "SEED BASES", [](const Numbers& n) { write_hostile_genome(std::cout, n[0], n[1]); }},
    {"hostile_reads", "SEED BASES", [](const Numbers& n) { write_hostile_reads(std::cout, n[0], n[1]); }},
    {"noisy_reads", "SEED GENOME_BASES READS MEAN_BASES ERRORS_PER_MILLION",
     [](const Numbers& n) { write_noisy_reads(std::cout, noisy_reads(n), NoisyReadForm::reads); }},
    {"noisy_reads_truth", "SEED GENOME_BASES READS MEAN_BASES ERRORS_PER_MILLION",
     [](const Numbers& n) { write_noisy_reads(std::cout, noisy_reads(n), NoisyReadForm::truth); }},
    {"odd_signal", "SEED", [](const Numbers& n) { write_odd_signal(std::cout, n[0]); }},
    {"one_long_read", "SEED ERRORS_PER_LINE", [](const Numbers& n) { write_one_long_read(std::cin, std::cout, n[0], n[1]); }},
    {"modified_reads", "SEED", [](const Numbers& n) { write_modified_reads(std::cin, std::cout, n[0]); }},
    {"m6a_reads", "SEED", [](const Numbers& n) { write_m6a_reads(std::cin, std::cout, n[0]); }},
    {"m6a_shares", "SEED", [](const Numbers& n) { write_m6a_shares(std::cout, n[0]); }},
    {"unaligned", "", [](const Numbers&) { write_unaligned(std::cin, std::cout); }},
    {"odd_alignments", "SEED RECORDS", [](const Numbers& n) { write_odd_alignments(std::cout, n[0], n[1]); }},
    {"shuffled_lines", "SEED", [](const Numbers& n) { write_shuffled_lines(std::cin, std::cout, n[0]); }},
    {"noise", "SEED BYTES", [](const Numbers& n) { write_noise(std::cout, n[0], n[1]); }},
}};

std::size_t words(std::string_view text) { return text.empty() ? 0 : 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), ' ')); }

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  Numbers numbers;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view text = arguments[i];
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) {
      std::cerr << "make_test_input: '" << text << "' is not a whole number\n";
      return 2;
    }
    numbers.push_back(number);
  }
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) { return !arguments.empty() && k.name == arguments[0]; });
  if (kind == kinds.end() || numbers.size() != words(kind->numbers)) {
    for (const Kind& k : kinds) std::cerr << "make_test_input " << k.name << ' ' << k.numbers << '\n';
    return 2;
  }
  kind->write(numbers);
  std::cout.flush();
  return std::cout ? 0 : 1;
}
