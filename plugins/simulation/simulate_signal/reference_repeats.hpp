// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Repeats in a made-up reference: families whose copies lie anywhere, and arrays of a unit one behind the other.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::simulate_signal {

struct LengthRange {
  std::int64_t least = 0, most = 0;
  bool operator==(const LengthRange&) const = default;
};
// "300..6000" or "171"; nothing if it is neither, or not 1 <= least <= most <= 1,000,000.
std::optional<LengthRange> parse_length_range(std::string_view text);

struct RepeatParameters {
  double interspersed = 0;  // bases of copies of families, over the contig's
  std::int64_t families = 20;
  LengthRange family_length{300, 6000};
  double divergence = 0.05;  // of a copy from its family, per base
  double tandem = 0;         // bases of arrays, over the contig's
  LengthRange unit_length{171, 171};
  double unit_divergence = 0.02;  // of a copy of the unit
  double gc_content = 0.5, cpg_ratio = 1;
};

// Copies of families and arrays, written over the bases of contigs where chance puts them, arrays last; later ones may cover earlier ones. Families
// depend on the seed alone, so that contigs share them. Short lengths are more frequent than long ones: as many bases from each length on to its
// double. Half of the copies have lost their beginning, half lie on the other strand. Of a copy's differences 70 % are substitutions, 20 % deletions,
// 10 % insertions.
class Repeats {
 public:
  Repeats() = default;  // none
  Repeats(std::uint64_t seed, const RepeatParameters& parameters);
  // [thread-safe]
  void add_to(std::uint64_t contig, std::string& bases) const;

 private:
  std::uint64_t seed_ = 0;
  RepeatParameters parameters_;
  std::vector<std::string> families_;
};

}  // namespace sluice::simulate_signal
