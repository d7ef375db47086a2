// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Columns of formats that have no header line.

#include <sluice/arrow/table_schema.hpp>
#include <utility>
#include <vector>

namespace sluice::arrow {

// The twelve columns of PAF, and the tags behind them.
inline TableSchema paf_schema(std::vector<TableColumn> tags) {
  TableSchema schema = table_schema(
      "query_name\tquery_length\tquery_start\tquery_end\tstrand\ttarget_name\ttarget_length\ttarget_start\ttarget_end\tmatches\tblock_length\t"
      "mapping_quality",
      {"utf8", "i64", "i64", "i64", "utf8", "utf8", "i64", "i64", "i64", "i64", "i64", "i64"});
  for (TableColumn& tag : tags) schema.push_back(std::move(tag));
  return schema;
}

// The 18 columns of bedMethyl as modkit has them.
inline TableSchema bed_methyl_schema() {
  return table_schema(
      "chrom\tstart\tend\tmodification\tscore\tstrand\tthick_start\tthick_end\tcolor\tvalid_coverage\tpercent_modified\tmodified\tcanonical\t"
      "other_modified\tdeleted\tfailed\tdifferent\tno_call",
      {"utf8", "i64", "i64", "utf8", "i64", "utf8", "i64", "i64", "utf8", "i64", "f64", "i64", "i64", "i64", "i64", "i64", "i64", "i64"});
}

}  // namespace sluice::arrow
