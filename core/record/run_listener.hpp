// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Hears of single events of a run, of which there may be too many to keep.

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "record/statistics.hpp"

namespace sluice {

// Thread-safe. No exception leaves: what can't be kept is said when it is asked for.
class RunListener {
 public:
  virtual ~RunListener() = default;
  // Wants to hear of calls and copies.
  virtual bool traces() const { return false; }
  virtual void happened(const TraceEvent&) noexcept {}
  // A row that failed, or an input that never became one.
  virtual void lost(const std::string& /*stage*/, const FailedRow&) noexcept {}
  // Gives what it has heard so far, in pieces, for the listener of a run that goes on. May throw.
  virtual void save(const std::function<void(std::string_view)>& /*write*/) {}
};

// Tells several.
class RunListeners : public RunListener {
 public:
  void add(RunListener& listener) { listeners_.push_back(&listener); }
  bool traces() const override {
    return std::any_of(listeners_.begin(), listeners_.end(), [](const RunListener* listener) { return listener->traces(); });
  }
  void happened(const TraceEvent& event) noexcept override {
    for (RunListener* listener : listeners_) listener->happened(event);
  }
  void lost(const std::string& stage, const FailedRow& row) noexcept override {
    for (RunListener* listener : listeners_) listener->lost(stage, row);
  }
  // One of them keeps something at most.
  void save(const std::function<void(std::string_view)>& write) override {
    for (RunListener* listener : listeners_) listener->save(write);
  }

 private:
  std::vector<RunListener*> listeners_;
};

}  // namespace sluice
