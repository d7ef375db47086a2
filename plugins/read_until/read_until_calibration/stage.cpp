// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <sluice/arrow/table_output.hpp>
#include <sluice/input_text.hpp>
#include <sluice/resume.hpp>
#include <sluice/squiggle_reference.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "read_until_calibration/roc_plot.hpp"
#include "read_until_calibration/score_table.hpp"

namespace sluice::read_until_calibration {
namespace {

// Sink: scores of reads with known labels, and in the end the thresholds between them.
class ReadUntilCalibration {
 public:
  struct Parameters {
    std::optional<Path> labels;
    std::string label = "target";
    std::optional<Path> other_scores;
    std::optional<Path> scores;
    std::optional<Path> thresholds;
    std::optional<Path> roc;
    std::optional<Path> plot;
    double early_error = 0.01;
  };

  static void describe(Describe<ReadUntilCalibration>& d) {
    d.id("read_until_calibration").summary("finds the thresholds that separate reads of the targets from others").sink("read").work_unit("row");
    d.doc(
        "Takes the alignment scores of reads that are known to be of a target or not, by length of the prefix. The labels come from a table, or all "
        "reads of the run have the same and the scores of the others were written by an earlier run. Reads shorter than a prefix do not count for "
        "it. The threshold of a length is the one with the largest F1 (of several the one that accepts most), halfway to the next larger score. "
        "accept_below and reject_above are for decisions before a prefix is complete: the largest threshold with a false positive rate of at most "
        "early_error, and the smallest one with a recall of at least 1 - early_error; the threshold lies between them.");
    d.needs("read_id", "utf8", "identifier")
        .needs("prefix_bases", "f64", "length of the prefix")
        .needs("sdtw_score", "i64", "sum of the costs of the best alignment")
        .needs("sdtw_length", "i32", "levels aligned")
        .needs("query_complete", "u8", "1: the whole prefix is there");
    d.option("labels", &Parameters::labels, "table of read_id and label: target or other (1 or 0); reads that it does not name do not count").reads();
    d.option("label", &Parameters::label, "without labels: what all reads are").choices({"target", "other"});
    d.option("other_scores", &Parameters::other_scores, "scores of further reads, as `scores` of an earlier run").reads();
    d.option("scores", &Parameters::scores, "table of all reads' scores to write; .gz: BGZF, .zst: zstd, .arrow: Arrow IPC, .parquet: Parquet")
        .writes();
    d.option("thresholds", &Parameters::thresholds, "table of thresholds to write, for read_until_decision, which reads text; else named as scores")
        .writes();
    d.option("roc", &Parameters::roc, "table of the points of the ROC curves to write; named as scores").writes();
    d.option("plot", &Parameters::plot, "picture of the ROC curves to write (SVG)").writes();
    d.option("early_error", &Parameters::early_error, "error to allow where a decision is made before the prefix is complete").range(0, 1);
  }

  ReadUntilCalibration(const Setup& setup, const Parameters& p)
      : early_error_(p.early_error), label_(p.label == "target" ? Label::target : Label::other) {
    const auto given = [](const std::optional<Path>& path) { return path && !path->empty(); };
    std::string problem;
    if (given(p.labels) && !parse_labels(whole_text(setup, *p.labels, "labels"), labels_.emplace(), problem))
      throw Failure::input("labels '" + *p.labels + "', " + problem, "give a table of read_id and label");
    if (given(p.other_scores)) {
      const std::string text = whole_text(setup, *p.other_scores, "scores");
      if (!parse_scores(text, scores_, problem))
        throw Failure::input("scores '" + *p.other_scores + "', " + problem, "give the scores that an earlier run of read_until_calibration wrote");
      lines_ = text;
      if (!lines_.starts_with('#')) lines_.insert(0, score_header());
    } else {
      lines_ = score_header();
    }
    if (given(p.scores)) score_file_.emplace(setup, *p.scores, score_schema());
    if (given(p.thresholds)) threshold_file_.emplace(setup, *p.thresholds, threshold_schema());
    if (given(p.roc)) roc_file_.emplace(setup, *p.roc, roc_schema());
    columns_of_scores_ = given(p.scores) && arrow::is_column_file(*p.scores);
    if (given(p.plot)) plot_file_.emplace(setup, *p.plot);
    resume(setup, [this](StateReader& from) { restore(from); });
  }

  void commit(const Call& call, const Batch& in) {
    std::uint64_t used = 0;
    const TextView read_id = in.text("read_id");
    const auto prefix_bases = in.column<double>("prefix_bases");
    const auto score = in.column<std::int64_t>("sdtw_score");
    const auto length = in.column<std::int32_t>("sdtw_length");
    const auto complete = in.column<std::uint8_t>("query_complete");
    for (std::size_t i = 0; i < static_cast<std::size_t>(in.rows()); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      if (!in.ok(row) || !std::isfinite(prefix_bases[i])) continue;
      if (complete[i] == 0 || length[i] < 1) {
        ++short_;
        continue;
      }
      Label label = label_;
      if (labels_) {
        const auto found = labels_->find(std::string(read_id[row]));
        if (found == labels_->end()) {
          ++unlabelled_;
          continue;
        }
        label = found->second;
      }
      const double per_level = static_cast<double>(score[i]) / (static_cast<double>(length[i]) * squiggle_steps);
      PrefixScores& prefix = scores_[prefix_bases[i]];
      prefix.levels = std::max(prefix.levels, length[i]);
      prefix.scores.push_back({per_level, label});
      append_score_line(lines_, read_id[row], label, prefix_bases[i], length[i], per_level);
      ++used;
    }
    call.outcome("used", used, static_cast<std::uint64_t>(in.rows()));
  }

  void finish(const Call& call, Output&) {
    call.count("prefixes of reads that were too short", static_cast<double>(short_));
    call.count("prefixes of reads without a label", static_cast<double>(unlabelled_));
    const auto write = [&](std::optional<arrow::TableOutput>& file, std::string_view text) {
      if (!file) return;
      const std::size_t header = text.find('\n') + 1;
      file->header(text.substr(0, header));
      file->write(call, text.substr(header));
      file->finish(call);
    };
    const std::string thresholds = threshold_table(scores_, early_error_);
    if (threshold_file_ && std::count(thresholds.begin(), thresholds.end(), '\n') < 2)
      throw Failure::input(
          "no prefix has reads of both labels, so there is no threshold" +
              (unlabelled_ > 0 ? " (the labels do not name " + std::to_string(unlabelled_) + " of the prefixes' reads)" : std::string()),
          "give labels, or the other_scores of reads with the other label");
    if (const std::vector<double> prefixes = exchanged_prefixes(scores_); !prefixes.empty())
      call.warn(
          fmt::format("at {} bases targets fit the reference worse than other reads do: are the labels exchanged, or is this another reference?",
                      fmt::join(prefixes, ", ")));
    write(score_file_, columns_of_scores_ ? without_comments(lines_) : lines_);
    write(threshold_file_, thresholds);
    write(roc_file_, roc_table(scores_));
    if (plot_file_) {
      plot_file_->write(roc_plot(scores_));
      plot_file_->close();
    }
  }
  void save(const Call&, StateWriter& to) const {
    to.value(short_);
    to.value(unlabelled_);
    to.text(lines_);
    to.value(std::uint64_t{scores_.size()});
    for (const auto& [bases, prefix] : scores_) {
      to.value(bases);
      to.value(prefix.levels);
      save_rows(to, prefix.scores, &LabelledScore::score, &LabelledScore::label);
    }
  }

 private:
  static arrow::TableSchema score_schema() { return arrow::table_schema(score_header().substr(1), {"utf8", "utf8", "f64", "i32", "f64"}); }
  static arrow::TableSchema threshold_schema() {
    return arrow::table_schema(threshold_table({}, 0), {"f64", "i32", "f64", "f64", "f64", "i64", "i64", "f64", "f64", "f64", "f64"});
  }
  static arrow::TableSchema roc_schema() { return arrow::table_schema(roc_table({}), {"f64", "f64", "f64", "f64", "f64"}); }
  void restore(StateReader& from) {
    short_ = from.value<std::size_t>();
    unlabelled_ = from.value<std::size_t>();
    lines_ = from.text();
    for (auto prefixes = from.value<std::uint64_t>(); prefixes > 0; --prefixes) {
      const auto bases = from.value<double>();
      PrefixScores& prefix = scores_[bases];
      prefix.levels = from.value<std::int32_t>();
      restore_rows(from, prefix.scores, &LabelledScore::score, &LabelledScore::label);
    }
  }

  double early_error_;
  Label label_;
  std::optional<Labels> labels_;
  ScoresByPrefix scores_;
  std::string lines_;
  std::size_t short_ = 0, unlabelled_ = 0;
  bool columns_of_scores_ = false;
  std::optional<arrow::TableOutput> score_file_, threshold_file_, roc_file_;
  std::optional<OutputFile> plot_file_;
};

}  // namespace
}  // namespace sluice::read_until_calibration

SLUICE_PLUGIN("read_until_calibration", "0.1.0", "MIT", sluice::read_until_calibration::ReadUntilCalibration);
