// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "minimizer_seeding/seeding.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace sluice::minimizer_seeding {
namespace {

// Look-ups in flight: a table of a large genome lies in memory, about 100 ns away, and a look-up takes about 5.
constexpr std::size_t look_ahead = 24;
// The cap that minimap2 sets on the seeds taken from one stretch of frequent ones.
constexpr std::int32_t most_per_streak = 128;

// Of the streak [begin, end) of frequent seeds only the least frequent ones are used, about one every occ_dist bases.
void choose_from_streak(const SeedingParameters& p, std::size_t begin, std::size_t end, std::int32_t length, ReadSeeds& read) {
  const std::int32_t before = begin == 0 ? 0 : static_cast<std::int32_t>(read.seeds[begin - 1].place >> 1);
  const std::int32_t behind = end == read.seeds.size() ? length : static_cast<std::int32_t>(read.seeds[end].place >> 1);
  const std::int32_t wanted = std::min(static_cast<std::int32_t>(static_cast<double>(behind - before) / p.occ_dist + .499), most_per_streak);
  for (std::size_t i = begin; i < end; ++i) read.seeds[i].state = Seed::State::too_frequent;
  if (wanted <= 0) return;
  read.order.clear();
  for (std::size_t i = begin; i < end; ++i) read.order.push_back(static_cast<std::uint64_t>(read.seeds[i].count) << 32 | i);
  const auto chosen = std::min(static_cast<std::size_t>(wanted), read.order.size());
  if (chosen < read.order.size()) std::nth_element(read.order.begin(), read.order.begin() + static_cast<std::ptrdiff_t>(chosen), read.order.end());
  for (std::size_t i = 0; i < chosen; ++i) {
    Seed& seed = read.seeds[static_cast<std::uint32_t>(read.order[i])];
    if (seed.count <= static_cast<std::uint32_t>(p.max_max_occ)) seed.state = Seed::State::used;
  }
}

// Which anchors of one read are wanted, beyond both being the same k-mer.
class AnchorFilter {
 public:
  AnchorFilter(const MinimizerIndexView& index, const SeedingParameters& p, const NameOrder& order, std::string_view name, std::int32_t length)
      : index_(index), p_(p), order_(order), length_(length) {
    if (p.diagonal == Diagonal::skip || p.pairs == Pairs::once) name_ = order.place(name);
  }
  // False: not wanted. Sets the self flag in `flags`.
  bool wants(std::uint64_t position, std::uint32_t seed_place, bool same_strand, std::uint64_t& flags) const {
    const auto contig = static_cast<std::size_t>(position >> 32);
    if (p_.diagonal == Diagonal::skip && name_.found && order_.rank(contig) == name_.rank && index_.contig_length[contig] == length_) {
      if (static_cast<std::uint32_t>(position) >> 1 == seed_place >> 1) return false;
      if (same_strand) flags |= self_flag;
    }
    if (p_.pairs == Pairs::once && order_.rank(contig) < name_.rank) return false;
    return p_.strands == Strands::both || (p_.strands == Strands::forward_only) == same_strand;
  }

 private:
  const MinimizerIndexView& index_;
  const SeedingParameters& p_;
  const NameOrder& order_;
  std::int32_t length_;
  NameOrder::Place name_;
};

std::uint64_t anchor_y(const Seed& seed, std::int32_t length, bool same_strand) {
  const auto last = static_cast<std::uint32_t>(seed.place >> 1);
  const std::uint32_t place = same_strand ? last : static_cast<std::uint32_t>(length) - (last + 1 - seed.span) - 1;
  return static_cast<std::uint64_t>(seed.span) << 32 | place | (seed.tandem == Seed::Tandem::yes ? tandem_flag : 0);
}

// The anchors of all used seeds, unsorted; the seeds' own facts on the way.
void make_anchors(const AnchorFilter* filter, std::int32_t length, ReadSeeds& read) {
  std::uint64_t total = 0;
  for (const Seed& seed : read.seeds)
    if (seed.state == Seed::State::used) total += seed.count;
  if (total > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max())) {
    read.too_many_anchors = true;
    return;
  }
  read.anchors.resize(total);
  Anchor* next = read.anchors.data();
  for (const Seed& seed : read.seeds) {
    if (seed.state != Seed::State::used) continue;
    const std::uint64_t strand = seed.place & 1;
    const std::uint64_t y[2] = {anchor_y(seed, length, true), anchor_y(seed, length, false)};
    for (std::uint32_t i = 0; i < seed.count; ++i) {
      const std::uint64_t position = seed.positions[i];
      const std::uint64_t opposite = (position & 1) ^ strand;
      std::uint64_t flags = 0;
      if (filter != nullptr && !filter->wants(position, seed.place, opposite == 0, flags)) continue;
      *next++ = {opposite << 63 | (position >> 32 << 32) | (position & 0xFFFFFFFFU) >> 1, y[opposite] | flags};
    }
  }
  read.anchors.resize(static_cast<std::size_t>(next - read.anchors.data()));
}

}  // namespace

NameOrder::NameOrder(const MinimizerIndexView& index) {
  for (std::size_t i = 0; i < index.contigs(); ++i) names_.push_back(index.contig_name(i));
  std::sort(names_.begin(), names_.end());
  names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
  for (std::size_t i = 0; i < index.contigs(); ++i) ranks_.push_back(place(index.contig_name(i)).rank);
}

NameOrder::Place NameOrder::place(std::string_view name) const {
  const auto at = std::lower_bound(names_.begin(), names_.end(), name);
  return {static_cast<std::uint32_t>(at - names_.begin()), at != names_.end() && *at == name};
}

void drop_repeated_minimizers(std::int32_t mid_occ, float q_occ_frac, ReadSeeds& read) {
  const std::size_t count = read.minimizers.size();
  if (q_occ_frac <= 0.0F || mid_occ <= 0 || count <= static_cast<std::size_t>(mid_occ)) return;
  const float share = static_cast<float>(count) * q_occ_frac;
  const auto too_many = [&](std::size_t n) { return n > static_cast<std::size_t>(mid_occ) && static_cast<float>(n) > share; };
  // Nearly every read has no such minimizer. Counts by a few bits of the hash, each at least that of any hash with those bits, tell so at once.
  const std::size_t buckets = std::bit_ceil(2 * count);
  const int shift = 64 - std::countr_zero(buckets);
  read.bucket_counts.assign(buckets, 0);
  std::uint16_t most = 0;
  for (const Minimizer& minimizer : read.minimizers) {
    std::uint16_t& n = read.bucket_counts[minimizer_key(minimizer.x) >> shift];
    n = static_cast<std::uint16_t>(n + (n < 0xFFFF ? 1 : 0));
    most = std::max(most, n);
  }
  if (most < 0xFFFF && !too_many(most)) return;
  read.order.resize(count);
  std::iota(read.order.begin(), read.order.end(), 0);
  const auto& x = read.minimizers;
  std::sort(read.order.begin(), read.order.end(), [&](std::uint64_t a, std::uint64_t b) { return x[a].x < x[b].x; });
  constexpr std::uint64_t dropped = 0;  // no minimizer has the span 0
  for (std::size_t begin = 0, end = 0; begin < count; begin = end) {
    const std::uint64_t value = x[read.order[begin]].x;
    for (end = begin + 1; end < count && x[read.order[end]].x == value;) ++end;
    if (!too_many(end - begin)) continue;
    // The order is by values that are read until here only.
    for (std::size_t i = begin; i < end; ++i) read.minimizers[read.order[i]].x = dropped;
  }
  std::erase_if(read.minimizers, [](const Minimizer& minimizer) { return minimizer.x == dropped; });
}

void look_up_minimizers(const MinimizerIndexView& index, Absent absent, ReadSeeds& read) {
  const std::uint64_t taken_anyway = absent == Absent::seed ? 1 : 0;
  const std::vector<Minimizer>& minimizers = read.minimizers;
  const std::size_t count = minimizers.size();
  const std::uint64_t* const slots = index.slots.data();
  const auto line_of = [&](std::size_t i) { return slots + 2 * home_slot(minimizer_key(minimizers[i].x >> 8), index.home_lines); };
  read.seeds.resize(count);
  Seed* next = read.seeds.data();
  for (std::size_t i = 0; i < std::min(look_ahead, count); ++i) __builtin_prefetch(line_of(i));
  for (std::size_t i = 0; i < count; ++i) {
    if (i + look_ahead < count) __builtin_prefetch(line_of(i + look_ahead));
    const std::uint64_t x = minimizers[i].x;
    const std::uint64_t key = minimizer_key(x >> 8);
    // Whether a minimizer is in the index is as good as random, and so is its slot: no branch depends on either.
    const std::uint64_t* slot = line_of(i);
    while (slot[2 * (slots_per_line - 1)] < key) slot += 2 * slots_per_line;
    static_assert(slots_per_line == 4);
    slot += 2 * ((slot[0] < key ? 1 : 0) + (slot[2] < key ? 1 : 0) + (slot[4] < key ? 1 : 0));
    const std::uint64_t value = slot[1];
    const std::uint64_t found = slot[0] == key ? 1 : 0;  // else the slot may be empty, and its value leads nowhere
    const bool many = (value & many_positions) != 0;
    const std::uint64_t* const positions = many ? index.positions.data() + found * ((value & ~many_positions) >> 27) : slot + 1;
    // The same k-mer, whatever its span: homopolymers in it may differ in length.
    const bool tandem = (i > 0 && minimizers[i - 1].x >> 8 == x >> 8) || (i + 1 < count && minimizers[i + 1].x >> 8 == x >> 8);
    *next = {positions,
             static_cast<std::uint32_t>(found) * (many ? static_cast<std::uint32_t>(value & max_minimizer_occurrences) : 1U),
             static_cast<std::uint32_t>(minimizers[i].y),
             static_cast<std::uint16_t>(x & 0xFF),
             Seed::State::used,
             tandem ? Seed::Tandem::yes : Seed::Tandem::no};
    next += found | taken_anyway;
  }
  read.seeds.resize(static_cast<std::size_t>(next - read.seeds.data()));
}

void choose_seeds(const SeedingParameters& p, std::int32_t length, ReadSeeds& read) {
  const auto frequent = [&](const Seed& seed) { return seed.count > static_cast<std::uint32_t>(p.mid_occ); };
  if (p.occ_dist <= 0 || p.max_max_occ <= p.mid_occ) {
    for (Seed& seed : read.seeds)
      if (frequent(seed)) seed.state = Seed::State::too_frequent;
    return;
  }
  if (read.seeds.size() <= 1) return;
  for (std::size_t begin = 0; begin < read.seeds.size(); ++begin) {
    if (!frequent(read.seeds[begin])) continue;
    std::size_t end = begin + 1;
    while (end < read.seeds.size() && frequent(read.seeds[end])) ++end;
    choose_from_streak(p, begin, end, length, read);
    begin = end;
  }
}

void find_anchors(const MinimizerIndexView& index, const SeedingParameters& p, const NameOrder& order, std::string_view name, std::string_view bases,
                  const SketchKernels& kernels, ReadSeeds& read, Absent absent) {
  const auto length = static_cast<std::int32_t>(bases.size());
  const SketchParameters sketch_parameters{index.k, index.w, index.homopolymer_compressed ? HomopolymerCompression::on : HomopolymerCompression::off};
  read.too_many_anchors = false;
  read.anchors.clear();
  read.seed_positions.clear();
  read.minimizers.clear();
  const PackedSequence packed = pack_bases(bases, kernels, read.sketch);
  sketch(packed, sketch_parameters, 0, packed.length, kernels, read.sketch, read.minimizers);
  drop_repeated_minimizers(p.mid_occ, p.q_occ_frac, read);
  look_up_minimizers(index, absent, read);
  choose_seeds(p, length, read);

  std::int32_t repeat_length = 0, repeat_begin = 0, repeat_end = 0;
  for (const Seed& seed : read.seeds) {
    const auto end = static_cast<std::int32_t>(seed.place >> 1) + 1;
    if (seed.state == Seed::State::used) {
      read.seed_positions.push_back(static_cast<std::uint64_t>(seed.span) << 32 | seed.place >> 1);
    } else if (end - seed.span > repeat_end) {
      repeat_length += repeat_end - repeat_begin;
      repeat_begin = end - seed.span;
      repeat_end = end;
    } else {
      repeat_end = end;
    }
  }
  read.repeat_length = repeat_length + repeat_end - repeat_begin;

  if (p.diagonal == Diagonal::keep && p.pairs == Pairs::both && p.strands == Strands::both) {
    make_anchors(nullptr, length, read);
  } else {
    const AnchorFilter filter(index, p, order, name, length);
    make_anchors(&filter, length, read);
  }
  if (p.ties == Ties::minimap2)
    sort_anchors(read.anchors);
  else
    std::sort(read.anchors.begin(), read.anchors.end(), [](const Anchor& a, const Anchor& b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
}

}  // namespace sluice::minimizer_seeding
