// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "batch/row_range.hpp"

#include <doctest/doctest.h>

#include <random>
#include <sluice/column.hpp>

using namespace sluice;

namespace {

ColumnHandle numbers_column(const std::string& name, std::int64_t first, std::int64_t rows) {
  Buffer values = Buffer::allocate({}, static_cast<std::size_t>(rows + 1) * 8);
  for (std::int64_t i = 0; i < rows; ++i) values.as<std::int64_t>()[static_cast<std::size_t>(i)] = first + i;
  return std::make_shared<Column>(name, "i64", detail::make_schema("l"), detail::make_array(rows, std::move(values), {}, 2));
}

// Row i: the first i % 5 letters behind 'a' + i % 20.
ColumnHandle text_column(const std::string& name, std::int64_t first, std::int64_t rows) {
  std::string text;
  Buffer offsets = Buffer::allocate({}, static_cast<std::size_t>(rows + 1) * 8);
  offsets.as<std::int64_t>()[0] = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < (first + i) % 5; ++k) text += static_cast<char>('a' + (first + i) % 20 + k);
    offsets.as<std::int64_t>()[static_cast<std::size_t>(i) + 1] = static_cast<std::int64_t>(text.size());
  }
  Buffer values = Buffer::allocate({}, text.size() + 1);
  std::copy(text.begin(), text.end(), static_cast<char*>(values.data()));
  return std::make_shared<Column>(name, "utf8", detail::make_schema("U"), detail::make_array(rows, std::move(offsets), std::move(values), 3));
}

BatchHandle batch_of(std::int64_t rows) {
  auto batch = std::make_shared<BatchData>();
  batch->rows = rows;
  batch->work = static_cast<double>(rows);
  batch->columns = {numbers_column("value", 0, rows), text_column("text", 0, rows)};
  auto status = std::make_shared<std::vector<std::uint16_t>>(static_cast<std::size_t>(rows), 0);
  for (std::size_t i = 0; i < status->size(); i += 3) (*status)[i] = 7;
  batch->status = status;
  batch->attributes["kept"] = "yes";
  return batch;
}

std::int64_t number(const BatchData& batch, const std::string& name, std::int64_t row) {
  const ArrowArray& array = (*batch.find(name))->host();
  return static_cast<const std::int64_t*>(array.buffers[1])[array.offset + row];
}
std::string text(const BatchData& batch, const std::string& name, std::int64_t row) {
  const ArrowArray& array = (*batch.find(name))->host();
  const auto* offsets = static_cast<const std::int64_t*>(array.buffers[1]) + array.offset;
  const auto* letters = static_cast<const char*>(array.buffers[2]);
  return {letters + offsets[row], letters + offsets[row + 1]};
}

}  // namespace

TEST_CASE("Rows taken out of a batch in any way and joined again are the batch") {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    const std::int64_t rows = 1 + random() % 40;
    const BatchHandle whole = batch_of(rows);
    std::vector<std::vector<std::uint32_t>> sides(2);
    const std::uint32_t middle = random() % (static_cast<std::uint32_t>(rows) + 1);
    for (std::uint32_t row = 0; row < rows; ++row) sides[round % 2 == 0 ? random() % 2 : (row < middle ? 0U : 1U)].push_back(row);
    if (sides[0].empty() || sides[1].empty()) continue;
    std::vector<BatchHandle> outputs;
    for (const auto& side : sides) {
      const BatchHandle part = take_rows(whole, side);
      REQUIRE(part->rows == static_cast<std::int64_t>(side.size()));
      auto output = std::make_shared<BatchData>(*part);
      for (std::size_t i = 0; i < side.size(); ++i) {
        REQUIRE(number(*part, "value", static_cast<std::int64_t>(i)) == side[i]);
        REQUIRE(text(*part, "text", static_cast<std::int64_t>(i)) == text(*whole, "text", side[i]));
        REQUIRE((*part->status)[i] == (*whole->status)[side[i]]);
      }
      // A stage's result: the same values under other names, and one more row that failed.
      output->columns = {part->columns[0]};
      ArrowArray values = (*part->find("value"))->host();
      Buffer copy = Buffer::allocate({}, side.size() * 8 + 8);
      for (std::size_t i = 0; i < side.size(); ++i)
        copy.as<std::int64_t>()[i] = static_cast<const std::int64_t*>(values.buffers[1])[values.offset + static_cast<std::int64_t>(i)] * 2;
      output->columns.push_back(
          std::make_shared<Column>("twice", "i64", detail::make_schema("l"), detail::make_array(part->rows, std::move(copy), {}, 2)));
      outputs.push_back(output);
    }
    const BatchHandle joined = join_rows(whole, outputs, sides);
    CHECK(joined->columns.size() == 3);
    CHECK(joined->status == whole->status);
    CHECK(joined->attributes.at("kept") == "yes");
    for (std::int64_t row = 0; row < rows; ++row) CHECK(number(*joined, "twice", row) == 2 * row);
  }
}
