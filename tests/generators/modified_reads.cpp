// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <array>
#include <istream>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "generators/sequence_errors.hpp"
#include "generators/test_inputs.hpp"

namespace sluice::test_input {
namespace {

struct Tags {
  std::string positions, probabilities;
};

// One list of calls at about a quarter of the places of a base; `codes`: of each call.
void add_list(Random& random, const std::string& bases, const std::string& head, std::size_t codes, Tags& tags) {
  tags.positions += head;
  std::size_t skipped = 0;
  for (const char base : bases) {
    if (base != head[0]) continue;
    if (!chance(random, 250'000)) {
      ++skipped;
      continue;
    }
    tags.positions += ',' + std::to_string(skipped);
    skipped = 0;
    for (std::size_t code = 0; code < codes; ++code) tags.probabilities += ',' + std::to_string(random.below(256));
  }
  tags.positions += ';';
}

// Tags of an alignment that the generator's reader is not to see again.
bool is_of_alignment(std::string_view tag) {
  constexpr std::array<std::string_view, 5> names = {"NM:", "MD:", "AS:", "SA:", "cs:"};
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) { return tag.starts_with(name); });
}

// DRACH: D = A, G, T; R = A, G; H = A, C, T.
constexpr std::size_t drach_bases = 5, drach_a = 2;
bool is_drach(std::string_view word) {
  constexpr std::array<std::string_view, drach_bases> letters = {"AGT", "AG", "A", "C", "ACT"};
  for (std::size_t i = 0; i < letters.size(); ++i)
    if (letters[i].find(word[i]) == std::string_view::npos) return false;
  return true;
}

// Of the molecules with this word, in percent.
std::uint64_t share_of(std::uint64_t seed, std::string_view word) {
  std::uint64_t number = 0;
  for (const char base : word) number = 4 * number + std::string_view("ACGT").find(base);
  return 10 * random_numbers(seed, number).below(11);
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find('\t', begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return fields;
}

}  // namespace

void write_modified_reads(std::istream& fastq, std::ostream& out, std::uint64_t seed) {
  out << "@HD\tVN:1.6\tSO:unknown\n@RG\tID:run\tSM:sample\tPL:ONT\n@PG\tID:basecaller\tPN:basecaller\tVN:1.0\tCL:basecaller reads\n";
  std::string name, bases, plus, qualities;
  for (std::uint64_t read = 0; std::getline(fastq, name) && std::getline(fastq, bases) && std::getline(fastq, plus) && std::getline(fastq, qualities);
       ++read) {
    Random random = random_numbers(seed, read);
    out << name.substr(1, name.find_first_of(" \t") - 1) << "\t4\t*\t0\t0\t*\t*\t0\t0\t" << bases << '\t' << qualities
        << "\tRG:Z:run\tqs:f:" << 8 + random.below(12) << ".5\tmv:B:c,5";
    for (std::size_t at = 0; at < bases.size(); ++at) out << ',' << (chance(random, 500'000) ? '1' : '0');
    if (read % 5 != 4) {
      Tags tags;
      add_list(random, bases, "C+mh?", 2, tags);
      add_list(random, bases, "A+a.", 1, tags);
      out << "\tMM:Z:" << tags.positions << "\tML:B:C" << tags.probabilities << "\tMN:i:" << bases.size();
    }
    out << '\n';
  }
}

void write_m6a_reads(std::istream& fastq, std::ostream& out, std::uint64_t seed) {
  out << "@HD\tVN:1.6\tSO:unknown\n";
  std::string head, bases, plus, qualities;
  for (std::uint64_t read = 0; std::getline(fastq, head) && std::getline(fastq, bases) && std::getline(fastq, plus) && std::getline(fastq, qualities);
       ++read) {
    Random random = random_numbers(seed + 1, read);
    Tags tags{.positions = read % 4 == 3 ? "A+a?" : "A+a.", .probabilities = ""};
    std::size_t skipped = 0;
    for (std::size_t at = 0; at < bases.size(); ++at) {
      if (bases[at] != 'A') continue;
      const bool has_word = at >= drach_a && at - drach_a + drach_bases <= bases.size();
      const std::string_view word = has_word ? std::string_view(bases).substr(at - drach_a, drach_bases) : std::string_view();
      if (!has_word || !is_drach(word)) {
        ++skipped;
        continue;
      }
      tags.positions += ',' + std::to_string(skipped);
      skipped = 0;
      const bool is_modified = chance(random, 10'000 * share_of(seed, word)), is_unsure = random.below(8) == 0;
      tags.probabilities += ',' + std::to_string((is_unsure ? 100 : is_modified ? 200 : 0) + random.below(56));
    }
    const std::vector<std::string> fields = fields_of(head.substr(1));
    out << fields[0].substr(0, fields[0].find(' ')) << "\t4\t*\t0\t0\t*\t*\t0\t0\t" << bases << '\t' << qualities << "\tMM:Z:" << tags.positions
        << ';';
    if (!tags.probabilities.empty()) out << "\tML:B:C" << tags.probabilities;
    for (std::size_t i = 1; i < fields.size(); ++i) out << '\t' << fields[i];
    out << '\n';
  }
}

void write_m6a_shares(std::ostream& out, std::uint64_t seed) {
  for (const char d : {'A', 'G', 'T'})
    for (const char r : {'A', 'G'})
      for (const char h : {'A', 'C', 'T'}) {
        const std::string word = {d, r, 'A', 'C', h};
        out << word << '\t' << share_of(seed, word) << '\n';
      }
}

void write_unaligned(std::istream& sam, std::ostream& out) {
  constexpr unsigned reverse = 16, secondary = 256, supplementary = 2048;
  for (std::string line; std::getline(sam, line);) {
    if (line.starts_with('@')) {
      if (!line.starts_with("@SQ") && !line.starts_with("@HD")) out << line << '\n';
      continue;
    }
    std::vector<std::string> fields = fields_of(line);
    const auto flag = static_cast<unsigned>(std::stoul(fields.at(1)));
    if ((flag & (secondary | supplementary)) != 0) continue;
    std::string &bases = fields.at(9), &qualities = fields.at(10);
    if ((flag & reverse) != 0) {
      bases = reverse_complement(bases);
      std::reverse(qualities.begin(), qualities.end());
    }
    out << fields[0] << "\t4\t*\t0\t0\t*\t*\t0\t0\t" << bases << '\t' << qualities;
    for (std::size_t i = 11; i < fields.size(); ++i)
      if (!is_of_alignment(fields[i])) out << '\t' << fields[i];
    out << '\n';
  }
}

}  // namespace sluice::test_input
