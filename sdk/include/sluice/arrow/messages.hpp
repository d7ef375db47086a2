// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// An Arrow IPC file: schema, record batches with compressed buffers, footer. The user links libzstd.

#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <sluice/allocated.hpp>
#include <sluice/arrow/cells.hpp>
#include <sluice/arrow/ipc_format.hpp>
#include <sluice/arrow/table_schema.hpp>
#include <sluice/saved_state.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::arrow {

inline constexpr std::string_view file_magic = "ARROW1";

// The bytes of a message, and which of them are its metadata.
struct Message {
  std::string bytes;
  std::size_t metadata_bytes = 0;
};

namespace messages {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

constexpr std::size_t alignment = 8;
inline void pad(std::string& bytes) { bytes.resize((bytes.size() + alignment - 1) / alignment * alignment); }
template <class T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}
inline std::string_view bytes_of(const FlatBufferBuilder& builder) {
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

inline Offset<ipc::Field> field(FlatBufferBuilder& builder, const std::string& name, std::string_view type, bool nullable) {
  std::vector<Offset<ipc::Field>> children;
  const auto make = [&](ipc::Type kind, Offset<void> of) {
    return ipc::CreateFieldDirect(builder, name.c_str(), nullable, kind, of, 0, children.empty() ? nullptr : &children);
  };
  if (type.starts_with("list<")) {
    children.push_back(field(builder, "item", type.substr(5, type.size() - 6), false));
    return make(ipc::Type::List, ipc::CreateList(builder).Union());
  }
  if (type == "utf8") return make(ipc::Type::Utf8, ipc::CreateUtf8(builder).Union());
  if (type == "f32") return make(ipc::Type::FloatingPoint, ipc::CreateFloatingPoint(builder, ipc::Precision::Single).Union());
  if (type == "f64") return make(ipc::Type::FloatingPoint, ipc::CreateFloatingPoint(builder, ipc::Precision::Double).Union());
  std::int32_t bits = 0;
  std::from_chars(type.data() + 1, type.data() + type.size(), bits);
  return make(ipc::Type::Int, ipc::CreateInt(builder, bits, type.front() == 'i').Union());
}

inline Offset<ipc::Schema> schema(FlatBufferBuilder& builder, const TableSchema& columns) {
  std::vector<Offset<ipc::Field>> fields;
  for (const TableColumn& column : columns) fields.push_back(field(builder, column.name, column.type, true));
  return ipc::CreateSchemaDirect(builder, ipc::Endianness::Little, &fields);
}

// What stands in front of a message's body.
inline Message with_frame(const FlatBufferBuilder& builder) {
  Message message;
  append(message.bytes, ~std::uint32_t{0});
  append(message.bytes, std::uint32_t{0});
  message.bytes += bytes_of(builder);
  pad(message.bytes);
  const auto size = static_cast<std::uint32_t>(message.bytes.size() - 2 * sizeof(std::uint32_t));
  std::memcpy(message.bytes.data() + sizeof size, &size, sizeof size);
  message.metadata_bytes = message.bytes.size();
  return message;
}

// The buffers of a record batch behind each other, each of them Zstandard after its length, or as it is after -1 where that is no longer.
class Body {
 public:
  Body() : compressor_(allocated(ZSTD_createCCtx()), ZSTD_freeCCtx) {}
  void add(std::string_view buffer) {
    const std::size_t begin = bytes_.size();
    if (!buffer.empty()) compress(buffer);
    places_.emplace_back(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(bytes_.size() - begin));
    pad(bytes_);
  }
  const std::string& bytes() const { return bytes_; }
  const std::vector<ipc::Buffer>& places() const { return places_; }

 private:
  void compress(std::string_view buffer) {
    constexpr int fast = 1;
    const std::size_t begin = bytes_.size(), text = begin + sizeof(std::int64_t), room = ZSTD_compressBound(buffer.size());
    bytes_.resize(text + room);
    const std::size_t size = ZSTD_compressCCtx(compressor_.get(), bytes_.data() + text, room, buffer.data(), buffer.size(), fast);
    if (ZSTD_isError(size) != 0) throw std::bad_alloc();  // there is room for all that may come out
    const bool shrinks = size < buffer.size();
    const std::int64_t length = shrinks ? static_cast<std::int64_t>(buffer.size()) : -1;
    std::memcpy(bytes_.data() + begin, &length, sizeof length);
    if (!shrinks) std::memcpy(bytes_.data() + text, buffer.data(), buffer.size());
    bytes_.resize(text + (shrinks ? size : buffer.size()));
  }
  std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> compressor_;
  std::string bytes_;
  std::vector<ipc::Buffer> places_;
};

}  // namespace messages

inline Message schema_message(const TableSchema& columns) {
  messages::FlatBufferBuilder builder;
  const auto schema = messages::schema(builder, columns);
  builder.Finish(ipc::CreateMessage(builder, ipc::MetadataVersion::V5, ipc::MessageHeader::Schema, schema.Union()));
  return messages::with_frame(builder);
}

inline Message record_batch_message(const TableCells& cells) {
  messages::Body body;
  std::vector<ipc::FieldNode> nodes;
  for (const ColumnCells& column : cells.columns()) {
    nodes.emplace_back(column.rows(), column.missing());
    body.add(column.validity());
    if (!column.offsets().empty()) body.add(column.offsets());
    if (column.column().is_list()) {
      nodes.emplace_back(column.items(), 0);
      body.add({});
    }
    body.add(column.values());
  }
  messages::FlatBufferBuilder builder;
  const auto compression = ipc::CreateBodyCompression(builder, ipc::Codec::Zstd);
  const auto places = builder.CreateVectorOfStructs(body.places());
  const auto batch = ipc::CreateRecordBatch(builder, cells.rows(), builder.CreateVectorOfStructs(nodes), places, compression);
  builder.Finish(ipc::CreateMessage(builder, ipc::MetadataVersion::V5, ipc::MessageHeader::RecordBatch, batch.Union(),
                                    static_cast<std::int64_t>(body.bytes().size())));
  Message message = messages::with_frame(builder);
  message.bytes += body.bytes();
  return message;
}

// What ends a file whose record batches lie at these places.
inline std::string file_end(const TableSchema& columns, const std::vector<ipc::Block>& record_batches) {
  messages::FlatBufferBuilder builder;
  const auto schema = messages::schema(builder, columns);
  const auto dictionaries = builder.CreateVectorOfStructs(std::vector<ipc::Block>());
  builder.Finish(ipc::CreateFooter(builder, ipc::MetadataVersion::V5, schema, dictionaries, builder.CreateVectorOfStructs(record_batches)));
  std::string end;
  messages::append(end, ~std::uint32_t{0});  // an empty message: the last one
  messages::append(end, std::uint32_t{0});
  end += messages::bytes_of(builder);
  messages::append(end, static_cast<std::uint32_t>(builder.GetSize()));
  end += file_magic;
  return end;
}

// The form of a TableFile: a record batch for each piece.
class IpcForm {
 public:
  using Piece = Message;
  static std::string begin(const TableSchema& schema) {
    std::string bytes(file_magic);
    messages::pad(bytes);
    return bytes + schema_message(schema).bytes;
  }
  static Piece encode(const TableCells& cells) { return record_batch_message(cells); }
  std::string add(const TableSchema&, Piece piece, std::uint64_t place) {
    blocks_.emplace_back(static_cast<std::int64_t>(place), static_cast<std::int32_t>(piece.metadata_bytes),
                         static_cast<std::int64_t>(piece.bytes.size() - piece.metadata_bytes));
    return std::move(piece.bytes);
  }
  std::string end(const TableSchema& schema, std::uint64_t) { return file_end(schema, blocks_); }
  void save(StateWriter& to) const { to.values(blocks_); }
  void restore(StateReader& from) { blocks_ = from.values<ipc::Block>(); }

 private:
  std::vector<ipc::Block> blocks_;
};

}  // namespace sluice::arrow
