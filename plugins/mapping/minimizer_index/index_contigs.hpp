// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The contigs of a minimizer index as rows.

#include <cstdint>
#include <sluice/minimizer_index.hpp>
#include <sluice/numbered_rows.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <utility>
#include <vector>

namespace sluice::minimizer_index {

class IndexContigs {
 public:
  using Parameters = NoParameters;
  static void describe(Describe<IndexContigs>& d) {
    d.id("index_contigs")
        .source("contig")
        .positions()
        .parts()
        .work_unit("row")
        .summary("gives the names and lengths of the contigs of a minimizer index");
    d.doc("One batch of rows, in the order of the index: what a saved index holds, for a table beside it.");
    d.uses("index", "minimizer_index", "the index");
    d.gives("contig", "utf8", "name of the contig").gives("length", "i64", "its bases");
  }
  IndexContigs(const Setup& setup, const Parameters&)
      : index_(minimizer_index_view(setup.resource("index"))), rows_(setup, static_cast<std::uint64_t>(index_.contigs())) {}
  std::string position() const { return rows_.position(); }

  // One batch: an index has few contigs beside its minimizers.
  bool process(const Call&, Output& out) {
    if (std::exchange(given_, true)) return false;
    out.set_rows(static_cast<std::int64_t>(rows_.end - rows_.next));
    std::vector<std::string> names;
    const auto length = out.column<std::int64_t>("length");
    for (std::size_t row = 0; !rows_.is_empty(); ++row, ++rows_.next) {
      names.emplace_back(index_.contig_name(static_cast<std::size_t>(rows_.next)));
      length[row] = index_.contig_length[static_cast<std::size_t>(rows_.next)];
    }
    out.text_rows("contig", names);
    return true;
  }

 private:
  MinimizerIndexView index_;
  NumberedRows rows_;
  bool given_ = false;
};

}  // namespace sluice::minimizer_index
