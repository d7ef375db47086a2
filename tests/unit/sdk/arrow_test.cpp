// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <random>
#include <sluice/arrow/table_output.hpp>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "unit/arrow_table.hpp"
#include "unit/parquet_table.hpp"

using namespace sluice;
using sluice::arrow::table_schema;
using sluice::arrow::TableColumn;
using sluice::arrow::TableSchema;
using sluice::testing::BatchBuilder;
using sluice::testing::run_stage;
using sluice::testing::TestBatch;

namespace {

TableSchema schema_of_test;  // of the sink below

// Writes the text of its rows.
struct TableSink {
  struct Parameters {
    Path output;
  };
  static void describe(Describe<TableSink>& d) {
    d.id("table_sink").summary("writes text as a table").sink("read");
    d.needs("text", "utf8", "lines");
    d.option("output", &Parameters::output, "where to").required().writes();
  }
  TableSink(const Setup& setup, const Parameters& p) : file(setup, p.output, schema_of_test) { file.header(arrow_header()); }
  static std::string arrow_header() {
    std::string line;
    for (const TableColumn& column : schema_of_test) line += column.name + "\t";
    return line + "\n";
  }
  void process(const Call&, const Batch&, Output&) const {}
  void commit(const Call& call, const Batch& in) { file.write_rows(call, in.text("text")); }
  void finish(const Call& call, Output&) { file.finish(call); }
  arrow::TableOutput file;
};

testing::Result written(const TableSchema& schema, const std::vector<std::string>& pieces, const std::string& name = "t.arrow", int threads = 1) {
  schema_of_test = schema;
  std::vector<TestBatch> batches;
  for (const std::string& piece : pieces) batches.push_back(BatchBuilder("read", 1).text("text", {piece}).build());
  return run_stage<TableSink>(std::move(batches)).with({{"output", name}}).threads(threads).run();
}
std::string bytes_of(const TableSchema& schema, const std::vector<std::string>& pieces, int threads = 1) {
  const testing::Result result = written(schema, pieces, "t.arrow", threads);
  REQUIRE_MESSAGE(result.ok(), result.message);
  return result.files.at("t.arrow");
}
std::string parquet_of(const TableSchema& schema, const std::vector<std::string>& pieces, int threads = 1) {
  const testing::Result result = written(schema, pieces, "t.parquet", threads);
  REQUIRE_MESSAGE(result.ok(), result.message);
  return result.files.at("t.parquet");
}
using Rows = std::vector<std::vector<std::string>>;

}  // namespace

TEST_CASE("cells of every type come back, and their names") {
  const std::vector<std::string_view> types = {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64", "utf8", "list<i32>", "list<f32>"};
  const TableSchema schema = table_schema("a\tb\tc\td\te\tf\tg\th\ti\tj\tk\tl\tm\n", types);
  const std::string lines =
      "-128\t255\t-32768\t65535\t-2147483648\t4294967295\t-9223372036854775808\t18446744073709551615\t0.1\t-nan\tx y\t1,-2,3\t\n"
      "1\t\t3\t4\t5\t6\t7\t8\tinf\t1e300\t\t\t2.5\n";
  for (const testing::ArrowTable& table : {testing::read_arrow(bytes_of(schema, {lines})), testing::read_parquet(parquet_of(schema, {lines}))}) {
    CHECK(table.types == std::vector<std::string>(types.begin(), types.end()));
    CHECK(table.names.front() == "a");
    CHECK(table.names.back() == "m");
    CHECK(table.rows == Rows{{"-128", "255", "-32768", "65535", "-2147483648", "4294967295", "-9223372036854775808", "18446744073709551615", "0.1",
                              "-nan", "x y", "1,-2,3", ""},
                             {"1", "(none)", "3", "4", "5", "6", "7", "8", "inf", "1e+300", "", "", "2.5"}});
  }
}

TEST_CASE("lists of narrow and unsigned numbers come back") {
  const TableSchema schema = table_schema("a\tb\tc", {"list<i8>", "list<u16>", "list<u64>"});
  const std::string lines = "-1,2\t65535\t18446744073709551615,1\n\t\t\n";
  for (const testing::ArrowTable& table : {testing::read_arrow(bytes_of(schema, {lines})), testing::read_parquet(parquet_of(schema, {lines}))})
    CHECK(table.rows == Rows{{"-1,2", "65535", "18446744073709551615,1"}, {"", "", ""}});
}

TEST_CASE("a table without lines has its columns") {
  const TableSchema schema = table_schema("a\tb", {"utf8", "f64"});
  for (const testing::ArrowTable& table : {testing::read_arrow(bytes_of(schema, {})), testing::read_parquet(parquet_of(schema, {}))}) {
    CHECK(table.names == std::vector<std::string>{"a", "b"});
    CHECK(table.rows.empty());
  }
}

TEST_CASE("what the text marks as missing is none, and so are tags that are not there") {
  TableSchema schema = table_schema("name\tplace", {"utf8", "i64"});
  schema[1].missing = ".";
  schema.push_back(arrow::tag_column("NM", "i64"));
  schema.push_back(arrow::tag_column("cg", "utf8"));
  const std::string lines = "a\t.\tcg:Z:4M\nb\t7\tNM:i:3\tcg:Z:\nc\t8\nd\t9\t\n";
  for (const testing::ArrowTable& table : {testing::read_arrow(bytes_of(schema, {lines})), testing::read_parquet(parquet_of(schema, {lines}))})
    CHECK(table.rows == Rows{{"a", "(none)", "(none)", "4M"}, {"b", "7", "3", ""}, {"c", "8", "(none)", "(none)"}, {"d", "9", "(none)", "(none)"}});
}

TEST_CASE("nulls of Parquet lie in runs and among values") {
  std::mt19937 random(11);
  std::string lines;
  Rows expected;
  for (const int run : {1, 7, 8, 9, 63, 64, 65, 3, 1000})
    for (int i = 0; i < run; ++i) {
      const bool is_there = run % 2 == 1 && (run > 60 || random() % 2 == 0);
      const std::string number = is_there ? std::to_string(random() % 1000) : "";
      lines += number + "\n";
      expected.push_back({is_there ? number : "(none)"});
    }
  const TableSchema schema = table_schema("a", {"u16"});
  CHECK(testing::read_parquet(parquet_of(schema, {lines})).rows == expected);
  TableSchema lists = table_schema("a", {"list<u16>"});
  lists[0].missing = ".";
  lines.clear();
  expected.clear();
  for (int i = 0; i < 500; ++i) {
    std::string items;
    for (std::size_t left = i > 250 && i < 300 ? 0 : random() % 12; left > 0; --left) items += (items.empty() ? "" : ",") + std::to_string(left);
    if (random() % 9 == 0) items = ".";
    lines += items + "\n";
    expected.push_back({items == "." ? "(none)" : items});
  }
  CHECK(testing::read_parquet(parquet_of(lists, {lines})).rows == expected);
}

TEST_CASE("bounds of Parquet's columns: zeros of both signs lie within them, a NaN and long text have none") {
  const auto bounds = [](const char* type, const std::string& lines) {
    const auto footer = testing::parquet_table::footer_of(parquet_of(table_schema("a", {type}), {lines}));
    const auto& statistics = footer[4].items.at(0)[1].items.at(0)[3][12];
    return statistics.has(5) ? statistics[6].text + ".." + statistics[5].text : "none";
  };
  using namespace std::string_literals;
  CHECK(bounds("f32", "0\n0\n") == "\0\0\0\x80..\0\0\0\0"s);
  CHECK(bounds("u8", "200\n\n3\n") == "\3\0\0\0..\xC8\0\0\0"s);
  CHECK(bounds("i8", "-2\n1\n") == "\xFE\xFF\xFF\xFF..\1\0\0\0"s);
  CHECK(bounds("utf8", "b\nab\nB\n") == "B..b");
  CHECK(bounds("f64", "1\nnan\n") == "none");
  CHECK(bounds("utf8", std::string(100, 'x') + "\na\n") == "none");
  CHECK(bounds("i32", "\n") == "none");
}

TEST_CASE("text is UTF-8 in the file, whatever it was") {
  std::string text;
  for (const char* piece :
       {"plain", "\xC3\xA4", "\xFF", "\xC3", "\xE2\x82\xAC", "\xED\xA0\x80", "\xF0\x9F\xA7\xAC", "\xC0\xAF", "\xF4\x90\x80\x80"}) {
    text.clear();
    arrow::append_utf8(text, piece);
    const std::string bytes = piece;
    const bool sound = bytes == "plain" || bytes == "\xC3\xA4" || bytes == "\xE2\x82\xAC" || bytes == "\xF0\x9F\xA7\xAC";
    std::string expected;
    for (std::size_t i = 0; i < bytes.size(); ++i) expected += "\xEF\xBF\xBD";
    CHECK(text == (sound ? bytes : expected));
  }
  text.clear();
  arrow::append_utf8(text, "a\xFF\xC3\xA4z");
  CHECK(text == "a\xEF\xBF\xBD\xC3\xA4z");
}

TEST_CASE("record batches do not depend on the pieces, batches and threads that text comes in") {
  std::mt19937 random(7);
  std::string text;
  while (text.size() < 5 * arrow::piece_text / 2) {
    text += "read_" + std::to_string(random() % 1000) + '\t' + std::to_string(random()) + '\t' + std::to_string(random() % 100000) + ".25\t";
    const std::size_t items = random() % 2000 == 0 ? 60000 : random() % 5;
    for (std::size_t i = 0; i < items; ++i) text += "1.5,";
    text += "2";
    text += '\n';
  }
  const TableSchema schema = table_schema("read\tnumber\tvalue\tlist\n", {"utf8", "u32", "f64", "list<f64>"});
  const std::string whole = bytes_of(schema, {text});
  const auto table = testing::read_arrow(whole);
  CHECK(table.batch_rows.size() == 3);
  CHECK(table.rows.size() == static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')));
  std::size_t place = 0;
  for (const auto& row : table.rows) {
    REQUIRE(text.compare(place, row[0].size() + 1 + row[1].size(), row[0] + "\t" + row[1]) == 0);
    place = text.find('\n', place) + 1;
  }
  for (const int threads : {1, 4}) {
    std::vector<std::string> pieces;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin + random() % (threads == 1 ? 400000 : 3000)), text.size() - 1) + 1;
      pieces.push_back(text.substr(begin, end - begin));
      begin = end;
    }
    pieces.emplace_back();
    CHECK(bytes_of(schema, pieces, threads) == whole);
  }
}

TEST_CASE("row groups of Parquet do not depend on the pieces, batches and threads that text comes in") {
  std::mt19937 random(8);
  std::string text;
  Rows expected;
  while (text.size() < (arrow::ParquetForm::pieces_a_group + 1) * arrow::piece_text) {
    const std::string name(200 + random() % 300, static_cast<char>('a' + random() % 26));
    expected.push_back({name, std::to_string(random()), random() % 3 == 0 ? "" : "1.5,2"});
    text += expected.back()[0] + '\t' + expected.back()[1] + '\t' + expected.back()[2] + '\n';
  }
  const TableSchema schema = table_schema("read\tnumber\tlist\n", {"utf8", "u32", "list<f64>"});
  const std::string whole = parquet_of(schema, {text});
  const auto table = testing::read_parquet(whole);
  CHECK(table.batch_rows.size() == 2);
  CHECK((table.rows == expected));
  for (const int threads : {1, 4}) {
    std::vector<std::string> pieces;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin + random() % 800000), text.size() - 1) + 1;
      pieces.push_back(text.substr(begin, end - begin));
      begin = end;
    }
    CHECK((parquet_of(schema, pieces, threads) == whole));
  }
}

TEST_CASE("a line longer than a record batch is one") {
  const TableSchema schema = table_schema("name\tlist", {"utf8", "list<i32>"});
  std::string numbers = "1";
  while (numbers.size() < 2 * arrow::piece_text) numbers += ",23456";
  const auto table = testing::read_arrow(bytes_of(schema, {"a\t1\n", "b\t" + numbers + "\n", "c\t2\n"}));
  CHECK(table.rows == Rows{{"a", "1"}, {"b", numbers}, {"c", "2"}});
  CHECK(table.batch_rows == std::vector<std::int64_t>{2, 1});
}

TEST_CASE("the name decides") {
  const TableSchema schema = table_schema("name\tnumber", {"utf8", "i64"});
  CHECK(written(schema, {"a\t1\n"}, "t.tsv").files.at("t.tsv") == "name\tnumber\t\na\t1\n");
  CHECK(written(schema, {"a\t1\n"}, "t.PARQUET").files.at("t.PARQUET").starts_with("PAR1"));
  CHECK(written(schema, {"a\t1\n"}, "t.tsv.gz").files.at("t.tsv.gz").starts_with("\x1F\x8B"));
}

TEST_CASE("lines that do not fit the columns are refused, as are columns that there can't be") {
  const TableSchema schema = table_schema("name\tnumber", {"utf8", "i64"});
  CHECK(written(schema, {"a\n"}).message.find("fewer cells") != std::string::npos);
  CHECK(written(schema, {"a\t1\t2\n"}).message.find("more cells") != std::string::npos);
  CHECK(written(schema, {"a\tb\t1\n"}).message.find("'b' in the column number is no i64") != std::string::npos);
  CHECK(written(schema, {"a\t1.5\n"}).message.find("is no i64") != std::string::npos);
  CHECK_THROWS_AS(table_schema("a\tb", {"utf8"}), std::logic_error);
  CHECK_THROWS_AS(table_schema("a", {"utf8", "i64"}), std::logic_error);
  const TableSchema odd = table_schema("a", {"bool"});
  CHECK_THROWS_AS(arrow::TableCells{odd}, std::logic_error);
}
