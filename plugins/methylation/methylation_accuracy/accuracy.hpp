// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How good methylation calls are, against what is known about simulated reads.

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::methylation_accuracy {

struct Call {
  double log_lik_ratio = 0;
  bool methylated = false;  // the truth
};

// The chance that a methylated call has a higher log-likelihood ratio than an unmethylated one, ties counting half (Mann-Whitney).
// NaN if one of the classes is empty. Sorts `calls`; a ratio that is NaN must not be among them.
double area_under_curve(std::vector<Call>& calls);

struct FrequencyAgreement {
  std::int64_t sites = 0;
  double correlation = 0;  // Pearson; NaN for fewer than two sites or no variance
  double rmse = 0;         // root mean square difference; NaN without sites
};
FrequencyAgreement compare_frequencies(std::span<const double> truth, std::span<const double> called);

// True share of methylated molecules by contig and position of the forward strand's C, 0-based.
using SiteFrequencies = std::map<std::string, std::unordered_map<std::int64_t, double>, std::less<>>;

// One line a site: contig, position, frequency and anything after, separated by tabs; a line that begins with "contig\t" is a header.
// Returns "" or what is wrong, with the line's number.
std::string parse_site_frequencies(std::string_view text, SiteFrequencies& frequencies);

// Truth of one read: its CpGs, ascending by position of the forward strand's C.
struct ReadTruth {
  std::vector<std::int64_t> positions;
  std::vector<bool> methylated;
};
using ReadTruths = std::unordered_map<std::string, ReadTruth>;

// Lines `contig position strand read_id methylated` as truth_writer writes them; the lines of a read need not be together.
std::string parse_read_truths(std::string_view text, ReadTruths& truths);

// FASTA of error-free molecules in sequencing orientation, M for a methylated C: read identifier -> sequence (upper case).
using Molecules = std::unordered_map<std::string, std::string>;
std::string parse_molecules(std::string_view text, Molecules& molecules);

enum class Strand : std::uint8_t { forward, reverse };

// Finds the molecule on the reference near `anchor` (a position inside the molecule's place) and lists its CpGs. False: it is not there.
bool locate_molecule(std::string_view molecule, Strand strand, std::string_view reference, std::int64_t anchor, ReadTruth& truth);

}  // namespace sluice::methylation_accuracy
