// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The table of a sink, by its name: an Arrow IPC file if it ends with .arrow, Parquet if it ends with .parquet, BGZF if it ends with .gz, zstd if it
// ends with .zst, else text, which has commas instead of tabs if .csv is in front of these or at the end. The sink makes lines with tabs in any case.

#include <optional>
#include <sluice/arrow/messages.hpp>
#include <sluice/arrow/parquet.hpp>
#include <sluice/arrow/table_file.hpp>
#include <sluice/arrow/table_schema.hpp>
#include <sluice/file_ending.hpp>
#include <sluice/hts/csv_text.hpp>
#include <sluice/hts/text_output.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace sluice::arrow {

// Typed columns, not text?
inline bool is_column_file(std::string_view path) { return has_ending(path, ".arrow") || has_ending(path, ".parquet"); }

class TableOutput {
 public:
  // The level is BGZF's.
  TableOutput(const Host& host, const std::string& path, TableSchema schema, int level = -1) : is_csv_(hts::is_csv_name(path)) {
    if (has_ending(path, ".arrow"))
      columns_.emplace<TableFile<IpcForm>>(OutputFile(host, path), std::move(schema));
    else if (has_ending(path, ".parquet"))
      columns_.emplace<TableFile<ParquetForm>>(OutputFile(host, path), std::move(schema));
    else
      text_.emplace(host, path, level);
  }

  // The header line, which a file of columns does not have.
  void header(std::string_view line) {
    if (text_) is_csv_ ? text_->header(hts::csv_text(line)) : text_->header(line);
  }
  // Before the first line, where the columns are not known from the start.
  void set_schema(TableSchema schema) {
    on_columns([&](auto& file) { file.set_schema(std::move(schema)); });
  }
  void write(const Call& call, std::string_view lines) {
    if (text_) return is_csv_ ? text_->write(call, hts::csv_text(lines)) : text_->write(call, lines);
    on_columns([&](auto& file) {
      file.add(lines);
      file.write(call);
    });
  }
  // A column of text whose failed rows are empty is one piece.
  void write_rows(const Call& call, const TextView& lines) {
    if (lines.rows() > 0) write(call, {lines[0].data(), static_cast<std::size_t>(lines.offsets().back() - lines.offsets().front())});
  }
  void finish(const Call& call) {
    if (text_) text_->finish(call);
    on_columns([&](auto& file) { file.finish(call); });
  }
  // Writes all that can be compressed before.
  void save(const Call& call, StateWriter& to) {
    if (text_) text_->save(call, to);
    on_columns([&](auto& file) { file.save(call, to); });
  }
  // For a file that has what was written before save(): the header that has been given since is dropped.
  void restore(StateReader& from) {
    if (text_) text_->restore(from);
    on_columns([&](auto& file) { file.restore(from); });
  }
  // Of BGZF, for who makes an index; else null.
  const hts::BgzfWriter* blocks() const { return text_ ? text_->blocks() : nullptr; }
  // Of BGZF: where the bytes of the file are while it is written.
  std::string bgzf_path() const { return text_->bgzf_path(); }

 private:
  template <class Use>
  void on_columns(Use use) {
    if (auto* ipc = std::get_if<TableFile<IpcForm>>(&columns_)) use(*ipc);
    if (auto* parquet = std::get_if<TableFile<ParquetForm>>(&columns_)) use(*parquet);
  }

  bool is_csv_;
  std::optional<hts::TextOutput> text_;
  std::variant<std::monostate, TableFile<IpcForm>, TableFile<ParquetForm>> columns_;  // where it is not text
};

}  // namespace sluice::arrow
