// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A case of the contract suite by itself, so that what ends a process ends no more than the case, and is told with a name.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace sluice::testing::detail {

using Problems = std::vector<std::string>;

// What calls the stage says so before it does; a case that crashes or hangs is told with it. `function`: a literal. Any thread.
constexpr std::size_t no_batch = static_cast<std::size_t>(-1);
void about_to_call(const char* function, std::size_t batch = no_batch);
// The same of a case that tries several things: which one.
void about_to_try(const std::string& what);

// Runs `body` in a child process and gives the problems that it returns, or how it ended instead. `seconds`: then it is killed.
Problems run_apart(double seconds, const std::function<Problems()>& body);

// While this lives a crash of the process, or `seconds` without an end, is said on standard error with `name` before the process ends.
class NamedCase {
 public:
  NamedCase(const std::string& name, double seconds);
  ~NamedCase();
  NamedCase(const NamedCase&) = delete;
};

}  // namespace sluice::testing::detail
