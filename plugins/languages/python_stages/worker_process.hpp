// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A process of Python and the socket to it. Packets keep their borders; a packet may carry one file descriptor.

#include <sys/types.h>

#include <chrono>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "python_stages/python_place.hpp"

namespace sluice::python {

// The process has gone; what it died of, in words, is the message.
struct WorkerDied : std::exception {
  explicit WorkerDied(std::string text) : how(std::move(text)) {}
  const char* what() const noexcept override { return how.c_str(); }
  std::string how;
};

class WorkerProcess {
 public:
  // Starts `interpreter worker FILE FUNCTION`. Throws Failure where it can't be started.
  WorkerProcess(const PythonPlace& place, const std::string& file, const std::string& function);
  // Tells it to end; after a second it is killed.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;

  // Throw WorkerDied.
  void send(std::string_view packet, int descriptor = -1);
  // Waits; `give_up` is asked ten times a second, and true kills the process: Failure(SLUICE_ERROR_CANCELLED).
  std::string receive(const std::function<bool()>& give_up);
  // Does a packet wait, or has it died?
  bool has_said() const;
  // Lets it end at its leisure.
  void close_socket();
  void kill();

 private:
  [[noreturn]] void died();
  std::string last_words() const;
  bool wait_for(std::chrono::milliseconds most);

  pid_t pid_ = -1;  // -1: it has been waited for
  int status_ = 0;
  int socket_ = -1;
  int words_ = -1;  // where Python writes what it was doing when it crashed
  std::vector<char> received_;
};

// Texts with a NUL behind each.
std::string packed_texts(const std::vector<std::string>& texts);
std::vector<std::string> unpacked_texts(std::string_view packet);

}  // namespace sluice::python
