// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Anchors between the signal of a read and a squiggle reference: runs of events that both have.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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

// One read, whose signal comes in pieces. Where it is cut makes no difference to any anchor.
class ReadSeeds {
 public:
  explicit ReadSeeds(const SeedingParameters& parameters) : parameters_(parameters), events_(parameters.segmentation) {}
  void restart();
  // The anchors of the read so far are in anchors() after this, ascending.
  void take(std::span<const std::int16_t> samples, const SquiggleIndexView& index);
  std::span<const Anchor> anchors() const { return anchors_; }
  // Of these those that may follow another one, or be followed, in a chain.
  void copy_chainable(std::vector<Anchor>& to);
  // Of the read so far, as reference columns: the events times the columns that an event has in the reference.
  std::int32_t columns(const SquiggleIndexView& index) const { return column_of(events_seen_, index); }

 private:
  struct Symbol {
    std::uint8_t symbol = 0, other = 0;
    std::int16_t distance = 0;  // to the border between both; large if there is only one
  };
  Symbol symbol_of(std::int32_t level, const SquiggleIndexView& index) const;
  void look_up_run(const SquiggleIndexView& index);
  void look_up(const SeedPlace& place, const SquiggleIndexView& index);
  static std::int32_t column_of(std::int64_t event, const SquiggleIndexView& index) {
    return static_cast<std::int32_t>(static_cast<double>(event) * index.columns_per_event);
  }

  SeedingParameters parameters_;
  SignalEvents events_;
  std::vector<std::int16_t> levels_;  // of the events of one piece
  std::vector<Symbol> run_;           // of the last events, as many as a seed has
  std::vector<SeedPlace> places_;     // of the seeds of one run
  std::int64_t events_seen_ = 0;
  std::vector<Anchor> anchors_;
  std::vector<std::uint8_t> chainable_;  // by anchor
};

}  // namespace sluice::signal_seeding
