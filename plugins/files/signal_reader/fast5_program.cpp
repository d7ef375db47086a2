// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/fast5_program.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sluice/failure.hpp>
#include <sluice/spawn_settings.hpp>
#include <system_error>

extern char** environ;

namespace sluice::signal_reader {
namespace {

constexpr int program_socket = 3;  // its number in the program
// What a table may have beside what the file itself has bytes for.
constexpr std::uint64_t most_beside = std::uint64_t{16} << 20;

const char* const conversion = "convert it: `pod5 convert fast5 FILE.fast5 --output reads.pod5`, or `slow5tools f2s FILE.fast5 -o reads.blow5`";

// What HDF5 or the C library say before they give up is said better here.
void set_up(SpawnSettings& settings, int socket) {
  for (const int number : {0, 1, 2}) posix_spawn_file_actions_addopen(&settings.actions, number, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&settings.actions, socket, program_socket);
}

// Beside this plugin; a test, which has its functions in itself, finds it in the build folder.
std::filesystem::path find_program() {
  namespace fs = std::filesystem;
  Dl_info here{};
  if (::dladdr(reinterpret_cast<const void*>(&find_program), &here) == 0 || here.dli_fname == nullptr) return {};
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(here.dli_fname, error).parent_path();
  for (const char* candidate : {"fast5_reader", "plugins/fast5_reader", "../bin/plugins/fast5_reader", "../../bin/plugins/fast5_reader"})
    if (const fs::path file = folder / candidate; fs::is_regular_file(file, error)) return file;
  return {};
}

}  // namespace

Fast5Program::Fast5Program(const std::filesystem::path& program) {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw Failure::memory("no socket to '" + program.string() + "': " + std::system_category().message(errno));
  socket_ = FileDescriptor(ends[0]);
  const FileDescriptor theirs(moved_above_spawned(ends[1]));
  SpawnSettings settings;
  set_up(settings, theirs.number());
  std::string name = program.string();
  std::array<char*, 2> arguments{name.data(), nullptr};
  const int error = ::posix_spawn(&process_, name.c_str(), &settings.actions, &settings.attributes, arguments.data(), environ);
  if (error == 0) return;
  process_ = -1;
  throw Failure(SLUICE_ERROR_UNSUPPORTED, "'" + name + "', which reads FAST5 files, can't be started: " + std::system_category().message(error));
}

Fast5Program::~Fast5Program() {
  socket_.close();
  int status = 0;
  while (process_ > 0 && ::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
}

void Fast5Program::fail_ended() {
  socket_.close();
  int status = 0;
  pid_t waited = -1;
  while ((waited = ::waitpid(process_, &status, 0)) < 0 && errno == EINTR) {
  }
  process_ = -1;
  // Somebody else may have waited for all children.
  if (waited < 0) throw Ended("the program that reads it ended");
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF) throw Ended("HDF5 comes to no end with it", Ended::Blame::file);
  if (WIFSIGNALED(status)) throw Ended(std::string("HDF5 crashes when it reads it (") + ::strsignal(WTERMSIG(status)) + ")");
  throw Ended("the program that reads it ended with status " + std::to_string(WEXITSTATUS(status)));
}

void Fast5Program::receive(char* to, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t got = ::recv(socket_.number(), to, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail_ended();
    to += got;
    bytes -= static_cast<std::size_t>(got);
  }
}

std::string Fast5Program::ask(int file, std::uint64_t most_bytes) {
  char byte = 'f';
  iovec part{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &file, sizeof file);
  while (::sendmsg(socket_.number(), &message, MSG_NOSIGNAL) < 0)
    if (errno != EINTR) fail_ended();
  std::uint64_t size = 0;
  receive(reinterpret_cast<char*>(&size), sizeof size);
  if (size > most_bytes) {
    ::kill(process_, SIGKILL);
    throw Ended("it claims more than a file of its size can hold");
  }
  std::string table(static_cast<std::size_t>(size), '\0');
  receive(table.data(), table.size());
  return table;
}

std::shared_ptr<Fast5Programs> Fast5Programs::shared() {
  static std::mutex mutex;
  static std::weak_ptr<Fast5Programs> known;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Fast5Programs> programs = known.lock();
  if (!programs) known = programs = std::make_shared<Fast5Programs>();
  return programs;
}

std::unique_ptr<Fast5Program> Fast5Programs::take(const std::string& path) {
  std::filesystem::path program;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Fast5Program> one = std::move(idle_.back());
      idle_.pop_back();
      return one;
    }
    if (program_.empty()) program_ = find_program();
    program = program_;
  }
  if (program.empty())
    throw Failure(SLUICE_ERROR_UNSUPPORTED,
                  "signal file '" + path + "' is a FAST5 file, and this sluice was built or installed without what reads them",
                  std::string("install the package sluice-fast5, or build sluice where libhdf5-dev is; or ") + conversion);
  return std::make_unique<Fast5Program>(program);
}

// A process that was there may have been ended by somebody else: what a new one ends at is the file.
std::string Fast5Programs::answer(const std::string& path, int file, std::uint64_t file_bytes) {
  for (bool again = false;; again = true) {
    std::unique_ptr<Fast5Program> program = take(path);
    try {
      std::string table = program->ask(file, file_bytes + most_beside);
      const std::lock_guard lock(mutex_);
      idle_.push_back(std::move(program));
      return table;
    } catch (const Fast5Program::Ended& ended) {
      if (again || ended.blame == Fast5Program::Ended::Blame::file)
        throw Failure::input("signal file '" + path + "' is damaged: " + ended.how, "copy the file again and compare checksums");
    }
  }
}

Fast5Table Fast5Programs::table_of(const std::string& path, int file, std::uint64_t file_bytes) {
  const std::string said = answer(path, file, file_bytes);
  Fast5Table table;
  try {
    table = unpacked_fast5_table(said);
  } catch (const std::runtime_error& problem) {
    table.problem = problem.what();
  }
  if (!table.problem.empty())
    throw Failure::input("signal file '" + path + "' cannot be read as FAST5: " + table.problem, "copy the file again and compare checksums");
  return table;
}

}  // namespace sluice::signal_reader
