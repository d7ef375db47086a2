// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A table of places on contigs, by its name, and where that ends with .gz its index as tabix makes it. Needs sluice::hts, too.

#include <optional>
#include <sluice/arrow/table_output.hpp>
#include <sluice/hts/tabix_index.hpp>
#include <sluice/staged_file.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::arrow {

class IndexedTable {
 public:
  // No columns: it has no index. Nor has what is no file.
  IndexedTable(const Host& host, const std::string& path, TableSchema schema, std::optional<hts::TabixColumns> columns)
      : path_(path), table_(host, path, std::move(schema)) {
    if (columns && table_.blocks() != nullptr && !is_special_file(path)) index_.emplace(*columns);
  }
  TableOutput& table() { return table_; }

  void write(const Call& call, std::string_view lines) {
    if (index_) index_->add(lines, *table_.blocks());
    table_.write(call, lines);
    if (index_) index_->take_known(*table_.blocks());
  }
  // A column of text whose failed rows are empty is one piece.
  void write_rows(const Call& call, const TextView& lines) {
    if (lines.rows() > 0) write(call, {lines[0].data(), static_cast<std::size_t>(lines.offsets().back() - lines.offsets().front())});
  }
  void finish(const Call& call) {
    table_.finish(call);
    if (index_) index_->finish(call, path_, *table_.blocks());
  }
  void save(const Call& call, StateWriter& to) {
    table_.save(call, to);
    if (!index_) return;
    index_->take_known(*table_.blocks());
    index_->save(to);
  }
  // For a file that has what was written before save(); its index is made anew of that.
  void restore(StateReader& from) {
    table_.restore(from);
    if (index_) index_->restore(from, table_.bgzf_path(), *table_.blocks());
  }

 private:
  std::string path_;
  TableOutput table_;
  std::optional<hts::TabixIndex> index_;
};

}  // namespace sluice::arrow
