// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_seeding/squiggle_index.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <numeric>

#include "signal_seeding/signal_events.hpp"

namespace sluice::signal_seeding {
namespace {

// Strands are walked in pieces of so many columns, each from a fresh event on: the same pieces for any number of threads.
constexpr std::size_t piece_columns = std::size_t{1} << 20U;
constexpr std::int32_t steps_of_level = squiggle_sample_steps / squiggle_steps;

struct Piece {
  const Strand* strand;
  std::size_t begin, end;
};
std::vector<Piece> pieces_of(std::span<const Strand> strands) {
  std::vector<Piece> pieces;
  for (const Strand& strand : strands)
    for (std::size_t begin = 0; begin < strand.level.size(); begin += piece_columns)
      pieces.push_back({&strand, begin, std::min(begin + piece_columns, strand.level.size())});
  return pieces;
}

// event(level, first k-mer) for the events that begin in a piece, and for up to `beyond` behind it. Levels that no sequence has (an N) end the event
// before, and hole() is called.
template <class Event, class Hole>
void for_each_event(const Piece& piece, std::int32_t least_difference, std::size_t beyond, Event&& event, Hole&& hole) {
  MergingEvent current(least_difference);
  std::size_t first = piece.begin, after = 0;
  const std::span<const std::int16_t> level = piece.strand->level;
  const auto finish = [&] {
    if (current.empty()) return true;
    event(current.level(), first);
    current.clear();
    return first < piece.end || ++after < beyond;
  };
  for (std::size_t i = piece.begin; i < level.size(); ++i) {
    const std::int32_t here = level[i] * steps_of_level;
    const bool unknown = level[i] == squiggle_unknown_level;
    if (!unknown && current.takes(here)) {
      current.add(here, 1);
      continue;
    }
    if (!finish()) return;
    if (i >= piece.end && beyond == 0) return;
    if (unknown) {
      hole();
      if (i >= piece.end) return;
      continue;
    }
    current.begin(here, 1);
    first = i;
  }
  finish();
}

struct Symbols {
  explicit Symbols(std::span<const std::int16_t> borders) {
    for (std::size_t i = 0; i < of_level.size(); ++i) {
      const auto level = static_cast<std::int32_t>(i) - offset;
      of_level[i] = static_cast<std::uint8_t>(std::count_if(borders.begin(), borders.end(), [&](std::int16_t border) { return border <= level; }));
    }
  }
  static constexpr std::int32_t offset = squiggle_limit * steps_of_level;
  std::array<std::uint8_t, 2 * squiggle_limit* steps_of_level + 1> of_level = {};
  std::uint64_t operator()(std::int32_t level) const { return of_level[static_cast<std::size_t>(level + offset)]; }
};

// seed(bucket, entry) for the seeds whose first event begins in a piece.
template <class Seed>
void for_each_seed(const Piece& piece, const SeedForm& form, std::int32_t least_difference, const Symbols& symbols, Seed&& seed) {
  const std::uint64_t mask = (std::uint64_t{1} << static_cast<unsigned>(form.seed_bits())) - 1;
  std::uint64_t run = 0;
  std::int32_t known = 0;
  for_each_event(
      piece, least_difference, static_cast<std::size_t>(form.run - 1),
      [&](std::int32_t level, std::size_t first) {
        run = (run << static_cast<unsigned>(form.symbol_bits) | symbols(level)) & mask;
        if (++known < form.run) return;
        const SeedPlace place = seed_place(run, form);
        seed(place.bucket, place.check << static_cast<unsigned>(form.position_bits) |
                               static_cast<std::uint64_t>(piece.strand->first_column + static_cast<std::int64_t>(first)));
      },
      [&] { known = 0; });
}

struct LevelCounts {
  std::array<std::uint64_t, 2 * squiggle_limit* steps_of_level + 1> count = {};
};

// Borders that part the events of the reference into equal numbers.
SymbolBorders borders_of(const LevelCounts& counts, std::int32_t symbol_bits) {
  const std::uint64_t events = std::accumulate(counts.count.begin(), counts.count.end(), std::uint64_t{0});
  const std::uint64_t symbols = std::uint64_t{1} << static_cast<unsigned>(symbol_bits);
  SymbolBorders borders;
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < counts.count.size() && borders.size() + 1 < symbols; ++i) {
    below += counts.count[i];
    while (borders.size() + 1 < symbols && below * symbols >= events * (borders.size() + 1))
      borders.push_back(static_cast<std::int16_t>(static_cast<std::int32_t>(i) - Symbols::offset + 1));
  }
  return borders;
}

}  // namespace

SeedForm seed_form(std::int64_t columns, const IndexParameters& parameters) {
  const auto width = static_cast<std::int32_t>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(columns, 1))));
  SeedForm form;
  form.symbol_bits = parameters.symbol_bits;
  form.position_bits = width;
  // Buckets come in whole blocks.
  constexpr std::int32_t least_bucket_bits = std::countr_zero(static_cast<std::uint64_t>(bucket_block));
  const auto run_of = [&](std::int32_t bits) { return (bits + parameters.symbol_bits - 1) / parameters.symbol_bits; };
  form.run = std::max(run_of(least_bucket_bits), parameters.run > 0 ? parameters.run : run_of(width));
  form.bucket_bits = std::clamp(width - 2, least_bucket_bits, form.seed_bits());
  return form;
}

SeedPlace seed_place(std::uint64_t run, const SeedForm& form) {
  const std::uint64_t mixed = minimizer_hash(run, (std::uint64_t{1} << static_cast<unsigned>(form.seed_bits())) - 1);
  return {mixed & ((std::uint64_t{1} << static_cast<unsigned>(form.bucket_bits)) - 1), mixed >> static_cast<unsigned>(form.bucket_bits)};
}

std::vector<Strand> strands_of(const SquiggleReferenceView& reference) {
  std::vector<Strand> strands;
  std::int64_t column = 0;
  for (std::int64_t target = 0; target < reference.targets(); ++target) {
    const SquiggleTarget levels = reference[target];
    for (const std::span<const std::int16_t> level : {levels.forward_level, levels.reverse_level}) {
      strands.push_back({level, column});
      column += static_cast<std::int64_t>(level.size());
    }
  }
  return strands;
}

std::uint64_t index_bytes(std::int64_t columns, const IndexParameters& parameters) {
  const SeedForm form = seed_form(columns, parameters);
  // 0.85 events a column, by the parameters' own merging.
  const double entries = 0.85 * static_cast<double>(columns);
  return static_cast<std::uint64_t>(entries * (form.entry_bits() > 32 ? 5 : 4)) + (std::uint64_t{4} << static_cast<unsigned>(form.bucket_bits));
}

SquiggleIndex build_index(std::span<const Strand> strands, const IndexParameters& parameters, const ForEach& for_each) {
  SquiggleIndex index;
  index.least_difference = parameters.least_difference;
  for (const Strand& strand : strands) index.strand_begin.push_back(strand.first_column);
  const std::int64_t columns = strands.empty() ? 0 : strands.back().first_column + static_cast<std::int64_t>(strands.back().level.size());
  index.strand_begin.push_back(columns);
  const SeedForm form = index.form = seed_form(columns, parameters);
  const std::vector<Piece> pieces = pieces_of(strands);

  std::vector<LevelCounts> counts(pieces.size());
  for_each(pieces.size(), [&](std::size_t p) {
    for_each_event(
        pieces[p], parameters.least_difference, 0,
        [&](std::int32_t level, std::size_t) { ++counts[p].count[static_cast<std::size_t>(level + Symbols::offset)]; }, [] {});
  });
  LevelCounts all;
  for (const LevelCounts& part : counts)
    for (std::size_t i = 0; i < all.count.size(); ++i) all.count[i] += part.count[i];
  const std::uint64_t events = std::accumulate(all.count.begin(), all.count.end(), std::uint64_t{0});
  index.columns_per_event = {events == 0 ? 1.0 : static_cast<double>(columns) / static_cast<double>(events)};
  index.borders = borders_of(all, form.symbol_bits);
  const Symbols symbols(index.borders);

  // Ends of the buckets within their blocks; filling moves each down to the bucket's beginning.
  const std::size_t buckets = std::size_t{1} << static_cast<unsigned>(form.bucket_bits);
  const std::size_t blocks = (buckets + bucket_block - 1) / bucket_block;
  index.bucket_begin.assign(buckets + 1, 0);
  for_each(pieces.size(), [&](std::size_t p) {
    for_each_seed(pieces[p], form, parameters.least_difference, symbols,
                  [&](std::uint64_t bucket, std::uint64_t) { std::atomic_ref(index.bucket_begin[bucket]).fetch_add(1, std::memory_order_relaxed); });
  });
  index.block_begin.assign(blocks + 1, 0);
  for_each(blocks, [&](std::size_t block) {
    std::uint32_t sum = 0;
    for (std::size_t b = block * bucket_block; b < std::min(buckets, (block + 1) * bucket_block); ++b)
      index.bucket_begin[b] = sum += index.bucket_begin[b];
    index.block_begin[block + 1] = sum;
  });
  std::partial_sum(index.block_begin.begin(), index.block_begin.end(), index.block_begin.begin());
  const std::uint64_t entries = index.block_begin.back();
  index.entry.resize(entries);
  if (form.entry_bits() > 32) index.entry_high.resize(entries);
  for_each(pieces.size(), [&](std::size_t p) {
    for_each_seed(pieces[p], form, parameters.least_difference, symbols, [&](std::uint64_t bucket, std::uint64_t entry) {
      const std::uint32_t place = std::atomic_ref(index.bucket_begin[bucket]).fetch_sub(1, std::memory_order_relaxed) - 1;
      const std::uint64_t at = index.block_begin[bucket / bucket_block] + place;
      index.entry[at] = static_cast<std::uint32_t>(entry);
      if (!index.entry_high.empty()) index.entry_high[at] = static_cast<std::uint8_t>(entry >> 32U);
    });
  });
  // Which thread came first does not show.
  for_each(blocks, [&](std::size_t block) {
    std::vector<std::uint64_t> sorted;
    const std::size_t end = std::min(buckets, (block + 1) * bucket_block);
    for (std::size_t b = block * bucket_block; b < end; ++b) {
      const std::uint64_t from = index.block_begin[block] + index.bucket_begin[b];
      const std::uint64_t to = b + 1 < end ? index.block_begin[block] + index.bucket_begin[b + 1] : index.block_begin[block + 1];
      if (to - from < 2) continue;
      const SquiggleIndexView view = index.view();
      sorted.clear();
      for (std::uint64_t i = from; i < to; ++i) sorted.push_back(view.entry_at(i));
      std::sort(sorted.begin(), sorted.end());
      for (std::uint64_t i = from; i < to; ++i) {
        index.entry[i] = static_cast<std::uint32_t>(sorted[i - from]);
        if (!index.entry_high.empty()) index.entry_high[i] = static_cast<std::uint8_t>(sorted[i - from] >> 32U);
      }
    }
  });
  return index;
}

}  // namespace sluice::signal_seeding
