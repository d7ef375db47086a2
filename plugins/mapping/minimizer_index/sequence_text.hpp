// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "minimizer_index/index_builder.hpp"

namespace sluice::minimizer_index {

// Reads the sequences of a FASTA or FASTQ file, plain, gzip or BGZF, as minimap2 does: a name ends at the first blank, lines of a sequence are
// joined, and any letter but A, C, G, T and U of either case is an ambiguous base. Throws Failure: no such file, damaged, neither FASTA nor FASTQ, no
// sequences, a sequence without a name or with a name that came before or with 2^31 bases or more, or qualities that end too early. `cancelled` is
// asked now and then.
// Several files are one reference, in their order.
enum class NoSequences : std::uint8_t { refused, allowed };
ReferenceBases read_sequences(const std::vector<std::string>& paths, const SketchKernels& kernels, const std::function<bool()>& cancelled,
                              NoSequences none = NoSequences::refused);

}  // namespace sluice::minimizer_index
