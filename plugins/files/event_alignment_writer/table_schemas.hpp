// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the columns of the forms are, for Arrow files. Numbers have the precision that they were computed in.

#include <sluice/arrow/known_tables.hpp>
#include <string_view>
#include <vector>

#include "event_alignment_writer/event_summary.hpp"
#include "event_alignment_writer/event_table.hpp"
#include "event_alignment_writer/m6anet_table.hpp"

namespace sluice::event_alignment_writer {

inline arrow::TableSchema event_table_schema(const TableOptions& options) {
  std::vector<std::string_view> types = {"utf8", "i64", "utf8", options.read_names ? "utf8" : "i64", "utf8", "i64", "f32", "f32", "f32", "utf8",
                                         "f32",  "f32", "f32"};
  if (options.signal_index) types.resize(types.size() + 2, "i64");
  if (options.samples) types.push_back("list<f32>");
  return arrow::table_schema(table_header(options), types);
}

inline arrow::TableSchema m6anet_schema(ReadColumn column) {
  return arrow::table_schema(m6anet_header(column), {"utf8", "i64", "utf8", column == ReadColumn::name ? "utf8" : "i64", "f32", "f32", "f32"});
}

inline arrow::TableSchema signal_paf_schema() {
  return arrow::paf_schema({arrow::tag_column("sc", "f32"), arrow::tag_column("sh", "f32"), arrow::tag_column("ss", "utf8")});
}

inline arrow::TableSchema summary_schema() {
  return arrow::table_schema(summary_header(),
                             {"i64", "utf8", "utf8", "utf8", "utf8", "i64", "i64", "i64", "i64", "f64", "f32", "f32", "f32", "f32"});
}

}  // namespace sluice::event_alignment_writer
