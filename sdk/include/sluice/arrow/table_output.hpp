// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The table of a sink, by its name: an Arrow IPC file if it ends with .arrow, BGZF if it ends with .gz, zstd if it ends with .zst, else text, which
// has commas instead of tabs if .csv is in front of these or at the end. The sink makes lines with tabs in any case.

#include <optional>
#include <sluice/arrow/table_file.hpp>
#include <sluice/arrow/table_schema.hpp>
#include <sluice/file_ending.hpp>
#include <sluice/hts/csv_text.hpp>
#include <sluice/hts/text_output.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::arrow {

inline bool is_arrow_name(std::string_view path) { return has_ending(path, ".arrow"); }

class TableOutput {
 public:
  // The level is BGZF's.
  TableOutput(const Host& host, const std::string& path, TableSchema schema, int level = -1) : is_csv_(hts::is_csv_name(path)) {
    if (is_arrow_name(path))
      columns_.emplace(OutputFile(host, path), std::move(schema));
    else
      text_.emplace(host, path, level);
  }

  // The header line, which an Arrow file does not have.
  void header(std::string_view line) {
    if (text_) is_csv_ ? text_->header(hts::csv_text(line)) : text_->header(line);
  }
  // Before the first line, where the columns are not known from the start.
  void set_schema(TableSchema schema) {
    if (columns_) columns_->set_schema(std::move(schema));
  }
  void write(const Call& call, std::string_view lines) {
    if (text_) return is_csv_ ? text_->write(call, hts::csv_text(lines)) : text_->write(call, lines);
    columns_->add(lines);
    columns_->write(call);
  }
  // A column of text whose failed rows are empty is one piece.
  void write_rows(const Call& call, const TextView& lines) {
    if (lines.rows() > 0) write(call, {lines[0].data(), static_cast<std::size_t>(lines.offsets().back() - lines.offsets().front())});
  }
  void finish(const Call& call) {
    if (text_)
      text_->finish(call);
    else
      columns_->finish(call);
  }
  // Writes all that can be compressed before.
  void save(const Call& call, StateWriter& to) {
    if (text_)
      text_->save(call, to);
    else
      columns_->save(call, to);
  }
  // For a file that has what was written before save(): the header that has been given since is dropped.
  void restore(StateReader& from) {
    if (text_)
      text_->restore(from);
    else
      columns_->restore(from);
  }
  // Of BGZF, for who makes an index; else null.
  const hts::BgzfWriter* blocks() const { return text_ ? text_->blocks() : nullptr; }
  // Of BGZF: where the bytes of the file are while it is written.
  std::string bgzf_path() const { return text_->bgzf_path(); }

 private:
  bool is_csv_;
  std::optional<hts::TextOutput> text_;
  std::optional<TableFile> columns_;
};

}  // namespace sluice::arrow
