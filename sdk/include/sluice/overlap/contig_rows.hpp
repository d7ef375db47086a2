// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Rows of the type "contig" in the making: the sequences of a store with parts of them replaced, one after the other.

#include <algorithm>
#include <cstdint>
#include <sluice/resume.hpp>
#include <sluice/sequence_store.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::overlap {

struct ContigRow {
  std::int64_t sequence = 0;  // row in the store, which has its name
  std::int64_t windows = 0, polished_windows = 0, overlaps = 0;
  std::int64_t corrected_bases = 0;
};

class ContigRows {
 public:
  enum class Corrected : std::uint8_t { unwanted, wanted };  // the column corrected_bases
  enum class Qualities : std::uint8_t { unwanted, wanted };  // the column contig_qualities
  // The store outlives this.
  ContigRows(const SequenceStoreView& store, Corrected corrected, Qualities qualities = Qualities::unwanted)
      : store_(&store), corrected_(corrected), has_qualities_(qualities == Qualities::wanted) {}
  ContigRows(const ContigRows&) = delete;

  // Bases of the rows that wait, then of the contig at hand, which begins at begin().
  std::string& bases() { return bases_; }
  std::size_t begin() const { return rows_.empty() ? 0 : ends_.back(); }
  // Phred + 33 of these bases, if they are wanted: whoever appends to bases() appends as many here.
  std::string& qualities() { return qualities_; }
  bool has_qualities() const { return has_qualities_; }
  // Appends bases [first, end) of the sequence as the store has them. Bases without a quality have 0.
  void append_own(std::int64_t sequence, std::int64_t first, std::int64_t end) {
    const std::size_t at = bases_.size();
    bases_.resize(at + static_cast<std::size_t>(end - first));
    store_->fetch_bases(sequence, first, end, bases_.data() + at, scratch_);
    if (!has_qualities_) return;
    qualities_.resize(bases_.size(), '!');
    if (store_->has_qualities(sequence)) store_->fetch_qualities(sequence, first, end, qualities_.data() + at, scratch_);
  }
  // The contig at hand is complete. Short contigs (corrected reads) travel together.
  void complete(const ContigRow& row, Output& out) {
    rows_.push_back(row);
    ends_.push_back(bases_.size());
    if (bases_.size() >= batch_bases) emit(out);
  }
  // What waits.
  void emit(Output& out) {
    if (rows_.empty()) return;
    out.set_rows(static_cast<std::int64_t>(rows_.size()));
    out.set_work(static_cast<double>(bases_.size()));
    std::vector<std::string_view> names, bases, qualities;
    std::size_t begin = 0;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      names.push_back(store_->name(rows_[r].sequence));
      bases.push_back(std::string_view(bases_).substr(begin, ends_[r] - begin));
      if (has_qualities_) qualities.push_back(std::string_view(qualities_).substr(begin, ends_[r] - begin));
      begin = ends_[r];
    }
    out.text_rows("contig_name", names);
    out.text_rows("contig_bases", bases);
    if (has_qualities_) out.text_rows("contig_qualities", qualities);
    const auto fill = [&](const char* column, std::int64_t ContigRow::*value) {
      const auto values = out.column<std::int64_t>(column);
      for (std::size_t r = 0; r < rows_.size(); ++r) values[r] = rows_[r].*value;
    };
    fill("windows", &ContigRow::windows);
    fill("polished_windows", &ContigRow::polished_windows);
    fill("overlaps", &ContigRow::overlaps);
    if (corrected_ == Corrected::wanted) fill("corrected_bases", &ContigRow::corrected_bases);
    out.emit();
    rows_.clear();
    ends_.clear();
    bases_.clear();
    qualities_.clear();
  }
  void save(StateWriter& to) const {
    save_rows(to, rows_, &ContigRow::sequence, &ContigRow::windows, &ContigRow::polished_windows, &ContigRow::overlaps, &ContigRow::corrected_bases);
    to.values(ends_);
    to.text(bases_);
    if (has_qualities_) to.text(qualities_);
  }
  void restore(StateReader& from) {
    restore_rows(from, rows_, &ContigRow::sequence, &ContigRow::windows, &ContigRow::polished_windows, &ContigRow::overlaps,
                 &ContigRow::corrected_bases);
    ends_ = from.values<std::size_t>();
    bases_ = from.text();
    if (has_qualities_) qualities_ = from.text();
    bool fits = (!has_qualities_ || qualities_.size() == bases_.size()) && ends_.size() == rows_.size() &&
                std::is_sorted(ends_.begin(), ends_.end()) && (ends_.empty() || ends_.back() <= bases_.size());
    for (const ContigRow& row : rows_) fits = fits && row.sequence >= 0 && row.sequence < store_->size();
    if (!fits) throw damaged_state();
  }

 private:
  static constexpr std::size_t batch_bases = std::size_t{1} << 18;
  const SequenceStoreView* store_;
  Corrected corrected_;
  bool has_qualities_;
  std::vector<ContigRow> rows_;
  std::vector<std::size_t> ends_;  // of each row in bases_
  std::string bases_, qualities_;
  std::vector<char> scratch_;
};

}  // namespace sluice::overlap
