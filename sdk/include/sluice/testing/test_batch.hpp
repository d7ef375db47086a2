// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Batches that own their columns, and a builder for them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <sluice/batch.hpp>
#include <sluice/column.hpp>
#include <span>
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

  explicit TestBatch(Contents contents);
  TestBatch();

  const sluice_batch& raw() const { return state_->raw; }
  Batch view() const { return Batch(state_->raw); }
  const Contents& contents() const { return state_->contents; }
  std::int64_t rows() const { return state_->contents.rows; }
  bool ok(std::int64_t row) const { return state_->contents.status[static_cast<std::size_t>(row)] == 0; }

  // Rows [begin, end) as a window on the same memory: columns with an Arrow offset, as a host makes when it splits a batch.
  TestBatch rows(std::int64_t begin, std::int64_t end) const;
  TestBatch with_sequence(std::uint64_t sequence) const;
  TestBatch all_failed() const;
  // The bytes of one cell: of the value, of the text, or of all values of the list.
  std::string_view cell(const Column& column, std::int64_t row) const;

 private:
  struct State {
    explicit State(Contents given);
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
  BatchBuilder(std::string row_type, std::int64_t rows);
  template <Element T>
  BatchBuilder& column(const std::string& name, const std::vector<T>& values) {
    return add_values(name, element_type<T>(), values.size(), std::as_bytes(std::span(values)));
  }
  template <Element T>
  BatchBuilder& list(const std::string& name, const std::vector<std::vector<T>>& rows) {
    std::vector<std::span<const std::byte>> bytes;
    for (const std::vector<T>& row : rows) bytes.push_back(std::as_bytes(std::span(row)));
    return add_lists(name, element_type<T>(), bytes);
  }
  BatchBuilder& text(const std::string& name, const std::vector<std::string>& rows, const char* type = "utf8");
  BatchBuilder& binary(const std::string& name, const std::vector<std::string>& rows);
  BatchBuilder& failed(std::int64_t row);
  BatchBuilder& attribute(const std::string& key, const std::string& value);
  BatchBuilder& sequence(std::uint64_t sequence);
  BatchBuilder& add(const std::string& name, ColumnData data);
  TestBatch build() const;

 private:
  void expect_rows(const std::string& name, std::size_t entries) const;
  BatchBuilder& add_values(const std::string& name, const ElementType& type, std::size_t entries, std::span<const std::byte> values);
  BatchBuilder& add_lists(const std::string& name, const ElementType& type, const std::vector<std::span<const std::byte>>& rows);
  TestBatch::Contents contents_;
};

}  // namespace sluice::testing
