// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The one exception a stage throws on purpose. The SDK's trampolines turn it, and every other exception, into a sluice_error.

#include <sluice/abi.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace sluice {

class Failure : public std::runtime_error {
 public:
  Failure(sluice_status status, const std::string& message, std::string remedy = {})
      : std::runtime_error(message), status_(status), remedy_(std::move(remedy)) {}

  // A parameter or a combination of parameters that can't work.
  static Failure usage(const std::string& message, std::string remedy = {}) { return {SLUICE_ERROR_USAGE, message, std::move(remedy)}; }
  // A file that is missing, corrupt, or does not fit the others.
  static Failure input(const std::string& message, std::string remedy = {}) { return {SLUICE_ERROR_INPUT, message, std::move(remedy)}; }
  // An output that could not be written.
  static Failure output(const std::string& message, std::string remedy = {}) { return {SLUICE_ERROR_OUTPUT, message, std::move(remedy)}; }
  static Failure memory(const std::string& message) {
    return {SLUICE_ERROR_MEMORY, message, "lower --memory or --threads, or use a machine with more memory"};
  }

  sluice_status status() const { return status_; }
  const std::string& remedy() const { return remedy_; }

 private:
  sluice_status status_;
  std::string remedy_;
};

}  // namespace sluice
