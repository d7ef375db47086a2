// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Any bytes as a condition: reading it and checking its types must end, without a crash, and what is refused must be one line with a remedy.
// Run: build/fuzz/bin/fuzz_condition -max_len=4096 -dict=tests/fuzz/condition.dict CORPUS tests/fuzz/condition_seeds
#include <cstdint>
#include <cstdlib>
#include <sluice/condition.hpp>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const sluice::ConditionNode condition = sluice::parse_condition(text);
    for (const std::string& column : sluice::columns_of(condition))
      if (column.empty()) std::abort();
    // Every type in turn, by the name's length.
    sluice::check_condition_types(condition, [](const std::string& column) {
      constexpr const char* types[] = {"i32", "utf8", "list<f32>", "f64"};
      return std::string(types[column.size() % 4]);
    });
  } catch (const sluice::Failure& failure) {
    if (failure.status() != SLUICE_ERROR_USAGE || failure.remedy().empty()) std::abort();
    if (!std::string_view(failure.what()).starts_with("character ")) std::abort();
  }
  return 0;
}
