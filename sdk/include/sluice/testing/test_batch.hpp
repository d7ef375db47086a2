// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Batches that own their columns, and a builder for them.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <sluice/batch.hpp>
#include <sluice/column.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::testing {

// A batch that owns its columns. Copies share them.
class TestBatch {
 public:
  struct Column {
    std::string name, type;
    std::shared_ptr<void> host;        // counts the memory, so it has to outlive it
    std::shared_ptr<ColumnData> data;  // keeps the memory
    ArrowArray array{};                // a window on data's array: other offset and length, never released
  };
  struct Contents {
    std::string row_type;
    std::uint64_t sequence = 0;
    std::int64_t rows = 0;
    std::vector<std::uint16_t> status;  // one per row, 0: fine
    std::vector<Column> columns;
    std::vector<std::pair<std::string, std::string>> attributes;
  };

  explicit TestBatch(Contents contents) : state_(std::make_shared<State>(std::move(contents))) {}
  TestBatch() : TestBatch(Contents{}) {}

  const sluice_batch& raw() const { return state_->raw; }
  Batch view() const { return Batch(state_->raw); }
  const Contents& contents() const { return state_->contents; }
  std::int64_t rows() const { return state_->contents.rows; }
  bool ok(std::int64_t row) const { return state_->contents.status[static_cast<std::size_t>(row)] == 0; }

  // Rows [begin, end) as a window on the same memory: columns with an Arrow offset, as a host makes when it splits a batch.
  TestBatch rows(std::int64_t begin, std::int64_t end) const {
    Contents part = state_->contents;
    part.rows = end - begin;
    part.status.assign(state_->contents.status.begin() + begin, state_->contents.status.begin() + end);
    for (Column& column : part.columns) {
      column.array.offset += begin;
      column.array.length = end - begin;
    }
    return TestBatch(std::move(part));
  }
  TestBatch with_sequence(std::uint64_t sequence) const {
    Contents copy = state_->contents;
    copy.sequence = sequence;
    return TestBatch(std::move(copy));
  }
  TestBatch all_failed() const {
    Contents copy = state_->contents;
    std::fill(copy.status.begin(), copy.status.end(), std::uint16_t{1});
    return TestBatch(std::move(copy));
  }
  // The bytes of one cell: of the value, of the text, or of all values of the list.
  std::string_view cell(const Column& column, std::int64_t row) const {
    const ArrowArray& array = column.array;
    const std::int64_t at = array.offset + row;
    if (array.n_buffers == 3) {
      const auto* offsets = static_cast<const std::int64_t*>(array.buffers[1]);
      return {static_cast<const char*>(array.buffers[2]) + offsets[at], static_cast<std::size_t>(offsets[at + 1] - offsets[at])};
    }
    if (array.n_children == 1) {
      const auto* offsets = static_cast<const std::int64_t*>(array.buffers[1]);
      const ArrowArray& items = *array.children[0];
      const auto width = static_cast<std::int64_t>(item_bytes(column.type));
      return {static_cast<const char*>(items.buffers[1]) + (items.offset + offsets[at]) * width,
              static_cast<std::size_t>((offsets[at + 1] - offsets[at]) * width)};
    }
    const auto width = static_cast<std::int64_t>(item_bytes(column.type));
    return {static_cast<const char*>(array.buffers[1]) + at * width, static_cast<std::size_t>(width)};
  }

 private:
  static std::size_t item_bytes(std::string_view type) {
    if (type.starts_with("list<")) type = type.substr(5, type.size() - 6);
    for (const ElementType& element : element_types)
      if (type == element.name) return element.bytes;
    return 0;
  }
  struct State {
    explicit State(Contents given) : contents(std::move(given)) {
      for (const Column& column : contents.columns)
        columns.push_back({column.name.c_str(), column.type.c_str(), &column.data->schema(), &column.array, nullptr});
      for (const auto& [key, value] : contents.attributes) {
        keys.push_back(key.c_str());
        values.push_back(value.c_str());
      }
      raw.struct_size = sizeof raw;
      raw.row_type = contents.row_type.c_str();
      raw.sequence = contents.sequence;
      raw.row_count = contents.rows;
      const bool all_fine = std::all_of(contents.status.begin(), contents.status.end(), [](std::uint16_t status) { return status == 0; });
      raw.row_status = all_fine ? nullptr : contents.status.data();
      raw.column_count = columns.size();
      raw.columns = columns.data();
      raw.attribute_count = keys.size();
      raw.attribute_keys = keys.data();
      raw.attribute_values = values.data();
    }
    State(const State&) = delete;
    const Contents contents;
    std::vector<sluice_column> columns;
    std::vector<const char*> keys, values;
    sluice_batch raw{};
  };
  std::shared_ptr<const State> state_;
};

// Makes a batch cell by cell. Every column has one entry per row; those of failed rows are ignored by stages.
class BatchBuilder {
 public:
  BatchBuilder(std::string row_type, std::int64_t rows) {
    contents_.row_type = std::move(row_type);
    contents_.rows = rows;
    contents_.status.resize(static_cast<std::size_t>(rows));
  }
  template <Element T>
  BatchBuilder& column(const std::string& name, const std::vector<T>& values) {
    expect_rows(name, values.size());
    Buffer buffer = Buffer::allocate({}, values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(buffer.data(), values.data(), values.size() * sizeof(T));
    return add(name, fixed_column<T>(contents_.rows, std::move(buffer)));
  }
  template <Element T>
  BatchBuilder& list(const std::string& name, const std::vector<std::vector<T>>& rows) {
    expect_rows(name, rows.size());
    std::vector<T> values;
    for (const std::vector<T>& row : rows) values.insert(values.end(), row.begin(), row.end());
    Buffer buffer = Buffer::allocate({}, values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(buffer.data(), values.data(), values.size() * sizeof(T));
    return add(name, list_column<T>(contents_.rows, offsets_of(rows), std::move(buffer)));
  }
  BatchBuilder& text(const std::string& name, const std::vector<std::string>& rows, const char* type = "utf8") {
    expect_rows(name, rows.size());
    std::string bytes;
    for (const std::string& row : rows) bytes += row;
    Buffer buffer = Buffer::allocate({}, bytes.size());
    std::memcpy(buffer.data(), bytes.data(), bytes.size());
    return add(name, text_column(contents_.rows, offsets_of(rows), std::move(buffer), type));
  }
  BatchBuilder& binary(const std::string& name, const std::vector<std::string>& rows) { return text(name, rows, "binary"); }
  BatchBuilder& failed(std::int64_t row) { return contents_.status.at(static_cast<std::size_t>(row)) = 1, *this; }
  BatchBuilder& attribute(const std::string& key, const std::string& value) { return contents_.attributes.emplace_back(key, value), *this; }
  BatchBuilder& sequence(std::uint64_t sequence) { return contents_.sequence = sequence, *this; }
  BatchBuilder& add(const std::string& name, ColumnData data) {
    TestBatch::Column column;
    column.name = name;
    column.type = column_type(data.schema());
    column.data = std::make_shared<ColumnData>(std::move(data));
    column.array = column.data->array();
    column.array.release = nullptr;
    contents_.columns.push_back(std::move(column));
    return *this;
  }
  TestBatch build() const { return TestBatch(contents_); }

 private:
  void expect_rows(const std::string& name, std::size_t entries) const {
    if (entries != static_cast<std::size_t>(contents_.rows))
      throw std::logic_error("column '" + name + "' has " + std::to_string(entries) + " entries for " + std::to_string(contents_.rows) + " rows");
  }
  template <class Rows>
  static Buffer offsets_of(const Rows& rows) {
    Buffer buffer = Buffer::allocate({}, (rows.size() + 1) * sizeof(std::int64_t));
    const auto offsets = buffer.as<std::int64_t>();
    std::int64_t total = 0;
    std::size_t i = 0;
    for (const auto& row : rows) {
      offsets[i++] = total;
      total += static_cast<std::int64_t>(row.size());
    }
    offsets[i] = total;
    return buffer;
  }
  TestBatch::Contents contents_;
};

}  // namespace sluice::testing
