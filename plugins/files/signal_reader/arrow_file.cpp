// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/arrow_file.hpp"

#include <algorithm>

namespace sluice::signal_reader {

namespace ipc = arrow::ipc;

namespace {

constexpr std::string_view magic = "ARROW1";
constexpr std::size_t alignment = 8;

void require(bool holds, const char* what) {
  if (!holds) throw FormatProblem(what);
}

void require_type(bool fits, const FieldPlace& place) {
  if (fits) return;
  const auto* name = place.field->name();
  throw FormatProblem("column '" + (name == nullptr ? std::string() : name->str()) + "' has another type than POD5 files have there");
}

std::string_view text_in(std::span<const char> bytes) { return {bytes.data(), bytes.size()}; }

template <class Table>
const Table& table_in(std::span<const char> bytes) {
  require(bytes.size() < FLATBUFFERS_MAX_BUFFER_SIZE, "the metadata of a table is damaged");
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  require(verifier.VerifyBuffer<Table>(nullptr), "the metadata of a table is damaged");
  return *flatbuffers::GetRoot<Table>(bytes.data());
}

template <class T>
T number_at(std::span<const char> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// Element i of a vector of structs. The verifier does not see to it that they lie as the machine wants them.
template <class Struct>
Struct struct_at(const flatbuffers::Vector<const Struct*>& structs, std::size_t i) {
  Struct value;
  std::memcpy(&value, structs.Data() + i * sizeof value, sizeof value);
  return value;
}
std::vector<ipc::Block> blocks_in(const flatbuffers::Vector<const ipc::Block*>* structs) {
  std::vector<ipc::Block> blocks;
  for (std::size_t i = 0; structs != nullptr && i < structs->size(); ++i) blocks.push_back(struct_at(*structs, i));
  return blocks;
}

// Buffers of a field itself, by the number of its type.
std::size_t buffers_of(const ipc::Field& field) {
  constexpr int null = 1, struct_ = 13, union_ = 14, fixed_list = 16, last_known = 21;
  const int type = static_cast<int>(field.type_type());
  require(type >= null && type <= last_known && type != union_, "a column has a type that POD5 files don't have");
  switch (field.type_type()) {
    case ipc::Type::Binary:
    case ipc::Type::Utf8:
    case ipc::Type::LargeBinary:
    case ipc::Type::LargeUtf8:
      return 3;
    default:
      break;
  }
  if (type == null) return 0;
  return type == struct_ || type == fixed_list ? 1 : 2;
}

// Of the column itself; or of the values of its dictionary, which lie elsewhere.
enum class Of : std::uint8_t { column, values };

FieldPlace place_of(const ipc::Field& field, std::size_t& node, std::size_t& buffer, Of of = Of::column) {
  require(field.type() != nullptr, "a column does not say its type");
  FieldPlace place{&field, node++, buffer, {}};
  if (field.dictionary() != nullptr && of == Of::column) {
    buffer += 2;  // of the indexes
    return place;
  }
  buffer += buffers_of(field);
  if (field.children() == nullptr) return place;
  for (const ipc::Field* child : *field.children()) {
    require(child != nullptr, "a column lacks what it is made of");
    place.children.push_back(place_of(*child, node, buffer));
  }
  return place;
}

}  // namespace

void Extents::check(std::size_t limit) const {
  std::size_t before = 0;
  for (std::size_t i = 0; rows_ > 0 && i <= rows_; ++i) {
    const std::size_t end = at(i);  // one below zero is a very large one
    if (end < before || end > limit) throw FormatProblem("a column of texts or lists is damaged");
    before = end;
  }
}

ArrowBatch::ArrowBatch(const ByteSource& source, LoadedBytes metadata, const ipc::RecordBatch& batch, std::uint64_t body, std::uint64_t body_bytes)
    : source_(&source),
      batch_(&batch),
      body_(body),
      body_bytes_(body_bytes),
      rows_(static_cast<std::size_t>(batch.length())),
      metadata_(std::move(metadata)) {
  require(batch.length() >= 0 && batch.nodes() != nullptr && batch.buffers() != nullptr, "a batch of a table is damaged");
  require(batch.compression() == nullptr, "its tables are compressed, which POD5 files are not");
}

ArrowBatch::Stretch ArrowBatch::stretch(std::size_t buffer) const {
  require(buffer < batch_->buffers()->size(), "a batch has too few buffers");
  const ipc::Buffer place = struct_at(*batch_->buffers(), buffer);
  const auto offset = static_cast<std::uint64_t>(place.offset()), length = static_cast<std::uint64_t>(place.length());
  require(offset <= body_bytes_ && length <= body_bytes_ - offset, "a column lies outside of its batch");
  return {body_ + offset, length};
}

ArrowBatch::Stretch ArrowBatch::stretch(std::size_t buffer, std::size_t count, std::size_t width) const {
  const Stretch all = stretch(buffer);
  require(count <= all.bytes / width, "a column is shorter than its batch");
  return {all.begin, count * width};
}

std::string_view ArrowBatch::load(Stretch stretch) const {
  const std::lock_guard lock(loaded_->mutex);
  LoadedBytes& bytes = loaded_->parts[{stretch.begin, stretch.bytes}];
  if (bytes.span().data() == nullptr) bytes = LoadedBytes(*source_, stretch.begin, static_cast<std::size_t>(stretch.bytes));
  return text_in(bytes.span());
}

std::size_t ArrowBatch::length(const FieldPlace& place) const {
  require(place.node < batch_->nodes()->size(), "a batch has too few columns");
  const ipc::FieldNode node = struct_at(*batch_->nodes(), place.node);
  require(node.length() >= 0 && node.null_count() == 0, "a column lacks values");
  return static_cast<std::size_t>(node.length());
}

void ArrowBatch::check_number(const FieldPlace& place, NumberType type) {
  const ipc::Field& field = *place.field;
  bool fits = false;
  if (const ipc::Int* integer = field.type_as_Int())
    fits = !type.is_real && integer->bit_width() == static_cast<std::int32_t>(8 * type.bytes) && integer->is_signed() == type.is_signed;
  if (const ipc::FloatingPoint* real = field.type_as_FloatingPoint())
    fits = type.is_real && real->precision() == (type.bytes == sizeof(float) ? ipc::Precision::Single : ipc::Precision::Double);
  if (field.type_as_Timestamp() != nullptr) fits = !type.is_real && type.is_signed && type.bytes == sizeof(std::int64_t);
  require_type(fits && field.dictionary() == nullptr, place);
}

Values<std::int16_t> ArrowBatch::indexes(const FieldPlace& place) const {
  const ipc::DictionaryEncoding* dictionary = place.field->dictionary();
  const ipc::Int* index = dictionary == nullptr ? nullptr : dictionary->index_type();
  require_type(index != nullptr && index->bit_width() == 16 && index->is_signed(), place);
  return fixed<std::int16_t>(place);
}

std::string_view ArrowBatch::fixed_bytes(const FieldPlace& place, std::size_t width) const {
  const ipc::FixedSizeBinary* type = place.field->type_as_FixedSizeBinary();
  require_type(type != nullptr && type->byte_width() == static_cast<std::int32_t>(width) && place.field->dictionary() == nullptr, place);
  return load(stretch(place.buffer + 1, length(place), width));
}

Extents ArrowBatch::extents(const FieldPlace& place, bool wide) const {
  const std::size_t rows = length(place);
  if (rows == 0) return {};
  const std::string_view bytes = load(stretch(place.buffer + 1, rows + 1, wide ? sizeof(std::int64_t) : sizeof(std::int32_t)));
  return wide ? Extents(Values<std::int64_t>(bytes.data(), rows + 1)) : Extents(Values<std::int32_t>(bytes.data(), rows + 1));
}

PlacedTexts ArrowBatch::placed_values(const FieldPlace& place) const {
  const ipc::Type type = place.field->type_type();
  const bool wide = type == ipc::Type::LargeBinary || type == ipc::Type::LargeUtf8;
  require_type(wide || type == ipc::Type::Binary || type == ipc::Type::Utf8, place);
  const Stretch bytes = stretch(place.buffer + 2);
  PlacedTexts texts{extents(place, wide), bytes.begin};
  texts.extents.check(bytes.bytes);
  return texts;
}

PlacedTexts ArrowBatch::placed_texts(const FieldPlace& place) const {
  require_type(place.field->dictionary() == nullptr, place);
  return placed_values(place);
}

TextColumn ArrowBatch::text(const FieldPlace& place) const {
  const PlacedTexts placed = placed_texts(place);
  return {placed.extents, load(stretch(place.buffer + 2)).data()};
}

TextColumn ArrowBatch::dictionary_values(const ipc::Field& field) const {
  const FieldPlace values{&field, 0, 0, {}};
  const PlacedTexts placed = placed_values(values);
  return {placed.extents, load(stretch(values.buffer + 2)).data()};
}

Extents ArrowBatch::lists(const FieldPlace& place) const {
  const ipc::Type type = place.field->type_type();
  require_type((type == ipc::Type::List || type == ipc::Type::LargeList || type == ipc::Type::Map) && place.children.size() == 1 &&
                   place.field->dictionary() == nullptr,
               place);
  const Extents result = extents(place, type == ipc::Type::LargeList);
  const std::size_t items = length(place.children[0]);
  result.check(items);
  require(result.rows() == 0 || (result.begin(0) == 0 && result.end(result.rows() - 1) == items), "a column of lists is damaged");
  return result;
}

ArrowFile::ArrowFile(const ByteSource& source, std::uint64_t begin, std::uint64_t bytes) : source_(source), begin_(begin), bytes_(bytes) {
  constexpr std::size_t after_footer = sizeof(std::int32_t) + magic.size();
  require(bytes >= 2 * alignment + after_footer, "a table is not an Arrow file");
  const LoadedBytes first = load(0, magic.size()), last = load(bytes - after_footer, after_footer);
  require(text_in(first.span()) == magic && text_in(last.span()).ends_with(magic), "a table is not an Arrow file");
  const auto footer_bytes = number_at<std::uint32_t>(last.span(), 0);
  require(footer_bytes <= bytes - after_footer, "the end of a table is damaged");
  const std::uint64_t footer_begin = bytes - after_footer - footer_bytes;
  footer_ = load(footer_begin, footer_bytes);
  const ipc::Footer& footer = table_in<ipc::Footer>(footer_.span());
  require(footer.schema() != nullptr && footer.schema()->fields() != nullptr && footer.schema()->endianness() == ipc::Endianness::Little,
          "a table does not say its columns");
  std::size_t node = 0, buffer = 0;
  for (const ipc::Field* field : *footer.schema()->fields()) {
    require(field != nullptr && field->name() != nullptr, "a table has a column without a name");
    columns_.push_back(place_of(*field, node, buffer));
  }
  const std::vector<ipc::Block> dictionaries = blocks_in(footer.dictionaries()), batches = blocks_in(footer.record_batches());
  std::vector<ipc::Block> parts = dictionaries;
  parts.insert(parts.end(), batches.begin(), batches.end());
  check_order(parts, footer_begin);
  for (const ipc::Block& block : dictionaries) read_dictionary(block);
  for (const ipc::Block& block : batches) {
    Found found = message_at(block);
    const ipc::RecordBatch* batch = found.message->header_as_RecordBatch();
    require(batch != nullptr, "a batch of a table is damaged");
    batches_.emplace_back(source_, std::move(found.metadata), *batch, found.body, found.body_bytes);
  }
}

// The footer names every part: they lie one behind the other, from the schema to the footer. So none can get lost.
void ArrowFile::check_order(std::span<const arrow::ipc::Block> blocks, std::uint64_t footer_begin) const {
  constexpr std::size_t most_padding = 64;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> parts;
  for (const ipc::Block& block : blocks)
    parts.emplace_back(static_cast<std::uint64_t>(block.offset()),
                       static_cast<std::uint64_t>(block.metadata_length()) + static_cast<std::uint64_t>(block.body_length()));
  std::sort(parts.begin(), parts.end());
  const LoadedBytes schema = load(alignment, 2 * sizeof(std::uint32_t));
  std::uint64_t end = 2 * alignment + number_at<std::uint32_t>(schema.span(), sizeof(std::uint32_t));
  for (const auto& [begin, length] : parts) {
    require(begin >= end && begin - end < most_padding, "its parts do not follow each other");
    end = begin + length;
  }
  require(footer_begin >= end && footer_begin - end < most_padding, "its parts do not follow each other");
}

ArrowFile::Found ArrowFile::message_at(const ipc::Block& block) const {
  constexpr std::size_t frame = 2 * sizeof(std::uint32_t);
  const auto offset = static_cast<std::uint64_t>(block.offset()), metadata = static_cast<std::uint64_t>(block.metadata_length()),
             body = static_cast<std::uint64_t>(block.body_length());
  require(offset % alignment == 0 && offset <= bytes_ && metadata <= bytes_ - offset && body <= bytes_ - offset - metadata && metadata >= frame,
          "a part of a table lies outside of it");
  LoadedBytes all = load(offset, static_cast<std::size_t>(metadata));
  const auto marker = number_at<std::uint32_t>(all.span(), 0);
  const auto size = number_at<std::uint32_t>(all.span(), sizeof(std::uint32_t));
  require(marker == ~std::uint32_t{0} && size <= metadata - frame, "a part of a table is damaged");
  const auto& message = table_in<ipc::Message>(all.span().subspan(frame, size));
  return {std::move(all), &message, begin_ + offset + metadata, body};
}

void ArrowFile::read_dictionary(const ipc::Block& block) {
  Found found = message_at(block);
  const ipc::DictionaryBatch* batch = found.message->header_as_DictionaryBatch();
  require(batch != nullptr && batch->data() != nullptr, "a dictionary of a table is damaged");
  const auto column = std::find_if(columns_.begin(), columns_.end(), [&](const FieldPlace& place) {
    return place.field->dictionary() != nullptr && place.field->dictionary()->id() == batch->id();
  });
  if (column == columns_.end()) return;
  if (column->field->type_type() == ipc::Type::Struct) {  // of files of the first versions
    Records& records = record_dictionaries_[batch->id()];
    if (!batch->is_delta()) records.batches.clear();
    std::size_t node = 0, buffer = 0;
    records.place = place_of(*column->field, node, buffer, Of::values);
    records.batches.push_back(std::make_unique<ArrowBatch>(source_, std::move(found.metadata), *batch->data(), found.body, found.body_bytes));
    require(records.batches.back()->length(records.place) == records.batches.back()->rows(), "a dictionary of a table is damaged");
    return;
  }
  if (column->field->type_type() != ipc::Type::Utf8 && column->field->type_type() != ipc::Type::LargeUtf8) return;
  const ArrowBatch values(source_, std::move(found.metadata), *batch->data(), found.body, found.body_bytes);
  const TextColumn text = values.dictionary_values(*column->field);
  std::vector<std::string>& dictionary = dictionaries_[batch->id()];
  if (!batch->is_delta()) dictionary.clear();
  for (std::size_t i = 0; i < text.extents.rows(); ++i) dictionary.emplace_back(text[i]);
}

const FieldPlace* ArrowColumns::find(std::string_view name) const {
  for (const FieldPlace& place : *places)
    if (place.field->name() != nullptr && place.field->name()->string_view() == name) return &place;
  return nullptr;
}

const FieldPlace& ArrowColumns::column(std::string_view name) const {
  const FieldPlace* place = find(name);
  if (place == nullptr) throw FormatProblem("a table has no column '" + std::string(name) + "'");
  return *place;
}

ArrowColumns ArrowFile::columns() const {
  ArrowColumns columns{&columns_, {}};
  for (const ArrowBatch& batch : batches_) columns.batches.push_back(&batch);
  return columns;
}

ArrowColumns ArrowFile::records(const FieldPlace& column) const {
  static const std::vector<FieldPlace> none;
  require_type(column.field->dictionary() != nullptr && column.field->type_type() == ipc::Type::Struct, column);
  ArrowColumns columns{&none, {}};
  const auto found = record_dictionaries_.find(column.field->dictionary()->id());
  if (found == record_dictionaries_.end()) return columns;
  columns.places = &found->second.place.children;
  for (const auto& batch : found->second.batches) columns.batches.push_back(batch.get());
  return columns;
}

const std::vector<std::string>& ArrowFile::dictionary(const FieldPlace& column) const {
  static const std::vector<std::string> empty;
  const ipc::Type type = column.field->type_type();
  require_type(column.field->dictionary() != nullptr && (type == ipc::Type::Utf8 || type == ipc::Type::LargeUtf8), column);
  const auto found = dictionaries_.find(column.field->dictionary()->id());
  return found == dictionaries_.end() ? empty : found->second;
}

}  // namespace sluice::signal_reader
