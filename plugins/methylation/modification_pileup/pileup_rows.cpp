// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "modification_pileup/pileup_rows.hpp"

#include <algorithm>
#include <tuple>

namespace sluice::modification_pileup {
namespace {

std::uint8_t number_of(char base) {
  const std::size_t found = std::string_view("ACGT").find(base);
  return found == std::string_view::npos ? any_base : static_cast<std::uint8_t>(found);
}

bool is_cpg(std::string_view bases, std::int64_t position) {
  return position >= 0 && position + 1 < static_cast<std::int64_t>(bases.size()) && bases[static_cast<std::size_t>(position)] == 'C' &&
         bases[static_cast<std::size_t>(position) + 1] == 'G';
}

}  // namespace

// Sums of planes over the positions of a tile.
struct RowMaker::View {
  const SlotTable& table;
  Strands strands;
  std::int64_t number;
  const Tile& tile;
  const Tile* next;

  bool has(const std::vector<std::uint32_t>& slots) const {
    return std::any_of(slots.begin(), slots.end(),
                       [this](std::uint32_t slot) { return tile.plane(slot) != nullptr || (next != nullptr && next->plane(slot) != nullptr); });
  }
  void add(const std::vector<std::uint32_t>& slots, Numbers& sums) const {
    for (const std::uint32_t slot : slots) {
      const Tile::Plane* plane = tile.plane(slot);
      // The reverse strand's C pairs with the G, one position further.
      const bool one_further = strands == Strands::combined && table.slots()[slot].strand == Strand::reverse;
      const Tile::Plane* behind = one_further && next != nullptr ? next->plane(slot) : nullptr;
      if (plane != nullptr)
        for (std::size_t i = one_further ? 1 : 0; i < plane->size(); ++i) sums[one_further ? i - 1 : i] += (*plane)[i];
      if (behind != nullptr) sums.back() += behind->front();
    }
  }
};

RowMaker::RowMaker(const SlotTable& table, RowRules rules) : table_(&table), rules_(rules) {
  std::vector<std::uint32_t> by_name(table.partitions().size());
  for (std::size_t i = 0; i < by_name.size(); ++i) by_name[i] = static_cast<std::uint32_t>(i);
  std::sort(by_name.begin(), by_name.end(), [&](std::uint32_t a, std::uint32_t b) { return table.partitions()[a] < table.partitions()[b]; });
  partition_rank_.resize(by_name.size());
  for (std::size_t i = 0; i < by_name.size(); ++i) partition_rank_[by_name[i]] = static_cast<std::uint32_t>(i);

  for (std::size_t i = 0; i < table.slots().size(); ++i) {
    const Slot& slot = table.slots()[i];
    const auto index = static_cast<std::uint32_t>(i);
    const char strand = rules.strands == Strands::combined ? '.' : slot.strand == Strand::forward ? '+' : '-';
    auto group = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) { return g.partition == slot.partition && g.strand == strand; });
    if (group == groups_.end()) group = groups_.insert(group, {slot.partition, strand, {}, {}, {}});
    Base& base = group->bases[slot.base];
    switch (slot.kind) {
      case Slot::Kind::deleted:
        group->deleted.push_back(index);
        break;
      case Slot::Kind::other:
        group->other.push_back(index);
        break;
      case Slot::Kind::no_call:
        base.no_call.push_back(index);
        break;
      case Slot::Kind::canonical:
        base.canonical.push_back(index);
        break;
      case Slot::Kind::failed:
        base.failed.push_back(index);
        break;
      case Slot::Kind::modified:
        base.modified.push_back(index);
        break;
    }
    for (const ModificationCode code : slot.choice) {
      auto found = std::find_if(base.codes.begin(), base.codes.end(), [&](const Code& c) { return c.code == code; });
      if (found == base.codes.end()) found = base.codes.insert(found, {code, {}, {}});
      found->looked_for.push_back(index);
      if (slot.kind == Slot::Kind::modified && slot.code == code) found->modified.push_back(index);
    }
  }
}

bool RowMaker::is_site(std::int64_t position, char strand, std::uint8_t base, std::string_view bases) const {
  if (rules_.sites == Sites::all) return true;
  if (rules_.sites == Sites::cpg) return base == 1 && is_cpg(bases, strand == '-' ? position - 1 : position);
  if (position >= static_cast<std::int64_t>(bases.size())) return false;
  const std::uint8_t there = number_of(bases[static_cast<std::size_t>(position)]);
  return there < base_count && base == (strand == '-' ? base_count - 1 - there : there);
}

void RowMaker::append_group(const Group& group, const View& view, const ContigRange& range, std::vector<PileupRow>& rows) const {
  const auto has_calls = [&](const Base& base) { return view.has(base.canonical) || view.has(base.modified); };
  if (std::none_of(group.bases.begin(), group.bases.end(), has_calls)) return;
  Numbers deleted{}, all{};
  struct {
    Numbers canonical{}, modified{}, failed{}, no_call{};
  } sums[base_count];
  view.add(group.deleted, deleted);
  view.add(group.other, all);
  for (std::size_t base = 0; base < base_count; ++base) {
    const Base& slots = group.bases[base];
    auto& of = sums[base];
    view.add(slots.canonical, of.canonical);
    view.add(slots.modified, of.modified);
    view.add(slots.failed, of.failed);
    view.add(slots.no_call, of.no_call);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += of.canonical[i] + of.modified[i] + of.failed[i] + of.no_call[i];
  }
  const std::int64_t tile_begin = view.number * tile_positions;
  for (std::uint8_t base = 0; base < base_count; ++base) {
    const auto& of = sums[base];
    for (const Code& code : group.bases[base].codes) {
      Numbers modified{}, looked_for{};
      if (!view.has(code.looked_for)) continue;
      view.add(code.looked_for, looked_for);
      view.add(code.modified, modified);
      for (std::size_t i = 0; i < modified.size(); ++i) {
        const std::int64_t position = tile_begin + static_cast<std::int64_t>(i);
        if (looked_for[i] == 0 || of.canonical[i] + of.modified[i] == 0 || position < range.begin || position >= range.end ||
            !is_site(position, group.strand, base, range.bases))
          continue;
        rows.push_back({.position = position,
                        .strand = group.strand,
                        .base = base,
                        .code = code.code,
                        .partition = group.partition,
                        .modified = modified[i],
                        .canonical = of.canonical[i],
                        .other_modified = of.modified[i] - modified[i],
                        .deleted = deleted[i],
                        .failed = of.failed[i],
                        .different = all[i] - of.canonical[i] - of.modified[i] - of.failed[i] - of.no_call[i],
                        .no_call = of.no_call[i]});
      }
    }
  }
}

void RowMaker::append_rows(std::int64_t number, const Tile& tile, const Tile* next, const ContigRange& range, std::vector<PileupRow>& rows) const {
  const auto first = static_cast<std::ptrdiff_t>(rows.size());
  const View view{*table_, rules_.strands, number, tile, next};
  for (const Group& group : groups_) append_group(group, view, range, rows);
  const auto place = [this](const PileupRow& row) { return std::tuple(row.base, partition_rank_[row.partition]); };
  std::sort(rows.begin() + first, rows.end(), [&](const PileupRow& a, const PileupRow& b) {
    if (a.position != b.position) return a.position < b.position;
    if (a.strand != b.strand) return a.strand < b.strand;  // '+' comes before '-'
    if (a.code != b.code) return a.code > 0 && b.code > 0 ? a.code < b.code : code_text(a.code) < code_text(b.code);
    return place(a) < place(b);
  });
}

}  // namespace sluice::modification_pileup
