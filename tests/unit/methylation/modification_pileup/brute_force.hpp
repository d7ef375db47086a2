// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Pileups of base modifications counted read by read and base by base, with nothing but maps: what the stages are compared with.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "unit/methylation/modification_pileup/modbam_record.hpp"

namespace brute_force {

struct Motif {
  std::string letters;
  std::size_t place = 0;  // of the modified base
};
struct Region {
  std::string contig;
  std::int64_t begin = 0, end = 0;
  char strand = '.';
};
struct Rules {
  double threshold = 0.75;
  bool cpg = false, combine_strands = false, reference_bases = false;
  std::string partition = "none";
  std::vector<Motif> motifs = {};
  std::vector<Region> included = {};
  std::set<std::string> ignored = {};
  std::size_t edge_start = 0, edge_end = 0;
  bool combine_mods = false;
};

inline bool fits(char letter, char iupac) {
  static const std::map<char, std::string> bases = {{'A', "A"},   {'C', "C"},   {'G', "G"},   {'T', "T"},   {'R', "AG"},
                                                    {'Y', "CT"},  {'W', "AT"},  {'S', "CG"},  {'M', "AC"},  {'K', "GT"},
                                                    {'D', "AGT"}, {'H', "ACT"}, {'V', "ACG"}, {'B', "CGT"}, {'N', "ACGT"}};
  return bases.at(iupac).find(letter) != std::string::npos;
}
// Is the base at `at` of that strand the modified one of the motif?
inline bool is_site(const std::string& letters, std::int64_t at, char strand, const Motif& motif) {
  for (std::size_t i = 0; i < motif.letters.size(); ++i) {
    const std::int64_t from_base = static_cast<std::int64_t>(i) - static_cast<std::int64_t>(motif.place);
    const std::int64_t there = strand == '-' ? at - from_base : at + from_base;
    if (there < 0 || there >= static_cast<std::int64_t>(letters.size())) return false;
    const char letter = letters[static_cast<std::size_t>(there)];
    if (!fits(strand == '-' ? modbam::complement(letter) : letter, motif.letters[i])) return false;
  }
  return true;
}
inline std::string label(const Motif& motif) { return motif.letters + "," + std::to_string(motif.place); }

// What a read shows on one strand at one position.
struct Seen {
  char base = '-';                            // on that strand; '-': deleted
  bool has_call = false;                      // of that base
  std::map<std::string, double> probability;  // of modifications that were looked for, by code
  double ignored = 0;                         // of those that are not looked at
};

inline std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

// By strand ('+' the read's own) and place in the read.
inline std::map<std::pair<char, std::size_t>, Seen> bases_of(const modbam::Record& record, const Rules& rules = {}) {
  const std::string bases = modbam::sequenced(record);
  std::map<std::pair<char, std::size_t>, Seen> seen;
  std::set<char> strands = {'+'};
  std::vector<std::string> groups = split(record.mm.value_or(""), ';');
  for (const std::string& group : groups) strands.insert(group[1]);
  for (const char strand : strands)
    for (std::size_t i = 0; i < bases.size(); ++i) seen[{strand, i}].base = strand == '+' ? bases[i] : modbam::complement(bases[i]);
  std::size_t next = 0;
  for (const std::string& group : groups) {
    const std::vector<std::string> parts = split(group, ',');
    std::string codes = parts[0].substr(2);
    const bool is_explicit = codes.back() == '?';
    if (codes.back() == '?' || codes.back() == '.') codes.pop_back();
    std::vector<std::string> names;
    if (codes[0] >= '0' && codes[0] <= '9')
      names = {codes};
    else
      for (const char code : codes) names.emplace_back(1, code);
    const char counted = parts[0][0] == 'U' ? 'T' : parts[0][0], strand = parts[0][1];
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < bases.size(); ++i)
      if (counted == 'N' || bases[i] == counted) places.push_back(i);
    if (!is_explicit)
      for (const std::size_t place : places)
        for (const std::string& name : names) {
          seen[{strand, place}].has_call = true;
          seen[{strand, place}].probability.emplace(name, 0.0);
        }
    std::size_t at = 0;
    for (std::size_t i = 1; i < parts.size(); ++i, ++at) {
      at += static_cast<std::size_t>(std::stoul(parts[i]));
      for (const std::string& name : names) {
        seen[{strand, places.at(at)}].has_call = true;
        seen[{strand, places.at(at)}].probability[name] = (record.ml->at(next++) + 0.5) / 256;
      }
    }
  }
  for (auto& [place, base] : seen) {
    for (const std::string& code : rules.ignored)
      if (const auto found = base.probability.find(code); found != base.probability.end()) {
        base.ignored += found->second;
        base.probability.erase(found);
      }
    const bool at_edge = place.second < rules.edge_start || place.second + rules.edge_end >= bases.size();
    if (at_edge || base.probability.empty()) base.has_call = false;
  }
  return seen;
}

// Lines of bedMethyl.
inline std::string pileup(const std::vector<modbam::Record>& records, const std::vector<std::pair<std::string, std::string>>& reference,
                          const Rules& rules) {
  using Site = std::tuple<std::int64_t, char>;  // position, strand of the reference
  std::vector<Motif> motifs = rules.motifs;
  if (rules.cpg) motifs.push_back({"CG", 0});
  std::string lines;
  for (const auto& [contig, letters] : reference) {
    // By partition and motif; without motifs the first.
    std::map<Site, std::map<std::pair<std::string, std::size_t>, std::vector<Seen>>> sites;
    for (const modbam::Record& record : records) {
      if (record.contig != contig || (record.mm && record.is_hard_clipped() && !record.mn)) continue;
      const auto seen = bases_of(record, rules);
      std::string partition;
      if (rules.partition == "hp") partition = record.haplotype ? std::to_string(*record.haplotype) : "ungrouped";
      if (rules.partition == "rg") partition = record.read_group.value_or("ungrouped");
      const std::set<char> strands = record.mm && record.mm->find('-') != std::string::npos ? std::set<char>{'+', '-'} : std::set<char>{'+'};
      std::int64_t position = record.position;
      std::size_t stored = 0;
      for (const auto& [operation, length] : record.cigar)
        for (std::uint32_t i = 0; i < length; ++i) {
          const bool takes_base = std::string("MIS=X").find(operation) != std::string::npos;
          const bool takes_position = std::string("MDN=X").find(operation) != std::string::npos;
          const std::size_t place = record.is_reverse() ? record.bases.size() - 1 - stored : stored;
          if (takes_position && operation != 'N')
            for (const char strand : strands)
              for (std::size_t motif = 0; motif < std::max<std::size_t>(motifs.size(), 1); ++motif) {
                char on = (strand == '+') != record.is_reverse() ? '+' : '-';
                std::int64_t at = position;
                if (!motifs.empty() && !is_site(letters, at, on, motifs[motif])) continue;
                if (rules.combine_strands) {
                  const auto length = static_cast<std::int64_t>(motifs[motif].letters.size()),
                             forward = static_cast<std::int64_t>(motifs[motif].place);
                  if (on == '-') at -= length - 1 - 2 * forward;
                  on = '.';
                }
                sites[{at, on}][{partition, motif}].push_back(operation == 'D' ? Seen() : seen.at({strand, place}));
              }
          stored += takes_base ? 1 : 0;
          position += takes_position ? 1 : 0;
        }
    }
    for (const auto& [site, partitions] : sites) {
      const auto [position, strand] = site;
      const std::string contig_here = contig;  // lambdas take no bindings
      const std::int64_t at_here = position;
      const char strand_here = strand;
      const bool is_included = std::any_of(rules.included.begin(), rules.included.end(), [&](const Region& region) {
        return region.contig == contig_here && at_here >= region.begin && at_here < region.end &&
               (region.strand == '.' || strand_here == '.' || region.strand == strand_here);
      });
      if (!rules.included.empty() && !is_included) continue;
      // Rows by code, motif and base, then partition.
      std::map<std::tuple<std::string, std::string, char, std::string>, std::string> rows;
      for (const auto& [group, reads] : partitions)
        for (const char base : std::string("ACGT")) {
          const std::string& partition = group.first;
          const char there = letters[static_cast<std::size_t>(position)];
          if (!motifs.empty() && base != motifs[group.second].letters[motifs[group.second].place]) continue;
          if (rules.reference_bases && base != (strand == '-' ? modbam::complement(there) : there)) continue;
          std::map<std::string, int> modified;
          int canonical = 0, failed = 0, deleted = 0, different = 0, no_call = 0, all_modified = 0;
          for (const Seen& seen : reads) {
            if (seen.base == '-') {
              ++deleted;
            } else if (seen.base != base) {
              ++different;
            } else if (!seen.has_call) {
              ++no_call;
            } else {
              // In parts of 1 / options, all of them exact.
              double rest = 1 - seen.ignored, best = 0;
              const double options = seen.ignored > 0 ? static_cast<double>(seen.probability.size() + 1) : 1;
              std::string code;
              const auto counted = [&](const std::string& name) { return rules.combine_mods ? std::string(1, base) : name; };
              for (const auto& [name, probability] : seen.probability) {
                modified.emplace(counted(name), 0);
                rest -= probability;
              }
              // Of equally probable ones numbers come first, the largest of all; then letters.
              const auto before = [](const std::string& a, const std::string& b) {
                const bool number_a = a[0] <= '9', number_b = b[0] <= '9';
                if (number_a != number_b) return number_a;
                return number_a ? std::stol(a) > std::stol(b) : a < b;
              };
              for (const auto& [name, share] : seen.probability) {
                const double probability = std::min(share * options + seen.ignored, options);
                if (probability > best || (probability == best && !code.empty() && before(name, code))) best = probability, code = name;
              }
              rest = std::min((rest < 0 ? 0 : rest) * options + seen.ignored, options);
              if (std::max(rest, best) < rules.threshold * options)
                ++failed;
              else if (rest >= best)
                ++canonical;
              else
                ++modified[counted(code)], ++all_modified;
            }
          }
          const int valid = canonical + all_modified;
          if (valid == 0) continue;
          for (const auto& [code, count] : modified) {
            const std::string name = code + (motifs.size() > 1 ? "," + label(motifs[group.second]) : "");
            char line[400];
            std::snprintf(line, sizeof line, "%s\t%ld\t%ld\t%s\t%d\t%c\t%ld\t%ld\t255,0,0\t%d\t%.2f\t%d\t%d\t%d\t%d\t%d\t%d\t%d", contig.c_str(),
                          static_cast<long>(position), static_cast<long>(position + 1), name.c_str(), valid, strand, static_cast<long>(position),
                          static_cast<long>(position + 1), valid, 100.0 * count / valid, count, canonical, all_modified - count, deleted, failed,
                          different, no_call);
            rows[{code, motifs.empty() ? "" : label(motifs[group.second]), base, partition}] =
                line + (rules.partition == "none" ? std::string() : "\t" + partition) + "\n";
          }
        }
      for (const auto& [key, line] : rows) lines += line;
    }
  }
  return lines;
}

}  // namespace brute_force
