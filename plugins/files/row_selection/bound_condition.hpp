// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A condition, evaluated on the rows of one batch.

#include <cstdint>
#include <functional>
#include <sluice/batch.hpp>
#include <sluice/condition.hpp>
#include <string_view>
#include <vector>

namespace sluice::row_selection {

// Of three values, as SQL has them: a comparison with NaN is unknown, and so is `not` of it; `and` is the least, `or` the greatest of its parts.
enum class Truth : std::int8_t { no, unknown, yes };

class BoundCondition {
 public:
  // The batch and the condition must outlive this. Throws std::logic_error if a column is missing, Failure::usage if types do not go together.
  BoundCondition(const ConditionNode& condition, const Batch& batch);

  // [thread-safe] Of a row that is ok.
  Truth of(std::int64_t row) const { return truth(root_, row); }

 private:
  // What an operand is in this batch; either number or text is set.
  struct Side {
    std::function<ConditionNumber(std::int64_t row)> number;
    std::function<std::string_view(std::int64_t row)> text;
  };
  struct Node {
    const ConditionNode* written = nullptr;
    std::vector<Node> parts;
    std::vector<Side> sides;
  };

  static Node bound(const ConditionNode& written, const Batch& batch);
  static Side side_of(const ConditionOperand& operand, const Batch& batch);
  static Truth truth(const Node& node, std::int64_t row);

  Node root_;
};

}  // namespace sluice::row_selection
