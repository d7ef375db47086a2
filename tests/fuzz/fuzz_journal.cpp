// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Any bytes as the journal of a run, whose checksum is not looked at: refused, or a checkpoint whose states lie inside, and whose files can only be
// what was left of outputs. Run: build/fuzz/bin/fuzz_journal -max_len=4096 CORPUS tests/fuzz/journal_seeds
#include <sluice/staged_file.hpp>

#include "fuzzed_file.hpp"
#include "run/journal_file.hpp"

using namespace fuzzing;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The head and the place of the checksum are given, so that most of the input is the description and the states.
  const std::string bytes = "sluice journal 1\n" + std::string(text_of(data, size)) + std::string(16, '0');
  read_or_refuse([&] {
    const sluice::Journal journal = sluice::parse_journal(bytes, "journal");
    const auto lies_inside = [&](std::string_view state) {
      return state.empty() || (state.data() >= bytes.data() && state.data() + state.size() <= bytes.data() + bytes.size());
    };
    for (const auto& [name, stage] : journal.checkpoint.stages) require(lies_inside(stage.state) && !stage.spooled);
    require(lies_inside(journal.checkpoint.account));
    for (const sluice::FilePoint& file : journal.checkpoint.files) {
      const std::filesystem::path left(file.temporary), target = sluice::followed(file.path);
      require((left.parent_path() == target.parent_path()) != (left.parent_path() == "." && target.parent_path().empty()));
      require(left.filename().string().ends_with(".partial") && left.filename() != target.filename());
    }
    for (const auto& [what, value] : journal.identity) require(what.size() + value.size() <= size);
  });
  return 0;
}
