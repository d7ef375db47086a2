// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Anchors between the signal of a read and a squiggle reference: runs of events that both have.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "signal_seeding/seed_rules.hpp"
#include "signal_seeding/signal_events.hpp"
#include "signal_seeding/squiggle_index.hpp"

namespace sluice::signal_seeding {

struct SeedingParameters {
  SegmentationParameters segmentation;
  // An event whose level is within this of a border between symbols may have either; steps of 1/64.
  std::int32_t uncertainty = 12;
  // Of a run so many events, those nearest to a border, are tried with both symbols: 2^n look-ups.
  std::int32_t most_uncertain = 5;
  // Seeds with more entries in the reference are left out.
  std::int32_t most_occurrences = 64;
  // Anchors with no other so near on the strand, on a diagonal that differs by no more than `most_shift`, are left out: they are in no chain of two.
  std::int32_t most_distance = 200, most_shift = 60;
};

// As minimap2's: a strand of a target (2 * target, + 1 reverse) << 32 | column of the strand; events of a run << 32 | place on the read, in columns.
struct Anchor {
  std::uint64_t x = 0, y = 0;
  friend auto operator<=>(const Anchor&, const Anchor&) = default;
};

// What all reads are looked up with. The index outlives it.
struct Seeding {
  Seeding(const SeedingParameters& seeding_parameters, const SquiggleIndexView& view)
      : parameters(seeding_parameters), index(view), symbols(symbol_table(view.borders, seeding_parameters.uncertainty)) {}
  SeedingParameters parameters;
  SquiggleIndexView index;
  SymbolTable symbols;
};

// One read, whose signal comes in pieces. Where it is cut makes no difference to any anchor.
class ReadSeeds {
 public:
  // `seeding` outlives the read.
  explicit ReadSeeds(const Seeding& seeding) : seeding_(&seeding), events_(seeding.parameters.segmentation) {}
  void restart();
  void take(std::span<const std::int16_t> samples);
  // All anchors of the read so far, ascending.
  void copy_anchors(std::vector<Anchor>& to);
  // Of these those that may follow another one, or be followed, in a chain.
  void copy_chainable(std::vector<Anchor>& to);
  // Events of the read so far, on the scale of the anchors' places on it.
  std::int32_t length() const { return read_length(events_seen_, seeding_->index.columns_per_event); }

 private:
  // A seed that is looked up.
  struct LookUp {
    std::uint64_t bucket = 0, check = 0, event = 0, end = 0;
  };
  void add_run();
  void look_up();
  template <class EntryAt>
  void find_entries(const LookUp& seed, EntryAt entry_at);
  void choose_by_diagonal();
  void sort_chosen(std::vector<Anchor>& to);

  const Seeding* seeding_;
  SignalEvents events_;
  std::vector<std::int16_t> levels_;         // of the events of one piece
  std::vector<Symbol> run_;                  // of the last events, the newest behind; twice as many as a seed has at most
  std::vector<LookUp> look_ups_;             // some runs' seeds, until their entries are asked for
  std::vector<std::uint64_t> words_;         // anchors of the read so far, in the order of its events
  std::vector<std::uint64_t> chosen_;        // of these those that count
  std::vector<std::uint64_t> once_, twice_;  // bits by bin of diagonals
  std::vector<Anchor> sorted_;
  std::int64_t events_seen_ = 0;
};

}  // namespace sluice::signal_seeding
