// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// What correction has made of the reads of make_correction_set:
//   correction_truth FOLDER CORRECTED.fa|fq
// prints, tab-separated: reads, reads lost (absent, or less than half of them there), identity in % from end to end (1 - edit distance / columns of
// the alignment, reads that are not lost), the median read's, the worst read's, sites (where the other haplotype or copy has another base), of these
// % with the read's own base, and % with the other one's.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

using Sequences = std::unordered_map<std::string, std::string>;

Sequences read_sequences(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("can't open '" + path + "'");
  Sequences sequences;
  std::string line, name;
  const bool is_fastq = file.peek() == '@';
  while (std::getline(file, line)) {
    if (line.empty()) continue;
    if (line[0] == (is_fastq ? '@' : '>')) {
      name = line.substr(1, line.find_first_of(" \t!") - 1);
      sequences[name];
      if (!is_fastq) continue;
      std::getline(file, sequences[name]);
      std::getline(file, line);
      std::getline(file, line);
    } else {
      sequences[name] += line;
    }
  }
  for (auto& [_, bases] : sequences)
    for (char& base : bases) base = static_cast<char>(std::toupper(base));
  return sequences;
}

// One of the shortest alignments of all of `truth` to all of `read` (Myers 1986, Ukkonen 1985, by diagonals): of each base of the truth the base of
// the read that it stands against, '-' for none; and the number of differences and columns.
struct Alignment {
  std::string against;
  std::size_t differences = 0, columns = 0;
};

Alignment align(const std::string& truth, const std::string& read) {
  const int n = static_cast<int>(truth.size()), m = static_cast<int>(read.size());
  std::vector<std::vector<int>> fronts;  // of d differences, the furthest base of the truth on diagonal (truth - read) -d .. d
  const auto at = [&](int d, int diagonal) {
    return d < 0 || diagonal < -d || diagonal > d ? -2 : fronts[static_cast<std::size_t>(d)][static_cast<std::size_t>(diagonal + d)];
  };
  for (int d = 0;; ++d) {
    fronts.emplace_back(2 * static_cast<std::size_t>(d) + 1, -2);
    for (int diagonal = -d; diagonal <= d; ++diagonal) {
      int t = d == 0 ? 0 : std::max({at(d - 1, diagonal) + 1, at(d - 1, diagonal - 1) + 1, at(d - 1, diagonal + 1)});
      t = std::min({t, n, m + diagonal});
      if (t < 0 || t - diagonal < 0) continue;
      while (t < n && t - diagonal < m && truth[static_cast<std::size_t>(t)] == read[static_cast<std::size_t>(t - diagonal)]) ++t;
      fronts.back()[static_cast<std::size_t>(diagonal + d)] = t;
    }
    if (at(d, n - m) == n) break;
  }
  Alignment made;
  made.against.assign(truth.size(), '-');
  int diagonal = n - m, t = n;
  for (auto d = static_cast<int>(fronts.size()) - 1; d >= 0; --d) {
    const int from_substitution = at(d - 1, diagonal) + 1, from_deletion = at(d - 1, diagonal - 1) + 1, from_insertion = at(d - 1, diagonal + 1);
    const int start = d == 0 ? 0 : std::min({std::max({from_substitution, from_deletion, from_insertion}), n, m + diagonal});
    for (; t > start; --t, ++made.columns) made.against[static_cast<std::size_t>(t - 1)] = read[static_cast<std::size_t>(t - 1 - diagonal)];
    if (d == 0) break;
    ++made.differences;
    ++made.columns;
    if (start == from_substitution && at(d - 1, diagonal) >= 0) {
      made.against[static_cast<std::size_t>(t - 1)] = read[static_cast<std::size_t>(t - 1 - diagonal)];
      --t;
    } else if (start == from_deletion && at(d - 1, diagonal - 1) >= 0) {
      --t;
      --diagonal;
    } else {
      ++diagonal;
    }
  }
  return made;
}

struct Site {
  std::size_t place;
  char own, other;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "correction_truth FOLDER CORRECTED\n";
    return 2;
  }
  try {
    const std::string folder = argv[1];
    const Sequences truths = read_sequences(folder + "/truth.fa"), corrected = read_sequences(argv[2]);
    std::unordered_map<std::string, std::vector<Site>> sites;
    std::ifstream file(folder + "/sites.tsv");
    std::string name;
    Site site{};
    while (file >> name >> site.place >> site.own >> site.other) sites[name].push_back(site);
    std::size_t lost = 0, differences = 0, columns = 0, all_sites = 0, own = 0, other = 0;
    std::vector<double> identities;
    for (const auto& [read, truth] : truths) {
      const auto found = corrected.find(read);
      if (found == corrected.end() || found->second.size() * 2 < truth.size()) {
        ++lost;
        continue;
      }
      const Alignment alignment = align(truth, found->second);
      differences += alignment.differences;
      columns += alignment.columns;
      identities.push_back(1 - static_cast<double>(alignment.differences) / static_cast<double>(alignment.columns));
      for (const Site& s : sites[read]) {
        ++all_sites;
        own += alignment.against[s.place] == s.own ? 1 : 0;
        other += alignment.against[s.place] == s.other ? 1 : 0;
      }
    }
    std::sort(identities.begin(), identities.end());
    const auto percent = [](double part, double whole) { return whole > 0 ? 100 * part / whole : 0; };
    std::printf("%zu\t%zu\t%.4f\t%.4f\t%.3f\t%zu\t%.2f\t%.2f\n", truths.size(), lost,
                percent(static_cast<double>(columns) - static_cast<double>(differences), static_cast<double>(columns)),
                identities.empty() ? 0 : 100 * identities[identities.size() / 2], identities.empty() ? 0 : 100 * identities.front(), all_sites,
                percent(static_cast<double>(own), static_cast<double>(all_sites)),
                percent(static_cast<double>(other), static_cast<double>(all_sites)));
  } catch (const std::exception& error) {
    std::cerr << "correction_truth: " << error.what() << '\n';
    return 1;
  }
}
