// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/toml_document.hpp"

#include <algorithm>
#include <charconv>
#include <exception>
#include <new>
#include <stdexcept>

// Some assertions of toml++ 3.3 can be reached from bad input ("[\x1dx]", found by fuzz_toml): with NDEBUG they vanish, or promise the
// compiler that they hold. In every build they are errors of the file here.
#ifdef NDEBUG
#undef NDEBUG
#endif
[[noreturn]] static void give_up_on_document() { throw std::runtime_error("the TOML library gave up on it"); }
#define TOML_ASSERT(condition)               \
  do {                                       \
    if (!(condition)) give_up_on_document(); \
  } while (false)
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

namespace sluice {
namespace {

// toml++ bounds the nesting of values but not the length of dotted keys, and destroys nested tables by recursion: a 200 kB key
// "a.a.a..." overflows the stack. Both limits are far above what a pipeline needs (stages.X.params.Y is 4 deep).
constexpr std::size_t deepest_nesting = 16;
constexpr int longest_dotted_key = 16;

// Control characters are allowed nowhere in TOML, not even in comments.
std::size_t find_control_character(std::string_view text) {
  const auto found = std::find_if(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n' && c != '\r' && c != '\t') || byte == 0x7f;
  });
  return found == text.end() ? std::string_view::npos : static_cast<std::size_t>(found - text.begin());
}

Location place_of(std::string_view text, std::size_t offset, const std::string& file) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 = 0: the first line
  return {file, static_cast<int>(1 + std::count(before.begin(), before.end(), '\n')), static_cast<int>(1 + offset - line_start)};
}

// Walks the text as TOML's lexer would and finds the first place that toml++ must not see, or that no pipeline needs.
// Letters outside ASCII belong in strings and comments: toml++'s test for blanks runs into an unreachable branch for U+00A1 to U+0499
// (found by fuzz_toml), and TOML 1.0 has no such letters elsewhere.
class LexicalScan {
 public:
  explicit LexicalScan(std::string_view text) : text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte order mark
  }

  std::size_t offset() const { return at_; }

  // What is wrong at offset(); "" if nothing is.
  std::string find() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\r') continue;
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
        continue;
      }
      if (std::string problem = step(c); !problem.empty()) return problem;
      before_ = text_[at_];
    }
    return "";
  }

 private:
  enum class Open : char { header, array, table };

  static bool is_outside_ascii(char c) { return static_cast<unsigned char>(c) >= 0x80; }
  bool inside(Open kind) const { return !open_.empty() && open_.back() == kind; }
  bool value_may_begin() const { return before_ == '=' || (inside(Open::array) && std::string_view("[,\n").find(before_) != std::string_view::npos); }
  bool key_may_begin() const {
    if (in_value_ || inside(Open::array)) return false;
    if (inside(Open::header)) return before_ == '[';
    return before_ == '\n' || (inside(Open::table) && (before_ == '{' || before_ == ','));
  }

  // One character that is not blank.
  std::string step(char c) {
    if (is_outside_ascii(c)) return "there is a letter outside ASCII that is not in quotes";
    switch (c) {
      case '"':
      case '\'':
        if (before_ == '.') return "there is a quoted key after a dot: names in a pipeline need no quotes";
        if (!value_may_begin() && !key_may_begin()) return "there is a quote in the middle of something";
        return skip_string(c);
      case '[':
      case '{':
        return open(c);
      case ']':
      case '}':
        if (open_.empty() || (open_.back() == Open::table) != (c == '}')) return std::string("'") + c + "' closes nothing";
        in_value_ = open_.back() != Open::header;
        open_.pop_back();
        break;
      case '=':
        if (in_value_ || inside(Open::array) || inside(Open::header)) return "there is a '=' in the middle of a value";
        in_value_ = true;
        break;
      case ',':
        if (open_.empty() || inside(Open::header)) return "there is a comma outside of a list";
        in_value_ = inside(Open::array);
        break;
      case '\n':
        if (inside(Open::table) || inside(Open::header)) return "the line ends inside of brackets";
        in_value_ = !open_.empty();
        break;
      case '.':
        return ++dots_ > longest_dotted_key ? "the key has more than " + std::to_string(longest_dotted_key) + " parts" : "";
      default:
        return "";
    }
    dots_ = 0;
    return "";
  }

  std::string open(char c) {
    dots_ = 0;
    if (open_.size() == deepest_nesting) return "it is nested deeper than " + std::to_string(deepest_nesting) + " levels";
    const bool is_header = c == '[' && !in_value_ && (open_.empty() ? before_ == '\n' : inside(Open::header) && before_ == '[');
    if (!is_header && !value_may_begin()) return std::string("there is a '") + c + "' in the middle of something";
    open_.push_back(is_header ? Open::header : c == '[' ? Open::array : Open::table);
    in_value_ = c == '[' && !is_header;
    return "";
  }

  // Moves to the closing quote. On a problem offset() is its place.
  std::string skip_string(char quote) {
    const std::size_t start = at_;
    const std::string triple(3, quote);
    const bool long_form = text_.substr(at_, 3) == triple;
    at_ += long_form ? 3 : 1;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\\' && quote == '"') {
        at_ += 2;
        // toml++ tests what follows a backslash for being a blank: at the end of a line it swallows all blanks after it.
        const std::size_t next = text_.find_first_not_of(" \t\r\n", std::min(at_ - 1, text_.size()));
        if (next != std::string_view::npos && is_outside_ascii(text_[next]))
          return "a backslash, or a line continued by one, continues with a letter outside ASCII";
      } else if (long_form && text_.substr(at_, 3) == triple) {
        at_ += 2;
        // Up to two more quotes belong to the content: """a""""" is a string that ends in two quotes.
        for (int extra = 0; extra < 2 && at_ + 1 < text_.size() && text_[at_ + 1] == quote; ++extra) ++at_;
        return "";
      } else if (!long_form && c == quote) {
        return "";
      } else if (!long_form && c == '\n') {
        break;
      } else {
        ++at_;
      }
    }
    at_ = start;
    return "a string is not closed";
  }

  std::string_view text_;
  std::size_t at_ = 0;
  char before_ = '\n';  // the last character that is not blank
  std::vector<Open> open_;
  bool in_value_ = false;  // behind a '=' or inside of an array
  int dots_ = 0;
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
    case TomlKind::table:
      return "a table";
    case TomlKind::array:
      return "an array";
    case TomlKind::string:
      return "a string";
    case TomlKind::integer:
      return "an integer";
    case TomlKind::floating:
      return "a number";
    case TomlKind::boolean:
      return "a boolean";
    case TomlKind::date:
      return "a date";
  }
  return "something else";
}

std::optional<TomlNode> parse_toml(std::string_view text, const std::string& file, Diagnostics& diagnostics) {
  if (text.size() > largest_document) {
    diagnostics.error({file, 0, 0}, "",
                      "the file has " + std::to_string(text.size()) + " bytes, a pipeline has at most " + std::to_string(largest_document),
                      "is this really a pipeline?");
    return std::nullopt;
  }
  if (const std::size_t control = find_control_character(text); control != std::string_view::npos) {
    diagnostics.error(place_of(text, control, file), "", "there is a control character", "remove it, or write it as \\uXXXX in a string");
    return std::nullopt;
  }
  LexicalScan scan(text);
  if (const std::string problem = scan.find(); !problem.empty()) {
    diagnostics.error(place_of(text, scan.offset(), file), "", problem, "correct the TOML syntax");
    return std::nullopt;
  }
  try {
    const toml::table document = toml::parse(text, file);
    return Converter(file).node(document);
  } catch (const toml::parse_error& error) {
    diagnostics.error({file, static_cast<int>(error.source().begin.line), static_cast<int>(error.source().begin.column)}, "",
                      std::string(error.description()), "correct the TOML syntax");
  } catch (const std::bad_alloc&) {
    throw;  // not the file's fault
  } catch (const std::exception& error) {
    diagnostics.error({file, 0, 0}, "", std::string("cannot be read as TOML: ") + error.what());
  }
  return std::nullopt;
}

}  // namespace sluice
