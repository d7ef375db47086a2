// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/toml_document.hpp"

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <exception>

namespace sluice {
namespace {

// toml++ bounds the nesting of values but not the length of dotted keys, and destroys nested tables by recursion: a 200 kB key
// "a.a.a..." overflows the stack. Both limits are far above what a pipeline needs (stages.X.params.Y is 4 deep).
constexpr int deepest_nesting = 16;
constexpr int longest_dotted_key = 16;

// Walks the text as TOML's lexer would (strings and comments are skipped) and finds the first place that is too deep.
class DepthScan {
 public:
  explicit DepthScan(std::string_view text) : text_(text) {}

  // Byte offset of the place, or npos.
  std::size_t find() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        if (!skip_string(c)) return std::string_view::npos;  // the parser stops there too
        continue;
      }
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      if (c == '[' || c == '{') {
        dots_ = 0;
        if (++nesting_ > deepest_nesting) return at_;
      } else if (c == ']' || c == '}') {
        dots_ = 0;
        nesting_ = std::max(0, nesting_ - 1);
      } else if (c == '\n' || c == ',' || c == '=') {
        dots_ = 0;
      } else if (c == '.' && ++dots_ > longest_dotted_key) {
        return at_;
      }
      ++at_;
    }
    return std::string_view::npos;
  }

 private:
  bool skip_string(char quote) {
    const bool long_form = text_.substr(at_, 3) == std::string(3, quote);
    at_ += long_form ? 3 : 1;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\\' && quote == '"') {
        at_ += 2;
      } else if (long_form && text_.substr(at_, 3) == std::string(3, quote)) {
        at_ += 3;
        // Up to two more quotes belong to the content: """a""""" is a string that ends in two quotes.
        for (int extra = 0; extra < 2 && at_ < text_.size() && text_[at_] == quote; ++extra) ++at_;
        return true;
      } else if (!long_form && c == quote) {
        ++at_;
        return true;
      } else if (!long_form && c == '\n') {
        return false;
      } else {
        ++at_;
      }
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int nesting_ = 0, dots_ = 0;
};

class Converter {
 public:
  explicit Converter(const std::string& file) : file_(file) {}

  TomlNode node(const toml::node& source) const {
    TomlNode result;
    result.where = place(source.source());
    switch (source.type()) {
      case toml::node_type::table:
        result.kind = TomlKind::table;
        for (const auto& [key, value] : *source.as_table()) result.members.push_back({std::string(key.str()), place(key.source()), node(value)});
        // toml++ sorts by key; "the stage before in the file" needs the order of the file.
        std::stable_sort(result.members.begin(), result.members.end(), [](const TomlMember& a, const TomlMember& b) {
          return std::pair(a.where.line, a.where.column) < std::pair(b.where.line, b.where.column);
        });
        break;
      case toml::node_type::array:
        result.kind = TomlKind::array;
        for (const toml::node& item : *source.as_array()) result.items.push_back(node(item));
        break;
      case toml::node_type::string:
        result.kind = TomlKind::string;
        result.text = source.as_string()->get();
        break;
      case toml::node_type::integer:
        result.kind = TomlKind::integer;
        result.text = std::to_string(source.as_integer()->get());
        break;
      case toml::node_type::floating_point:
        result.kind = TomlKind::floating;
        result.text = shortest(source.as_floating_point()->get());
        break;
      case toml::node_type::boolean:
        result.kind = TomlKind::boolean;
        result.text = source.as_boolean()->get() ? "true" : "false";
        break;
      default:
        result.kind = TomlKind::date;
        break;
    }
    return result;
  }

 private:
  Location place(const toml::source_region& region) const {
    return {file_, static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
  }
  static std::string shortest(double value) {
    char text[64];
    const auto end = std::to_chars(text, text + sizeof text, value);
    return {text, end.ptr};
  }

  const std::string& file_;
};

}  // namespace

const char* kind_name(TomlKind kind) {
  switch (kind) {
    case TomlKind::table: return "a table";
    case TomlKind::array: return "an array";
    case TomlKind::string: return "a string";
    case TomlKind::integer: return "an integer";
    case TomlKind::floating: return "a number";
    case TomlKind::boolean: return "a boolean";
    case TomlKind::date: return "a date";
  }
  return "something else";
}

std::optional<TomlNode> parse_toml(std::string_view text, const std::string& file, Diagnostics& diagnostics) {
  if (text.size() > largest_document) {
    diagnostics.error({file, 0, 0}, "", "the file has " + std::to_string(text.size()) + " bytes, a pipeline has at most " + std::to_string(largest_document),
                      "is this really a pipeline?");
    return std::nullopt;
  }
  if (const std::size_t deep = DepthScan(text).find(); deep != std::string_view::npos) {
    const std::string_view before = text.substr(0, deep);
    const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 = 0: the first line
    diagnostics.error({file, static_cast<int>(1 + std::count(before.begin(), before.end(), '\n')), static_cast<int>(1 + deep - line_start)}, "",
                      "nested deeper than " + std::to_string(deepest_nesting) + " levels", "write it flat: no part of a pipeline is deeper than 4");
    return std::nullopt;
  }
  try {
    const toml::table document = toml::parse(text, file);
    return Converter(file).node(document);
  } catch (const toml::parse_error& error) {
    diagnostics.error({file, static_cast<int>(error.source().begin.line), static_cast<int>(error.source().begin.column)}, "", std::string(error.description()),
                      "correct the TOML syntax");
  } catch (const std::exception& error) {
    diagnostics.error({file, 0, 0}, "", std::string("cannot be read as TOML: ") + error.what());
  }
  return std::nullopt;
}

}  // namespace sluice
