// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How the text of a condition is read; included by sluice/condition.hpp.
//
//   any        = all { "or" all }
//   all        = negated { "and" negated }
//   negated    = "not" negated | "(" any ")" | comparison
//   comparison = value ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) value | value [ "not" ] "in" "[" value { "," value } "]"
//   value      = product { ( "+" | "-" ) product }
//   product    = factor { ( "*" | "/" ) factor }
//   factor     = ( "-" | "+" ) factor | "(" value ")" | number | 'text' | "text" | column | "len" "(" column ")"
//
// A "(" where both may stand opens a value if what is behind its ")" goes on with one.

#include <algorithm>
#include <charconv>
#include <iterator>
#include <sluice/condition.hpp>

namespace sluice {
namespace condition_detail {

enum class TokenKind { end, number, text, name, sign };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;  // a text's content, a name, a sign
  ConditionNumber number = 0;
  std::size_t offset = 0;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    Token token;
    token.offset = at_;
    if (at_ == text_.size()) return token;
    const char c = text_[at_];
    if (c == '\'' || c == '"')
      read_text(token, c);
    else if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1])))
      read_number(token);
    else if (is_letter(c))
      read_name(token);
    else
      read_sign(token);
    return token;
  }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

  void read_text(Token& token, char quote) {
    token.kind = TokenKind::text;
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\\') {
        if (++at_ == text_.size()) break;
        if (text_[at_] != quote && text_[at_] != '\\') refuse(at_ - 1, "only the quote and \\ can stand behind \\ in a text", "write \\\\ for a \\");
      }
      token.text += text_[at_];
    }
    if (at_ == text_.size()) refuse(token.offset, "a text is not closed", std::string("end it with ") + quote);
    ++at_;
  }

  void read_number(Token& token) {
    token.kind = TokenKind::number;
    std::size_t end = at_ + 1;
    while (end < text_.size() && (is_digit(text_[end]) || is_letter(text_[end]) || text_[end] == '.' ||
                                  ((text_[end] == '-' || text_[end] == '+') && (text_[end - 1] == 'e' || text_[end - 1] == 'E'))))
      ++end;
    token.text = text_.substr(at_, end - at_);
    if (!convert<std::uint64_t>(token.text, token.number) && !convert<double>(token.text, token.number))
      refuse(at_, "'" + token.text + "' is not a number", "write it as 12, -3, 0.5 or 1e6; texts stand in quotes");
    at_ = end;
  }
  template <class T>
  static bool convert(std::string_view digits, ConditionNumber& number) {
    T value{};
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    number = static_cast<ConditionNumber>(value);
    return read.ec == std::errc() && read.ptr == digits.data() + digits.size() && number - number == 0;
  }

  void read_name(Token& token) {
    token.kind = TokenKind::name;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) token.text += text_[at_++];
  }

  void read_sign(Token& token) {
    token.kind = TokenKind::sign;
    for (const char* sign : {"==", "!=", "<=", ">=", "&&", "||", "<", ">", "(", ")", "[", "]", ",", "+", "-", "*", "/", "=", "!"})
      if (text_.substr(at_).starts_with(sign)) {
        token.text = sign;
        at_ += token.text.size();
        if (token.text == "=") refuse(token.offset, "'=' compares nothing", "write ==");
        if (token.text == "&&") refuse(token.offset, "'&&' is not understood", "write and");
        if (token.text == "||") refuse(token.offset, "'||' is not understood", "write or");
        if (token.text == "!") refuse(token.offset, "'!' is not understood", "write not, or !=");
        return;
      }
    const auto byte = static_cast<unsigned char>(text_[at_]);
    refuse(at_, byte >= 0x20 && byte < 0x7f ? std::string("'") + text_[at_] + "' is not understood" : "a character is not understood",
           "texts stand in quotes; numbers are computed with by +, -, * and /");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text), token_(lexer_.next()) {}

  ConditionNode parse() {
    ConditionNode condition = any();
    if (token_.kind != TokenKind::end)
      refuse(token_.offset, shown() + " is where the condition should continue or end",
             "join comparisons with and, or; names are written in small letters");
    return condition;
  }

 private:
  ConditionNode any() {
    return joined("or", ConditionNode::Kind::any, [this] { return all(); });
  }
  ConditionNode all() {
    return joined("and", ConditionNode::Kind::all, [this] { return negated(); });
  }
  template <class Part>
  ConditionNode joined(const char* word, ConditionNode::Kind kind, Part&& part) {
    ConditionNode first = part();
    if (!is(TokenKind::name, word)) return first;
    ConditionNode all;
    all.kind = kind;
    all.parts.push_back(std::move(first));
    while (take(TokenKind::name, word)) all.parts.push_back(part());
    return all;
  }

  ConditionNode negated() {
    const std::size_t offset = token_.offset;
    const bool negation = take(TokenKind::name, "not");
    if (!negation && (opens_value() || !take(TokenKind::sign, "("))) return comparison();
    descend(offset);
    ConditionNode node;
    if (negation) {
      node.kind = ConditionNode::Kind::negation;
      node.parts.push_back(negated());
    } else {
      node = any();
      if (!take(TokenKind::sign, ")")) refuse(token_.offset, "')' is missing in front of " + shown(), "close the parenthesis");
    }
    --depth_;
    return node;
  }

  void descend(std::size_t offset) {
    if (++depth_ > deepest) refuse(offset, "it is nested deeper than " + std::to_string(deepest) + " levels", "remove parentheses");
  }

  // Is this a "(" whose ")" is in front of a sign of arithmetic or of a comparison?
  bool opens_value() const {
    if (!is(TokenKind::sign, "(")) return false;
    Lexer ahead = lexer_;
    Token token = ahead.next();
    for (int open = 1; token.kind != TokenKind::end && open > 0; token = ahead.next())
      if (token.kind == TokenKind::sign) open += token.text == "(" ? 1 : token.text == ")" ? -1 : 0;
    if (token.kind == TokenKind::name) return token.text == "in" || token.text == "not";
    return token.kind == TokenKind::sign && token.text != ")" && token.text != "(";
  }

  ConditionNode comparison() {
    ConditionNode node;
    node.side.push_back(value("a comparison"));
    const bool negation = take(TokenKind::name, "not");
    if (negation && !is(TokenKind::name, "in")) refuse(token_.offset, "'in' is missing behind 'not'", "write not in [...], or not in front");
    if (take(TokenKind::name, "in")) {
      node.kind = ConditionNode::Kind::among;
      read_list(node);
    } else if (const auto sign = take_comparison()) {
      node.kind = ConditionNode::Kind::comparison;
      node.comparison = *sign;
      node.side.push_back(value("a value"));
      const std::size_t offset = token_.offset;
      if (take_comparison()) refuse(offset, "two comparisons stand in a row", "write a < x and x < b");
    } else {
      refuse(token_.offset, "a comparison is missing in front of " + shown(), "write ==, !=, <, <=, >, >= or in behind the value");
    }
    if (!negation) return node;
    ConditionNode outer;
    outer.kind = ConditionNode::Kind::negation;
    outer.parts.push_back(std::move(node));
    return outer;
  }

  void read_list(ConditionNode& node) {
    if (!take(TokenKind::sign, "[")) refuse(token_.offset, "'[' is missing behind 'in'", "write in ['a', 'b']");
    do node.side.push_back(value("a value"));
    while (take(TokenKind::sign, ","));
    if (!take(TokenKind::sign, "]")) refuse(token_.offset, "']' is missing in front of " + shown(), "values of a list are separated by commas");
  }

  static ConditionOperand joined(Arithmetic arithmetic, std::size_t offset, std::vector<ConditionOperand> parts) {
    ConditionOperand operand;
    operand.kind = ConditionOperand::Kind::arithmetic;
    operand.arithmetic = arithmetic;
    operand.offset = offset;
    operand.parts = std::move(parts);
    return operand;
  }
  struct Sign {
    const char* text;
    Arithmetic arithmetic;
  };
  // Parts with signs between them, from left to right. Evaluation recurs as deep as there are signs.
  template <class Part>
  ConditionOperand series(const Sign (&signs)[2], const std::string& expected, Part&& part) {
    ConditionOperand left = part(expected);
    for (int depth = depth_;; descend(token_.offset)) {
      const std::size_t offset = token_.offset;
      const Sign* const sign = std::find_if(std::begin(signs), std::end(signs), [&](const Sign& s) { return take(TokenKind::sign, s.text); });
      if (sign == std::end(signs)) {
        depth_ = depth;
        return left;
      }
      std::vector<ConditionOperand> parts;
      parts.push_back(std::move(left));
      parts.push_back(part("a value"));
      left = joined(sign->arithmetic, offset, std::move(parts));
    }
  }
  ConditionOperand value(const std::string& expected) {
    static constexpr Sign sums[] = {{"+", Arithmetic::sum}, {"-", Arithmetic::difference}};
    static constexpr Sign products[] = {{"*", Arithmetic::product}, {"/", Arithmetic::quotient}};
    return series(sums, expected,
                  [&](const std::string& first) { return series(products, first, [&](const std::string& each) { return factor(each); }); });
  }

  ConditionOperand factor(const std::string& expected) {
    const std::size_t offset = token_.offset;
    const bool plus = is(TokenKind::sign, "+"), minus = is(TokenKind::sign, "-"), open = is(TokenKind::sign, "(");
    if (!plus && !minus && !open) return single_value(expected);
    token_ = lexer_.next();
    descend(offset);
    ConditionOperand operand = open ? value("a value") : factor("a value");
    --depth_;
    if (open && !take(TokenKind::sign, ")")) refuse(token_.offset, "')' is missing in front of " + shown(), "close the parenthesis");
    if (!minus) return operand;
    if (operand.kind == ConditionOperand::Kind::number) {
      operand.number = -operand.number;
      operand.offset = offset;
      return operand;
    }
    std::vector<ConditionOperand> parts;
    parts.push_back(std::move(operand));
    return joined(Arithmetic::negation, offset, std::move(parts));
  }

  ConditionOperand single_value(const std::string& expected) {
    ConditionOperand operand;
    operand.offset = token_.offset;
    operand.text = token_.text;
    operand.number = token_.number;
    if (take(TokenKind::number, nullptr)) {
      operand.kind = ConditionOperand::Kind::number;
    } else if (take(TokenKind::text, nullptr)) {
      operand.kind = ConditionOperand::Kind::text;
    } else if (token_.kind == TokenKind::name && !is_word(token_.text)) {
      operand.kind = ConditionOperand::Kind::column;
      take(TokenKind::name, nullptr);
      if (operand.text == "len" && take(TokenKind::sign, "(")) {
        operand.kind = ConditionOperand::Kind::length;
        operand.text = token_.text;
        if (!take(TokenKind::name, nullptr)) refuse(token_.offset, "len() needs the name of a column", "write len(bases)");
        if (!take(TokenKind::sign, ")")) refuse(token_.offset, "')' is missing in front of " + shown(), "write len(bases)");
      }
    } else {
      refuse(token_.offset, expected + " is missing in front of " + shown(), "values are numbers, 'texts', columns and len(column)");
    }
    return operand;
  }

  std::optional<Comparison> take_comparison() {
    using enum Comparison;
    static constexpr std::pair<const char*, Comparison> signs[] = {{"==", equal},    {"!=", not_equal}, {"<=", at_most},
                                                                   {">=", at_least}, {"<", less},       {">", more}};
    for (const auto& [text, comparison] : signs)
      if (take(TokenKind::sign, text)) return comparison;
    return std::nullopt;
  }

  static bool is_word(std::string_view name) { return name == "and" || name == "or" || name == "not" || name == "in"; }
  bool is(TokenKind kind, const char* text) const { return token_.kind == kind && (text == nullptr || token_.text == text); }
  bool take(TokenKind kind, const char* text) {
    if (!is(kind, text)) return false;
    token_ = lexer_.next();
    return true;
  }
  std::string shown() const { return token_.kind == TokenKind::end ? "the end" : "'" + token_.text + "'"; }

  Lexer lexer_;
  Token token_;
  int depth_ = 0;
};

}  // namespace condition_detail

inline ConditionNode parse_condition(std::string_view text) { return condition_detail::Parser(text).parse(); }

}  // namespace sluice
