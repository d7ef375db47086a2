// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "batch/fingerprint.hpp"

#include <sluice/column.hpp>
#include <string_view>

namespace sluice {
namespace {

class Fnv1a {
 public:
  void add(const void* data, std::size_t bytes) {
    const auto* byte = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < bytes; ++i) hash_ = (hash_ ^ byte[i]) * 0x100000001B3U;
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325U;
};

std::size_t item_bytes(std::string_view type) {
  for (const ElementType& element : element_types)
    if (type == element.name) return element.bytes == 0 ? 1 : element.bytes;
  return 1;
}

// One row's cell: its size and its values.
void add_cell(Fnv1a& hash, const std::string& type, const ArrowArray& array, std::int64_t row) {
  const bool is_list = type.starts_with("list<"), is_text = type == "utf8" || type == "binary";
  if (!is_list && !is_text) {
    const std::size_t width = item_bytes(type);
    hash.add(static_cast<const char*>(array.buffers[1]) + static_cast<std::size_t>(array.offset + row) * width, width);
    return;
  }
  const auto* offsets = static_cast<const std::int64_t*>(array.buffers[1]) + array.offset;
  const std::int64_t count = offsets[row + 1] - offsets[row];
  hash.add(&count, sizeof count);
  if (count == 0) return;
  if (is_text) return hash.add(static_cast<const char*>(array.buffers[2]) + offsets[row], static_cast<std::size_t>(count));
  const ArrowArray& child = *array.children[0];
  const std::size_t width = item_bytes(std::string_view(type).substr(5, type.size() - 6));
  hash.add(static_cast<const char*>(child.buffers[1]) + static_cast<std::size_t>(child.offset + offsets[row]) * width,
           static_cast<std::size_t>(count) * width);
}

}  // namespace

std::uint64_t fingerprint(const BatchData& batch, const std::vector<std::string>& columns) {
  Fnv1a hash;
  hash.add(&batch.rows, sizeof batch.rows);
  for (std::int64_t row = 0; row < batch.rows; ++row) {
    const std::uint16_t status = batch.status ? (*batch.status)[static_cast<std::size_t>(row)] : std::uint16_t{0};
    hash.add(&status, sizeof status);
  }
  for (const std::string& name : columns) {
    const ColumnHandle* column = batch.find(name);
    if (column == nullptr) continue;
    hash.add(name.data(), name.size());
    const ArrowArray& array = (*column)->host();
    for (std::int64_t row = 0; row < batch.rows; ++row)
      if (!batch.status || (*batch.status)[static_cast<std::size_t>(row)] == 0) add_cell(hash, (*column)->type(), array, row);
  }
  return hash.value();
}

}  // namespace sluice
