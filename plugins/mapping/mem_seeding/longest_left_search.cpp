// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Definition 2 and supermaximal matches; match_search.hpp says how. Compiled once per instruction set: counting bits is one instruction or a dozen.

#include <algorithm>
#include <array>
#include <utility>

#include "mem_seeding/match_extension.hpp"
#include "mem_seeding/match_search.hpp"

// The searches use no vectors; what newer sets have beyond AVX2 does not matter here.
#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_AVX3 | HWY_SSSE3)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mem_seeding/longest_left_search.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice::mem_seeding::HWY_NAMESPACE {
namespace {

// Searches that take turns: enough that a line from memory is there when its search's turn comes again (measured: 8 to 32 differ by 10 %).
constexpr std::size_t lanes = 16;
// Up to so many occurrences are looked at one by one; their rows fill one or two cache lines.
constexpr std::size_t few = 16;

// One search, cut at the places where it waits for memory: step() does the next part and prefetches what the one after needs.
class Lane {
 public:
  Lane(const FmIndexTables& index, const SearchOptions& options)
      : index_(index),
        options_(options),
        min_length_(options.min_length),
        word_(std::min<std::uint32_t>(index.k, static_cast<std::uint32_t>(options.min_length))) {}

  // False: there is nothing to do for it.
  bool begin(const SearchTask& task) {
    read_ = task.read;
    out_ = task.matches;
    out_->clear();
    stretch_ = 0;
    return begin_stretch();
  }

  // False: the read is done.
  bool step() {
    switch (stage_) {
      case Stage::look:
        return look();
      case Stage::rows:
        return rows();
      case Stage::extend:
        return extend();
      case Stage::locate:
        return locate();
      default:
        return compare();
    }
  }

 private:
  enum class Stage : std::uint8_t { look, rows, extend, locate, compare };

  const std::uint64_t* bases() const { return read_->words.data(); }
  std::int64_t begin_of_stretch() const { return read_->stretches[stretch_].begin; }
  std::int64_t end_of_stretch() const { return read_->stretches[stretch_].end; }
  std::uint32_t base(std::int64_t at) const { return static_cast<std::uint32_t>(bases()[at / 32 + 1] >> (62 - 2 * (at % 32)) & 3); }

  bool begin_stretch() {
    if (stretch_ >= read_->stretches.size()) return false;
    return begin_window(begin_of_stretch());
  }

  // Tries the window that begins at `start`: all matches that begin before and end behind it are known or ruled out.
  bool begin_window(std::int64_t start) {
    last_ = start + min_length_ - 1;
    while (last_ >= end_of_stretch()) {
      if (++stretch_ >= read_->stretches.size()) return false;
      last_ = begin_of_stretch() + min_length_ - 1;
    }
    from_ = last_ - word_ + 1;
    kmer_ = FmIndexTables::packed_bases_at(bases(), from_) >> (64 - 2 * word_);
    const std::uint64_t first = kmer_ << (2 * (index_.k - word_));
    __builtin_prefetch(index_.kmer_present + first / 64);
    __builtin_prefetch(index_.kmer_ranks + first / FmIndexTables::kmers_per_rank);
    stage_ = Stage::look;
    return true;
  }

  bool look() {
    if (!index_.word_present(kmer_, word_)) return begin_window(from_ + 1);
    const std::uint32_t missing = 2 * (index_.k - word_);
    rows_.begin = index_.kmers_before(kmer_ << missing);
    rows_.end = missing == 0 ? rows_.begin + 1 : index_.kmers_before((kmer_ + 1) << missing);
    __builtin_prefetch(index_.kmer_rows + rows_.begin);
    __builtin_prefetch(index_.kmer_rows + rows_.end);
    stage_ = Stage::rows;
    return true;
  }

  bool rows() {
    rows_ = {index_.kmer_rows[rows_.begin], index_.kmer_rows[rows_.end]};
    if (rows_.count() > few && (kmer_ & 3) == 0) rows_ = index_.without_short(rows_, word_);
    return go_on_with_rows();
  }

  bool go_on_with_rows() {
    if (rows_.count() <= few) {
      __builtin_prefetch(index_.suffixes + rows_.begin / index_.sample_interval);
      __builtin_prefetch(index_.suffixes + (rows_.end - 1) / index_.sample_interval);
      stage_ = Stage::locate;
    } else {
      __builtin_prefetch(index_.blocks + rows_.begin / FmIndexTables::rows_per_block * FmIndexTables::words_per_block);
      __builtin_prefetch(index_.blocks + rows_.end / FmIndexTables::rows_per_block * FmIndexTables::words_per_block);
      stage_ = Stage::extend;
    }
    return true;
  }

  bool extend() {
    if (from_ > begin_of_stretch()) {
      const FmRows longer = index_.extend_left(rows_, base(from_ - 1));
      if (longer.count() > 0) {
        rows_ = longer;
        --from_;
        return go_on_with_rows();
      }
    }
    if (last_ - from_ + 1 < min_length_) return begin_window(from_);
    return descend();
  }

  bool locate() {
    const std::uint64_t length = static_cast<std::uint64_t>(last_ - from_ + 1);
    count_ = 0;
    for (std::uint64_t row = rows_.begin; row < rows_.end; ++row) {
      const std::uint64_t place = index_.place(row);
      if (place + length > index_.text_length) continue;  // see without_short()
      places_[count_++] = static_cast<std::int64_t>(place);
      const std::uint64_t* word = index_.packed_text + place / 32 + 1;
      __builtin_prefetch(word - 1);
      __builtin_prefetch(word + 2);
    }
    stage_ = Stage::compare;
    return true;
  }

  bool compare() {
    if (count_ == 0) return begin_window(from_ + 1);
    std::array<std::int64_t, few> extension;
    std::int64_t left = -1;
    for (std::size_t i = 0; i < count_; ++i) {
      extension[i] = equal_to_the_left(bases(), from_, index_.packed_text, places_[i], std::min(from_ - begin_of_stretch(), places_[i]));
      left = std::max(left, extension[i]);
    }
    const std::int64_t start = from_ - left;
    if (last_ + 1 - start < min_length_) return begin_window(start);
    const std::int64_t length = last_ + 1 - from_;
    std::size_t kept = 0;
    std::int64_t right = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (extension[i] != left) continue;
      const std::int64_t place = places_[i] + length;
      extension[kept] = equal_to_the_right(bases(), last_ + 1, index_.packed_text, place,
                                           std::min(end_of_stretch() - last_ - 1, static_cast<std::int64_t>(index_.text_length) - place));
      places_[kept] = places_[i] - left;
      right = std::max(right, extension[kept++]);
    }
    if (options_.definition == Definition::supermaximal) {
      add_few(start, right, right, kept, extension);
    } else {
      for (std::int64_t end = -1; end < right;) {
        std::int64_t next = right;
        for (std::size_t i = 0; i < kept; ++i)
          if (extension[i] > end) next = std::min(next, extension[i]);
        end = next;
        add_few(start, end, options_.occurrences == Occurrences::all ? right : end, kept, extension);
      }
    }
    return next_window(last_ + right);
  }

  // Adds the match that goes on for `right` bases behind the window; lists the places that go on for right to `longest`.
  void add_few(std::int64_t start, std::int64_t right, std::int64_t longest, std::size_t kept, const std::array<std::int64_t, few>& extension) {
    Match match{static_cast<std::int32_t>(start), static_cast<std::int32_t>(last_ + 1 + right), 0, 0};
    for (std::size_t i = 0; i < kept; ++i) match.count += extension[i] >= right ? 1 : 0;
    if (lists(match.count))
      for (std::size_t i = 0; i < kept; ++i) {
        if (extension[i] < right || extension[i] > longest) continue;
        out_->places.push_back(static_cast<std::uint32_t>(places_[i]));
        ++match.listed;
      }
    out_->matches.push_back(match);
  }

  bool lists(std::uint64_t count) const { return options_.max_occurrences == 0 || count <= options_.max_occurrences; }

  // The match ends with the base `end`: the next one has the base behind it.
  bool next_window(std::int64_t end) {
    if (out_->places.size() > max_places) out_->too_many = true;
    if (out_->too_many) return false;
    return begin_window(end + 2 - min_length_);
  }

  // Rows of the match [from_, last_], which nothing extends to the left: follows it to the right while it has rows, from one base to the next at
  // which they differ.
  bool descend() {
    std::int64_t length = last_ - from_ + 1;
    const auto text_length = static_cast<std::int64_t>(index_.text_length);
    while (true) {
      const auto agree = [&](std::uint64_t row) {
        const auto place = static_cast<std::int64_t>(index_.place(row)) + length;
        return equal_to_the_right(bases(), from_ + length, index_.packed_text, place,
                                  std::min(end_of_stretch() - from_ - length, text_length - place));
      };
      // What the first and the last row have in common with the read, all between them have.
      const std::int64_t first = agree(rows_.begin);
      length += rows_.count() == 1 ? first : std::min(first, agree(rows_.end - 1));
      const bool at_end = from_ + length == end_of_stretch();
      const FmRows longer = at_end || rows_.count() == 1 ? FmRows{} : rows_with(base(from_ + length), length);
      if (longer.count() == 0) {
        add_many(length, {});
        return next_window(from_ + length - 1);
      }
      if (options_.definition == Definition::longest_left) add_many(length, longer);
      if (out_->too_many) return false;
      rows_ = longer;
      ++length;
    }
  }

  // Of rows_, which have `length` bases in common, those whose next base is `symbol`.
  FmRows rows_with(std::uint32_t symbol, std::int64_t length) const {
    const auto first_not_before = [&](std::uint32_t bound) {
      std::uint64_t low = rows_.begin, high = rows_.end;
      while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        const std::uint64_t place = index_.place(middle) + static_cast<std::uint64_t>(length);
        if (place >= index_.text_length || index_.base(place) < bound)
          low = middle + 1;
        else
          high = middle;
      }
      return low;
    };
    return {first_not_before(symbol), first_not_before(symbol + 1)};
  }

  void add_many(std::int64_t length, FmRows longer) {
    Match match{static_cast<std::int32_t>(from_), static_cast<std::int32_t>(from_ + length), static_cast<std::uint32_t>(rows_.count()), 0};
    if (options_.occurrences == Occurrences::all || longer.count() == 0) longer = {rows_.end, rows_.end};
    if (lists(match.count)) {
      match.listed = static_cast<std::uint32_t>(rows_.count() - longer.count());
      if (out_->places.size() + match.listed > max_places) {
        out_->too_many = true;
        return;
      }
      for (std::uint64_t row = rows_.begin; row < longer.begin; ++row) out_->places.push_back(static_cast<std::uint32_t>(index_.place(row)));
      for (std::uint64_t row = longer.end; row < rows_.end; ++row) out_->places.push_back(static_cast<std::uint32_t>(index_.place(row)));
    }
    out_->matches.push_back(match);
  }

  const FmIndexTables& index_;
  const SearchOptions& options_;
  const std::int64_t min_length_;
  const std::uint32_t word_;  // bases that the table is asked for
  const PackedRead* read_ = nullptr;
  Matches* out_ = nullptr;
  std::size_t stretch_ = 0;
  std::int64_t from_ = 0, last_ = 0;  // the match found so far: [from_, last_]; last_ is the last base of the window
  std::uint64_t kmer_ = 0;
  FmRows rows_;  // of the match; in Stage::rows their places in kmer_rows
  std::size_t count_ = 0;
  std::array<std::int64_t, few> places_{};
  Stage stage_ = Stage::look;
};

}  // namespace

void FindLongestLeft(const FmIndexTables& index, const SearchOptions& options, std::span<const SearchTask> tasks) {
  std::array<Lane, lanes> lane = [&]<std::size_t... number>(std::index_sequence<number...>) {
    return std::array<Lane, lanes>{(static_cast<void>(number), Lane(index, options))...};
  }
  (std::make_index_sequence<lanes>());
  std::size_t next = 0, working = 0;
  const auto begin_next = [&](Lane& free) {
    while (next < tasks.size())
      if (free.begin(tasks[next++])) return true;
    return false;
  };
  std::array<Lane*, lanes> active;
  for (Lane& each : lane)
    if (begin_next(each)) active[working++] = &each;
  while (working > 0)
    for (std::size_t i = 0; i < working;) {
      if (active[i]->step() || begin_next(*active[i]))
        ++i;
      else
        active[i] = active[--working];
    }
}

}  // namespace sluice::mem_seeding::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::mem_seeding {

HWY_EXPORT(FindLongestLeft);

void find_longest_left(const FmIndexTables& index, const SearchOptions& options, std::span<const SearchTask> tasks) {
  HWY_DYNAMIC_DISPATCH(FindLongestLeft)(index, options, tasks);
}

}  // namespace sluice::mem_seeding
#endif
