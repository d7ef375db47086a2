// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where runs of events lie in a squiggle reference: the idea of RawHash (Firtina et al. 2023, 2024).
//
// Expected levels of neighbouring k-mers that are alike are one event (signal_events.hpp); an event's level is written as one of 2^symbol_bits
// symbols, each as frequent in the reference as the others; `run` symbols that follow each other are a seed. A column is a k-mer of a strand of a
// contig, strands one after the other as in the squiggle reference: contig 0 forward, contig 0 reverse, contig 1 forward.
//
// A seed is mixed and cut into a bucket's number and a check. A bucket's entries lie side by side, check << position_bits | column of the first k-mer
// of the run's last event, ascending: 32 bits an entry if they fit, else 40, in two arrays. The first entry of a bucket is 32 bits relative to that
// of its block of 2^16 buckets. No limit but 40 bits of an entry; bytes a column are in README.md.
//
// Most seeds that are looked up are nowhere in the reference. Of seeds of up to 30 bits a bit each says so first: by the run itself, not
// mixed, so that runs that differ in their last events are neighbours.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <sluice/host_device.hpp>
#include <sluice/minimizer_index.hpp>
#include <sluice/page_array.hpp>
#include <sluice/squiggle_reference.hpp>
#include <span>
#include <vector>

namespace sluice::signal_seeding {

struct IndexParameters {
  std::int32_t symbol_bits = 3;
  std::int32_t run = 0;                // events of a seed; 0: as many as the size of the reference asks for
  std::int32_t least_difference = 22;  // of events that follow each other, steps of 1/64 standard deviation
};

// How a seed is written, for a reference of so many columns.
struct SeedForm {
  std::int32_t symbol_bits = 3, run = 8;
  std::int32_t bucket_bits = 22, position_bits = 24;
  SLUICE_HOST_DEVICE constexpr std::int32_t seed_bits() const { return symbol_bits * run; }
  std::int32_t check_bits() const { return seed_bits() - bucket_bits; }
  std::int32_t entry_bits() const { return check_bits() + position_bits; }
};
// An entry has at most five bytes; a seed has room in a word.
inline constexpr std::int32_t most_entry_bits = 40, most_seed_bits = 62;
// Of seeds with more bits there is no array of present ones: it would take more than 128 MiB.
inline constexpr std::int32_t most_present_bits = 30;
// Twice to sixteen times as many seeds as columns, so that one is rarely found by chance; a bucket stands for two to four columns.
SeedForm seed_form(std::int64_t columns, const IndexParameters& parameters);

// Where a seed, a run of symbols with the last in the lowest bits, is to be found.
struct SeedPlace {
  std::uint64_t bucket = 0, check = 0;
};
SLUICE_HOST_DEVICE constexpr SeedPlace seed_place(std::uint64_t run, const SeedForm& form) {
  const std::uint64_t mixed = minimizer_hash(run, (std::uint64_t{1} << static_cast<unsigned>(form.seed_bits())) - 1);
  return {mixed & ((std::uint64_t{1} << static_cast<unsigned>(form.bucket_bits)) - 1), mixed >> static_cast<unsigned>(form.bucket_bits)};
}

inline constexpr std::int64_t bucket_block = std::int64_t{1} << 16;

// One strand of a contig.
struct Strand {
  std::span<const std::int16_t> level;  // in steps of 1/16
  std::int64_t first_column = 0;
};
// Two for each target, of which one or both may be empty.
std::vector<Strand> strands_of(const SquiggleReferenceView& reference);

// Levels that part the symbols, ascending, in steps of 1/64: a level's symbol is the number of borders at or below it.
using SymbolBorders = std::vector<std::int16_t>;

struct SquiggleIndexView {
  SeedForm form;
  std::int32_t least_difference = 0;
  std::span<const std::int16_t> borders;
  std::span<const std::uint64_t> block_begin;   // first entry of each block of buckets
  std::span<const std::uint32_t> bucket_begin;  // of each bucket, relative to its block; one more, 0, behind the last
  std::span<const std::uint32_t> entry;         // lower 32 bits
  std::span<const std::uint8_t> entry_high;     // upper 8 bits; empty: there are none
  std::span<const std::uint64_t> seed_present;  // a bit for each seed, the first in the lowest bits; empty: not known
  std::span<const std::int64_t> strand_begin;   // first column of each strand, two strands a target, and the end of the last
  double columns_per_event = 1;

  // First entry of a bucket, or of the one behind the last.
  std::uint64_t begin_of(std::uint64_t bucket) const { return block_begin[bucket / bucket_block] + bucket_begin[bucket]; }
  bool may_have(std::uint64_t run) const { return seed_present.empty() || (seed_present[run / 64] >> run % 64 & 1U) != 0; }
  std::uint64_t entry_at(std::uint64_t i) const { return entry_high.empty() ? entry[i] : std::uint64_t{entry_high[i]} << 32U | entry[i]; }
};

struct SquiggleIndex {
  SeedForm form;
  std::int32_t least_difference = 0;
  std::vector<double> columns_per_event;  // one number
  SymbolBorders borders;
  std::vector<std::uint64_t> block_begin;
  PageArray<std::uint32_t> bucket_begin;
  PageArray<std::uint32_t> entry;
  PageArray<std::uint8_t> entry_high;
  PageArray<std::uint64_t> seed_present;
  std::vector<std::int64_t> strand_begin;
  void set_entry(std::uint64_t i, std::uint64_t value) {
    entry[i] = static_cast<std::uint32_t>(value);
    if (entry_high.size() > 0) entry_high[i] = static_cast<std::uint8_t>(value >> 32U);
  }
  SquiggleIndexView view() const {
    return {form,
            least_difference,
            borders,
            block_begin,
            bucket_begin.span(),
            entry.span(),
            entry_high.span(),
            seed_present.span(),
            strand_begin,
            columns_per_event.empty() ? 1.0 : columns_per_event[0]};
  }
};

// Calls body(i) for every i below count, maybe beside each other.
using ForEach = std::function<void(std::size_t, const std::function<void(std::size_t)>&)>;
SquiggleIndex build_index(std::span<const Strand> strands, const IndexParameters& parameters, const ForEach& for_each);

// What an index takes, by estimate.
std::uint64_t index_bytes(std::int64_t columns, const IndexParameters& parameters);

}  // namespace sluice::signal_seeding
