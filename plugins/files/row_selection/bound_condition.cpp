// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "row_selection/bound_condition.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace sluice::row_selection {
namespace {

const sluice_column& column_of(const Batch& batch, const std::string& name) {
  const sluice_column* column = batch.find(name);
  if (column == nullptr) throw std::logic_error("a batch lacks the column '" + name + "', which the plan has seen");
  return *column;
}

template <Element T>
std::function<ConditionNumber(std::int64_t)> numbers_of(const Batch& batch, const std::string& name) {
  return [values = batch.column<T>(name)](std::int64_t row) { return static_cast<ConditionNumber>(values[static_cast<std::size_t>(row)]); };
}

std::function<ConditionNumber(std::int64_t)> numbers_of(const Batch& batch, const std::string& name, std::string_view type) {
  if (type == "i8") return numbers_of<std::int8_t>(batch, name);
  if (type == "u8") return numbers_of<std::uint8_t>(batch, name);
  if (type == "i16") return numbers_of<std::int16_t>(batch, name);
  if (type == "u16") return numbers_of<std::uint16_t>(batch, name);
  if (type == "i32") return numbers_of<std::int32_t>(batch, name);
  if (type == "u32") return numbers_of<std::uint32_t>(batch, name);
  if (type == "i64") return numbers_of<std::int64_t>(batch, name);
  if (type == "u64") return numbers_of<std::uint64_t>(batch, name);
  if (type == "f32") return numbers_of<float>(batch, name);
  return numbers_of<double>(batch, name);
}

// 0.7 in a file is no f32: what an f32 column holds of it is the nearest one, and that is what is meant. Whole numbers stay what they are.
void round_to_float(const ConditionNode& written, const Batch& batch, std::vector<ConditionOperand>& operands) {
  const bool has_float = std::any_of(written.side.begin(), written.side.end(), [&](const ConditionOperand& operand) {
    return operand.kind == ConditionOperand::Kind::column && std::string_view(column_of(batch, operand.text).type) == "f32";
  });
  if (!has_float) return;
  for (ConditionOperand& operand : operands)
    if (operand.kind == ConditionOperand::Kind::number && operand.number != std::floor(operand.number))
      operand.number = static_cast<float>(operand.number);
}

template <class Value>
Truth compared(Comparison comparison, const Value& left, const Value& right) {
  const auto answer = [](bool holds) { return holds ? Truth::yes : Truth::no; };
  switch (comparison) {
    case Comparison::equal:
      return answer(left == right);
    case Comparison::not_equal:
      return answer(!(left == right));
    case Comparison::less:
      return answer(left < right);
    case Comparison::at_most:
      return answer(!(right < left));
    case Comparison::more:
      return answer(right < left);
    default:
      return answer(!(left < right));
  }
}

}  // namespace

BoundCondition::BoundCondition(const ConditionNode& condition, const Batch& batch) {
  check_condition_types(condition, [&](const std::string& name) { return std::string(column_of(batch, name).type); });
  root_ = bound(condition, batch);
}

BoundCondition::Node BoundCondition::bound(const ConditionNode& written, const Batch& batch) {
  Node node;
  node.written = &written;
  std::vector<ConditionOperand> operands = written.side;
  round_to_float(written, batch, operands);
  for (const ConditionOperand& operand : operands) node.sides.push_back(side_of(operand, batch));
  for (const ConditionNode& part : written.parts) node.parts.push_back(bound(part, batch));
  return node;
}

BoundCondition::Side BoundCondition::side_of(const ConditionOperand& operand, const Batch& batch) {
  Side side;
  if (operand.kind == ConditionOperand::Kind::arithmetic) {
    const auto left = side_of(operand.parts.front(), batch).number, right = side_of(operand.parts.back(), batch).number;
    side.number = [arithmetic = operand.arithmetic, left, right](std::int64_t row) {
      return static_cast<ConditionNumber>(computed(arithmetic, static_cast<double>(left(row)), static_cast<double>(right(row))));
    };
  } else if (operand.kind == ConditionOperand::Kind::number) {
    side.number = [number = operand.number](std::int64_t) { return number; };
  } else if (operand.kind == ConditionOperand::Kind::text) {
    side.text = [text = operand.text](std::int64_t) { return std::string_view(text); };
  } else {
    const sluice_column& column = column_of(batch, operand.text);
    const std::string_view type = column.type;
    const bool is_text = type == "utf8" || type == "binary";
    if (operand.kind == ConditionOperand::Kind::length) {
      const auto* offsets = static_cast<const std::int64_t*>(column.array->buffers[1]) + column.array->offset;
      side.number = [offsets](std::int64_t row) { return static_cast<ConditionNumber>(offsets[row + 1] - offsets[row]); };
    } else if (is_text) {
      side.text = [texts = batch.text(operand.text)](std::int64_t row) { return texts[row]; };
    } else {
      side.number = numbers_of(batch, operand.text, type);
    }
  }
  return side;
}

Truth BoundCondition::truth(const Node& node, std::int64_t row) {
  const auto compare = [&](Comparison comparison, const Side& left, const Side& right) {
    if (left.text) return compared(comparison, left.text(row), right.text(row));
    const ConditionNumber a = left.number(row), b = right.number(row);
    return std::isnan(a) || std::isnan(b) ? Truth::unknown : compared(comparison, a, b);
  };
  Truth result = Truth::no;
  switch (node.written->kind) {
    case ConditionNode::Kind::any:
      for (const Node& part : node.parts)
        if ((result = std::max(result, truth(part, row))) == Truth::yes) break;
      return result;
    case ConditionNode::Kind::all:
      result = Truth::yes;
      for (const Node& part : node.parts)
        if ((result = std::min(result, truth(part, row))) == Truth::no) break;
      return result;
    case ConditionNode::Kind::negation:
      result = truth(node.parts.front(), row);
      return result == Truth::unknown ? result : result == Truth::yes ? Truth::no : Truth::yes;
    case ConditionNode::Kind::comparison:
      return compare(node.written->comparison, node.sides[0], node.sides[1]);
    default:
      for (std::size_t i = 1; i < node.sides.size(); ++i)
        if ((result = std::max(result, compare(Comparison::equal, node.sides[0], node.sides[i]))) == Truth::yes) break;
      return result;
  }
}

}  // namespace sluice::row_selection
