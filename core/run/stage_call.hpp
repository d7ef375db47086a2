// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How one call of a plugin's function went.

#include <sluice/abi.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <sluice/failure.hpp>
#include <string>

namespace sluice {

struct CallResult {
  sluice_status status = SLUICE_OK;
  std::string message, remedy;  // of a failure
  double seconds = 0;
  std::uint64_t bytes_moved = 0;  // to and from devices

  bool ok() const { return status == SLUICE_OK; }
  void set_failure(sluice_status code, std::string what, std::string what_to_do = {});
  // Of whatever is being handled by a catch.
  void set_current_exception() noexcept;
  [[noreturn]] void raise() const { throw Failure(status, message, remedy); }
};

// Throws what a plugin's function has said.
void throw_unless_ok(sluice_status status, const sluice_error& error);

// Times `body`, which throws where something goes wrong.
template <class Body>
void run_call(CallResult& result, Body&& body) {
  const auto start = std::chrono::steady_clock::now();
  try {
    body();
  } catch (...) {
    result.set_current_exception();
  }
  result.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace sluice
