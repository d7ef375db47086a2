// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How columns lie in memory, and whether one that a plugin made does: what a host looks at before it takes one.

#include <sluice/abi.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <sluice/column.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

inline std::size_t item_bytes(std::string_view type) {  // of a fixed width; 0 for text and lists
  for (const ElementType& element : element_types)
    if (type == element.name) return element.bytes;
  return 0;
}
inline bool is_list(std::string_view type) { return type.starts_with("list<"); }
inline bool is_text(std::string_view type) { return type == "utf8" || type == "binary"; }
inline std::string_view item_type(std::string_view list_type) { return list_type.substr(5, list_type.size() - 6); }
inline bool is_column_type(std::string_view type) {
  return is_text(type) || item_bytes(is_list(type) && type.ends_with(">") ? item_type(type) : type) > 0;
}

// Whom `array` belongs to decides what can be looked at: offsets on a device can't.
enum class Place { host, device };

namespace detail {

inline const std::int64_t* offsets_of(const ArrowArray& array) { return static_cast<const std::int64_t*>(array.buffers[1]) + array.offset; }

// Looks at one array and its child; buffer sizes are taken one after the other.
class ColumnCheck {
 public:
  ColumnCheck(std::span<const std::uint64_t> sizes, Place place) : sizes_(sizes), place_(place) {}

  std::string problem(std::string_view type, const ArrowArray& array) {
    if (array.length < 0 || array.offset < 0 || array.length > most || array.offset > most) return "has a length or an offset that can't be";
    if (array.null_count > 0) return "has nulls, which sluice does not know: a row that has no value fails";
    const std::int64_t buffers = is_text(type) ? 3 : 2;
    if (array.n_buffers != buffers || array.buffers == nullptr)
      return "has " + std::to_string(array.n_buffers) + " buffers instead of " + std::to_string(buffers);
    if (array.buffers[0] != nullptr) return "has a bitmap of nulls, which sluice does not know: a row that has no value fails";
    if (sizes_.size() < static_cast<std::size_t>(buffers)) return "comes without the sizes of its buffers";
    const std::span<const std::uint64_t> sizes = sizes_.first(static_cast<std::size_t>(buffers));
    sizes_ = sizes_.subspan(sizes.size());
    const auto end = static_cast<std::uint64_t>(array.offset + array.length);
    if (!is_list(type) && !is_text(type)) return shortage("values", array, 1, sizes[1], end * item_bytes(type));
    if (std::string found = shortage("offsets", array, 1, sizes[1], (end + 1) * sizeof(std::int64_t)); !found.empty()) return found;
    if (is_text(type)) return text_problem(array, sizes[2]);
    if (array.n_children != 1 || array.children == nullptr || array.children[0] == nullptr) return "has no values";
    if (std::string found = offsets_problem(array, static_cast<std::uint64_t>(array.children[0]->length), "values"); !found.empty()) return found;
    return problem(item_type(type), *array.children[0]);
  }

 private:
  static constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 16;

  static std::string shortage(const char* what, const ArrowArray& array, int buffer, std::uint64_t bytes, std::uint64_t needed) {
    if (needed > 0 && array.buffers[buffer] == nullptr) return std::string("has no ") + what;
    if (bytes < needed) return std::string("has ") + std::to_string(bytes) + " bytes of " + what + " where its rows need " + std::to_string(needed);
    return {};
  }
  std::string text_problem(const ArrowArray& array, std::uint64_t bytes) const {
    if (place_ == Place::device) return {};
    if (std::string found = offsets_problem(array, bytes, "bytes"); !found.empty()) return found;
    return shortage("bytes", array, 2, bytes, static_cast<std::uint64_t>(offsets_of(array)[array.length]));
  }
  std::string offsets_problem(const ArrowArray& array, std::uint64_t limit, const char* what) const {
    if (place_ == Place::device) return {};
    const std::int64_t* offsets = offsets_of(array);
    if (offsets[0] < 0) return "begins at a negative offset";
    for (std::int64_t row = 0; row < array.length; ++row)
      if (offsets[row + 1] < offsets[row]) return "has offsets that go back at row " + std::to_string(row);
    if (static_cast<std::uint64_t>(offsets[array.length]) > limit) return std::string("has offsets that point past its ") + what;
    return {};
  }

  std::span<const std::uint64_t> sizes_;
  const Place place_;
};

inline void add_buffer_bytes(std::string_view type, const ArrowArray& array, std::vector<std::uint64_t>& sizes) {
  const auto end = static_cast<std::uint64_t>(array.offset + array.length);
  sizes.push_back(0);
  if (!is_list(type) && !is_text(type)) return sizes.push_back(end * item_bytes(type));
  sizes.push_back((end + 1) * sizeof(std::int64_t));
  if (is_text(type)) return sizes.push_back(static_cast<std::uint64_t>(offsets_of(array)[array.length]));
  add_buffer_bytes(item_type(type), *array.children[0], sizes);
}

}  // namespace detail

// "" if `array` is a well-formed column of `rows` rows of the declared type without nulls, each buffer as long as what it must hold
// (buffer_bytes: see sluice_new_column); else what is wrong, as the end of a sentence that begins with the column's name.
inline std::string column_problem(std::string_view declared_type, std::int64_t rows, const ArrowSchema& schema, const ArrowArray& array,
                                  std::span<const std::uint64_t> buffer_bytes, Place place) {
  if (const std::string type = column_type(schema); type != declared_type)
    return "is " + (type.empty() ? std::string("of a type that sluice does not have") : type) + ", declared as " + std::string(declared_type);
  if (array.length != rows) return "has " + std::to_string(array.length) + " rows, the batch has " + std::to_string(rows);
  return detail::ColumnCheck(buffer_bytes, place).problem(declared_type, array);
}

// Bytes of the rows of a well-formed column on the host, and of each of its buffers.
inline std::uint64_t column_bytes(std::string_view type, const ArrowArray& array) {
  const auto rows = static_cast<std::uint64_t>(array.length);
  if (!is_list(type) && !is_text(type)) return rows * item_bytes(type);
  const std::int64_t* offsets = detail::offsets_of(array);
  const auto values = static_cast<std::uint64_t>(offsets[array.length] - offsets[0]);
  return (rows + 1) * sizeof(std::int64_t) + values * (is_text(type) ? 1 : std::max<std::uint64_t>(item_bytes(item_type(type)), 1));
}

inline std::vector<std::uint64_t> buffer_bytes_of(std::string_view type, const ArrowArray& array) {
  std::vector<std::uint64_t> sizes;
  detail::add_buffer_bytes(type, array, sizes);
  return sizes;
}

}  // namespace sluice
