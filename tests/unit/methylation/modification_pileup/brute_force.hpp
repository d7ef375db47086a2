// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Pileups of base modifications counted read by read and base by base, with nothing but maps: what the stages are compared with.

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

struct Rules {
  double threshold = 0.75;
  bool cpg = false, combine_strands = false, reference_bases = false;
  std::string partition = "none";
};

// What a read shows on one strand at one position.
struct Seen {
  char base = '-';                            // on that strand; '-': deleted
  bool has_call = false;                      // of that base
  std::map<std::string, double> probability;  // of modifications that were looked for, by code
};

inline std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

// By strand ('+' the read's own) and place in the read.
inline std::map<std::pair<char, std::size_t>, Seen> bases_of(const modbam::Record& record) {
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
  return seen;
}

// Lines of bedMethyl.
inline std::string pileup(const std::vector<modbam::Record>& records, const std::vector<std::pair<std::string, std::string>>& reference,
                          const Rules& rules) {
  using Site = std::tuple<std::int64_t, char>;  // position, strand of the reference
  std::string lines;
  for (const auto& [contig, letters] : reference) {
    std::map<Site, std::map<std::string, std::vector<Seen>>> sites;
    const auto is_cpg = [&, &letters = letters](std::int64_t at) { return at >= 0 && letters.compare(static_cast<std::size_t>(at), 2, "CG") == 0; };
    for (const modbam::Record& record : records) {
      if (record.contig != contig || (record.mm && record.is_hard_clipped() && !record.mn)) continue;
      const auto seen = bases_of(record);
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
            for (const char strand : strands) {
              char on = (strand == '+') != record.is_reverse() ? '+' : '-';
              std::int64_t at = position;
              if (rules.cpg && !is_cpg(on == '+' ? at : at - 1)) continue;
              if (rules.combine_strands) at -= on == '-' ? 1 : 0, on = '.';
              sites[{at, on}][partition].push_back(operation == 'D' ? Seen() : seen.at({strand, place}));
            }
          stored += takes_base ? 1 : 0;
          position += takes_position ? 1 : 0;
        }
    }
    for (const auto& [site, partitions] : sites) {
      const auto [position, strand] = site;
      // Rows by code and base, then partition.
      std::map<std::tuple<std::string, char, std::string>, std::string> rows;
      for (const auto& [partition, reads] : partitions)
        for (const char base : std::string("ACGT")) {
          const char there = letters[static_cast<std::size_t>(position)];
          if (rules.cpg && base != 'C') continue;
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
              double rest = 1, best = 0;
              std::string code;
              for (const auto& [name, probability] : seen.probability) {
                modified.emplace(name, 0);
                rest -= probability;
              }
              // Of equally probable ones numbers come first, the largest of all; then letters.
              const auto before = [](const std::string& a, const std::string& b) {
                const bool number_a = a[0] <= '9', number_b = b[0] <= '9';
                if (number_a != number_b) return number_a;
                return number_a ? std::stol(a) > std::stol(b) : a < b;
              };
              for (const auto& [name, probability] : seen.probability)
                if (probability > best || (probability == best && !code.empty() && before(name, code))) best = probability, code = name;
              if (rest < 0) rest = 0;
              if (std::max(rest, best) < rules.threshold)
                ++failed;
              else if (rest >= best)
                ++canonical;
              else
                ++modified[code], ++all_modified;
            }
          }
          const int valid = canonical + all_modified;
          if (valid == 0) continue;
          for (const auto& [code, count] : modified) {
            char line[400];
            std::snprintf(line, sizeof line, "%s\t%ld\t%ld\t%s\t%d\t%c\t%ld\t%ld\t255,0,0\t%d\t%.2f\t%d\t%d\t%d\t%d\t%d\t%d\t%d", contig.c_str(),
                          static_cast<long>(position), static_cast<long>(position + 1), code.c_str(), valid, strand, static_cast<long>(position),
                          static_cast<long>(position + 1), valid, 100.0 * count / valid, count, canonical, all_modified - count, deleted, failed,
                          different, no_call);
            rows[{code, base, partition}] = line + (rules.partition == "none" ? std::string() : "\t" + partition) + "\n";
          }
        }
      for (const auto& [key, line] : rows) lines += line;
    }
  }
  return lines;
}

}  // namespace brute_force
