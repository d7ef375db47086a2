// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A Parquet file of flat columns and lists of numbers: the schema, row groups and the footer that describes them. Format 2 without what only new
// readers know. https://github.com/apache/parquet-format: LogicalTypes.md, src/main/thrift/parquet.thrift (2.10).

#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <sluice/allocated.hpp>
#include <sluice/arrow/cells.hpp>
#include <sluice/arrow/parquet_pages.hpp>
#include <sluice/arrow/table_schema.hpp>
#include <sluice/arrow/thrift_struct.hpp>
#include <sluice/saved_state.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::arrow {
namespace parquet {

inline constexpr std::string_view magic = "PAR1";

// A column of one value a row, or the items of a list.
inline ThriftStruct leaf(std::string_view name, std::string_view element, Repetition repetition) {
  ThriftStruct leaf;
  leaf.i32(1, physical_of(element)).i32(3, repetition).text(4, name);
  if (element == "utf8") return leaf.i32(6, UTF8).structure(10, ThriftStruct().structure(1, ThriftStruct()));
  if (element.front() == 'f') return leaf;
  const bool is_signed = element.front() == 'i';
  const int bits = bits_of(element), place = bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3;
  const ThriftStruct integer = ThriftStruct().byte(1, static_cast<std::int8_t>(bits)).boolean(2, is_signed);
  return leaf.i32(6, (is_signed ? INT_8 : UINT_8) + place).structure(10, ThriftStruct().structure(10, integer));
}

// The tree of columns, from its root on.
inline std::vector<ThriftStruct> schema_of(const TableSchema& columns) {
  std::vector<ThriftStruct> tree = {ThriftStruct().text(4, "schema").i32(5, static_cast<std::int32_t>(columns.size()))};
  for (const TableColumn& column : columns) {
    if (!column.is_list()) {
      tree.push_back(leaf(column.name, column.element(), OPTIONAL));
      continue;
    }
    tree.push_back(
        ThriftStruct().i32(3, OPTIONAL).text(4, column.name).i32(5, 1).i32(6, LIST).structure(10, ThriftStruct().structure(3, ThriftStruct())));
    tree.push_back(ThriftStruct().i32(3, REPEATED).text(4, "list").i32(5, 1));
    tree.push_back(leaf("element", column.element(), REQUIRED));
  }
  return tree;
}

// What the footer says of a column of a row group whose pages begin at `place`.
inline ThriftStruct column_chunk(const TableColumn& column, const Pages& pages, std::uint64_t place) {
  ThriftStruct statistics;
  statistics.i64(3, pages.nulls);
  if (pages.bounds.known == Bounds::Known::both) statistics.text(5, pages.bounds.greatest).text(6, pages.bounds.least);
  std::vector<std::string_view> path = {column.name};
  if (column.is_list()) path.insert(path.end(), {"list", "element"});
  ThriftStruct about;
  about.i32(1, physical_of(column.element()))
      .numbers(2, {PLAIN, RLE})
      .texts(3, path)
      .i32(4, ZSTD)
      .i64(5, pages.values)
      .i64(6, pages.uncompressed)
      .i64(7, static_cast<std::int64_t>(pages.bytes.size()))
      .i64(9, static_cast<std::int64_t>(place))
      .structure(12, statistics);
  return ThriftStruct().i64(2, static_cast<std::int64_t>(place)).structure(3, about);
}

}  // namespace parquet

// The form of a TableFile: a page of each column for each piece, a row group for some pieces. The pages of a row group are kept, compressed, until it
// is whole, since those of a column lie together.
class ParquetForm {
 public:
  // Of a row group: some hundred thousand rows, as readers that share out row groups among threads like them.
  static constexpr std::size_t pieces_a_group = 16;
  // Where lines are so long that pieces are large.
  static constexpr std::size_t bytes_a_group = std::size_t{64} << 20;

  struct Piece {
    std::int64_t rows = 0;
    std::vector<parquet::Pages> columns;
  };

  static std::string begin(const TableSchema&) { return std::string(parquet::magic); }
  static Piece encode(const TableCells& cells) {
    const std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> compressor(allocated(ZSTD_createCCtx()), ZSTD_freeCCtx);
    Piece piece{.rows = cells.rows()};
    for (const ColumnCells& column : cells.columns()) piece.columns.push_back(parquet::PageText(column).compressed(compressor.get()));
    return piece;
  }
  std::string add(const TableSchema& schema, const Piece& piece, std::uint64_t place) {
    group_.columns.resize(schema.size());
    group_.rows += piece.rows;
    ++pieces_;
    std::size_t bytes = 0;
    for (std::size_t c = 0; c < schema.size(); ++c) {
      parquet::Pages& pages = group_.columns[c];
      const parquet::Pages& more = piece.columns[c];
      pages.bytes += more.bytes;
      pages.uncompressed += more.uncompressed;
      pages.values += more.values;
      pages.nulls += more.nulls;
      parquet::merge(pages.bounds, more.bounds, schema[c].element());
      bytes += pages.bytes.size();
    }
    return pieces_ == pieces_a_group || bytes >= bytes_a_group ? end_group(schema, place) : std::string();
  }
  std::string end(const TableSchema& schema, std::uint64_t place) {
    std::string bytes = end_group(schema, place);
    const ThriftStruct order = ThriftStruct().structure(1, ThriftStruct());  // the one of each type
    const std::string footer = ThriftStruct()
                                   .i32(1, 2)
                                   .structures(2, parquet::schema_of(schema))
                                   .i64(3, rows_)
                                   .encoded_structures(4, groups_, group_metadata_)
                                   .text(6, "sluice")
                                   .structures(7, std::vector<ThriftStruct>(schema.size(), order))
                                   .bytes();
    const auto length = static_cast<std::uint32_t>(footer.size());
    bytes += footer;
    bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
    bytes += parquet::magic;
    return bytes;
  }
  void save(StateWriter& to) const {
    to.value(rows_);
    to.value(groups_);
    to.text(group_metadata_);
    to.value(pieces_);
    to.value(group_.rows);
    to.value(std::uint64_t{group_.columns.size()});
    for (const parquet::Pages& pages : group_.columns) {
      to.text(pages.bytes);
      to.value(pages.uncompressed);
      to.value(pages.values);
      to.value(pages.nulls);
      to.value(pages.bounds.known);
      to.text(pages.bounds.least);
      to.text(pages.bounds.greatest);
    }
  }
  void restore(StateReader& from) {
    rows_ = from.value<std::int64_t>();
    groups_ = from.value<std::uint64_t>();
    group_metadata_ = from.text();
    pieces_ = from.value<std::uint64_t>();
    group_.rows = from.value<std::int64_t>();
    group_.columns.clear();
    for (auto left = from.value<std::uint64_t>(); left > 0; --left) {
      parquet::Pages& pages = group_.columns.emplace_back();
      pages.bytes = from.text();
      pages.uncompressed = from.value<std::int64_t>();
      pages.values = from.value<std::int64_t>();
      pages.nulls = from.value<std::int64_t>();
      pages.bounds.known = from.value<parquet::Bounds::Known>();
      pages.bounds.least = from.text();
      pages.bounds.greatest = from.text();
    }
  }

 private:
  // Gives back its bytes, which lie at `place`.
  std::string end_group(const TableSchema& schema, std::uint64_t place) {
    if (pieces_ == 0) return {};
    std::string bytes;
    std::vector<ThriftStruct> chunks;
    std::int64_t uncompressed = 0;
    for (std::size_t c = 0; c < schema.size(); ++c) {
      const parquet::Pages& pages = group_.columns[c];
      chunks.push_back(parquet::column_chunk(schema[c], pages, place + bytes.size()));
      uncompressed += pages.uncompressed;
      bytes += pages.bytes;
    }
    group_metadata_ += ThriftStruct()
                           .structures(1, chunks)
                           .i64(2, uncompressed)
                           .i64(3, group_.rows)
                           .i64(5, static_cast<std::int64_t>(place))
                           .i64(6, static_cast<std::int64_t>(bytes.size()))
                           .bytes();
    ++groups_;
    rows_ += group_.rows;
    group_ = {};
    pieces_ = 0;
    return bytes;
  }

  std::int64_t rows_ = 0;  // of the groups that are written
  std::uint64_t groups_ = 0;
  std::string group_metadata_;
  Piece group_;  // the one that is not yet whole
  std::uint64_t pieces_ = 0;
};

}  // namespace sluice::arrow
