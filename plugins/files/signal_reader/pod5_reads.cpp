// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/pod5_reads.hpp"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "signal_reader/pod5_footer.hpp"
#include "signal_reader/vbz.hpp"

namespace sluice::signal_reader {
namespace {

constexpr std::size_t signature_bytes = 8, marker_bytes = 16, alignment = 8;
constexpr std::size_t id_bytes = 16;

void require(bool holds, const char* what) {
  if (!holds) throw FormatProblem(what);
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

// In files of the first versions, to lib-pod5 0.0.37, what reads share stands in dictionaries of records, later in columns and a table of runs.
bool is_of_records(const FieldPlace& column) { return column.field->type_type() == arrow::ipc::Type::Struct; }

// The values of a column of texts of which a table may lack it.
std::vector<std::string> texts_of(const ArrowColumns& table, std::string_view name) {
  std::vector<std::string> texts;
  const FieldPlace* column = table.find(name);
  for (const ArrowBatch* const one : table.batches) {
    const ArrowBatch& batch = *one;
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
std::vector<std::string> entries_of(const ArrowColumns& table, std::string_view name, std::string_view key) {
  std::vector<std::string> found;
  const FieldPlace* column = table.find(name);
  for (const ArrowBatch* const one : table.batches) {
    const ArrowBatch& batch = *one;
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
std::vector<double> numbers_of(const ArrowColumns& table, std::string_view name) {
  std::vector<double> numbers;
  const FieldPlace& column = table.column(name);
  for (const ArrowBatch* const batch : table.batches) {
    const Values<T> values = batch->numbers<T>(column);
    require(values.size() == batch->rows(), "a column is shorter than its table");
    for (std::size_t row = 0; row < values.size(); ++row) numbers.push_back(static_cast<double>(values[row]));
  }
  return numbers;
}

// What stands at the end of a file, before the footer's length, a section marker and the signature.
LoadedBytes footer_of(const ByteSource& file) {
  constexpr std::size_t behind = sizeof(std::int64_t) + marker_bytes + signature_bytes;
  require(file.size() >= behind + marker_bytes + signature_bytes, "it is too short");
  const std::uint64_t end = file.size() - behind;
  std::uint64_t length = 0;
  file.read(end, reinterpret_cast<char*>(&length), sizeof length);
  require(length <= end && length < FLATBUFFERS_MAX_BUFFER_SIZE, "its footer is damaged");
  LoadedBytes bytes(file, end - length, static_cast<std::size_t>(length));
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(bytes.span().data()), bytes.span().size());
  require(verifier.VerifyBuffer<pod5::Footer>(nullptr), "its footer is damaged");
  require(flatbuffers::GetRoot<pod5::Footer>(bytes.span().data())->contents() != nullptr, "its footer names no tables");
  return bytes;
}

}  // namespace

std::unique_ptr<ArrowFile> Pod5Reads::table(int content) const {
  const LoadedBytes footer = footer_of(file_);
  for (const pod5::EmbeddedFile* embedded : *flatbuffers::GetRoot<pod5::Footer>(footer.span().data())->contents()) {
    if (embedded == nullptr || static_cast<int>(embedded->content()) != content) continue;
    const auto offset = static_cast<std::uint64_t>(embedded->offset()), length = static_cast<std::uint64_t>(embedded->length());
    require(offset % alignment == 0 && offset <= file_.size() && length <= file_.size() - offset, "its footer names a table outside of it");
    return std::make_unique<ArrowFile>(file_, offset, length);
  }
  return nullptr;
}

Pod5Reads::Pod5Reads(const ByteSource& file) : file_(file) {
  const std::unique_ptr<ArrowFile> runs = table(static_cast<int>(pod5::Content::RunInfo));
  signal_table_ = table(static_cast<int>(pod5::Content::Signal));
  reads_table_ = table(static_cast<int>(pod5::Content::Reads));
  require(signal_table_ != nullptr && reads_table_ != nullptr, "it has no tables of reads and their signal");
  header_.version[0] = 1;
  header_.records = {FileFormat::pod5, RecordCompression::none, SignalCompression::none};
  if (runs != nullptr)
    read_runs(runs->columns());
  else
    read_runs(reads_table_->records(reads_table_->column("run_info")));
  read_signal(*signal_table_);
  read_reads(*reads_table_);
  // Every piece of signal belongs to one read: records that together are larger than the file would be no reads.
  require(end_ <= file.size(), "its reads claim more signal than it has");
}

void Pod5Reads::read_runs(const ArrowColumns& table) {
  table.column("acquisition_id");  // is in every file, and has bytes for each row: without it any number of rows could be claimed
  const std::vector<std::string> ids = texts_of(table, "acquisition_id"), kits = texts_of(table, "sequencing_kit"),
                                 flow_cells = texts_of(table, "flow_cell_id"), products = texts_of(table, "flow_cell_product_code");
  const std::vector<std::string> types = entries_of(table, "context_tags", "experiment_type"),
                                 tag_kits = entries_of(table, "context_tags", "sequencing_kit"),
                                 tag_products = entries_of(table, "context_tags", "flowcell_type"),
                                 configurations = entries_of(table, "context_tags", "basecall_config_filename");
  const std::vector<double> most = numbers_of<std::int16_t>(table, "adc_max"), least = numbers_of<std::int16_t>(table, "adc_min"),
                            rates = numbers_of<std::uint16_t>(table, "sample_rate");
  header_.read_groups = std::max(static_cast<std::uint32_t>(ids.size()), 1U);  // a file without reads names no run
  // Milliseconds since 1970.
  const std::vector<double> starts = table.find("acquisition_start_time") == nullptr ? std::vector<double>(ids.size(), -1)
                                                                                     : numbers_of<std::int64_t>(table, "acquisition_start_time");
  std::vector<std::string> run_kits, run_products, run_rates, run_starts;
  for (std::size_t run = 0; run < ids.size(); ++run) {
    // Scale and offset alone make pA of levels; where the converter's range makes no sense, any digitisation serves.
    runs_.push_back({ids[run], std::max(most[run] - least[run] + 1, 1.0), rates[run]});
    run_kits.push_back(kits[run].empty() ? tag_kits[run] : kits[run]);
    run_products.push_back(products[run].empty() ? tag_products[run] : products[run]);
    run_rates.push_back(std::to_string(static_cast<int>(rates[run])));
    run_starts.push_back(starts[run] < 0 ? std::string() : std::to_string(static_cast<std::int64_t>(starts[run])));
  }
  header_.attributes = {{"run_id", ids},
                        {"experiment_type", types},
                        {"sequencing_kit", run_kits},
                        {"flow_cell_id", flow_cells},
                        {"flow_cell_product_code", run_products},
                        {"basecall_config_filename", configurations},
                        {"sample_frequency", run_rates},
                        {"acquisition_start_time", run_starts}};
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
      columns.extents = batch.lists(signal);
      columns.begin = batch.numbers_begin<std::int16_t>(signal.children[0]);
      columns.item_bytes = sizeof(std::int16_t);
    } else {
      const PlacedTexts pieces = batch.placed_texts(signal);
      columns.extents = pieces.extents;
      columns.begin = pieces.begin;
    }
    require(columns.samples.size() == batch.rows() && columns.extents.rows() == batch.rows(), "the signal is damaged");
    if (reads_table_->find("num_samples") == nullptr) {
      columns.ids = batch.fixed_bytes(table.column("read_id"), id_bytes);
      require(columns.ids.size() == batch.rows() * id_bytes, "the signal is damaged");
    }
    signal_columns_.push_back(columns);
    first_row += batch.rows();
  }
  signal_columns_.push_back({.first_row = first_row});
}

const Pod5Reads::SignalColumns& Pod5Reads::columns_of(std::uint64_t signal_row) const {
  require(signal_row < signal_columns_.back().first_row, "a read names signal that is not there");
  const auto after = std::upper_bound(signal_columns_.begin(), signal_columns_.end(), signal_row,
                                      [](std::uint64_t row, const SignalColumns& columns) { return row < columns.first_row; });
  return *(after - 1);
}

Pod5Reads::Piece Pod5Reads::piece(std::uint64_t signal_row) const {
  const SignalColumns& columns = columns_of(signal_row);
  const auto row = static_cast<std::size_t>(signal_row - columns.first_row);
  const std::size_t begin = columns.extents.begin(row), items = columns.extents.end(row) - begin;
  const std::uint32_t samples = columns.samples[row];
  require(columns.item_bytes == 1 || items == samples, "a piece of signal has another number of samples than it says");
  const std::size_t bytes = items * columns.item_bytes;
  require(bytes <= ~std::uint32_t{0} && samples <= most_samples(bytes, header_.records), "a piece of signal says more samples than it can hold");
  return {columns.begin + begin * columns.item_bytes, static_cast<std::uint32_t>(bytes), samples};
}

template <class Use>
void Pod5Reads::for_each_piece(const Read& read, Use&& use) const {
  const ReadColumns& columns = read_columns_[read.batch];
  for (std::size_t i = columns.signal.begin(read.row); i < columns.signal.end(read.row); ++i)
    if (const Piece one = piece(columns.signal_row[i]); one.samples > 0) use(one);
}

// What a number in the column of runs stands for: the place of one among runs_.
std::vector<std::uint32_t> Pod5Reads::runs_of(const FieldPlace& column) const {
  std::vector<std::uint32_t> runs;
  if (is_of_records(column)) {
    for (std::size_t run = 0; run < runs_.size(); ++run) runs.push_back(static_cast<std::uint32_t>(run));
    return runs;
  }
  const std::vector<std::string>& dictionary = reads_table_->dictionary(column);
  for (const std::string& id : dictionary) {
    const auto found = std::find_if(runs_.begin(), runs_.end(), [&](const Run& run) { return run.id == id; });
    require(found != runs_.end(), "its reads name a run that its table of runs does not have");
    runs.push_back(static_cast<std::uint32_t>(found - runs_.begin()));
  }
  return runs;
}

// A piece that says that it is empty must be so.
void Pod5Reads::require_whole(const Piece& piece) const {
  if (piece.samples > 0 || piece.bytes == 0 || !is_compressed()) return;
  constexpr std::size_t most_of_nothing = 64;  // bytes of zstd
  std::array<char, most_of_nothing> bytes{};
  require(piece.bytes <= bytes.size(), "a piece of signal says that it is empty");
  file_.read(piece.begin, bytes.data(), piece.bytes);
  require(ZSTD_getFrameContentSize(bytes.data(), piece.bytes) == 0, "a piece of signal says that it is empty");
}

// Files of the first versions do not say how many samples a read has, but of each piece whose it is.
void Pod5Reads::check_owner(const ReadColumns& columns, std::size_t row) const {
  for (std::size_t i = columns.signal.begin(row); i < columns.signal.end(row); ++i) {
    const SignalColumns& signal = columns_of(columns.signal_row[i]);
    const auto signal_row = static_cast<std::size_t>(columns.signal_row[i] - signal.first_row);
    require(signal.ids.substr(signal_row * id_bytes, id_bytes) == columns.ids.substr(row * id_bytes, id_bytes), "a read names signal of another");
    require_whole(piece(columns.signal_row[i]));
  }
}

void Pod5Reads::read_reads(const ArrowFile& table) {
  const FieldPlace &id = table.column("read_id"), &signal = table.column("signal"), &run = table.column("run_info");
  const FieldPlace* samples = table.find("num_samples");
  const std::vector<std::uint32_t> runs = runs_of(run);
  const FieldPlace* const calibration = table.find("calibration");
  if (calibration != nullptr) {
    const ArrowColumns records = table.records(*calibration);
    offsets_ = numbers_of<float>(records, "offset");
    scales_ = numbers_of<float>(records, "scale");
  }
  for (std::size_t b = 0; b < table.batches(); ++b) {
    const ArrowBatch& batch = table.batch(b);
    ReadColumns columns{.ids = batch.fixed_bytes(id, id_bytes), .run = batch.indexes(run), .signal = batch.lists(signal)};
    columns.signal_row = batch.numbers<std::uint64_t>(signal.children[0]);
    if (calibration != nullptr) {
      columns.calibration = batch.indexes(*calibration);
    } else {
      columns.offset = batch.numbers<float>(table.column("calibration_offset"));
      columns.scale = batch.numbers<float>(table.column("calibration_scale"));
    }
    const std::size_t rows = batch.rows(), calibrated = calibration != nullptr ? columns.calibration.size() : columns.offset.size();
    require(columns.ids.size() == rows * id_bytes && calibrated == rows && (calibration != nullptr || columns.scale.size() == rows) &&
                columns.run.size() == rows && columns.signal.rows() == rows,
            "the table of reads is damaged");
    for (std::size_t row = 0; row < columns.calibration.size(); ++row)
      require(
          columns.calibration[row] >= 0 && static_cast<std::size_t>(columns.calibration[row]) < offsets_.size() && offsets_.size() == scales_.size(),
          "a read names a calibration that is not there");
    read_columns_.push_back(columns);
    const Values<std::uint64_t> sample_counts = samples == nullptr ? Values<std::uint64_t>() : batch.numbers<std::uint64_t>(*samples);
    for (std::size_t row = 0; row < rows; ++row) {
      const std::int16_t number = columns.run[row];
      require(number >= 0 && static_cast<std::size_t>(number) < runs.size(), "a read names a run that is not there");
      Read read{.begin = end_,
                .batch = static_cast<std::uint32_t>(b),
                .row = static_cast<std::uint32_t>(row),
                .run = runs[static_cast<std::size_t>(number)]};
      if (samples == nullptr) check_owner(columns, row);
      std::uint64_t pieces = 0, bytes = 0;
      for_each_piece(read, [&](const Piece& one) {
        ++pieces;
        bytes += one.bytes;
        read.samples += one.samples;
      });
      require(pieces <= ~std::uint32_t{0} && (samples == nullptr || (row < sample_counts.size() && sample_counts[row] == read.samples)),
              "a read has another number of samples than it says");
      read.end = end_ += fields_of(read).size() + bytes + (is_compressed() ? sizeof(std::uint32_t) + pieces * sizeof(VbzPiece) : 0);
      reads_.push_back(read);
    }
  }
}

std::string Pod5Reads::fields_of(const Read& read) const {
  const ReadColumns& columns = read_columns_[read.batch];
  const Run& run = runs_[read.run];
  const std::string name = uuid_text(columns.ids.substr(read.row * id_bytes, id_bytes));
  const auto number = static_cast<std::size_t>(columns.calibration.size() > 0 ? columns.calibration[read.row] : 0);
  const bool has_own = columns.calibration.size() == 0;
  const double offset = has_own ? static_cast<double>(columns.offset[read.row]) : offsets_[number];
  const double scale = has_own ? static_cast<double>(columns.scale[read.row]) : scales_[number];
  return fields_text({.read_id = name,
                      .read_group = read.run,
                      .digitisation = run.digitisation,
                      .offset = offset,
                      .range = scale * run.digitisation,  // the same pA from both
                      .sampling_rate = run.sample_rate,
                      .sample_count = read.samples});
}

const Pod5Reads::Read& Pod5Reads::read_at(RecordPlace place) const {
  return *std::lower_bound(reads_.begin(), reads_.end(), place.offset, [](const Read& read, std::uint64_t begin) { return read.begin < begin; });
}

RecordPlace Pod5Reads::place_at(std::uint64_t offset) const {
  const auto found = std::lower_bound(reads_.begin(), reads_.end(), offset, [](const Read& read, std::uint64_t begin) { return read.begin < begin; });
  if (found == reads_.end() || found->begin != offset) return {offset, 0};
  return {offset, found->end - found->begin};
}

std::uint64_t Pod5Reads::begin_from(std::uint64_t offset, std::uint64_t& before) const {
  const auto found = std::lower_bound(reads_.begin(), reads_.end(), offset, [](const Read& read, std::uint64_t begin) { return read.begin < begin; });
  before = static_cast<std::uint64_t>(found - reads_.begin());
  return found == reads_.end() ? bytes() : found->begin;
}

Pod5Reads::TableRow Pod5Reads::row_at(RecordPlace place) const {
  const Read& read = read_at(place);
  return {read.batch, read.row, read.run, read.samples, runs_[read.run].sample_rate};
}

// read(offset, to, bytes) gives bytes of the file, or false, which ends it.
template <class ReadBytes>
bool Pod5Reads::copy_by(const ReadBytes& read_bytes, RecordPlace place, char* to, std::size_t bytes) const {
  const Read& read = read_at(place);
  std::string head = fields_of(read);
  if (is_compressed()) {
    const std::size_t counted = head.size();
    append(head, std::uint32_t{0});
    std::uint32_t pieces = 0;
    for_each_piece(read, [&](const Piece& one) {
      append(head, VbzPiece{one.samples, one.bytes});
      ++pieces;
    });
    std::memcpy(head.data() + counted, &pieces, sizeof pieces);
  }
  const std::size_t head_bytes = std::min(head.size(), bytes);
  std::memcpy(to, head.data(), head_bytes);
  to += head_bytes;
  bytes -= head_bytes;
  // Pieces mostly lie one behind the other: read at once.
  std::uint64_t begin = 0;
  std::size_t together = 0;
  bool all = true;
  const auto flush = [&] {
    if (together > 0) all = all && read_bytes(begin, to, together);
    to += together;
    bytes -= together;
    together = 0;
  };
  for_each_piece(read, [&](const Piece& one) {
    if (together > 0 && one.begin != begin + together) flush();
    if (together == 0) begin = one.begin;
    together += std::min<std::size_t>(one.bytes, bytes - together);
  });
  flush();
  return all;
}

void Pod5Reads::copy(RecordPlace place, char* to, std::size_t bytes) const {
  const auto read = [this](std::uint64_t offset, char* there, std::size_t size) { return file_.read(offset, there, size), true; };
  copy_by(read, place, to, bytes);
}

bool Pod5Reads::copy_if_at_hand(RecordPlace place, char* to, std::size_t bytes) const {
  const auto read = [this](std::uint64_t offset, char* there, std::size_t size) { return file_.read_if_at_hand(offset, there, size); };
  return copy_by(read, place, to, bytes);
}

}  // namespace sluice::signal_reader
