// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_seeding/squiggle_index.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <numeric>
#include <sluice/call.hpp>

#include "signal_seeding/signal_events.hpp"

namespace sluice::signal_seeding {
namespace {

// Strands are walked in pieces of so many columns, each from a fresh event on: the same pieces for any number of threads.
constexpr std::size_t piece_columns = std::size_t{1} << 20U;
// Of which levels are counted at most.
constexpr std::size_t counted_pieces = 32;
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

struct Seed {
  std::uint64_t bucket = 0, entry = 0;
};
// seed(Seed, its run) for the seeds whose first event begins in a piece.
template <class Take>
void for_each_seed(const Piece& piece, const SeedForm& form, std::int32_t least_difference, const Symbols& symbols, Take&& seed) {
  const std::uint64_t mask = (std::uint64_t{1} << static_cast<unsigned>(form.seed_bits())) - 1;
  std::uint64_t run = 0;
  std::int32_t known = 0;
  for_each_event(
      piece, least_difference, static_cast<std::size_t>(form.run - 1),
      [&](std::int32_t level, std::size_t first) {
        run = (run << static_cast<unsigned>(form.symbol_bits) | symbols(level)) & mask;
        if (++known < form.run) return;
        const SeedPlace place = seed_place(run, form);
        const auto column = static_cast<std::uint64_t>(piece.strand->first_column + static_cast<std::int64_t>(first));
        seed(Seed{place.bucket, place.check << static_cast<unsigned>(form.position_bits) | column}, run);
      },
      [&] { known = 0; });
}

// Memory that a thread uses again for piece after piece and block after block: made anew each time its pages would cost a third of all time.
struct Workspace {
  std::vector<Seed> seeds, by_block;
  std::vector<std::size_t> end_in_piece;
  std::vector<std::uint32_t> next;
  std::vector<std::uint64_t> sorted;
};

// Puts the entries of a block, in any order until now, into the order of their buckets, ascending in each, and notes where the buckets begin.
void sort_block(SquiggleIndex& index, std::size_t block, std::span<const std::uint16_t> bucket_in_block, Workspace& workspace) {
  const std::uint64_t from = index.block_begin[block], count = index.block_begin[block + 1] - from;
  const std::span<std::uint32_t> bucket_begin = std::span(index.bucket_begin.data() + block * bucket_block, bucket_block);
  auto& next = workspace.next;
  next.assign(bucket_block + 1, 0);
  for (std::uint64_t i = 0; i < count; ++i) ++next[bucket_in_block[from + i] + std::size_t{1}];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::copy(next.begin(), next.end() - 1, bucket_begin.begin());
  auto& sorted = workspace.sorted;
  sorted.resize(count);
  const SquiggleIndexView view = index.view();
  for (std::uint64_t i = 0; i < count; ++i) sorted[next[bucket_in_block[from + i]]++] = view.entry_at(from + i);
  // `next` is where the buckets end now.
  for (std::size_t bucket = 0; bucket < static_cast<std::size_t>(bucket_block); ++bucket)
    std::sort(sorted.begin() + bucket_begin[bucket], sorted.begin() + next[bucket]);
  for (std::uint64_t i = 0; i < count; ++i) index.set_entry(from + i, sorted[i]);
}

std::uint64_t present_words(const SeedForm& form) {
  if (form.seed_bits() > most_present_bits) return 0;
  return std::max<std::uint64_t>(1, (std::uint64_t{1} << static_cast<unsigned>(form.seed_bits())) / 64);
}
void set_present(SquiggleIndex& index, std::uint64_t run) {
  const std::uint64_t bit = std::uint64_t{1} << run % 64;
  const std::atomic_ref word(index.seed_present[run / 64]);
  if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit, std::memory_order_relaxed);
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
  form.run = std::max(run_of(least_bucket_bits), parameters.run > 0 ? parameters.run : run_of(width + 1));
  form.bucket_bits = std::clamp(width - 2, least_bucket_bits, form.seed_bits());
  return form;
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
  return static_cast<std::uint64_t>(entries * (form.entry_bits() > 32 ? 5 : 4)) + (std::uint64_t{4} << static_cast<unsigned>(form.bucket_bits)) +
         8 * present_words(form);
}

SquiggleIndex build_index(std::span<const Strand> strands, const IndexParameters& parameters, const ForEach& for_each) {
  SquiggleIndex index;
  index.least_difference = parameters.least_difference;
  for (const Strand& strand : strands) index.strand_begin.push_back(strand.first_column);
  const std::int64_t columns = strands.empty() ? 0 : strands.back().first_column + static_cast<std::int64_t>(strands.back().level.size());
  index.strand_begin.push_back(columns);
  const SeedForm form = index.form = seed_form(columns, parameters);
  const std::vector<Piece> pieces = pieces_of(strands);

  // Of large references every nth piece is enough to say how frequent levels are.
  const std::size_t step = (pieces.size() + counted_pieces - 1) / counted_pieces;
  std::vector<LevelCounts> counts(step == 0 ? 0 : (pieces.size() + step - 1) / step);
  for_each(counts.size(), [&](std::size_t c) {
    for_each_event(
        pieces[c * step], parameters.least_difference, 0,
        [&](std::int32_t level, std::size_t) { ++counts[c].count[static_cast<std::size_t>(level + Symbols::offset)]; }, [] {});
  });
  LevelCounts all;
  for (const LevelCounts& part : counts)
    for (std::size_t i = 0; i < all.count.size(); ++i) all.count[i] += part.count[i];
  // Columns of unknown bases have no events.
  std::int64_t counted = 0;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const Piece& piece = pieces[c * step];
    const auto level = piece.strand->level.subspan(piece.begin, piece.end - piece.begin);
    counted += std::count_if(level.begin(), level.end(), [](std::int16_t at) { return at != squiggle_unknown_level; });
  }
  const std::uint64_t events = std::accumulate(all.count.begin(), all.count.end(), std::uint64_t{0});
  index.columns_per_event = {events == 0 ? 1.0 : static_cast<double>(counted) / static_cast<double>(events)};
  index.borders = borders_of(all, form.symbol_bits);
  const Symbols symbols(index.borders);

  // Seeds go to their blocks first, and to their buckets within each block, so that what is written to stays in the cache.
  const std::size_t buckets = std::size_t{1} << static_cast<unsigned>(form.bucket_bits), blocks = buckets / bucket_block;
  std::vector<std::uint64_t> block_end(blocks + 1, 0);
  index.seed_present.resize(present_words(form));
  for_each(pieces.size(), [&](std::size_t p) {
    std::vector<std::uint32_t> count(blocks, 0);
    for_each_seed(pieces[p], form, parameters.least_difference, symbols, [&](const Seed& seed, std::uint64_t run) {
      ++count[seed.bucket / bucket_block];
      if (index.seed_present.size() > 0) set_present(index, run);
    });
    for (std::size_t block = 0; block < blocks; ++block) std::atomic_ref(block_end[block + 1]).fetch_add(count[block], std::memory_order_relaxed);
  });
  std::partial_sum(block_end.begin(), block_end.end(), block_end.begin());
  index.block_begin = block_end;
  index.entry.resize(block_end.back());
  if (form.entry_bits() > 32) index.entry_high.resize(block_end.back());
  index.bucket_begin.resize(buckets + 1);
  PageArray<std::uint16_t> bucket_in_block;
  bucket_in_block.resize(block_end.back());
  Workspaces<Workspace> workspaces;
  for_each(pieces.size(), [&](std::size_t p) {
    auto workspace = workspaces.take();
    auto& seeds = workspace->seeds;
    auto& end_in_piece = workspace->end_in_piece;
    seeds.clear();
    end_in_piece.assign(blocks + 1, 0);
    for_each_seed(pieces[p], form, parameters.least_difference, symbols, [&](const Seed& seed, std::uint64_t) {
      seeds.push_back(seed);
      ++end_in_piece[seed.bucket / bucket_block + 1];
    });
    // By block first: one after the other each of them, 5 billion of 3 Gbases, would be written to three places that no cache holds.
    std::partial_sum(end_in_piece.begin(), end_in_piece.end(), end_in_piece.begin());
    auto& by_block = workspace->by_block;
    by_block.resize(seeds.size());
    for (const Seed& seed : seeds) by_block[end_in_piece[seed.bucket / bucket_block]++] = seed;
    for (std::size_t block = 0, i = 0; block < blocks; ++block) {
      const std::size_t count = end_in_piece[block] - i;
      if (count == 0) continue;
      std::uint64_t at = std::atomic_ref(block_end[block]).fetch_add(count, std::memory_order_relaxed);
      for (; i < end_in_piece[block]; ++i, ++at) {
        index.set_entry(at, by_block[i].entry);
        bucket_in_block[at] = static_cast<std::uint16_t>(by_block[i].bucket % bucket_block);
      }
    }
  });
  // In the end the order of the pieces does not show.
  for_each(blocks, [&](std::size_t block) { sort_block(index, block, bucket_in_block.span(), *workspaces.take()); });
  return index;
}

}  // namespace sluice::signal_seeding
