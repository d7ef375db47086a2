// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The rows of a batch from the largest to the smallest: what a division of the batch is chosen from.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace sluice {

class RowOrder {
 public:
  // row_work: in the stage's work unit, one per row, none negative. Of equal rows the later one comes first, so that what is left of a
  // batch of equal rows is its beginning, in one piece.
  explicit RowOrder(const std::vector<double>& row_work)
      : order_(row_work.size()), work_(row_work.size()), sum_(row_work.size() + 1, 0.0), row_work_(row_work) {
    std::iota(order_.begin(), order_.end(), std::uint32_t{0});
    std::sort(order_.begin(), order_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return row_work[a] != row_work[b] ? row_work[a] > row_work[b] : a > b; });
    for (std::size_t i = 0; i < order_.size(); ++i) {
      work_[i] = row_work[order_[i]];
      sum_[i + 1] = sum_[i] + work_[i];
    }
  }

  std::size_t rows() const { return order_.size(); }
  // Of the k largest rows, and of the others.
  double largest_work(std::size_t k) const { return sum_[k]; }
  double other_work(std::size_t k) const { return sum_.back() - sum_[k]; }
  // The largest row behind the k largest; 0: there is none.
  double row_behind(std::size_t k) const { return k < work_.size() ? work_[k] : 0.0; }
  // How many rows have more than `limit`.
  std::size_t rows_above(double limit) const {
    return static_cast<std::size_t>(std::lower_bound(work_.begin(), work_.end(), limit, [](double work, double l) { return work > l; }) -
                                    work_.begin());
  }

  // From the begin-th largest row to before the end-th: their work, and their numbers, ascending.
  double work_between(std::size_t begin, std::size_t end) const { return sum_[end] - sum_[begin]; }
  std::vector<std::uint32_t> between(std::size_t begin, std::size_t end) const {
    std::vector<std::uint32_t> rows(order_.begin() + static_cast<std::ptrdiff_t>(begin), order_.begin() + static_cast<std::ptrdiff_t>(end));
    std::sort(rows.begin(), rows.end());
    return rows;
  }
  // Of the row with this number.
  double work_of(std::uint32_t row) const { return row_work_[row]; }

 private:
  std::vector<std::uint32_t> order_;
  std::vector<double> work_;  // descending
  std::vector<double> sum_;   // sum_[k]: of the k largest
  std::vector<double> row_work_;
};

}  // namespace sluice
