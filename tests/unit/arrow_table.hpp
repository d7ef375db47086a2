// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Reads an Arrow IPC file back, strictly: whatever is not as the format says, or as sluice promises to write it, is an exception.

#include <zstd.h>

#include <charconv>
#include <cstdint>
#include <cstring>
#include <sluice/arrow/ipc_format.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::testing {

// The rows as text: numbers in their shortest form, items of lists joined with commas, "(none)" for missing values.
struct ArrowTable {
  std::vector<std::string> names, types;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::int64_t> batch_rows;
};

namespace arrow_table {

namespace ipc = sluice::arrow::ipc;

inline void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string("Arrow file: ") + what);
}
template <class T>
T at(std::string_view bytes, std::size_t place) {
  require(place + sizeof(T) <= bytes.size(), "a value outside");
  T value;
  std::memcpy(&value, bytes.data() + place, sizeof value);
  return value;
}
template <class Table>
const Table& table_in(std::string_view bytes, std::size_t place, std::size_t length) {
  require(place % 8 == 0 && place + length <= bytes.size(), "metadata outside or not aligned");
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(bytes.data()) + place, length);
  require(verifier.VerifyBuffer<Table>(nullptr), "metadata is no flatbuffer");
  return *flatbuffers::GetRoot<Table>(bytes.data() + place);
}
// A message and the size of its frame.
inline const ipc::Message& message_in(std::string_view file, std::size_t place, std::size_t frame) {
  require(at<std::uint32_t>(file, place) == 0xFFFFFFFF, "no continuation marker");
  require(at<std::int32_t>(file, place + 4) + 8 == static_cast<std::int64_t>(frame) && frame % 8 == 0, "a frame of another size");
  return table_in<ipc::Message>(file, place + 8, frame - 8);
}

inline std::string type_of(const ipc::Field& field) {
  switch (field.type_type()) {
    case ipc::Type::Utf8:
      return "utf8";
    case ipc::Type::FloatingPoint:
      return field.type_as_FloatingPoint()->precision() == ipc::Precision::Single ? "f32" : "f64";
    case ipc::Type::Int:
      return (field.type_as_Int()->is_signed() ? "i" : "u") + std::to_string(field.type_as_Int()->bit_width());
    case ipc::Type::List:
      require(field.children()->size() == 1, "a list without items");
      return "list<" + type_of(*field.children()->Get(0)) + ">";
    default:
      throw std::runtime_error("Arrow file: a type that tables don't have");
  }
}

class Columns {
 public:
  Columns(std::string_view body, const ipc::RecordBatch& batch) : body_(body), batch_(batch) {
    require(batch.compression() != nullptr && batch.compression()->codec() == ipc::Codec::Zstd, "not compressed by zstd");
  }
  // One text a row.
  std::vector<std::string> next(const std::string& type) {
    const ipc::FieldNode& node = *batch_.nodes()->Get(node_++);
    require(node.length() == batch_.length(), "a column of another length");
    const auto rows = static_cast<std::size_t>(node.length());
    const std::string valid = buffer();
    require(valid.size() == (node.null_count() == 0 ? 0 : (rows + 7) / 8), "validity of another size");
    std::vector<std::string> texts;
    if (type == "utf8") {
      const std::string ends = buffer(), bytes = buffer();
      for (std::size_t row = 0; row < rows; ++row) texts.push_back(part(bytes, ends, row, 1));
      require(span_of(ends, rows, 0).second == bytes.size(), "bytes behind the last text");
    } else if (type.starts_with("list<")) {
      const std::string element = type.substr(5, type.size() - 6), ends = buffer();
      const ipc::FieldNode& items = *batch_.nodes()->Get(node_++);
      require(items.null_count() == 0 && buffer().empty(), "items without a value");
      const std::string values = buffer();
      const std::size_t width = width_of(element);
      require(values.size() == static_cast<std::size_t>(items.length()) * width, "items of another size");
      for (std::size_t row = 0; row < rows; ++row) texts.push_back(numbers(part(values, ends, row, width), element));
    } else {
      const std::string values = buffer();
      const std::size_t width = width_of(type);
      require(values.size() == rows * width, "values of another size");
      for (std::size_t row = 0; row < rows; ++row) texts.push_back(numbers(values.substr(row * width, width), type));
    }
    std::int64_t missing = 0;
    for (std::size_t row = 0; row < rows && !valid.empty(); ++row)
      if ((static_cast<unsigned char>(valid[row / 8]) >> (row % 8) & 1) == 0) texts[row] = "(none)", ++missing;
    require(missing == node.null_count(), "another number of missing values");
    return texts;
  }
  void end() const {
    require(node_ == batch_.nodes()->size() && buffer_ == batch_.buffers()->size() && place_ == body_.size(), "more than the columns");
  }

 private:
  static std::size_t width_of(const std::string& type) { return static_cast<std::size_t>(std::stoi(type.substr(1)) / 8); }
  std::string buffer() {
    const ipc::Buffer& place = *batch_.buffers()->Get(buffer_++);
    require(static_cast<std::size_t>(place.offset()) == place_, "a buffer that does not follow the one before");
    const auto length = static_cast<std::size_t>(place.length());
    place_ += (length + 7) / 8 * 8;
    require(place_ <= body_.size(), "a buffer outside of its message");
    if (length == 0) return {};
    const std::string_view stored = body_.substr(static_cast<std::size_t>(place.offset()), length);
    const auto size = at<std::int64_t>(stored, 0);
    if (size == -1) return std::string(stored.substr(8));
    std::string bytes(static_cast<std::size_t>(size), '\0');
    require(ZSTD_decompress(bytes.data(), bytes.size(), stored.data() + 8, length - 8) == bytes.size(), "a buffer that zstd does not read");
    return bytes;
  }
  static std::pair<std::size_t, std::size_t> span_of(const std::string& ends, std::size_t row, std::size_t rows) {
    const auto begin = at<std::int32_t>(ends, row * 4), end = rows == 0 ? begin : at<std::int32_t>(ends, (row + rows) * 4);
    require(begin >= 0 && end >= begin, "ends that descend");
    return {static_cast<std::size_t>(begin), static_cast<std::size_t>(end)};
  }
  static std::string part(const std::string& bytes, const std::string& ends, std::size_t row, std::size_t width) {
    const auto [begin, end] = span_of(ends, row, 1);
    require(end * width <= bytes.size(), "an end outside");
    return bytes.substr(begin * width, (end - begin) * width);
  }
  template <class Number>
  static std::string joined(const std::string& bytes) {
    std::string text;
    for (std::size_t place = 0; place < bytes.size(); place += sizeof(Number)) {
      char digits[400];
      if (place > 0) text += ',';
      text.append(digits, std::to_chars(digits, digits + sizeof digits, at<Number>(bytes, place)).ptr);
    }
    return text;
  }
  static std::string numbers(const std::string& bytes, const std::string& type) {
    if (type == "f32") return joined<float>(bytes);
    if (type == "f64") return joined<double>(bytes);
    if (type == "i8") return joined<std::int8_t>(bytes);
    if (type == "u8") return joined<std::uint8_t>(bytes);
    if (type == "i16") return joined<std::int16_t>(bytes);
    if (type == "u16") return joined<std::uint16_t>(bytes);
    if (type == "i32") return joined<std::int32_t>(bytes);
    if (type == "u32") return joined<std::uint32_t>(bytes);
    return type == "i64" ? joined<std::int64_t>(bytes) : joined<std::uint64_t>(bytes);
  }
  std::string_view body_;
  const ipc::RecordBatch& batch_;
  flatbuffers::uoffset_t node_ = 0, buffer_ = 0;
  std::size_t place_ = 0;
};

}  // namespace arrow_table

inline ArrowTable read_arrow(std::string_view file) {
  using namespace arrow_table;
  constexpr std::string_view magic = "ARROW1";
  require(file.size() > 24 && file.substr(0, 8) == std::string_view("ARROW1\0\0", 8) && file.ends_with(magic), "no magic");
  const auto footer_size = at<std::uint32_t>(file, file.size() - 10);
  const std::size_t footer_place = file.size() - 10 - footer_size;
  const ipc::Footer& footer = table_in<ipc::Footer>(file, footer_place, footer_size);
  require(footer.version() == ipc::MetadataVersion::V5 && footer.schema() != nullptr && footer.dictionaries()->size() == 0,
          "a footer of another kind");
  std::size_t place = 8;
  const std::size_t frame = 8 + at<std::uint32_t>(file, place + 4);
  const ipc::Schema* schema = message_in(file, place, frame).header_as_Schema();
  require(schema != nullptr && schema->fields()->size() == footer.schema()->fields()->size(), "no schema at the beginning");
  place += frame;
  ArrowTable table;
  for (flatbuffers::uoffset_t i = 0; i < schema->fields()->size(); ++i) {
    const ipc::Field& field = *schema->fields()->Get(i);
    table.names.push_back(field.name()->str());
    table.types.push_back(type_of(field));
    require(
        type_of(*footer.schema()->fields()->Get(i)) == table.types.back() && footer.schema()->fields()->Get(i)->name()->str() == table.names.back(),
        "two schemas");
  }
  for (const ipc::Block* block : *footer.record_batches()) {
    require(static_cast<std::size_t>(block->offset()) == place, "a record batch that does not follow the one before");
    const ipc::Message& message = message_in(file, place, static_cast<std::size_t>(block->metadata_length()));
    place += static_cast<std::size_t>(block->metadata_length());
    const auto* batch = message.header_as_RecordBatch();
    require(batch != nullptr && message.body_length() == block->body_length() && place + message.body_length() <= footer_place, "no record batch");
    Columns columns(file.substr(place, static_cast<std::size_t>(message.body_length())), *batch);
    place += static_cast<std::size_t>(message.body_length());
    const std::size_t first = table.rows.size();
    table.rows.resize(first + static_cast<std::size_t>(batch->length()));
    table.batch_rows.push_back(batch->length());
    for (const std::string& type : table.types) {
      const std::vector<std::string> texts = columns.next(type);
      for (std::size_t row = 0; row < texts.size(); ++row) table.rows[first + row].push_back(texts[row]);
    }
    columns.end();
  }
  require(at<std::uint64_t>(file, place) == 0x00000000FFFFFFFF && place + 8 == footer_place, "no end of the messages in front of the footer");
  return table;
}

}  // namespace sluice::testing
