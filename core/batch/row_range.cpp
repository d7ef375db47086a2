// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "batch/row_range.hpp"

#include <algorithm>
#include <cstring>
#include <sluice/column_check.hpp>
#include <string_view>

namespace sluice {
namespace {

const ElementType& element_named(std::string_view name) {
  for (const ElementType& type : element_types)
    if (name == type.name) return type;
  throw Failure(SLUICE_ERROR_INTERNAL, "a column of the unknown type '" + std::string(name) + "'");
}
// Of a fixed width: the type itself.
std::string_view element_of(std::string_view type) { return is_list(type) ? item_type(type) : type; }

ArrowSchema schema_of(std::string_view type) {
  return is_list(type) ? detail::make_schema("+L", element_named(element_of(type)).format) : detail::make_schema(element_named(type).format);
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
  const std::size_t width = is_text(type) ? 1 : element_named(element_of(type)).bytes;
  const char* values = is_text(type)
                           ? static_cast<const char*>(array.buffers[2])
                           : static_cast<const char*>(array.children[0]->buffers[1]) + static_cast<std::size_t>(array.children[0]->offset) * width;
  return {values + static_cast<std::size_t>(offsets[0]) * width, static_cast<std::size_t>(offsets[array.length] - offsets[0]) * width};
}

// One row of one of several columns.
struct RowPlace {
  std::uint32_t part, row;
};

// The rows at `places`, in that order, copied.
ArrowArray gathered_array(const std::vector<ColumnHandle>& parts, const std::vector<RowPlace>& places) {
  const std::string& type = parts.front()->type();
  struct Source {
    const char* values;
    const std::int64_t* ends;  // null: fixed width
  };
  std::vector<Source> sources;
  const bool has_offsets = is_list(type) || is_text(type);
  const std::size_t width = is_text(type) ? 1 : element_named(element_of(type)).bytes;
  for (const ColumnHandle& part : parts) {
    const ArrowArray& array = part->host();
    sources.push_back({values_of(type, array).first, has_offsets ? static_cast<const std::int64_t*>(array.buffers[1]) + array.offset : nullptr});
  }
  const std::size_t rows = places.size();
  Buffer offsets = Buffer::allocate({}, (rows + 1) * sizeof(std::int64_t));
  const auto ends = offsets.as<std::int64_t>();
  ends[0] = 0;
  for (std::size_t i = 0; i < rows && has_offsets; ++i) {
    const std::int64_t* from = sources[places[i].part].ends + places[i].row;
    ends[i + 1] = ends[i] + (from[1] - from[0]);
  }
  const std::size_t bytes = width * (has_offsets ? static_cast<std::size_t>(ends[rows]) : rows);
  Buffer values = Buffer::allocate({}, std::max<std::size_t>(bytes, 1));
  char* to = static_cast<char*>(values.data());
  // Rows that lie behind each other are copied in one piece.
  for (std::size_t i = 0; i < rows;) {
    std::size_t last = i;
    while (last + 1 < rows && places[last + 1].part == places[i].part && places[last + 1].row == places[last].row + 1) ++last;
    const Source& source = sources[places[i].part];
    const std::size_t begin = has_offsets ? static_cast<std::size_t>(source.ends[places[i].row] - source.ends[0]) : places[i].row;
    const std::size_t end =
        has_offsets ? static_cast<std::size_t>(source.ends[places[last].row + 1] - source.ends[0]) : places[last].row + std::size_t{1};
    if (end > begin) std::memcpy(to, source.values + begin * width, (end - begin) * width);
    to += (end - begin) * width;
    i = last + 1;
  }
  ArrowArray array;
  const auto count = static_cast<std::int64_t>(rows);
  if (!has_offsets) {
    array = detail::make_array(count, std::move(values), {}, 2);
  } else if (is_text(type)) {
    array = detail::make_array(count, std::move(offsets), std::move(values), 3);
  } else {
    const std::int64_t items = ends[rows];
    array = detail::make_array(count, std::move(offsets), {}, 2);
    auto* owner = static_cast<detail::ArrayOwner*>(array.private_data);
    owner->child = detail::make_array(items, std::move(values), {}, 2);
    owner->children[0] = &owner->child;
    array.n_children = 1;
    array.children = owner->children;
  }
  return array;
}

// As a column of its own.
ColumnHandle gather(const std::vector<ColumnHandle>& parts, const std::vector<RowPlace>& places) {
  const std::string& type = parts.front()->type();
  return std::make_shared<Column>(parts.front()->name(), type, schema_of(type), gathered_array(parts, places));
}

}  // namespace

BatchHandle slice_rows(const BatchHandle& batch, std::int64_t begin, std::int64_t end) {
  auto part = std::make_shared<BatchData>(*batch);
  part->gathered_from = nullptr;
  part->rows = end - begin;
  part->deadline = batch->deadline;
  part->work = batch->work * static_cast<double>(part->rows) / static_cast<double>(std::max<std::int64_t>(batch->rows, 1));
  if (batch->status) part->status = std::make_shared<std::vector<std::uint16_t>>(batch->status->begin() + begin, batch->status->begin() + end);
  if (batch->row_work) part->row_work = std::make_shared<std::vector<double>>(batch->row_work->begin() + begin, batch->row_work->begin() + end);
  part->columns.clear();
  for (const ColumnHandle& column : batch->columns)
    part->columns.push_back(std::make_shared<Column>(column->name(), column->type(), schema_of(column->type()), window(column, begin, part->rows)));
  return part;
}

BatchHandle take_rows(const BatchHandle& batch, const std::vector<std::uint32_t>& rows) {
  if (rows.empty()) return slice_rows(batch, 0, 0);
  if (rows.back() - rows.front() + 1 == rows.size()) return slice_rows(batch, rows.front(), std::int64_t{rows.back()} + 1);
  auto part = std::make_shared<BatchData>(*batch);
  part->gathered_from = nullptr;
  part->rows = static_cast<std::int64_t>(rows.size());
  part->deadline = batch->deadline;
  part->work = batch->work * static_cast<double>(part->rows) / static_cast<double>(std::max<std::int64_t>(batch->rows, 1));
  std::vector<RowPlace> places;
  for (const std::uint32_t row : rows) places.push_back({0, row});
  if (batch->status) {
    auto status = std::make_shared<std::vector<std::uint16_t>>();
    for (const std::uint32_t row : rows) status->push_back((*batch->status)[row]);
    part->status = std::move(status);
  }
  if (batch->row_work) {
    auto work = std::make_shared<std::vector<double>>();
    for (const std::uint32_t row : rows) work->push_back((*batch->row_work)[row]);
    part->row_work = std::move(work);
  }
  part->columns.clear();
  for (const ColumnHandle& column : batch->columns) part->columns.push_back(gather({column}, places));
  return part;
}

BatchHandle join_rows(const BatchHandle& whole, const std::vector<BatchHandle>& parts, const std::vector<std::vector<std::uint32_t>>& rows) {
  std::vector<RowPlace> places(static_cast<std::size_t>(whole->rows));
  std::uint32_t next = 0;
  for (std::uint32_t part = 0; part < parts.size(); ++part)
    for (std::uint32_t row = 0; row < static_cast<std::uint32_t>(parts[part]->rows); ++row)
      places[rows.empty() ? next++ : rows[part][row]] = {part, row};
  auto joined = std::make_shared<BatchData>(*whole);
  for (const ColumnHandle& first : parts.front()->columns) {
    if (whole->find(first->name()) != nullptr) continue;
    std::vector<ColumnHandle> pieces;
    for (const BatchHandle& part : parts) pieces.push_back(*part->find(first->name()));
    joined->columns.push_back(pieces.size() == 1 && rows.empty() ? first : gather(pieces, places));
  }
  if (std::any_of(parts.begin(), parts.end(), [](const BatchHandle& part) { return part->status != nullptr; })) {
    auto status = std::make_shared<std::vector<std::uint16_t>>();
    for (const RowPlace& place : places) status->push_back(parts[place.part]->status ? (*parts[place.part]->status)[place.row] : std::uint16_t{0});
    if (!whole->status || *status != *whole->status) joined->status = std::move(status);
  }
  return joined;
}

ArrowArray appended_rows(const std::vector<ColumnHandle>& parts) {
  std::vector<RowPlace> places;
  for (std::uint32_t i = 0; i < parts.size(); ++i)
    for (std::uint32_t row = 0; row < static_cast<std::uint32_t>(parts[i]->rows()); ++row) places.push_back({i, row});
  return gathered_array(parts, places);
}

BatchHandle append_rows(const std::vector<BatchHandle>& batches) {
  auto all = std::make_shared<BatchData>(*batches.front());
  all->rows = 0;
  all->work = 0;
  bool any_status = false;
  for (const BatchHandle& batch : batches) {
    all->rows += batch->rows;
    all->work += batch->work;
    all->deadline = std::min(all->deadline, batch->deadline);
    any_status = any_status || batch->status != nullptr;
  }
  auto status = std::make_shared<std::vector<std::uint16_t>>();
  for (const BatchHandle& batch : batches) {
    if (any_status && batch->status) status->insert(status->end(), batch->status->begin(), batch->status->end());
    if (any_status && !batch->status) status->resize(status->size() + static_cast<std::size_t>(batch->rows), 0);
  }
  all->status = any_status ? std::move(status) : nullptr;
  all->row_work = nullptr;  // each batch's is in a unit of its own
  all->columns.clear();
  for (const ColumnHandle& first : batches.front()->columns) {
    std::vector<ColumnHandle> pieces;
    for (const BatchHandle& batch : batches) pieces.push_back(*batch->find(first->name()));
    all->columns.push_back(std::make_shared<Column>(first->name(), first->type(), schema_of(first->type()), std::move(pieces)));
  }
  return all;
}

}  // namespace sluice
