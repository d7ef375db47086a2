// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What reads show at each position of the reference, as columns: of the stages that modification_pileup counts behind.

#include <algorithm>
#include <cstdint>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "modification_pileup/aligned_states.hpp"
#include "modification_pileup/alignment_record.hpp"

namespace sluice::modification_pileup {

struct StateRow {
  AlignedStates states;
  std::vector<std::int32_t> kinds;  // numbers of CallKinds
  std::string partition;
};

template <class Stage>
void describe_states(Describe<Stage>& d) {
  d.gives("block_start", "list<i64>", "first positions of the blocks of the reference that the read covers");
  d.gives("block_length", "list<i64>", "their lengths, deletions included");
  d.gives("base_state", "list<u8>",
          "per position of the blocks: 1 deletion, 2 no letter of ACGT, 3 to 6 A, C, G, T without a call, 7 and on: call_kinds");
  d.gives("opposite_state", "list<u8>", "the same on the other strand, from groups of MM with '-'; empty without them");
  d.gives("call_kinds", "list<i32>",
          "the kinds of calls one after the other: canonical base (0 to 3), outcome (-1 canonical, -2 failed, else which of the codes), number of "
          "codes, codes (a letter's character, or a ChEBI number as a negative one)");
  d.gives("partition", "utf8", "the value of the tag that partition names, 'ungrouped' without it; \"\" for none", Needed::optional);
}

// A row each. `row_of(i)`: the StateRow of row i.
template <class RowOf>
void give_states(const Call& call, Output& out, std::size_t rows, const RowOf& row_of, bool with_partition) {
  const auto list = [&]<class T>(const char* name, const std::vector<T>& (*of)(const StateRow&)) {
    const Buffer offsets = out.offsets([&](std::int64_t row) { return of(row_of(static_cast<std::size_t>(row))).size(); });
    const std::span<T> values = out.list<T>(name, offsets);
    call.parallel_for(rows, 16, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) std::copy(of(row_of(i)).begin(), of(row_of(i)).end(), values.begin() + offsets.as<std::int64_t>()[i]);
    });
  };
  list.template operator()<std::int64_t>("block_start",
                                         [](const StateRow& row) -> const std::vector<std::int64_t>& { return row.states.block_start; });
  list.template operator()<std::int64_t>("block_length",
                                         [](const StateRow& row) -> const std::vector<std::int64_t>& { return row.states.block_length; });
  list.template operator()<std::uint8_t>("base_state", [](const StateRow& row) -> const std::vector<std::uint8_t>& { return row.states.base; });
  list.template operator()<std::uint8_t>("opposite_state",
                                         [](const StateRow& row) -> const std::vector<std::uint8_t>& { return row.states.opposite; });
  list.template operator()<std::int32_t>("call_kinds", [](const StateRow& row) -> const std::vector<std::int32_t>& { return row.kinds; });
  if (!with_partition) return;
  std::vector<std::string_view> partitions;
  for (std::size_t i = 0; i < rows; ++i) partitions.push_back(row_of(i).partition);
  out.text_rows("partition", partitions);
}

// The tag that the choice of a parameter names; "" for none.
inline std::string partition_tag(std::string_view choice) { return choice == "hp" ? "HP" : choice == "rg" ? "RG" : ""; }

// A cell of a table: without tabs and line ends.
inline std::string partition_of(const AlignmentRecord& record, const std::string& tag) {
  if (const auto number = record.integer_tag(tag)) return std::to_string(*number);
  std::string text(record.text_tag(tag).value_or(std::string_view()));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = '_';
  return text.empty() ? "ungrouped" : text;
}

// Work of records in bases: two bytes of a record are about one.
inline Estimate estimate_of_records(const Batch& in) {
  Estimate estimate;
  const TextView records = in.text("bam_record");
  for (std::int64_t row = 0; row < in.rows(); ++row) {
    if (!in.ok(row)) continue;
    const auto work = static_cast<double>(records[row].size()) / 2;
    estimate.work += work;
    estimate.largest_row_work = std::max(estimate.largest_row_work, work);
  }
  estimate.output_bytes = static_cast<std::uint64_t>(2 * estimate.work);
  return estimate;
}

}  // namespace sluice::modification_pileup
