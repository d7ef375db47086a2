// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "methylation_accuracy/accuracy.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <sluice/sequence/text.hpp>

namespace sluice::methylation_accuracy {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Calls line(number, text) for every line; stops at the first that returns a problem, and says where.
template <class Line>
std::string for_each_line(std::string_view text, Line&& line) {
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view content = text.substr(0, end);
    if (content.ends_with('\r')) content.remove_suffix(1);
    const std::string problem = line(number, content);
    if (!problem.empty()) return "line " + std::to_string(number) + ": " + problem;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

// The first fields of a line; false if there are fewer.
template <std::size_t count>
bool split(std::string_view line, std::array<std::string_view, count>& fields) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t end = line.find('\t');
    fields[i] = line.substr(0, end);
    if (end == std::string_view::npos) return i + 1 == count;
    line.remove_prefix(end + 1);
  }
  return true;
}

template <class Number>
bool parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

void sort_by_position(ReadTruth& truth) {
  if (std::is_sorted(truth.positions.begin(), truth.positions.end())) return;
  std::vector<std::size_t> order(truth.positions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return truth.positions[a] < truth.positions[b]; });
  ReadTruth sorted;
  for (const std::size_t i : order) {
    sorted.positions.push_back(truth.positions[i]);
    sorted.methylated.push_back(truth.methylated[i]);
  }
  truth = std::move(sorted);
}

}  // namespace

double area_under_curve(std::vector<Call>& calls) {
  std::sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) { return a.log_lik_ratio < b.log_lik_ratio; });
  double rank_sum = 0;
  std::int64_t methylated = 0;
  for (std::size_t i = 0; i < calls.size();) {
    std::size_t end = i;
    std::int64_t methylated_here = 0;
    for (; end < calls.size() && calls[end].log_lik_ratio == calls[i].log_lik_ratio; ++end) methylated_here += calls[end].methylated ? 1 : 0;
    const double mean_rank = (static_cast<double>(i + 1) + static_cast<double>(end)) / 2;
    rank_sum += mean_rank * static_cast<double>(methylated_here);
    methylated += methylated_here;
    i = end;
  }
  const auto positives = static_cast<double>(methylated);
  const double negatives = static_cast<double>(calls.size()) - positives;
  if (positives == 0 || negatives == 0) return nan;
  return (rank_sum - positives * (positives + 1) / 2) / (positives * negatives);
}

FrequencyAgreement compare_frequencies(std::span<const double> truth, std::span<const double> called) {
  const auto count = static_cast<double>(truth.size());
  const double truth_mean = std::accumulate(truth.begin(), truth.end(), 0.0) / count;
  const double called_mean = std::accumulate(called.begin(), called.end(), 0.0) / count;
  double covariance = 0, truth_variance = 0, called_variance = 0, squares = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    covariance += (truth[i] - truth_mean) * (called[i] - called_mean);
    truth_variance += (truth[i] - truth_mean) * (truth[i] - truth_mean);
    called_variance += (called[i] - called_mean) * (called[i] - called_mean);
    squares += (truth[i] - called[i]) * (truth[i] - called[i]);
  }
  // Without variance, and without sites, these are 0 / 0: not a number.
  return {.sites = static_cast<std::int64_t>(truth.size()),
          .correlation = covariance / std::sqrt(truth_variance * called_variance),
          .rmse = std::sqrt(squares / count)};
}

std::string parse_site_frequencies(std::string_view text, SiteFrequencies& frequencies) {
  return for_each_line(text, [&](std::int64_t, std::string_view line) -> std::string {
    if (line.empty() || line.starts_with("contig\t")) return {};
    std::array<std::string_view, 3> fields;
    std::int64_t position = 0;
    double frequency = 0;
    if (!split(line, fields) || !parse(fields[1], position) || !parse(fields[2], frequency) || !(frequency >= 0 && frequency <= 1))
      return "expected contig, position and a frequency between 0 and 1, separated by tabs";
    auto contig = frequencies.find(fields[0]);
    if (contig == frequencies.end()) contig = frequencies.emplace(fields[0], SiteFrequencies::mapped_type{}).first;
    contig->second[position] = frequency;
    return {};
  });
}

std::string parse_read_truths(std::string_view text, ReadTruths& truths) {
  const std::string problem = for_each_line(text, [&](std::int64_t, std::string_view line) -> std::string {
    if (line.empty() || line.starts_with("contig\t")) return {};
    std::array<std::string_view, 5> fields;
    std::int64_t position = 0;
    if (!split(line, fields) || !parse(fields[1], position) || fields[3].empty() || (fields[4] != "0" && fields[4] != "1"))
      return "expected contig, position, strand, read_id and 0 or 1, separated by tabs";
    ReadTruth& truth = truths[std::string(fields[3])];
    truth.positions.push_back(position);
    truth.methylated.push_back(fields[4] == "1");
    return {};
  });
  for (auto& [read_id, truth] : truths) sort_by_position(truth);
  return problem;
}

std::string parse_molecules(std::string_view text, Molecules& molecules) {
  struct Sink {
    Molecules& molecules;
    std::string* sequence = nullptr;
    void begin_record(std::string_view name) {
      sequence = &molecules[std::string(name)];
      sequence->clear();
    }
    void take_bases(std::string_view bases) {
      for (const char base : bases) sequence->push_back(upper_case(base));
    }
    void take_qualities(std::string_view) {}
    bool end_record(const SequenceTextRecord&) { return true; }
  } sink{molecules};
  SequenceTextParser parser(sink, {SequenceTextRules::Formats::fasta});
  using Outcome = SequenceTextParser<Sink>::Outcome;
  if (parser.feed(text) == Outcome::fine && parser.finish() == Outcome::fine) return {};
  return "line " + std::to_string(parser.problem().line) + ": " + parser.problem().what;
}

bool locate_molecule(std::string_view molecule, Strand strand, std::string_view reference, std::int64_t anchor, ReadTruth& truth) {
  truth.positions.clear();
  truth.methylated.clear();
  // In reference orientation; on the reverse strand M pairs with the G of the forward strand's CpG.
  std::string plain(molecule.size(), 'N');
  for (std::size_t i = 0; i < molecule.size(); ++i) {
    const char base = molecule[i] == 'M' ? 'C' : molecule[i];
    if (strand == Strand::forward)
      plain[i] = base;
    else
      plain[molecule.size() - 1 - i] = complement_of(base);
  }
  const auto length = static_cast<std::int64_t>(molecule.size());
  const auto reference_length = static_cast<std::int64_t>(reference.size());
  const std::int64_t first = std::clamp<std::int64_t>(anchor - length, 0, reference_length);
  const std::int64_t last = std::clamp<std::int64_t>(anchor + length, first, reference_length);
  const std::size_t found = reference.substr(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first)).find(plain);
  if (found == std::string_view::npos || molecule.empty()) return false;
  const std::int64_t start = first + static_cast<std::int64_t>(found);
  for (std::size_t i = 0; i + 1 < plain.size(); ++i) {
    if (plain[i] != 'C' || plain[i + 1] != 'G') continue;
    const std::size_t cytosine = strand == Strand::forward ? i : molecule.size() - 2 - i;
    truth.positions.push_back(start + static_cast<std::int64_t>(i));
    truth.methylated.push_back(molecule[cytosine] == 'M');
  }
  return true;
}

}  // namespace sluice::methylation_accuracy
