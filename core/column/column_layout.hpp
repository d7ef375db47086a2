// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How columns lie in memory, and whether one that a plugin made does.

#include <sluice/abi.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

std::size_t item_bytes(std::string_view type);  // of a fixed width; 0 for text and lists
bool is_list(std::string_view type);
bool is_text(std::string_view type);
std::string_view item_type(std::string_view list_type);
bool is_column_type(std::string_view type);

// Whom `array` belongs to decides what can be looked at: offsets on a device can't.
enum class Place { host, device };

// "" if `array` is a well-formed column of `rows` rows of the declared type without nulls, each buffer as long as what it must hold
// (buffer_bytes: see sluice_new_column); else what is wrong, as the end of a sentence that begins with the column's name.
std::string column_problem(std::string_view declared_type, std::int64_t rows, const ArrowSchema& schema, const ArrowArray& array,
                           std::span<const std::uint64_t> buffer_bytes, Place place);

// Bytes of the rows of a well-formed column on the host, and of each of its buffers.
std::uint64_t column_bytes(std::string_view type, const ArrowArray& array);
std::vector<std::uint64_t> buffer_bytes_of(std::string_view type, const ArrowArray& array);

}  // namespace sluice
