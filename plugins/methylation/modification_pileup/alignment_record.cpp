// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "modification_pileup/alignment_record.hpp"

#include <array>
#include <cstring>
#include <sluice/hts/tag_types.hpp>

namespace sluice::modification_pileup {
namespace {

constexpr std::size_t header_bytes = 52;

template <class T>
T load(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// The codes of the two bases in a byte, and those of their complements in the opposite order.
struct Pairs {
  std::array<std::array<std::uint8_t, 2>, 256> forward{}, reverse{};
};
constexpr Pairs pairs = [] {
  constexpr std::array<std::uint8_t, 16> codes = {4, 0, 1, 4, 2, 4, 4, 4, 3, 4, 4, 4, 4, 4, 4, 4};
  constexpr std::array<std::uint8_t, 16> complements = {4, 3, 2, 4, 1, 4, 4, 4, 0, 4, 4, 4, 4, 4, 4, 4};
  Pairs made;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    made.forward[byte] = {codes[byte >> 4U], codes[byte & 15U]};
    made.reverse[byte] = {complements[byte & 15U], complements[byte >> 4U]};
  }
  return made;
}();

}  // namespace

bool AlignmentRecord::parse(std::string_view bytes) {
  if (bytes.size() < header_bytes) return false;
  const std::uint64_t name_bytes = load<std::uint16_t>(bytes, 18);
  const auto bases = load<std::int32_t>(bytes, 24);
  const auto data_bytes = load<std::int32_t>(bytes, 48);
  if (bases < 0 || data_bytes < 0 || static_cast<std::size_t>(data_bytes) > bytes.size() - header_bytes) return false;
  const std::string_view data = bytes.substr(header_bytes, static_cast<std::size_t>(data_bytes));
  if (name_bytes > data.size()) return false;
  return assign(load<std::int64_t>(bytes, 4), load<std::uint16_t>(bytes, 16), load<std::uint32_t>(bytes, 20), static_cast<std::uint64_t>(bases),
                data.substr(name_bytes));
}

bool AlignmentRecord::assign(std::int64_t position, std::uint16_t flag, std::uint64_t operations, std::uint64_t bases, std::string_view rest) {
  position_ = position;
  flag_ = flag;
  base_count_ = bases;
  const std::uint64_t packed_bytes = (bases + 1) / 2, tags_at = 4 * operations + packed_bytes + bases;
  if (tags_at > rest.size()) return false;
  cigar_ = rest.substr(0, 4 * operations);
  packed_bases_ = rest.substr(4 * operations, packed_bytes);
  qualities_ = rest.substr(4 * operations + packed_bytes, bases);
  tags_ = rest.substr(tags_at);
  for (std::size_t i = 0; i < operations; ++i)
    if ((load<std::uint32_t>(cigar_, 4 * i) & 15U) > static_cast<unsigned>(CigarOperation::different)) return false;
  std::string_view left = tags_, name;
  for (Tag tag; !left.empty();)
    if (!next_tag(left, name, tag)) return false;
  return true;
}

CigarPart AlignmentRecord::cigar_part(std::size_t index) const {
  const auto operation = load<std::uint32_t>(cigar_, 4 * index);
  return {static_cast<CigarOperation>(operation & 15U), static_cast<std::int64_t>(operation >> 4U)};
}

void AlignmentRecord::decode_bases(std::vector<std::uint8_t>& codes) const {
  codes.resize(base_count_);
  const auto* packed = reinterpret_cast<const std::uint8_t*>(packed_bases_.data());
  const std::size_t whole = base_count_ / 2;
  std::uint8_t* to = codes.data();
  if (is_reverse()) {
    if (base_count_ % 2 != 0) *to++ = pairs.reverse[packed[whole]][1];
    for (std::size_t i = 0; i < whole; ++i) std::memcpy(to + 2 * i, pairs.reverse[packed[whole - 1 - i]].data(), 2);
  } else {
    for (std::size_t i = 0; i < whole; ++i) std::memcpy(to + 2 * i, pairs.forward[packed[i]].data(), 2);
    if (base_count_ % 2 != 0) to[2 * whole] = pairs.forward[packed[whole]][0];
  }
}

bool AlignmentRecord::next_tag(std::string_view& rest, std::string_view& name, Tag& tag) {
  if (rest.size() < 3) return false;
  name = rest.substr(0, 2);
  tag.type = rest[2];
  rest.remove_prefix(3);
  std::size_t bytes = hts::tag_value_bytes(tag.type);
  if (tag.type == 'Z' || tag.type == 'H') {
    bytes = rest.find('\0');
    if (bytes == std::string_view::npos) return false;
    ++bytes;
  } else if (tag.type == 'B') {
    if (rest.size() < 5) return false;
    const std::uint64_t element = hts::tag_element_bytes(rest[0]), count = load<std::uint32_t>(rest, 1);
    if (element == 0 || element * count > rest.size() - 5) return false;
    bytes = 5 + static_cast<std::size_t>(element * count);
  }
  if (bytes == 0 || bytes > rest.size()) return false;
  tag.value = rest.substr(0, bytes);
  rest.remove_prefix(bytes);
  return true;
}

AlignmentRecord::Tag AlignmentRecord::find(std::string_view name) const {
  std::string_view rest = tags_, found;
  for (Tag tag; next_tag(rest, found, tag);)
    if (found == name) return tag;
  return {};
}

std::optional<std::string_view> AlignmentRecord::text_tag(std::string_view name) const {
  const Tag tag = find(name);
  if (tag.type != 'Z') return std::nullopt;
  return tag.value.substr(0, tag.value.size() - 1);
}

std::optional<std::span<const std::uint8_t>> AlignmentRecord::bytes_tag(std::string_view name) const {
  const Tag tag = find(name);
  if (tag.type != 'B' || tag.value[0] != 'C') return std::nullopt;
  return std::span(reinterpret_cast<const std::uint8_t*>(tag.value.data()) + 5, tag.value.size() - 5);
}

std::optional<std::int64_t> AlignmentRecord::integer_tag(std::string_view name) const {
  const Tag tag = find(name);
  switch (tag.type) {
    case 'c':
      return load<std::int8_t>(tag.value, 0);
    case 'C':
      return load<std::uint8_t>(tag.value, 0);
    case 's':
      return load<std::int16_t>(tag.value, 0);
    case 'S':
      return load<std::uint16_t>(tag.value, 0);
    case 'i':
      return load<std::int32_t>(tag.value, 0);
    case 'I':
      return load<std::uint32_t>(tag.value, 0);
    default:
      return std::nullopt;
  }
}

}  // namespace sluice::modification_pileup
