// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Lines of the methylation table that f5c and nanopolish write (call-methylation), versions 1 and 2.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::methylation_table_reader {

enum class Strand : std::uint8_t { forward, reverse };

// Where each column is; found by name, so further columns and other orders do no harm.
class TableColumns {
 public:
  // Reads the header line. Returns "" or the name of a column that is missing (num_motifs stands for num_cpgs, too; strand and sequence may be
  // missing).
  std::string parse(std::string_view header);

  enum Column : std::size_t { chromosome, strand, start, end, read_name, log_lik_ratio, log_lik_unmethylated, motifs, sequence, column_count };
  static constexpr std::size_t absent = ~std::size_t{0};
  std::size_t position(Column column) const { return positions_[column]; }
  std::size_t field_count() const { return field_count_; }

 private:
  std::array<std::size_t, column_count> positions_{};
  std::size_t field_count_ = 0;
};

// The views point into the line.
struct CallLine {
  std::string_view contig, read_id;
  std::string_view sequence;        // empty where the table has none
  Strand strand = Strand::forward;  // forward where the table has no strand
  std::int64_t start = 0;           // C of the first CpG, 0-based
  std::int64_t end = 0;             // C of the last CpG
  std::int32_t motifs = 0;
  float log_lik_methylated = 0;    // unmethylated + ratio: the difference prints as the table's ratio, which decides; this may be 0.01 off
  float log_lik_unmethylated = 0;  // as printed
};

// Returns "" or what is wrong with the line.
std::string parse_call(std::string_view line, const TableColumns& columns, CallLine& call);

}  // namespace sluice::methylation_table_reader
