// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// A second stage on the simulated accelerator: what the first one gives stays there, so that a test can lose the device between the two.
#include <sluice/stage.hpp>

#include "../simulated_accelerator/simulated_accelerator.hpp"

namespace sluice::simulated_accelerator {
namespace {

std::int64_t worked_again(std::int64_t worked) { return worked / 3 + 1; }

class SecondSimulatedWork {
 public:
  using Parameters = NoParameters;
  static void describe(Describe<SecondSimulatedWork>& d) {
    d.id("second_simulated_work")
        .summary("a third of the hash, and one more")
        .map("number")
        .work_unit("row")
        .needs("worked", "i64", "")
        .gives("worked_again", "i64", "");
    d.implementation<&SecondSimulatedWork::process_on_device>("simulated", "the same on the simulated accelerator");
  }
  void process(const Call&, const Batch& in, Output& out) {
    const auto worked = in.column<std::int64_t>("worked");
    const auto result = out.column<std::int64_t>("worked_again");
    for (std::size_t i = 0; i < worked.size(); ++i) result[i] = worked_again(worked[i]);
  }
  // The accelerator's memory is the host's, so the result is made on the host, when everything before has happened.
  void process_on_device(const Call& call, const Batch& in, Output& out) {
    static_cast<DeferredStream*>(call.device()->stream)->finish();
    const auto* worked = static_cast<const std::int64_t*>(in.find("worked")->device->array.buffers[1]);
    const auto result = out.column<std::int64_t>("worked_again");
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = worked_again(worked[i]);
  }
};

}  // namespace
}  // namespace sluice::simulated_accelerator

SLUICE_PLUGIN("second_simulated_work", "1.0.0", "MIT", sluice::simulated_accelerator::SecondSimulatedWork);
