// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "basecaller_tags/read_tags.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <sluice/hts/tag_walk.hpp>
#include <sluice/utc_time.hpp>
#include <utility>

namespace sluice::basecaller_tags {
namespace {

template <class T>
T load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::optional<std::int64_t> integer_of(char type, const char* value) {
  switch (type) {
    case 'c':
      return load<std::int8_t>(value);
    case 'C':
      return load<std::uint8_t>(value);
    case 's':
      return load<std::int16_t>(value);
    case 'S':
      return load<std::uint16_t>(value);
    case 'i':
      return load<std::int32_t>(value);
    case 'I':
      return load<std::uint32_t>(value);
    default:
      return std::nullopt;
  }
}

// `other` where there is none, or one that can't be.
std::int32_t in_32_bits(std::optional<std::int64_t> number, std::int32_t other) {
  return number && *number >= -1 && *number <= std::numeric_limits<std::int32_t>::max() ? static_cast<std::int32_t>(*number) : other;
}

using utc_time::take, utc_time::take_number;

bool is_rna(const ReadTags& tags) {
  return tags.read_group.find("_rna") != std::string_view::npos || value_of(tags.description, "basecall_model").starts_with("rna");
}

}  // namespace

// Of two tags of one name and type the first counts.
ReadTags parse(std::string_view tags) {
  ReadTags read;
  while (!tags.empty()) {
    const std::optional<std::size_t> bytes = hts::first_tag_bytes(tags);
    if (!bytes) break;
    const std::string_view tag = tags.substr(0, *bytes);
    tags.remove_prefix(*bytes);
    const std::string_view name = tag.substr(0, hts::tag_name_bytes);
    const char type = tag[hts::tag_type_at];
    const char* const value = tag.data() + hts::tag_value_at;
    if (const std::optional<std::int64_t> number = integer_of(type, value)) {
      const std::array<std::pair<std::string_view, std::optional<std::int64_t>*>, 5> integers{
          {{"ts", &read.ts}, {"ns", &read.ns}, {"sp", &read.sp}, {"dx", &read.dx}, {"pt", &read.pt}}};
      for (const auto& [known, field] : integers)
        if (name == known && !*field) *field = number;
    } else if (type == 'Z') {
      const std::string_view text = tag.substr(hts::tag_value_at, tag.size() - hts::tag_value_at - 1);
      const std::array<std::pair<std::string_view, std::string_view*>, 7> texts{{{"pi", &read.pi},
                                                                                 {"st", &read.st},
                                                                                 {"sv", &read.sv},
                                                                                 {"BC", &read.barcode},
                                                                                 {"RG", &read.read_group},
                                                                                 {"DS", &read.description},
                                                                                 {"PG", &read.program}}};
      for (const auto& [known, field] : texts)
        if (name == known && field->empty()) *field = text;
    } else if (type == 'f' && name == "du") {
      if (!read.du) read.du = load<float>(value);
    } else if (type == 'B') {
      const char element = tag[hts::tag_value_at];
      const char* const elements = tag.data() + hts::tag_elements_at;
      const auto count = load<std::uint32_t>(tag.data() + hts::tag_count_at);
      if (name == "mv" && (element == 'c' || element == 'C') && read.moves.empty())
        read.moves = {reinterpret_cast<const std::int8_t*>(elements), count};
      if (name == "pa" && element != 'f' && read.pa.empty())
        for (std::uint32_t i = 0; i < count; ++i)
          read.pa.push_back(in_32_bits(integer_of(element, elements + i * hts::tag_element_bytes(element)), -1));
    }
  }
  return read;
}

std::optional<bool> is_dorado_before(std::string_view program, int major, int minor) {
  if (!take(program, "dorado ")) return std::nullopt;
  const auto own_major = take_number(program, 4);
  if (!own_major || !take(program, ".")) return std::nullopt;
  const auto own_minor = take_number(program, 4);
  if (!own_minor) return std::nullopt;
  return *own_major != major ? *own_major < major : *own_minor < minor;
}

std::string_view value_of(std::string_view description, std::string_view key) {
  while (!description.empty()) {
    std::string_view word = description.substr(0, description.find(' '));
    description.remove_prefix(std::min(word.size() + 1, description.size()));
    if (take(word, key) && take(word, "=")) return word;
  }
  return {};
}

MoveState state_of_moves(const ReadTags& tags, std::int64_t bases) {
  if (tags.moves.empty() || !tags.ts || !tags.ns) return MoveState::none;
  const std::int64_t stride = tags.moves[0];
  const std::span<const std::int8_t> blocks = tags.moves.subspan(1);
  if (stride <= 0 || blocks.empty() || blocks[0] != 1) return MoveState::broken;
  std::int64_t ones = 0;
  bool are_bits = true;
  for (const std::int8_t block : blocks) {
    ones += block;
    are_bits = are_bits && (block & ~1) == 0;
  }
  if (!are_bits || (bases >= 0 && ones != bases)) return MoveState::broken;
  if (static_cast<std::int64_t>(blocks.size()) * stride > *tags.ns - *tags.ts) return MoveState::broken;
  if (!tags.barcode.empty() && is_rna(tags) && is_dorado_before(tags.program, 1, 4).value_or(false)) return MoveState::doubted;
  return MoveState::sound;
}

std::int32_t poly_a_bases(const ReadTags& tags) { return in_32_bits(tags.pt, -2); }

std::vector<std::int32_t> poly_a_place(const ReadTags& tags) {
  const bool may_be = tags.pa.size() >= 3 && tags.pa[1] <= tags.pa[2] && (tags.pa[1] >= 0 || tags.pa[2] < 0);
  return may_be ? tags.pa : std::vector<std::int32_t>();
}

std::vector<std::int64_t> signal_part(const ReadTags& tags, std::string_view read_id, MoveState moves) {
  const bool is_split = !tags.pi.empty() && tags.pi != read_id;
  if (!is_split && !tags.ts && !tags.ns) return {};
  // A number that can't be must not look like one that is not there.
  const auto number = [](const std::optional<std::int64_t>& tag) { return tag ? std::max<std::int64_t>(*tag, -2) : -1; };
  const std::int64_t ts = tags.ts ? number(tags.ts) : 0;
  std::int64_t ns = tags.ns && *tags.ns < 0 ? 0 : number(tags.ns);
  // Before dorado 0.5.1 ns counted what had been cut off behind the last base.
  if (moves == MoveState::sound) {
    const std::int64_t stride = tags.moves[0], end = ts + stride * static_cast<std::int64_t>(tags.moves.size() - 1);
    if (end + stride <= ns) ns = end;
  }
  if (!is_split) return {ts, ns};
  std::int64_t front = -1;
  if (const auto is_older = is_dorado_before(tags.program, 2, 1)) {
    if (!*is_older)
      front = 0;
    else if (tags.sv == "pa")
      front = 10;
  }
  // The length of a split read's part is known from both only.
  return {ts, tags.ts ? ns : -1, number(tags.sp), milliseconds_of_utc(tags.st).value_or(-1), front};
}

}  // namespace sluice::basecaller_tags
