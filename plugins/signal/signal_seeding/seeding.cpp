// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_seeding/seeding.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <sluice/overlap/byte_sort.hpp>

namespace sluice::signal_seeding {

namespace {

// Nearly every look-up misses the cache twice: so many wait for their lines together.
constexpr std::size_t look_ups_together = 256;

}  // namespace

SymbolTable symbol_table(std::span<const std::int16_t> borders, std::int32_t uncertainty) {
  SymbolTable table;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::int32_t level = static_cast<std::int32_t>(i) - squiggle_sample_limit;
    const auto above = std::upper_bound(borders.begin(), borders.end(), level);
    const auto symbol = static_cast<std::uint8_t>(above - borders.begin());
    Symbol result{symbol, symbol, std::numeric_limits<std::int16_t>::max()};
    const auto consider = [&](std::int32_t distance, std::uint8_t other) {
      if (distance > uncertainty || distance >= result.distance) return;
      result.other = other;
      result.distance = static_cast<std::int16_t>(distance);
    };
    if (above != borders.begin()) consider(level - *(above - 1), static_cast<std::uint8_t>(symbol - 1));
    if (above != borders.end()) consider(*above - level, static_cast<std::uint8_t>(symbol + 1));
    table[i] = result;
  }
  return table;
}

void ReadSeeds::restart() {
  events_.restart();
  run_.clear();
  words_.clear();
  events_seen_ = 0;
}

void ReadSeeds::take(std::span<const std::int16_t> samples) {
  levels_.clear();
  events_.take(samples, levels_);
  const auto run = static_cast<std::size_t>(seeding_->index.form.run);
  const std::int64_t limit = event_limit(seeding_->index.form.position_bits);
  for (const std::int16_t level : levels_) {
    if (run_.size() == 2 * run) run_.erase(run_.begin(), run_.end() - static_cast<std::ptrdiff_t>(run));
    run_.push_back(seeding_->symbols[static_cast<std::size_t>(level + squiggle_sample_limit)]);
    if (++events_seen_ < limit && run_.size() >= run) add_run();
  }
  look_up();
}

void ReadSeeds::add_run() {
  const SeedForm& form = seeding_->index.form;
  const auto size = static_cast<std::size_t>(form.run);
  const auto most_tried = static_cast<std::size_t>(std::min(seeding_->parameters.most_uncertain, most_tried_events));
  const std::span<const Symbol> symbols = std::span(run_).last(size);
  std::uint64_t run = 0;
  std::array<Flip, 64> flips;  // the first ones to be tried, ascending
  std::size_t tried = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const auto shift = static_cast<unsigned>(form.symbol_bits) * static_cast<unsigned>(size - 1 - i);
    run |= std::uint64_t{symbols[i].symbol} << shift;
    if (symbols[i].other == symbols[i].symbol) continue;
    const Flip flip{symbols[i].distance, std::uint64_t(symbols[i].symbol ^ symbols[i].other) << shift};
    std::size_t to = tried;
    for (; to > 0 && flip < flips[to - 1]; --to) flips[to] = flips[to - 1];
    flips[to] = flip;
    tried = std::min(tried + 1, most_tried);
  }
  // Each choice is an earlier one with one more event changed.
  std::array<std::uint64_t, std::size_t{1} << most_tried_events> choices;
  std::size_t count = 1;
  choices[0] = run;
  for (std::size_t i = 0; i < tried; ++i, count *= 2)
    for (std::size_t choice = 0; choice < count; ++choice) choices[count + choice] = choices[choice] ^ flips[i].bits;
  std::size_t present = 0;
  for (std::size_t choice = 0; choice < count; ++choice) {
    const std::uint64_t seed = choices[choice];
    choices[present] = seed;
    present += seeding_->index.may_have(seed) ? 1 : 0;
  }
  for (std::size_t choice = 0; choice < present; ++choice) {
    const SeedPlace place = seed_place(choices[choice], form);
    __builtin_prefetch(&seeding_->index.bucket_begin[place.bucket]);
    look_ups_.push_back({place.bucket, place.check, static_cast<std::uint64_t>(events_seen_), 0});
  }
  if (look_ups_.size() >= look_ups_together) look_up();
}

void ReadSeeds::look_up() {
  const SquiggleIndexView& index = seeding_->index;
  const std::uint64_t entries = index.entry.size();
  for (LookUp& seed : look_ups_) {
    seed.end = index.begin_of(seed.bucket + 1);
    seed.bucket = index.begin_of(seed.bucket);
    if (seed.bucket == entries) continue;
    __builtin_prefetch(&index.entry[seed.bucket]);
    if (!index.entry_high.empty()) __builtin_prefetch(&index.entry_high[seed.bucket]);
  }
  if (index.entry_high.empty())
    for (const LookUp& seed : look_ups_) find_entries(seed, [entry = index.entry.data()](std::uint64_t i) { return std::uint64_t{entry[i]}; });
  else
    for (const LookUp& seed : look_ups_) find_entries(seed, [&](std::uint64_t i) { return index.entry_at(i); });
  look_ups_.clear();
}

// Entries of the bucket from `seed.bucket` to `seed.end`.
template <class EntryAt>
void ReadSeeds::find_entries(const LookUp& seed, EntryAt entry_at) {
  const auto position_bits = static_cast<unsigned>(seeding_->index.form.position_bits);
  std::uint64_t from = seed.bucket;
  while (from < seed.end && entry_at(from) >> position_bits < seed.check) ++from;
  std::uint64_t to = from;
  while (to < seed.end && entry_at(to) >> position_bits == seed.check) {
    if (to - from >= static_cast<std::uint64_t>(seeding_->parameters.most_occurrences)) return;
    ++to;
  }
  // The check falls off the word's upper end.
  const unsigned bits = event_bits(seeding_->index.form.position_bits);
  for (; from < to; ++from) words_.push_back(entry_at(from) << bits | seed.event);
}

// Most anchors are there by chance, and alone on their diagonal: they are not worth sorting.
void ReadSeeds::choose_by_diagonal() {
  const unsigned bits = event_bits(seeding_->index.form.position_bits), shift = diagonal_shift(seeding_->parameters.most_shift);
  // 32 bins or more an anchor, so that one in ten has another beside it by chance.
  const std::size_t bins = std::bit_ceil(std::clamp<std::size_t>(32 * words_.size(), 1024, std::size_t{1} << 22)), bit_words = bins / 64;
  once_.assign(bit_words, 0);
  twice_.assign(bit_words, 0);
  const auto bin_of = [&](std::uint64_t word) {
    const auto event = static_cast<std::int64_t>(word & ((std::uint64_t{1} << bits) - 1));
    return static_cast<std::size_t>(
               diagonal_bin(static_cast<std::int64_t>(word >> bits), column_of_event(event, seeding_->index.columns_per_event), shift)) &
           (bins - 1);
  };
  for (const std::uint64_t word : words_) {
    const std::size_t bin = bin_of(word);
    const std::uint64_t bit = std::uint64_t{1} << bin % 64;
    twice_[bin / 64] |= once_[bin / 64] & bit;
    once_[bin / 64] |= bit;
  }
  // Now `twice_` becomes: there is another in this bin or beside it.
  for (std::size_t i = 0; i < bit_words; ++i) {
    const std::uint64_t before = once_[(i + bit_words - 1) % bit_words], after = once_[(i + 1) % bit_words];
    twice_[i] |= once_[i] << 1U | before >> 63U | once_[i] >> 1U | after << 63U;
  }
  chosen_.resize(words_.size());
  std::size_t count = 0;
  for (const std::uint64_t word : words_) {
    const std::size_t bin = bin_of(word);
    chosen_[count] = word;
    count += twice_[bin / 64] >> bin % 64 & 1U;
  }
  chosen_.resize(count);
}

void ReadSeeds::sort_chosen(std::vector<Anchor>& to) {
  std::uint64_t differing = 0;
  for (const std::uint64_t word : chosen_) differing |= word ^ chosen_[0];
  overlap::byte_sort(
      std::span(chosen_), [](std::uint64_t word) { return word; }, differing == 0 ? 0 : (std::bit_width(differing) - 1) / 8 * 8);
  const SquiggleIndexView& index = seeding_->index;
  const unsigned bits = event_bits(index.form.position_bits);
  to.clear();
  std::int64_t first = 0, end = 0;  // columns of the strand of the anchor before
  std::uint64_t strand = 0;
  for (const std::uint64_t word : chosen_) {
    const auto column = static_cast<std::int64_t>(word >> bits);
    if (column >= end) {
      const auto next = std::upper_bound(index.strand_begin.begin(), index.strand_begin.end(), column);
      strand = static_cast<std::uint64_t>(next - index.strand_begin.begin() - 1);
      first = *(next - 1);
      end = next == index.strand_begin.end() ? std::numeric_limits<std::int64_t>::max() : *next;
    }
    const auto place =
        static_cast<std::uint32_t>(column_of_event(static_cast<std::int64_t>(word & ((std::uint64_t{1} << bits) - 1)), index.columns_per_event));
    to.push_back({strand << 32U | static_cast<std::uint64_t>(column - first), static_cast<std::uint64_t>(index.form.run) << 32U | place});
  }
}

void ReadSeeds::copy_anchors(std::vector<Anchor>& to) {
  chosen_ = words_;
  sort_chosen(to);
}

void ReadSeeds::copy_chainable(std::vector<Anchor>& to) {
  choose_by_diagonal();
  sort_chosen(sorted_);
  const std::int64_t most_distance = seeding_->parameters.most_distance, most_shift = seeding_->parameters.most_shift;
  // Strands differ in the upper half: no two of them are that near.
  const auto columns = [&](std::size_t before, std::size_t i) { return static_cast<std::int64_t>(sorted_[i].x - sorted_[before].x); };
  const auto follows = [&](std::size_t before, std::size_t i) {
    const auto place = [&](std::size_t at) { return static_cast<std::int64_t>(sorted_[at].y & 0xFFFFFFFFU); };
    return may_follow(columns(before, i), place(i) - place(before), most_shift);
  };
  const auto is_chainable = [&](std::size_t i) {
    for (std::size_t after = i + 1; after < sorted_.size() && columns(i, after) <= most_distance; ++after)
      if (follows(i, after)) return true;
    for (std::size_t before = i; before-- > 0 && columns(before, i) <= most_distance;)
      if (follows(before, i)) return true;
    return false;
  };
  to.clear();
  for (std::size_t i = 0; i < sorted_.size(); ++i)
    if (is_chainable(i)) to.push_back(sorted_[i]);
}

}  // namespace sluice::signal_seeding
