// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What is wrong with a pipeline, where, and what to do about it. All of them are collected and shown together before any work starts.

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

struct Location {
  std::string file;  // "command line" for an option; "" if there is no place
  int line = 0;      // from 1; 0: the whole file
  int column = 0;
};

enum class Severity { warning, error };

struct Diagnostic {
  Severity severity = Severity::error;
  Location where;
  std::string stage;  // instance name of the stage or resource; "" if none
  std::string message;
  std::string remedy;  // "" if there is none

  // "map.toml:14:9: stage 'chain': unknown parameter 'bandwith' (did you mean 'bandwidth'?)"
  std::string text() const;
};

class Diagnostics {
 public:
  // What has been said of the same place is not said again.
  void error(Location where, std::string stage, std::string message, std::string remedy = {}) {
    add({Severity::error, std::move(where), std::move(stage), std::move(message), std::move(remedy)});
  }
  void warning(Location where, std::string stage, std::string message, std::string remedy = {}) {
    add({Severity::warning, std::move(where), std::move(stage), std::move(message), std::move(remedy)});
  }
  bool has_errors() const;
  const std::vector<Diagnostic>& list() const { return list_; }

 private:
  void add(Diagnostic diagnostic);
  std::vector<Diagnostic> list_;
};

// The candidate nearest to `name` by edit distance, or "" if none is near enough to be meant.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace sluice
