// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "bedgraph_writer/big_wig.hpp"

#include <libdeflate.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <sluice/allocated.hpp>
#include <sluice/failure.hpp>
#include <utility>

namespace sluice::bedgraph_writer {
namespace {

constexpr std::uint32_t file_magic = 0x888FFC26, tree_of_names_magic = 0x78CA8C91, tree_of_places_magic = 0x2468ACE0;
constexpr std::size_t values_a_section = 1024, summaries_a_block = 512, children_a_node = 256;
constexpr std::uint32_t first_zoom = 1024, zoom_step = 4;  // bases; each level has at most a quarter of the one before
constexpr std::size_t header_bytes = 64, level_bytes = 24, totals_bytes = 40;

template <class... Numbers>
void append(std::string& to, const Numbers... numbers) {
  (to.append(reinterpret_cast<const char*>(&numbers), sizeof numbers), ...);
}
std::uint32_t u32(std::size_t number) { return static_cast<std::uint32_t>(number); }
std::uint16_t u16(std::size_t number) { return static_cast<std::uint16_t>(number); }
std::uint8_t u8(bool yes) { return yes ? 1 : 0; }

std::string compressed(std::string_view bytes) {
  constexpr int level = 6;
  const std::unique_ptr<libdeflate_compressor, void (*)(libdeflate_compressor*)> compressor(allocated(libdeflate_alloc_compressor(level)),
                                                                                            libdeflate_free_compressor);
  std::string packed(libdeflate_zlib_compress_bound(compressor.get(), bytes.size()), '\0');
  packed.resize(libdeflate_zlib_compress(compressor.get(), bytes.data(), bytes.size(), packed.data(), packed.size()));
  return packed;
}

// How many nodes each level of a tree over so many items has, the leaves first.
std::vector<std::size_t> nodes_of_levels(std::size_t items) {
  std::vector<std::size_t> nodes;
  do nodes.push_back(items = std::max<std::size_t>(1, (items + children_a_node - 1) / children_a_node));
  while (items > 1);
  return nodes;
}

// A tree whose root comes first and whose leaves last. leaf(to, item) appends an item; inner(to, first, last, place) what a node says of its child at
// `place` with these items.
template <class Leaf, class Inner>
std::string tree(std::size_t items, std::uint64_t place, std::size_t leaf_bytes, std::size_t inner_bytes, Leaf leaf, Inner inner) {
  constexpr std::size_t head_bytes = 4;
  const std::vector<std::size_t> nodes = nodes_of_levels(items);
  std::string bytes;
  std::size_t span = children_a_node;  // items below a node of this level
  for (std::size_t level = 1; level < nodes.size(); ++level) span *= children_a_node;
  for (std::size_t level = nodes.size(); level-- > 0; span /= children_a_node) {
    const std::size_t below = level == 0 ? items : nodes[level - 1];
    const std::uint64_t children = place + nodes[level] * head_bytes + below * inner_bytes;  // of inner nodes: behind this level
    for (std::size_t node = 0; node < nodes[level]; ++node) {
      const std::size_t first = node * children_a_node, count = std::min(children_a_node, below - first);
      append(bytes, u8(level == 0), std::uint8_t{0}, u16(count));
      for (std::size_t child = first; child < first + count; ++child) {
        if (level == 0) {
          leaf(bytes, child);
          continue;
        }
        const std::size_t width = span / children_a_node, each = level == 1 ? leaf_bytes : inner_bytes;
        inner(bytes, child * width, std::min(items, (child + 1) * width), children + child * (head_bytes + children_a_node * each));
      }
    }
    place = children;
  }
  return bytes;
}

std::string tree_of_names(const std::vector<ContigLength>& contigs, std::uint64_t place) {
  std::vector<std::uint32_t> order(contigs.size());
  std::size_t longest = 1;
  for (std::size_t id = 0; id < order.size(); ++id) order[id] = u32(id), longest = std::max(longest, contigs[id].name.size());
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return contigs[a].name < contigs[b].name; });
  std::string bytes;
  append(bytes, tree_of_names_magic, u32(children_a_node), u32(longest), std::uint32_t{8}, std::uint64_t{contigs.size()}, std::uint64_t{0});
  const auto add_name = [&](std::string& to, std::size_t item) {
    to += contigs[order[item]].name;
    to.append(longest - contigs[order[item]].name.size(), '\0');
  };
  return bytes + tree(
                     contigs.size(), place + bytes.size(), longest + 8, longest + 8,
                     [&](std::string& to, std::size_t item) {
                       add_name(to, item);
                       append(to, order[item], contigs[order[item]].bases);
                     },
                     [&](std::string& to, std::size_t first, std::size_t, std::uint64_t child) {
                       add_name(to, first);
                       append(to, child);
                     });
}

// `base`: where the blocks' places are counted from; `end`: of the data.
std::string tree_of_places(const std::vector<IndexedBlock>& blocks, std::uint64_t base, std::uint64_t end, std::uint64_t place) {
  const IndexedBlock none;
  const IndexedBlock &first = blocks.empty() ? none : blocks.front(), &last = blocks.empty() ? none : blocks.back();
  std::string bytes;
  append(bytes, tree_of_places_magic, u32(children_a_node), std::uint64_t{blocks.size()}, first.contig, first.begin, last.contig, last.end, end,
         std::uint32_t{1}, std::uint32_t{0});
  return bytes + tree(
                     blocks.size(), place + bytes.size(), 32, 24,
                     [&](std::string& to, std::size_t item) {
                       const IndexedBlock& block = blocks[item];
                       append(to, block.contig, block.begin, block.contig, block.end, base + block.place, std::uint64_t{block.bytes});
                     },
                     [&](std::string& to, std::size_t from, std::size_t until, std::uint64_t child) {
                       append(to, blocks[from].contig, blocks[from].begin, blocks[until - 1].contig, blocks[until - 1].end, child);
                     });
}

}  // namespace

BigWig::BigWig(const std::string& path, std::vector<ContigLength> contigs) : contigs_(std::move(contigs)), sections_(path, "write bedGraph") {
  for (std::size_t id = 0; id < contigs_.size(); ++id) places_.emplace(contigs_[id].name, u32(id));
  std::uint32_t bases = first_zoom;
  for (ZoomLevel& level : levels_) level.bases = bases, bases *= zoom_step;
}

void BigWig::begin_contig(std::string_view name) {
  end_section();
  for (ZoomLevel& level : levels_) end_block(level);
  const auto found = places_.find(name);
  if (found == places_.end())
    throw Failure::input("there are sites on '" + std::string(name) + "', whose length is not known", "give the reference of the alignments");
  if (!seen_once_.insert(found->second).second)
    throw Failure::input("sites on '" + std::string(name) + "' come again after those of another contig", "sort the alignments by position");
  seen_.push_back(found->second);
}

void BigWig::add(std::string_view contig, std::int64_t position, float value) {
  if (seen_.empty() || contigs_[seen_.back()].name != contig) begin_contig(contig);
  const auto refuse = [&](const char* why, const char* remedy) {
    throw Failure::input("site " + std::string(contig) + ":" + std::to_string(position) + " " + why, remedy);
  };
  if (position >= contigs_[seen_.back()].bases) refuse("lies behind the end of its contig", "give the reference of the alignments");
  const std::vector<Summary>& windows = levels_[0].last;  // holds the last value of this contig, if there is one
  if (!windows.empty() && position < windows.back().end) refuse("comes after a later one", "sort the alignments by position");
  const auto place = static_cast<std::uint32_t>(position);
  section_.push_back({place, value});
  for (ZoomLevel& level : levels_) add_to(level, place, value);
  totals_.least = totals_.values == 0 ? value : std::min<double>(totals_.least, value);
  totals_.greatest = totals_.values == 0 ? value : std::max<double>(totals_.greatest, value);
  ++totals_.values;
  totals_.sum += value;
  totals_.sum_of_squares += static_cast<double>(value) * value;
  if (section_.size() == values_a_section) end_section();
}

void BigWig::add_to(ZoomLevel& level, std::uint32_t position, float value) const {
  if (level.last.empty() || level.last.back().begin / level.bases != position / level.bases) {
    if (level.last.size() == summaries_a_block) end_block(level);
    level.last.push_back({.contig = contig(), .begin = position, .least = value, .greatest = value});
    ++level.summaries;
  }
  Summary& window = level.last.back();
  window.end = position + 1;
  ++window.values;
  window.least = std::min(window.least, value);
  window.greatest = std::max(window.greatest, value);
  window.sum += value;
  window.sum_of_squares += value * value;
}

void BigWig::end_section() {
  if (section_.empty()) return;
  constexpr std::uint8_t variable_step = 2;
  const std::uint32_t contig = this->contig(), begin = section_.front().position, end = section_.back().position + 1;
  std::string bytes;
  append(bytes, contig, begin, end, std::uint32_t{0}, std::uint32_t{1}, variable_step, std::uint8_t{0}, u16(section_.size()));
  for (const Value& value : section_) append(bytes, value.position, value.value);
  bytes = compressed(bytes);
  index_.push_back({contig, begin, end, u32(bytes.size()), sections_.append(bytes)});
  section_.clear();
}

void BigWig::end_block(ZoomLevel& level) {
  if (level.last.empty()) return;
  std::string bytes;
  for (const Summary& s : level.last) append(bytes, s.contig, s.begin, s.end, s.values, s.least, s.greatest, s.sum, s.sum_of_squares);
  bytes = compressed(bytes);
  level.index.push_back({level.last.front().contig, level.last.front().begin, level.last.back().end, u32(bytes.size()), level.blocks.size()});
  level.blocks += bytes;
  level.last.clear();
}

std::vector<ContigLength> BigWig::numbered() const {
  std::vector<ContigLength> contigs;
  std::vector<bool> is_seen(contigs_.size());
  for (const std::uint32_t place : seen_) contigs.push_back(contigs_[place]), is_seen[place] = true;
  for (std::size_t place = 0; place < contigs_.size(); ++place)
    if (!is_seen[place]) contigs.push_back(contigs_[place]);
  return contigs;
}

void BigWig::write(const std::function<void(std::string_view)>& put) {
  end_section();
  for (ZoomLevel& level : levels_) end_block(level);
  // A level that is no smaller than the one before shows nothing.
  std::size_t levels = 0;
  while (levels < levels_.size() && levels_[levels].summaries > 0 && (levels == 0 || levels_[levels].summaries < levels_[levels - 1].summaries))
    ++levels;

  const std::uint64_t totals_place = header_bytes + levels * level_bytes, names_place = totals_place + totals_bytes;
  const std::string names = tree_of_names(numbered(), names_place);
  const std::uint64_t data_place = names_place + names.size(), sections_place = data_place + sizeof(std::uint64_t),
                      index_place = sections_place + sections_.bytes();
  const std::string index = tree_of_places(index_, sections_place, index_place, index_place);
  std::string head;
  append(head, file_magic, std::uint16_t{4}, u16(levels), names_place, data_place, index_place, std::uint16_t{0}, std::uint16_t{0}, std::uint64_t{0},
         totals_place, u32(std::max(24 + values_a_section * sizeof(Value), summaries_a_block * sizeof(Summary))), std::uint64_t{0});
  std::uint64_t place = index_place + index.size();
  std::vector<std::string> indexes;
  for (std::size_t i = 0; i < levels; ++i) {
    const ZoomLevel& level = levels_[i];
    const std::uint64_t blocks_place = place + sizeof(std::uint32_t), level_index = blocks_place + level.blocks.size();
    indexes.push_back(tree_of_places(level.index, blocks_place, level_index, level_index));
    append(head, level.bases, std::uint32_t{0}, place, level_index);
    place = level_index + indexes.back().size();
  }
  append(head, totals_.values, totals_.least, totals_.greatest, totals_.sum, totals_.sum_of_squares);
  head += names;
  append(head, std::uint64_t{index_.size()});
  put(head);
  for (const IndexedBlock& block : index_) {
    std::string bytes(block.bytes, '\0');
    sections_.read(block.place, bytes.data(), bytes.size());
    put(bytes);
  }
  put(index);
  for (std::size_t i = 0; i < levels; ++i) {
    std::string count;
    append(count, levels_[i].summaries);
    put(count);
    put(levels_[i].blocks);
    put(indexes[i]);
  }
  std::string end;
  append(end, file_magic);
  put(end);
}

void BigWig::save(StateWriter& to) const {
  to.values(seen_);
  to.values(section_);
  to.values(index_);
  for (const IndexedBlock& block : index_) {
    std::string bytes(block.bytes, '\0');
    sections_.read(block.place, bytes.data(), bytes.size());
    to.text(bytes);
  }
  for (const ZoomLevel& level : levels_) {
    to.values(level.last);
    to.value(level.summaries);
    to.text(level.blocks);
    to.values(level.index);
  }
  to.value(totals_.values);
  for (const double number : {totals_.least, totals_.greatest, totals_.sum, totals_.sum_of_squares}) to.value(number);
}

void BigWig::restore(StateReader& from) {
  seen_ = from.values<std::uint32_t>();
  seen_once_ = {seen_.begin(), seen_.end()};
  section_ = from.values<Value>();
  index_ = from.values<IndexedBlock>();
  for (IndexedBlock& block : index_) block.place = sections_.append(from.text());
  for (ZoomLevel& level : levels_) {
    level.last = from.values<Summary>();
    level.summaries = from.value<std::uint32_t>();
    level.blocks = from.text();
    level.index = from.values<IndexedBlock>();
  }
  totals_.values = from.value<std::uint64_t>();
  for (double* number : {&totals_.least, &totals_.greatest, &totals_.sum, &totals_.sum_of_squares}) *number = from.value<double>();
  if (std::any_of(seen_.begin(), seen_.end(), [this](std::uint32_t place) { return place >= contigs_.size(); }))
    throw Failure::input("the saved state of a bigWig file has other contigs", "begin the run anew, without --resume");
}

}  // namespace sluice::bedgraph_writer
