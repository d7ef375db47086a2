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
  double seconds_a_case = 600;                         // a case that takes longer hangs; sanitizers and busy machines are slow
  bool sorted_rows = false;                            // the stage takes rows in the batches' order alone: none is put in front of another
};

// Everything that a host relies on and that can be seen from outside: the descriptor; empty, single, failed and made-up rows; cancelling;
// lack of memory; a full disk; the ends of every parameter's range; and the same bytes for every cut of the rows and every thread count.
// Returns what is wrong, one line each.
//
// Each case runs in a child process: one that crashes, hangs or ends the process is a problem with the names of stage, case, function and batch, and
// the others run all the same. Cases on a device run in the calling process, as few drivers survive a fork; what ends them is said on standard error.
// Memory that the host gave has guards on both sides, which are looked at when the run ends. Compiled with -fsanitize=address or thread
// (-DSLUICE_SANITIZE=... of sluice_add_plugin), what a sanitizer reports is a problem of the case.
std::vector<std::string> contract_problems(StageUnderTest stage, const ContractSample& sample);
template <class Stage>
std::vector<std::string> contract_problems(const ContractSample& sample = {}) {
  return contract_problems(stage_of<Stage>(), sample);
}
// All stages of a plugin; samples by stage id. A stage without a sample may refuse to start.
std::vector<std::string> contract_problems(const sluice_plugin_info& plugin, const std::map<std::string, ContractSample>& samples = {});

}  // namespace sluice::testing
