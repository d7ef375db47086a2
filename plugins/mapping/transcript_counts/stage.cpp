// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <numeric>
#include <sluice/minimizer_index.hpp>
#include <sluice/overlap/read_alignments.hpp>
#include <sluice/result_figures.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <vector>

#include "transcript_counts/counts.hpp"

namespace sluice::transcript_counts {
namespace {

// Reads to transcripts: a row for each contig of the reference.
class TranscriptCountsStage {
 public:
  struct Parameters : CountRule {};
  static void describe(Describe<TranscriptCountsStage>& d) {
    d.id("transcript_counts")
        .summary("reads of each transcript, and how they lie on it")
        .regroup("read", "transcript")
        .work_unit("row")
        .sums()
        .rows_without_input();
    d.doc(
        "A read counts for the transcript of its first primary alignment. A row for each contig of the reference, in its order, those without reads, "
        "too. What is there of transcripts is shown in the report: the most frequent ones, and how evenly reads cover them from the 5' to the 3' "
        "end.");
    d.rows_are("transcript");
    d.uses("index", "minimizer_index", "names and lengths of the transcripts");
    overlap::needs_read_alignments(d);
    d.gives("contig", "utf8", "name of the transcript").gives("contig_length", "i64", "its bases");
    d.gives("reads", "i64", "reads whose first primary alignment lies on it");
    d.gives("confident_reads", "i64", "of these, with a mapping quality of confident_mapq and more");
    d.gives("antisense_reads", "i64", "of these, on its reverse strand");
    d.gives("reads_to_3_end", "i64", "of these, that end within end_distance of its 3' end");
    d.gives("full_length_reads", "i64", "of these, that end within end_distance of both ends");
    d.gives("mean_coverage", "f64", "bases of reads on each of its bases, in the mean");
    d.option("confident_mapq", &Parameters::confident_mapq, "least mapping quality of a confident read").range(0, 255);
    d.option("end_distance", &Parameters::end_distance, "bases that a read may end before an end of the transcript")
        .range(0, 1'000'000)
        .unit("bases");
  }

  TranscriptCountsStage(const Setup& setup, const Parameters& p) : index_(minimizer_index_view(setup.resource("index"))), rule_(p) {
    of_contig_.resize(index_.contigs());
    resume(setup, [this](StateReader& from) {
      for (std::uint64_t& bases : coverage_) bases += from.value<std::uint64_t>();
      for (TranscriptCounts& counts : of_contig_)
        for (std::int64_t TranscriptCounts::*number : numbers) counts.*number += from.value<std::int64_t>();
    });
  }

  void process(const Call&, const Batch& in, Output&) {
    const overlap::ReadAlignments alignments(in, overlap::TagText::none);
    std::vector<overlap::ReadAlignment> of_read;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      alignments.read(row, index_.contigs(), of_read);
      for (const overlap::ReadAlignment& alignment : of_read) {
        if (!alignment.is_first) continue;
        const auto contig = static_cast<std::size_t>(alignment.target);
        add_read(alignment, index_.contig_length[contig], rule_, of_contig_[contig], coverage_);
      }
    }
  }

  void finish(const Call& call, Output& out) {
    constexpr std::size_t rows_of_batch = 10'000;
    for (std::size_t begin = 0; begin < of_contig_.size(); begin += rows_of_batch)
      emit(begin, std::min(begin + rows_of_batch, of_contig_.size()), out);
    give_figures(call);
  }

  void save(const Call&, StateWriter& to) {
    for (const std::uint64_t bases : coverage_) to.value(bases);
    for (const TranscriptCounts& counts : of_contig_)
      for (std::int64_t TranscriptCounts::*number : numbers) to.value(counts.*number);
  }

 private:
  static constexpr std::int64_t TranscriptCounts::*numbers[] = {&TranscriptCounts::reads,       &TranscriptCounts::confident,
                                                                &TranscriptCounts::antisense,   &TranscriptCounts::to_3_end,
                                                                &TranscriptCounts::full_length, &TranscriptCounts::bases};
  static constexpr std::size_t shown_transcripts = 30;
  static constexpr Figure with_reads{0, FigureKind::share, "transcripts with reads", "", "transcripts of the reference that a read lies on, of all"};
  static constexpr Figure to_3_end{1, FigureKind::share, "reads to the 3' end", "",
                                   "reads that end near the 3' end of their transcript, of all that lie on one"};
  static constexpr Figure full_length{2, FigureKind::share, "full-length reads", "", "reads that reach both ends of their transcript"};
  static constexpr Figure per_transcript{3, FigureKind::table, "reads per transcript", "", "those with the most reads"};
  static constexpr Figure along{4,
                                FigureKind::histogram,
                                "coverage along transcripts",
                                "%",
                                "bases of reads by their place on the transcript, from its 5' end (0) to its 3' end (100)",
                                5};

  void emit(std::size_t begin, std::size_t end, Output& out) const {
    out.set_rows(static_cast<std::int64_t>(end - begin));
    std::vector<std::string> names;
    const auto length = out.column<std::int64_t>("contig_length"), reads = out.column<std::int64_t>("reads"),
               confident = out.column<std::int64_t>("confident_reads"), antisense = out.column<std::int64_t>("antisense_reads"),
               to_3 = out.column<std::int64_t>("reads_to_3_end"), full = out.column<std::int64_t>("full_length_reads");
    const auto coverage = out.column<double>("mean_coverage");
    for (std::size_t contig = begin; contig < end; ++contig) {
      const TranscriptCounts& counts = of_contig_[contig];
      const std::size_t row = contig - begin;
      names.emplace_back(index_.contig_name(contig));
      length[row] = index_.contig_length[contig];
      reads[row] = counts.reads, confident[row] = counts.confident, antisense[row] = counts.antisense;
      to_3[row] = counts.to_3_end, full[row] = counts.full_length;
      coverage[row] = static_cast<double>(counts.bases) / std::max(1, index_.contig_length[contig]);
    }
    out.text_rows("contig", names);
    out.emit();
  }

  void give_figures(const Call& call) const {
    const auto sum = [&](std::int64_t TranscriptCounts::*number) {
      std::uint64_t total = 0;
      for (const TranscriptCounts& counts : of_contig_) total += static_cast<std::uint64_t>(counts.*number);
      return total;
    };
    std::vector<std::size_t> order(of_contig_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return of_contig_[a].reads > of_contig_[b].reads; });
    const auto found = static_cast<std::size_t>(
        std::count_if(of_contig_.begin(), of_contig_.end(), [](const TranscriptCounts& counts) { return counts.reads > 0; }));
    order.resize(std::min(found, shown_transcripts));
    const std::uint64_t reads = sum(&TranscriptCounts::reads);
    ResultFigures figures;
    for (const Figure& figure : {with_reads, to_3_end, full_length, per_transcript, along}) figures.describe(figure);
    figures.add_share(with_reads, found, of_contig_.size());
    figures.add_share(to_3_end, sum(&TranscriptCounts::to_3_end), reads);
    figures.add_share(full_length, sum(&TranscriptCounts::full_length), reads);
    for (std::size_t i = 0; i < order.size(); ++i)
      figures.add_row(per_transcript, static_cast<std::uint32_t>(i), index_.contig_name(order[i]),
                      static_cast<std::uint64_t>(of_contig_[order[i]].reads));
    for (std::size_t i = 0; i < coverage_.size(); ++i) figures.add_class(along, static_cast<std::int64_t>(i), coverage_[i]);
    figures.give(call);
  }

  MinimizerIndexView index_;
  CountRule rule_;
  std::vector<TranscriptCounts> of_contig_;
  Coverage coverage_{};
};

}  // namespace
}  // namespace sluice::transcript_counts

SLUICE_PLUGIN("transcript_counts", "0.1.0", "MIT", sluice::transcript_counts::TranscriptCountsStage);
