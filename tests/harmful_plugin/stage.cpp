// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <cstdlib>
#include <sluice/stage.hpp>
#include <string>

// Doubles numbers, and does the harm that the environment asks for.
class Harmful {
 public:
  using Parameters = sluice::NoParameters;
  static void describe(sluice::Describe<Harmful>& d) {
    d.id("harmful").summary("does harm").doc("Wrong on purpose.").map("row");
    d.needs("number", "f64", "numbers").gives("twice", "f64", "two of it");
  }
  void process(const sluice::Call&, const sluice::Batch& in, sluice::Output& out) {
    const auto numbers = in.column<double>("number");
    const auto twice = out.column<double>("twice");
    for (std::size_t row = 0; row < numbers.size(); ++row) twice[row] = 2 * numbers[row];
    if (harm_ == "overrun") twice.data()[twice.size()] = 1;                     // HARM: overrun
    if (harm_ == "race") ++calls_;                                              // HARM: race
    double* volatile forgotten = harm_ == "leak" ? new double[1000] : nullptr;  // HARM: leak
    forgotten = nullptr;
  }

 private:
  const std::string harm_ = std::getenv("HARM");
  int calls_ = 0;
};

SLUICE_PLUGIN("harmful", "0.1.0", "MIT", Harmful);
