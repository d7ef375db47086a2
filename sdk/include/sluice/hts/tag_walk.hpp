// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// From tag to tag of a BAM record (SAM specification, 4.2.4).

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <sluice/hts/tag_types.hpp>
#include <string_view>

namespace sluice::hts {

// Where the parts of a tag lie: name, type, value; of an array (B) type of its elements, their number, elements.
inline constexpr std::size_t tag_name_bytes = 2, tag_type_at = 2, tag_value_at = 3, tag_count_at = 4, tag_elements_at = 8;

// Bytes of the first of the tags; none: it does not end among them.
inline std::optional<std::size_t> first_tag_bytes(std::string_view tags) {
  if (tags.size() < tag_value_at + 1) return std::nullopt;
  const char type = tags[tag_type_at];
  std::size_t bytes = tag_value_at;
  if (type == 'Z' || type == 'H') {
    const std::size_t end = tags.find('\0', tag_value_at);
    if (end == std::string_view::npos) return std::nullopt;
    return end + 1;
  }
  if (type == 'B') {
    if (tags.size() < tag_elements_at) return std::nullopt;
    const std::size_t element_bytes = tag_element_bytes(tags[tag_value_at]);
    std::uint32_t count = 0;
    std::memcpy(&count, tags.data() + tag_count_at, sizeof count);
    if (element_bytes == 0) return std::nullopt;
    bytes = tag_elements_at + element_bytes * count;
  } else {
    const std::size_t value = tag_value_bytes(type);
    if (value == 0) return std::nullopt;
    bytes += value;
  }
  if (bytes > tags.size()) return std::nullopt;
  return bytes;
}

}  // namespace sluice::hts
