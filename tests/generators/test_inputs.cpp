// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "generators/test_inputs.hpp"

#include <istream>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generators/sequence_errors.hpp"

namespace sluice::test_input {

void write_windows(std::ostream& out, std::uint64_t seed, std::size_t count) {
  for (std::size_t window = 0; window < count; ++window) {
    Random random = random_numbers(seed, window);
    const auto bases = 10 + random.below(190);
    const auto drawn_copies = 1 + random.below(25);
    const auto copies = window + 1 == count ? 25 : drawn_copies;
    const std::string truth = random_bases(random, bases);
    out << ">w" << window << ' ' << copies << ' ' << truth << '\n';
    for (std::uint64_t copy = 0; copy < copies; ++copy) {
      std::string text;
      for (const char base : truth) {
        const auto drawn = random.below(100);
        if (drawn < 4)
          text += random_base(random);
        else if (drawn >= 7)
          text += base;
        if (random.below(100) < 3) text += random_base(random);
      }
      if (text.empty()) text = truth;
      out << (copy % 5 == 0 ? lower_case(text) : text) << '\n';
    }
  }
}

void write_window_class(std::ostream& out, const WindowClass& what) {
  for (std::size_t window = 0; window < what.windows; ++window) {
    Random random = random_numbers(what.seed, window);
    const auto copies = what.least_copies + random.below(what.most_copies - what.least_copies + 1);
    const auto bases = what.least_bases + random.below(what.most_bases - what.least_bases + 1);
    const std::string truth = random_bases(random, bases);
    out << ">w" << window << ' ' << copies << ' ' << truth << '\n';
    for (std::uint64_t copy = 0; copy < copies; ++copy) {
      const std::string text = with_errors(truth, what.errors_per_million, random);
      out << (text.empty() ? truth : text) << '\n';
    }
  }
}

void write_ragged_windows(std::ostream& out, const RaggedWindows& what) {
  for (std::size_t window = 0; window < what.windows; ++window) {
    Random random = random_numbers(what.seed, window);
    std::string truth = random_bases(random, what.unit == 0 ? what.bases : what.unit);
    while (truth.size() < what.bases) truth += truth.substr(0, what.bases - truth.size());
    out << ">w" << window << ' ' << what.copies << ' ' << truth << '\n';
    for (std::uint64_t copy = 0; copy < what.copies; ++copy) {
      const auto least = truth.size() / 10 + 1;
      const auto bases = copy == 0 ? truth.size() : least + random.below(truth.size() - least + 1);
      const auto begin = random.below(truth.size() - bases + 1);
      const std::string piece = truth.substr(begin, bases), text = with_errors(piece, what.errors_per_million, random);
      out << (text.empty() ? piece : text) << '\n';
    }
  }
}

void write_haplotypes(std::ostream& out, std::uint64_t seed, std::size_t count) {
  constexpr std::uint64_t errors_per_million = 50'000;
  for (std::size_t window = 0; window < count; ++window) {
    Random random = random_numbers(seed, window);
    const auto bases = 80 + random.below(120);
    const auto copies = 24 + random.below(20);
    const bool has_two = window % 3 != 0;
    const std::string first = random_bases(random, bases);
    std::string second = first;
    const auto sites = has_two ? 2 + random.below(4) : 0;
    for (std::uint64_t site = 0; site < sites; ++site) {
      // Apart from each other and from the ends.
      const std::size_t place = 10 + site * (bases - 20) / sites + random.below(4);
      second[place] = "CGTA"[std::string_view("ACGT").find(second[place])];
    }
    if (has_two && window % 5 == 0) second.erase(bases / 2 + 5, 3);
    out << ">w" << window << ' ' << copies << ' ' << first << (has_two ? "/" + second : "") << '\n';
    for (std::uint64_t copy = 0; copy < copies; ++copy)
      out << with_errors(has_two && copy % 5 >= 3 ? second : first, errors_per_million, random) << '\n';
  }
}

void write_noisy_reads(std::ostream& out, const NoisyReads& what, NoisyReadForm form) {
  Random genome_numbers = random_numbers(what.seed, 0);
  const std::string genome = random_bases(genome_numbers, what.genome_bases);
  for (std::size_t number = 0; number < what.reads; ++number) {
    Random random = random_numbers(what.seed, 1 + number);
    const std::size_t bases = std::min(genome.size(), what.mean_bases / 2 + random.below(what.mean_bases));
    const auto begin = random.below(genome.size() - bases + 1);
    std::string truth = genome.substr(begin, bases);
    if (random.below(2) == 1) truth = reverse_complement(truth);
    if (form == NoisyReadForm::truth) {
      out << ">read" << number << '\n' << truth << '\n';
      continue;
    }
    std::string read, quality;
    const auto append = [&](char letter, std::size_t score) {
      read += letter;
      quality += "()*+,-./0123456789:;<="[score + random.below(6)];
    };
    constexpr std::size_t right = 12, wrong = 3;
    for (const char base : truth) {
      if (!chance(random, what.errors_per_million)) {
        append(base, right);
        continue;
      }
      const auto kind = random.below(3);  // a substitution, an insertion, a deletion
      if (kind == 1) append(base, right);
      if (kind != 2) {
        const char other = random_base(random);
        append(other, wrong);
      }
    }
    out << "@read" << number << " made for tests\n" << read << "\n+\n" << quality << '\n';
  }
}

void write_odd_signal(std::ostream& out, std::uint64_t seed) {
  out << "#slow5_version\t0.2.0\n#num_read_groups\t1\n@experiment_type\tgenomic_dna\n@sequencing_kit\tsqk-lsk109\n"
         "#char*\tuint32_t\tdouble\tdouble\tdouble\tdouble\tuint64_t\tint16_t*\n"
         "#read_id\tread_group\tdigitisation\toffset\trange\tsampling_rate\tlen_raw_signal\traw_signal\n";
  constexpr int lowest = -32768, highest = 32767;
  for (std::size_t number = 0; number < 60; ++number) {
    Random random = random_numbers(seed, number);
    const auto plausible = [&] { return 450 + static_cast<int>(random.below(100)); };
    std::vector<int> signal;
    switch (number % 5) {
      case 0:
        signal.assign(20'000, 500);
        break;
      case 1:
        signal.assign(20'000, highest);
        break;
      case 2:
        signal.assign(1, plausible());
        break;
      case 3:
        for (int sample = 0; sample < 700; ++sample) signal.push_back(plausible());
        break;
      default:
        for (int sample = 0; sample < 20'000; ++sample) signal.push_back(random.below(2) == 0 ? lowest : highest);
    }
    out << "odd" << number << "\t0\t8192\t3\t1400\t4000\t" << signal.size();
    char before = '\t';
    for (const int sample : signal) out << std::exchange(before, ',') << sample;
    out << '\n';
  }
}

void write_one_long_read(std::istream& fasta, std::ostream& out, std::uint64_t seed, std::size_t errors) {
  out << ">read\n";
  std::string line;
  for (std::uint64_t number = 0; std::getline(fasta, line); ++number) {
    if (line.starts_with('>') || line.empty()) continue;
    Random random = random_numbers(seed, number);
    for (std::size_t error = 0; error < errors && !line.empty(); ++error) {
      const auto at = random.below(line.size());
      const auto bases = random.below(3);
      line.replace(at, 1, random_bases(random, bases));
    }
    out << line << '\n';
  }
}

void write_shuffled_lines(std::istream& in, std::ostream& out, std::uint64_t seed) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
  Random random = random_numbers(seed, 0);
  for (std::size_t left = lines.size(); left > 1; --left) std::swap(lines[left - 1], lines[random.below(left)]);
  for (const std::string& line : lines) out << line << '\n';
}

void write_noise(std::ostream& out, std::uint64_t seed, std::size_t bytes) {
  Random random = random_numbers(seed, 0);
  for (std::size_t byte = 0; byte < bytes; ++byte) out.put(static_cast<char>(random.below(256)));
}

}  // namespace sluice::test_input
