// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "testing/made_up_rows.hpp"

#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

namespace sluice::testing {

TestBatch made_up_rows(const char* row_type, const ColumnTypes& columns, std::int64_t rows, std::uint32_t seed) {
  std::uint32_t state = seed * 2654435761U;
  const auto random = [&state](std::uint32_t below) {
    state = state * 1664525U + 1013904223U;
    return (state >> 8) % below;
  };
  BatchBuilder builder(std::string_view(row_type) == "*" ? "row" : row_type, rows);
  const auto value = [&]<class T>(T) -> T {
    const std::uint32_t kind = random(8);
    if (kind == 0) return std::numeric_limits<T>::max();
    if (kind == 1) return std::numeric_limits<T>::lowest();
    if constexpr (std::is_floating_point_v<T>) {
      if (kind == 2) return std::numeric_limits<T>::quiet_NaN();
      if (kind == 3) return std::numeric_limits<T>::infinity();
    }
    return static_cast<T>(random(100));
  };
  const auto fill = [&]<class T>(T zero, const char* name, bool is_list) {
    if (!is_list) {
      std::vector<T> values;
      for (std::int64_t row = 0; row < rows; ++row) values.push_back(value(zero));
      builder.column<T>(name, values);
    } else {
      std::vector<std::vector<T>> values(static_cast<std::size_t>(rows));
      for (auto& row : values)
        for (std::uint32_t i = random(20); i > 0; --i) row.push_back(value(zero));
      builder.list<T>(name, values);
    }
  };
  for (const auto& [column_name, column_type] : columns) {
    const char* name = column_name.c_str();
    std::string_view type = column_type;
    const bool is_list = type.starts_with("list<");
    if (is_list) type = type.substr(5, type.size() - 6);
    if (type == "i8") fill(std::int8_t{}, name, is_list);
    if (type == "u8") fill(std::uint8_t{}, name, is_list);
    if (type == "i16") fill(std::int16_t{}, name, is_list);
    if (type == "u16") fill(std::uint16_t{}, name, is_list);
    if (type == "i32") fill(std::int32_t{}, name, is_list);
    if (type == "u32") fill(std::uint32_t{}, name, is_list);
    if (type == "i64") fill(std::int64_t{}, name, is_list);
    if (type == "u64") fill(std::uint64_t{}, name, is_list);
    if (type == "f32") fill(float{}, name, is_list);
    if (type == "f64") fill(double{}, name, is_list);
    if (type == "utf8" || type == "binary") {
      std::vector<std::string> values(static_cast<std::size_t>(rows));
      for (auto& row : values)
        for (std::uint32_t c = random(40); c > 0; --c) row += "ACGTNacgt\0\xff"[random(11)];
      builder.text(name, values, type == "utf8" ? "utf8" : "binary");
    }
  }
  return builder.build();
}

}  // namespace sluice::testing
