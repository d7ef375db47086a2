// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <string>
#include <string_view>

#include "minimizer_index/index_builder.hpp"

namespace sluice::minimizer_index {

inline constexpr std::string_view minimap2_magic = std::string_view("MMI\2", 4);

// What an index file of minimap2 holds. All parts of a file that minimap2's -I has split become one.
struct Minimap2Index {
  SketchParameters parameters;
  ReferenceBases reference;  // without bases if minimap2 left them out
  std::vector<std::vector<PlacedMinimizer>> minimizers;
  MinimizerParts parts() const;
};

// Reads an .mmi file of minimap2 2.x. Layout, little-endian, repeated for each part: "MMI\2"; u32 w, k, bucket bits b, sequences n, flags (1:
// homopolymer-compressed, 2: no bases, 4: no names); n times u8 length of the name, the name, u32 length; 2^b buckets: i32 p, p times u64 position,
// u32 h, h times u64 key, u64 value; unless flag 2, u32 words of 8 bases of 4 bits over all sequences. A key is the hash without its lowest b bits
// (which are the bucket's number), times 2, plus 1 if the value is the only position; otherwise the value is place in p << 32 | count. Throws Failure
// when the file is truncated or says what cannot be.
Minimap2Index read_minimap2_index(const std::string& path, const SketchKernels& kernels);

}  // namespace sluice::minimizer_index
