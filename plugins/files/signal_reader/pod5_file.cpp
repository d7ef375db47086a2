// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/pod5_file.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <sluice/failure.hpp>

#include "signal_reader/pod5_footer.hpp"
#include "signal_reader/vbz.hpp"

namespace sluice::signal_reader {
namespace {

constexpr std::string_view signature("\x8BPOD\r\n\x1A\n", 8);
constexpr std::string_view hdf5_signature("\x89HDF\r\n\x1A\n", 8);
constexpr std::size_t marker_bytes = 16, alignment = 8;
constexpr std::size_t id_bytes = 16;

void require(bool holds, const char* what) {
  if (!holds) throw FormatProblem(what);
}

bool begins_with(std::span<const char> bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

// 8-4-4-4-12 hexadecimal digits, as everybody writes them.
std::string uuid_text(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < id_bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    const auto byte = static_cast<unsigned char>(bytes[i]);
    text += digits[byte >> 4];
    text += digits[byte & 15U];
  }
  return text;
}

template <class T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// The values of a column of texts of which a table may lack it.
std::vector<std::string> texts_of(const ArrowFile& table, std::string_view name) {
  std::vector<std::string> texts;
  const FieldPlace* column = table.find(name);
  for (std::size_t b = 0; b < table.batches(); ++b) {
    const ArrowBatch& batch = table.batch(b);
    if (column == nullptr) {
      texts.resize(texts.size() + batch.rows());
      continue;
    }
    const TextColumn text = batch.text(*column);
    require(text.extents.rows() == batch.rows(), "a column is shorter than its table");
    for (std::size_t row = 0; row < batch.rows(); ++row) texts.emplace_back(text[row]);
  }
  return texts;
}

// Of a map of texts, what stands under `key` in each row.
std::vector<std::string> entries_of(const ArrowFile& table, std::string_view name, std::string_view key) {
  std::vector<std::string> found;
  const FieldPlace* column = table.find(name);
  for (std::size_t b = 0; b < table.batches(); ++b) {
    const ArrowBatch& batch = table.batch(b);
    const std::size_t first = found.size();
    found.resize(first + batch.rows());
    if (column == nullptr) continue;
    const Extents lists = batch.lists(*column);
    const FieldPlace& entry = column->children[0];
    require(entry.children.size() == 2 && lists.rows() == batch.rows(), "a column of the runs is damaged");
    const TextColumn keys = batch.text(entry.children[0]), values = batch.text(entry.children[1]);
    for (std::size_t row = 0; row < batch.rows(); ++row)
      for (std::size_t i = lists.begin(row); i < lists.end(row); ++i) {
        require(i < keys.extents.rows() && i < values.extents.rows(), "a column of the runs is damaged");
        if (keys[i] == key) found[first + row] = values[i];
      }
  }
  return found;
}

template <class T>
std::vector<double> numbers_of(const ArrowFile& table, std::string_view name) {
  std::vector<double> numbers;
  const FieldPlace& column = table.column(name);
  for (std::size_t b = 0; b < table.batches(); ++b) {
    const Values<T> values = table.batch(b).numbers<T>(column);
    require(values.size() == table.batch(b).rows(), "a column is shorter than its table");
    for (std::size_t row = 0; row < values.size(); ++row) numbers.push_back(static_cast<double>(values[row]));
  }
  return numbers;
}

const pod5::Footer& footer_of(std::span<const char> file, std::vector<std::uint64_t>& copy) {
  // Its length, a section marker and the signature stand behind it.
  constexpr std::size_t behind = sizeof(std::int64_t) + marker_bytes;
  require(file.size() >= 2 * signature.size() + behind + marker_bytes, "it is too short");
  const std::size_t end = file.size() - signature.size() - behind;
  std::uint64_t length = 0;
  std::memcpy(&length, file.data() + end, sizeof length);
  require(length <= end && length < FLATBUFFERS_MAX_BUFFER_SIZE, "its footer is damaged");
  copy.resize(static_cast<std::size_t>(length) / sizeof(std::uint64_t) + 1);
  std::memcpy(copy.data(), file.data() + end - length, static_cast<std::size_t>(length));
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(copy.data()), static_cast<std::size_t>(length));
  require(verifier.VerifyBuffer<pod5::Footer>(nullptr), "its footer is damaged");
  const auto* footer = flatbuffers::GetRoot<pod5::Footer>(copy.data());
  require(footer->contents() != nullptr, "its footer names no tables");
  return *footer;
}

}  // namespace

bool begins_as_pod5(std::span<const char> start_of_file) { return begins_with(start_of_file, signature); }
bool begins_as_hdf5(std::span<const char> start_of_file) { return begins_with(start_of_file, hdf5_signature); }

bool is_pod5(const std::string& path) {
  std::array<char, signature.size()> start{};
  std::ifstream file(path, std::ios::binary);
  return file.read(start.data(), start.size()) && begins_as_pod5(start);
}

std::span<const char> Pod5Reads::table(std::span<const char> file, int content, const char* name) {
  std::vector<std::uint64_t> copy;
  for (const pod5::EmbeddedFile* embedded : *footer_of(file, copy).contents()) {
    if (embedded == nullptr || static_cast<int>(embedded->content()) != content) continue;
    const auto offset = static_cast<std::uint64_t>(embedded->offset()), length = static_cast<std::uint64_t>(embedded->length());
    require(offset % alignment == 0 && offset <= file.size() && length <= file.size() - offset, "its footer names a table outside of it");
    return file.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
  }
  throw FormatProblem(std::string("it has no table of ") + name);
}

Pod5Reads::Pod5Reads(std::span<const char> file) {
  const auto open = [&](pod5::Content content, const char* name) {
    return std::make_unique<ArrowFile>(table(file, static_cast<int>(content), name));
  };
  runs_table_ = open(pod5::Content::RunInfo, "runs, as files of the first versions (`pod5 update` makes a new one)");
  signal_table_ = open(pod5::Content::Signal, "signal");
  reads_table_ = open(pod5::Content::Reads, "reads");
  header_.version[0] = 1;
  header_.records = {FileFormat::pod5, RecordCompression::none, SignalCompression::none};
  read_runs(*runs_table_);
  read_signal(*signal_table_);
  read_reads(*reads_table_);
  // Every piece of signal belongs to one read: records that together are larger than the file would be no reads.
  require(end_ <= file.size(), "its reads claim more signal than it has");
}

void Pod5Reads::read_runs(const ArrowFile& table) {
  const std::vector<std::string> ids = texts_of(table, "acquisition_id"), kits = texts_of(table, "sequencing_kit"),
                                 flow_cells = texts_of(table, "flow_cell_id");
  const std::vector<std::string> types = entries_of(table, "context_tags", "experiment_type"),
                                 tag_kits = entries_of(table, "context_tags", "sequencing_kit");
  const std::vector<double> most = numbers_of<std::int16_t>(table, "adc_max"), least = numbers_of<std::int16_t>(table, "adc_min"),
                            rates = numbers_of<std::uint16_t>(table, "sample_rate");
  require(!ids.empty(), "it names no run");
  header_.read_groups = static_cast<std::uint32_t>(ids.size());
  std::vector<std::string> run_kits, run_rates;
  for (std::size_t run = 0; run < ids.size(); ++run) {
    runs_.push_back({ids[run], most[run] - least[run] + 1, rates[run]});
    run_kits.push_back(kits[run].empty() ? tag_kits[run] : kits[run]);
    run_rates.push_back(std::to_string(static_cast<int>(rates[run])));
  }
  header_.attributes = {
      {"run_id", ids}, {"experiment_type", types}, {"sequencing_kit", run_kits}, {"flow_cell_id", flow_cells}, {"sample_frequency", run_rates}};
}

void Pod5Reads::read_signal(const ArrowFile& table) {
  const FieldPlace &signal = table.column("signal"), &samples = table.column("samples");
  const bool is_list = signal.field->type_type() == arrow::ipc::Type::List || signal.field->type_type() == arrow::ipc::Type::LargeList;
  header_.records.signal_compression = is_list ? SignalCompression::none : SignalCompression::vbz;
  std::uint64_t first_row = 0;
  for (std::size_t b = 0; b < table.batches(); ++b) {
    const ArrowBatch& batch = table.batch(b);
    SignalColumns columns{.first_row = first_row, .samples = batch.numbers<std::uint32_t>(samples)};
    if (is_list) {
      require(signal.children.size() == 1, "the signal is damaged");
      const Values<std::int16_t> values = batch.numbers<std::int16_t>(signal.children[0]);
      columns.extents = batch.lists(signal);
      columns.bytes = values.data();
      columns.item_bytes = sizeof(std::int16_t);
    } else {
      const TextColumn pieces = batch.text(signal);
      columns.extents = pieces.extents;
      columns.bytes = pieces.bytes;
    }
    require(columns.samples.size() == batch.rows() && columns.extents.rows() == batch.rows(), "the signal is damaged");
    signal_columns_.push_back(columns);
    first_row += batch.rows();
  }
  signal_columns_.push_back({.first_row = first_row});
}

Pod5Reads::Piece Pod5Reads::piece(std::uint64_t signal_row) const {
  require(signal_row < signal_columns_.back().first_row, "a read names signal that is not there");
  const auto after = std::upper_bound(signal_columns_.begin(), signal_columns_.end(), signal_row,
                                      [](std::uint64_t row, const SignalColumns& columns) { return row < columns.first_row; });
  const SignalColumns& columns = *(after - 1);
  const auto row = static_cast<std::size_t>(signal_row - columns.first_row);
  const std::size_t begin = columns.extents.begin(row), items = columns.extents.end(row) - begin;
  const std::uint32_t samples = columns.samples[row];
  require(columns.item_bytes == 1 || items == samples, "a piece of signal has another number of samples than it says");
  const std::size_t bytes = items * columns.item_bytes;
  require(bytes <= ~std::uint32_t{0} && samples <= most_samples(bytes, header_.records), "a piece of signal says more samples than it can hold");
  return {{columns.bytes + begin * columns.item_bytes, bytes}, samples};
}

template <class Use>
void Pod5Reads::for_each_piece(const Read& read, Use&& use) const {
  const ReadColumns& columns = read_columns_[read.batch];
  for (std::size_t i = columns.signal.begin(read.row); i < columns.signal.end(read.row); ++i)
    if (const Piece one = piece(columns.signal_row[i]); one.samples > 0) use(one);
}

std::vector<std::uint32_t> Pod5Reads::runs_of(const std::vector<std::string_view>& dictionary) const {
  std::vector<std::uint32_t> runs;
  for (const std::string_view id : dictionary) {
    const auto found = std::find_if(runs_.begin(), runs_.end(), [&](const Run& run) { return run.id == id; });
    require(found != runs_.end(), "its reads name a run that its table of runs does not have");
    runs.push_back(static_cast<std::uint32_t>(found - runs_.begin()));
  }
  return runs;
}

void Pod5Reads::read_reads(const ArrowFile& table) {
  const FieldPlace &id = table.column("read_id"), &signal = table.column("signal"), &offset = table.column("calibration_offset"),
                   &scale = table.column("calibration_scale"), &run = table.column("run_info");
  const FieldPlace* samples = table.find("num_samples");
  const std::vector<std::uint32_t> runs = runs_of(table.dictionary(run));
  for (std::size_t b = 0; b < table.batches(); ++b) {
    const ArrowBatch& batch = table.batch(b);
    ReadColumns columns{
        batch.fixed_bytes(id, id_bytes), batch.numbers<float>(offset), batch.numbers<float>(scale), batch.indexes(run), batch.lists(signal), {}};
    require(signal.children.size() == 1, "the table of reads is damaged");
    columns.signal_row = batch.numbers<std::uint64_t>(signal.children[0]);
    const std::size_t rows = batch.rows();
    require(columns.ids.size() == rows * id_bytes && columns.offset.size() == rows && columns.scale.size() == rows && columns.run.size() == rows &&
                columns.signal.rows() == rows,
            "the table of reads is damaged");
    read_columns_.push_back(columns);
    const Values<std::uint64_t> sample_counts = samples == nullptr ? Values<std::uint64_t>() : batch.numbers<std::uint64_t>(*samples);
    for (std::size_t row = 0; row < rows; ++row) {
      const std::int16_t number = columns.run[row];
      require(number >= 0 && static_cast<std::size_t>(number) < runs.size(), "a read names a run that is not there");
      Read read{.begin = end_,
                .batch = static_cast<std::uint32_t>(b),
                .row = static_cast<std::uint32_t>(row),
                .run = runs[static_cast<std::size_t>(number)]};
      std::uint64_t pieces = 0, bytes = 0;
      for_each_piece(read, [&](const Piece& one) {
        ++pieces;
        bytes += one.bytes.size();
        read.samples += one.samples;
      });
      require(pieces <= ~std::uint32_t{0} && (samples == nullptr || (row < sample_counts.size() && sample_counts[row] == read.samples)),
              "a read has another number of samples than it says");
      read.end = end_ += fields_of(read).size() + bytes + (is_compressed() ? sizeof(std::uint32_t) + pieces * sizeof(VbzPiece) : 0);
      reads_.push_back(read);
    }
  }
}

// As those of a BLOW5 record.
std::string Pod5Reads::fields_of(const Read& read) const {
  const ReadColumns& columns = read_columns_[read.batch];
  const Run& run = runs_[read.run];
  const std::string name = uuid_text(columns.ids.substr(read.row * id_bytes, id_bytes));
  std::string fields;
  append(fields, static_cast<std::uint16_t>(name.size()));
  fields += name;
  append(fields, read.run);
  append(fields, run.digitisation);
  append(fields, static_cast<double>(columns.offset[read.row]));
  append(fields, static_cast<double>(columns.scale[read.row]) * run.digitisation);  // range: the same pA from both
  append(fields, run.sample_rate);
  append(fields, read.samples);
  return fields;
}

RecordPlace Pod5Reads::place_at(std::uint64_t offset) const {
  const auto found = std::lower_bound(reads_.begin(), reads_.end(), offset, [](const Read& read, std::uint64_t begin) { return read.begin < begin; });
  if (found == reads_.end() || found->begin != offset) return {offset, 0};
  return {offset, found->end - found->begin};
}

Pod5Reads::TableRow Pod5Reads::row_at(RecordPlace place) const {
  const auto found =
      std::lower_bound(reads_.begin(), reads_.end(), place.offset, [](const Read& read, std::uint64_t begin) { return read.begin < begin; });
  return {found->batch, found->row, found->run, found->samples, runs_[found->run].sample_rate};
}

void Pod5Reads::copy(RecordPlace place, char* to, std::size_t bytes) const {
  const auto found =
      std::lower_bound(reads_.begin(), reads_.end(), place.offset, [](const Read& read, std::uint64_t begin) { return read.begin < begin; });
  const auto put = [&](std::string_view part) {
    const std::size_t count = std::min(part.size(), bytes);
    if (count > 0) std::memcpy(to, part.data(), count);
    to += count;
    bytes -= count;
  };
  std::string head = fields_of(*found);
  if (is_compressed()) {
    const std::size_t counted = head.size();
    append(head, std::uint32_t{0});
    std::uint32_t pieces = 0;
    for_each_piece(*found, [&](const Piece& one) {
      append(head, VbzPiece{one.samples, static_cast<std::uint32_t>(one.bytes.size())});
      ++pieces;
    });
    std::memcpy(head.data() + counted, &pieces, sizeof pieces);
  }
  put(head);
  for_each_piece(*found, [&](const Piece& one) { put(one.bytes); });
}

Pod5File::Pod5File(const std::string& path, int descriptor, std::uint64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
  memory_ = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, descriptor, 0);
  if (memory_ == MAP_FAILED)
    throw Failure::input("cannot map signal file '" + path + "' into memory: " + std::strerror(errno), "check that it is a file");
  const std::span<const char> file(static_cast<const char*>(memory_), bytes_);
  try {
    if (!begins_with(file.subspan(bytes_ - std::min(bytes_, signature.size())), signature) || bytes_ < 2 * signature.size())
      throw Failure::input("signal file '" + path + "' is truncated: it does not end as POD5 files do",
                           "copy the file again, or save the reads that it has with `pod5 recover`");
    reads_ = std::make_unique<Pod5Reads>(file);
  } catch (const FormatProblem& problem) {
    ::munmap(memory_, bytes_);
    throw Failure::input("signal file '" + path + "' is damaged: " + problem.what(),
                         "copy the file again and compare checksums; `pod5 inspect debug` says more, `pod5 recover` saves reads");
  } catch (...) {
    ::munmap(memory_, bytes_);
    throw;
  }
}

Pod5File::~Pod5File() { ::munmap(memory_, bytes_); }

}  // namespace sluice::signal_reader
