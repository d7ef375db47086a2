// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The processes that read what FAST5 files are made of: the program `fast5_reader` beside the plugins. A file at which HDF5 crashes ends one of them
// and not the run, and its lock, which is one for all threads of a process, keeps nobody waiting.

#include <sys/types.h>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <sluice/fast5_table.hpp>
#include <sluice/file_descriptor.hpp>
#include <string>
#include <vector>

namespace sluice::signal_reader {

// One process.
class Fast5Program {
 public:
  // It has gone: of what, in words.
  struct Ended : std::exception {
    // Was it the file for certain, or may somebody else have ended the process?
    enum class Blame : std::uint8_t { open, file };
    explicit Ended(std::string text, Blame blamed = Blame::open) : how(std::move(text)), blame(blamed) {}
    const char* what() const noexcept override { return how.c_str(); }
    std::string how;
    Blame blame;
  };
  // Throws Failure where it can't be started.
  explicit Fast5Program(const std::filesystem::path& program);
  // Tells it to end, and waits.
  ~Fast5Program();
  Fast5Program(const Fast5Program&) = delete;

  // The table of an open file, as it travels; at most so many bytes. Throws Ended.
  std::string ask(int file, std::uint64_t most_bytes);

 private:
  void receive(char* to, std::size_t bytes);
  [[noreturn]] void fail_ended();
  FileDescriptor socket_;
  pid_t process_ = -1;
};

// As many processes as there are questions at a time. Thread-safe.
class Fast5Programs {
 public:
  // Those of everybody, who keeps them as long as he may ask.
  static std::shared_ptr<Fast5Programs> shared();

  // Throws Failure with the file's name: where it is damaged, or there is no such program.
  Fast5Table table_of(const std::string& path, int file, std::uint64_t file_bytes);

 private:
  std::string answer(const std::string& path, int file, std::uint64_t file_bytes);
  std::unique_ptr<Fast5Program> take(const std::string& path);
  std::mutex mutex_;  // guards idle_ and program_
  std::vector<std::unique_ptr<Fast5Program>> idle_;
  std::filesystem::path program_;
};

}  // namespace sluice::signal_reader
