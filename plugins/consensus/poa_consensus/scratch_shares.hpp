// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How kernels that run side by side on a device share the memory of their call.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::poa_consensus::cuda {

struct ScratchDemand {
  std::uint64_t bytes_of_block;
  std::uint32_t blocks;  // that would be used, 1 at least
};

// Bytes of so many blocks of each.
inline std::uint64_t scratch_of(std::span<const ScratchDemand> demands, std::span<const std::uint32_t> blocks) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < demands.size(); ++i) bytes += demands[i].bytes_of_block * blocks[i];
  return bytes;
}

// Blocks of each kernel: what it would use if all of that fits, else in proportion, so that the whole is within the budget; but one at least, which
// may be more than the budget.
inline std::vector<std::uint32_t> share_scratch(std::span<const ScratchDemand> demands, std::uint64_t budget) {
  std::vector<std::uint32_t> blocks;
  std::uint64_t wanted = 0;
  for (const ScratchDemand& demand : demands) wanted += demand.bytes_of_block * demand.blocks;
  const double share = wanted <= budget ? 1 : static_cast<double>(budget) / static_cast<double>(wanted);
  for (const ScratchDemand& demand : demands)
    blocks.push_back(share == 1 ? demand.blocks : std::max<std::uint32_t>(1, static_cast<std::uint32_t>(share * demand.blocks)));
  return blocks;
}

}  // namespace sluice::poa_consensus::cuda
