// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Definition 1; match_search.hpp says how. Compiled once per instruction set: counting bits is one instruction or a dozen.

#include <algorithm>
#include <array>
#include <tuple>

#include "mem_seeding/match_extension.hpp"
#include "mem_seeding/match_search.hpp"

#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_AVX3 | HWY_SSSE3)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mem_seeding/maximal_search.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice::mem_seeding::HWY_NAMESPACE {
namespace {

// Words and occurrences that are looked at together: each pass over them prefetches for the next. 256 of them are 256 lines in flight at most, half
// of a 32 KiB first-level cache.
constexpr std::size_t at_once = 256;

struct Word {
  std::int64_t from;
  std::uint64_t kmer;
  FmRows rows;
};
struct Occurrence {
  std::int64_t from;
  std::uint64_t row;
  std::int64_t place;
};
struct Triple {
  std::int32_t start, end;
  std::uint32_t place;
};

class MaximalSearch {
 public:
  MaximalSearch(const FmIndexTables& index, std::span<const TextPart> parts, const SearchOptions& options)
      : index_(index),
        parts_(parts),
        options_(options),
        word_(std::min<std::uint32_t>(index.k, static_cast<std::uint32_t>(options.min_length))),
        step_(options.min_length - static_cast<std::int64_t>(word_) + 1) {}

  void search(const SearchTask& task) {
    read_ = task.read;
    triples_.clear();
    occurrences_ = 0;
    too_many_ = false;
    for (const Stretch& stretch : read_->stretches) {
      stretch_ = stretch;
      const std::int64_t last = stretch.end - static_cast<std::int64_t>(word_);
      for (std::int64_t from = stretch.begin; from <= last && !too_many_; from += step_ * static_cast<std::int64_t>(at_once)) {
        const std::int64_t words = std::min<std::int64_t>(at_once, (last - from) / step_ + 1);
        look_up(from, static_cast<std::size_t>(words));
      }
    }
    group(*task.matches);
  }

 private:
  void look_up(std::int64_t from, std::size_t count) {
    const std::uint32_t missing = 2 * (index_.k - word_);
    for (std::size_t i = 0; i < count; ++i) {
      Word& word = words_[i];
      word.from = from + static_cast<std::int64_t>(i) * step_;
      word.kmer = FmIndexTables::packed_bases_at(read_->words.data(), word.from) >> (64 - 2 * word_);
      __builtin_prefetch(index_.kmer_present + (word.kmer << missing) / 64);
      __builtin_prefetch(index_.kmer_ranks + (word.kmer << missing) / FmIndexTables::kmers_per_rank);
    }
    std::size_t present = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (!index_.word_present(words_[i].kmer, word_)) continue;
      Word word = words_[i];
      word.rows.begin = index_.kmers_before(word.kmer << missing);
      word.rows.end = missing == 0 ? word.rows.begin + 1 : index_.kmers_before((word.kmer + 1) << missing);
      __builtin_prefetch(index_.kmer_rows + word.rows.begin);
      __builtin_prefetch(index_.kmer_rows + word.rows.end);
      words_[present++] = word;
    }
    for (std::size_t i = 0; i < present; ++i) {
      words_[i].rows = {index_.kmer_rows[words_[i].rows.begin], index_.kmer_rows[words_[i].rows.end]};
      for (std::uint64_t row = words_[i].rows.begin; row < words_[i].rows.end && !too_many_; ++row) {
        occurrence_[occurrences_++] = {words_[i].from, row, 0};
        __builtin_prefetch(index_.suffixes + row / index_.sample_interval);
        if (occurrences_ == at_once) extend();
      }
    }
    extend();
  }

  void extend() {
    for (std::size_t i = 0; i < occurrences_; ++i) {
      occurrence_[i].place = static_cast<std::int64_t>(index_.place(occurrence_[i].row));
      const std::uint64_t* word = index_.packed_text + occurrence_[i].place / 32 + 1;
      __builtin_prefetch(word - 1);
      __builtin_prefetch(word + 2);
    }
    for (std::size_t i = 0; i < occurrences_; ++i) {
      const std::int64_t from = occurrence_[i].from, place = occurrence_[i].place;
      const TextPart part = part_of(static_cast<std::uint64_t>(place));
      const auto part_begin = static_cast<std::int64_t>(part.begin), part_end = static_cast<std::int64_t>(part.end);
      const std::int64_t end = place + static_cast<std::int64_t>(word_);
      if (end > part_end || place < part_begin) continue;
      const std::int64_t left =
          equal_to_the_left(read_->words.data(), from, index_.packed_text, place, std::min({from - stretch_.begin, place - part_begin, step_}));
      if (left >= step_) continue;  // the word before is in this match, too
      const std::int64_t right =
          equal_to_the_right(read_->words.data(), from + word_, index_.packed_text, end, std::min(stretch_.end - from - word_, part_end - end));
      if (left + word_ + right < options_.min_length) continue;
      triples_.push_back(
          {static_cast<std::int32_t>(from - left), static_cast<std::int32_t>(from + word_ + right), static_cast<std::uint32_t>(place - left)});
    }
    occurrences_ = 0;
    if (triples_.size() > max_places) too_many_ = true;
  }

  TextPart part_of(std::uint64_t place) const {
    if (parts_.size() == 1) return parts_[0];
    const auto behind = std::upper_bound(parts_.begin(), parts_.end(), place, [](std::uint64_t p, const TextPart& part) { return p < part.begin; });
    return behind == parts_.begin() ? TextPart{} : *(behind - 1);
  }

  void group(Matches& out) {
    out.clear();
    out.too_many = too_many_;
    if (too_many_) return;
    std::sort(triples_.begin(), triples_.end(),
              [](const Triple& a, const Triple& b) { return std::tie(a.start, a.end, a.place) < std::tie(b.start, b.end, b.place); });
    for (std::size_t i = 0; i < triples_.size();) {
      std::size_t end = i;
      while (end < triples_.size() && triples_[end].start == triples_[i].start && triples_[end].end == triples_[i].end) ++end;
      Match match{triples_[i].start, triples_[i].end, static_cast<std::uint32_t>(end - i), 0};
      if (options_.max_occurrences == 0 || match.count <= options_.max_occurrences) match.listed = match.count;
      out.matches.push_back(match);
      for (; i < end; ++i)
        if (match.listed != 0) out.places.push_back(triples_[i].place);
    }
  }

  const FmIndexTables& index_;
  std::span<const TextPart> parts_;
  const SearchOptions& options_;
  const std::uint32_t word_;  // bases that the table is asked for
  const std::int64_t step_;
  const PackedRead* read_ = nullptr;
  Stretch stretch_;
  std::array<Word, at_once> words_;
  std::array<Occurrence, at_once> occurrence_;
  std::size_t occurrences_ = 0;
  bool too_many_ = false;
  std::vector<Triple> triples_;
};

}  // namespace

void FindMaximal(const FmIndexTables& index, std::span<const TextPart> parts, const SearchOptions& options, std::span<const SearchTask> tasks) {
  MaximalSearch search(index, parts, options);
  for (const SearchTask& task : tasks) search.search(task);
}

}  // namespace sluice::mem_seeding::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::mem_seeding {

HWY_EXPORT(FindMaximal);

void find_maximal(const FmIndexTables& index, std::span<const TextPart> parts, const SearchOptions& options, std::span<const SearchTask> tasks) {
  HWY_DYNAMIC_DISPATCH(FindMaximal)(index, parts, options, tasks);
}

std::vector<TextPart> text_parts(const FmIndexView& index) {
  std::vector<TextPart> parts;
  std::size_t run = 0;
  for (std::size_t contig = 0; contig < index.contigs(); ++contig) {
    auto begin = static_cast<std::uint64_t>(index.contig_begin[contig]);
    const auto end = static_cast<std::uint64_t>(index.contig_begin[contig + 1]);
    while (begin < end) {
      // A run of ambiguous bases may go on in the next contig.
      while (run < index.ambiguous_end.size() && static_cast<std::uint64_t>(index.ambiguous_end[run]) <= begin) ++run;
      std::uint64_t stop = end;
      std::uint64_t next = end;
      if (run < index.ambiguous_begin.size() && static_cast<std::uint64_t>(index.ambiguous_begin[run]) < end) {
        stop = std::max(begin, static_cast<std::uint64_t>(index.ambiguous_begin[run]));
        next = std::min(end, static_cast<std::uint64_t>(index.ambiguous_end[run]));
      }
      if (stop > begin) parts.push_back({begin, stop});
      begin = next;
    }
  }
  if (index.both_strands())
    for (std::size_t i = parts.size(); i-- > 0;)
      parts.push_back({index.tables.text_length - parts[i].end, index.tables.text_length - parts[i].begin});
  return parts;
}

}  // namespace sluice::mem_seeding
#endif
