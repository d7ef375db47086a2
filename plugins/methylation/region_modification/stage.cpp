// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cmath>
#include <limits>
#include <sluice/hts/region_file.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "region_modification/region_sums.hpp"

namespace sluice::region_modification {
namespace {

class RegionModification {
 public:
  struct Parameters {
    Path regions;
  };
  static void describe(Describe<RegionModification>& d) {
    d.id("region_modification").summary("counts of base modifications summed over the regions of a BED file, and samples compared");
    d.doc(
        "A row for each region, modification, partition and sample that has a site there: sites, calls, modified calls and their share, and how the "
        "share "
        "differs from that of the first sample. The p-value is of a likelihood ratio test that takes all calls for independent, which those of one "
        "read "
        "are not: it is for sorting.");
    d.regroup("pileup", "region").rows_named_by("name").work_unit("row");
    d.needs("contig", "utf8", "name of the reference sequence").needs("position", "i64", "0-based, on the forward strand");
    d.needs("strand", "utf8", "+, - or .").needs("modification", "utf8", "its code");
    for (const char* name : {"modified", "canonical", "other_modified"}) d.needs(name, "i64", "reads, see modification_pileup");
    d.needs("partition", "utf8", "which reads were counted", Needed::optional).needs("sample", "utf8", "which sample", Needed::optional);
    d.gives("name", "utf8", "of the region; without one the contig's").gives("contig", "utf8", "reference sequence");
    d.gives("start", "i64", "first position, 0-based").gives("end", "i64", "exclusive; of a whole contig the largest number");
    d.gives("strand", "utf8", "+, - or .");
    d.gives("modification", "utf8", "its code").gives("partition", "utf8", "which reads were counted").gives("sample", "utf8", "which sample");
    d.gives("sites", "i64", "sites with calls").gives("coverage", "i64", "calls that pass").gives("modified", "i64", "of these, of the modification");
    d.gives("share", "f64", "modified / coverage").gives("mean_share", "f64", "mean of the sites' shares");
    d.gives("difference", "f64", "share less that of the first sample; NaN without one");
    d.gives("p_value", "f64", "of the difference by chance; NaN without one");
    d.option("regions", &Parameters::regions, "BED file, or table of contigs and regions; .gz allowed").required().reads();
  }

  RegionModification(const Setup& setup, const Parameters& p)
      : sums_(RegionIndex(hts::read_region_table(setup, p.regions))),
        has_partition_(setup.available("partition")),
        has_sample_(setup.available("sample")) {
    resume(setup, [this](StateReader& from) { restore(from); });
  }

  void process(const Call& call, const Batch& in, Output&) {
    const TextView contig = in.text("contig"), strand = in.text("strand"), modification = in.text("modification");
    const TextView partition = in.text(has_partition_ ? "partition" : "contig"), sample = in.text(has_sample_ ? "sample" : "contig");
    const auto position = in.column<std::int64_t>("position"), modified = in.column<std::int64_t>("modified"),
               canonical = in.column<std::int64_t>("canonical"), other = in.column<std::int64_t>("other_modified");
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      const auto i = static_cast<std::size_t>(row);
      constexpr std::int64_t most = std::int64_t{1} << 40;  // beyond any depth: sums over all sites of a genome are numbers, too
      for (const std::int64_t number : {position[i], modified[i], canonical[i], other[i]})
        if (number < 0 || number > most)
          throw Failure::input("site " + std::string(contig[row]) + ":" + std::to_string(position[i]) + ": a position or counts that can't be",
                               "use the rows of modification_pileup");
      sums_.add({.contig = contig[row],
                 .modification = modification[row],
                 .partition = has_partition_ ? partition[row] : std::string_view(),
                 .sample = has_sample_ ? sample[row] : std::string_view(),
                 .position = position[i],
                 .strand = strand[row].empty() ? '.' : strand[row].front(),
                 .modified = modified[i],
                 .valid = modified[i] + canonical[i] + other[i]});
    }
    call.keeps(std::uint64_t{sums_.sums().size()} * bytes_of_sum);
  }

  void finish(const Call& call, Output& out) {
    const auto& sums = sums_.sums();
    call.outcome("regions with sites", regions_with_sites(), sums_.regions().regions().size());
    warn_of_other_contigs(call);
    if (sums.empty()) return;
    out.set_rows(std::ssize(sums));
    std::vector<std::string_view> texts[6];  // name, contig, strand, modification, partition, sample
    const auto start = out.column<std::int64_t>("start"), end = out.column<std::int64_t>("end"), sites = out.column<std::int64_t>("sites"),
               coverage = out.column<std::int64_t>("coverage"), modified = out.column<std::int64_t>("modified");
    const auto share = out.column<double>("share"), mean = out.column<double>("mean_share"), difference = out.column<double>("difference"),
               chance = out.column<double>("p_value");
    std::size_t i = 0;
    for (const auto& [key, counts] : sums) {
      const auto& [which, modification, partition, sample] = key;
      const TableRegion& region = sums_.regions().regions()[which];
      static constexpr const char* strands[] = {".", "+", "-"};
      const std::string_view cells[] = {region.label, region.contig, strands[static_cast<std::size_t>(region.strand)],
                                        modification, partition,     sums_.samples()[sample]};
      for (std::size_t text = 0; text < std::size(texts); ++text) texts[text].push_back(cells[text]);
      start[i] = region.start, end[i] = region.end;
      sites[i] = counts.sites, coverage[i] = counts.coverage, modified[i] = counts.modified;
      share[i] = counts.share(), mean[i] = counts.mean_share();
      const auto first = sums.find({which, modification, partition, 0});
      const bool is_compared = sample > 0 && first != sums.end();
      difference[i] = is_compared ? counts.share() - first->second.share() : std::numeric_limits<double>::quiet_NaN();
      chance[i] = is_compared ? difference_by_chance(first->second, counts) : std::numeric_limits<double>::quiet_NaN();
      ++i;
    }
    static constexpr const char* names[] = {"name", "contig", "strand", "modification", "partition", "sample"};
    for (std::size_t text = 0; text < std::size(texts); ++text) out.text_rows(names[text], texts[text]);
    out.emit();
  }

  void save(const Call&, StateWriter& to) const {
    to.value(std::uint64_t{sums_.samples().size()});
    for (const std::string& sample : sums_.samples()) to.text(sample);
    to.value(std::uint64_t{sums_.contigs().size()});
    for (const std::string& contig : sums_.contigs()) to.text(contig);
    to.value(std::uint64_t{sums_.sums().size()});
    for (const auto& [key, counts] : sums_.sums()) {
      const auto& [which, modification, partition, sample] = key;
      to.value(std::uint64_t{which});
      to.text(modification);
      to.text(partition);
      to.value(std::uint64_t{sample});
      to.value(counts.sites), to.value(counts.coverage), to.value(counts.modified), to.value(counts.sum_of_shares);
    }
  }

 private:
  static constexpr std::uint64_t bytes_of_sum = 200;

  void restore(StateReader& from) {
    std::vector<std::size_t> samples;
    for (auto count = from.value<std::uint64_t>(); count > 0; --count) samples.push_back(sums_.sample_number(from.text()));
    for (auto count = from.value<std::uint64_t>(); count > 0; --count) sums_.add_contig(from.text());
    for (auto count = from.value<std::uint64_t>(); count > 0; --count) {
      const auto which = from.value<std::uint64_t>();
      std::string modification(from.text()), partition(from.text());
      const auto sample = from.value<std::uint64_t>();
      SiteCounts counts;
      counts.sites = from.value<std::int64_t>(), counts.coverage = from.value<std::int64_t>(), counts.modified = from.value<std::int64_t>();
      counts.sum_of_shares = from.value<double>();
      if (which >= sums_.regions().regions().size() || sample >= samples.size()) throw damaged_state();
      sums_.sums()[{which, std::move(modification), std::move(partition), samples[sample]}].add(counts);
    }
  }
  void warn_of_other_contigs(const Call& call) const {
    const std::vector<TableRegion>& regions = sums_.regions().regions();
    const auto is_elsewhere = [&](const TableRegion& region) { return !sums_.contigs().contains(region.contig); };
    const auto elsewhere = std::count_if(regions.begin(), regions.end(), is_elsewhere);
    if (elsewhere == 0 || sums_.contigs().empty()) return;
    const TableRegion& first = *std::find_if(regions.begin(), regions.end(), is_elsewhere);
    call.warn(std::to_string(elsewhere) + " of " + std::to_string(regions.size()) +
              " regions are on contigs that no site is on, and give nothing: the first is on '" + first.contig + "'; sites are on '" +
              *sums_.contigs().begin() + "'" + (sums_.contigs().size() > 1 ? " and others" : ""));
  }
  std::uint64_t regions_with_sites() const {
    std::uint64_t regions = 0;
    std::size_t latest = sums_.regions().regions().size();
    for (const auto& [key, counts] : sums_.sums())
      if (std::get<0>(key) != std::exchange(latest, std::get<0>(key))) ++regions;
    return regions;
  }

  RegionSums sums_;
  bool has_partition_, has_sample_;
};

}  // namespace
}  // namespace sluice::region_modification

SLUICE_PLUGIN("region_modification", "0.1.0", "MIT", sluice::region_modification::RegionModification);
