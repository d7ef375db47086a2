// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Files of regions: BED and the tables of region_table.hpp, plain, gzip or BGZF.

#include <sluice/call.hpp>
#include <sluice/hts/text_file.hpp>
#include <sluice/region_table.hpp>
#include <string>
#include <vector>

namespace sluice::hts {

// Throws Failure (input): the file can't be read, or a line is no region.
inline std::vector<TableRegion> read_region_table(const Host& host, const std::string& path) {
  constexpr std::size_t largest_table = std::size_t{256} << 20;  // a panel of a million regions has some 50 MB
  TextFile file({path, "regions", "check the path of the BED file or table"}, 0);
  std::string text;
  for (std::size_t filled = 0;;) {
    text.resize(filled + (std::size_t{1} << 20));
    const std::size_t got = file.read(text.data() + filled, text.size() - filled);
    filled += got;
    text.resize(filled);
    if (got == 0) break;
    if (filled > largest_table)
      throw Failure::input("regions '" + path + "' has more than " + std::to_string(largest_table >> 20U) + " MiB", "is it a BED file?");
  }
  warn_of_open_end(host, file);
  std::vector<TableRegion> regions;
  std::string problem;
  if (!parse_region_table(text, regions, problem))
    throw Failure::input("regions '" + path + "', " + problem, "write contig, start and end, 0-based, with tabs between them");
  return regions;
}

}  // namespace sluice::hts
