// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <sluice/arrow/table_output.hpp>
#include <sluice/calibration.hpp>
#include <sluice/file_joining.hpp>
#include <sluice/hts/join_text.hpp>
#include <sluice/resume.hpp>
#include <sluice/sequence/mean_quality.hpp>
#include <sluice/stage.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::summary_writer {
namespace {

// Sink: a line per read, with the columns of a basecaller's sequencing_summary.txt that programs for quality control read.
class SummaryWriter : public hts::JoinsText<> {
 public:
  enum class Reason : std::uint32_t { quality_length, bad_calibration };
  struct Parameters {
    Path output;
    double min_qscore = 7;
  };

  static void describe(Describe<SummaryWriter>& d) {
    d.id("sequencing_summary").sink("read").summary("writes a table like the sequencing_summary.txt of basecallers, for NanoPlot and pycoQC");
    d.concatenates();
    d.doc(
        "Columns: filename, read_id, run_id, channel, mux, start_time and duration in seconds, passes_filtering (mean quality of at least "
        "min_qscore), template_start, template_duration, sequence_length_template, mean_qscore_template (of the mean probability of an error), "
        "read_number, median_before, end_reason. Where a file does not say channel, mux or start they are 0. Without bases, length and quality are "
        "0; "
        "without qualities, the quality. template_start and template_duration are those of the whole read.");
    d.work_unit("row");
    d.needs("read_id", "utf8", "name of the read").needs("signal_file_name", "utf8", "its file").needs("run_id", "utf8", "its run");
    d.needs("sequencer_channel", "i32", "channel, -1: unknown").needs("mux", "i32", "well, -1: unknown");
    d.needs("start_sample", "i64", "first sample since the run began, -1: unknown").needs("sample_count", "i64", "samples of the read");
    d.needs("sampling_rate", "f64", "Hz");
    d.needs("read_number", "i64", "number on its channel, -1: unknown", Needed::optional);
    d.needs("median_before", "f64", "median current before the read, pA", Needed::optional);
    d.needs("end_reason", "utf8", "why the read ended", Needed::optional);
    d.needs("bases", "utf8", "the read's bases", Needed::optional);
    d.needs("qualities", "utf8", "Phred + 33, as many as bases, or none", Needed::optional);
    d.option("output", &Parameters::output, "the table; .gz: BGZF; .zst: zstd; .arrow: Arrow IPC; .parquet: Parquet; - is standard output")
        .required()
        .writes();
    d.option("min_qscore", &Parameters::min_qscore, "least mean quality of reads that pass").range(0, 93);
    d.reason("quality_length", "the read has another number of qualities than of bases");
    d.reason("bad_calibration", "its sampling rate is missing, or none from 100 to 1000000 Hz");
  }

  SummaryWriter(const Setup& setup, const Parameters& p)
      : min_qscore_(p.min_qscore),
        has_bases_(setup.available("bases")),
        has_qualities_(has_bases_ && setup.available("qualities")),
        file_(setup, p.output, arrow::table_schema(header, types)) {
    file_.header(header);
    resume(setup, [this](StateReader& from) {
      file_.restore(from);
      placeless_ = from.value<std::uint64_t>();
    });
  }

  void process(const Call& call, const Batch& in, Output& out) {
    std::vector<std::string> lines(static_cast<std::size_t>(in.rows()));
    const Columns columns(in, has_bases_, has_qualities_);
    call.parallel_for(lines.size(), 16, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const auto row = static_cast<std::int64_t>(i);
        if (!in.ok(row)) continue;
        const std::size_t qualities = columns.qualities(row).size();
        if (qualities != 0 && qualities != columns.bases(row).size())
          out.fail(row, Reason::quality_length);
        else if (const double rate = columns.rate[i]; !is_sampling_rate(rate))
          out.fail(row, Reason::bad_calibration);
        else
          columns.append_line(row, min_qscore_, lines[i]);
      }
    });
    out.text_rows("_lines", lines);
  }

  void commit(const Call& call, const Batch& in) {
    file_.write_rows(call, in.text("_lines"));
    const auto channels = in.column<std::int32_t>("sequencer_channel");
    const auto starts = in.column<std::int64_t>("start_sample");
    std::uint64_t written = 0, bases = 0;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      ++written;
      if (has_bases_) bases += in.text("bases")[row].size();
      placeless_ += channels[static_cast<std::size_t>(row)] < 1 || starts[static_cast<std::size_t>(row)] < 0 ? 1 : 0;
    }
    call.count("bases", static_cast<double>(bases));
    call.outcome("written", written, static_cast<std::uint64_t>(in.rows()));
  }

  void finish(const Call& call, Output&) {
    if (placeless_ > 0)
      call.warn("the signal files do not say channel or start time of " + std::to_string(placeless_) +
                " reads: they are 0 in the table, and plots over time and channels mean nothing");
    file_.finish(call);
  }
  void save(const Call& call, StateWriter& to) {
    file_.save(call, to);
    to.value(placeless_);
  }

 private:
  static constexpr std::string_view header =
      "filename\tread_id\trun_id\tchannel\tmux\tstart_time\tduration\tpasses_filtering\ttemplate_start\ttemplate_duration\t"
      "sequence_length_template\tmean_qscore_template\tread_number\tmedian_before\tend_reason\n";
  static inline const std::vector<std::string_view> types = {"utf8", "utf8", "utf8", "i64", "i64", "f64", "f64", "utf8",
                                                             "f64",  "f64",  "i64",  "f64", "i64", "f64", "utf8"};

  struct Columns {
    Columns(const Batch& in, bool has_bases, bool has_qualities)
        : read_id(in.text("read_id")),
          file(in.text("signal_file_name")),
          run(in.text("run_id")),
          channel(in.column<std::int32_t>("sequencer_channel")),
          mux(in.column<std::int32_t>("mux")),
          start(in.column<std::int64_t>("start_sample")),
          samples(in.column<std::int64_t>("sample_count")),
          rate(in.column<double>("sampling_rate")) {
      if (in.has("read_number")) read_number = in.column<std::int64_t>("read_number");
      if (in.has("median_before")) median = in.column<double>("median_before");
      if (in.has("end_reason")) end_reason = in.text("end_reason");
      if (has_bases) base_text = in.text("bases");
      if (has_qualities) quality_text = in.text("qualities");
    }
    std::string_view bases(std::int64_t row) const { return base_text ? (*base_text)[row] : std::string_view(); }
    std::string_view qualities(std::int64_t row) const { return quality_text ? (*quality_text)[row] : std::string_view(); }

    void append_line(std::int64_t row, double min_qscore, std::string& line) const {
      const auto i = static_cast<std::size_t>(row);
      const auto known = [](auto value) { return std::max<std::int64_t>(value, 0); };
      const double begin = static_cast<double>(known(start[i])) / rate[i], duration = static_cast<double>(samples[i]) / rate[i];
      const double quality = mean_quality(qualities(row));
      const double before = median.empty() || median[i] != median[i] ? 0 : median[i];
      fmt::format_to(std::back_inserter(line), "{}\t{}\t{}\t{}\t{}\t{:.6f}\t{:.6f}\t{}\t{:.6f}\t{:.6f}\t{}\t{:.6f}\t{}\t{:.6f}\t{}\n", file[row],
                     read_id[row], run[row].empty() ? "unknown" : run[row], known(channel[i]), known(mux[i]), begin, duration,
                     !bases(row).empty() && quality >= min_qscore ? "TRUE" : "FALSE", begin, duration, bases(row).size(), quality,
                     known(read_number.empty() ? 0 : read_number[i]), before,
                     end_reason && !(*end_reason)[row].empty() ? (*end_reason)[row] : "unknown");
    }

    TextView read_id, file, run;
    std::span<const std::int32_t> channel, mux;
    std::span<const std::int64_t> start, samples;
    std::span<const double> rate;
    std::span<const std::int64_t> read_number;
    std::span<const double> median;
    std::optional<TextView> end_reason, base_text, quality_text;
  };

  double min_qscore_;
  bool has_bases_, has_qualities_;
  std::uint64_t placeless_ = 0;  // reads
  arrow::TableOutput file_;
};

}  // namespace
}  // namespace sluice::summary_writer

SLUICE_PLUGIN_WITH(sluice::file_joining<sluice::summary_writer::SummaryWriter>, "summary_writer", "0.1.0", "MIT",
                   sluice::summary_writer::SummaryWriter);
