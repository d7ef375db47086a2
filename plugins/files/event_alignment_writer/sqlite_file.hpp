// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A database in the file format of SQLite 3, written once and from its beginning to its end. Format: sqlite.org/fileformat2.html.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::event_alignment_writer {

// A row of a table, or an entry of an index, in the format of records.
class SqliteRecord {
 public:
  SqliteRecord& integer(std::int64_t value);
  SqliteRecord& real(double value);
  SqliteRecord& text(std::string_view value);
  SqliteRecord& blob(std::string_view value);
  SqliteRecord& null();
  std::string bytes() const;

 private:
  std::string types_, values_;
};

// The file's pages, which are numbered from 1. The first one is written last.
class SqlitePages {
 public:
  static constexpr std::size_t page_bytes = 65536;
  // descriptor: of an empty file that is open for writing; the caller closes it.
  explicit SqlitePages(int descriptor) : descriptor_(descriptor) {}
  // Returns the page's number. Throws Failure::output, as the others do.
  std::uint32_t add(std::string_view page);
  void write_first(std::string_view page) { write(page, 0); }
  std::uint32_t count() const { return count_; }

 private:
  void write(std::string_view page, std::uint64_t at);
  int descriptor_;
  std::uint32_t count_ = 1;
};

// A table whose rows have the ids 1, 2, ... in the order in which they come.
class SqliteTable {
 public:
  explicit SqliteTable(SqlitePages& pages) : pages_(&pages) {}
  void add(const SqliteRecord& row);
  // Behind the last row: the page of its root.
  std::uint32_t finish();
  std::int64_t rows() const { return rows_; }

 private:
  void close_leaf();
  SqlitePages* pages_;
  std::int64_t rows_ = 0;
  std::size_t used_ = 0;                                        // bytes of the cells and their places
  std::vector<std::string> cells_;                              // of the leaf that is being filled
  std::vector<std::pair<std::uint32_t, std::int64_t>> leaves_;  // pages, and the last row of each
};

// An index: its entries, the row's id last, in their order. Returns the page of its root.
std::uint32_t add_sqlite_index(SqlitePages& pages, const std::vector<std::string>& entries);

// What a database consists of. sql: empty for the index that a primary key makes.
struct SqliteObject {
  std::string type, name, table;
  std::uint32_t root = 0;
  std::string sql;
};
// Writes the first page, behind all others. Its objects have room there.
void finish_sqlite_file(SqlitePages& pages, const std::vector<SqliteObject>& objects);

}  // namespace sluice::event_alignment_writer
