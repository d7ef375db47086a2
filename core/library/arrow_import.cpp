// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "library/arrow_import.hpp"

#include <deque>
#include <memory>
#include <sluice/column_check.hpp>
#include <sluice/failure.hpp>
#include <string_view>
#include <vector>

namespace sluice {
namespace {

// Releases at the end of its life what nobody has taken.
template <class Struct>
struct Released {
  Struct& of;
  ~Released() {
    if (of.release != nullptr) of.release(&of);
  }
};

bool any_null(const ArrowArray& array) {
  if (array.null_count >= 0 || array.n_buffers == 0 || array.buffers[0] == nullptr) return array.null_count > 0;
  const auto* const bits = static_cast<const std::uint8_t*>(array.buffers[0]);
  for (std::int64_t i = array.offset; i < array.offset + array.length; ++i)
    if ((bits[i / 8] >> (i % 8) & 1) == 0) return true;
  return false;
}

// A column of sluice: the same array without bitmaps of nulls, of which there are none. Its levels go together.
struct WithoutBitmaps {
  ArrowArray taken{};
  std::deque<ArrowArray> levels;
  std::deque<std::vector<const void*>> buffers;
  std::deque<std::vector<ArrowArray*>> pointers;

  ArrowArray of(const std::string& column, const ArrowArray& array) {
    if (any_null(array)) throw Failure(SLUICE_ERROR_INTERNAL, "column '" + column + "' has nulls", "fail rows that have no value");
    ArrowArray level = array;
    level.null_count = 0;
    level.dictionary = nullptr;
    std::vector<const void*>& own = buffers.emplace_back(array.buffers, array.buffers + array.n_buffers);
    if (!own.empty()) own.front() = nullptr;
    level.buffers = own.data();
    std::vector<ArrowArray*>& children = pointers.emplace_back();
    for (std::int64_t i = 0; i < array.n_children; ++i) children.push_back(&levels.emplace_back(of(column, *array.children[i])));
    level.children = children.data();
    level.private_data = nullptr;
    level.release = [](ArrowArray* released) { released->release = nullptr; };
    return level;
  }
  ~WithoutBitmaps() {
    if (taken.release != nullptr) taken.release(&taken);
  }
};

// Takes `array`.
ArrowArray without_bitmaps(const std::string& column, ArrowArray& array) {
  auto holder = std::make_unique<WithoutBitmaps>();
  holder->taken = array;
  array.release = nullptr;
  ArrowArray result = holder->of(column, holder->taken);
  result.private_data = holder.release();
  result.release = [](ArrowArray* released) {
    delete static_cast<WithoutBitmaps*>(released->private_data);
    released->release = nullptr;
  };
  return result;
}

// The sizes of buffers can be told only of arrays that have them.
void check_form(const std::string& column, std::string_view type, const ArrowArray& array) {
  const std::int64_t buffers = is_text(type) ? 3 : 2;
  const bool has_buffers = array.n_buffers == buffers && array.buffers != nullptr && array.length >= 0 && array.offset >= 0 &&
                           (array.length == 0 || array.buffers[1] != nullptr);
  const bool has_items =
      !is_list(type) || (array.n_children == 1 && array.children != nullptr && array.children[0] != nullptr && array.children[0]->buffers != nullptr);
  if (!has_buffers || !has_items) throw Failure(SLUICE_ERROR_INTERNAL, "column '" + column + "' is no whole array");
}

}  // namespace

void import_columns(ArrowSchema& schema, ArrowArray& array, std::int64_t rows, const std::function<void(const sluice_new_column&)>& add) {
  const Released<ArrowSchema> schema_ends{schema};
  const Released<ArrowArray> array_ends{array};
  if (schema.release == nullptr || array.release == nullptr || schema.format == nullptr || std::string_view(schema.format) != "+s" ||
      schema.n_children != array.n_children || array.offset != 0)
    throw Failure(SLUICE_ERROR_INTERNAL, "what came back is no struct array");
  for (std::int64_t i = 0; i < schema.n_children; ++i) {
    ArrowSchema& field = *schema.children[i];
    const std::string name = field.name == nullptr ? "" : field.name;
    const std::string type = field.dictionary != nullptr ? "" : column_type(field);
    if (type.empty())
      throw Failure(SLUICE_ERROR_INTERNAL, "column '" + name + "' is of a type that sluice does not have (Arrow's '" + field.format + "')",
                    "texts and lists need 64-bit offsets (large_utf8, large_list)");
    if (array.children[i]->length != rows)
      throw Failure(SLUICE_ERROR_INTERNAL,
                    "column '" + name + "' has " + std::to_string(array.children[i]->length) + " rows, the batch has " + std::to_string(rows));
    check_form(name, type, *array.children[i]);
    ArrowArray column = without_bitmaps(name, *array.children[i]);
    const Released<ArrowArray> column_ends{column};
    const std::vector<std::uint64_t> bytes = buffer_bytes_of(type, column);
    sluice_new_column made{};
    made.struct_size = sizeof made;
    made.name = name.c_str();
    made.schema = &field;
    made.array = &column;
    made.buffer_count = bytes.size();
    made.buffer_bytes = bytes.data();
    add(made);
  }
}

}  // namespace sluice
