// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_writer/pod5_bytes.hpp"

#include <zstd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <sluice/allocated.hpp>
#include <sluice/arrow/ipc_format.hpp>
#include <sluice/calibration.hpp>

namespace sluice::signal_writer {
namespace {

namespace ipc = arrow::ipc;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using Field = Offset<ipc::Field>;

constexpr std::string_view signature("\x8BPOD\r\n\x1A\n", 8);
constexpr const char* pod5_version = "0.3.49";
constexpr const char* software = "sluice";
constexpr std::size_t signal_batch_rows = 100, read_batch_rows = 1000;
constexpr std::int64_t pore_types = 0, end_reasons = 1, run_infos = 2;  // dictionaries

template <class T>
void append(std::string& bytes, T value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  bytes.append(raw, sizeof value);
}
void pad(std::string& bytes) { bytes.resize((bytes.size() + 7) / 8 * 8); }

// A column of a batch: its nodes and buffers in Arrow's order. Nothing is missing anywhere.
struct Column {
  std::vector<ipc::FieldNode> nodes;
  std::vector<std::string> buffers;
};
ipc::FieldNode node(std::size_t rows) { return {static_cast<std::int64_t>(rows), 0}; }
template <class T>
Column numbers(const std::vector<T>& values) {
  Column column{{node(values.size())}, {"", ""}};
  column.buffers[1].assign(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return column;
}
Column texts(const std::vector<std::string>& rows) {
  Column column{{node(rows.size())}, {"", "", ""}};
  append(column.buffers[1], std::int32_t{0});
  for (const std::string& row : rows) {
    column.buffers[2] += row;
    append(column.buffers[1], static_cast<std::int32_t>(column.buffers[2].size()));
  }
  return column;
}
Column fixed(std::string bytes, std::size_t rows) { return {{node(rows)}, {"", std::move(bytes)}}; }
Column no_bits(std::size_t rows) { return {{node(rows)}, {"", std::string((rows + 7) / 8, '\0')}}; }
template <class End>
Column lists(const std::vector<End>& ends, const Column& items) {
  Column column{{node(ends.size() - 1)}, {"", ""}};
  column.buffers[1].assign(reinterpret_cast<const char*>(ends.data()), ends.size() * sizeof(End));
  column.nodes.insert(column.nodes.end(), items.nodes.begin(), items.nodes.end());
  column.buffers.insert(column.buffers.end(), items.buffers.begin(), items.buffers.end());
  return column;
}
// One map for each of `rows` rows, all with the same entries.
Column maps(const std::vector<std::pair<std::string, std::string>>& entries, std::size_t rows) {
  std::vector<std::int32_t> ends = {0};
  std::vector<std::string> keys, values;
  for (std::size_t row = 0; row < rows; ++row) {
    for (const auto& [key, value] : entries) keys.push_back(key), values.push_back(value);
    ends.push_back(static_cast<std::int32_t>(keys.size()));
  }
  Column items{{node(keys.size())}, {""}};
  for (const Column& column : {texts(keys), texts(values)}) {
    items.nodes.insert(items.nodes.end(), column.nodes.begin(), column.nodes.end());
    items.buffers.insert(items.buffers.end(), column.buffers.begin(), column.buffers.end());
  }
  return lists(ends, items);
}

// ---- fields

Field make(FlatBufferBuilder& b, const char* name, ipc::Type type, Offset<void> of, std::vector<Field> children = {}, bool nullable = true,
           Offset<ipc::DictionaryEncoding> dictionary = 0, const char* extension = nullptr) {
  std::vector<Offset<ipc::KeyValue>> metadata;
  if (extension != nullptr) {
    metadata.push_back(ipc::CreateKeyValueDirect(b, "ARROW:extension:name", extension));
    metadata.push_back(ipc::CreateKeyValueDirect(b, "ARROW:extension:metadata", ""));
  }
  return ipc::CreateFieldDirect(b, name, nullable, type, of, dictionary, &children, extension == nullptr ? nullptr : &metadata);
}
Field integer(FlatBufferBuilder& b, const char* name, int bits, bool is_signed) {
  return make(b, name, ipc::Type::Int, ipc::CreateInt(b, bits, is_signed).Union());
}
Field unsigned_integer(FlatBufferBuilder& b, const char* name, int bits) { return integer(b, name, bits, false); }
Field real(FlatBufferBuilder& b, const char* name) {
  return make(b, name, ipc::Type::FloatingPoint, ipc::CreateFloatingPoint(b, ipc::Precision::Single).Union());
}
Field text(FlatBufferBuilder& b, const char* name, bool nullable = true) {
  return make(b, name, ipc::Type::Utf8, ipc::CreateUtf8(b).Union(), {}, nullable);
}
Field coded(FlatBufferBuilder& b, const char* name, std::int64_t id) {
  const auto encoding = ipc::CreateDictionaryEncoding(b, id, ipc::CreateInt(b, 16, true));
  return make(b, name, ipc::Type::Utf8, ipc::CreateUtf8(b).Union(), {}, true, encoding);
}
Field map(FlatBufferBuilder& b, const char* name) {
  const Field key = text(b, "key", false), value = text(b, "value");
  const Field entries = make(b, "entries", ipc::Type::Struct, ipc::CreateStruct(b).Union(), {key, value}, false);
  return make(b, name, ipc::Type::Map, ipc::CreateMap(b).Union(), {entries});
}
Field time(FlatBufferBuilder& b, const char* name) {
  constexpr std::int16_t milliseconds = 1;
  return make(b, name, ipc::Type::Timestamp, ipc::CreateTimestampDirect(b, milliseconds, "UTC").Union());
}
Field read_id(FlatBufferBuilder& b) {
  return make(b, "read_id", ipc::Type::FixedSizeBinary, ipc::CreateFixedSizeBinary(b, 16).Union(), {}, true, 0, "minknow.uuid");
}
std::vector<Field> signal_fields(FlatBufferBuilder& b) {
  const Field id = read_id(b);
  const Field signal = make(b, "signal", ipc::Type::LargeBinary, ipc::CreateLargeBinary(b).Union(), {}, true, 0, "minknow.vbz");
  return {id, signal, unsigned_integer(b, "samples", 32)};
}
std::vector<Field> run_fields(FlatBufferBuilder& b) {
  return {text(b, "acquisition_id"),
          time(b, "acquisition_start_time"),
          integer(b, "adc_max", 16, true),
          integer(b, "adc_min", 16, true),
          map(b, "context_tags"),
          text(b, "experiment_name"),
          text(b, "flow_cell_id"),
          text(b, "flow_cell_product_code"),
          text(b, "protocol_name"),
          text(b, "protocol_run_id"),
          time(b, "protocol_start_time"),
          text(b, "sample_id"),
          unsigned_integer(b, "sample_rate", 16),
          text(b, "sequencing_kit"),
          text(b, "sequencer_position"),
          text(b, "sequencer_position_type"),
          text(b, "software"),
          text(b, "system_name"),
          text(b, "system_type"),
          map(b, "tracking_id")};
}
std::vector<Field> read_fields(FlatBufferBuilder& b) {
  const Field id = read_id(b);
  const Field signal = make(b, "signal", ipc::Type::List, ipc::CreateList(b).Union(), {unsigned_integer(b, "item", 64)});
  return {id,
          signal,
          unsigned_integer(b, "read_number", 32),
          unsigned_integer(b, "start", 64),
          real(b, "median_before"),
          unsigned_integer(b, "num_minknow_events", 64),
          real(b, "tracked_scaling_scale"),
          real(b, "tracked_scaling_shift"),
          real(b, "predicted_scaling_scale"),
          real(b, "predicted_scaling_shift"),
          unsigned_integer(b, "num_reads_since_mux_change", 32),
          real(b, "time_since_mux_change"),
          unsigned_integer(b, "num_samples", 64),
          unsigned_integer(b, "channel", 16),
          unsigned_integer(b, "well", 8),
          coded(b, "pore_type", pore_types),
          real(b, "calibration_offset"),
          real(b, "calibration_scale"),
          coded(b, "end_reason", end_reasons),
          make(b, "end_reason_forced", ipc::Type::Bool, ipc::CreateBool(b).Union()),
          coded(b, "run_info", run_infos),
          real(b, "open_pore_level"),
          real(b, "expected_open_pore_level"),
          real(b, "selected_read_level"),
          unsigned_integer(b, "channel_32bit", 32)};
}

// ---- messages

Offset<ipc::RecordBatch> record_batch(FlatBufferBuilder& b, const std::vector<Column>& columns, std::size_t rows, std::string& body) {
  std::vector<ipc::FieldNode> nodes;
  std::vector<ipc::Buffer> buffers;
  for (const Column& column : columns) {
    nodes.insert(nodes.end(), column.nodes.begin(), column.nodes.end());
    for (const std::string& buffer : column.buffers) {
      buffers.emplace_back(static_cast<std::int64_t>(body.size()), static_cast<std::int64_t>(buffer.size()));
      body += buffer;
      pad(body);
    }
  }
  const auto made = b.CreateVectorOfStructs(nodes);
  return ipc::CreateRecordBatch(b, static_cast<std::int64_t>(rows), made, b.CreateVectorOfStructs(buffers));
}
std::string framed(const FlatBufferBuilder& b) {
  std::string bytes;
  append(bytes, ~std::uint32_t{0});
  append(bytes, static_cast<std::uint32_t>((b.GetSize() + 7) / 8 * 8));
  bytes.append(reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize());
  pad(bytes);
  return bytes;
}

Uuid marker_of(std::string_view run_id) { return uuid_of(std::string(run_id) + " section marker"); }

}  // namespace

std::optional<Uuid> parse_uuid(std::string_view text) {
  constexpr std::size_t characters = 36;
  if (text.size() != characters) return std::nullopt;
  Uuid uuid{};
  std::size_t digits = 0;
  for (std::size_t i = 0; i < characters; ++i) {
    const char c = text[i];
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      if (c != '-') return std::nullopt;
      continue;
    }
    const int value = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (value < 0) return std::nullopt;
    char& byte = uuid[digits++ / 2];
    byte = static_cast<char>(static_cast<std::uint8_t>(byte) << 4U | static_cast<unsigned>(value));
  }
  return uuid;
}

Uuid uuid_of(std::string_view text) {
  Uuid uuid{};
  for (std::size_t half = 0; half < 2; ++half) {
    std::uint64_t hash = 0xCBF29CE484222325U + half;  // FNV-1a
    for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001B3U;
    hash ^= hash >> 29U;
    std::memcpy(uuid.data() + 8 * half, &hash, sizeof hash);
  }
  uuid[6] = static_cast<char>((static_cast<std::uint8_t>(uuid[6]) & 0x0FU) | 0x40U);
  uuid[8] = static_cast<char>((static_cast<std::uint8_t>(uuid[8]) & 0x3FU) | 0x80U);
  return uuid;
}

bool is_held_by_pod5(const SignalRecord& read) {
  const auto is_whole = [](double value, double most) { return value >= 1 && value <= most && value == std::floor(value); };
  const auto is_f32 = [](double value) { return std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max()); };
  const double scale = read.range / read.digitisation;
  return is_calibrated(read.digitisation, read.range, read.offset, read.sampling_rate) && is_whole(read.digitisation, 65536) &&
         is_whole(read.sampling_rate, 65535) && is_f32(read.offset) && is_f32(scale) &&
         scale >= static_cast<double>(std::numeric_limits<float>::min());
}

struct VbzEncoder::Compressor {
  ZSTD_CCtx* context = allocated(ZSTD_createCCtx());
  ~Compressor() { ZSTD_freeCCtx(context); }
};
VbzEncoder::VbzEncoder() : compressor_(new Compressor) {}
VbzEncoder::~VbzEncoder() { delete compressor_; }

void VbzEncoder::encode(std::span<const std::int16_t> samples, std::string& bytes) {
  constexpr int level = 1;
  for (std::size_t begin = 0; begin < samples.size(); begin += pod5_piece_samples) {
    const auto piece = samples.subspan(begin, std::min(pod5_piece_samples, samples.size() - begin));
    const std::size_t keys = (piece.size() + 7) / 8;
    plain_.assign(keys + 2 * piece.size(), '\0');
    std::size_t at = keys;
    std::uint16_t before = 0;
    for (std::size_t i = 0; i < piece.size(); ++i) {
      const auto sample = static_cast<std::uint16_t>(piece[i]);
      const auto difference = static_cast<std::int16_t>(static_cast<std::uint16_t>(sample - before));
      before = sample;
      const auto zigzag = static_cast<std::uint16_t>((static_cast<std::uint32_t>(difference) << 1U) ^ (difference < 0 ? 0xFFFFU : 0U));
      plain_[at++] = static_cast<char>(zigzag & 0xFFU);
      if (zigzag < 256) continue;
      plain_[at++] = static_cast<char>(zigzag >> 8U);
      plain_[i / 8] = static_cast<char>(static_cast<std::uint8_t>(plain_[i / 8]) | 1U << (i % 8));
    }
    const std::size_t frame = bytes.size(), data = frame + 2 * sizeof(std::uint32_t);
    const std::size_t bound = ZSTD_compressBound(at);
    bytes.resize(data + bound);
    const std::size_t size = ZSTD_compressCCtx(compressor_->context, bytes.data() + data, bound, plain_.data(), at, level);
    if (ZSTD_isError(size) != 0) throw std::bad_alloc();  // the bound leaves no other cause
    bytes.resize(data + size);
    const std::uint32_t head[2] = {static_cast<std::uint32_t>(piece.size()), static_cast<std::uint32_t>(size)};
    std::memcpy(bytes.data() + frame, head, sizeof head);
  }
}

struct Pod5File::Message {
  std::string head, body;
  static Message batch(const std::vector<Column>& columns, std::size_t rows) {
    FlatBufferBuilder b;
    Message message;
    const auto made = record_batch(b, columns, rows, message.body);
    b.Finish(ipc::CreateMessage(b, ipc::MetadataVersion::V5, ipc::MessageHeader::RecordBatch, made.Union(),
                                static_cast<std::int64_t>(message.body.size())));
    message.head = framed(b);
    return message;
  }
  static Message dictionary(std::int64_t id, const std::vector<std::string>& values) {
    FlatBufferBuilder b;
    Message message;
    const auto made = ipc::CreateDictionaryBatch(b, id, record_batch(b, {texts(values)}, values.size(), message.body), false);
    b.Finish(ipc::CreateMessage(b, ipc::MetadataVersion::V5, ipc::MessageHeader::DictionaryBatch, made.Union(),
                                static_cast<std::int64_t>(message.body.size())));
    message.head = framed(b);
    return message;
  }
};

Pod5File::Pod5File(Pod5Run run) : run_(std::move(run)), ends_{0} {}

std::string Pod5File::file_identifier() const {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : uuid_of(run_.run_id + " file")) {
    if (text.size() == 8 || text.size() == 13 || text.size() == 18 || text.size() == 23) text += '-';
    text += digits[static_cast<std::uint8_t>(byte) >> 4U];
    text += digits[static_cast<std::uint8_t>(byte) & 0xFU];
  }
  return text;
}

std::string Pod5File::acquisition_id(std::size_t run) const { return run == 0 ? run_.run_id : run_.run_id + "_" + std::to_string(run + 1); }

namespace {

template <class Fields>
Offset<ipc::Schema> schema_of(FlatBufferBuilder& b, const Fields& fields, const std::string& identifier) {
  const std::vector<Field> made = fields(b);
  const std::vector<Offset<ipc::KeyValue>> metadata = {ipc::CreateKeyValueDirect(b, "MINKNOW:file_identifier", identifier.c_str()),
                                                       ipc::CreateKeyValueDirect(b, "MINKNOW:software", software),
                                                       ipc::CreateKeyValueDirect(b, "MINKNOW:pod5_version", pod5_version)};
  return ipc::CreateSchemaDirect(b, ipc::Endianness::Little, &made, &metadata);
}

}  // namespace

std::string Pod5File::begin_table(Kind kind, Table& table) {
  FlatBufferBuilder b;
  const auto made = schema_of(b, kind == Kind::signal ? signal_fields : kind == Kind::runs ? run_fields : read_fields, file_identifier());
  b.Finish(ipc::CreateMessage(b, ipc::MetadataVersion::V5, ipc::MessageHeader::Schema, made.Union()));
  table.begin = written_;
  std::string bytes("ARROW1\0\0", 8);
  bytes += framed(b);
  written_ += std::ssize(bytes);
  return bytes;
}

std::string Pod5File::begin() {
  std::string bytes(signature);
  const Uuid marker = marker_of(run_.run_id);
  bytes.append(marker.data(), marker.size());
  written_ = std::ssize(bytes);
  return bytes + begin_table(Kind::signal, signal_);
}

// ---- reads

std::string Pod5File::add(const SignalRecord& read, const Uuid& id, std::string_view pieces) {
  const Converter converter{read.digitisation, read.sampling_rate};
  const auto known = std::find(converters_.begin(), converters_.end(), converter);
  const auto run = known - converters_.begin();
  if (known == converters_.end()) converters_.push_back(converter);
  const auto reason = std::find(slow5_end_reasons.begin(), slow5_end_reasons.end(), read.end_reason);
  Row row{.id = id,
          .first_piece = pieces_,
          .pieces = 0,
          .samples = read.raw_signal.size(),
          .start_sample = read.start_sample,
          .read_number = read.read_number == std::numeric_limits<std::int32_t>::max() ? 0 : static_cast<std::uint32_t>(read.read_number),
          .channel = static_cast<std::uint32_t>(std::max(read.channel, 0)),
          .median_before = static_cast<float>(read.median_before),
          .offset = static_cast<float>(read.offset),
          .scale = static_cast<float>(read.range / read.digitisation),
          .mux = read.mux == std::numeric_limits<std::uint8_t>::max() ? std::uint8_t{0} : read.mux,
          .end_reason = static_cast<std::int16_t>(reason == slow5_end_reasons.end() ? 0 : reason - slow5_end_reasons.begin()),
          .run = static_cast<std::int16_t>(run)};
  std::string bytes;
  while (!pieces.empty()) {
    std::uint32_t head[2];
    std::memcpy(head, pieces.data(), sizeof head);
    ids_.append(id.data(), id.size());
    data_ += pieces.substr(sizeof head, head[1]);
    ends_.push_back(std::ssize(data_));
    samples_.push_back(head[0]);
    pieces.remove_prefix(sizeof head + head[1]);
    ++row.pieces;
    ++pieces_;
    if (samples_.size() == signal_batch_rows) bytes += take_signal_batch();
  }
  rows_.push_back(row);
  return bytes;
}

std::string Pod5File::place(const Message& message, std::vector<Block>& blocks) const {
  blocks.push_back({written_, static_cast<std::int32_t>(message.head.size()), std::ssize(message.body)});
  return message.head + message.body;
}

std::string Pod5File::take_signal_batch() {
  const std::size_t rows = samples_.size();
  Column signal{{node(rows)}, {"", std::string(reinterpret_cast<const char*>(ends_.data()), ends_.size() * sizeof(std::int64_t)), std::move(data_)}};
  const std::string bytes = place(Message::batch({fixed(std::move(ids_), rows), std::move(signal), numbers(samples_)}, rows), signal_.batches);
  written_ += std::ssize(bytes);
  ids_.clear();
  data_.clear();
  samples_.clear();
  ends_ = {0};
  return bytes;
}

// ---- the rest of the file

std::string Pod5File::table_end(Kind kind, const Table& table) const {
  const auto blocks = [&](const std::vector<Block>& from) {
    std::vector<ipc::Block> made;
    for (const Block& block : from) made.emplace_back(block.offset - table.begin, block.metadata_bytes, block.body_bytes);
    return made;
  };
  FlatBufferBuilder b;
  const auto made = schema_of(b, kind == Kind::signal ? signal_fields : kind == Kind::runs ? run_fields : read_fields, file_identifier());
  const auto dictionaries = b.CreateVectorOfStructs(blocks(table.dictionaries));
  b.Finish(ipc::CreateFooter(b, ipc::MetadataVersion::V5, made, dictionaries, b.CreateVectorOfStructs(blocks(table.batches))));
  std::string bytes;
  append(bytes, ~std::uint32_t{0});
  append(bytes, std::uint32_t{0});
  bytes.append(reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize());
  append(bytes, static_cast<std::uint32_t>(b.GetSize()));
  return bytes + "ARROW1";
}

std::string Pod5File::runs_table() {
  Table table;
  std::string bytes = begin_table(Kind::runs, table);
  const std::size_t runs = converters_.size();
  if (runs > 0) {
    std::vector<std::string> ids;
    std::vector<std::int16_t> adc_max, adc_min;
    std::vector<std::uint16_t> rates;
    for (std::size_t run = 0; run < runs; ++run) {
      const double steps = converters_[run].digitisation, least = -std::floor(steps / 2);
      ids.push_back(acquisition_id(run));
      adc_min.push_back(static_cast<std::int16_t>(least));
      adc_max.push_back(static_cast<std::int16_t>(least + steps - 1));
      rates.push_back(static_cast<std::uint16_t>(converters_[run].sampling_rate));
    }
    const auto same = [runs](const std::string& value) { return texts(std::vector<std::string>(runs, value)); };
    const Column start = numbers(std::vector<std::int64_t>(runs, run_.acquisition_start));
    const Column context = maps({{"experiment_type", run_.experiment_type}, {"sequencing_kit", run_.sequencing_kit}}, runs);
    const Column tracking =
        maps({{"flow_cell_id", run_.flow_cell_id}, {"flow_cell_product_code", run_.flow_cell_product}, {"run_id", run_.run_id}}, runs);
    const Message batch = Message::batch({texts(ids),
                                          start,
                                          numbers(adc_max),
                                          numbers(adc_min),
                                          context,
                                          same(""),
                                          same(run_.flow_cell_id),
                                          same(run_.flow_cell_product),
                                          same(""),
                                          same(""),
                                          start,
                                          same(""),
                                          numbers(rates),
                                          same(run_.sequencing_kit),
                                          same(""),
                                          same(""),
                                          same(software),
                                          same(""),
                                          same(""),
                                          tracking},
                                         runs);
    const std::string placed = place(batch, table.batches);
    written_ += std::ssize(placed);
    bytes += placed;
  }
  const std::string end = table_end(Kind::runs, table);
  written_ += std::ssize(end);
  return bytes + end;
}

std::string Pod5File::reads_table() {
  Table table;
  std::string bytes = begin_table(Kind::reads, table);
  const auto add_message = [&](const Message& message, std::vector<Block>& blocks) {
    const std::string placed = place(message, blocks);
    written_ += std::ssize(placed);
    bytes += placed;
  };
  if (!rows_.empty()) {
    std::vector<std::string> runs;
    for (std::size_t run = 0; run < converters_.size(); ++run) runs.push_back(acquisition_id(run));
    add_message(Message::dictionary(pore_types, {"not_set"}), table.dictionaries);
    add_message(Message::dictionary(end_reasons, {slow5_end_reasons.begin(), slow5_end_reasons.end()}), table.dictionaries);
    add_message(Message::dictionary(run_infos, runs), table.dictionaries);
  }
  for (std::size_t begin = 0; begin < rows_.size(); begin += read_batch_rows) {
    const auto rows = std::span(rows_).subspan(begin, std::min(read_batch_rows, rows_.size() - begin));
    const auto column = [rows]<class T>(T, auto&& of) {
      std::vector<T> values;
      for (const Row& row : rows) values.push_back(static_cast<T>(of(row)));
      return numbers(values);
    };
    const Column unknown = column(float{}, [](const Row&) { return std::numeric_limits<float>::quiet_NaN(); });
    std::string ids;
    std::vector<std::int32_t> ends = {0};
    std::vector<std::uint64_t> pieces;
    for (const Row& row : rows) {
      ids.append(row.id.data(), row.id.size());
      for (std::uint64_t piece = 0; piece < row.pieces; ++piece) pieces.push_back(row.first_piece + piece);
      ends.push_back(static_cast<std::int32_t>(pieces.size()));
    }
    const Message batch = Message::batch({fixed(std::move(ids), rows.size()),
                                          lists(ends, numbers(pieces)),
                                          column(std::uint32_t{}, [](const Row& row) { return row.read_number; }),
                                          column(std::uint64_t{}, [](const Row& row) { return row.start_sample; }),
                                          column(float{}, [](const Row& row) { return row.median_before; }),
                                          column(std::uint64_t{}, [](const Row&) { return 0; }),
                                          unknown,
                                          unknown,
                                          unknown,
                                          unknown,
                                          column(std::uint32_t{}, [](const Row&) { return 0; }),
                                          column(float{}, [](const Row&) { return 0; }),
                                          column(std::uint64_t{}, [](const Row& row) { return row.samples; }),
                                          column(std::uint16_t{}, [](const Row& row) { return row.channel > 65535 ? 0 : row.channel; }),
                                          column(std::uint8_t{}, [](const Row& row) { return row.mux; }),
                                          column(std::int16_t{}, [](const Row&) { return 0; }),
                                          column(float{}, [](const Row& row) { return row.offset; }),
                                          column(float{}, [](const Row& row) { return row.scale; }),
                                          column(std::int16_t{}, [](const Row& row) { return row.end_reason; }),
                                          no_bits(rows.size()),
                                          column(std::int16_t{}, [](const Row& row) { return row.run; }),
                                          unknown,
                                          unknown,
                                          unknown,
                                          column(std::uint32_t{}, [](const Row& row) { return row.channel; })},
                                         rows.size());
    add_message(batch, table.batches);
  }
  const std::string end = table_end(Kind::reads, table);
  written_ += std::ssize(end);
  return bytes + end;
}

std::string Pod5File::with_marker(std::string bytes) {
  const auto before = std::ssize(bytes);
  bytes.resize(bytes.size() + static_cast<std::size_t>((8 - written_ % 8) % 8));
  const Uuid marker = marker_of(run_.run_id);
  bytes.append(marker.data(), marker.size());
  written_ += std::ssize(bytes) - before;
  return bytes;
}

std::string Pod5File::end() {
  std::string bytes;
  if (!samples_.empty()) bytes = take_signal_batch();
  std::string end = table_end(Kind::signal, signal_);
  written_ += std::ssize(end);
  std::vector<std::pair<Kind, std::pair<std::int64_t, std::int64_t>>> tables = {{Kind::signal, {signal_.begin, written_ - signal_.begin}}};
  bytes += with_marker(std::move(end));
  for (const Kind kind : {Kind::runs, Kind::reads}) {
    const std::int64_t begin = written_;
    std::string table = kind == Kind::runs ? runs_table() : reads_table();
    tables.push_back({kind, {begin, written_ - begin}});
    bytes += with_marker(std::move(table));
  }
  return bytes + footer(tables);
}

std::string Pod5File::footer(const std::vector<std::pair<Kind, std::pair<std::int64_t, std::int64_t>>>& tables) const {
  // Fields by their places in the description of the format (footer.fbs of pod5-file-format): n of a table is at 4 + 2 n.
  FlatBufferBuilder b;
  std::vector<Offset<flatbuffers::Table>> contents;
  for (const auto& [kind, place] : tables) {
    const auto begin = b.StartTable();
    b.AddElement<std::int64_t>(4, place.first, 0);
    b.AddElement<std::int64_t>(6, place.second, 0);
    b.AddElement<std::int16_t>(8, 0, 0);
    b.AddElement<std::int16_t>(10, static_cast<std::int16_t>(kind), 0);
    contents.emplace_back(b.EndTable(begin));
  }
  const auto vector = b.CreateVector(contents);
  const auto identifier = b.CreateString(file_identifier()), writer = b.CreateString(software), version = b.CreateString(pod5_version);
  const auto begin = b.StartTable();
  b.AddOffset(4, identifier);
  b.AddOffset(6, writer);
  b.AddOffset(8, version);
  b.AddOffset(10, vector);
  b.Finish(Offset<flatbuffers::Table>(b.EndTable(begin)));
  std::string footer(reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize());
  pad(footer);
  std::string bytes("FOOTER\0\0", 8);
  bytes += footer;
  append(bytes, static_cast<std::int64_t>(footer.size()));
  const Uuid marker = marker_of(run_.run_id);
  bytes.append(marker.data(), marker.size());
  return bytes.append(signature);
}

}  // namespace sluice::signal_writer
