// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Definition 2 and supermaximal matches found word by word, with no order among the words: the search of a device with thousands of threads.
// Works on the host, too, for tests.
//
// Words of min(k, min_length) bases are looked up at every step-th place, step = min_length - word + 1, so that every match has one; a match belongs
// to the first word in it. A word of few rows gives the maximal matches of each of its occurrences, one by one. Of these, a longest match to the left
// of some end is one that ends behind all matches that begin before it; what it counts are the matches of the same start that end there or later. So
// the matches of all words, in the order of their starts, and the greatest end of those before, give what the search from the left to the right
// gives. A word of many rows is searched by rows, as that search does, between the starts that belong to it.

#include <cstdint>
#include <sluice/fm_index.hpp>

#include "mem_seeding/matches.hpp"
#include "mem_seeding/read_strands.hpp"

namespace sluice::mem_seeding {

// Rows up to which occurrences are looked at one by one.
inline constexpr std::uint32_t few_rows = 16;

// A match at one place of the text that nothing extends; start and end count from the first base of the batch.
struct MaximalMatch {
  std::uint32_t start = 0;
  std::uint32_t end = 0;
  std::uint32_t place = 0;
};

struct WordSearch {
  FmIndexTables index;
  ReadStrands reads;
  std::uint64_t min_length = 0;  // at least 2: an ambiguous base is told by the edges beside it
  std::uint64_t max_occurrences = 0;
  Definition definition = Definition::longest_left;  // or supermaximal
  Occurrences occurrences = Occurrences::all;
  std::uint32_t word = 0;  // bases
  std::uint64_t step = 1;

  SLUICE_FM_INLINE std::uint64_t words() const { return reads.length < word ? 0 : (reads.length - word) / step + 1; }
  SLUICE_FM_INLINE std::uint64_t word_at(std::uint64_t from) const { return reads.bases_at(static_cast<std::int64_t>(from)) >> (64 - 2 * word); }
  // The number of the word that a match with this start belongs to.
  SLUICE_FM_INLINE std::uint64_t owner(std::uint64_t start) const { return (start + step - 1) / step; }

  SLUICE_FM_INLINE std::uint32_t listed(std::uint64_t count, std::uint64_t with_this_end) const {
    if (max_occurrences != 0 && count > max_occurrences) return 0;
    return static_cast<std::uint32_t>(occurrences == Occurrences::all || definition == Definition::supermaximal ? count : with_this_end);
  }

  // Of a row of the word at `from`. False: it belongs to the word before, or is too short.
  SLUICE_FM_INLINE bool extend(std::uint64_t from, std::uint64_t row, MaximalMatch& match) const {
    const std::uint64_t place = index.place(row);
    if (place + word > index.text_length) return false;  // a suffix shorter than the word
    const std::uint64_t left = reads.equal_to_the_left(index, from, place, step);
    if (left >= step) return false;
    const std::uint64_t right = reads.equal_to_the_right(index, from + word, place + word);
    if (left + word + right < min_length) return false;
    match.start = static_cast<std::uint32_t>(from - left);
    match.end = static_cast<std::uint32_t>(from + word + right);
    match.place = static_cast<std::uint32_t>(place - left);
    return true;
  }

  // Calls visit(start, end, count, with_this_end) for the matches made of the maximal ones [0, count) of one word, which are in the order of its
  // rows. `covered`: the greatest end of the matches of the words before.
  template <class Visit>
  SLUICE_FM_INLINE void visit_few(const MaximalMatch* maximal, std::uint32_t count, std::uint32_t covered, Visit&& visit) const {
    std::uint32_t next_start = 0;
    while (true) {
      std::uint32_t start = UINT32_MAX, longest = 0;
      for (std::uint32_t i = 0; i < count; ++i) {
        if (maximal[i].start < next_start || maximal[i].start > start) continue;
        if (maximal[i].start < start) start = maximal[i].start, longest = 0;
        if (maximal[i].end > longest) longest = maximal[i].end;
      }
      if (start == UINT32_MAX) return;
      std::uint32_t end = covered;
      while (end < longest) {
        std::uint32_t next = longest;
        if (definition == Definition::longest_left)
          for (std::uint32_t i = 0; i < count; ++i)
            if (maximal[i].start == start && maximal[i].end > end && maximal[i].end < next) next = maximal[i].end;
        end = next;
        std::uint32_t with_this_end = 0, later = 0;
        for (std::uint32_t i = 0; i < count; ++i) {
          if (maximal[i].start != start) continue;
          with_this_end += maximal[i].end == end ? 1 : 0;
          later += maximal[i].end > end ? 1 : 0;
        }
        visit(start, end, with_this_end + later, with_this_end);
      }
      if (longest > covered) covered = longest;
      next_start = start + 1;
    }
  }
  // Whether the places of a match of visit_few are to be listed for one of the maximal matches.
  SLUICE_FM_INLINE bool lists(const MaximalMatch& maximal, std::uint32_t start, std::uint32_t end) const {
    return maximal.start == start && (occurrences == Occurrences::longest ? maximal.end == end : maximal.end >= end);
  }

  // Calls visit(start, end, rows, longer) for the matches that belong to the word at `from`: their rows, and those of the next one of the same start.
  template <class Visit>
  SLUICE_FM_INLINE void visit_many(std::uint64_t from, Visit&& visit) const {
    // What begins before the first start of this word is some other word's; only where it ends matters here.
    std::uint64_t first = from, before = 0;
    while (before < step && !reads.edge(from - before)) ++before;
    first -= before < step ? before : step - 1;
    const std::uint64_t lowest = before < step ? first : first - 1;
    std::uint64_t window = first;
    // No match that ends with the window or behind it begins before `at`.
    std::uint64_t at = first;
    while (at <= from && reads.unbroken(window, min_length)) {
      std::uint64_t start = window + min_length - word;
      FmRows rows{};
      if (const std::uint64_t bases = word_at(start); index.word_present(bases, word)) rows = index.without_short(index.word_rows(bases, word), word);
      if (rows.count() == 0) {
        at = window = start + 1;
        continue;
      }
      while (start > lowest) {
        const FmRows longer = index.extend_left(rows, reads.base(start - 1));
        if (longer.count() == 0) break;
        rows = longer;
        --start;
      }
      if (start > window) {
        at = window = start;
        continue;
      }
      if (start > from) return;
      const std::uint64_t length = window + min_length - start;
      const std::uint64_t end = start < first ? start + longest_right(start, rows, length) : visit_ends(start, rows, length, visit);
      window = end + 1 - min_length;
    }
  }

 private:
  // The longest match of the bases from `start` on with a suffix of `rows`, which agree with the first `length`.
  SLUICE_FM_INLINE std::uint64_t longest_right(std::uint64_t start, FmRows rows, std::uint64_t length) const {
    std::uint64_t longest = length;
    while (rows.count() > 0) {
      const std::uint64_t middle = rows.begin + rows.count() / 2;
      const std::uint64_t place = index.place(middle);
      const std::uint64_t equal = length + reads.equal_to_the_right(index, start + length, place + length);
      if (equal > longest) longest = equal;
      if (reads.edge(start + equal)) break;
      if (place + equal >= index.text_length || index.base(place + equal) < reads.base(start + equal))
        rows.begin = middle + 1;
      else
        rows.end = middle;
    }
    return longest;
  }

  // From one end at which rows differ from the read to the next; returns the last.
  template <class Visit>
  SLUICE_FM_INLINE std::uint64_t visit_ends(std::uint64_t start, FmRows rows, std::uint64_t length, Visit& visit) const {
    while (true) {
      // What the first and the last row have in common with the read, all between them have.
      const std::uint64_t first = reads.equal_to_the_right(index, start + length, index.place(rows.begin) + length);
      std::uint64_t common = first;
      if (rows.count() > 1) {
        const std::uint64_t last = reads.equal_to_the_right(index, start + length, index.place(rows.end - 1) + length);
        if (last < common) common = last;
      }
      length += common;
      FmRows longer{};
      if (rows.count() > 1 && !reads.edge(start + length)) longer = rows_with(rows, reads.base(start + length), length);
      if (longer.count() == 0) {
        visit(start, start + length, rows, FmRows{rows.end, rows.end});
        return start + length;
      }
      if (definition == Definition::longest_left) visit(start, start + length, rows, longer);
      rows = longer;
      ++length;
    }
  }

  // Of rows that have `length` bases in common, those whose next base is `symbol`.
  SLUICE_FM_INLINE FmRows rows_with(FmRows rows, std::uint32_t symbol, std::uint64_t length) const {
    FmRows found{};
    for (std::uint32_t bound = symbol; bound <= symbol + 1; ++bound) {
      std::uint64_t low = rows.begin, high = rows.end;
      while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        const std::uint64_t place = index.place(middle) + length;
        if (place >= index.text_length || index.base(place) < bound)
          low = middle + 1;
        else
          high = middle;
      }
      (bound == symbol ? found.begin : found.end) = low;
    }
    return found;
  }
};

}  // namespace sluice::mem_seeding
