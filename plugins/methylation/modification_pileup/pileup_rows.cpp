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

// Is it the modified base of a site?
bool is_modified_base(std::string_view bases, std::int64_t position, const MotifSites& sites) {
  const std::int64_t begin = position - sites.modified;
  return begin >= 0 && begin + sites.length <= static_cast<std::int64_t>(bases.size()) && is_motif_site(bases.data() + begin, sites);
}

}  // namespace

// Sums of planes over the positions of a tile.
struct RowMaker::View {
  const SlotTable& table;
  std::size_t motif;           // of RowRules; 0 where there is none
  std::int64_t offset, apart;  // see RowRules
  std::int64_t number;
  const Tile& tile;
  const Tile* next;
  std::array<std::uint8_t, static_cast<std::size_t>(tile_positions)> included;  // by row: 1 forward, 2 reverse
  bool is_limited;                                                              // to what is included

  void find_included(const ContigRange& range) {
    const std::int64_t begin = number * tile_positions + offset, end = begin + tile_positions;
    range.included->for_each(range.name, begin, end, [&](std::size_t which) {
      const TableRegion& region = range.included->regions()[which];
      const auto strands = static_cast<std::uint8_t>(region.strand == RegionStrand::forward ? 1 : region.strand == RegionStrand::reverse ? 2 : 3);
      for (std::int64_t at = std::max(begin, region.start); at < std::min(end, region.end); ++at)
        included[static_cast<std::size_t>(at - begin)] |= strands;
    });
  }
  bool includes(std::size_t row, char strand) const { return !is_limited || (included[row] & (strand == '+' ? 1U : strand == '-' ? 2U : 3U)) != 0; }
  bool has(const std::vector<std::uint32_t>& slots) const {
    return std::any_of(slots.begin(), slots.end(),
                       [this](std::uint32_t slot) { return tile.plane(slot) != nullptr || (next != nullptr && next->plane(slot) != nullptr); });
  }
  void add(const std::vector<std::uint32_t>& slots, Numbers& sums) const {
    for (const std::uint32_t slot : slots) {
      const Tile::Plane* plane = tile.plane(slot);
      const auto shift = static_cast<std::size_t>(offset + (table.slots()[slot].strand == Strand::reverse ? apart : 0));
      const Tile::Plane* behind = shift > 0 && next != nullptr ? next->plane(slot) : nullptr;
      if (plane != nullptr)
        for (std::size_t i = shift; i < plane->size(); ++i) sums[i - shift] += (*plane)[i];
      if (behind != nullptr)
        for (std::size_t i = 0; i < shift; ++i) sums[sums.size() - shift + i] += (*behind)[i];
    }
  }
};

RowMaker::RowMaker(const SlotTable& table, RowRules rules) : table_(&table), rules_(rules) {
  std::vector<std::uint32_t> by_name(table.partitions().size());
  for (std::size_t i = 0; i < by_name.size(); ++i) by_name[i] = static_cast<std::uint32_t>(i);
  std::sort(by_name.begin(), by_name.end(), [&](std::uint32_t a, std::uint32_t b) { return table.partitions()[a] < table.partitions()[b]; });
  partition_rank_.resize(by_name.size());
  for (std::size_t i = 0; i < by_name.size(); ++i) partition_rank_[by_name[i]] = static_cast<std::uint32_t>(i);

  const auto code_of = [&](ModificationCode code, std::uint8_t base) { return rules.combine_codes ? ModificationCode{"ACGT"[base]} : code; };
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
    for (const ModificationCode asked : slot.choice) {
      const ModificationCode code = code_of(asked, slot.base);
      auto found = std::find_if(base.codes.begin(), base.codes.end(), [&](const Code& c) { return c.code == code; });
      if (found == base.codes.end()) found = base.codes.insert(found, {code, {}, {}});
      if (found->looked_for.empty() || found->looked_for.back() != index) found->looked_for.push_back(index);
      if (slot.kind == Slot::Kind::modified && slot.code == asked) found->modified.push_back(index);
    }
  }
}

std::int64_t RowRules::offset() const {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < motifs.size(); ++i) most = std::max(most, -apart(i));
  return most;
}
std::int64_t RowRules::reach() const {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < motifs.size(); ++i) most = std::max(most, apart(i));
  return offset() + most;
}
std::string motif_label(const Motif& motif) { return motif.letters + "," + std::to_string(motif.forward.modified); }

bool RowMaker::is_site(std::int64_t position, char strand, std::uint8_t base, std::size_t motif, std::string_view bases) const {
  if (rules_.sites == Sites::all) return true;
  if (rules_.sites == Sites::motifs) {
    const Motif& of = rules_.motifs[motif];
    return base == number_of(of.base) && is_modified_base(bases, position, strand == '-' ? of.reverse : of.forward);
  }
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
  const std::int64_t tile_begin = view.number * tile_positions + view.offset;
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
            !is_site(position, group.strand, base, view.motif, range.bases) || !view.includes(i, group.strand))
          continue;
        rows.push_back({.position = position,
                        .strand = group.strand,
                        .base = base,
                        .code = code.code,
                        .partition = group.partition,
                        .motif = static_cast<std::uint8_t>(view.motif),
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
  View view{*table_, 0, rules_.offset(), 0, number, tile, next, {}, range.included != nullptr};
  if (view.is_limited) view.find_included(range);
  for (std::size_t motif = 0; motif < std::max<std::size_t>(rules_.motifs.size(), 1); ++motif) {
    view.motif = motif;
    view.apart = rules_.motifs.empty() ? 0 : rules_.apart(motif);
    for (const Group& group : groups_) append_group(group, view, range, rows);
  }
  const auto place = [this](const PileupRow& row) { return std::tuple(row.motif, row.base, partition_rank_[row.partition]); };
  std::sort(rows.begin() + first, rows.end(), [&](const PileupRow& a, const PileupRow& b) {
    if (a.position != b.position) return a.position < b.position;
    if (a.strand != b.strand) return a.strand < b.strand;  // '+' comes before '-'
    if (a.code != b.code) return a.code > 0 && b.code > 0 ? a.code < b.code : code_text(a.code) < code_text(b.code);
    return place(a) < place(b);
  });
}

}  // namespace sluice::modification_pileup
