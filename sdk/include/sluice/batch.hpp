// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A read-only view of a batch: rows of one row type and named, typed, immutable columns. Valid during the call it came with
// (a resource: as long as the stage instance).

#include <sluice/abi.h>

#include <cstdint>
#include <sluice/column.hpp>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

template <Element T>
class ListView {
 public:
  ListView(const std::int64_t* offsets, const T* values, std::int64_t rows) : offsets_(offsets), values_(values), rows_(rows) {}
  std::span<const T> operator[](std::int64_t row) const {
    return {values_ + offsets_[row], static_cast<std::size_t>(offsets_[row + 1] - offsets_[row])};
  }
  std::int64_t rows() const { return rows_; }
  std::span<const std::int64_t> offsets() const { return {offsets_, static_cast<std::size_t>(rows_) + 1}; }
  std::span<const T> values() const { return {values_ + offsets_[0], static_cast<std::size_t>(offsets_[rows_] - offsets_[0])}; }

 private:
  const std::int64_t* offsets_;
  const T* values_;
  std::int64_t rows_;
};

class TextView {
 public:
  TextView(const std::int64_t* offsets, const char* bytes, std::int64_t rows) : offsets_(offsets), bytes_(bytes), rows_(rows) {}
  std::string_view operator[](std::int64_t row) const {
    return {bytes_ + offsets_[row], static_cast<std::size_t>(offsets_[row + 1] - offsets_[row])};
  }
  std::int64_t rows() const { return rows_; }
  std::span<const std::int64_t> offsets() const { return {offsets_, static_cast<std::size_t>(rows_) + 1}; }

 private:
  const std::int64_t* offsets_;
  const char* bytes_;
  std::int64_t rows_;
};

class Batch {
 public:
  explicit Batch(const sluice_batch& batch) : batch_(&batch) {}

  std::int64_t rows() const { return batch_->row_count; }
  std::uint64_t sequence() const { return batch_->sequence; }
  std::string_view row_type() const { return batch_->row_type; }
  // False: the row failed in an earlier stage; its cells hold nothing.
  bool ok(std::int64_t row) const { return batch_->row_status == nullptr || batch_->row_status[row] == 0; }

  bool has(std::string_view name) const { return find(name) != nullptr; }

  // The columns below throw std::logic_error when the column is absent or of another type: the host has checked both against
  // the descriptor, so this happens only to a stage that reads what it did not declare.
  template <Element T>
  std::span<const T> column(std::string_view name) const {
    const ArrowArray& array = host_array(name, element_type<T>().name);
    return {static_cast<const T*>(array.buffers[1]) + array.offset, static_cast<std::size_t>(array.length)};
  }
  template <Element T>
  ListView<T> list(std::string_view name) const {
    const ArrowArray& array = host_array(name, std::string("list<") + element_type<T>().name + ">");
    const ArrowArray& child = *array.children[0];
    return {static_cast<const std::int64_t*>(array.buffers[1]) + array.offset, static_cast<const T*>(child.buffers[1]) + child.offset, array.length};
  }
  TextView text(std::string_view name) const {
    const ArrowArray& array = host_array(name, {});
    return {static_cast<const std::int64_t*>(array.buffers[1]) + array.offset, static_cast<const char*>(array.buffers[2]), array.length};
  }

  // "" if absent.
  std::string_view attribute(std::string_view key) const {
    for (std::size_t i = 0; i < batch_->attribute_count; ++i)
      if (key == batch_->attribute_keys[i]) return batch_->attribute_values[i];
    return {};
  }
  const sluice_batch& raw() const { return *batch_; }
  const sluice_column* find(std::string_view name) const {
    for (std::size_t i = 0; i < batch_->column_count; ++i)
      if (const sluice_column* column = SLUICE_AT(sluice_column, batch_->columns, batch_->column_stride, i); name == column->name) return column;
    return nullptr;
  }

 private:
  const ArrowArray& host_array(std::string_view name, std::string_view type) const {
    const sluice_column* column = find(name);
    if (column == nullptr || column->array == nullptr)
      throw std::logic_error("column '" + std::string(name) + "' is not in the batch: declare it in needs");
    const std::string_view actual = column->type;
    const bool fits = type.empty() ? actual == "utf8" || actual == "binary" : actual == type;
    if (!fits)
      throw std::logic_error("column '" + std::string(name) + "' is " + column->type + ", read as " + (type.empty() ? "text" : std::string(type)));
    return *column->array;
  }
  const sluice_batch* batch_;
};

}  // namespace sluice
