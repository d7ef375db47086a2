// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The votes on a window's consensus (consensus_vote.hpp) by a team of threads, each of which has one of the sequences: a warp of a device, or one
// thread of the host, which is how tests compare them with ConsensusVote. What a team offers, all of it called by all of its threads:
//
//   rank(), size()             this thread's number, and how many there are: a power of two, 32 at most
//   sync()                     memory written by any is seen by all
//   any(flag)                  whether a thread says so
//   ballot(flag)               a bit for each thread
//   sum(value)                 of all threads
//   sum_before(value, total)   of the threads of lower ranks, and of all
//   from(value, rank)          the value of that thread
//
// Paths are those of banded_alignments.hpp, from the same bit vectors. On the way back all threads are at one base of the consensus at a time, so
// that what they say of it is summed up at once, and nothing is kept of a path.

#include <cstddef>
#include <cstdint>
#include <sluice/host_device.hpp>
#include <sluice/sequence/bases.hpp>

#include "read_correction/ballot_row.hpp"
#include "read_correction/band_words.hpp"
#include "read_correction/variant_sites.hpp"
#include "read_correction/vote_rules.hpp"

namespace sluice::read_correction {

// So many sequences of a window: their votes are summed up in 16 bits.
inline constexpr std::uint32_t most_voters = 0xFFFF / highest_vote;

struct WindowSequences {
  const char* letters;          // of all sequences, one after the other
  const char* qualities;        // Phred + 33; null: every letter has one vote
  const std::int32_t* lengths;  // which add up
  std::uint32_t count;          // most_voters at the most
};

// What a team works in.
struct VoteMemory {
  std::int32_t columns;    // that a consensus may have
  std::uint32_t* planes;   // LetterPlanes::all_words(columns) for each thread
  std::byte* cells;        // cell_bytes(columns, threads)
  std::uint32_t* ballots;  // ballot_words(columns)
  char* texts;             // two of `columns`

  // Threads that may be in the wider band at a time: they take as much as all do in the other one.
  static constexpr std::uint32_t wide_slots(std::uint32_t threads) { return threads < 4 ? 1 : threads / 4; }
  static constexpr std::size_t cell_bytes(std::size_t columns, std::uint32_t threads) { return columns * 2 * sizeof(WideWord) * wide_slots(threads); }
  static constexpr std::size_t ballot_words(std::size_t columns) { return (columns + 1) * BallotRow::words; }
};

// What a sequence has at one base of the consensus, or if base is -1, before all of them.
struct AtBase {
  std::int32_t base;
  bool known;                   // of others nothing is to be counted
  bool missing, differs;        // the letter
  bool inserts;                 // letters behind it that the consensus lacks
  std::int32_t letters_before;  // letters that belong to this base and to those before
  std::uint32_t code;           // of the letter, if it is not missing
  std::uint32_t inserted_code;  // of the first one behind it, if it inserts
};

template <class Team>
class WindowVote {
 public:
  SLUICE_HOST_DEVICE WindowVote(Team& team, const WindowSequences& sequences, const VoteMemory& memory, const char* consensus, std::int32_t columns)
      : team_(team), sequences_(sequences), memory_(memory), consensus_(consensus), columns_(columns) {}

  // As ConsensusVote::refine() has it. False: a sequence is too different for the wider band, or the consensus becomes too long.
  SLUICE_HOST_DEVICE bool refine(std::int32_t rounds) {
    for (std::int32_t round = 0; round < rounds && columns_ > 0; ++round) {
      clear_ballots();
      Votes votes{*this};
      if (!align_all(votes)) return false;
      char* const to = memory_.texts + round % 2 * memory_.columns;
      const std::int32_t elected = elect(to);
      if (elected < 0) return false;
      if (elected == 0 || is_consensus(to, elected)) return true;
      consensus_ = to;
      columns_ = elected;
    }
    return true;
  }

  SLUICE_HOST_DEVICE const char* consensus() const { return consensus_; }
  SLUICE_HOST_DEVICE std::int32_t columns() const { return columns_; }

  // Behind refine() with one round or more: which bases are sites, a bit each, in words that begin with 0. How many there are; -1: as refine().
  SLUICE_HOST_DEVICE std::int32_t find_sites(std::uint32_t* mask) {
    if (columns_ == 0 || !may_have_sites_) return 0;
    clear_ballots();
    Differences differences{*this};
    if (!align_all(differences)) return -1;
    team_.sync();
    const std::int32_t support = least_support(voters());
    std::int32_t sites = 0;
    for (std::int32_t first = 0; first < columns_; first += band_word_bits) {
      std::uint32_t bits = 0;
      for (std::uint32_t i = 0; i < band_word_bits; i += team_.size()) {
        const std::int32_t base = first + static_cast<std::int32_t>(i + team_.rank());
        bits |= team_.ballot(base < columns_ && ballot(base).most_of_base() >= support) << i;
      }
      if (team_.rank() == 0) mask[first / band_word_bits] = bits;
      sites += count_ones(bits);
    }
    team_.sync();
    return sites;
  }

  // `sites` of them as find_sites() has found them: their places, and for each the letters of all sequences.
  SLUICE_HOST_DEVICE bool write_sites(const std::uint32_t* mask, std::int32_t sites, std::int32_t* places, char* letters) {
    std::int32_t before = 0;
    for (std::int32_t first = 0; first < columns_; first += band_word_bits) {
      const std::uint32_t bits = mask[first / band_word_bits];
      for (std::uint32_t bit = team_.rank(); bit < band_word_bits; bit += team_.size())
        if ((bits >> bit & 1U) != 0) places[before + count_ones(bits & ((1U << bit) - 1))] = first + static_cast<std::int32_t>(bit);
      before += count_ones(bits);
    }
    for (std::uint32_t sequence = team_.rank(); sequence < sequences_.count; sequence += team_.size())
      for (std::int32_t site = 0; sequences_.lengths[sequence] == 0 && site < sites; ++site) letters[letter_of_site(site, sequence)] = '-';
    SiteLetters of_sites{*this, mask, sites, letters, sites};
    return align_all(of_sites);
  }

 private:
  // Whoever is called from the last base to the first: what all threads have there.
  struct Votes {
    WindowVote& vote;
    SLUICE_HOST_DEVICE void begin() {}
    SLUICE_HOST_DEVICE void operator()(const AtBase& at) { vote.count_votes(at); }
  };
  struct Differences {
    WindowVote& vote;
    SLUICE_HOST_DEVICE void begin() {}
    SLUICE_HOST_DEVICE void operator()(const AtBase& at) {
      if (at.base < 0) return;
      BallotRow mine;
      if (at.known && at.differs) mine.add_base(at.code, 1);
      vote.add(at.base, mine);
    }
  };
  struct SiteLetters {
    WindowVote& vote;
    const std::uint32_t* mask;
    std::int32_t sites;
    char* letters;
    std::int32_t site;
    SLUICE_HOST_DEVICE void begin() { site = sites; }
    SLUICE_HOST_DEVICE void operator()(const AtBase& at) {
      if (at.base < 0 || (mask[at.base / band_word_bits] >> (at.base % band_word_bits) & 1U) == 0) return;
      --site;
      if (!at.known) return;
      const bool has_letter = !at.missing && !(at.differs && at.code == ambiguous_code);
      letters[vote.letter_of_site(site, vote.first_ + vote.team_.rank())] = !has_letter  ? '-'
                                                                            : at.differs ? letter_of_code(at.code)
                                                                                         : vote.consensus_[at.base];
    }
  };

  SLUICE_HOST_DEVICE std::size_t letter_of_site(std::int32_t site, std::uint32_t sequence) const {
    return static_cast<std::size_t>(site) * sequences_.count + sequence;
  }

  // Rows of ballots: of a base, with what is behind it; the first one of what is before all bases.
  SLUICE_HOST_DEVICE BallotRow ballot(std::int32_t base) const {
    BallotRow row;
    for (std::uint32_t i = 0; i < BallotRow::words; ++i) row.word[i] = memory_.ballots[static_cast<std::uint32_t>(base + 1) * BallotRow::words + i];
    return row;
  }
  SLUICE_HOST_DEVICE void clear_ballots() {
    team_.sync();
    const std::uint32_t words = static_cast<std::uint32_t>(columns_ + 1) * BallotRow::words;
    for (std::uint32_t i = team_.rank(); i < words; i += team_.size()) memory_.ballots[i] = 0;
    team_.sync();
  }
  // Of all threads.
  SLUICE_HOST_DEVICE void add(std::int32_t base, BallotRow row) {
    for (std::uint32_t& word : row.word) word = team_.sum(word);
    std::uint32_t* const to = memory_.ballots + static_cast<std::uint32_t>(base + 1) * BallotRow::words;
    // Each word always by the same thread, so that nobody has to wait.
    for (std::uint32_t i = team_.rank(); i < BallotRow::words; i += team_.size()) {
      std::uint32_t word = 0;
      for (std::uint32_t k = 0; k < BallotRow::words; ++k) word = k == i ? row.word[k] : word;  // a register has no index
      to[i] += word;
    }
  }

  SLUICE_HOST_DEVICE std::uint32_t vote(std::int32_t letter) const { return votes_ == nullptr ? 1 : vote_of(votes_[letter]); }
  SLUICE_HOST_DEVICE void count_votes(const AtBase& at) {
    BallotRow mine;
    if (at.known) {
      const std::uint32_t of_letter = at.letters_before > 0 ? vote(at.letters_before - 1) : votes_without_neighbour;
      const std::uint32_t of_next = at.letters_before < length_ ? vote(at.letters_before) : votes_without_neighbour;
      const std::uint32_t of_gap = of_letter < of_next ? of_letter : of_next;
      if (at.missing)
        mine.add_no_base(of_gap);
      else if (at.base >= 0)
        mine.add_base(at.code, of_letter);
      if (at.inserts)
        mine.add_inserted(at.inserted_code, of_next);
      else
        mine.add_nothing_inserted(of_gap);
    }
    add(at.base, mine);
  }

  // The letters that most votes are for, at `to`. How many; -1: there is no room.
  SLUICE_HOST_DEVICE std::int32_t elect(char* to) {
    team_.sync();
    std::int32_t written = 0;
    bool contested = false;
    const auto threads = static_cast<std::int32_t>(team_.size());
    for (std::int32_t first = -1; first < columns_; first += threads) {
      const std::int32_t base = first + static_cast<std::int32_t>(team_.rank());
      Elected elected;
      if (base < columns_) {
        const BallotRow votes = ballot(base);
        elected.inserted = votes.elect_inserted();
        if (base >= 0) elected.base = votes.elect_base(consensus_[base], contested);
      }
      std::uint32_t total = 0;
      const std::uint32_t mine = (elected.base.is_there ? 1U : 0U) + (elected.inserted.is_there ? 1U : 0U);
      std::int32_t at = written + static_cast<std::int32_t>(team_.sum_before(mine, total));
      written += static_cast<std::int32_t>(total);
      if (written > memory_.columns) return -1;
      if (elected.base.is_there) to[at++] = elected.base.letter;
      if (elected.inserted.is_there) to[at] = elected.inserted.letter;
    }
    may_have_sites_ = team_.any(contested);
    team_.sync();
    return written;
  }
  struct Elected {
    ElectedLetter base, inserted;
  };

  SLUICE_HOST_DEVICE bool is_consensus(const char* text, std::int32_t length) {
    bool differs = length != columns_;
    for (auto i = static_cast<std::int32_t>(team_.rank()); i < length && !differs; i += static_cast<std::int32_t>(team_.size()))
      differs = text[i] != consensus_[i];
    return !team_.any(differs);
  }

  SLUICE_HOST_DEVICE std::int32_t voters() {
    std::uint32_t mine = 0;
    for (std::uint32_t sequence = team_.rank(); sequence < sequences_.count; sequence += team_.size())
      mine += sequences_.lengths[sequence] > 0 ? 1 : 0;
    return static_cast<std::int32_t>(team_.sum(mine));
  }

  // Calls `at_base` for all bases and all sequences that have letters. False: of some it was not called.
  template <class AtEachBase>
  SLUICE_HOST_DEVICE bool align_all(AtEachBase& at_base) {
    std::uint32_t letters = 0;
    for (first_ = 0; first_ < sequences_.count; first_ += team_.size()) {
      take_sequences(letters);
      const Slot of_thread{length_ > 0, team_.rank(), team_.size()};
      bool waits = align<NarrowWord>(of_thread, at_base);
      while (team_.any(waits)) {
        std::uint32_t waiting = 0;
        Slot slot{waits, team_.sum_before(waits ? 1 : 0, waiting), VoteMemory::wide_slots(team_.size())};
        slot.is_taken = waits && slot.number < slot.count;
        if (team_.any(align<WideWord>(slot, at_base))) return false;
        waits = waits && !slot.is_taken;
      }
    }
    return true;
  }

  // Each thread its sequence, from first_ on. `letters`: of all sequences before, and then also of these.
  SLUICE_HOST_DEVICE void take_sequences(std::uint32_t& letters) {
    const std::uint32_t threads = team_.size(), there = sequences_.count - first_ < threads ? sequences_.count - first_ : threads;
    length_ = team_.rank() < there ? sequences_.lengths[first_ + team_.rank()] : 0;
    std::uint32_t total = 0;
    const std::uint32_t begin = letters + team_.sum_before(static_cast<std::uint32_t>(length_), total);
    letters += total;
    votes_ = sequences_.qualities == nullptr ? nullptr : sequences_.qualities + begin;
    const std::int32_t words = LetterPlanes::words(columns_);
    if (first_ == taken_ && words <= taken_words_) return;
    team_.sync();
    LetterPlanes planes(memory_.planes, threads, team_.rank());
    for (std::uint32_t sequence = 0; sequence < threads; ++sequence) {
      const std::int32_t length = team_.from(length_, sequence);
      const char* const from = sequences_.letters + team_.from(begin, sequence);
      for (std::int32_t word = 0; word < words; ++word) {
        const LetterBits bits = letter_bits(team_, from, length, word * band_word_bits - LetterPlanes::padding);
        if (sequence == team_.rank()) planes.set(word, bits);
      }
    }
    taken_ = first_;
    taken_words_ = words;
  }

  // Whether a thread has a place for its cells, and which.
  struct Slot {
    bool is_taken;
    std::uint32_t number, count;
  };

  // Aligns the sequences of the threads with a place. True: the thread's paths may leave the band.
  template <class Word, class AtEachBase>
  SLUICE_HOST_DEVICE bool align(Slot slot, AtEachBase& at_base) {
    using Band = BandOf<Word>;
    const bool wants = slot.is_taken;
    const std::int32_t longer = length_ - columns_;
    slot.is_taken = wants && Band::has(longer);
    const std::int32_t end = slot.is_taken ? Band::bit_of(longer) : Band::middle;
    const std::int32_t differences = fill<Word>(slot, end);
    slot.is_taken = slot.is_taken && Band::holds(differences, longer);
    if (team_.any(slot.is_taken)) walk_back<Word>(slot, end, at_base);
    return wants && !slot.is_taken;
  }

  // [column][low and high][slot]
  template <class Word>
  SLUICE_HOST_DEVICE Word* cells(const Slot& slot, std::int32_t column) const {
    return reinterpret_cast<Word*>(memory_.cells) + static_cast<std::size_t>(column) * 2 * slot.count + slot.number;
  }

  // The differences at the last column's bit `end`.
  template <class Word>
  SLUICE_HOST_DEVICE std::int32_t fill(const Slot& slot, std::int32_t end) {
    BandColumn<Word> band;
    const LetterPlanes planes(memory_.planes, team_.size(), team_.rank());
    std::int32_t differences = end > BandOf<Word>::middle ? end - BandOf<Word>::middle : 0;
    for (std::int32_t first = 0; first < columns_; first += band_word_bits) {
      const LetterBits pattern = letter_bits(team_, consensus_, columns_, first);
      const BandLetters<Word> text(planes, first / band_word_bits);
      const std::int32_t count = columns_ - first < band_word_bits ? columns_ - first : band_word_bits;
      Word* to = cells<Word>(slot, first);
      for (std::int32_t i = 0; i < count; ++i, to += 2 * slot.count) {
        const BandCells<Word> cells = band.next(text.equal(i, pattern));
        if (slot.is_taken) {
          to[0] = cells.low;
          to[slot.count] = cells.high;
        }
        differences += static_cast<std::int32_t>(~static_cast<std::uint32_t>(band.same_diagonal >> end) & 1U);
      }
    }
    return differences;
  }

  template <class Word>
  SLUICE_HOST_DEVICE BandCells<Word> fetch_cells(const Slot& slot, std::int32_t column) const {
    if (!slot.is_taken || column < 0) return {0, 0};
    const Word* const from = cells<Word>(slot, column);
    return {from[0], from[slot.count]};
  }

  template <class Word, class AtEachBase>
  SLUICE_HOST_DEVICE void walk_back(const Slot& slot, std::int32_t end, AtEachBase& at_base) {
    const LetterPlanes planes(memory_.planes, team_.size(), team_.rank());
    BandCells<Word> next = fetch_cells<Word>(slot, columns_ - 1);
    at_base.begin();
    std::int32_t at = end;
    for (std::int32_t first = (columns_ - 1) / band_word_bits * band_word_bits; first >= 0; first -= band_word_bits) {
      const BandLetters<Word> text(planes, first / band_word_bits);
      for (std::int32_t i = (columns_ - first < band_word_bits ? columns_ - first : band_word_bits) - 1; i >= 0; --i) {
        const BandCells<Word> cells = next;
        next = fetch_cells<Word>(slot, first + i - 1);  // before they are needed
        const std::int32_t inserted = cells.inserted_down_from(at);
        at -= inserted;
        const bool missing = cells.is_missing(at), differs = cells.is_other(at);
        at_base(AtBase{.base = first + i,
                       .known = slot.is_taken,
                       .missing = missing,
                       .differs = differs,
                       .inserts = inserted > 0,
                       .letters_before = first + i + 1 + at - BandOf<Word>::middle,
                       .code = text.code(i, at),
                       .inserted_code = text.code(i, at + (inserted > 0 ? 1 : 0))});
        at += missing ? 1 : 0;
      }
    }
    // What is left is before the first base.
    at_base(AtBase{.base = -1,
                   .known = slot.is_taken,
                   .missing = false,
                   .differs = false,
                   .inserts = at > BandOf<Word>::middle,
                   .letters_before = 0,
                   .code = 0,
                   .inserted_code = planes.first_code()});
  }

  Team& team_;
  WindowSequences sequences_;
  VoteMemory memory_;
  const char* consensus_;
  std::int32_t columns_;
  bool may_have_sites_ = false;
  std::uint32_t first_ = 0;  // of the sequences that the threads have
  std::uint32_t taken_ = 0;  // those whose letters are in memory_.planes, so many words of them
  std::int32_t taken_words_ = 0;
  // The thread's.
  std::int32_t length_ = 0;
  const char* votes_ = nullptr;
};

}  // namespace sluice::read_correction
