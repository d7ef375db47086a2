// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_bases/sequence_index.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>

namespace sluice::read_bases {

std::optional<std::uint64_t> SequencePlace::text_bytes() const {
  if (bases == 0) return 0;
  if (line_bases == 0 || line_bytes < line_bases) return std::nullopt;
  const std::uint64_t line_ends = (bases - 1) / line_bases;
  const std::uint64_t end_bytes = line_bytes - line_bases;
  if (end_bytes != 0 && line_ends > (std::numeric_limits<std::uint64_t>::max() - bases) / end_bytes) return std::nullopt;
  return bases + line_ends * end_bytes;
}

std::size_t SequenceIndex::slot_of(std::string_view wanted) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = std::hash<std::string_view>()(wanted) & mask;
  while (slots_[slot] != 0 && id(slots_[slot] - 1) != wanted) slot = (slot + 1) & mask;
  return slot;
}

SequenceIndex::Added SequenceIndex::add(std::string_view new_id, const SequencePlace& place) {
  if (entries_.size() >= std::numeric_limits<std::uint32_t>::max() - 1)
    throw std::length_error("more than 4 thousand million reads in one sequence file");
  if (slots_.size() < (entries_.size() + 1) * 2) {
    slots_.assign(slots_.empty() ? 64 : slots_.size() * 2, 0);
    for (std::size_t i = 0; i < entries_.size(); ++i) slots_[slot_of(id(i))] = static_cast<std::uint32_t>(i + 1);
  }
  const std::size_t slot = slot_of(new_id);
  if (slots_[slot] != 0) return Added::duplicate;
  entries_.push_back({names_.size(), new_id.size(), place});
  names_ += new_id;
  slots_[slot] = static_cast<std::uint32_t>(entries_.size());
  return Added::yes;
}

const SequencePlace* SequenceIndex::find(std::string_view wanted) const {
  if (slots_.empty()) return nullptr;
  const std::uint32_t entry = slots_[slot_of(wanted)];
  return entry == 0 ? nullptr : &entries_[entry - 1].place;
}

namespace {

struct IndexLine {
  std::string_view id;
  SequencePlace place;
};

// Takes the first line off; none: it is malformed.
std::optional<IndexLine> next_line(std::string_view& fai) {
  const std::size_t line_end = fai.find('\n');
  if (line_end == std::string_view::npos) return std::nullopt;
  std::string_view line = fai.substr(0, line_end);
  fai.remove_prefix(line_end + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  const std::size_t id_end = line.find('\t');
  if (id_end == 0 || id_end == std::string_view::npos) return std::nullopt;
  const std::string_view id = line.substr(0, id_end);
  std::uint64_t numbers[4] = {};
  for (std::uint64_t& number : numbers) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos) return std::nullopt;
    line.remove_prefix(tab + 1);
    const std::size_t end = std::min(line.find('\t'), line.size());
    const auto parsed = std::from_chars(line.data(), line.data() + end, number);
    if (parsed.ec != std::errc() || parsed.ptr != line.data() + end) return std::nullopt;
  }
  return IndexLine{id, {numbers[1], numbers[0], numbers[2], numbers[3]}};
}

}  // namespace

IndexStatus parse_index(std::string_view fai, std::uint64_t text_bytes, SequenceIndex& index, std::uint64_t& duplicates) {
  duplicates = 0;
  while (!fai.empty()) {
    const std::optional<IndexLine> line = next_line(fai);
    if (!line) return IndexStatus::malformed;
    const auto bytes = line->place.text_bytes();
    if (!bytes) return IndexStatus::malformed;
    if (line->place.offset > text_bytes || *bytes > text_bytes - line->place.offset) return IndexStatus::other_file;
    if (index.add(line->id, line->place) == SequenceIndex::Added::duplicate) ++duplicates;
  }
  return index.size() == 0 && text_bytes != 0 ? IndexStatus::malformed : IndexStatus::ok;
}

void find_repeated(std::string_view fai, const SequenceIndex& index, RepeatedReads& repeated) {
  while (const std::optional<IndexLine> line = next_line(fai)) {
    const SequencePlace* const used = index.find(line->id);
    if (used != nullptr && used->offset != line->place.offset) repeated.add(line->id);
  }
}

}  // namespace sluice::read_bases
