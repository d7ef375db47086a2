// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <sluice/arrow/indexed_table.hpp>
#include <sluice/arrow/known_tables.hpp>
#include <sluice/file_joining.hpp>
#include <sluice/hts/join_indexed_text.hpp>
#include <sluice/region.hpp>
#include <sluice/result_figures.hpp>
#include <sluice/resume.hpp>
#include <sluice/sequence_windows.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::bedmethyl_writer {
namespace {

// Appends fields, each with a tab behind it.
class Line {
 public:
  explicit Line(std::string& text) : text_(&text) {}
  Line& add(std::string_view field) {
    text_->append(field).push_back('\t');
    return *this;
  }
  Line& add(std::int64_t number) {
    char digits[20];
    return add({digits, static_cast<std::size_t>(std::to_chars(digits, std::end(digits), number).ptr - digits)});
  }
  Line& add_percent(double percent) {
    if (percent == 0) return add("0.00");
    if (percent == 100) return add("100.00");
    char digits[32];
    return add({digits, static_cast<std::size_t>(std::to_chars(digits, std::end(digits), percent, std::chars_format::fixed, 2).ptr - digits)});
  }

 private:
  std::string* text_;
};

constexpr Figure modified_share{0, FigureKind::share, "modified", "", "modified reads of the valid ones, over all rows"};
constexpr Figure mean_coverage{1, FigureKind::mean, "coverage of rows", "",
                               "valid reads of a row in the mean: modified, canonical, or modified otherwise"};
constexpr Figure by_modification{2, FigureKind::shares, "modified, by modification", "modified reads",
                                 "of the valid reads at the rows of each modification"};
constexpr Figure along{3, FigureKind::along, "modified along the region", "%", "modified reads of the valid ones"};
constexpr Figure share_histogram{
    4, FigureKind::histogram, "share modified in rows", "%", "rows with valid reads by the share of them that is modified", 5};
constexpr Figure coverage_histogram{5, FigureKind::histogram, "coverage of each row", "",
                                    "rows by their valid reads; the last class holds all above"};
constexpr std::int64_t most_coverage = 200;

// What a run found, for its report.
class SiteFigures {
 public:
  explicit SiteFigures(const std::string& region) : region_(RegionText(region).name()) {
    if (region.empty()) return;
    const Interval interval = RegionText(region).interval();
    windows_.emplace(std::vector<std::string_view>{region_}, std::vector<std::int64_t>{interval.end}, 0, interval.begin, interval.end);
  }
  SiteFigures(const SiteFigures&) = delete;  // the windows look at its name

  static void check(const std::string& region) {
    const RegionText parsed(region);
    constexpr std::int64_t furthest = std::int64_t{1} << 40;  // beyond any contig
    if (!region.empty() && (parsed.name().empty() || parsed.interval().end > furthest))
      throw Failure::usage("report_region '" + region + "' does not say where it ends", "write contig:first-last");
  }

  // Behind process(), which has looked at the counts.
  void count(const Call& call, const Batch& in) const {
    const TextView contig = in.text("contig"), modification = in.text("modification");
    const auto position = in.column<std::int64_t>("position"), modified = in.column<std::int64_t>("modified"),
               canonical = in.column<std::int64_t>("canonical"), other = in.column<std::int64_t>("other_modified");
    std::map<std::string_view, Part> of_modification;
    std::vector<std::uint64_t> coverage(most_coverage + 1), shares(21);
    std::vector<Part> of_window(windows_ ? windows_->windows().size() : 0);
    Part all;
    std::uint64_t rows = 0;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      const auto i = static_cast<std::size_t>(row);
      const std::int64_t valid = modified[i] + canonical[i] + other[i];
      const auto add_to = [&](Part& part) {
        part.modified += static_cast<std::uint64_t>(modified[i]), part.valid += static_cast<std::uint64_t>(valid);
      };
      ++rows;
      add_to(all);
      add_to(of_modification[modification[row]]);
      ++coverage[static_cast<std::size_t>(std::min(valid, most_coverage))];
      if (valid == 0) continue;
      constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 20;
      ++shares[static_cast<std::size_t>(valid <= most ? 20 * modified[i] / valid : std::min<std::int64_t>(modified[i] / (valid / 20), 20))];
      if (windows_ && contig[row] == region_)
        windows_->each(0, position[i], position[i] + 1, [&](std::size_t window, std::int64_t) { add_to(of_window[window]); });
    }
    ResultFigures figures;
    figures.add_share(modified_share, all.modified, all.valid);
    figures.add_mean(mean_coverage, all.valid, rows);
    for (const auto& [code, part] : of_modification) figures.add_row_share(by_modification, 0, code, part.modified, part.valid);
    for (std::size_t i = 0; i < coverage.size(); ++i)
      if (coverage[i] > 0) figures.add_class(coverage_histogram, static_cast<std::int64_t>(i), coverage[i]);
    for (std::size_t i = 0; i < shares.size(); ++i)
      if (shares[i] > 0) figures.add_class(share_histogram, static_cast<std::int64_t>(i), shares[i]);
    for (std::size_t i = 0; i < of_window.size(); ++i)
      if (of_window[i].valid > 0) figures.add_window(along, windows_->windows()[i], of_window[i].modified, of_window[i].valid);
    figures.give(call);
  }
  void describe(const Call& call) const {
    ResultFigures figures;
    for (const Figure& figure : {modified_share, mean_coverage, by_modification, share_histogram, coverage_histogram}) figures.describe(figure);
    if (windows_) {
      figures.describe(along);
      for (const FigureWindow& window : windows_->windows()) figures.add_window(along, window, 0, 0);
    }
    figures.give(call);
  }

 private:
  struct Part {
    std::uint64_t modified = 0, valid = 0;
  };
  std::string region_;  // its contig
  std::optional<SequenceWindows> windows_;
};

// Sink: counts of base modifications as bedMethyl, in the order in which they come.
class BedMethylWriter : public hts::JoinsIndexedText<hts::bed_columns> {
 public:
  struct Parameters {
    Path output;
    bool partitions = false;
    std::string report_region;
  };
  static void describe(Describe<BedMethylWriter>& d) {
    d.id("bedmethyl_writer").summary("writes counts of base modifications as bedMethyl");
    d.doc(
        "18 tab-separated columns without header, as modkit pileup has them: contig, position, position + 1, modification, valid coverage, strand, "
        "the positions again, 255,0,0, valid coverage, percent modified, then reads: modified, canonical, other modification, deletion, failed, "
        "different base, no call. A name that ends with .gz makes BGZF and, of sorted rows, the index of tabix, .zst zstd, .arrow an Arrow IPC "
        "file, .parquet Parquet.");
    d.sink("pileup").work_unit("row").concatenates();
    d.needs("contig", "utf8", "name of the reference sequence").needs("position", "i64", "0-based, on the forward strand");
    d.needs("strand", "utf8", "+, - or .").needs("modification", "utf8", "its code");
    for (const char* name : counts) d.needs(name, "i64", "reads, see modification_pileup");
    d.needs("partition", "utf8", "which reads were counted", Needed::optional);
    d.option("output", &Parameters::output, "file to write; .gz: BGZF; .zst: zstd; .arrow: Arrow IPC; .parquet: Parquet; - is standard output")
        .required()
        .writes()
        .beside(".tbi")
        .beside(".csi");
    d.option("partitions", &Parameters::partitions, "a 19th column: which reads were counted");
    d.option("report_region", &Parameters::report_region, "report: show how much is modified along this region, contig:first-last, too");
  }

  static void check_parameters(const Parameters& p) { SiteFigures::check(p.report_region); }

  BedMethylWriter(const Setup& setup, const Parameters& parameters)
      : partitions_(parameters.partitions),
        figures_(parameters.report_region),
        file_(setup, parameters.output, schema_of(parameters.partitions), hts::bed_columns) {
    if (partitions_ && !setup.available("partition")) throw Failure::usage("there are no partitions to write", "leave partitions out");
    resume(setup, [this](StateReader& from) { file_.restore(from); });
  }

  void process(const Call& call, const Batch& in, Output& out) const {
    const Columns columns(in, partitions_);
    constexpr std::size_t rows_at_once = 1024;
    const auto rows = static_cast<std::size_t>(in.rows());
    std::vector<std::string> texts((rows + rows_at_once - 1) / rows_at_once);
    std::vector<std::size_t> sizes(rows);
    call.parallel_for(texts.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t part = begin; part < end; ++part)
        for (std::size_t row = part * rows_at_once; row < std::min(rows, (part + 1) * rows_at_once); ++row) {
          const std::size_t before = texts[part].size();
          if (in.ok(static_cast<std::int64_t>(row))) columns.append_line(static_cast<std::int64_t>(row), texts[part]);
          sizes[row] = texts[part].size() - before;
        }
    });
    const std::span<char> lines = out.text("_lines", out.offsets([&](std::int64_t row) { return sizes[static_cast<std::size_t>(row)]; }));
    auto at = lines.begin();
    for (const std::string& text : texts) at = std::copy(text.begin(), text.end(), at);
    figures_.count(call, in);
  }

  void commit(const Call& call, const Batch& in) {
    file_.write_rows(call, in.text("_lines"));
    std::uint64_t written = 0;
    for (std::int64_t row = 0; row < in.rows(); ++row) written += in.ok(row) ? 1 : 0;
    call.outcome("written", written, static_cast<std::uint64_t>(in.rows()));
  }

  void finish(const Call& call, Output&) {
    file_.finish(call);
    figures_.describe(call);
  }
  void save(const Call& call, StateWriter& to) { file_.save(call, to); }

 private:
  static constexpr const char* counts[] = {"modified", "canonical", "other_modified", "deleted", "failed", "different", "no_call"};

  class Columns {
   public:
    Columns(const Batch& in, bool partitions)
        : contig_(in.text("contig")),
          strand_(in.text("strand")),
          modification_(in.text("modification")),
          partition_(in.text(partitions ? "partition" : "contig")),
          position_(in.column<std::int64_t>("position")),
          partitions_(partitions) {
      for (std::size_t i = 0; i < std::size(counts); ++i) counts_[i] = in.column<std::int64_t>(counts[i]);
    }
    // Throws Failure::input for counts that can't be.
    void append_line(std::int64_t row, std::string& text) const {
      const auto i = static_cast<std::size_t>(row);
      const auto count = [&](std::size_t which) { return counts_[which][i]; };
      constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 4;
      const std::int64_t position = position_[i];
      bool possible = position >= 0 && position < most;
      for (std::size_t which = 0; which < std::size(counts); ++which) possible = possible && count(which) >= 0 && count(which) < most;
      if (!possible)
        throw Failure::input("site " + std::string(contig_[row]) + ":" + std::to_string(position) + ": a position or counts that can't be",
                             "use the rows of modification_pileup");
      const std::int64_t valid = count(0) + count(1) + count(2);
      const double percent = valid > 0 ? 100.0 * static_cast<double>(count(0)) / static_cast<double>(valid) : 0.0;
      Line line(text);
      line.add(contig_[row]).add(position).add(position + 1).add(modification_[row]).add(valid).add(strand_[row]).add(position).add(position + 1);
      line.add("255,0,0").add(valid).add_percent(percent);
      for (std::size_t which = 0; which < std::size(counts); ++which) line.add(count(which));
      if (partitions_) line.add(partition_[row]);
      text.back() = '\n';
    }

   private:
    TextView contig_, strand_, modification_, partition_;
    std::span<const std::int64_t> position_;
    std::span<const std::int64_t> counts_[std::size(counts)];
    bool partitions_;
  };

  static arrow::TableSchema schema_of(bool partitions) {
    arrow::TableSchema schema = arrow::bed_methyl_schema();
    if (partitions) schema.push_back({.name = "partition", .type = "utf8"});
    return schema;
  }

  bool partitions_;
  SiteFigures figures_;
  arrow::IndexedTable file_;
};

}  // namespace
}  // namespace sluice::bedmethyl_writer

SLUICE_PLUGIN_WITH(sluice::file_joining<sluice::bedmethyl_writer::BedMethylWriter>, "bedmethyl_writer", "0.1.0", "MIT",
                   sluice::bedmethyl_writer::BedMethylWriter);
