// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Both sides of an alignment as codes: 0 to 3, and 4 for whatever is no A, C, G, T or U.

#include <cstdint>
#include <sluice/minimizer_index.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::base_alignment {

using Codes = std::span<const std::uint8_t>;
constexpr Codes part(Codes codes, std::int32_t begin, std::int32_t end) {
  return codes.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

// A read and its reverse complement.
class ReadStrands {
 public:
  void set(std::string_view bases);
  Codes strand(bool reverse) const { return reverse ? reverse_ : forward_; }
  std::int32_t length() const { return static_cast<std::int32_t>(forward_.size()); }

 private:
  std::vector<std::uint8_t> forward_, reverse_;
};

// A contig's bases [begin, end), which must lie on it.
void copy_contig(const MinimizerIndexView& index, std::size_t contig, std::int32_t begin, std::int32_t end, std::vector<std::uint8_t>& codes);

// First base of the run of one letter that holds `place`.
std::int32_t run_start(const MinimizerIndexView& index, std::size_t contig, std::int32_t place);
std::int32_t run_start(Codes codes, std::int32_t place);

}  // namespace sluice::base_alignment
