// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "event_alignment_writer/sqlite_database.hpp"

#include <cstring>
#include <filesystem>
#include <sluice/failure.hpp>

namespace sluice::event_alignment_writer {

void SqliteDatabase::check(int result) const {
  if (result == SQLITE_OK || result == SQLITE_ROW || result == SQLITE_DONE) return;
  if (handle_ == nullptr || result == SQLITE_NOMEM) throw Failure::memory("no memory for the database");
  const int kind = result & 0xFF,
            error = kind == SQLITE_IOERR || kind == SQLITE_FULL || kind == SQLITE_CANTOPEN ? sqlite3_system_errno(handle_.get()) : 0;
  throw Failure::output("the database can't be written: " + std::string(error != 0 ? std::strerror(error) : sqlite3_errmsg(handle_.get())),
                        "free space (its indexes are sorted in $TMPDIR), or write elsewhere");
}

SqliteDatabase::SqliteDatabase(const std::string& path) {
  sqlite3* handle = nullptr;
  // Nobody else knows the file, so it needs no locks, which file systems of clusters may not have.
  // From the root, as a name that begins with "file:" would be a URI.
  const int result = sqlite3_open_v2(std::filesystem::absolute(path).c_str(), &handle, SQLITE_OPEN_READWRITE, "unix-none");
  handle_.reset(handle);
  check(result);
  // A blob of a long transcript fills a large page better.
  run("PRAGMA page_size = 65536; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
}

void SqliteDatabase::run(const char* sql) { check(sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr)); }

void SqliteDatabase::close() {
  run("COMMIT");
  const int result = sqlite3_close(handle_.get());
  check(result);
  static_cast<void>(handle_.release());
}

SqliteDatabase::Table::Table(SqliteDatabase& database, const std::string& name, int columns) : database_(&database) {
  std::string sql = "INSERT INTO " + name + " VALUES(?";
  for (int i = 1; i < columns; ++i) sql += ",?";
  sqlite3_stmt* statement = nullptr;
  const int result = sqlite3_prepare_v2(database.handle_.get(), (sql + ")").c_str(), -1, &statement, nullptr);
  insertion_.reset(statement);
  database.check(result);
}

void SqliteDatabase::Table::add(std::initializer_list<Value> row) {
  sqlite3_stmt* const to = insertion_.get();
  int column = 0;
  // The values live until the row is written.
  struct Bind {
    sqlite3_stmt* to;
    int column;
    int operator()(std::int64_t value) const { return sqlite3_bind_int64(to, column, value); }
    int operator()(double value) const { return sqlite3_bind_double(to, column, value); }
    int operator()(std::string_view text) const { return sqlite3_bind_text64(to, column, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8); }
    int operator()(std::span<const float> values) const { return sqlite3_bind_blob64(to, column, values.data(), values.size_bytes(), SQLITE_STATIC); }
  };
  for (const Value& value : row) database_->check(std::visit(Bind{to, ++column}, value));
  database_->check(sqlite3_step(to));
  sqlite3_reset(to);
}

}  // namespace sluice::event_alignment_writer
