// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// From steps to operations, and what a path scores: the work of one thread.

#include <limits>

#include "base_alignment/cuda/band_lane.hpp"
#include "base_alignment/cuda/job.hpp"
#include "base_alignment/kernel/path_score.hpp"

namespace sluice::base_alignment::cuda {

// Runs of operations into the room of a job. Paths are followed from their end: gap_right wants them in the order of the sequences, so they are
// written from the room's end on; gap_left as they come.
class OperationWriter {
 public:
  SLUICE_HOST_DEVICE OperationWriter(std::uint32_t* room, std::int32_t size, TieOrder ties)
      : to_(ties == TieOrder::gap_right ? room + size - 1 : room), by_(ties == TieOrder::gap_right ? -1 : 1) {}
  SLUICE_HOST_DEVICE void add(std::uint32_t operation, std::uint32_t bases) {
    if (operation == operation_) {
      bases_ += bases;
      return;
    }
    end_run();
    operation_ = operation;
    bases_ = bases;
  }
  SLUICE_HOST_DEVICE std::int32_t finish() {
    end_run();
    return count_;
  }

 private:
  SLUICE_HOST_DEVICE void end_run() {
    if (bases_ == 0) return;
    *to_ = bases_ << 4 | operation_;
    to_ += by_;
    ++count_;
  }
  std::uint32_t* to_;
  std::int32_t by_, count_ = 0;
  std::uint32_t operation_ = 0, bases_ = 0;
};

// What operations the states of two affine pieces are, and what stands in front of the read's first base.
struct TwoPieces {
  SLUICE_HOST_DEVICE static std::uint32_t of_target(std::uint8_t) { return 2; }
  SLUICE_HOST_DEVICE static std::uint32_t in_front(std::int32_t) { return 2; }
};
// Steps of the narrow band: rows of `width` bytes.
struct BandSteps : TwoPieces {
  SLUICE_HOST_DEVICE BandSteps(const std::uint8_t* of_rows, std::int32_t lowest_diagonal, std::int32_t row_bytes)
      : steps(of_rows), lowest(lowest_diagonal), width(row_bytes) {}
  const std::uint8_t* steps;
  std::int32_t lowest, width;
  SLUICE_HOST_DEVICE void follow_at(std::int32_t i, std::int32_t j, std::uint8_t& state) const {
    const std::int32_t lane = i - ((i + j + lowest + 1) >> 1);
    if (lane < 0)
      state = step_insertion;
    else if (lane >= width)
      state = step_deletion;
    else
      follow(step_of_band(steps[std::int64_t{i + j} * width + lane]), state);
  }
};
// Steps of whole blocks: a row has job.step_stride bytes.
struct BlockSteps : TwoPieces {
  SLUICE_HOST_DEVICE BlockSteps(const std::uint8_t* of_rows, const Job& of_job) : steps(of_rows), job(of_job) {}
  const std::uint8_t* steps;
  const Job& job;
  SLUICE_HOST_DEVICE void follow_at(std::int32_t i, std::int32_t j, std::uint8_t& state) const {
    const RowCells cells = cells_of_row(i + j, job.query_length, job.target_length, job.band);
    if (i < cells.begin)
      state = step_insertion;
    else if (i > cells.last)
      state = step_deletion;
    else
      follow(steps[std::int64_t{i + j} * job.step_stride + (i - cells.begin)], state);
  }
};
// Steps across introns: a row has job.step_stride bytes, one for each base of the read.
struct SplicedSteps {
  const std::uint8_t* steps;
  const Job& job;
  std::int32_t longest_deletion;  // in front of the read
  SLUICE_HOST_DEVICE void follow_at(std::int32_t i, std::int32_t j, std::uint8_t& state) const {
    follow(steps[std::int64_t{i + j} * job.step_stride + j], state);
  }
  SLUICE_HOST_DEVICE static std::uint32_t of_target(std::uint8_t state) { return state == step_deletion ? 2 : 3; }
  SLUICE_HOST_DEVICE std::uint32_t in_front(std::int32_t bases) const { return bases > longest_deletion ? 3 : 2; }
};

// The path that ends at (target, query); how many operations it has.
template <class Steps>
SLUICE_HOST_DEVICE std::int32_t write_path(std::int32_t target, std::int32_t query, const Steps& steps, OperationWriter writer) {
  constexpr std::uint32_t match = 0, insertion = 1;
  std::uint8_t state = step_match;
  while (target >= 0 && query >= 0) {
    steps.follow_at(target, query, state);
    if (state == step_match) {
      writer.add(match, 1);
      --target;
      --query;
    } else if (state == step_deletion || state == step_long_deletion) {
      writer.add(steps.of_target(state), 1);
      --target;
    } else {
      writer.add(insertion, 1);
      --query;
    }
  }
  if (target >= 0) writer.add(steps.in_front(target + 1), static_cast<std::uint32_t>(target) + 1);
  if (query >= 0) writer.add(insertion, static_cast<std::uint32_t>(query) + 1);
  return writer.finish();
}

// Where the path of an answer that has all but a path begins, and how it was reached (finish in kernel/progress.hpp).
template <class Steps>
SLUICE_HOST_DEVICE void write_path_of(const Job& job, const Steps& steps, std::uint32_t* operations, Answer& answer) {
  std::int32_t target = answer.best_target, query = answer.best_query;
  if (!answer.dropped && job.goal != Goal::extension) {
    target = job.target_length - 1;
    query = job.query_length - 1;
  } else if (!answer.dropped && std::int64_t{answer.query_end_score} + job.end_bonus > answer.best) {
    answer.reached_end = true;
    target = answer.query_end_target;
    query = job.query_length - 1;
  }
  const std::int32_t room = job.query_length + job.target_length;
  answer.operations = job.operations;
  answer.operation_count = 0;
  if (target < 0) return;
  answer.operation_count = write_path(target, query, steps, OperationWriter(operations + job.operations, room, job.ties));
  if (job.ties == TieOrder::gap_right) answer.operations += room - answer.operation_count;
}

// A path from end to end, read forwards: its score, and how deep the score falls below a peak, a shift of the diagonal being free of extension costs
// (FallSearch in gap_filling.cpp).
struct PathScore {
  std::int64_t score = 0, deepest_fall = 0;
};
template <class TargetCodes>  // what has the codes of the target's bases by their places
class PathReader {
 public:
  SLUICE_HOST_DEVICE PathReader(const Scores& scores, const std::uint8_t* query, TargetCodes target)
      : scores_(scores), query_codes_(query), target_codes_(target) {}

  SLUICE_HOST_DEVICE PathScore read(const std::uint32_t* operations, std::int32_t count) {
    for (std::int32_t k = 0; k < count; ++k) {
      const auto bases = static_cast<std::int32_t>(operations[k] >> 4);
      const std::uint32_t code = operations[k] & 15U;
      if (code == 0) {
        for (std::int32_t n = 0; n < bases; ++n) read_column();
        continue;
      }
      result_.score -= gap_cost(scores_, bases);
      fall_score_ -= scores_.gap_open + scores_.gap_extend * bases;
      (code == 1 ? query_ : target_) += bases;
      look();
    }
    return result_;
  }

 private:
  SLUICE_HOST_DEVICE void read_column() {
    const std::uint8_t target = target_codes_[target_], query = query_codes_[query_];
    const std::int32_t score = matrix_score(scores_, target, query);
    result_.score += score;
    fall_score_ += target > 3 || query > 3 ? -scores_.ambiguous : score;
    ++target_;
    ++query_;
    look();
  }
  SLUICE_HOST_DEVICE void look() {
    if (fall_score_ >= peak_) {
      peak_ = fall_score_;
      peak_shift_ = target_ - query_;
      return;
    }
    const std::int32_t shift = target_ - query_ - peak_shift_;
    const std::int64_t fall = std::int64_t{peak_} - fall_score_ - std::int64_t{scores_.gap_extend} * (shift < 0 ? -shift : shift);
    if (fall > result_.deepest_fall) result_.deepest_fall = fall;
  }

  const Scores& scores_;
  const std::uint8_t* query_codes_;
  TargetCodes target_codes_;
  PathScore result_;
  std::int32_t query_ = 0, target_ = 0, fall_score_ = 0, peak_ = std::numeric_limits<std::int32_t>::min(), peak_shift_ = 0;
};

template <class TargetCodes>
SLUICE_HOST_DEVICE void read_path_of(const Scores& scores, const Job& job, const std::uint8_t* query, TargetCodes target,
                                     const std::uint32_t* operations, bool narrow, Answer& answer) {
  const PathScore path = PathReader(scores, query, target).read(operations + answer.operations, answer.operation_count);
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  answer.deepest_fall = static_cast<std::int32_t>(path.deepest_fall < most ? path.deepest_fall : most);
  if (!narrow) return;
  answer.too_narrow = path.score <= job.least_score;
  answer.score = static_cast<std::int32_t>(path.score);
}
SLUICE_HOST_DEVICE inline void read_path_of(const Scores& scores, const Job& job, const std::uint8_t* codes, const std::uint32_t* operations,
                                            bool narrow, Answer& answer) {
  read_path_of(scores, job, codes + job.query, codes + job.target, operations, narrow, answer);
}

}  // namespace sluice::base_alignment::cuda
