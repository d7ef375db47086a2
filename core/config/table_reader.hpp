// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Takes the known keys out of one TOML table, checks their kinds, and reports every key that nobody asked for.

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "config/toml_document.hpp"

namespace sluice {

// Of a number of bytes that is not negative.
std::optional<double> bytes_of(const TomlNode& value);

class TableReader {
 public:
  // `subject` opens every message ("parameter 'reads': "), `stage` is the diagnostics' stage; both may be empty.
  TableReader(const TomlNode& table, std::string subject, std::string stage, Diagnostics& diagnostics)
      : table_(table), subject_(std::move(subject)), stage_(std::move(stage)), diagnostics_(diagnostics) {}

  // The member if it is there and is of one of these kinds. A wrong kind is reported with `expected` ("a list of stage names").
  const TomlMember* take(const std::string& key, std::initializer_list<TomlKind> kinds, const char* expected);
  std::string take_string(const std::string& key);
  std::optional<bool> take_boolean(const std::string& key);
  // Reports the keys that were not taken. Call last.
  void finish();

  void error(const Location& where, const std::string& message, const std::string& remedy = {}) const {
    diagnostics_.error(where, stage_, subject_ + message, remedy);
  }

 private:
  const TomlNode& table_;
  std::string subject_, stage_;
  Diagnostics& diagnostics_;
  std::vector<std::string> known_;
};

}  // namespace sluice
