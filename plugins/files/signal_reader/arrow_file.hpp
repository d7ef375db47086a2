// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The columns of an Arrow IPC file that lies in memory, as POD5 files have them inside: batches of any lengths, dictionaries in pieces. Nothing in
// the file is believed before it has been checked. What is wrong with it is a FormatProblem.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <sluice/arrow/ipc_format.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// One record batch (or the values of a dictionary).
class ArrowBatch {
 public:
  ArrowBatch(const arrow::ipc::RecordBatch& batch, std::span<const char> body);

  std::size_t rows() const { return rows_; }
  // All throw FormatProblem if the column is of another type, lacks values or is not whole.
  template <class T>
  Values<T> numbers(const FieldPlace& place) const {
    check_number(place, sizeof(T));
    return fixed<T>(place);
  }
  // Of a column with a dictionary.
  Values<std::int16_t> indexes(const FieldPlace& place) const;
  // `width` bytes a row.
  std::string_view fixed_bytes(const FieldPlace& place, std::size_t width) const;
  TextColumn text(const FieldPlace& place) const;
  // Lists, or the entries of a map: their items are in place.children[0].
  Extents lists(const FieldPlace& place) const;
  std::size_t length(const FieldPlace& place) const;

 private:
  template <class T>
  Values<T> fixed(const FieldPlace& place) const {
    const std::size_t count = length(place);
    return {buffer(place.buffer + 1, count, sizeof(T)).data(), count};
  }
  static void check_number(const FieldPlace& place, std::size_t bytes);
  std::string_view buffer(std::size_t number) const;
  std::string_view buffer(std::size_t number, std::size_t count, std::size_t width) const;
  Extents extents(const FieldPlace& place, bool wide) const;
  const arrow::ipc::RecordBatch* batch_;
  std::span<const char> body_;
  std::size_t rows_;
};

class ArrowFile {
 public:
  // The bytes must begin at an address that is a multiple of 8, and outlive the object.
  explicit ArrowFile(std::span<const char> bytes);

  std::size_t batches() const { return batches_.size(); }
  const ArrowBatch& batch(std::size_t number) const { return batches_[number]; }
  // Throws FormatProblem if there is none of this name.
  const FieldPlace& column(std::string_view name) const;
  const FieldPlace* find(std::string_view name) const;
  // What the indexes of a column with a dictionary of text stand for.
  const std::vector<std::string_view>& dictionary(const FieldPlace& column) const;

 private:
  struct Found {
    const arrow::ipc::Message* message;
    std::span<const char> body;
  };
  void check_order(const arrow::ipc::Footer& footer, std::size_t footer_begin) const;
  Found message_at(const arrow::ipc::Block& block) const;
  void read_dictionary(const arrow::ipc::Block& block);
  std::span<const char> bytes_;
  std::vector<std::uint64_t> footer_;  // its bytes, which columns_ points into
  std::vector<FieldPlace> columns_;
  std::map<std::int64_t, std::vector<std::string_view>> dictionaries_;
  std::vector<ArrowBatch> batches_;
};

}  // namespace sluice::signal_reader
