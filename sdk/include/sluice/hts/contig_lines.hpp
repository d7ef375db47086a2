// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The contigs of an index in the header of an alignment file.

#include <sluice/minimizer_index.hpp>
#include <string>

namespace sluice::hts {

// @SQ lines, in the order of the index.
inline std::string contig_lines(const MinimizerIndexView& index) {
  std::string text;
  for (std::size_t contig = 0; contig < index.contigs(); ++contig)
    text += "@SQ\tSN:" + std::string(index.contig_name(contig)) + "\tLN:" + std::to_string(index.contig_length[contig]) + "\n";
  return text;
}

}  // namespace sluice::hts
