// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/splicing/cut_target.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base_alignment/aligned_hit.hpp"
#include "base_alignment/kernel/columns.hpp"
#include "base_alignment/kernel/spliced_path.hpp"
#include "base_alignment/sequences.hpp"

namespace sluice::base_alignment {
namespace {

constexpr std::int32_t shortest_word = 11, longest_word = 16;  // that say what is not cut out
constexpr std::int32_t word_of_gain = 7;                       // k of the proof
constexpr std::int32_t least_cut = 128;                        // a shorter one is not worth it
constexpr std::int64_t most_score = 20'000;
constexpr std::size_t most_stretches = 4096;

// So many bases cost as much in an intron as in a deletion, or less.
std::int32_t intron_bases(const Scores& scores) { return (scores.gap_open_long - scores.gap_open + scores.gap_extend - 1) / scores.gap_extend; }
// What a column less than equal costs at least where it ends a row of equal ones: a mismatch, a base of an insertion, or a gap on the target. An
// insertion of more bases costs as much for the second one, and then for every word_of_gain of them. 0: none that the proof is known to be right
// for.
std::int32_t least_loss(const Scores& scores, bool has_ambiguous) {
  const std::int32_t of_inserted = scores.match + scores.gap_extend;
  std::int32_t loss = std::min({scores.match + std::min(scores.mismatch, scores.transition_penalty()), scores.gap_open + scores.gap_extend,
                                (scores.gap_open + 2 * of_inserted) / 2});
  if (has_ambiguous) loss = std::min(loss, scores.match - spliced_matrix_score(scores, 4, 4));
  return of_inserted * word_of_gain >= loss ? loss : 0;
}

// The shortest words of which hardly any is common to the read and the target by chance.
std::int32_t word_for(const Problem& problem) {
  const std::int64_t pairs = std::int64_t{4} * problem.query_length * problem.target_length;
  std::int32_t bases = shortest_word;
  while (bases < longest_word && std::int64_t{1} << 2 * bases < pairs) ++bases;
  return bases;
}

// Calls take(word, end) for each that many bases in a row, none of them ambiguous; end: behind its last one.
template <class Take>
void for_each_word(Codes codes, std::int32_t bases, const Take& take) {
  const std::uint32_t mask = bases == 16 ? 0xFFFFFFFFU : (1U << 2 * bases) - 1;
  std::uint32_t word = 0;
  std::int32_t known = 0;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::uint8_t code = codes[i];
    word = (word << 2 | (code & 3U)) & mask;
    known = code > 3 ? 0 : known + 1;
    if (known >= bases) take(word, static_cast<std::int32_t>(i) + 1);
  }
}

// Words of the read, in the order of its bases, and a table that says of most others that they are none.
class ReadWords {
 public:
  ReadWords(Codes query, std::int32_t bases, CutScratch& scratch) : scratch_(scratch) {
    scratch.may_have.assign((std::size_t{1} << place_bits) / 64, 0);
    scratch.words.clear();
    std::int32_t next = bases;
    for_each_word(query, bases, [&](std::uint32_t word, std::int32_t end) {
      // Those with an ambiguous base are like the one behind them.
      for (; next <= end; ++next) scratch.words.push_back(word);
      const std::uint32_t place = place_of(word);
      scratch.may_have[place / 64] |= std::uint64_t{1} << place % 64;
    });
  }
  bool may_have(std::uint32_t word) const {
    const std::uint32_t place = place_of(word);
    return (scratch_.may_have[place / 64] >> place % 64 & 1) != 0;
  }
  // Calls take(begin) for each place of a word on the read.
  template <class Take>
  void for_each_place(std::uint32_t word, const Take& take) const {
    for (auto at = scratch_.words.begin(); (at = std::find(at, scratch_.words.end(), word)) != scratch_.words.end(); ++at)
      take(static_cast<std::int32_t>(at - scratch_.words.begin()));
  }

 private:
  static constexpr std::uint32_t place_bits = 15;
  static std::uint32_t place_of(std::uint32_t word) { return word * 0x9E3779B1U >> (32 - place_bits); }
  CutScratch& scratch_;
};

// Losses that rise, by no more than one from base to base, and of which those of two parts of a path and an intron between them are no less than
// those of the whole.
void smooth(const Scores& scores, std::int32_t most_words, std::int32_t loss, std::vector<std::int32_t>& losses) {
  for (std::size_t m = losses.size() - 1; m-- > 0;) losses[m] = std::min(losses[m], losses[m + 1]);
  if ((most_words / word_of_gain + 2) * loss <= scores.gap_open_long) return;
  for (std::size_t m = 2; m < losses.size(); ++m)
    for (std::size_t part = 1; 2 * part <= m; ++part) losses[m] = std::min(losses[m], losses[part] + losses[m - part] + scores.gap_open_long);
}

// The least losses of paths in each cut, as the proof has them; false: it is not known to be right.
//
// Of m bases of the read, h of them in common words beyond one for each loss, (m - h) / k losses are needed. Deletions of d bases in all lose d *
// gap_extend at least, so that words further apart than m bases and as many deleted ones as cost what is claimed do not count.
bool find_losses(const Scores& scores, const Problem& problem, CutScratch& scratch, Cuts& cuts) {
  const bool ambiguous = has_ambiguous(problem.query, problem.query_length) || has_ambiguous(problem.target, problem.target_length);
  const std::int32_t loss = least_loss(scores, ambiguous), read = problem.query_length;
  if (loss < scores.gap_extend || loss <= 0) return false;
  std::vector<std::uint64_t>& is_word = scratch.may_have;
  is_word.assign((std::size_t{1} << 2 * word_of_gain) / 64, 0);
  for_each_word({problem.query, static_cast<std::size_t>(read)}, word_of_gain,
                [&](std::uint32_t word, std::int32_t) { is_word[word / 64] |= std::uint64_t{1} << word % 64; });
  std::vector<std::int32_t>& ends = scratch.hits;
  for (Cut& cut : cuts.of_target) {
    ends.clear();
    for_each_word({problem.target + cut.begin, static_cast<std::size_t>(cut.bases())}, word_of_gain, [&](std::uint32_t word, std::int32_t end) {
      if ((is_word[word / 64] >> word % 64 & 1) != 0) ends.push_back(end);
    });
    cut.losses.resize(static_cast<std::size_t>(read) + 1);
    constexpr std::int32_t step = 16;
    std::int32_t most_words = 0;
    for (std::int32_t most = step - 1, bases = 0; bases <= read; most += step) {
      // The most common words near enough to each other.
      const std::int32_t span = most + (most / word_of_gain * loss + scores.gap_extend - 1) / scores.gap_extend;
      std::int32_t& words = most_words;
      for (std::size_t first = 0, last = 0; last < ends.size(); ++last) {
        while (ends[first] <= ends[last] - span) ++first;
        words = std::max(words, static_cast<std::int32_t>(last - first) + 1);
      }
      for (; bases <= std::min(most, read); ++bases) cut.losses[static_cast<std::size_t>(bases)] = std::max(0, bases - words) / word_of_gain * loss;
    }
    smooth(scores, most_words, loss, cut.losses);
  }
  return true;
}

// The codes of [begin, end) of a piece, and its sites there, behind those of the short target.
void append_part(const SiteCosts& costs, const SitePiece& piece, std::int32_t begin, std::int32_t end, SiteScores& scores, ShortTarget& target) {
  // What an end of an intron costs is said by three bases behind it, or two before; of the last four bases of a piece nobody asks.
  constexpr std::int32_t before = 2, behind = 4;
  const std::int32_t from = std::max(0, begin - before), to = std::min(static_cast<std::int32_t>(piece.codes.size()), end + behind);
  SitePiece part = piece;
  part.codes = piece.codes.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from));
  score_sites(costs, part, {}, scores);
  const auto copy = [&](const std::vector<std::int8_t>& column, std::vector<std::int8_t>& to_column) {
    to_column.insert(to_column.end(), column.begin() + (begin - from), column.begin() + (end - from));
  };
  copy(scores.donor, target.sites.donor);
  copy(scores.acceptor, target.sites.acceptor);
  target.codes.insert(target.codes.end(), piece.codes.begin() + begin, piece.codes.begin() + end);
}

}  // namespace

std::int32_t Cuts::bases() const {
  return std::accumulate(of_target.begin(), of_target.end(), 0, [](std::int32_t sum, const Cut& cut) { return sum + cut.bases(); });
}

void find_cuts(const Scores& scores, const Problem& problem, CutScratch& scratch, Cuts& cuts) {
  constexpr std::int32_t spare = 16, around = 80;  // bases of exons that a read lacks; of an exon beside the read's words in it
  cuts.of_target.clear();
  if (problem.goal != Goal::ends || problem.ties != TieOrder::gap_right || problem.query_length <= 0 || !intron_costs_fit(scores)) return;
  const std::int64_t at_end = std::int64_t{problem.query_length} + intron_bases(scores) + spare;
  if (problem.target_length < 2 * at_end + 2 * least_cut || std::int64_t{problem.query_length} * scores.match > most_score) return;
  const std::int32_t bases = word_for(problem);
  const std::int32_t query = problem.query_length, target = problem.target_length;
  const auto first = static_cast<std::int32_t>(at_end), last = static_cast<std::int32_t>(target - at_end);
  const ReadWords words({problem.query, static_cast<std::size_t>(query)}, bases, scratch);
  std::vector<Cut>& kept = scratch.kept;
  kept.assign(1, {0, first});
  const Codes middle(problem.target + first, static_cast<std::size_t>(last - first));
  for_each_word(middle, bases, [&](std::uint32_t word, std::int32_t end) {
    if (!words.may_have(word) || kept.size() > most_stretches) return;
    words.for_each_place(word, [&](std::int32_t place) {
      const std::int32_t behind = first + end, begin = behind - bases;
      Cut stretch{begin - std::min(place, around) - spare, behind + std::min(query - place - bases, around) + spare};
      // Rows of a matrix that is not narrower than the read stay in registers.
      if (const std::int32_t less = query + spare - stretch.bases(); less > 0) {
        stretch.begin -= less / 2;
        stretch.end += (less + 1) / 2;
      }
      kept.push_back({std::max(0, stretch.begin), std::min(target, stretch.end)});
    });
  });
  kept.push_back({last, target});
  if (kept.size() > most_stretches) return;
  std::sort(kept.begin(), kept.end(), [](const Cut& a, const Cut& b) { return a.begin < b.begin; });
  std::int32_t end = 0;
  for (const Cut& stretch : kept) {
    if (stretch.begin - end >= least_cut) cuts.of_target.push_back({end, stretch.begin});
    end = std::max(end, stretch.end);
  }
  // It must be worth the proof.
  if (std::int64_t{2} * cuts.bases() < target) cuts.of_target.clear();
  if (cuts.any() && !find_losses(scores, problem, scratch, cuts)) cuts.of_target.clear();
}

void cut_out(const SiteCosts& costs, const SitePiece& piece, std::span<const Cut> cuts, ShortTarget& target) {
  target.codes.clear();
  target.sites.donor.clear();
  target.sites.acceptor.clear();
  SiteScores scores;
  std::int32_t begin = 0;
  for (const Cut& cut : cuts) {
    append_part(costs, piece, begin, cut.begin, scores, target);
    begin = cut.end;
  }
  append_part(costs, piece, begin, static_cast<std::int32_t>(piece.codes.size()), scores, target);
}

void want_edges(const Cuts& cuts, CutScratch& scratch) {
  scratch.edges.resize(cuts.of_target.size());
  std::int32_t gone = 0;
  for (std::size_t i = 0; i < cuts.of_target.size(); ++i) {
    scratch.edges[i].column = cuts.of_target[i].begin - gone - 1;
    gone += cuts.of_target[i].bases();
  }
}

bool put_back(std::span<const Cut> cuts, std::vector<std::uint32_t>& cigar) {
  std::int32_t target = 0, gone = 0;
  auto cut = cuts.begin();
  for (std::uint32_t& operation : cigar) {
    if (code_of(operation) == insertion) continue;
    const std::int32_t begin = target, end = target + bases_of(operation);
    for (; cut != cuts.end() && end > cut->begin - gone; ++cut) {
      if (code_of(operation) != intron || begin > cut->begin - gone) return false;
      operation += static_cast<std::uint32_t>(cut->bases()) << 4;
      gone += cut->bases();
    }
    target = end;
  }
  return cut == cuts.end();
}

std::int32_t highest_with_two_introns(const Scores& scores, const Problem& whole) {
  return whole.query_length * scores.match - 2 * scores.gap_open_long;
}

std::int32_t highest_through_cuts(const Scores& scores, const Problem& whole, const Cuts& cuts, const ShortTarget& target, SplicedRows& rows,
                                  CutScratch& scratch) {
  const std::int32_t at_once = highest_with_two_introns(scores, whole);
  const auto parts = static_cast<std::size_t>(whole.query_length) + 1;
  SplicedEdge through;  // what leaves the stretch before a cut, on paths through an earlier one
  for (std::size_t i = 0; i < cuts.of_target.size(); ++i) {
    const SplicedEdge& before = scratch.edges[i];
    if (before.score.size() != parts) return at_once;
    // At the score of a cell of the cut, or behind it.
    std::vector<std::int32_t>&best = scratch.best, &intron = scratch.intron;
    best.resize(parts);
    intron.resize(parts);
    for (std::size_t j = 0; j < parts; ++j) {
      best[j] = std::max(before.score[j], before.intron[j]);
      if (i > 0) best[j] = std::max({best[j], through.score[j], through.intron[j]});
    }
    scratch.score = best;
    const std::vector<std::int32_t>& losses = cuts.of_target[i].losses;
    for (std::size_t m = 1; m < parts; ++m)
      raise_to_sums(scratch.score.data() + m, best.data(), static_cast<std::int32_t>(m) * scores.match - losses[m],
                    static_cast<std::int32_t>(parts - m));
    for (std::size_t j = 0; j < parts; ++j) {
      intron[j] = scratch.score[j] - scores.gap_open_long;
      if (i > 0) intron[j] = std::max(intron[j], through.intron[j]);
    }
    // The stretch behind it.
    Problem stretch = whole;
    const std::int32_t begin = before.column + 1,
                       end = i + 1 < cuts.of_target.size() ? scratch.edges[i + 1].column + 1 : static_cast<std::int32_t>(target.codes.size());
    stretch.target = target.codes.data() + begin;
    stretch.target_length = end - begin;
    const auto part = [&](const std::vector<std::int8_t>& column) {
      return std::span(column).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    };
    through.column = stretch.target_length - 1;
    score_spliced_edges(scores, stretch, {part(target.sites.donor), part(target.sites.acceptor)}, {scratch.score, intron}, rows, {&through, 1});
    if (through.score.size() != parts) return at_once;
  }
  return std::min(through.score.back(), at_once);
}

}  // namespace sluice::base_alignment
