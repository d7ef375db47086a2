// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <sluice/hts/region_file.hpp>
#include <sluice/stage.hpp>

#include "target_regions/regions.hpp"

namespace sluice::target_regions {
namespace {

// Cuts the targets out of a reference.
class TargetRegions {
 public:
  struct Parameters {
    std::optional<Path> path;
    std::int64_t flank = 0;
  };
  static void describe(Describe<TargetRegions>& d) {
    d.id("target_regions").summary("cuts the regions of a BED file or a table out of reference sequences").resource("contig");
    d.doc(
        "One row per region, in the order of the reference. A line of the table is a contig, or contig, start and end (0-based, end exclusive), with "
        "tabs or commas between them; a fourth column is a strand (+ or -: reads of that strand only) or a name, as in BED, whose sixth column is "
        "the "
        "strand. Regions of one name and strand that touch or overlap are one. Without a table each contig is a region.");
    d.uses("reference", "contig", "the sequences that the regions lie on");
    d.option("path", &Parameters::path, "BED file or table of contigs and regions; .gz allowed; left out: all contigs").reads();
    d.option("flank", &Parameters::flank, "regions are so much longer at both ends").range(0, 1e9).unit("bases");
    d.gives("name", "utf8", "name of the contig").gives("bases", "utf8", "the region's bases");
    d.gives("label", "utf8", "name of the region, without one the contig's");
    d.gives("region_start", "i64", "the region's first base on the contig, 0-based");
    d.gives("region_strand", "u8", "reads that are targets: 0 of both strands, 1 forward, 2 reverse");
    d.work_unit("base");
  }
  TargetRegions(const Setup& setup, const Parameters& p)
      : reference_(setup.resource("reference")), path_(p.path ? std::string(*p.path) : ""), flank_(p.flank) {}

  void process(const Call& call, Output& out) const {
    const TextView names = reference_.text("name"), bases = reference_.text("bases");
    std::vector<Contig> contigs;
    std::unordered_map<std::string_view, std::int64_t> row_of;
    for (std::int64_t row = 0; row < reference_.rows(); ++row) {
      contigs.push_back({names[row], static_cast<std::int64_t>(bases[row].size())});
      row_of.emplace(names[row], row);
    }
    const std::vector<TargetRegion> regions = placed(call, contigs);
    out.set_rows(std::ssize(regions));
    std::vector<std::string_view> contig, label, pieces;
    for (const TargetRegion& region : regions) {
      contig.push_back(region.contig), label.push_back(region.label);
      pieces.push_back(
          bases[row_of.at(region.contig)].substr(static_cast<std::size_t>(region.start), static_cast<std::size_t>(region.end - region.start)));
    }
    out.text_rows("name", contig), out.text_rows("label", label), out.text_rows("bases", pieces);
    const auto start = out.column<std::int64_t>("region_start");
    const auto strand = out.column<std::uint8_t>("region_strand");
    double all = 0;
    for (std::size_t i = 0; i < regions.size(); ++i) {
      start[i] = regions[i].start;
      strand[i] = static_cast<std::uint8_t>(regions[i].strand);
      all += static_cast<double>(pieces[i].size());
    }
    out.set_attribute("path", path_.empty() ? std::string(reference_.attribute("path")) : path_);
    if (!path_.empty())
      call.info(std::to_string(regions.size()) + " regions of '" + path_ + "' with " + std::to_string(static_cast<std::int64_t>(all)) + " bases");
  }

 private:
  std::vector<TargetRegion> placed(const Call& call, const std::vector<Contig>& contigs) const {
    std::vector<TargetRegion> regions;
    if (path_.empty()) {
      for (const Contig& contig : contigs) regions.push_back({std::string(contig.name), std::string(contig.name), 0, contig.size, Strand::both});
      return regions;
    }
    regions = hts::read_region_table(call, path_);
    std::string problem;
    if (!place_regions(contigs, regions, flank_, problem))
      throw Failure::input("regions '" + path_ + "': " + problem, "give the reference that the regions were made for");
    return regions;
  }

  Batch reference_;
  std::string path_;
  std::int64_t flank_;
};

}  // namespace
}  // namespace sluice::target_regions

SLUICE_PLUGIN("target_regions", "0.1.0", "MIT", sluice::target_regions::TargetRegions);
