// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The contigs of an index in the header of an alignment file.

#include <sluice/failure.hpp>
#include <sluice/minimizer_index.hpp>
#include <string>
#include <string_view>

namespace sluice::hts {

// @SQ lines, in the order of the index. Throws Failure (input) for a name that would be read as another one ('*' is none, '=' that of the record
// itself), and for a contig without bases, as no length is 0.
inline std::string contig_lines(const MinimizerIndexView& index) {
  std::string text;
  for (std::size_t contig = 0; contig < index.contigs(); ++contig) {
    const std::string_view name = index.contig_name(contig);
    if (name.empty() || name == "*" || name == "=" || name.find('\t') != std::string_view::npos)
      throw Failure::input("the reference has a contig '" + std::string(name) + "', whose name SAM, BAM and CRAM can't hold",
                           "rename it, or write PAF");
    if (index.contig_length[contig] < 1)
      throw Failure::input("the reference has a contig '" + std::string(name) + "' without bases, which SAM, BAM and CRAM can't hold",
                           "remove it from the reference, or write PAF");
    text += "@SQ\tSN:" + std::string(name) + "\tLN:" + std::to_string(index.contig_length[contig]) + "\n";
  }
  return text;
}

}  // namespace sluice::hts
