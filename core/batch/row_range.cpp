// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "batch/row_range.hpp"

#include <cstring>
#include <sluice/column.hpp>
#include <string_view>

namespace sluice {
namespace {

bool is_list(std::string_view type) { return type.starts_with("list<"); }
bool is_text(std::string_view type) { return type == "utf8" || type == "binary"; }

const ElementType& element_named(std::string_view name) {
  for (const ElementType& type : element_types)
    if (name == type.name) return type;
  throw Failure(SLUICE_ERROR_INTERNAL, "a column of the unknown type '" + std::string(name) + "'");
}
std::string_view item_type(std::string_view type) { return is_list(type) ? type.substr(5, type.size() - 6) : type; }

ArrowSchema schema_of(std::string_view type) {
  return is_list(type) ? detail::make_schema("+L", element_named(item_type(type)).format) : detail::make_schema(element_named(type).format);
}

// A window on another column's array; keeps that column.
struct WindowOwner {
  ColumnHandle column;
};
ArrowArray window(const ColumnHandle& column, std::int64_t begin, std::int64_t rows) {
  ArrowArray array = column->host();
  array.offset += begin;
  array.length = rows;
  array.private_data = new WindowOwner{column};
  array.release = [](ArrowArray* released) {
    delete static_cast<WindowOwner*>(released->private_data);
    released->release = nullptr;
  };
  return array;
}

// The bytes of the values of an array: where they begin, and how many.
std::pair<const char*, std::size_t> values_of(std::string_view type, const ArrowArray& array) {
  if (!is_list(type) && !is_text(type)) {
    const std::size_t width = element_named(type).bytes;
    return {static_cast<const char*>(array.buffers[1]) + static_cast<std::size_t>(array.offset) * width,
            static_cast<std::size_t>(array.length) * width};
  }
  const auto* offsets = static_cast<const std::int64_t*>(array.buffers[1]) + array.offset;
  const std::size_t width = is_text(type) ? 1 : element_named(item_type(type)).bytes;
  const char* values = is_text(type)
                           ? static_cast<const char*>(array.buffers[2])
                           : static_cast<const char*>(array.children[0]->buffers[1]) + static_cast<std::size_t>(array.children[0]->offset) * width;
  return {values + static_cast<std::size_t>(offsets[0]) * width, static_cast<std::size_t>(offsets[array.length] - offsets[0]) * width};
}

ColumnHandle join_columns(const std::vector<ColumnHandle>& parts) {
  const std::string& type = parts.front()->type();
  std::int64_t rows = 0;
  std::size_t bytes = 0;
  for (const ColumnHandle& part : parts) {
    rows += part->rows();
    bytes += values_of(type, part->host()).second;
  }
  Buffer values = Buffer::allocate({}, std::max<std::size_t>(bytes, 1));
  Buffer offsets = Buffer::allocate({}, (static_cast<std::size_t>(rows) + 1) * sizeof(std::int64_t));
  const auto ends = offsets.as<std::int64_t>();
  std::size_t at = 0, row = 0;
  const bool has_offsets = is_list(type) || is_text(type);
  ends[0] = 0;
  for (const ColumnHandle& part : parts) {
    const ArrowArray& array = part->host();
    const auto [source, size] = values_of(type, array);
    if (size != 0) std::memcpy(static_cast<char*>(values.data()) + at, source, size);
    at += size;
    if (!has_offsets) continue;
    const auto* from = static_cast<const std::int64_t*>(array.buffers[1]) + array.offset;
    for (std::int64_t i = 0; i < array.length; ++i, ++row) ends[row + 1] = ends[row] + (from[i + 1] - from[i]);
  }
  ArrowArray array;
  if (!has_offsets) {
    array = detail::make_array(rows, std::move(values), {}, 2);
  } else if (is_text(type)) {
    array = detail::make_array(rows, std::move(offsets), std::move(values), 3);
  } else {
    const std::int64_t count = ends[static_cast<std::size_t>(rows)];
    array = detail::make_array(rows, std::move(offsets), {}, 2);
    auto* owner = static_cast<detail::ArrayOwner*>(array.private_data);
    owner->child = detail::make_array(count, std::move(values), {}, 2);
    owner->children[0] = &owner->child;
    array.n_children = 1;
    array.children = owner->children;
  }
  return std::make_shared<Column>(parts.front()->name(), type, schema_of(type), array);
}

}  // namespace

BatchHandle slice_rows(const BatchHandle& batch, std::int64_t begin, std::int64_t end) {
  auto part = std::make_shared<BatchData>(*batch);
  part->rows = end - begin;
  part->work = batch->work * static_cast<double>(part->rows) / static_cast<double>(std::max<std::int64_t>(batch->rows, 1));
  if (batch->status) part->status = std::make_shared<std::vector<std::uint16_t>>(batch->status->begin() + begin, batch->status->begin() + end);
  part->columns.clear();
  for (const ColumnHandle& column : batch->columns)
    part->columns.push_back(std::make_shared<Column>(column->name(), column->type(), schema_of(column->type()), window(column, begin, part->rows)));
  return part;
}

BatchHandle join_rows(const BatchHandle& whole, const std::vector<BatchHandle>& parts) {
  auto joined = std::make_shared<BatchData>(*whole);
  joined->columns.clear();
  for (std::size_t c = 0; c < parts.front()->columns.size(); ++c) {
    const std::string& name = parts.front()->columns[c]->name();
    if (const ColumnHandle* column = whole->find(name)) {
      joined->columns.push_back(*column);
      continue;
    }
    std::vector<ColumnHandle> pieces;
    for (const BatchHandle& part : parts) pieces.push_back(*part->find(name));
    joined->columns.push_back(join_columns(pieces));
  }
  auto status = std::make_shared<std::vector<std::uint16_t>>();
  for (const BatchHandle& part : parts) {
    if (part->status)
      status->insert(status->end(), part->status->begin(), part->status->end());
    else
      status->insert(status->end(), static_cast<std::size_t>(part->rows), 0);
  }
  joined->status = std::move(status);
  return joined;
}

}  // namespace sluice
