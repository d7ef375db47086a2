// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Columns in Arrow C Data layout: element types, reference-counted buffers, and the making of ArrowSchema/ArrowArray pairs.

#include <sluice/abi.h>

#include <concepts>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <sluice/failure.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sluice {

template <class T>
concept Element = std::same_as<T, std::int8_t> || std::same_as<T, std::uint8_t> || std::same_as<T, std::int16_t> || std::same_as<T, std::uint16_t> ||
    std::same_as<T, std::int32_t> || std::same_as<T, std::uint32_t> || std::same_as<T, std::int64_t> || std::same_as<T, std::uint64_t> ||
    std::same_as<T, float> || std::same_as<T, double>;

struct ElementType {
  const char* name;    // in sluice_column_spec
  const char* format;  // in ArrowSchema
  std::size_t bytes;   // 0: variable
};
inline constexpr ElementType element_types[] = {{"i8", "c", 1},  {"u8", "C", 1},  {"i16", "s", 2},  {"u16", "S", 2},
                                                {"i32", "i", 4}, {"u32", "I", 4}, {"i64", "l", 8},  {"u64", "L", 8},
                                                {"f32", "f", 4}, {"f64", "g", 8}, {"utf8", "U", 0}, {"binary", "Z", 0}};

template <Element T>
constexpr const ElementType& element_type() {
  if constexpr (std::same_as<T, std::int8_t>)
    return element_types[0];
  else if constexpr (std::same_as<T, std::uint8_t>)
    return element_types[1];
  else if constexpr (std::same_as<T, std::int16_t>)
    return element_types[2];
  else if constexpr (std::same_as<T, std::uint16_t>)
    return element_types[3];
  else if constexpr (std::same_as<T, std::int32_t>)
    return element_types[4];
  else if constexpr (std::same_as<T, std::uint32_t>)
    return element_types[5];
  else if constexpr (std::same_as<T, std::int64_t>)
    return element_types[6];
  else if constexpr (std::same_as<T, std::uint64_t>)
    return element_types[7];
  else if constexpr (std::same_as<T, float>)
    return element_types[8];
  else
    return element_types[9];
}

// The type name of a schema ("f32", "list<i16>", ...), or "" for one that sluice has no column type for.
inline std::string column_type(const ArrowSchema& schema) {
  if (schema.format == nullptr) return {};
  const std::string_view format = schema.format;
  if (format == "+L" && schema.n_children == 1 && schema.children != nullptr && schema.children[0] != nullptr) {
    const std::string item = column_type(*schema.children[0]);
    return item.empty() ? std::string() : "list<" + item + ">";
  }
  for (const ElementType& type : element_types)
    if (format == type.format) return type.name;
  return {};
}

// Where a column's memory comes from: the host's counted allocator, or plain memory for tests and tools without a host.
struct MemorySource {
  const sluice_host_api* api = nullptr;
  const sluice_host* host = nullptr;
};

// Host memory with shared ownership; 64-byte aligned when it comes from the host.
class Buffer {
 public:
  Buffer() = default;

  static Buffer allocate(const MemorySource& source, std::size_t bytes) {
    Buffer buffer;
    if (source.api != nullptr) {
      void* memory = source.api->allocate(source.host, bytes);
      if (memory == nullptr) throw Failure::memory("out of memory: cannot allocate " + std::to_string(bytes) + " bytes for a column");
      buffer.memory_ = std::shared_ptr<void>(memory, [source](void* p) { source.api->free(source.host, p); });
    } else {
      buffer.memory_ =
          std::shared_ptr<void>(::operator new (bytes, std::align_val_t{64}), [](void* p) { ::operator delete (p, std::align_val_t{64}); });
    }
    buffer.bytes_ = bytes;
    return buffer;
  }
  // Adopts memory that `owner` keeps alive (a vector, a mapped file).
  static Buffer adopt(std::shared_ptr<const void> owner, const void* data, std::size_t bytes) {
    Buffer buffer;
    buffer.memory_ = std::shared_ptr<void>(std::move(owner), const_cast<void*>(data));
    buffer.bytes_ = bytes;
    return buffer;
  }

  void* data() const { return memory_.get(); }
  std::size_t bytes() const { return bytes_; }
  template <Element T>
  std::span<T> as() const {
    return {static_cast<T*>(memory_.get()), bytes_ / sizeof(T)};
  }

 private:
  std::shared_ptr<void> memory_;
  std::size_t bytes_ = 0;
};

namespace detail {

struct SchemaOwner {
  ArrowSchema child{};
  ArrowSchema* children[1] = {nullptr};
};
inline void release_schema(ArrowSchema* schema) {
  auto* owner = static_cast<SchemaOwner*>(schema->private_data);
  if (owner != nullptr && owner->children[0] != nullptr && owner->child.release != nullptr) owner->child.release(&owner->child);
  delete owner;
  schema->release = nullptr;
}
inline ArrowSchema make_schema(const char* format, const char* item_format = nullptr) {
  ArrowSchema schema{};
  schema.format = format;
  schema.name = "";
  schema.release = release_schema;
  auto owner = std::make_unique<SchemaOwner>();
  if (item_format != nullptr) {
    owner->child = make_schema(item_format);
    owner->child.name = "item";
    owner->children[0] = &owner->child;
    schema.n_children = 1;
    schema.children = owner->children;
  }
  schema.private_data = owner.release();
  return schema;
}

struct ArrayOwner {
  Buffer keep[3];
  const void* buffers[3] = {nullptr, nullptr, nullptr};
  ArrowArray child{};
  ArrowArray* children[1] = {nullptr};
};
inline void release_array(ArrowArray* array) {
  auto* owner = static_cast<ArrayOwner*>(array->private_data);
  if (owner->children[0] != nullptr && owner->child.release != nullptr) owner->child.release(&owner->child);
  delete owner;
  array->release = nullptr;
}
inline ArrowArray make_array(std::int64_t length, Buffer first, Buffer second, int buffer_count) {
  ArrowArray array{};
  auto owner = std::make_unique<ArrayOwner>();
  owner->keep[1] = std::move(first);
  owner->keep[2] = std::move(second);
  owner->buffers[1] = owner->keep[1].data();
  owner->buffers[2] = owner->keep[2].data();
  array.length = length;
  array.n_buffers = buffer_count;
  array.buffers = owner->buffers;
  array.release = release_array;
  array.private_data = owner.release();
  return array;
}

}  // namespace detail

// A finished column: moved into an output by sluice_host_api.add_column. Releases itself otherwise.
class ColumnData {
 public:
  // buffer_bytes: see sluice_new_column.
  ColumnData(ArrowSchema schema, ArrowArray array, std::vector<std::uint64_t> buffer_bytes)
      : schema_(schema), array_(array), buffer_bytes_(std::move(buffer_bytes)) {}
  ColumnData(ColumnData&& other) noexcept : schema_(other.schema_), array_(other.array_), buffer_bytes_(std::move(other.buffer_bytes_)) {
    other.schema_.release = nullptr;
    other.array_.release = nullptr;
  }
  ColumnData& operator=(ColumnData&&) = delete;
  ~ColumnData() {
    if (schema_.release != nullptr) schema_.release(&schema_);
    if (array_.release != nullptr) array_.release(&array_);
  }
  ArrowSchema& schema() { return schema_; }
  ArrowArray& array() { return array_; }
  const std::vector<std::uint64_t>& buffer_bytes() const { return buffer_bytes_; }

 private:
  ArrowSchema schema_;
  ArrowArray array_;
  std::vector<std::uint64_t> buffer_bytes_;
};

// Fixed width: one T a row.
template <Element T>
ColumnData fixed_column(std::int64_t rows, Buffer values) {
  const std::uint64_t bytes = values.bytes();
  return {detail::make_schema(element_type<T>().format), detail::make_array(rows, std::move(values), {}, 2), {0, bytes}};
}
// rows + 1 offsets of a list or text column, from the rows' sizes.
template <class SizeOfRow>
Buffer offsets_from_sizes(std::int64_t rows, const MemorySource& memory, const SizeOfRow& size_of_row) {
  Buffer offsets = Buffer::allocate(memory, (static_cast<std::size_t>(rows) + 1) * sizeof(std::int64_t));
  const std::span<std::int64_t> at = offsets.as<std::int64_t>();
  at[0] = 0;
  for (std::int64_t row = 0; row < rows; ++row)
    at[static_cast<std::size_t>(row) + 1] = at[static_cast<std::size_t>(row)] + static_cast<std::int64_t>(size_of_row(row));
  return offsets;
}
// Room for the bytes of a text column with these offsets.
inline Buffer text_for(const Buffer& offsets, const MemorySource& memory) {
  return Buffer::allocate(memory, static_cast<std::size_t>(offsets.as<std::int64_t>().back()));
}
// Text or bytes: rows + 1 int64 offsets and the bytes.
inline ColumnData text_column(std::int64_t rows, Buffer offsets, Buffer bytes, const char* type = "utf8") {
  std::vector<std::uint64_t> sizes = {0, offsets.bytes(), bytes.bytes()};
  return {detail::make_schema(std::string_view(type) == "utf8" ? "U" : "Z"), detail::make_array(rows, std::move(offsets), std::move(bytes), 3),
          std::move(sizes)};
}
// Lists: rows + 1 int64 offsets (several columns may share one buffer) and the values.
template <Element T>
ColumnData list_column(std::int64_t rows, Buffer offsets, Buffer values) {
  const std::int64_t count = offsets.as<std::int64_t>()[static_cast<std::size_t>(rows)];
  std::vector<std::uint64_t> sizes = {0, offsets.bytes(), 0, values.bytes()};
  ArrowArray array = detail::make_array(rows, std::move(offsets), {}, 2);
  auto* owner = static_cast<detail::ArrayOwner*>(array.private_data);
  owner->child = detail::make_array(count, std::move(values), {}, 2);
  owner->children[0] = &owner->child;
  array.n_children = 1;
  array.children = owner->children;
  return {detail::make_schema("+L", element_type<T>().format), array, std::move(sizes)};
}

}  // namespace sluice
