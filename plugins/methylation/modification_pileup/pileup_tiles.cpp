// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "modification_pileup/pileup_tiles.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <sluice/resume.hpp>
#include <stdexcept>
#include <utility>

namespace sluice::modification_pileup {
namespace {

constexpr const char* no_calls = "states that modification_calls does not give";

// Takes the first kind off the numbers of CallKinds.
Slot take_kind(std::span<const std::int32_t>& numbers) {
  if (numbers.size() < 3) throw std::runtime_error(no_calls);
  const std::int32_t base = numbers[0], outcome = numbers[1], codes = numbers[2];
  if (base < 0 || base >= base_count || codes < 1 || static_cast<std::size_t>(codes) > numbers.size() - 3 || outcome < CallKinds::failed ||
      outcome >= codes)
    throw std::runtime_error(no_calls);
  const std::span<const std::int32_t> choice = numbers.subspan(3, static_cast<std::size_t>(codes));
  numbers = numbers.subspan(3 + choice.size());
  Slot slot{.kind = outcome == CallKinds::canonical ? Slot::Kind::canonical
                    : outcome == CallKinds::failed  ? Slot::Kind::failed
                                                    : Slot::Kind::modified,
            .base = static_cast<std::uint8_t>(base),
            .choice = {choice.begin(), choice.end()}};
  if (outcome >= 0) slot.code = choice[static_cast<std::size_t>(outcome)];
  return slot;
}

// A part of a read in a tile.
struct Part {
  const std::vector<std::uint32_t>* slots;
  const std::uint8_t* states;
  std::size_t first, length;  // positions in the tile
};

void count_parts(std::span<const Part> parts, Tile& tile) {
  std::array<std::uint32_t*, 256> planes{};
  const std::vector<std::uint32_t>* of = nullptr;
  for (const Part& part : parts) {
    if (part.slots != of)
      for (std::size_t state = 0; state < part.slots->size(); ++state) planes[state] = tile.at((*part.slots)[state]).data();
    of = part.slots;
    for (std::size_t i = 0; i < part.length; ++i) ++planes[part.states[i]][part.first + i];
  }
}

}  // namespace

std::uint32_t SlotTable::partition_index(std::string_view name) {
  if (const auto found = partition_indices_.find(name); found != partition_indices_.end()) return found->second;
  if (partitions_.size() == most_partitions)
    throw std::runtime_error("more than " + std::to_string(most_partitions) + " partitions, the last one '" + std::string(name) + "'");
  const auto index = static_cast<std::uint32_t>(partitions_.size());
  partitions_.emplace_back(name);
  partition_indices_.emplace(name, index);
  return index;
}

std::uint32_t SlotTable::slot_index(Slot slot) {
  std::vector<std::int32_t> key = {static_cast<std::int32_t>(slot.partition), static_cast<std::int32_t>(slot.strand),
                                   static_cast<std::int32_t>(slot.kind), slot.base, slot.code};
  key.insert(key.end(), slot.choice.begin(), slot.choice.end());
  if (const auto found = slot_indices_.find(key); found != slot_indices_.end()) return found->second;
  if (slots_.size() == most_slots) throw std::runtime_error("more than " + std::to_string(most_slots) + " kinds of calls");
  const auto index = static_cast<std::uint32_t>(slots_.size());
  slot_indices_.emplace(std::move(key), index);
  slots_.push_back(std::move(slot));
  return index;
}

SlotTable::List SlotTable::slots_of(const ReadStates& read, Strand strand) {
  const std::uint32_t partition = partition_index(read.partition);
  std::vector<std::int32_t> key = {static_cast<std::int32_t>(partition), static_cast<std::int32_t>(strand)};
  key.insert(key.end(), read.kinds.begin(), read.kinds.end());
  if (const auto found = lists_.find(key); found != lists_.end()) return found->second;
  if (lists_.size() == most_lists) lists_.clear();
  std::vector<std::uint32_t> list(state_call);
  const auto add = [&](Slot slot) {
    slot.partition = partition;
    slot.strand = strand;
    return slot_index(std::move(slot));
  };
  list[state_deleted] = add({.kind = Slot::Kind::deleted});
  list[state_other] = list[state_outside] = add({.kind = Slot::Kind::other});
  for (std::uint8_t base = 0; base < base_count; ++base)
    list[static_cast<std::size_t>(state_no_call + base)] = add({.kind = Slot::Kind::no_call, .base = base});
  for (std::span<const std::int32_t> rest = read.kinds; !rest.empty() && list.size() < 256;) list.push_back(add(take_kind(rest)));
  return lists_[std::move(key)] = std::make_shared<const std::vector<std::uint32_t>>(std::move(list));
}

Tile::Plane& Tile::at(std::uint32_t slot) {
  if (slot >= planes_.size()) planes_.resize(slot + 1);
  if (!planes_[slot]) {
    planes_[slot] = std::make_unique<Plane>();
    ++used_;
  }
  return *planes_[slot];
}

void Tile::save(StateWriter& to) const {
  to.value(std::uint64_t{used_});
  for (std::uint32_t slot = 0; slot < planes_.size(); ++slot) {
    if (!planes_[slot]) continue;
    to.value(slot);
    to.value(*planes_[slot]);
  }
}

void Tile::restore(StateReader& from, std::span<const std::uint32_t> slots) {
  for (auto planes = from.value<std::uint64_t>(); planes > 0; --planes) {
    const auto slot = from.value<std::uint32_t>();
    if (slot >= slots.size()) throw damaged_state();
    Plane& sums = at(slots[slot]);
    const auto counts = from.value<Plane>();
    std::transform(sums.begin(), sums.end(), counts.begin(), sums.begin(), std::plus<>());
  }
}

void SlotTable::save(StateWriter& to) const {
  to.value(std::uint64_t{partitions_.size()});
  for (const std::string& partition : partitions_) to.text(partition);
  to.value(std::uint64_t{slots_.size()});
  for (const Slot& slot : slots_) {
    to.value(slot.partition);
    to.value(slot.strand);
    to.value(slot.kind);
    to.value(slot.base);
    to.value(slot.code);
    to.values(slot.choice);
  }
}

std::vector<std::uint32_t> SlotTable::restore(StateReader& from) {
  std::vector<std::uint32_t> partitions, slots;
  for (auto count = from.value<std::uint64_t>(); count > 0; --count) partitions.push_back(partition_index(from.text()));
  for (auto count = from.value<std::uint64_t>(); count > 0; --count) {
    Slot slot;
    const auto partition = from.value<std::uint32_t>();
    slot.strand = from.value<Strand>();
    slot.kind = from.value<Slot::Kind>();
    slot.base = from.value<std::uint8_t>();
    slot.code = from.value<ModificationCode>();
    slot.choice = from.values<ModificationCode>();
    if (partition >= partitions.size() || slot.strand > Strand::reverse || slot.kind > Slot::Kind::modified || slot.base >= base_count)
      throw damaged_state();
    slot.partition = partitions[partition];
    slots.push_back(slot_index(std::move(slot)));
  }
  return slots;
}

void count_reads(std::span<const ReadStates> reads, SlotTable& table, Tiles& tiles, const Parallel& parallel) {
  std::map<std::int64_t, std::vector<Part>> parts_of_tile;
  std::vector<SlotTable::List> lists;  // alive as long as the parts
  for (const ReadStates& read : reads) {
    if (read.block_length.size() != read.block_start.size()) throw std::runtime_error(no_calls);
    const auto add = [&](std::span<const std::uint8_t> states, Strand strand) {
      if (const SlotTable::List list = table.slots_of(read, strand); lists.empty() || lists.back() != list) lists.push_back(list);
      const std::vector<std::uint32_t>& slots = *lists.back();
      if (!states.empty() && *std::max_element(states.begin(), states.end()) >= slots.size()) throw std::runtime_error(no_calls);
      std::size_t used = 0;
      for (std::size_t block = 0; block < read.block_start.size(); ++block) {
        std::int64_t position = read.block_start[block], left = read.block_length[block];
        if (position < 0 || left < 0 || static_cast<std::size_t>(left) > states.size() - used ||
            position > std::numeric_limits<std::int64_t>::max() - left)
          throw std::runtime_error(no_calls);
        while (left > 0) {
          const std::int64_t first = position % tile_positions, length = std::min(left, tile_positions - first);
          parts_of_tile[position / tile_positions].push_back(
              {&slots, states.data() + used, static_cast<std::size_t>(first), static_cast<std::size_t>(length)});
          position += length, left -= length, used += static_cast<std::size_t>(length);
        }
      }
      if (used != states.size()) throw std::runtime_error(no_calls);
    };
    add(read.base, read.strand);
    if (!read.opposite.empty()) add(read.opposite, read.strand == Strand::forward ? Strand::reverse : Strand::forward);
  }
  std::vector<std::pair<const std::vector<Part>*, Tile*>> work;
  for (const auto& [number, parts] : parts_of_tile) work.emplace_back(&parts, &tiles[number]);
  parallel(work.size(), [&](std::size_t i) { count_parts(*work[i].first, *work[i].second); });
}

}  // namespace sluice::modification_pileup
