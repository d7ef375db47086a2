// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <sluice/hts/text_file.hpp>
#include <sluice/resume.hpp>
#include <sluice/site_calls.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "methylation_accuracy/accuracy.hpp"

namespace sluice::methylation_accuracy {
namespace {

// A whole file, plain or gzip.
std::string read_text(const Host& host, const std::string& path) {
  hts::TextFile file({path});
  std::string text;
  for (std::string_view block = file.next(); !block.empty(); block = file.next()) text += block;
  hts::warn_of_open_end(host, file);
  if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
  if (text.empty()) host.warn(hts::empty_text(file.label().text()));
  return text;
}

void check(const std::string& path, const std::string& problem) {
  if (!problem.empty()) throw Failure::input(path + ": " + problem);
}

class MethylationAccuracy {
 public:
  struct Parameters {
    Path site_truth;
    Path read_truth;
    Path output = "-";
    double call_threshold = 2.5;
    std::int64_t minimum_reads = 10;
  };

  static void describe(Describe<MethylationAccuracy>& d) {
    d.id("methylation_accuracy")
        .sink("read")
        .summary("compares methylation calls with the truth of simulated reads")
        .doc(
            "Only groups of a single CpG count. AUC: area under the ROC curve of the log-likelihood ratio against each molecule's true state, ties "
            "counting half. Frequencies: "
            "called methylated (ratio above 0) over called (|ratio| >= call_threshold), at sites with at least minimum_reads calls, against the set "
            "frequency: Pearson's r and the "
            "root mean square difference.\n\n"
            "site_truth: `contig position frequency` (more columns are ignored). read_truth: the table that truth_writer makes with reads_output, or "
            "a FASTA of error-free molecules "
            "in sequencing orientation with M for a methylated C (then the resource `reference` is needed to find their places). All positions are "
            "those of the forward strand's C, "
            "0-based. Files may be gzip.")
        .work_unit("row");
    d.uses("reference", "contig", "needed when read_truth is FASTA", Needed::optional);
    d.needs("read_id", "utf8", "identifier")
        .needs("contig", "utf8", "reference name")
        .needs("is_reverse", "u8", "1: the read is of the reverse strand");
    needs_site_calls(d);
    d.option("site_truth", &Parameters::site_truth, "table of true frequencies").required().reads();
    d.option("read_truth", &Parameters::read_truth, "true states of every read: a table or FASTA").required().reads();
    d.option("output", &Parameters::output, "JSON file to write; - is standard output").writes();
    d.option("call_threshold", &Parameters::call_threshold, "calls with a smaller |log-likelihood ratio| do not count towards a site's frequency")
        .range(0, 1000);
    d.option("minimum_reads", &Parameters::minimum_reads, "sites with fewer calls are left out of the comparison of frequencies").range(1, 1e9);
  }

  MethylationAccuracy(const Setup& setup, const Parameters& parameters) : parameters_(parameters), file_(setup, parameters.output) {
    resume(setup, [this](StateReader& from) { restore(from); });
    check(parameters.site_truth, parse_site_frequencies(read_text(setup, parameters.site_truth), frequencies_));
    const std::string text = read_text(setup, parameters.read_truth);
    is_fasta_ = text.starts_with('>');
    if (!is_fasta_) {
      check(parameters.read_truth, parse_read_truths(text, truths_));
      return;
    }
    check(parameters.read_truth, parse_molecules(text, molecules_));
    if (!setup.has_resource("reference"))
      throw Failure::usage("read_truth " + parameters.read_truth + " is FASTA: the places of its molecules are unknown",
                           "give the resource 'reference'");
    const Batch reference = setup.resource("reference");
    const TextView names = reference.text("name"), bases = reference.text("bases");
    for (std::int64_t row = 0; row < reference.rows(); ++row) contigs_.emplace(names[row], bases[row]);
  }

  void commit(const sluice::Call& call, const Batch& in) {
    const TextView ids = in.text("read_id"), contigs = in.text("contig");
    const auto reverse = in.column<std::uint8_t>("is_reverse");
    const SiteCalls calls(in);
    const auto compared_before = static_cast<std::uint64_t>(reads_);
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      const std::size_t groups = calls.groups(row, ids[row]);
      if (groups == 0) continue;
      const ReadTruth* truth =
          truth_of(ids[row], contigs[row], reverse[static_cast<std::size_t>(row)] != 0 ? Strand::reverse : Strand::forward, calls.start[row].front());
      if (truth == nullptr) {
        if (reads_without_truth_++ == 0)
          call.warn("read '" + std::string(ids[row]) + "' is not in " + parameters_.read_truth +
                    ", or not near its calls on the reference; reads like it are left out");
        continue;
      }
      ++reads_;
      auto& sites = sites_of(contigs[row]);
      for (std::size_t i = 0; i < groups; ++i) {
        ++groups_;
        const double ratio = calls.log_lik_ratio(row, i);
        const std::int64_t start = calls.start[row][i];
        if (calls.motifs[row][i] != 1 || std::isnan(ratio)) continue;
        const auto found = std::lower_bound(truth->positions.begin(), truth->positions.end(), start);
        if (found == truth->positions.end() || *found != start) {
          ++calls_without_truth_;
          continue;
        }
        const bool state = truth->methylated[static_cast<std::size_t>(found - truth->positions.begin())];
        calls_.push_back({ratio, state});
        if (std::abs(ratio) < parameters_.call_threshold) continue;
        Site& site = sites[start];
        ++site.calls;
        site.methylated += ratio > 0 ? 1 : 0;
        ++confident_;
        right_ += (ratio > 0) == state ? 1 : 0;
      }
    }
    call.outcome("compared", static_cast<std::uint64_t>(reads_) - compared_before, static_cast<std::uint64_t>(in.rows()));
  }

  void finish(const sluice::Call& call, Output&) {
    std::vector<double> truth, called;
    for (const auto& [contig, sites] : sites_) {
      const auto known = frequencies_.find(contig);
      if (known == frequencies_.end()) continue;
      for (const auto& [position, site] : sites) {
        if (site.calls < parameters_.minimum_reads) continue;
        const auto frequency = known->second.find(position);
        if (frequency == known->second.end()) continue;
        truth.push_back(frequency->second);
        called.push_back(static_cast<double>(site.methylated) / static_cast<double>(site.calls));
      }
    }
    const FrequencyAgreement agreement = compare_frequencies(truth, called);
    const auto true_methylated = std::count_if(calls_.begin(), calls_.end(), [](const methylation_accuracy::Call& c) { return c.methylated; });
    const double auc = area_under_curve(calls_);
    // NaN is not JSON.
    const auto number = [](double value) { return std::isnan(value) ? std::string("null") : fmt::format("{:.6f}", value); };
    const double share_right = static_cast<double>(right_) / static_cast<double>(confident_);  // of none: 0 / 0, not a number
    file_.write(fmt::format(
        "{{\n  \"reads\": {},\n  \"reads_without_truth\": {},\n  \"groups\": {},\n  \"single_site_calls\": {},\n  \"of_these_methylated\": {},\n"
        "  \"calls_without_truth\": {},\n  \"auc\": {},\n  \"call_threshold\": {},\n  \"confident_calls\": {},\n  \"confident_calls_right\": {},\n"
        "  \"minimum_reads\": {},\n  \"sites\": {},\n  \"frequency_correlation\": {},\n  \"frequency_rmse\": {}\n}}\n",
        reads_, reads_without_truth_, groups_, calls_.size(), true_methylated, calls_without_truth_, number(auc), parameters_.call_threshold,
        confident_, number(share_right), parameters_.minimum_reads, agreement.sites, number(agreement.correlation), number(agreement.rmse)));
    file_.close();
    call.count("reads_without_truth", static_cast<double>(reads_without_truth_));
    call.count("single_site_calls", static_cast<double>(calls_.size()));
    call.count("sites_compared", static_cast<double>(agreement.sites));
    if (!std::isnan(auc)) call.count("auc", auc);
    if (!std::isnan(agreement.correlation)) call.count("frequency_correlation", agreement.correlation);
    if (!std::isnan(agreement.rmse)) call.count("frequency_rmse", agreement.rmse);
  }
  void save(const sluice::Call&, StateWriter& to) const {
    for (const std::int64_t number : {reads_, reads_without_truth_, groups_, calls_without_truth_, confident_, right_}) to.value(number);
    save_rows(to, calls_, &methylation_accuracy::Call::log_lik_ratio, &methylation_accuracy::Call::methylated);
    to.value(std::uint64_t{sites_.size()});
    for (const auto& [contig, sites] : sites_) {
      to.text(contig);
      to.value(std::uint64_t{sites.size()});
      for (const auto& [position, site] : sites) {
        to.value(position);
        to.value(site);
      }
    }
  }

 private:
  struct Site {
    std::int64_t calls = 0, methylated = 0;
  };
  using Sites = std::map<std::int64_t, Site>;

  void restore(StateReader& from) {
    for (std::int64_t* number : {&reads_, &reads_without_truth_, &groups_, &calls_without_truth_, &confident_, &right_})
      *number = from.value<std::int64_t>();
    restore_rows(from, calls_, &methylation_accuracy::Call::log_lik_ratio, &methylation_accuracy::Call::methylated);
    for (auto contigs = from.value<std::uint64_t>(); contigs > 0; --contigs) {
      Sites& sites = sites_of(from.text());
      for (auto count = from.value<std::uint64_t>(); count > 0; --count) {
        const auto position = from.value<std::int64_t>();
        sites[position] = from.value<Site>();
      }
    }
  }

  // Null when nothing is known about the read. Valid until the next call.
  const ReadTruth* truth_of(std::string_view read_id, std::string_view contig, Strand strand, std::int64_t anchor) {
    const std::string id(read_id);
    if (!is_fasta_) {
      const auto found = truths_.find(id);
      return found != truths_.end() ? &found->second : nullptr;
    }
    const auto molecule = molecules_.find(id);
    const auto reference = contigs_.find(contig);
    if (molecule == molecules_.end() || reference == contigs_.end()) return nullptr;
    return locate_molecule(molecule->second, strand, reference->second, anchor, located_) ? &located_ : nullptr;
  }
  Sites& sites_of(std::string_view contig) {
    const auto found = sites_.find(contig);
    return found != sites_.end() ? found->second : sites_.emplace(contig, Sites{}).first->second;
  }

  Parameters parameters_;
  OutputFile file_;
  bool is_fasta_ = false;
  SiteFrequencies frequencies_;
  ReadTruths truths_;
  Molecules molecules_;
  std::map<std::string, std::string_view, std::less<>> contigs_;
  ReadTruth located_;
  std::map<std::string, Sites, std::less<>> sites_;
  std::vector<methylation_accuracy::Call> calls_;
  std::int64_t reads_ = 0, reads_without_truth_ = 0, groups_ = 0, calls_without_truth_ = 0, confident_ = 0, right_ = 0;
};

}  // namespace
}  // namespace sluice::methylation_accuracy

SLUICE_PLUGIN("methylation_accuracy", "0.1.0", "MIT", sluice::methylation_accuracy::MethylationAccuracy);
