// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Sources whose rows have numbers, from 0: which of them an instance gives, and positions, which are such numbers.

#include <algorithm>
#include <cstdint>
#include <sluice/input_part.hpp>
#include <sluice/stage.hpp>
#include <string>

namespace sluice {

struct NumberedRows {
  std::uint64_t next = 0, end = 0;

  NumberedRows() = default;
  // `rows` in all: each part has as many as every other one.
  NumberedRows(const Setup& setup, std::uint64_t rows)
      : NumberedRows(setup, InputPart::scaled(rows, setup.part(), setup.parts()), InputPart::scaled(rows, setup.part() + 1, setup.parts())) {}
  // Rows [first, last) are those of the instance's part.
  NumberedRows(const Setup& setup, std::uint64_t first, std::uint64_t last) : next(first), end(last) {
    if (!setup.begin_at().empty()) next = std::clamp(position_numbers(setup.begin_at(), 1)[0], next, end);
  }
  bool is_empty() const { return next >= end; }
  std::string position() const { return std::to_string(next); }
};

}  // namespace sluice
