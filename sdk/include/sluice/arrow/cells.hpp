// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// From lines of tab-separated text to the buffers of Arrow columns, which Parquet's pages are made of, too.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <sluice/arrow/table_schema.hpp>
#include <sluice/column.hpp>
#include <sluice/failure.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::arrow {

// See TableColumn::has_stand_ins.
inline constexpr std::string_view stood_for = "\t\n\r", stand_ins = "\xF8\xF9\xFA";

// Appends a cell to a line whose column has stand-ins.
inline void append_with_stand_ins(std::string& line, std::string_view cell) {
  for (const char c : cell) {
    const std::size_t at = stood_for.find(c);
    line += at != std::string_view::npos ? stand_ins[at] : stand_ins.find(c) != std::string_view::npos ? '\xFF' : c;
  }
}

// Appends `text` as UTF-8: bytes that are none become U+FFFD, as readers would make of them, or what they stand for.
inline void append_utf8(std::string& to, std::string_view text, bool has_stand_ins = false) {
  constexpr std::string_view replacement = "\xEF\xBF\xBD";
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  for (std::size_t at = 0; at < text.size();) {
    std::size_t plain = at;
    while (plain < text.size() && byte(plain) < 0x80) ++plain;
    to.append(text, at, plain - at);
    if ((at = plain) == text.size()) return;
    const unsigned char first = byte(at);
    if (const std::size_t stands_for = stand_ins.find(text[at]); has_stand_ins && stands_for != std::string_view::npos) {
      to += stood_for[stands_for];
      ++at;
      continue;
    }
    const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    bool sound = first >= 0xC2 && first <= 0xF4 && at + length <= text.size();
    for (std::size_t i = 1; sound && i < length; ++i) sound = (byte(at + i) & 0xC0) == 0x80;
    if (sound && length > 2) {  // neither longer than needed, nor half of a UTF-16 pair, nor beyond the last code point
      const unsigned char second = byte(at + 1);
      sound = !(first == 0xE0 && second < 0xA0) && !(first == 0xED && second > 0x9F) && !(first == 0xF0 && second < 0x90) &&
              !(first == 0xF4 && second > 0x8F);
    }
    to.append(sound ? text.substr(at, length) : replacement);
    at += sound ? length : 1;
  }
}

// One column of a record batch.
class ColumnCells {
 public:
  explicit ColumnCells(const TableColumn& column) : column_(&column), element_(kind_of(column.element())) {
    if (column.is_list() || element_ == Kind::utf8) offsets_.push_back(0);
  }

  void add(std::string_view cell) {
    const bool is_missing = !column_->missing.empty() && cell == column_->missing;
    if (is_missing || (cell.empty() && !column_->is_list() && element_ != Kind::utf8)) return add_none();
    mark(true);
    if (column_->is_list())
      add_items(cell);
    else
      add_value(cell);
    end_cell();
  }
  void add_none() {
    mark(false);
    if (offsets_.empty()) values_.append(element_bytes(), '\0');
    end_cell();
  }

  const TableColumn& column() const { return *column_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t missing() const { return missing_; }
  std::int64_t items() const { return items_; }  // of a list column
  // Bits, the first row in the lowest one; rows + 1 ends of text or lists, none for numbers; numbers or bytes.
  std::string_view validity() const { return missing_ == 0 ? std::string_view() : std::string_view(validity_); }
  std::string_view offsets() const { return {reinterpret_cast<const char*>(offsets_.data()), offsets_.size() * sizeof(std::int32_t)}; }
  std::string_view values() const { return values_; }

 private:
  enum class Kind : std::uint8_t { i8, u8, i16, u16, i32, u32, i64, u64, f32, f64, utf8 };

  static Kind kind_of(std::string_view type) {
    for (std::size_t i = 0; i <= static_cast<std::size_t>(Kind::utf8); ++i)
      if (type == element_types[i].name) return static_cast<Kind>(i);
    throw std::logic_error("a table has no columns of type '" + std::string(type) + "'");
  }
  std::size_t element_bytes() const { return element_types[static_cast<std::size_t>(element_)].bytes; }

  void add_items(std::string_view cell) {
    if (element_ == Kind::utf8) throw std::logic_error("a table has no lists of text");
    for (std::size_t begin = 0; begin < cell.size();) {
      const std::size_t end = std::min(cell.find(',', begin), cell.size());
      add_value(cell.substr(begin, end - begin));
      ++items_;
      begin = end + 1;
    }
  }
  void add_value(std::string_view text) {
    switch (element_) {
      case Kind::i8:
        return add_number<std::int8_t>(text);
      case Kind::u8:
        return add_number<std::uint8_t>(text);
      case Kind::i16:
        return add_number<std::int16_t>(text);
      case Kind::u16:
        return add_number<std::uint16_t>(text);
      case Kind::i32:
        return add_number<std::int32_t>(text);
      case Kind::u32:
        return add_number<std::uint32_t>(text);
      case Kind::i64:
        return add_number<std::int64_t>(text);
      case Kind::u64:
        return add_number<std::uint64_t>(text);
      case Kind::f32:
        return add_number<float>(text);
      case Kind::f64:
        return add_number<double>(text);
      case Kind::utf8:
        return append_utf8(values_, text, column_->has_stand_ins);
    }
  }
  template <class Number>
  void add_number(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      throw Failure::output("'" + std::string(text.substr(0, 40)) + "' in the column " + column_->name + " is no " + std::string(column_->element()),
                            "a name with a tab or a line break does that; write text instead: a name that ends with .tsv");
    const std::size_t at = values_.size();
    values_.resize(at + sizeof value);
    std::memcpy(values_.data() + at, &value, sizeof value);
  }
  void mark(bool valid) {
    const auto bit = static_cast<unsigned>(rows_ % 8);
    if (bit == 0) validity_ += '\0';
    if (valid) validity_.back() = static_cast<char>(static_cast<unsigned char>(validity_.back()) | 1U << bit);
    ++rows_;
    missing_ += valid ? 0 : 1;
  }
  void end_cell() {
    if (offsets_.empty()) return;
    const auto end = column_->is_list() ? static_cast<std::size_t>(items_) : values_.size();
    if (end > std::numeric_limits<std::int32_t>::max())
      throw Failure::output("the column " + column_->name + " has a cell that is too large for a file of columns",
                            "write text: a name that ends with .tsv");
    offsets_.push_back(static_cast<std::int32_t>(end));
  }

  const TableColumn* column_;
  Kind element_;
  std::int64_t rows_ = 0, missing_ = 0, items_ = 0;
  std::string validity_, values_;
  std::vector<std::int32_t> offsets_;
};

// The columns of some lines.
class TableCells {
 public:
  explicit TableCells(const TableSchema& schema) : plain_(schema.size()) {
    columns_.reserve(schema.size());
    for (const TableColumn& column : schema) columns_.emplace_back(column);
    while (plain_ > 0 && schema[plain_ - 1].is_tag) --plain_;
  }

  // Whole lines, each with its newline.
  void add_lines(std::string_view lines) {
    while (!lines.empty()) {
      const std::size_t end = std::min(lines.find('\n'), lines.size());
      add_line(lines.substr(0, end));
      lines.remove_prefix(std::min(end + 1, lines.size()));
      ++rows_;
    }
  }
  std::int64_t rows() const { return rows_; }
  const std::vector<ColumnCells>& columns() const { return columns_; }

 private:
  void add_line(std::string_view line) {
    std::size_t begin = 0;
    for (std::size_t c = 0; c < plain_; ++c) {
      if (begin > line.size()) refuse("fewer");
      const std::size_t end = std::min(line.find('\t', begin), line.size());
      columns_[c].add(line.substr(begin, end - begin));
      begin = end + 1;
    }
    for (; begin < line.size();) {  // m6anet's lines end with a tab, behind which there is nothing
      const std::size_t end = std::min(line.find('\t', begin), line.size());
      add_tag(line.substr(begin, end - begin));
      begin = end + 1;
    }
    for (std::size_t c = plain_; c < columns_.size(); ++c)
      if (columns_[c].rows() == rows_) columns_[c].add_none();
  }
  void add_tag(std::string_view tag) {
    constexpr std::size_t before_value = 5;
    for (std::size_t c = plain_; c < columns_.size(); ++c)
      if (tag.size() >= before_value && tag.substr(0, 2) == columns_[c].column().name && tag[2] == ':' && columns_[c].rows() == rows_)
        return columns_[c].add(tag.substr(before_value));
    refuse("more");
  }
  [[noreturn]] void refuse(const std::string& how_many) const {
    throw Failure::output("a line of the table has " + how_many + " cells than the table has columns",
                          "a name with a tab or a line break does that; write text instead: a name that ends with .tsv");
  }

  std::vector<ColumnCells> columns_;
  std::size_t plain_;  // columns that are no tags
  std::int64_t rows_ = 0;
};

}  // namespace sluice::arrow
