// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <fmt/format.h>

#include <iterator>
#include <sluice/arrow/table_output.hpp>
#include <sluice/file_joining.hpp>
#include <sluice/hts/join_text.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::table_writer {
namespace {

class TableWriter : public hts::JoinsText<> {
 public:
  struct Parameters {
    Path output;
    std::string columns;
    bool header = true, failed_rows = false;
  };

  static void describe(Describe<TableWriter>& d) {
    d.id("table_writer").summary("writes any columns as a tab-separated table").sink("*").concatenates();
    d.doc(
        "One line per row that has not failed, in order, with a header line. Lists are comma-separated. Numbers are written so that reading them "
        "back gives the same value; tabs and ends of lines in texts become blanks, so that a row is a line for every reader. A name that ends with "
        ".gz makes BGZF, .arrow an Arrow IPC file and .parquet Parquet, with the columns' types and texts as they are.");
    d.needs("*", "*", "whatever is there", Needed::optional);
    d.option("output", &Parameters::output, "the table; .gz: BGZF; .zst: zstd; .arrow: Arrow IPC; .parquet: Parquet; - is standard output")
        .required()
        .writes();
    d.option("columns", &Parameters::columns, "names, comma-separated, in the order of the table").required().columns();
    d.option("header", &Parameters::header, "text: write a header line");
    d.option("failed_rows", &Parameters::failed_rows, "write failed rows too, with empty cells but for text columns");
  }

  static void check_parameters(const Parameters& p) { names_of(p.columns); }

  TableWriter(const Setup& setup, const Parameters& p)
      : columns_(names_of(p.columns)),
        failed_rows_(p.failed_rows),
        has_stand_ins_(arrow::is_column_file(p.output)),
        file_(setup, p.output, text_columns()) {
    if (p.header) file_.header(fmt::format("{}\n", fmt::join(columns_, "\t")));
    resume(setup, [this](StateReader& from) {
      file_.restore(from);
      if (from.value<std::uint8_t>() == 0) return;
      std::vector<std::string> types;
      for (std::size_t i = 0; i < columns_.size(); ++i) types.emplace_back(from.text());
      set_types(std::move(types));
    });
  }

  void process(const Call&, const Batch& in, Output& out) {
    std::vector<std::string> lines(static_cast<std::size_t>(in.rows()));
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const sluice_column* column = in.find(columns_[c]);
      if (column == nullptr) throw std::logic_error("a batch lacks the column '" + columns_[c] + "', which the plan has seen");
      for (std::int64_t row = 0; row < in.rows(); ++row) {
        std::string& line = lines[static_cast<std::size_t>(row)];
        const bool text = std::string_view(column->type) == "utf8";
        if (!in.ok(row) && !failed_rows_) continue;
        if (in.ok(row) || text) append_cell(in, *column, row, line);
        line += c + 1 == columns_.size() ? '\n' : '\t';
      }
    }
    out.text_rows("_lines", lines);
  }

  void commit(const Call& call, const Batch& in) {
    if (types_.empty()) set_types(types_in(in));
    std::uint64_t written = 0;
    for (std::int64_t row = 0; row < in.rows(); ++row) written += in.ok(row) ? 1 : 0;
    file_.write_rows(call, in.text("_lines"));
    call.outcome("written", written, static_cast<std::uint64_t>(in.rows()));
  }
  void finish(const Call& call, Output&) { file_.finish(call); }
  void save(const Call& call, StateWriter& to) {
    file_.save(call, to);
    to.value(std::uint8_t{!types_.empty()});
    for (const std::string& type : types_) to.text(type);
  }

 private:
  // Until a batch says what the columns are.
  arrow::TableSchema text_columns() const {
    arrow::TableSchema schema;
    for (const std::string& name : columns_) schema.push_back({.name = name, .type = "utf8", .has_stand_ins = has_stand_ins_});
    return schema;
  }
  std::vector<std::string> types_in(const Batch& in) const {
    std::vector<std::string> types;
    for (const std::string& name : columns_) {
      const sluice_column* found = in.find(name);
      types.emplace_back(found != nullptr && std::string_view(found->type) != "binary" ? found->type : "utf8");
    }
    return types;
  }
  void set_types(std::vector<std::string> types) {
    types_ = std::move(types);
    arrow::TableSchema schema = text_columns();
    for (std::size_t i = 0; i < schema.size(); ++i) schema[i].type = types_[i];
    file_.set_schema(std::move(schema));
  }
  static std::vector<std::string> names_of(const std::string& list) {
    std::vector<std::string> names;
    for (std::size_t begin = 0; begin <= list.size();) {
      const std::size_t end = std::min(list.find(',', begin), list.size());
      if (end == begin) throw Failure::usage("columns has an empty name", "write for example columns = \"read_id,bases\"");
      names.push_back(list.substr(begin, end - begin));
      begin = end + 1;
    }
    return names;
  }
  template <Element T>
  static void append_numbers(const Batch& in, const sluice_column& column, std::int64_t row, std::string& line) {
    const bool list = std::string_view(column.type).starts_with("list<");
    const std::span<const T> values = list ? in.list<T>(column.name)[row] : in.column<T>(column.name).subspan(static_cast<std::size_t>(row), 1);
    fmt::format_to(std::back_inserter(line), "{}", fmt::join(values, ","));
  }
  void append_cell(const Batch& in, const sluice_column& column, std::int64_t row, std::string& line) const {
    std::string_view type = column.type;
    if (type == "utf8" || type == "binary") {
      if (has_stand_ins_) return arrow::append_with_stand_ins(line, in.text(column.name)[row]);
      for (const char c : in.text(column.name)[row]) line += c == '\t' || c == '\n' || c == '\r' ? ' ' : c;
      return;
    }
    if (type.starts_with("list<")) type = type.substr(5, type.size() - 6);
    if (type == "i8")
      append_numbers<std::int8_t>(in, column, row, line);
    else if (type == "u8")
      append_numbers<std::uint8_t>(in, column, row, line);
    else if (type == "i16")
      append_numbers<std::int16_t>(in, column, row, line);
    else if (type == "u16")
      append_numbers<std::uint16_t>(in, column, row, line);
    else if (type == "i32")
      append_numbers<std::int32_t>(in, column, row, line);
    else if (type == "u32")
      append_numbers<std::uint32_t>(in, column, row, line);
    else if (type == "i64")
      append_numbers<std::int64_t>(in, column, row, line);
    else if (type == "u64")
      append_numbers<std::uint64_t>(in, column, row, line);
    else if (type == "f32")
      append_numbers<float>(in, column, row, line);
    else
      append_numbers<double>(in, column, row, line);
  }

  std::vector<std::string> columns_;
  bool failed_rows_, has_stand_ins_;
  arrow::TableOutput file_;
  std::vector<std::string> types_;  // of the columns, once there has been a batch
};

}  // namespace
}  // namespace sluice::table_writer

SLUICE_PLUGIN_WITH(sluice::file_joining<sluice::table_writer::TableWriter>, "table_writer", "0.1.0", "MIT", sluice::table_writer::TableWriter);
