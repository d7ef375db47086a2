// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <cstdio>
#include <sluice/testing.hpp>

// Says what the contract suite finds; 1: something.
int main() {
  namespace testing = sluice::testing;
  const auto numbers = testing::BatchBuilder("row", 4).column<double>("number", {1, 2, 3, 4}).build();
  int problems = 0;
  for (const std::string& problem :
       testing::contract_problems(*testing::load_plugin(PLUGIN_FILE), {{"harmful", {.batches = {numbers, numbers.with_sequence(1)}}}}))
    std::printf("%s\n", problem.c_str()), ++problems;
  return problems == 0 ? 0 : 1;
}
