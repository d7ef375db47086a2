// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Small POD5 files, written along the published layout and not by the code under test: any batches, dictionaries in pieces, VBZ or plain signal.

#include <flatbuffers/flatbuffers.h>
#include <zstd.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <sluice/arrow/ipc_format.hpp>
#include <string>
#include <utility>
#include <vector>

namespace pod5_fixture {

namespace ipc = sluice::arrow::ipc;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

struct Read {
  std::string uuid;  // as text
  std::vector<std::int16_t> samples;
  float offset = 6, scale = 0.1755F;
  std::string run = "run_a";
  std::uint32_t channel = 1;
};
struct Run {
  std::string id, kit = "sqk-lsk109", experiment_type = "genomic_dna";
  std::uint16_t rate = 4000;
  std::int16_t adc_max = 4095, adc_min = -4096;
};
struct Options {
  bool compressed = true;
  std::size_t piece = 100;                           // samples
  std::vector<std::size_t> read_batches = {100000};  // rows of each; the last one again and again
  std::vector<std::size_t> signal_batches = {100000};
  bool dictionary_in_pieces = false;
  int channel_bits = 0;         // 16 or 32; 0: no channel
  bool second_channel = false;  // channel_32bit, too, as lib-pod5 0.3.48 writes it
  bool first_version = false;   // as lib-pod5 wrote it to 0.0.37: what reads share in dictionaries of records, no table of runs
  // Columns that have a dictionary where POD5 files have none, none where they have one, or another number.
  std::set<std::string> coded = {}, not_coded = {}, other_number = {};
};

template <class T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}
inline void pad(std::string& bytes) { bytes.resize((bytes.size() + 7) / 8 * 8); }

// One column's part of a batch: its fields and buffers in Arrow's order.
struct Part {
  std::vector<ipc::FieldNode> nodes;
  std::vector<std::string> buffers;
};
template <class T>
Part numbers(const std::vector<T>& values) {
  Part part{{ipc::FieldNode(static_cast<std::int64_t>(values.size()), 0)}, {"", ""}};
  for (const T value : values) put(part.buffers[1], value);
  return part;
}
inline Part fixed(const std::vector<std::string>& rows) {
  Part part{{ipc::FieldNode(static_cast<std::int64_t>(rows.size()), 0)}, {"", ""}};
  for (const std::string& row : rows) part.buffers[1] += row;
  return part;
}
template <class End>
Part texts(const std::vector<std::string>& rows) {
  Part part{{ipc::FieldNode(static_cast<std::int64_t>(rows.size()), 0)}, {"", "", ""}};
  put(part.buffers[1], End{0});
  for (const std::string& row : rows) {
    part.buffers[2] += row;
    put(part.buffers[1], static_cast<End>(part.buffers[2].size()));
  }
  return part;
}
template <class End>
Part lists(const std::vector<std::size_t>& sizes, const Part& items) {
  Part part{{ipc::FieldNode(static_cast<std::int64_t>(sizes.size()), 0)}, {"", ""}};
  End end = 0;
  put(part.buffers[1], end);
  for (const std::size_t size : sizes) put(part.buffers[1], end = static_cast<End>(end + static_cast<End>(size)));
  part.nodes.insert(part.nodes.end(), items.nodes.begin(), items.nodes.end());
  part.buffers.insert(part.buffers.end(), items.buffers.begin(), items.buffers.end());
  return part;
}
inline Part entries(const Part& keys, const Part& values, std::size_t count) {
  Part part{{ipc::FieldNode(static_cast<std::int64_t>(count), 0)}, {""}};
  for (const Part* of : {&keys, &values}) {
    part.nodes.insert(part.nodes.end(), of->nodes.begin(), of->nodes.end());
    part.buffers.insert(part.buffers.end(), of->buffers.begin(), of->buffers.end());
  }
  return part;
}

// Makes a field.
using MakeField = Offset<ipc::Field> (*)(FlatBufferBuilder&);
template <class Make>
Offset<ipc::Field> field(FlatBufferBuilder& b, const char* name, ipc::Type type, Make make, std::vector<Offset<ipc::Field>> children = {},
                         Offset<ipc::DictionaryEncoding> dictionary = 0) {
  const auto of = make(b).Union();
  return ipc::CreateFieldDirect(b, name, true, type, of, dictionary, &children);
}
inline Offset<ipc::Field> integer(FlatBufferBuilder& b, const char* name, int bits, bool is_signed) {
  return field(b, name, ipc::Type::Int, [&](FlatBufferBuilder& f) { return ipc::CreateInt(f, bits, is_signed); });
}
inline Offset<ipc::Field> text(FlatBufferBuilder& b, const char* name, Offset<ipc::DictionaryEncoding> dictionary = 0) {
  return field(
      b, name, ipc::Type::Utf8, [](FlatBufferBuilder& f) { return ipc::CreateUtf8(f); }, {}, dictionary);
}
inline Offset<ipc::Field> single(FlatBufferBuilder& b, const char* name) {
  return field(b, name, ipc::Type::FloatingPoint, [](FlatBufferBuilder& f) { return ipc::CreateFloatingPoint(f, ipc::Precision::Single); });
}
inline Offset<ipc::DictionaryEncoding> dictionary(FlatBufferBuilder& b, std::int64_t id) {
  return ipc::CreateDictionaryEncoding(b, id, ipc::CreateInt(b, 16, true));
}
// Of a column that should have none.
constexpr std::int64_t odd_dictionary = 50;
inline Offset<ipc::DictionaryEncoding> odd(FlatBufferBuilder& b, const Options& options, const char* name) {
  return options.coded.contains(name) ? dictionary(b, odd_dictionary) : Offset<ipc::DictionaryEncoding>(0);
}
// What its rows are then: the first entry each, in a buffer that ends on a multiple of 8 bytes as some writers have it.
inline Part odd(const Options& options, const char* name, std::size_t rows, Part part) {
  if (!options.coded.contains(name)) return part;
  part = numbers(std::vector<std::int16_t>(rows));
  pad(part.buffers[1]);
  return part;
}

// An Arrow file.
class Table {
 public:
  using Fields = std::vector<Offset<ipc::Field>> (*)(FlatBufferBuilder&, const Options&);
  Table(Fields fields, const Options& options) : fields_(fields), options_(options), bytes_("ARROW1\0\0", 8) {
    FlatBufferBuilder b;
    const auto made = schema(b);
    b.Finish(ipc::CreateMessage(b, ipc::MetadataVersion::V5, ipc::MessageHeader::Schema, made.Union()));
    add(b, "");
  }
  void batch(const std::vector<Part>& parts, std::size_t rows) {
    FlatBufferBuilder b;
    std::string body;
    const auto made = record_batch(b, parts, rows, body);
    b.Finish(ipc::CreateMessage(b, ipc::MetadataVersion::V5, ipc::MessageHeader::RecordBatch, made.Union(), static_cast<std::int64_t>(body.size())));
    batches_.push_back(add(b, body));
  }
  void dictionary_batch(std::int64_t id, const std::vector<std::string>& values, bool is_delta) {
    FlatBufferBuilder b;
    std::string body;
    const auto made = ipc::CreateDictionaryBatch(b, id, record_batch(b, {texts<std::int32_t>(values)}, values.size(), body), is_delta);
    b.Finish(
        ipc::CreateMessage(b, ipc::MetadataVersion::V5, ipc::MessageHeader::DictionaryBatch, made.Union(), static_cast<std::int64_t>(body.size())));
    dictionaries_.push_back(add(b, body));
  }
  // Of records: the fields of each, one behind the other.
  void dictionary_batch(std::int64_t id, const std::vector<Part>& fields, std::size_t records, bool is_delta) {
    FlatBufferBuilder b;
    std::string body;
    Part all{{ipc::FieldNode(static_cast<std::int64_t>(records), 0)}, {""}};
    for (const Part& field : fields) {
      all.nodes.insert(all.nodes.end(), field.nodes.begin(), field.nodes.end());
      all.buffers.insert(all.buffers.end(), field.buffers.begin(), field.buffers.end());
    }
    const auto made = ipc::CreateDictionaryBatch(b, id, record_batch(b, {all}, records, body), is_delta);
    b.Finish(
        ipc::CreateMessage(b, ipc::MetadataVersion::V5, ipc::MessageHeader::DictionaryBatch, made.Union(), static_cast<std::int64_t>(body.size())));
    dictionaries_.push_back(add(b, body));
  }
  std::string end() {
    put(bytes_, ~std::uint32_t{0});
    put(bytes_, std::uint32_t{0});
    FlatBufferBuilder b;
    const auto made = schema(b);
    const auto dictionaries = b.CreateVectorOfStructs(dictionaries_);
    b.Finish(ipc::CreateFooter(b, ipc::MetadataVersion::V5, made, dictionaries, b.CreateVectorOfStructs(batches_)));
    bytes_.append(reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize());
    put(bytes_, static_cast<std::uint32_t>(b.GetSize()));
    return bytes_ + "ARROW1";
  }

 private:
  Offset<ipc::Schema> schema(FlatBufferBuilder& b) const {
    const auto made = fields_(b, options_);
    return ipc::CreateSchemaDirect(b, ipc::Endianness::Little, &made);
  }
  static Offset<ipc::RecordBatch> record_batch(FlatBufferBuilder& b, const std::vector<Part>& parts, std::size_t rows, std::string& body) {
    std::vector<ipc::FieldNode> nodes;
    std::vector<ipc::Buffer> buffers;
    for (const Part& part : parts) {
      nodes.insert(nodes.end(), part.nodes.begin(), part.nodes.end());
      for (const std::string& buffer : part.buffers) {
        buffers.emplace_back(static_cast<std::int64_t>(body.size()), static_cast<std::int64_t>(buffer.size()));
        body += buffer;
        pad(body);
      }
    }
    const auto node_vector = b.CreateVectorOfStructs(nodes);
    return ipc::CreateRecordBatch(b, static_cast<std::int64_t>(rows), node_vector, b.CreateVectorOfStructs(buffers));
  }
  ipc::Block add(const FlatBufferBuilder& b, const std::string& body) {
    const std::size_t begin = bytes_.size();
    put(bytes_, ~std::uint32_t{0});
    put(bytes_, static_cast<std::uint32_t>((b.GetSize() + 7) / 8 * 8));
    bytes_.append(reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize());
    pad(bytes_);
    const std::size_t metadata = bytes_.size() - begin;
    bytes_ += body;
    return {static_cast<std::int64_t>(begin), static_cast<std::int32_t>(metadata), static_cast<std::int64_t>(body.size())};
  }
  Fields fields_;
  Options options_;
  std::string bytes_;
  std::vector<ipc::Block> batches_, dictionaries_;
};

inline std::string uuid_bytes(const std::string& text) {
  std::string bytes, digits;
  for (const char c : text)
    if (c != '-') digits += c;
  for (std::size_t i = 0; i < digits.size(); i += 2) bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

inline std::string svb16(const std::vector<std::int16_t>& samples) {
  std::string keys((samples.size() + 7) / 8, '\0'), data;
  std::int16_t before = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto delta = static_cast<std::int16_t>(samples[i] - before);
    before = samples[i];
    const auto zigzag = static_cast<std::uint16_t>((delta << 1) ^ (delta >> 15));
    data += static_cast<char>(zigzag & 0xFF);
    if (zigzag < 256) continue;
    data += static_cast<char>(zigzag >> 8);
    keys[i / 8] = static_cast<char>(static_cast<unsigned char>(keys[i / 8]) | 1U << (i % 8));
  }
  return keys + data;
}
inline std::string vbz(const std::vector<std::int16_t>& samples) {
  const std::string plain = svb16(samples);
  std::string bytes(ZSTD_compressBound(plain.size()), '\0');
  bytes.resize(ZSTD_compress(bytes.data(), bytes.size(), plain.data(), plain.size(), 1));
  return bytes;
}

inline std::vector<Offset<ipc::Field>> run_fields(FlatBufferBuilder& b, const Options& o) {
  const auto entry =
      field(b, "entries", ipc::Type::Struct, [](FlatBufferBuilder& f) { return ipc::CreateStruct(f); }, {text(b, "key"), text(b, "value")});
  const auto tags = field(
      b, "context_tags", ipc::Type::Map, [](FlatBufferBuilder& f) { return ipc::CreateMap(f); }, {entry}, odd(b, o, "context_tags"));
  return {text(b, "acquisition_id", odd(b, o, "acquisition_id")),
          integer(b, "adc_max", 16, true),
          integer(b, "adc_min", 16, !o.other_number.contains("adc_min")),
          tags,
          text(b, "flow_cell_id", odd(b, o, "flow_cell_id")),
          integer(b, "sample_rate", 16, false),
          text(b, "sequencing_kit", odd(b, o, "sequencing_kit"))};
}
inline std::vector<Part> run_parts(const Run& run, const Options& options) {
  const Part tags = entries(texts<std::int32_t>({"barcoding", "experiment_type"}), texts<std::int32_t>({"0", run.experiment_type}), 2);
  return {odd(options, "acquisition_id", 1, texts<std::int32_t>({run.id})),
          numbers<std::int16_t>({run.adc_max}),
          numbers<std::int16_t>({run.adc_min}),
          odd(options, "context_tags", 1, lists<std::int32_t>({2}, tags)),
          odd(options, "flow_cell_id", 1, texts<std::int32_t>({"cell"})),
          numbers<std::uint16_t>({run.rate}),
          odd(options, "sequencing_kit", 1, texts<std::int32_t>({run.kit}))};
}
inline std::string run_table(const std::vector<Run>& runs, const Options& options) {
  Table table(run_fields, options);
  if (!options.coded.empty()) table.dictionary_batch(odd_dictionary, std::vector<std::string>{runs.front().kit}, false);
  for (const Run& run : runs) table.batch(run_parts(run, options), 1);
  return table.end();
}

inline Offset<ipc::Field> read_id_field(FlatBufferBuilder& b, const Options& o) {
  return field(
      b, "read_id", ipc::Type::FixedSizeBinary, [](FlatBufferBuilder& f) { return ipc::CreateFixedSizeBinary(f, 16); }, {}, odd(b, o, "read_id"));
}
inline std::vector<Offset<ipc::Field>> signal_fields(FlatBufferBuilder& b, const Options& o) {
  const auto id = read_id_field(b, o);
  const auto encoding = odd(b, o, "signal");
  const auto signal = o.compressed
                          ? field(
                                b, "signal", ipc::Type::LargeBinary, [](FlatBufferBuilder& f) { return ipc::CreateLargeBinary(f); }, {}, encoding)
                          : field(
                                b, "signal", ipc::Type::LargeList, [](FlatBufferBuilder& f) { return ipc::CreateLargeList(f); },
                                {integer(b, "item", 16, true)}, encoding);
  return {id, signal, integer(b, "samples", 32, o.other_number.contains("samples"))};
}
// Dictionaries of records, by their numbers.
constexpr std::int64_t pore_records = 11, calibration_records = 12, end_reason_records = 13, run_records = 14;
inline Offset<ipc::Field> records(FlatBufferBuilder& b, const char* name, std::int64_t number, const std::vector<Offset<ipc::Field>>& fields) {
  const auto encoding = dictionary(b, number);
  return field(
      b, name, ipc::Type::Struct, [](FlatBufferBuilder& f) { return ipc::CreateStruct(f); }, fields, encoding);
}
inline std::vector<Offset<ipc::Field>> first_read_fields(FlatBufferBuilder& b, const Options& o) {
  const auto signal = field(b, "signal", ipc::Type::List, [](FlatBufferBuilder& f) { return ipc::CreateList(f); }, {integer(b, "item", 64, false)});
  return {read_id_field(b, o),
          signal,
          records(b, "pore", pore_records, {integer(b, "channel", 16, false), integer(b, "well", 8, false), text(b, "pore_type")}),
          records(b, "calibration", calibration_records, {single(b, "offset"), single(b, "scale")}),
          integer(b, "read_number", 32, false),
          integer(b, "start", 64, false),
          single(b, "median_before"),
          records(b, "end_reason", end_reason_records, {text(b, "name"), integer(b, "forced", 8, false)}),
          records(b, "run_info", run_records, run_fields(b, o))};
}
inline std::vector<Offset<ipc::Field>> read_fields(FlatBufferBuilder& b, const Options& o) {
  const auto signal = field(
      b, "signal", ipc::Type::List, [](FlatBufferBuilder& f) { return ipc::CreateList(f); }, {integer(b, "item", 64, false)}, odd(b, o, "signal"));
  const bool other_scale = o.other_number.contains("calibration_scale");
  std::vector<Offset<ipc::Field>> fields = {read_id_field(b, o),
                                            signal,
                                            integer(b, "read_number", 32, false),
                                            single(b, "calibration_offset"),
                                            text(b, "pore_type", dictionary(b, 3)),
                                            other_scale ? integer(b, "calibration_scale", 32, true) : single(b, "calibration_scale"),
                                            integer(b, "num_samples", 64, false),
                                            o.not_coded.contains("run_info") ? text(b, "run_info") : text(b, "run_info", dictionary(b, 7))};
  if (o.channel_bits > 0) fields.push_back(integer(b, "channel", o.channel_bits, false));
  if (o.second_channel) fields.push_back(integer(b, "channel_32bit", 32, false));
  return fields;
}

// Calls use(begin, end) for each batch of `rows` rows.
template <class Use>
void in_batches(std::size_t rows, const std::vector<std::size_t>& sizes, Use&& use) {
  for (std::size_t begin = 0, i = 0; begin < rows; ++i) {
    const std::size_t end = std::min(rows, begin + sizes[std::min(i, sizes.size() - 1)]);
    use(begin, end);
    begin = end;
  }
}

// The table of reads in batches, and in front of each batch, as it was written, what of its records is new.
inline std::string first_read_table(const std::vector<Read>& reads, const std::vector<Run>& runs,
                                    const std::vector<std::vector<std::uint64_t>>& rows_of_reads, const Options& options) {
  Table table(first_read_fields, options);
  in_batches(reads.size(), options.read_batches, [&](std::size_t begin, std::size_t end) {
    const bool is_delta = begin > 0;
    std::vector<std::string> ids, pore_types, reasons;
    std::vector<std::uint64_t> signal_rows, starts;
    std::vector<std::size_t> sizes;
    std::vector<std::uint32_t> read_numbers;
    std::vector<std::uint16_t> channels;
    std::vector<std::uint8_t> wells, forced;
    std::vector<float> offsets, scales, medians;
    std::vector<std::int16_t> own, run_numbers;
    for (std::size_t i = begin; i < end; ++i) {
      const Read& read = reads[i];
      ids.push_back(uuid_bytes(read.uuid));
      sizes.push_back(rows_of_reads[i].size());
      signal_rows.insert(signal_rows.end(), rows_of_reads[i].begin(), rows_of_reads[i].end());
      read_numbers.push_back(static_cast<std::uint32_t>(i));
      starts.push_back(1000 * i);
      medians.push_back(static_cast<float>(i));
      channels.push_back(static_cast<std::uint16_t>(read.channel));
      wells.push_back(static_cast<std::uint8_t>(1 + i % 4));
      forced.push_back(0);
      pore_types.push_back("r9");
      reasons.push_back(i % 2 == 0 ? "signal_positive" : "unblock_mux_change");
      offsets.push_back(read.offset);
      scales.push_back(read.scale);
      own.push_back(static_cast<std::int16_t>(i));
      std::size_t run = 0;
      while (run + 1 < runs.size() && runs[run].id != read.run) ++run;
      run_numbers.push_back(static_cast<std::int16_t>(run));
    }
    const std::size_t rows = end - begin;
    table.dictionary_batch(pore_records, {numbers(channels), numbers(wells), texts<std::int32_t>(pore_types)}, rows, is_delta);
    table.dictionary_batch(calibration_records, {numbers(offsets), numbers(scales)}, rows, is_delta);
    table.dictionary_batch(end_reason_records, {texts<std::int32_t>(reasons), numbers(forced)}, rows, is_delta);
    if (!is_delta)
      for (std::size_t run = 0; run < runs.size(); ++run) table.dictionary_batch(run_records, run_parts(runs[run], options), 1, run > 0);
    table.batch({fixed(ids), lists<std::int32_t>(sizes, numbers(signal_rows)), numbers(own), numbers(own), numbers(read_numbers), numbers(starts),
                 numbers(medians), numbers(own), numbers(run_numbers)},
                rows);
  });
  return table.end();
}

inline std::string pod5_file(const std::vector<Read>& reads, const std::vector<Run>& runs = {{"run_a"}}, const Options& options = {}) {
  std::vector<std::vector<std::int16_t>> pieces;
  std::vector<std::string> piece_ids;
  std::vector<std::vector<std::uint64_t>> rows_of_reads;
  for (const Read& read : reads) {
    auto& rows = rows_of_reads.emplace_back();
    for (std::size_t begin = 0; begin < read.samples.size(); begin += options.piece) {
      rows.push_back(pieces.size());
      const std::size_t end = std::min(read.samples.size(), begin + options.piece);
      pieces.emplace_back(read.samples.begin() + static_cast<std::ptrdiff_t>(begin), read.samples.begin() + static_cast<std::ptrdiff_t>(end));
      piece_ids.push_back(uuid_bytes(read.uuid));
    }
  }
  Table signal(signal_fields, options);
  in_batches(pieces.size(), options.signal_batches, [&](std::size_t begin, std::size_t end) {
    std::vector<std::string> ids, bytes;
    std::vector<std::uint32_t> counts;
    std::vector<std::size_t> sizes;
    std::vector<std::int16_t> plain;
    for (std::size_t i = begin; i < end; ++i) {
      ids.push_back(piece_ids[i]);
      bytes.push_back(vbz(pieces[i]));
      counts.push_back(static_cast<std::uint32_t>(pieces[i].size()));
      sizes.push_back(pieces[i].size());
      plain.insert(plain.end(), pieces[i].begin(), pieces[i].end());
    }
    const std::size_t rows = end - begin;
    const Part stored = options.compressed ? texts<std::int64_t>(bytes) : lists<std::int64_t>(sizes, numbers(plain));
    signal.batch({odd(options, "read_id", rows, fixed(ids)), odd(options, "signal", rows, stored), numbers(counts)}, rows);
  });
  Table table(read_fields, options);
  table.dictionary_batch(3, std::vector<std::string>{"not_set"}, false);
  if (!options.dictionary_in_pieces) {
    std::vector<std::string> ids;
    for (const Run& run : runs) ids.push_back(run.id);
    table.dictionary_batch(7, ids, false);
  }
  std::size_t known = 0;
  in_batches(reads.size(), options.read_batches, [&](std::size_t begin, std::size_t end) {
    if (options.dictionary_in_pieces && known < runs.size()) {
      table.dictionary_batch(7, std::vector<std::string>{runs[known].id}, known > 0);
      ++known;
    }
    std::vector<std::string> ids;
    std::vector<float> offsets, scales;
    std::vector<std::uint32_t> read_numbers;
    std::vector<std::uint64_t> signal_rows, samples;
    std::vector<std::size_t> sizes;
    std::vector<std::int16_t> pores, run_numbers;
    std::vector<std::string> run_names;
    for (std::size_t i = begin; i < end; ++i) {
      ids.push_back(uuid_bytes(reads[i].uuid));
      offsets.push_back(reads[i].offset);
      scales.push_back(reads[i].scale);
      read_numbers.push_back(static_cast<std::uint32_t>(i));
      samples.push_back(reads[i].samples.size());
      sizes.push_back(rows_of_reads[i].size());
      signal_rows.insert(signal_rows.end(), rows_of_reads[i].begin(), rows_of_reads[i].end());
      pores.push_back(0);
      std::size_t run = 0;
      while (run + 1 < runs.size() && runs[run].id != reads[i].run) ++run;
      run_numbers.push_back(static_cast<std::int16_t>(run));
      run_names.push_back(runs[run].id);
    }
    const std::size_t rows = end - begin;
    std::vector<std::uint16_t> small_channels;
    std::vector<std::uint32_t> channels;
    for (std::size_t i = begin; i < end; ++i) {
      channels.push_back(reads[i].channel);
      small_channels.push_back(reads[i].channel > 65535 ? 0 : static_cast<std::uint16_t>(reads[i].channel));
    }
    std::vector<Part> parts = {odd(options, "read_id", rows, fixed(ids)),
                               odd(options, "signal", rows, lists<std::int32_t>(sizes, numbers(signal_rows))),
                               numbers(read_numbers),
                               numbers(offsets),
                               numbers(pores),
                               numbers(scales),
                               numbers(samples),
                               options.not_coded.contains("run_info") ? texts<std::int32_t>(run_names) : numbers(run_numbers)};
    if (options.channel_bits > 0) parts.push_back(options.channel_bits == 16 ? numbers(small_channels) : numbers(channels));
    if (options.second_channel) parts.push_back(numbers(channels));
    table.batch(parts, rows);
  });

  const std::string marker(16, '\x5A');
  std::string file("\x8BPOD\r\n\x1A\n", 8);
  const std::string signature = file;
  file += marker;
  struct Embedded {
    std::int64_t offset, length;
    std::int16_t content;
  };
  std::vector<Embedded> contents;
  const std::string read_table = options.first_version ? first_read_table(reads, runs, rows_of_reads, options) : table.end();
  for (const auto& [content, bytes] : {std::pair<std::int16_t, std::string>{4, run_table(runs, options)}, {1, signal.end()}, {0, read_table}}) {
    if (content == 4 && options.first_version) continue;
    contents.push_back({static_cast<std::int64_t>(file.size()), static_cast<std::int64_t>(bytes.size()), content});
    file += bytes;
    pad(file);
    file += marker;
  }
  file += std::string("FOOTER\0\0", 8);
  FlatBufferBuilder b;
  std::vector<Offset<flatbuffers::Table>> tables;
  for (const Embedded& one : contents) {
    const auto begin = b.StartTable();
    b.AddElement<std::int64_t>(4, one.offset, 0);
    b.AddElement<std::int64_t>(6, one.length, 0);
    b.AddElement<std::int16_t>(8, 0, 0);
    b.AddElement<std::int16_t>(10, one.content, 0);
    tables.emplace_back(b.EndTable(begin));
  }
  const auto vector = b.CreateVector(tables);
  const auto software = b.CreateString("sluice's tests");
  const auto begin = b.StartTable();
  b.AddOffset(6, software);
  b.AddOffset(10, vector);
  b.Finish(Offset<flatbuffers::Table>(b.EndTable(begin)));
  std::string footer(reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize());
  pad(footer);
  file += footer;
  put(file, static_cast<std::int64_t>(footer.size()));
  return file + marker + signature;
}

}  // namespace pod5_fixture
