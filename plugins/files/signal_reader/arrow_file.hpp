// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The columns of an Arrow IPC file, as POD5 files have them inside: batches of any lengths, dictionaries in pieces. Only those that are asked for are
// read. Nothing in the file is believed before it has been checked. What is wrong with it is a FormatProblem.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <sluice/arrow/ipc_format.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "signal_reader/byte_source.hpp"

namespace sluice::signal_reader {

struct FormatProblem : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Where a field and those inside it have their nodes and buffers in every batch.
struct FieldPlace {
  const arrow::ipc::Field* field = nullptr;
  std::size_t node = 0, buffer = 0;
  std::vector<FieldPlace> children;
};

// What a number of a column is.
struct NumberType {
  std::size_t bytes;
  bool is_real, is_signed;
  template <class T>
  static NumberType of() {
    return {sizeof(T), std::is_floating_point_v<T>, std::is_signed_v<T>};
  }
};

// Values of fixed width as they lie in the file, on any address.
template <class T>
class Values {
 public:
  Values() = default;
  Values(const char* data, std::size_t size) : data_(data), size_(size) {}
  const char* data() const { return data_; }
  std::size_t size() const { return size_; }
  T operator[](std::size_t i) const {
    T value;
    std::memcpy(&value, data_ + i * sizeof value, sizeof value);
    return value;
  }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

// Text, bytes or lists: element i is [begin(i), end(i)) of what they are cut from; ends ascend and none is outside.
class Extents {
 public:
  Extents() = default;
  Extents(Values<std::int32_t> ends) : narrow_(ends), rows_(ends.size() == 0 ? 0 : ends.size() - 1) {}
  Extents(Values<std::int64_t> ends) : wide_(ends), is_wide_(true), rows_(ends.size() == 0 ? 0 : ends.size() - 1) {}
  std::size_t rows() const { return rows_; }
  std::size_t begin(std::size_t row) const { return at(row); }
  std::size_t end(std::size_t row) const { return at(row + 1); }
  // Throws FormatProblem where they descend or leave [0, limit].
  void check(std::size_t limit) const;

 private:
  std::size_t at(std::size_t i) const { return static_cast<std::size_t>(is_wide_ ? wide_[i] : narrow_[i]); }
  Values<std::int32_t> narrow_;
  Values<std::int64_t> wide_;
  bool is_wide_ = false;
  std::size_t rows_ = 0;
};

struct TextColumn {
  Extents extents;
  const char* bytes = nullptr;
  std::string_view operator[](std::size_t row) const { return {bytes + extents.begin(row), extents.end(row) - extents.begin(row)}; }
};

// Text or bytes that have not been read: element i is [extents.begin(i), extents.end(i)) behind `begin` in the source.
struct PlacedTexts {
  Extents extents;
  std::uint64_t begin = 0;
};

// One record batch (or the values of a dictionary). What has been read of it stays in memory as long as the object. Thread-safe.
class ArrowBatch {
 public:
  // `body` is where its bytes begin in the source, `metadata` what `batch` is part of.
  ArrowBatch(const ByteSource& source, LoadedBytes metadata, const arrow::ipc::RecordBatch& batch, std::uint64_t body, std::uint64_t body_bytes);

  std::size_t rows() const { return rows_; }
  // All throw FormatProblem if the column is of another type, lacks values or is not whole.
  template <class T>
  Values<T> numbers(const FieldPlace& place) const {
    check_number(place, NumberType::of<T>());
    return fixed<T>(place);
  }
  // Where the numbers begin in the source, without reading them.
  template <class T>
  std::uint64_t numbers_begin(const FieldPlace& place) const {
    check_number(place, NumberType::of<T>());
    return stretch(place.buffer + 1, length(place), sizeof(T)).begin;
  }
  // Of a column with a dictionary.
  Values<std::int16_t> indexes(const FieldPlace& place) const;
  // `width` bytes a row.
  std::string_view fixed_bytes(const FieldPlace& place, std::size_t width) const;
  TextColumn text(const FieldPlace& place) const;
  PlacedTexts placed_texts(const FieldPlace& place) const;
  // What the indexes of a column stand for, where this is a batch of its dictionary.
  TextColumn dictionary_values(const arrow::ipc::Field& field) const;
  // Lists, or the entries of a map: their items are in place.children[0].
  Extents lists(const FieldPlace& place) const;
  std::size_t length(const FieldPlace& place) const;

 private:
  struct Stretch {
    std::uint64_t begin = 0, bytes = 0;  // in the source
  };
  template <class T>
  Values<T> fixed(const FieldPlace& place) const {
    const std::size_t count = length(place);
    return {load(stretch(place.buffer + 1, count, sizeof(T))).data(), count};
  }
  static void check_number(const FieldPlace& place, NumberType type);
  Stretch stretch(std::size_t buffer) const;
  Stretch stretch(std::size_t buffer, std::size_t count, std::size_t width) const;
  std::string_view load(Stretch stretch) const;
  Extents extents(const FieldPlace& place, bool wide) const;
  PlacedTexts placed_values(const FieldPlace& place) const;

  const ByteSource* source_;
  const arrow::ipc::RecordBatch* batch_;
  std::uint64_t body_, body_bytes_;
  std::size_t rows_;
  LoadedBytes metadata_;  // holds *batch_
  struct Loaded {
    std::mutex mutex;  // guards parts
    std::map<std::pair<std::uint64_t, std::uint64_t>, LoadedBytes> parts;
  };
  std::unique_ptr<Loaded> loaded_ = std::make_unique<Loaded>();
};

// Columns of one length, in batches: those of a table, or what a dictionary of records holds.
struct ArrowColumns {
  const std::vector<FieldPlace>* places = nullptr;
  std::vector<const ArrowBatch*> batches;
  // Null if there is none of this name.
  const FieldPlace* find(std::string_view name) const;
  // Throws FormatProblem if there is none.
  const FieldPlace& column(std::string_view name) const;
};

class ArrowFile {
 public:
  // [begin, begin + bytes) of the source, which must outlive the object.
  ArrowFile(const ByteSource& source, std::uint64_t begin, std::uint64_t bytes);

  std::size_t batches() const { return batches_.size(); }
  const ArrowBatch& batch(std::size_t number) const { return batches_[number]; }
  ArrowColumns columns() const;
  const FieldPlace& column(std::string_view name) const { return columns().column(name); }
  const FieldPlace* find(std::string_view name) const { return columns().find(name); }
  // What the indexes of a column with a dictionary of text stand for.
  const std::vector<std::string>& dictionary(const FieldPlace& column) const;
  // The same of records.
  ArrowColumns records(const FieldPlace& column) const;

 private:
  struct Found {
    LoadedBytes metadata;
    const arrow::ipc::Message* message;
    std::uint64_t body, body_bytes;  // in the source
  };
  void check_order(std::span<const arrow::ipc::Block> parts, std::uint64_t footer_begin) const;
  LoadedBytes load(std::uint64_t offset, std::size_t bytes) const { return {source_, begin_ + offset, bytes}; }
  Found message_at(const arrow::ipc::Block& block) const;
  void read_dictionary(const arrow::ipc::Block& block);
  const ByteSource& source_;
  std::uint64_t begin_, bytes_;  // places in the file are behind begin_
  LoadedBytes footer_;           // which columns_ points into
  std::vector<FieldPlace> columns_;
  std::map<std::int64_t, std::vector<std::string>> dictionaries_;
  struct Records {
    FieldPlace place;
    std::vector<std::unique_ptr<ArrowBatch>> batches;
  };
  std::map<std::int64_t, Records> record_dictionaries_;
  std::vector<ArrowBatch> batches_;
};

}  // namespace sluice::signal_reader
