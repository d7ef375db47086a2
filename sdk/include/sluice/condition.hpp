// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A condition over the columns of a row, as a pipeline file says it: "mapq >= 20 and (contig in ['chr1', 'chrX'] or len(bases) > 500)".
// docs/pipeline-reference.md has the language. The host reads the same text before a run begins: it finds the columns and checks their types.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <sluice/failure.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// Every number of a column and of a text, exactly: 64-bit integers, signed or not, and doubles.
using ConditionNumber = long double;
static_assert(std::numeric_limits<ConditionNumber>::digits >= 64, "64-bit integers must be exact");

enum class Comparison { equal, not_equal, less, at_most, more, at_least };

enum class Arithmetic { sum, difference, product, quotient, negation };

struct ConditionOperand {
  enum class Kind { number, text, column, length, arithmetic };
  Kind kind = Kind::number;
  ConditionNumber number = 0;
  std::string text;        // a text, or the name of the column
  std::size_t offset = 0;  // where it stands in the condition
  Arithmetic arithmetic{};
  std::vector<ConditionOperand> parts;  // arithmetic: two numbers, of a negation one
};

// Arithmetic is that of doubles, the same on every machine. A quotient by 0 is NaN. `right`: of a negation anything.
inline double computed(Arithmetic arithmetic, double left, double right) {
  switch (arithmetic) {
    case Arithmetic::sum:
      return left + right;
    case Arithmetic::difference:
      return left - right;
    case Arithmetic::product:
      return left * right;
    case Arithmetic::quotient:
      return right == 0 ? std::numeric_limits<double>::quiet_NaN() : left / right;
    default:
      return -left;
  }
}

struct ConditionNode {
  enum class Kind { any, all, negation, comparison, among };
  Kind kind = Kind::all;
  std::vector<ConditionNode> parts;    // any, all, negation
  Comparison comparison{};             // comparison
  std::vector<ConditionOperand> side;  // comparison: left and right; among: what is looked for, then the list
};

// Throws Failure::usage: "character 8: there is no value behind '=='".
ConditionNode parse_condition(std::string_view text);

namespace condition_detail {

inline constexpr int deepest = 64;  // parentheses and `not`: evaluation and destruction recur as deep

[[noreturn]] inline void refuse(std::size_t offset, const std::string& message, const std::string& remedy) {
  throw Failure::usage("character " + std::to_string(offset + 1) + ": " + message, remedy);
}

// What arithmetic computes with, not the results.
template <class Visit>
void for_each_operand(const ConditionOperand& operand, Visit&& visit) {
  if (operand.kind != ConditionOperand::Kind::arithmetic) return visit(operand);
  for (const ConditionOperand& part : operand.parts) for_each_operand(part, visit);
}
template <class Visit>
void for_each_operand(const ConditionNode& node, Visit&& visit) {
  for (const ConditionOperand& operand : node.side) for_each_operand(operand, visit);
  for (const ConditionNode& part : node.parts) for_each_operand(part, visit);
}

enum class ValueType { number, text, list };
inline ValueType type_of_column(std::string_view type) {
  if (type == "utf8" || type == "binary") return ValueType::text;
  return type.starts_with("list<") ? ValueType::list : ValueType::number;
}

}  // namespace condition_detail

// The columns that it names, each once, in the order of the text.
inline std::vector<std::string> columns_of(const ConditionNode& condition) {
  std::vector<std::string> names;
  condition_detail::for_each_operand(condition, [&](const ConditionOperand& operand) {
    if (operand.kind != ConditionOperand::Kind::column && operand.kind != ConditionOperand::Kind::length) return;
    for (const std::string& known : names)
      if (known == operand.text) return;
    names.push_back(operand.text);
  });
  return names;
}

// Throws Failure::usage if a number is compared with a text, or a list or a length with anything that has none. type_of: "f32", "utf8", "list<i32>".
inline void check_condition_types(const ConditionNode& condition, const std::function<std::string(const std::string& column)>& type_of) {
  using condition_detail::ValueType;
  std::function<ValueType(const ConditionOperand&)> checked = [&](const ConditionOperand& operand) {
    if (operand.kind == ConditionOperand::Kind::arithmetic) {
      for (const ConditionOperand& part : operand.parts)
        if (checked(part) == ValueType::text)
          condition_detail::refuse(part.offset,
                                   (part.kind == ConditionOperand::Kind::text ? "a text" : "column '" + part.text + "', a text,") +
                                       std::string(" cannot be computed with"),
                                   "arithmetic is for numbers; len(column) is how long a text is");
      return ValueType::number;
    }
    if (operand.kind == ConditionOperand::Kind::number) return ValueType::number;
    if (operand.kind == ConditionOperand::Kind::text) return ValueType::text;
    const ValueType type = condition_detail::type_of_column(type_of(operand.text));
    if (operand.kind == ConditionOperand::Kind::length) {
      if (type == ValueType::number)
        condition_detail::refuse(operand.offset, "column '" + operand.text + "' holds numbers, which have no length", "compare the number itself");
      return ValueType::number;
    }
    if (type == ValueType::list)
      condition_detail::refuse(operand.offset, "column '" + operand.text + "' holds lists", "compare how long they are: len(" + operand.text + ")");
    return type;
  };
  const auto shown = [](const ConditionOperand& operand, ValueType type) {
    const std::string kind = type == ValueType::number ? "a number" : "a text";
    if (operand.kind == ConditionOperand::Kind::column) return "column '" + operand.text + "', " + kind + ",";
    return operand.kind == ConditionOperand::Kind::length ? "a length" : kind;
  };
  if (!condition.side.empty()) {
    const ValueType left = checked(condition.side.front());
    for (std::size_t i = 1; i < condition.side.size(); ++i) {
      const ValueType right = checked(condition.side[i]);
      if (left != right)
        condition_detail::refuse(condition.side[i].offset,
                                 shown(condition.side.front(), left) + " is compared with " + shown(condition.side[i], right),
                                 left == ValueType::text    ? "texts stand in quotes: 'x'"
                                 : right == ValueType::text ? "numbers stand without quotes"
                                                            : "compare a text with a text");
    }
  }
  for (const ConditionNode& part : condition.parts) check_condition_types(part, type_of);
}

}  // namespace sluice

#include <sluice/condition_parser.hpp>
