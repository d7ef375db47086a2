// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cstdint>
#include <sluice/arrow/known_tables.hpp>
#include <sluice/arrow/table_output.hpp>
#include <sluice/file_joining.hpp>
#include <sluice/hts/join_text.hpp>
#include <sluice/result_figures.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "resquiggle_writer/signal_path.hpp"
#include "resquiggle_writer/squiggle_figure.hpp"

namespace sluice::resquiggle_writer {
namespace {

// The tags sc and sh of f5c 1.6: those of the first read of its batch, for every read of it. Reads come in the order of the file.
class BatchScaling {
 public:
  // The next read; tags: "" if it failed. What its line says.
  std::string_view next(std::size_t bases, std::string_view tags) {
    if (reads_ == most_reads || bases_ >= most_bases) *this = {};
    ++reads_;
    bases_ += bases;
    if (tags_.empty()) tags_ = tags;
    return tags_;
  }
  void save(StateWriter& to) const {
    to.value(reads_);
    to.value(bases_);
    to.text(tags_);
  }
  void restore(StateReader& from) {
    reads_ = from.value<std::size_t>();
    bases_ = from.value<std::size_t>();
    tags_ = from.text();
  }

 private:
  static constexpr std::size_t most_reads = 512, most_bases = 5'000'000;  // f5c's -K and -B
  std::size_t reads_ = 0, bases_ = 0;
  std::string tags_;
};

constexpr Figure placed_share{0, FigureKind::share, "k-mers with events", "k-mer", "k-mers of the reads that samples belong to, of all of them"};
constexpr Figure mean_dwell{1, FigureKind::mean, "samples of a k-mer", "", "in the mean of k-mers with events"};
constexpr Figure dwell_histogram{2, FigureKind::histogram, "samples of each k-mer", "",
                                 "k-mers with events by their samples; the last class holds all above"};

constexpr Figure squiggles{3, FigureKind::squiggles, "squiggles of three reads", "pA",
                           "samples from the middle of the first reads, and over them their k-mers, each as high as the mean of its samples"};
constexpr std::uint32_t most_squiggles = 3;

class EventColumns {
 public:
  explicit EventColumns(const Batch& in)
      : start_(in.list<std::int32_t>("event_start")),
        length_(in.list<std::int32_t>("event_length")),
        first_(in.list<std::int32_t>("first_event")),
        last_(in.list<std::int32_t>("last_event")) {
    if (in.has("signal_begin")) begin_ = in.column<std::int64_t>("signal_begin");
  }
  AlignedEvents of(std::int64_t row) const {
    return {start_[row], length_[row], first_[row], last_[row], begin_.empty() ? 0 : begin_[static_cast<std::size_t>(row)]};
  }

 private:
  ListView<std::int32_t> start_, length_, first_, last_;
  std::span<const std::int64_t> begin_;
};

// Sink: which samples belong to which k-mer of the read.
class ResquiggleWriter : public hts::JoinsText<> {
 public:
  struct Parameters {
    Path output;
    std::string format = "tsv";
    std::string compat = "none";
  };

  static void describe(Describe<ResquiggleWriter>& d) {
    d.id("resquiggle_writer").summary("writes which samples of the signal belong to which k-mer of the read, as f5c resquiggle");
    d.doc(
        "tsv: one line per k-mer: read_id, kmer_idx, start_raw_idx, end_raw_idx (end is one past the last sample; \".\" where the k-mer has no "
        "event). "
        "paf: one line per read, the signal against the read's k-mers, with the tags sc and sh (scale, shift) and ss, the samples of each k-mer in "
        "order of time: \"12,\" twelve samples, \"2D\" two k-mers without any. Of direct RNA the k-mers descend in time, so column 8 is larger than "
        "column 9. The bytes are those of f5c 1.6, except sc and sh, which are the read's own; see compat.");
    d.sink("read").work_unit("row").concatenates();
    d.needs("read_id", "utf8", "name of the read").needs("bases", "utf8", "the whole read in sequencing orientation");
    d.needs("sample_count", "i64", "samples of the whole read of the sequencer");
    d.needs("signal_begin", "i64", "sample of that read that event_start counts from", Needed::optional);
    d.needs("event_start", "list<i32>", "first sample of each event").needs("event_length", "list<i32>", "samples of each event");
    d.needs("first_event", "list<i32>", "first event of each k-mer of the read, -1: none");
    d.needs("last_event", "list<i32>", "last event of each k-mer of the read, -1: none");
    d.needs("shift", "f32", "pA").needs("scale", "f32", "pA per model unit");
    d.needs("raw_signal", "list<i16>", "samples that event_start counts from, for the report", Needed::optional);
    d.needs("digitisation", "f64", "number of raw levels, for the report", Needed::optional);
    d.needs("range", "f64", "pA, for the report", Needed::optional).needs("offset", "f64", "raw units, for the report", Needed::optional);
    d.option("output", &Parameters::output, "where to write; .gz: BGZF; .zst: zstd; .arrow: Arrow IPC; .parquet: Parquet; - is standard output")
        .required()
        .writes();
    d.option("format", &Parameters::format, "a line per k-mer, or a line per read").choices({"tsv", "paf"});
    d.option("compat", &Parameters::compat, "f5c: sc and sh of a PAF are those of the first read of f5c's batch (512 reads or 5 Mbases)")
        .choices({"none", "f5c"});
  }

  ResquiggleWriter(const Setup& setup, const Parameters& p)
      : is_table_(p.format == "tsv"), shares_scaling_(!is_table_ && p.compat == "f5c"), file_(setup, p.output, schema_of(is_table_)) {
    if (is_table_) file_.header(table_header());
    if (shares_scaling_ && setup.parts() > 1)
      throw Failure::usage("compat = f5c counts batches from the first read of the input, and this run has a part of it", "leave compat out");
    resume(setup, [this](StateReader& from) {
      file_.restore(from);
      scaling_.restore(from);
      shown_ = from.value<std::uint32_t>();
    });
  }

  void process(const Call& call, const Batch& in, Output& out) const {
    const TextView read_ids = in.text("read_id");
    const auto sample_count = in.column<std::int64_t>("sample_count");
    const auto shift = in.column<float>("shift"), scale = in.column<float>("scale");
    const EventColumns columns(in);
    // A line in three parts, of which the second may come from another read.
    std::string heads, tags, paths;
    DwellCounts dwells;
    std::vector<std::size_t> head_bytes(static_cast<std::size_t>(in.rows())), tag_bytes = head_bytes, path_bytes = head_bytes;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      const auto r = static_cast<std::size_t>(row);
      const AlignedEvents events = columns.of(row);
      if (const std::string_view problem = problem_with(events); !problem.empty())
        throw Failure::input("read '" + std::string(read_ids[row]) + "': " + std::string(problem), "this is a bug in a stage before this one");
      count_dwells(events, dwells);
      const std::size_t before[] = {heads.size(), tags.size(), paths.size()};
      if (is_table_) {
        append_table(heads, read_ids[row], events);
      } else {
        append_paf_columns(heads, read_ids[row], sample_count[r], events);
        std::string& own_tags = shares_scaling_ ? tags : heads;
        append_scaling_tags(own_tags, scale[r], shift[r]);
        append_path_tag(shares_scaling_ ? paths : heads, events);
      }
      head_bytes[r] = heads.size() - before[0];
      tag_bytes[r] = tags.size() - before[1];
      path_bytes[r] = paths.size() - before[2];
    }
    give_figures(call, dwells);
    give(out, "_lines", head_bytes, heads);
    if (!shares_scaling_) return;
    give(out, "_tags", tag_bytes, tags);
    give(out, "_paths", path_bytes, paths);
  }

  void commit(const Call& call, const Batch& in) {
    std::uint64_t written = 0;
    for (std::int64_t row = 0; row < in.rows(); ++row) written += in.ok(row) ? 1 : 0;
    if (shares_scaling_)
      file_.write(call, lines_with_shared_scaling(in));
    else
      file_.write_rows(call, in.text("_lines"));
    give_squiggles(call, in);
    call.count("reads written", static_cast<double>(written));
    call.outcome("written", written, static_cast<std::uint64_t>(in.rows()));
  }

  void finish(const Call& call, Output&) {
    file_.finish(call);
    ResultFigures figures;
    for (const Figure& figure : {placed_share, mean_dwell, dwell_histogram, squiggles}) figures.describe(figure);
    figures.give(call);
  }
  void save(const Call& call, StateWriter& to) {
    file_.save(call, to);
    scaling_.save(to);
    to.value(shown_);
  }

 private:
  static arrow::TableSchema schema_of(bool is_table) {
    if (!is_table) return arrow::paf_schema({arrow::tag_column("sc", "f32"), arrow::tag_column("sh", "f32"), arrow::tag_column("ss", "utf8")});
    arrow::TableSchema schema = arrow::table_schema(table_header(), {"utf8", "i64", "i64", "i64"});
    for (const std::size_t sample : {2, 3}) schema[sample].missing = ".";
    return schema;
  }
  static void give_figures(const Call& call, const DwellCounts& dwells) {
    ResultFigures figures;
    figures.add_share(placed_share, dwells.with_events, dwells.kmers);
    figures.add_mean(mean_dwell, dwells.samples, dwells.with_events);
    for (std::size_t i = 0; i < dwells.of_samples.size(); ++i)
      if (dwells.of_samples[i] > 0) figures.add_class(dwell_histogram, static_cast<std::int64_t>(i), dwells.of_samples[i]);
    figures.give(call);
  }
  void give_squiggles(const Call& call, const Batch& in) {
    for (const char* column : {"raw_signal", "digitisation", "range", "offset"})
      if (shown_ == most_squiggles || !in.has(column)) return;
    const EventColumns columns(in);
    const TextView read_ids = in.text("read_id"), bases = in.text("bases");
    const auto signal = in.list<std::int16_t>("raw_signal");
    const auto digitisation = in.column<double>("digitisation"), range = in.column<double>("range"), offset = in.column<double>("offset");
    for (std::int64_t row = 0; row < in.rows() && shown_ < most_squiggles; ++row) {
      if (!in.ok(row)) continue;
      const auto r = static_cast<std::size_t>(row);
      const auto squiggle = squiggle_of(read_ids[row], bases[row], columns.of(row), {signal[row], offset[r], range[r], digitisation[r]});
      if (!squiggle) continue;
      ResultFigures figures;
      figures.add_squiggle(squiggles, shown_++, *squiggle);
      figures.give(call);
    }
  }
  static void give(Output& out, const char* column, const std::vector<std::size_t>& bytes, const std::string& text) {
    const Buffer ends = out.offsets([&](std::int64_t row) { return bytes[static_cast<std::size_t>(row)]; });
    std::copy(text.begin(), text.end(), out.text(column, ends).begin());
  }
  std::string lines_with_shared_scaling(const Batch& in) {
    const TextView bases = in.text("bases"), heads = in.text("_lines"), tags = in.text("_tags"), paths = in.text("_paths");
    std::string lines;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      const std::string_view shared = scaling_.next(bases[row].size(), tags[row]);
      if (!in.ok(row)) continue;
      for (const std::string_view part : {heads[row], shared, paths[row]}) lines += part;
    }
    return lines;
  }

  bool is_table_, shares_scaling_;
  arrow::TableOutput file_;
  BatchScaling scaling_;
  std::uint32_t shown_ = 0;  // reads whose squiggles the report has
};

}  // namespace
}  // namespace sluice::resquiggle_writer

SLUICE_PLUGIN_WITH(sluice::file_joining<sluice::resquiggle_writer::ResquiggleWriter>, "resquiggle_writer", "0.1.0", "MIT",
                   sluice::resquiggle_writer::ResquiggleWriter);
