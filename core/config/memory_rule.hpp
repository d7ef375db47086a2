// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How much memory a pipeline takes at least, from what its file says was measured.

#include <optional>
#include <string>

#include "config/pipeline.hpp"
#include "config/table_reader.hpp"

namespace sluice {

// Takes `memory` out of [pipeline].
void read_memory(TableReader& reader, MemoryRule& memory);

struct MemoryNeed {
  double bytes = 0;
  std::string beyond;  // "5.4 bytes for each byte of --reference": what is not in `bytes`, because nobody has named the file
};
// Of a run with these values of parameters. A compressed file counts four times, and one that is no text of sequences (an index, which is mapped)
// once. nullopt: the pipeline's file says nothing.
std::optional<MemoryNeed> memory_need(const WrittenPipeline& pipeline, const std::map<std::string, std::string>& values);

// Beside a reference of so many bases, in bytes. nullopt: nothing is known, or the pipeline has none.
std::optional<double> memory_beside(const MemoryRule& memory, double bases);

}  // namespace sluice
