// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cstring>
#include <sluice/testing/test_batch.hpp>
#include <stdexcept>

namespace sluice::testing {

namespace {

std::size_t item_bytes(std::string_view type) {
  if (type.starts_with("list<")) type = type.substr(5, type.size() - 6);
  for (const ElementType& element : element_types)
    if (type == element.name) return element.bytes;
  return 0;
}

// Where each row begins, in units of item_bytes, and where the last one ends.
template <class Rows>
Buffer offsets_of(const Rows& rows, std::size_t item_bytes = 1) {
  Buffer buffer = Buffer::allocate({}, (rows.size() + 1) * sizeof(std::int64_t));
  const auto offsets = buffer.as<std::int64_t>();
  std::int64_t total = 0;
  std::size_t i = 0;
  for (const auto& row : rows) {
    offsets[i++] = total;
    total += static_cast<std::int64_t>(row.size() / item_bytes);
  }
  offsets[i] = total;
  return buffer;
}

}  // namespace

TestBatch::TestBatch(Contents contents) : state_(std::make_shared<State>(std::move(contents))) {}

TestBatch::TestBatch() : TestBatch(Contents{}) {}

TestBatch::State::State(Contents given) : contents(std::move(given)) {
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
  raw.column_stride = sizeof(sluice_column);
  raw.attribute_count = keys.size();
  raw.attribute_keys = keys.data();
  raw.attribute_values = values.data();
}

TestBatch TestBatch::rows(std::int64_t begin, std::int64_t end) const {
  Contents part = state_->contents;
  part.rows = end - begin;
  part.status.assign(state_->contents.status.begin() + begin, state_->contents.status.begin() + end);
  for (Column& column : part.columns) {
    column.array.offset += begin;
    column.array.length = end - begin;
  }
  return TestBatch(std::move(part));
}

TestBatch TestBatch::with_sequence(std::uint64_t sequence) const {
  Contents copy = state_->contents;
  copy.sequence = sequence;
  return TestBatch(std::move(copy));
}

TestBatch TestBatch::all_failed() const {
  Contents copy = state_->contents;
  std::fill(copy.status.begin(), copy.status.end(), std::uint16_t{1});
  return TestBatch(std::move(copy));
}

std::string_view TestBatch::cell(const Column& column, std::int64_t row) const {
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

BatchBuilder::BatchBuilder(std::string row_type, std::int64_t rows) {
  contents_.row_type = std::move(row_type);
  contents_.rows = rows;
  contents_.status.resize(static_cast<std::size_t>(rows));
}

BatchBuilder& BatchBuilder::add_values(const std::string& name, const ElementType& type, std::size_t entries, std::span<const std::byte> values) {
  expect_rows(name, entries);
  Buffer buffer = Buffer::allocate({}, values.size());
  if (!values.empty()) std::memcpy(buffer.data(), values.data(), values.size());
  return add(name,
             {sluice::detail::make_schema(type.format), sluice::detail::make_array(contents_.rows, std::move(buffer), {}, 2), {0, values.size()}});
}

BatchBuilder& BatchBuilder::add_lists(const std::string& name, const ElementType& type, const std::vector<std::span<const std::byte>>& rows) {
  expect_rows(name, rows.size());
  std::string values;
  for (const auto& row : rows) values.append(reinterpret_cast<const char*>(row.data()), row.size());
  Buffer buffer = Buffer::allocate({}, values.size());
  std::memcpy(buffer.data(), values.data(), values.size());
  ArrowArray array = sluice::detail::make_array(contents_.rows, offsets_of(rows, type.bytes), {}, 2);
  auto* owner = static_cast<sluice::detail::ArrayOwner*>(array.private_data);
  owner->child = sluice::detail::make_array(static_cast<std::int64_t>(values.size() / type.bytes), std::move(buffer), {}, 2);
  owner->children[0] = &owner->child;
  array.n_children = 1;
  array.children = owner->children;
  return add(name, {sluice::detail::make_schema("+L", type.format), array, {0, (rows.size() + 1) * sizeof(std::int64_t), 0, values.size()}});
}

BatchBuilder& BatchBuilder::text(const std::string& name, const std::vector<std::string>& rows, const char* type) {
  expect_rows(name, rows.size());
  std::string bytes;
  for (const std::string& row : rows) bytes += row;
  Buffer buffer = Buffer::allocate({}, bytes.size());
  std::memcpy(buffer.data(), bytes.data(), bytes.size());
  return add(name, text_column(contents_.rows, offsets_of(rows), std::move(buffer), type));
}

BatchBuilder& BatchBuilder::binary(const std::string& name, const std::vector<std::string>& rows) { return text(name, rows, "binary"); }

BatchBuilder& BatchBuilder::failed(std::int64_t row) {
  contents_.status.at(static_cast<std::size_t>(row)) = 1;
  return *this;
}

BatchBuilder& BatchBuilder::attribute(const std::string& key, const std::string& value) {
  contents_.attributes.emplace_back(key, value);
  return *this;
}

BatchBuilder& BatchBuilder::sequence(std::uint64_t sequence) {
  contents_.sequence = sequence;
  return *this;
}

BatchBuilder& BatchBuilder::add(const std::string& name, ColumnData data) {
  TestBatch::Column column;
  column.name = name;
  column.type = column_type(data.schema());
  column.data = std::make_shared<ColumnData>(std::move(data));
  column.array = column.data->array();
  column.array.release = nullptr;
  contents_.columns.push_back(std::move(column));
  return *this;
}

TestBatch BatchBuilder::build() const { return TestBatch(contents_); }

void BatchBuilder::expect_rows(const std::string& name, std::size_t entries) const {
  if (entries != static_cast<std::size_t>(contents_.rows))
    throw std::logic_error("column '" + name + "' has " + std::to_string(entries) + " entries for " + std::to_string(contents_.rows) + " rows");
}

}  // namespace sluice::testing
