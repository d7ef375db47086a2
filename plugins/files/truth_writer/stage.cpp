// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <sluice/arrow/table_output.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::truth_writer {
namespace {

enum class Reason { lists_differ };

class TruthWriter {
 public:
  struct Parameters {
    Path output;
    std::optional<Path> reads_output;
  };

  static void describe(Describe<TruthWriter>& d) {
    d.id("truth_writer")
        .sink("read")  // the counts of a site are of all reads: tables of parts can't be put one behind the other
        .summary("writes the methylation truth of simulated reads: a table of sites, and one of sites per read")
        .doc(
            "OUTPUT: `contig position frequency reads methylated_reads`, sorted by contig (byte order) and position; position is the 0-based C of "
            "the forward strand, frequency "
            "the set share of methylated molecules, the other two what the reads really have. READS_OUTPUT: `contig position strand read_id "
            "methylated`, in the order of the reads. "
            "Names that end with .gz make BGZF, .arrow Arrow IPC, .parquet Parquet. Memory: about 80 bytes a site.")
        .work_unit("row");
    d.needs("read_id", "utf8", "identifier")
        .needs("contig", "utf8", "reference name")
        .needs("is_reverse", "u8", "1: the read is of the reverse strand")
        .needs("truth_site", "list<i64>", "CpGs of the molecule")
        .needs("truth_methylated", "list<u8>", "per truth_site: 1 if methylated")
        .needs("truth_frequency", "list<f32>", "per truth_site: share of all molecules");
    d.option("output", &Parameters::output, "table of sites to write; - is standard output").required().writes();
    d.option("reads_output", &Parameters::reads_output, "table of sites per read to write").writes();
    d.reason("lists_differ", "the read's truth columns have different lengths");
  }

  TruthWriter(const Setup& setup, const Parameters& parameters)
      : file_(setup, parameters.output, arrow::table_schema(sites_header, {"utf8", "i64", "f32", "i64", "i64"})) {
    file_.header(sites_header);
    if (parameters.reads_output) {
      reads_file_.emplace(setup, *parameters.reads_output, arrow::table_schema(reads_header, {"utf8", "i64", "utf8", "utf8", "i64"}));
      reads_file_->header(reads_header);
    }
    resume(setup, [this](StateReader& from) { restore(from); });
  }

  void process(const Call&, const Batch& in, Output& out) const {
    const auto sites = in.list<std::int64_t>("truth_site");
    const auto methylated = in.list<std::uint8_t>("truth_methylated");
    const auto frequencies = in.list<float>("truth_frequency");
    const TextView ids = in.text("read_id"), contigs = in.text("contig");
    const auto reverse = in.column<std::uint8_t>("is_reverse");
    std::string text;
    std::vector<std::size_t> sizes(static_cast<std::size_t>(in.rows()));
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      if (sites[row].size() != methylated[row].size() || sites[row].size() != frequencies[row].size()) {
        out.fail(row, Reason::lists_differ);
        continue;
      }
      if (!reads_file_) continue;
      const std::size_t before = text.size();
      const char strand = reverse[static_cast<std::size_t>(row)] != 0 ? '-' : '+';
      for (std::size_t i = 0; i < sites[row].size(); ++i)
        fmt::format_to(std::back_inserter(text), "{}\t{}\t{}\t{}\t{}\n", contigs[row], sites[row][i], strand, ids[row],
                       methylated[row][i] != 0 ? 1 : 0);
      sizes[static_cast<std::size_t>(row)] = text.size() - before;
    }
    const Buffer ends = out.offsets([&](std::int64_t row) { return sizes[static_cast<std::size_t>(row)]; });
    const std::span<char> bytes = out.text("_text", ends);
    std::copy(text.begin(), text.end(), bytes.begin());
  }

  void commit(const Call& call, const Batch& in) {
    std::uint64_t written = 0;
    const auto sites = in.list<std::int64_t>("truth_site");
    const auto methylated = in.list<std::uint8_t>("truth_methylated");
    const auto frequencies = in.list<float>("truth_frequency");
    const TextView contigs = in.text("contig");
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      ++written;
      auto& table = sites_of(contigs[row]);
      for (std::size_t i = 0; i < sites[row].size(); ++i) {
        Site& site = table[sites[row][i]];
        site.frequency = frequencies[row][i];
        ++site.reads;
        site.methylated_reads += methylated[row][i] != 0 ? 1 : 0;
      }
    }
    if (reads_file_) reads_file_->write_rows(call, in.text("_text"));
    call.outcome("written", written, static_cast<std::uint64_t>(in.rows()));
  }

  void finish(const Call& call, Output&) {
    std::string text;
    for (const auto& [contig, table] : contigs_) {
      for (const auto& [position, site] : table) {
        fmt::format_to(std::back_inserter(text), "{}\t{}\t{:.3f}\t{}\t{}\n", contig, position, site.frequency, site.reads, site.methylated_reads);
        if (text.size() < std::size_t{1} << 20U) continue;
        file_.write(call, text);
        text.clear();
      }
    }
    file_.write(call, text);
    file_.finish(call);
    if (reads_file_) reads_file_->finish(call);
  }
  void save(const Call& call, StateWriter& to) {
    file_.save(call, to);
    if (reads_file_) reads_file_->save(call, to);
    to.value(contigs_.size());
    for (const auto& [contig, table] : contigs_) {
      to.text(contig);
      std::vector<PlacedSite> sites;
      sites.reserve(table.size());
      for (const auto& [position, site] : table) sites.push_back({position, site});
      to.values(sites);
    }
  }

 private:
  static constexpr std::string_view sites_header = "contig\tposition\tfrequency\treads\tmethylated_reads\n";
  static constexpr std::string_view reads_header = "contig\tposition\tstrand\tread_id\tmethylated\n";
  struct Site {
    double frequency = 0;  // of a float; as wide as the counts, so that equal tables are equal bytes
    std::int64_t reads = 0, methylated_reads = 0;
  };
  struct PlacedSite {
    std::int64_t position;
    Site site;
  };
  using Sites = std::map<std::int64_t, Site>;
  void restore(StateReader& from) {
    file_.restore(from);
    if (reads_file_) reads_file_->restore(from);
    const auto contigs = from.value<std::size_t>();
    for (std::size_t i = 0; i < contigs; ++i) {
      Sites& table = sites_of(from.text());
      for (const auto& [position, site] : from.values<PlacedSite>()) table.emplace_hint(table.end(), position, site);
    }
  }
  Sites& sites_of(std::string_view contig) {
    const auto found = contigs_.find(contig);
    return found != contigs_.end() ? found->second : contigs_.emplace(contig, Sites{}).first->second;
  }

  arrow::TableOutput file_;
  std::optional<arrow::TableOutput> reads_file_;
  std::map<std::string, Sites, std::less<>> contigs_;
};

}  // namespace
}  // namespace sluice::truth_writer

SLUICE_PLUGIN("truth_writer", "0.1.0", "MIT", sluice::truth_writer::TruthWriter);
