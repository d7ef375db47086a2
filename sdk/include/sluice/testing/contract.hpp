// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// contract_problems: what every stage has to keep, checked from outside.

#include <map>
#include <sluice/testing/stage_run.hpp>
#include <string>
#include <vector>

namespace sluice::testing {

// What a stage needs to do real work: the more it says, the more the suite can check. Without batches a stage that needs input
// only sees rows made from its column types.
struct ContractSample {
  ParameterTexts parameters;
  std::map<std::string, TestBatch> resources;
  std::vector<TestBatch> batches;
  std::vector<const sluice_device_provider*> devices;  // whose implementations are compared with the CPU's
};

// Everything that a host relies on and that can be seen from outside: the descriptor; empty, single, failed and made-up rows; cancelling;
// lack of memory; a full disk; the ends of every parameter's range; and the same bytes for every cut of the rows and every thread count.
// Returns what is wrong, one line each.
std::vector<std::string> contract_problems(StageUnderTest stage, const ContractSample& sample);
template <class Stage>
std::vector<std::string> contract_problems(const ContractSample& sample = {}) {
  return contract_problems(stage_of<Stage>(), sample);
}
// All stages of a plugin; samples by stage id. A stage without a sample may refuse to start.
std::vector<std::string> contract_problems(const sluice_plugin_info& plugin, const std::map<std::string, ContractSample>& samples = {});

}  // namespace sluice::testing
