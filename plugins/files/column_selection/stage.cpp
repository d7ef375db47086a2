// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>
#include <sluice/output_columns.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::column_selection {
namespace {

std::vector<std::string> names_in(const std::string& list, const char* parameter) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; !list.empty() && begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end == begin) throw Failure::usage(std::string(parameter) + " has an empty name", "write names with commas between them");
    names.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) != names.begin() + static_cast<std::ptrdiff_t>(i))
      throw Failure::usage(std::string(parameter) + " names '" + names[i] + "' twice", "name each column once");
  return names;
}
bool has(const std::vector<std::string>& names, std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); }

void check_new_name(const std::string& name, const ArrivingColumns& in) {
  const bool is_snake_case = !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos &&
                             !(name.front() >= '0' && name.front() <= '9') && name.front() != '_';
  if (!is_snake_case) throw Failure::usage("'" + name + "' is no name of a column", "write small letters, digits and _, a letter first");
  if (!in.type_of(name).empty())
    throw Failure::usage("there is a column '" + name + "' already", "give another name, or drop that one in a select before");
}

// Calls body.template operator()<T>() for the type of a number.
template <class Body>
void for_type(std::string_view type, Body&& body) {
  if (type == "i8") return body.template operator()<std::int8_t>();
  if (type == "u8") return body.template operator()<std::uint8_t>();
  if (type == "i16") return body.template operator()<std::int16_t>();
  if (type == "u16") return body.template operator()<std::uint16_t>();
  if (type == "i32") return body.template operator()<std::int32_t>();
  if (type == "u32") return body.template operator()<std::uint32_t>();
  if (type == "i64") return body.template operator()<std::int64_t>();
  if (type == "u64") return body.template operator()<std::uint64_t>();
  if (type == "f32") return body.template operator()<float>();
  body.template operator()<double>();
}
bool is_text(std::string_view type) { return type == "utf8" || type == "binary"; }
bool is_list(std::string_view type) { return type.starts_with("list<"); }
std::string item_type(std::string_view type) { return std::string(type.substr(5, type.size() - 6)); }

const sluice_column& column_of(const Batch& batch, const std::string& name) {
  const sluice_column* column = batch.find(name);
  if (column == nullptr) throw std::logic_error("a batch lacks the column '" + name + "', which the plan has seen");
  return *column;
}

// Rows of a column, in the order of `rows`, as a new one. Rows that have failed hold nothing, and so give nothing.
void copy_column(const Batch& in, const std::string& from, const std::vector<std::int64_t>& rows, Output& out, const std::string& to) {
  const std::string_view type = column_of(in, from).type;
  const auto row_at = [&](std::int64_t row) { return rows[static_cast<std::size_t>(row)]; };
  if (is_text(type)) {
    const TextView texts = in.text(from);
    std::vector<std::string_view> cells(rows.size());
    std::transform(rows.begin(), rows.end(), cells.begin(), [&](std::int64_t row) { return in.ok(row) ? texts[row] : std::string_view(); });
    out.text_rows(to.c_str(), cells, std::string(type).c_str());
  } else if (is_list(type)) {
    for_type(item_type(type), [&]<class T>() {
      const ListView<T> lists = in.list<T>(from);
      const auto cell = [&](std::int64_t row) { return in.ok(row) ? lists[row] : std::span<const T>(); };
      const Buffer offsets = out.offsets([&](std::int64_t row) { return cell(row_at(row)).size(); });
      const std::span<T> values = out.list<T>(to.c_str(), offsets);
      for (std::size_t i = 0; i < rows.size(); ++i)
        std::copy(cell(rows[i]).begin(), cell(rows[i]).end(), values.begin() + offsets.as<std::int64_t>()[i]);
    });
  } else {
    for_type(type, [&]<class T>() {
      const std::span<const T> values = in.column<T>(from);
      const std::span<T> copies = out.column<T>(to.c_str());
      for (std::size_t i = 0; i < rows.size(); ++i)
        if (in.ok(rows[i])) copies[i] = values[static_cast<std::size_t>(rows[i])];
    });
  }
}

class Select {
 public:
  struct Parameters {
    std::string keep, drop, rename;
  };
  static void describe(Describe<Select>& d) {
    d.id("select").summary("drops, renames and keeps columns").map("*").work_unit("row");
    d.doc(
        "Without keep all columns leave, but for those of drop. rename has pairs old=new with commas between them; a new name must be none that "
        "arrives. Behind it a stage may give a column of a name that was dropped or renamed.");
    d.needs("*", "*", "the columns that are renamed", Needed::optional);
    d.option("keep", &Parameters::keep, "only these columns leave, beside those that are renamed");
    d.option("drop", &Parameters::drop, "columns that do not leave");
    d.option("rename", &Parameters::rename, "old=new, with commas between pairs");
  }
  static void check_parameters(const Parameters& p) {
    if (p.keep.empty() && p.drop.empty() && p.rename.empty()) throw Failure::usage("nothing is asked of select", "give keep, drop or rename");
    if (!p.keep.empty() && !p.drop.empty()) throw Failure::usage("keep and drop are given, and keep says all", "leave one of them out");
    renames_of(p);
  }
  static void decide_columns(const Parameters& p, const ArrivingColumns& in, ColumnDecision& columns) {
    const std::vector<std::string> kept = names_in(p.keep, "keep"), dropped = names_in(p.drop, "drop");
    std::vector<std::string> renamed;
    for (const auto& [from, to] : renames_of(p)) {
      check_new_name(to, in);
      columns.need("rename", from);
      renamed.push_back(from);
      if (const std::string type = in.type_of(from); !type.empty()) columns.give(to, type);
    }
    // A column that is named and does not arrive is said; others are not read, and so not asked for.
    for (const std::string& name : kept)
      if (in.type_of(name).empty()) columns.need("keep", name);
    for (const std::string& name : dropped)
      if (in.type_of(name).empty()) columns.need("drop", name);
    for (const ArrivingColumns::Column& column : in.columns)
      if (has(renamed, column.name) || has(dropped, column.name) || (!kept.empty() && !has(kept, column.name))) columns.hide(column.name);
  }

  Select(const Setup&, const Parameters& p) : renames_(renames_of(p)) {}

  void process(const Call&, const Batch& in, Output& out) const {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(in.rows()));
    std::iota(rows.begin(), rows.end(), std::int64_t{0});
    for (const auto& [from, to] : renames_) copy_column(in, from, rows, out, to);
  }

 private:
  using Renames = std::vector<std::pair<std::string, std::string>>;
  static Renames renames_of(const Parameters& p) {
    Renames renames;
    std::set<std::string> from, to;
    for (const std::string& pair : names_in(p.rename, "rename")) {
      const std::size_t sign = pair.find('=');
      if (sign == std::string::npos || sign == 0 || sign + 1 == pair.size())
        throw Failure::usage("rename has '" + pair + "', which is no pair of names", "write old=new");
      renames.emplace_back(pair.substr(0, sign), pair.substr(sign + 1));
      if (!from.insert(renames.back().first).second || !to.insert(renames.back().second).second)
        throw Failure::usage("rename names a column twice in '" + pair + "'", "name each once on either side");
    }
    return renames;
  }
  Renames renames_;
};

class Explode {
 public:
  struct Parameters {
    std::string lists, keep, index, rows = "element";
  };
  enum class Reason : std::uint32_t { unequal_lists };

  static void describe(Describe<Explode>& d) {
    d.id("explode").summary("a row for each element of list columns").regroup("*", "element").work_unit("row").concatenates();
    d.doc(
        "The lists of a row must have equally many elements; other rows become none, and are counted and named by their number. Columns of keep are "
        "repeated for each element.");
    d.needs("*", "*", "the columns that are named", Needed::optional);
    d.option("lists", &Parameters::lists, "list columns: each gives a column of its elements").required();
    d.option("keep", &Parameters::keep, "columns that are repeated for each element");
    d.option("index", &Parameters::index, "a column for the element's place in its list, from 0");
    d.option("rows", &Parameters::rows, "type of the rows that come out");
    d.reason("unequal_lists", "the lists of the row have different numbers of elements");
  }
  static void check_parameters(const Parameters& p) {
    if (names_in(p.lists, "lists").empty()) throw Failure::usage("lists names no column", "name list columns, with commas between them");
    for (const std::string& name : names_in(p.keep, "keep"))
      if (has(names_in(p.lists, "lists"), name)) throw Failure::usage("'" + name + "' is in lists and in keep", "leave it out of one of them");
    if (p.rows.empty() || p.rows == "*") throw Failure::usage("rows says no type", "write a name, for example event");
  }
  static void decide_columns(const Parameters& p, const ArrivingColumns& in, ColumnDecision& columns) {
    columns.rows(p.rows);
    for (const std::string& name : names_in(p.lists, "lists")) {
      columns.need("lists", name);
      const std::string type = in.type_of(name);
      if (!type.empty() && !is_list(type)) throw Failure::usage("column '" + name + "' of lists holds no lists but " + type, "name it in keep");
      if (!type.empty()) columns.give(name, item_type(type));
    }
    for (const std::string& name : names_in(p.keep, "keep")) {
      columns.need("keep", name);
      if (const std::string type = in.type_of(name); !type.empty()) columns.give(name, type);
    }
    if (p.index.empty()) return;
    check_new_name(p.index, in);
    columns.give(p.index, "i64");
  }

  Explode(const Setup& setup, const Parameters& p) : lists_(names_in(p.lists, "lists")), keep_(names_in(p.keep, "keep")), index_(p.index) {
    resume(setup, [](StateReader&) {});
  }

  void process(const Call& call, const Batch& in, Output& out) const {
    // What is kept is copied for each element: a batch ends by its bytes, too.
    constexpr std::int64_t elements_at_once = 1 << 18, bytes_at_once = std::int64_t{64} << 20;
    std::vector<std::span<const std::int64_t>> offsets;
    for (const std::string& name : lists_) offsets.push_back(offsets_of(in, name));
    const auto size_of = [](std::span<const std::int64_t> list, std::int64_t row) {
      return list[static_cast<std::size_t>(row) + 1] - list[static_cast<std::size_t>(row)];
    };
    std::vector<Piece> pieces;  // that are given next
    std::int64_t elements = 0, bytes = 0;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      const std::int64_t size = size_of(offsets.front(), row);
      if (std::any_of(offsets.begin(), offsets.end(), [&](const auto& list) { return size_of(list, row) != size; })) {
        call.account(Reason::unequal_lists, 1);
        continue;
      }
      const std::int64_t of_element = bytes_of_element(in, row);
      for (std::int64_t from = 0; from < size;) {
        const std::int64_t room = std::max<std::int64_t>(std::min(elements_at_once - elements, (bytes_at_once - bytes) / of_element), 1);
        const std::int64_t count = std::min(room, size - from);
        pieces.push_back({row, from, from + count});
        elements += count;
        bytes += count * of_element;
        from += count;
        if (elements < elements_at_once && bytes + of_element <= bytes_at_once) continue;
        give(in, pieces, elements, out);
        pieces.clear();
        elements = bytes = 0;
      }
    }
    give(in, pieces, elements, out);
  }
  void finish(const Call&, Output&) const {}
  void save(const Call&, StateWriter&) const {}

 private:
  // Elements [from, to) of a row.
  struct Piece {
    std::int64_t row, from, to;
  };
  // Of a list or text column: where each row's values begin, and where the last ends.
  static std::span<const std::int64_t> offsets_of(const Batch& in, const std::string& name) {
    const ArrowArray& array = *column_of(in, name).array;
    return {static_cast<const std::int64_t*>(array.buffers[1]) + array.offset, static_cast<std::size_t>(in.rows()) + 1};
  }
  // About so many bytes come out for each element of the row.
  std::int64_t bytes_of_element(const Batch& in, std::int64_t row) const {
    constexpr std::int64_t number = 8;
    auto bytes = static_cast<std::int64_t>(lists_.size() + 1) * number;
    for (const std::string& name : keep_) {
      const std::string_view type = column_of(in, name).type;
      bytes += number;
      if (!is_text(type) && !is_list(type)) continue;
      const std::span<const std::int64_t> offsets = offsets_of(in, name);
      const std::int64_t count = offsets[static_cast<std::size_t>(row) + 1] - offsets[static_cast<std::size_t>(row)];
      bytes += is_text(type) ? count : count * number;
    }
    return bytes;
  }
  void give(const Batch& in, const std::vector<Piece>& pieces, std::int64_t elements, Output& out) const {
    if (pieces.empty()) return;
    out.set_rows(elements);
    for (const std::string& name : lists_)
      for_type(item_type(column_of(in, name).type), [&]<class T>() {
        const ListView<T> lists = in.list<T>(name);
        auto to = out.column<T>(name.c_str()).begin();
        for (const Piece& piece : pieces) to = std::copy(lists[piece.row].begin() + piece.from, lists[piece.row].begin() + piece.to, to);
      });
    std::vector<std::int64_t> of_elements, places;
    for (const Piece& piece : pieces)
      for (std::int64_t i = piece.from; i < piece.to; ++i) of_elements.push_back(piece.row), places.push_back(i);
    for (const std::string& name : keep_) copy_column(in, name, of_elements, out, name);
    if (!index_.empty()) std::copy(places.begin(), places.end(), out.column<std::int64_t>(index_.c_str()).begin());
    out.emit();
  }

  std::vector<std::string> lists_, keep_;
  std::string index_;
};

}  // namespace
}  // namespace sluice::column_selection

SLUICE_PLUGIN_WITH((sluice::output_columns<sluice::column_selection::Select, sluice::column_selection::Explode>), "column_selection", "0.1.0", "MIT",
                   sluice::column_selection::Select, sluice::column_selection::Explode);
