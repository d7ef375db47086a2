// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a mapping run found, for its report: for the sinks that write hits and alignments. Secondary ones are not counted, supplementary ones are.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sluice/minimizer_index.hpp>
#include <sluice/overlap/hit_columns.hpp>
#include <sluice/overlap/read_alignments.hpp>
#include <sluice/result_figures.hpp>
#include <sluice/sequence_windows.hpp>
#include <string_view>
#include <vector>

namespace sluice::overlap {

class AlignmentFigures {
 public:
  // The index must live as long as this.
  explicit AlignmentFigures(const MinimizerIndexView& index) : windows_(names_of(index), lengths_of(index)) {}

  // Of the reads of one call.
  class Counts {
   public:
    explicit Counts(const AlignmentFigures& home) : home_(&home), row_(home.windows_.sequences()), depth_(home.windows_.windows().size()) {}

    void add_read(std::int64_t bases) { read_bases_ += positive(bases); }
    void add(const ReadAlignment& alignment) {
      if (!alignment.is_primary) return;
      add_place(alignment.query_end - alignment.query_start, alignment.mapping_quality);
      const std::uint64_t columns = positive(alignment.columns) + positive(alignment.ambiguous), equal = positive(alignment.matches);
      if (columns > 0) ++identity_[std::min<std::uint64_t>(equal * identity_classes / columns, identity_classes)];
      columns_ += columns, equal_ += equal;
      std::int64_t at = alignment.target_start;
      for (const std::uint32_t operation : alignment.cigar) {
        const std::int64_t length = operation >> 4;
        const std::uint32_t code = operation & 15U;
        if (code == 0 || code == 7 || code == 8) cover(static_cast<std::size_t>(alignment.target), at, at + length);  // M, =, X
        if (code == 0 || code == 2 || code == 3 || code == 7 || code == 8) at += length;                              // and D, N
      }
    }
    // Without base-level alignment: what lies between its ends.
    void add(const ReadHit& hit) {
      if (hit.is_primary == 0) return;
      add_place(hit.query_end - hit.query_start, hit.mapping_quality);
      cover(static_cast<std::size_t>(static_cast<std::uint32_t>(hit.target)), hit.target_start, hit.target_end);
    }

    void give(const Host& host) const {
      ResultFigures figures;
      figures.add_share(mapped_bases, mapped_bases_, read_bases_);
      figures.add_share(identity, equal_, columns_);
      std::uint64_t number = 0, sum = 0;
      for (std::size_t i = 0; i < quality_.size(); ++i) {
        if (quality_[i] == 0) continue;
        number += quality_[i], sum += i * quality_[i];
        figures.add_class(quality_histogram, static_cast<std::int64_t>(i), quality_[i]);
      }
      figures.add_mean(quality, sum, number);
      for (std::size_t i = 0; i < identity_.size(); ++i)
        if (identity_[i] > 0) figures.add_class(identity_histogram, static_cast<std::int64_t>(i), identity_[i]);
      for (std::size_t i = 0; i < row_.size(); ++i)
        if (row_[i] > 0) home_->windows_.add_row(figures, coverage, i, row_[i]);
      for (std::size_t i = 0; i < depth_.size(); ++i)
        if (depth_[i] > 0) figures.add_depth(depth, home_->windows_.windows()[i], depth_[i]);
      figures.give(host);
    }

   private:
    static std::uint64_t positive(std::int64_t number) { return static_cast<std::uint64_t>(std::max<std::int64_t>(number, 0)); }
    void add_place(std::int64_t bases, std::uint8_t mapping_quality) {
      mapped_bases_ += positive(bases);
      ++quality_[mapping_quality];
    }
    void cover(std::size_t target, std::int64_t begin, std::int64_t end) {
      if (target >= row_.size() || begin >= end) return;
      row_[target] += positive(end - begin);
      home_->windows_.each(target, begin, end, [&](std::size_t window, std::int64_t bases) { depth_[window] += positive(bases); });
    }

    const AlignmentFigures* home_;
    std::uint64_t read_bases_ = 0, mapped_bases_ = 0, columns_ = 0, equal_ = 0;
    std::vector<std::uint64_t> quality_ = std::vector<std::uint64_t>(256), identity_ = std::vector<std::uint64_t>(identity_classes + 1);
    std::vector<std::uint64_t> row_, depth_;  // by contig, by window
  };

  // From finish(). has_alignments: base-level ones, without which there is no identity.
  void describe(const Host& host, bool has_alignments) const {
    ResultFigures figures;
    figures.describe(mapped_bases);
    if (has_alignments) {
      figures.describe(identity);
      figures.describe(identity_histogram);
    }
    figures.describe(quality);
    figures.describe(quality_histogram);
    figures.describe(coverage);
    windows_.describe_rows(figures, coverage);
    figures.describe(depth);
    for (const FigureWindow& window : windows_.windows()) figures.add_depth(depth, window, 0);
    figures.give(host);
  }

 private:
  static constexpr std::size_t identity_classes = 200;  // half a per cent each

  static constexpr Figure mapped_bases{
      0, FigureKind::share, "mapped bases", "base",
      "bases of reads within alignments, of all their bases; supplementary alignments are counted, secondary ones are not"};
  static constexpr Figure identity{1, FigureKind::share, "identity", "",
                                   "columns of alignments with equal bases, of all columns, those of gaps included"};
  static constexpr Figure quality{2, FigureKind::mean, "mapping quality", "", "mean of all alignments that are not secondary"};
  static constexpr Figure coverage{
      3, FigureKind::table, "coverage", "x",
      "bases of reads on each base of a contig, in the mean; deletions do not cover; without base-level alignment: what lies between "
      "the ends of hits"};
  static constexpr Figure depth{4, FigureKind::depth, "depth along the reference", "x",
                                "bases of reads on each base of the reference, in the mean of some two hundred windows"};
  static constexpr Figure identity_histogram{5,  FigureKind::histogram, "identity of alignments", "%", "equal bases of the columns of each alignment",
                                             0.5};
  static constexpr Figure quality_histogram{6, FigureKind::histogram, "mapping quality of alignments", "", "alignments that are not secondary", 1};

  static std::vector<std::string_view> names_of(const MinimizerIndexView& index) {
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < index.contigs(); ++i) names.push_back(index.contig_name(i));
    return names;
  }
  static std::vector<std::int64_t> lengths_of(const MinimizerIndexView& index) {
    std::vector<std::int64_t> lengths;
    for (std::size_t i = 0; i < index.contigs(); ++i) lengths.push_back(index.contig_length[i]);
    return lengths;
  }

  SequenceWindows windows_;
};

}  // namespace sluice::overlap
