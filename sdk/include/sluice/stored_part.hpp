// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Parts of a sequence store (Setup::part() of Setup::parts()): all stages of a run that share a store cut it at the same rows.

#include <cstdint>
#include <sluice/input_part.hpp>
#include <sluice/sequence_store.hpp>
#include <sluice/stage.hpp>

namespace sluice {

// Rows [begin, end) of the store.
struct StoredPart {
  std::int64_t begin = 0, end = 0;

  // Part `part` (from 0) of `parts`: as many bases as every other one, but for whole rows. A row without bases counts as one base, so that it, too,
  // belongs to one part.
  StoredPart(const SequenceStoreView& store, std::uint64_t part, std::uint64_t parts) : end(store.size()) {
    if (parts <= 1) return;
    std::uint64_t all = 0;
    for (std::int64_t row = 0; row < store.size(); ++row) all += weight(store, row);
    const std::uint64_t from = InputPart::scaled(all, part, parts), to = InputPart::scaled(all, part + 1, parts);
    std::uint64_t before = 0;
    std::int64_t row = 0;
    for (; row < store.size() && before < from; ++row) before += weight(store, row);
    for (begin = row; row < store.size() && before < to; ++row) before += weight(store, row);
    end = row;
  }
  StoredPart(const Setup& setup, const SequenceStoreView& store) : StoredPart(store, setup.part(), setup.parts()) {}
  bool has(std::int64_t row) const { return row >= begin && row < end; }

 private:
  static std::uint64_t weight(const SequenceStoreView& store, std::int64_t row) {
    return store.length(row) > 0 ? static_cast<std::uint64_t>(store.length(row)) : 1;
  }
};

}  // namespace sluice
