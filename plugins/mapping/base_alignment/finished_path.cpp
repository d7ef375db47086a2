// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/finished_path.hpp"

#include <algorithm>

#include "base_alignment/kernel/columns.hpp"

namespace sluice::base_alignment {
namespace {

using Cigar = std::vector<std::uint32_t>;

// True: an operation may have become empty.
bool shift_gaps(Cigar& cigar, Codes query, Codes target) {
  bool any_empty = false;
  std::size_t q = 0, t = 0;
  for (std::size_t k = 0; k < cigar.size(); ++k) {
    const auto bases = static_cast<std::size_t>(bases_of(cigar[k]));
    any_empty = any_empty || bases == 0;
    if (!is_gap(cigar[k])) {
      if (code_of(cigar[k]) != intron) q += bases;
      t += bases;
      continue;
    }
    const bool inserted = code_of(cigar[k]) == insertion;
    if (k > 0 && k + 1 < cigar.size() && code_of(cigar[k - 1]) == match_or_mismatch && code_of(cigar[k + 1]) == match_or_mismatch) {
      const Codes own = inserted ? query : target;
      const std::size_t at = inserted ? q : t, room = cigar[k - 1] >> 4;
      std::size_t shift = 0;
      while (shift < room && own[at - 1 - shift] == own[at + bases - 1 - shift]) ++shift;
      cigar[k - 1] -= static_cast<std::uint32_t>(shift) << 4;
      cigar[k + 1] += static_cast<std::uint32_t>(shift) << 4;
      q -= shift;
      t -= shift;
      any_empty = any_empty || shift == room;
    }
    (inserted ? q : t) += bases;
  }
  return any_empty;
}

// Of three and more gaps in a row an insertion and a deletion are left. True: there were such.
bool gather_gaps(Cigar& cigar) {
  bool any = false;
  for (std::size_t k = 0; k + 2 < cigar.size(); ++k) {
    if (!is_gap(cigar[k]) || code_of(cigar[k]) + code_of(cigar[k + 1]) != insertion + deletion) continue;
    std::uint32_t inserted = 0, deleted = 0;
    std::size_t end = k;
    for (; end < cigar.size() && (is_gap(cigar[end]) || bases_of(cigar[end]) == 0); ++end) {
      if (code_of(cigar[end]) == insertion) inserted += cigar[end] >> 4;
      if (code_of(cigar[end]) == deletion) deleted += cigar[end] >> 4;
    }
    if (inserted > 0 && deleted > 0 && end - k > 2) {
      cigar[k] = inserted << 4 | insertion;
      cigar[k + 1] = deleted << 4 | deletion;
      for (std::size_t i = k + 2; i < end; ++i) cigar[i] &= 15U;
      any = true;
    }
    k = end;
  }
  return any;
}

void merge(Cigar& cigar) {
  std::erase_if(cigar, [](std::uint32_t operation) { return bases_of(operation) == 0; });
  std::size_t kept = 0;
  for (std::size_t k = 0; k < cigar.size(); ++k) {
    if (kept > 0 && code_of(cigar[kept - 1]) == code_of(cigar[k]))
      cigar[kept - 1] += cigar[k] & ~15U;
    else
      cigar[kept++] = cigar[k];
  }
  cigar.resize(kept);
}

// The hit begins behind it.
void drop_first_gap(AlignedHit& hit, Codes& query, Codes& target) {
  if (hit.cigar.size() < 2 || !is_gap(hit.cigar.front())) return;
  const std::int32_t bases = bases_of(hit.cigar.front());
  if (code_of(hit.cigar.front()) == insertion) {
    if (hit.reverse)
      hit.query_end -= bases;
    else
      hit.query_start += bases;
    query = query.subspan(static_cast<std::size_t>(bases));
  } else {
    hit.target_start += bases;
    target = target.subspan(static_cast<std::size_t>(bases));
  }
  hit.cigar.erase(hit.cigar.begin());
}

// Sums are exact up to 2^29: costs of gaps have 24 bits. So it makes no difference that matches are added in runs.
void count(const Scores& scores, Codes query, Codes target, AlignedHit& hit) {
  double score = 0, best = 0;
  hit.matches = hit.columns = hit.ambiguous = 0;
  hit.spliced = false;
  std::size_t q = 0, t = 0;
  for (const std::uint32_t operation : hit.cigar) {
    const std::int32_t bases = bases_of(operation);
    std::int32_t ambiguous = 0, different_bases = 0;
    if (code_of(operation) == intron) {  // costs nothing here
      hit.spliced = true;
      t += static_cast<std::size_t>(bases);
      continue;
    }
    if (is_gap(operation)) {
      const bool inserted = code_of(operation) == insertion;
      for (std::int32_t i = 0; i < bases; ++i) ambiguous += (inserted ? query[q++] : target[t++]) > 3 ? 1 : 0;
      score -= scores.gap_open + static_cast<double>(scores.gap_extend) * static_cast<double>(quick_log2(static_cast<float>(1.0 + bases)));
      score = std::max(score, 0.0);
    } else {
      const std::size_t end = q + static_cast<std::size_t>(bases);
      while (q < end) {
        const std::int32_t equal_run = equal_columns_before(query.data() + q, target.data() + t, static_cast<std::int32_t>(end - q));
        score += static_cast<double>(equal_run) * scores.match;
        best = std::max(best, score);
        q += static_cast<std::size_t>(equal_run);
        t += static_cast<std::size_t>(equal_run);
        if (q == end) break;
        const bool is_ambiguous = query[q] > 3 || target[t] > 3;
        (is_ambiguous ? ambiguous : different_bases) += 1;
        score = std::max(score + (is_ambiguous ? -scores.ambiguous : column_score(scores, target[t], query[q])), 0.0);
        ++q, ++t;
      }
      hit.matches += bases - ambiguous - different_bases;
    }
    hit.columns += bases - ambiguous;
    hit.ambiguous += ambiguous;
  }
  hit.best_score = hit.path_score = static_cast<std::int32_t>(best + .499);
}

// minimap2 keeps an M whole, as =, if no M holds both equal and different bases, even where all are different.
void split_matches(Cigar& cigar, Codes query, Codes target) {
  Cigar split;
  std::size_t q = 0, t = 0;
  bool any_mixed = false;
  for (const std::uint32_t operation : cigar) {
    if (!is_run(operation)) {
      split.push_back(operation);
      (code_of(operation) == insertion ? q : t) += operation >> 4;
      continue;
    }
    const std::size_t from = split.size();
    for (std::uint32_t i = 0; i < operation >> 4; ++i, ++q, ++t) {
      const std::uint32_t code = query[q] == target[t] ? equal : different;
      if (split.size() > from && code_of(split.back()) == code)
        split.back() += 16;
      else
        split.push_back(16 | code);
    }
    any_mixed = any_mixed || split.size() > from + 1;
  }
  if (any_mixed) {
    cigar.swap(split);
    return;
  }
  for (std::uint32_t& operation : cigar)
    if (is_run(operation)) operation = (operation & ~15U) | equal;
}

}  // namespace

void normalize(std::vector<std::uint32_t>& cigar, Codes query, Codes target) {
  if (cigar.size() < 2) return;
  const bool any_empty = shift_gaps(cigar, query, target), any_gathered = gather_gaps(cigar);
  if (any_empty || any_gathered) merge(cigar);
}

void finish_path(const AlignmentSettings& settings, Codes query, Codes target, AlignedHit& hit) {
  const bool may_drop = hit.cigar.size() > 1;
  normalize(hit.cigar, query, target);
  if (may_drop) drop_first_gap(hit, query, target);
  count(settings.scores, query, target, hit);
  if (settings.eqx) split_matches(hit.cigar, query, target);
}

namespace {

constexpr char lower(std::uint8_t code) { return "acgtn"[code]; }
constexpr char upper(std::uint8_t code) { return "ACGTN"[code]; }

// Bases [from, from + bases) of a gap, those in brackets by which it could be shifted to the right, and to the left.
void append_shifts(std::string& text, Codes own, std::size_t from, std::size_t bases) {
  std::size_t left = 0, right = 0;
  while (right < bases && from + bases + right < own.size() && own[from + bases + right] == own[from + right]) ++right;
  while (left < bases && left < from && own[from + bases - 1 - left] == own[from - 1 - left]) ++left;
  const auto append = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) text += lower(own[from + i]);
  };
  const auto append_bracketed = [&](std::size_t begin, std::size_t end) {
    if (begin == end) return;
    text += '[';
    append(begin, end);
    text += ']';
  };
  if (left + right >= bases) return append_bracketed(0, bases);
  append_bracketed(0, right);
  append(right, bases - left);
  append_bracketed(bases - left, bases);
}

// "~gt1234ag": its first two bases and its last two.
void append_intron(std::string& text, Codes bases) {
  text += '~';
  for (std::size_t i = 0; i < 2 && i < bases.size(); ++i) text += lower(bases[i]);
  text += std::to_string(bases.size());
  for (std::size_t i = std::max<std::size_t>(bases.size(), 2) - 2; i < bases.size(); ++i) text += lower(bases[i]);
}

}  // namespace

void append_difference(std::string& text, std::span<const std::uint32_t> cigar, Codes query, Codes target, DifferenceForm form, Shifts shifts) {
  std::size_t q = 0, t = 0;
  for (const std::uint32_t operation : cigar) {
    const std::size_t bases = operation >> 4;
    if (code_of(operation) == intron) {
      append_intron(text, target.subspan(t, bases));
      t += bases;
      continue;
    }
    if (is_gap(operation)) {
      const bool inserted = code_of(operation) == insertion;
      text += inserted ? '+' : '-';
      const Codes own = inserted ? query : target;
      std::size_t& at = inserted ? q : t;
      if (shifts == Shifts::shown)
        append_shifts(text, own, at, bases);
      else
        for (std::size_t i = 0; i < bases; ++i) text += lower(own[at + i]);
      at += bases;
      continue;
    }
    for (const std::size_t end = q + bases; q < end;) {
      if (query[q] != target[t]) {
        text += {'*', lower(target[t++]), lower(query[q++])};
        continue;
      }
      const std::size_t from = q;
      while (q < end && query[q] == target[t]) ++q, ++t;
      if (form == DifferenceForm::short_form) {
        text += ':' + std::to_string(q - from);
      } else {
        text += '=';
        for (std::size_t i = from; i < q; ++i) text += upper(query[i]);
      }
    }
  }
}

void append_mismatched_reference(std::string& text, std::span<const std::uint32_t> cigar, Codes query, Codes target) {
  std::size_t q = 0, t = 0, same = 0;
  const auto end_run = [&] {
    text += std::to_string(same);
    same = 0;
  };
  for (const std::uint32_t operation : cigar) {
    const std::size_t bases = operation >> 4;
    if (code_of(operation) == insertion) {
      q += bases;
    } else if (code_of(operation) == intron) {
      t += bases;
    } else if (code_of(operation) == deletion) {
      end_run();
      text += '^';
      for (std::size_t i = 0; i < bases; ++i) text += upper(target[t++]);
    } else {
      for (std::size_t i = 0; i < bases; ++i, ++q, ++t) {
        if (query[q] == target[t]) {
          ++same;
          continue;
        }
        end_run();
        text += upper(target[t]);
      }
    }
  }
  if (same > 0) end_run();
}

}  // namespace sluice::base_alignment
