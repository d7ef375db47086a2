// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/signal_index.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <stdexcept>

namespace sluice::signal_reader {
namespace {

constexpr std::string_view magic{"SLOW5IDX\1", 9};
constexpr std::string_view end_mark = "XDI5WOLS";
constexpr std::size_t header_bytes = 64;

template <class T>
void append(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

}  // namespace

std::size_t SignalIndex::slot_of(std::string_view read_id) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = std::hash<std::string_view>()(read_id) & mask;
  while (slots_[slot] != 0 && this->read_id(slots_[slot] - 1) != read_id) slot = (slot + 1) & mask;
  return slot;
}

void SignalIndex::grow(std::size_t slots) {
  slots_.assign(slots, 0);
  for (std::size_t i = 0; i < entries_.size(); ++i) slots_[slot_of(read_id(i))] = static_cast<std::uint32_t>(i + 1);
}

void SignalIndex::reserve(std::size_t reads) {
  std::size_t slots = 64;
  while (slots < reads * 2) slots *= 2;
  entries_.reserve(reads);
  if (slots > slots_.size()) grow(slots);
}

SignalIndex::Added SignalIndex::add(std::string_view read_id, RecordPlace place) {
  if (entries_.size() >= std::numeric_limits<std::uint32_t>::max() - 1)
    throw std::length_error("more than 4 thousand million reads in one signal file");
  if (slots_.size() < (entries_.size() + 1) * 2) grow(slots_.empty() ? 64 : slots_.size() * 2);
  const std::size_t slot = slot_of(read_id);
  if (slots_[slot] != 0) return Added::duplicate;
  entries_.push_back({names_.size(), static_cast<std::uint32_t>(read_id.size()), place});
  names_ += read_id;
  slots_[slot] = static_cast<std::uint32_t>(entries_.size());
  return Added::yes;
}

std::optional<RecordPlace> SignalIndex::find(std::string_view read_id) const {
  if (slots_.empty()) return std::nullopt;
  const std::uint32_t entry = slots_[slot_of(read_id)];
  return entry == 0 ? std::nullopt : std::optional(entries_[entry - 1].place);
}

std::string_view SignalIndex::read_id(std::size_t entry) const { return {names_.data() + entries_[entry].name_begin, entries_[entry].name_length}; }

IndexStatus parse_index(std::span<const char> bytes, RecordExtent extent, SignalIndex& index) {
  if (bytes.size() < header_bytes || std::string_view(bytes.data(), magic.size()) != magic) return IndexStatus::not_an_index;
  if (static_cast<unsigned char>(bytes[magic.size()]) > 1) return IndexStatus::not_an_index;
  if (bytes.size() < header_bytes + end_mark.size() || std::string_view(bytes.data() + bytes.size() - end_mark.size(), end_mark.size()) != end_mark)
    return IndexStatus::truncated;
  std::size_t at = header_bytes;
  const std::size_t end = bytes.size() - end_mark.size();
  const auto load = [&bytes](std::size_t from, auto& value) { std::memcpy(&value, bytes.data() + from, sizeof value); };
  std::uint64_t covered = 0;
  std::vector<RecordPlace> places;
  while (at < end) {
    std::uint16_t length = 0;
    if (end - at < 2) return IndexStatus::malformed;
    load(at, length);
    if (length == 0 || end - at - 2 < std::size_t{length} + 16) return IndexStatus::malformed;
    const std::string_view read_id(bytes.data() + at + 2, length);
    RecordPlace place;
    load(at + 2 + length, place.offset);
    load(at + 10 + length, place.bytes);
    if (place.offset < extent.begin || place.offset > extent.end || place.bytes > extent.end - place.offset || place.bytes < 8)
      return IndexStatus::other_file;
    covered += place.bytes;
    places.push_back(place);
    if (index.add(read_id, place) == SignalIndex::Added::duplicate) return IndexStatus::malformed;
    at += 18 + std::size_t{length};
  }
  const auto earlier = [](const RecordPlace& a, const RecordPlace& b) { return a.offset < b.offset; };
  if (!std::is_sorted(places.begin(), places.end(), earlier)) std::sort(places.begin(), places.end(), earlier);
  for (std::size_t i = 1; i < places.size(); ++i)
    if (places[i].offset - places[i - 1].offset < places[i - 1].bytes) return IndexStatus::malformed;
  // Records tile the file, but for the repetitions of a read id, which an index leaves out.
  return covered <= extent.end - extent.begin && (index.size() != 0 || extent.end == extent.begin) ? IndexStatus::ok : IndexStatus::other_file;
}

std::string serialise_index(const SignalIndex& index, const std::uint8_t (&version)[3]) {
  std::string out(magic);
  for (const std::uint8_t part : version) out += static_cast<char>(part);
  out.resize(header_bytes, '\0');
  for (std::size_t i = 0; i < index.size(); ++i) {
    const std::string_view read_id = index.read_id(i);
    append(out, static_cast<std::uint16_t>(read_id.size()));
    out += read_id;
    append(out, index.place(i).offset);
    append(out, index.place(i).bytes);
  }
  out += end_mark;
  return out;
}

}  // namespace sluice::signal_reader
