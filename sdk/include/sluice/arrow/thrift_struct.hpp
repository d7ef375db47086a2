// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A struct of Thrift's compact protocol, which Parquet's metadata is written in:
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::arrow {

// Fields are given in ascending order of their ids.
class ThriftStruct {
 public:
  enum class Type : std::uint8_t { yes = 1, no = 2, byte = 3, i16 = 4, i32 = 5, i64 = 6, binary = 8, list = 9, structure = 12 };

  ThriftStruct& boolean(int id, bool value) { return field(id, value ? Type::yes : Type::no); }
  ThriftStruct& byte(int id, std::int8_t value) {
    field(id, Type::byte);
    bytes_ += static_cast<char>(value);
    return *this;
  }
  ThriftStruct& i32(int id, std::int32_t value) {
    field(id, Type::i32);
    append_zigzag(bytes_, value);
    return *this;
  }
  ThriftStruct& i64(int id, std::int64_t value) {
    field(id, Type::i64);
    append_zigzag(bytes_, value);
    return *this;
  }
  ThriftStruct& text(int id, std::string_view value) {
    field(id, Type::binary);
    append_text(bytes_, value);
    return *this;
  }
  ThriftStruct& structure(int id, const ThriftStruct& value) {
    field(id, Type::structure);
    bytes_ += value.bytes();
    return *this;
  }
  ThriftStruct& structures(int id, const std::vector<ThriftStruct>& values) {
    begin_list(id, Type::structure, values.size());
    for (const ThriftStruct& value : values) bytes_ += value.bytes();
    return *this;
  }
  ThriftStruct& numbers(int id, const std::vector<std::int32_t>& values) {
    begin_list(id, Type::i32, values.size());
    for (const std::int32_t value : values) append_zigzag(bytes_, value);
    return *this;
  }
  ThriftStruct& texts(int id, const std::vector<std::string_view>& values) {
    begin_list(id, Type::binary, values.size());
    for (const std::string_view value : values) append_text(bytes_, value);
    return *this;
  }
  // Structs that are encoded already, one behind the other.
  ThriftStruct& encoded_structures(int id, std::size_t count, std::string_view bytes) {
    begin_list(id, Type::structure, count);
    bytes_ += bytes;
    return *this;
  }
  std::string bytes() const { return bytes_ + '\0'; }

  static void append_varint(std::string& to, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
    to += static_cast<char>(value);
  }

 private:
  ThriftStruct& field(int id, Type type) {
    bytes_ += static_cast<char>((id - last_) << 4 | static_cast<int>(type));
    last_ = id;
    return *this;
  }
  void begin_list(int id, Type type, std::size_t count) {
    constexpr std::size_t short_list = 15;
    field(id, Type::list);
    bytes_ += static_cast<char>(std::min(count, short_list) << 4 | static_cast<std::size_t>(type));
    if (count >= short_list) append_varint(bytes_, count);
  }
  static void append_zigzag(std::string& to, std::int64_t value) {
    append_varint(to, static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
  }
  static void append_text(std::string& to, std::string_view text) {
    append_varint(to, text.size());
    to += text;
  }
  std::string bytes_;
  int last_ = 0;
};

}  // namespace sluice::arrow
