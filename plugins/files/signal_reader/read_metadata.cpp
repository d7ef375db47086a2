// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/read_metadata.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::signal_reader {
namespace {

// Types of SLOW5, specification 1.0.0 table 4. The largest value of an integer stands for none.
enum class Kind : std::uint8_t { signed_integer, unsigned_integer, real, letters, choice, other };
struct Type {
  Kind kind = Kind::other;
  std::size_t bytes = 0;  // of a value, or of one of an array
  bool is_array = false;
};

Type type_of(std::string_view name) {
  Type type;
  type.is_array = name.ends_with('*');
  if (type.is_array) name.remove_suffix(1);
  constexpr std::array<std::pair<std::string_view, Type>, 11> types{{{"int8_t", {Kind::signed_integer, 1}},
                                                                     {"int16_t", {Kind::signed_integer, 2}},
                                                                     {"int32_t", {Kind::signed_integer, 4}},
                                                                     {"int64_t", {Kind::signed_integer, 8}},
                                                                     {"uint8_t", {Kind::unsigned_integer, 1}},
                                                                     {"uint16_t", {Kind::unsigned_integer, 2}},
                                                                     {"uint32_t", {Kind::unsigned_integer, 4}},
                                                                     {"uint64_t", {Kind::unsigned_integer, 8}},
                                                                     {"float", {Kind::real, 4}},
                                                                     {"double", {Kind::real, 8}},
                                                                     {"char", {Kind::letters, 1}}}};
  for (const auto& [known, made] : types)
    if (name == known) type.kind = made.kind, type.bytes = made.bytes;
  if (name.starts_with("enum{")) type.kind = Kind::choice, type.bytes = 1;
  return type;
}

// The entry of "enum{a,b,c}".
std::string choice_text(std::string_view type, std::size_t number) {
  type.remove_prefix(std::min(type.find('{') + 1, type.size()));
  type = type.substr(0, type.find('}'));
  for (; number > 0; --number) {
    const std::size_t comma = type.find(',');
    if (comma == std::string_view::npos) return {};
    type.remove_prefix(comma + 1);
  }
  return std::string(type.substr(0, type.find(',')));
}

template <class T>
bool parse(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

void put_integer(std::string_view name, std::int64_t value, ReadMetadata& to) {
  if (name == "channel_number") to.channel = value;
  if (name == "start_mux") to.mux = value;
  if (name == "read_number") to.read_number = value;
  if (name == "start_time") to.start_sample = value;
}
void put_text(std::string_view name, std::string_view value, ReadMetadata& to) {
  if (name == "end_reason") to.end_reason = value;
  std::int64_t number = 0;
  if (parse(value, number) && number >= 0) put_integer(name, number, to);
}
// POD5 has single precision: both formats give the same value.
void put_real(std::string_view name, double value, ReadMetadata& to) {
  if (name == "median_before") to.median_before = static_cast<double>(static_cast<float>(value));
}

// A value that is no array, in its binary form.
void put_value(std::string_view name, std::string_view type_name, const Type& type, const char* at, ReadMetadata& to) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, type.bytes);
  const std::uint64_t most = ~std::uint64_t{0} >> (8 * (sizeof bits - type.bytes));
  const std::uint64_t none = type.kind == Kind::signed_integer ? most >> 1 : most;
  if (type.kind == Kind::signed_integer || type.kind == Kind::unsigned_integer) {
    if (bits != none && bits <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) && bits <= most >> (none == most ? 0 : 1))
      put_integer(name, static_cast<std::int64_t>(bits), to);
  } else if (type.kind == Kind::choice) {
    if (bits != none) put_text(name, choice_text(type_name, static_cast<std::size_t>(bits)), to);
  } else if (type.kind == Kind::real && type.bytes == sizeof(double)) {
    double value = 0;
    std::memcpy(&value, at, sizeof value);
    put_real(name, value, to);
  } else if (type.kind == Kind::real) {
    float value = 0;
    std::memcpy(&value, at, sizeof value);
    put_real(name, static_cast<double>(value), to);
  }
}

bool parse_binary(std::span<const char> bytes, const Slow5Header& header, ReadMetadata& to) {
  for (const auto& [type_name, name] : header.auxiliary) {
    const Type type = type_of(type_name);
    if (type.kind == Kind::other) return false;
    std::uint64_t count = 1;
    if (type.is_array) {
      if (bytes.size() < sizeof count) return false;
      std::memcpy(&count, bytes.data(), sizeof count);
      bytes = bytes.subspan(sizeof count);
    }
    if (count > bytes.size() / type.bytes) return false;
    const auto size = static_cast<std::size_t>(count) * type.bytes;
    if (type.kind == Kind::letters)
      put_text(name, {bytes.data(), size}, to);
    else if (!type.is_array)
      put_value(name, type_name, type, bytes.data(), to);
    bytes = bytes.subspan(size);
  }
  return true;
}

bool parse_text(std::string_view columns, const Slow5Header& header, ReadMetadata& to) {
  for (const auto& [type_name, name] : header.auxiliary) {
    if (!columns.starts_with('\t')) return false;
    columns.remove_prefix(1);
    const std::string_view value = columns.substr(0, columns.find('\t'));
    columns.remove_prefix(value.size());
    if (value == ".") continue;
    const Type type = type_of(type_name);
    std::size_t number = 0;
    double real = 0;
    if (type.kind == Kind::choice && parse(value, number))
      put_text(name, choice_text(type_name, number), to);
    else if (type.kind == Kind::real && parse(value, real))
      put_real(name, real, to);
    else
      put_text(name, value, to);
  }
  return true;
}

template <class T>
std::int64_t number_at(const ArrowFile& table, const char* name, const Pod5Reads::TableRow& at) {
  const FieldPlace* column = table.find(name);
  if (column == nullptr) return ReadMetadata::unknown;
  const Values<T> values = table.batch(at.batch).numbers<T>(*column);
  return at.row < values.size() ? static_cast<std::int64_t>(values[at.row]) : ReadMetadata::unknown;
}

// Of a column with a dictionary of records, as files of the first versions have them: where the record of a row is. Null: there is no such column.
struct RecordPlaceInDictionary {
  const ArrowBatch* batch = nullptr;
  std::size_t row = 0;
  const FieldPlace* column = nullptr;
};
RecordPlaceInDictionary record_at(const ArrowFile& table, const char* name, const char* column, const Pod5Reads::TableRow& at) {
  const FieldPlace* const place = table.find(name);
  if (place == nullptr || place->field->type_type() != arrow::ipc::Type::Struct) return {};
  const Values<std::int16_t> numbers = table.batch(at.batch).indexes(*place);
  if (at.row >= numbers.size() || numbers[at.row] < 0) return {};
  auto row = static_cast<std::size_t>(numbers[at.row]);
  const ArrowColumns records = table.records(*place);
  for (const ArrowBatch* const batch : records.batches) {
    if (row < batch->rows()) return {batch, row, records.find(column)};
    row -= batch->rows();
  }
  return {};
}

template <class T>
std::int64_t number_in_record(const ArrowFile& table, const char* name, const char* column, const Pod5Reads::TableRow& at) {
  const RecordPlaceInDictionary record = record_at(table, name, column, at);
  if (record.column == nullptr) return ReadMetadata::unknown;
  const Values<T> values = record.batch->numbers<T>(*record.column);
  return record.row < values.size() ? static_cast<std::int64_t>(values[record.row]) : ReadMetadata::unknown;
}

// Files of lib-pod5 0.3.47 have a channel of 32 bits, later ones a second column of them: the first one is 0 there where it cannot hold the number.
std::int64_t channel_at(const ArrowFile& table, const Pod5Reads::TableRow& at) {
  if (table.find("pore") != nullptr) return number_in_record<std::uint16_t>(table, "pore", "channel", at);
  if (table.find("channel_32bit") != nullptr) return number_at<std::uint32_t>(table, "channel_32bit", at);
  const FieldPlace* column = table.find("channel");
  const arrow::ipc::Int* type = column == nullptr ? nullptr : column->field->type_as_Int();
  return type != nullptr && type->bit_width() == 32 ? number_at<std::uint32_t>(table, "channel", at) : number_at<std::uint16_t>(table, "channel", at);
}

std::string end_reason_at(const ArrowFile& table, const Pod5Reads::TableRow& at) {
  const FieldPlace* const column = table.find("end_reason");
  if (column == nullptr) return {};
  if (column->field->type_type() == arrow::ipc::Type::Struct) {
    const RecordPlaceInDictionary record = record_at(table, "end_reason", "name", at);
    if (record.column == nullptr) return {};
    const TextColumn names = record.batch->text(*record.column);
    return record.row < names.extents.rows() ? std::string(names[record.row]) : std::string();
  }
  const Values<std::int16_t> numbers = table.batch(at.batch).indexes(*column);
  const std::vector<std::string>& reasons = table.dictionary(*column);
  const bool is_there = at.row < numbers.size() && numbers[at.row] >= 0 && static_cast<std::size_t>(numbers[at.row]) < reasons.size();
  return is_there ? reasons[static_cast<std::size_t>(numbers[at.row])] : std::string();
}

}  // namespace

bool read_metadata(std::span<const char> stored, const Slow5Header& header, RecordDecoder& decoder, ReadMetadata& metadata) {
  SignalRecord record;
  std::span<const char> auxiliary;
  if (decoder.decode_auxiliary(stored, header.records, record, auxiliary) != RecordStatus::ok) return false;
  metadata = {};
  metadata.read_group = record.read_group;
  metadata.sample_count = record.sample_count;
  metadata.sampling_rate = record.sampling_rate;
  return header.records.format == FileFormat::slow5 ? parse_text({auxiliary.data(), auxiliary.size()}, header, metadata)
                                                    : parse_binary(auxiliary, header, metadata);
}

ReadMetadata read_metadata(const Fast5Reads& reads, RecordPlace place) {
  const Fast5Table::Read& read = reads.read_at(place);
  ReadMetadata metadata;
  metadata.read_group = read.run;
  metadata.sample_count = read.samples;
  metadata.sampling_rate = read.sampling_rate;
  metadata.channel = read.channel;
  metadata.mux = read.mux;
  metadata.read_number = read.read_number;
  metadata.start_sample = read.start_sample;
  put_real("median_before", read.median_before, metadata);
  if (read.end_reason >= 0) metadata.end_reason = reads.table().end_reasons[static_cast<std::size_t>(read.end_reason)];
  return metadata;
}

ReadMetadata read_metadata(const Pod5Reads& reads, RecordPlace place) {
  const Pod5Reads::TableRow at = reads.row_at(place);
  const ArrowFile& table = reads.reads_table();
  ReadMetadata metadata;
  metadata.read_group = at.run;
  metadata.sample_count = at.samples;
  metadata.sampling_rate = at.sampling_rate;
  metadata.channel = channel_at(table, at);
  metadata.mux =
      table.find("pore") != nullptr ? number_in_record<std::uint8_t>(table, "pore", "well", at) : number_at<std::uint8_t>(table, "well", at);
  metadata.read_number = number_at<std::uint32_t>(table, "read_number", at);
  metadata.start_sample = number_at<std::uint64_t>(table, "start", at);
  if (const FieldPlace* column = table.find("median_before")) {
    const Values<float> values = table.batch(at.batch).numbers<float>(*column);
    if (at.row < values.size()) metadata.median_before = static_cast<double>(values[at.row]);
  }
  metadata.end_reason = end_reason_at(table, at);
  return metadata;
}

ReadMetadata read_metadata(const SignalFile& file, RecordPlace place) {
  return file.pod5() != nullptr ? read_metadata(file.pod5()->reads(), place) : read_metadata(file.fast5()->reads(), place);
}

}  // namespace sluice::signal_reader
