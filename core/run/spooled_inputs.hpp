// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Inputs that can be read only once: pipes, sockets, terminals, standard input. A source reads its first path once, from its beginning to its end,
// and is given the pipe itself where that names one; what any other stage or resource reads, and what two of them read, is copied once to a file
// without a name, which all of them open. The kind of the file decides, never its name.

#include <sluice/abi.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <sluice/spill_file.hpp>
#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace sluice {

// One thread at a time; names are asked for from any thread once they have been taken.
class SpooledInputs {
 public:
  struct Taking {
    std::function<bool(std::size_t stage)> makes;  // is the stage part of the run?
    std::function<bool()> stopping;                // asked while it waits for an input; true: the copies are not whole, and the run is over
    std::function<void(const std::string&)> say;
  };
  // Copies what the plan needs and has not been copied before. Throws Failure, also where the copies have no room.
  void take(const Plan& plan, const Taking& taking);
  // The values of a stage's or resource's parameters, with copies in the place of inputs. `texts` keeps what they point to.
  std::vector<sluice_value> values_of(const ResolvedStage& stage, std::deque<std::string>& texts) const;
  // A message, in which inputs are called as the user did.
  std::string as_given(std::string message) const;

 private:
  std::map<std::string, std::string> names_;  // as given -> where the copy is opened
  std::deque<SpillFile> copies_;
};

}  // namespace sluice
