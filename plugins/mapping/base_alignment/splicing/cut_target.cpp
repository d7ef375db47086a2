// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/splicing/cut_target.hpp"

#include <algorithm>

#include "base_alignment/aligned_hit.hpp"
#include "base_alignment/kernel/columns.hpp"
#include "base_alignment/sequences.hpp"

namespace sluice::base_alignment {
namespace {

// So many bases cost as much in an intron as in a deletion, or less.
std::int32_t intron_bases(const Scores& scores) { return (scores.gap_open_long - scores.gap_open + scores.gap_extend - 1) / scores.gap_extend; }

// The codes of [begin, end) of a piece, with its sites at [from, to) appended to those of the short target.
void append_part(const SiteCosts& costs, const SitePiece& piece, std::int32_t begin, std::int32_t end, std::int32_t from, std::int32_t to,
                 ShortTarget& target) {
  SitePiece part = piece;
  part.codes = piece.codes.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  SiteScores scores;
  score_sites(costs, part, {}, scores);
  const auto copy = [&](const std::vector<std::int8_t>& column, std::vector<std::int8_t>& to_column) {
    to_column.insert(to_column.end(), column.begin() + (from - begin), column.begin() + (to - begin));
  };
  copy(scores.donor, target.sites.donor);
  copy(scores.acceptor, target.sites.acceptor);
  target.codes.insert(target.codes.end(), piece.codes.begin() + from, piece.codes.begin() + to);
}

}  // namespace

Cut cut_of(const Scores& scores, const Problem& problem) {
  constexpr std::int32_t spare = 16, least = 256;  // bases of exons that a read lacks; a shorter middle is not worth it
  if (problem.goal != Goal::ends || problem.ties != TieOrder::gap_right || !intron_costs_fit(scores)) return {};
  const std::int64_t kept = std::int64_t{problem.query_length} + intron_bases(scores) + spare;
  if (problem.target_length < 2 * kept + std::max(least, 2 * intron_bases(scores))) return {};
  return {static_cast<std::int32_t>(kept), static_cast<std::int32_t>(problem.target_length - kept)};
}

void leave_out(const SiteCosts& costs, const SitePiece& piece, Cut cut, ShortTarget& target) {
  // What an end of an intron costs is said by three bases behind it, or two before; of the last four bases of a piece nobody asks.
  constexpr std::int32_t behind = 4, before = 2;
  const auto length = static_cast<std::int32_t>(piece.codes.size());
  target.codes.clear();
  target.sites.donor.clear();
  target.sites.acceptor.clear();
  append_part(costs, piece, 0, cut.begin + behind, 0, cut.begin, target);
  append_part(costs, piece, cut.end - before, length, cut.end, length, target);
}

namespace {

constexpr std::int32_t longest_word = 16, shortest_word = 9;

// What a column less than equal costs at least where it ends a row of equal ones: a mismatch, a base of an insertion, or a gap on the target. An
// insertion of more bases costs as much for the second one, and then for every longest_word of them. 0: none that the proof is known to be right for.
std::int32_t least_loss(const Scores& scores) {
  const std::int32_t of_inserted = scores.match + scores.gap_extend;
  const std::int32_t loss = std::min({scores.match + std::min(scores.mismatch, scores.transition_penalty()), scores.gap_open + scores.gap_extend,
                                      (scores.gap_open + 2 * of_inserted) / 2});
  return of_inserted * shortest_word >= loss ? loss : 0;
}

// What leaves the last column of the part behind the middle, seen from its end.
void score_behind(const Scores& scores, const Problem& whole, Cut cut, const ShortTarget& target, SplicedRows& rows, CutProof& proof) {
  const auto begin = target.codes.begin() + cut.begin;
  const std::size_t bases = target.codes.size() - static_cast<std::size_t>(cut.begin);
  proof.query.assign(whole.query, whole.query + whole.query_length);
  std::reverse(proof.query.begin(), proof.query.end());
  ShortTarget& reversed = proof.reversed;
  reversed.codes.assign(begin, target.codes.end());
  std::reverse(reversed.codes.begin(), reversed.codes.end());
  // An intron opens where it closed, a base further on; at the border to the middle for nothing.
  const auto reverse = [&](const std::vector<std::int8_t>& from, std::vector<std::int8_t>& to) {
    to.assign(from.begin() + cut.begin, from.end() - 1);
    std::reverse(to.begin(), to.end());
    to.push_back(0);
  };
  reverse(target.sites.acceptor, reversed.sites.donor);
  reverse(target.sites.donor, reversed.sites.acceptor);
  Problem problem = whole;
  problem.query = proof.query.data();
  problem.target = reversed.codes.data();
  problem.target_length = static_cast<std::int32_t>(bases);
  proof.behind.column = problem.target_length - 1;
  score_spliced_edge(scores, problem, {reversed.sites.donor, reversed.sites.acceptor}, rows, proof.behind);
}
void score_before(const Scores& scores, const Problem& whole, Cut cut, const ShortTarget& target, SplicedRows& rows, CutProof& proof) {
  Problem problem = whole;
  problem.target = target.codes.data();
  problem.target_length = cut.begin;
  proof.before.column = cut.begin - 1;
  score_spliced_edge(scores, problem, {target.sites.donor, target.sites.acceptor}, rows, proof.before);
}

// By bases of the read in the middle: the highest sum of what leaves the part before and what enters the part behind.
void add_parts(CutProof& proof) {
  const std::size_t count = proof.before.leaving.size();
  const auto narrow = [](std::int32_t value) { return static_cast<std::int16_t>(std::max(value, -10'000)); };
  proof.leaving.resize(count);
  proof.entering.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    proof.leaving[i] = narrow(proof.before.leaving[i]);
    proof.entering[i] = narrow(proof.behind.leaving[count - 1 - i]);
  }
  proof.best_of_length.resize(count);
  for (std::size_t between = 0; between < count; ++between)
    proof.best_of_length[between] = highest_sum(proof.leaving.data(), proof.entering.data() + between, static_cast<std::int32_t>(count - between));
}

// The longest words that, if the middle has none of the read's, leave any path through it less than `score`; 0: none do.
std::int32_t longest_proving_word(const Scores& scores, std::int32_t score, std::int32_t loss, const std::vector<std::int32_t>& best_of_length) {
  for (std::int32_t word = longest_word; word >= shortest_word; --word) {
    bool proves = true;
    for (std::int32_t between = 0; proves && between < static_cast<std::int32_t>(best_of_length.size()); ++between)
      proves = best_of_length[static_cast<std::size_t>(between)] + between * scores.match - between / word * loss < score;
    if (proves) return word;
  }
  return 0;
}

// Calls take(word) for each that many bases in a row, without ambiguous ones among them.
template <class Take>
bool for_each_word(Codes codes, std::int32_t bases, const Take& take) {
  const std::uint32_t mask = bases == 16 ? 0xFFFFFFFFU : (1U << 2 * bases) - 1;
  std::uint32_t word = 0;
  std::size_t i = 0;
  for (; i + 1 < std::min<std::size_t>(codes.size(), static_cast<std::size_t>(bases)); ++i) word = word << 2 | codes[i];
  for (; i < codes.size(); ++i) {
    word = (word << 2 | codes[i]) & mask;
    if (!take(word)) return false;
  }
  return true;
}
bool has_common_word(Codes query, Codes middle, std::int32_t bases, CutProof& proof) {
  constexpr std::uint32_t place_bits = 15;
  const auto place_of = [](std::uint32_t word) { return word * 0x9E3779B1U >> (32 - place_bits); };
  proof.may_have.assign((std::size_t{1} << place_bits) / 64, 0);
  proof.words.clear();
  for_each_word(query, bases, [&](std::uint32_t word) {
    const std::uint32_t place = place_of(word);
    proof.may_have[place / 64] |= std::uint64_t{1} << place % 64;
    proof.words.push_back(word);
    return true;
  });
  const std::uint64_t* const may_have = proof.may_have.data();
  return !for_each_word(middle, bases, [&](std::uint32_t word) {
    const std::uint32_t place = place_of(word);
    if ((may_have[place / 64] >> place % 64 & 1) == 0) return true;
    return std::find(proof.words.begin(), proof.words.end(), word) == proof.words.end();
  });
}

}  // namespace

bool is_proven(const Scores& scores, const Problem& whole, Cut cut, const ShortTarget& target, std::int32_t score, SplicedRows& rows,
               CutProof& proof) {
  const std::int64_t of_equal = std::int64_t{whole.query_length} * scores.match;
  if (score > of_equal - 2 * std::int64_t{scores.gap_open_long}) return true;
  const std::int32_t loss = least_loss(scores);
  if (loss <= 0 || of_equal > 20'000 || score <= of_equal - scores.gap_open - std::int64_t{cut.bases()} * scores.gap_extend) return false;
  if (has_ambiguous(whole.query, whole.query_length) || has_ambiguous(whole.target + cut.begin, cut.bases())) return false;
  const auto parts = static_cast<std::size_t>(whole.query_length) + 1;
  if (proof.before.leaving.size() != parts) score_before(scores, whole, cut, target, rows, proof);
  score_behind(scores, whole, cut, target, rows, proof);
  if (proof.before.leaving.size() != parts || proof.behind.leaving.size() != parts) return false;
  add_parts(proof);
  const std::int32_t word = longest_proving_word(scores, score, loss, proof.best_of_length);
  return word > 0 && !has_common_word({whole.query, static_cast<std::size_t>(whole.query_length)},
                                      {whole.target + cut.begin, static_cast<std::size_t>(cut.bases())}, word, proof);
}

bool put_back(Cut cut, std::vector<std::uint32_t>& cigar) {
  std::int32_t target = 0;
  for (std::uint32_t& operation : cigar) {
    if (code_of(operation) == insertion) continue;
    const std::int32_t end = target + bases_of(operation);
    if (end > cut.begin) {
      if (code_of(operation) != intron || target > cut.begin) return false;
      operation += static_cast<std::uint32_t>(cut.bases()) << 4;
      return true;
    }
    target = end;
  }
  return false;
}

}  // namespace sluice::base_alignment
