// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A database that SQLite writes into a file of ours, in one transaction and without a journal: the file gets its name when it is whole.

#include <sqlite3.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace sluice::event_alignment_writer {

// Its functions throw Failure::output, or memory, in SQLite's words.
class SqliteDatabase {
 public:
  // path: of an empty file.
  explicit SqliteDatabase(const std::string& path);
  void run(const char* sql);
  // All is in the file then.
  void close();

  using Value = std::variant<std::int64_t, double, std::string_view, std::span<const float>>;
  // Rows of a table, whose columns are all given.
  class Table {
   public:
    Table(SqliteDatabase& database, const std::string& name, int columns);
    void add(std::initializer_list<Value> row);

   private:
    struct Release {
      void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
    };
    SqliteDatabase* database_;
    std::unique_ptr<sqlite3_stmt, Release> insertion_;
  };

 private:
  struct Release {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };
  void check(int result) const;
  std::unique_ptr<sqlite3, Release> handle_;
};

}  // namespace sluice::event_alignment_writer
