// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "python_stages/worker_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <sluice/failure.hpp>
#include <sluice/spawn_settings.hpp>
#include <system_error>
#include <thread>

extern char** environ;

namespace sluice::python {
namespace {

constexpr int worker_socket = 3, worker_words = 4;  // what the worker finds at these numbers
constexpr std::size_t largest_packet = std::size_t{1} << 18;
constexpr std::size_t most_words = 8192;

std::string system_text(int error) { return std::system_category().message(error); }

// Output of the run is no place for their prints.
void set_up(SpawnSettings& settings, int socket, int words) {
  posix_spawn_file_actions_addopen(&settings.actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&settings.actions, 2, 1);
  // By way of numbers that are not in each other's way.
  posix_spawn_file_actions_adddup2(&settings.actions, socket, worker_socket);
  posix_spawn_file_actions_adddup2(&settings.actions, words, worker_words);
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

WorkerProcess::WorkerProcess(const PythonPlace& place, const std::string& file, const std::string& function) : received_(largest_packet) {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) throw Failure::memory("no socket to a worker of Python");
  for (const int end : ends) {
    const int bytes = 2 * static_cast<int>(largest_packet);
    ::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  }
  const timeval tenth{0, 100'000};  // of a second, between two questions whether the run is over
  ::setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &tenth, sizeof tenth);
  socket_ = moved_above_spawned(ends[0]);
  const int theirs = moved_above_spawned(ends[1]);
  words_ = moved_above_spawned(::memfd_create("sluice worker's last words", MFD_CLOEXEC));
  std::vector<std::string> arguments = {place.interpreter, place.worker.string(), file, function};
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  if (!place.libsluice.empty()) variables.push_back("SLUICE_LIBRARY=" + place.libsluice.string());
  SpawnSettings settings;
  set_up(settings, theirs, words_);
  const int error = ::posix_spawnp(&pid_, place.interpreter.c_str(), &settings.actions, &settings.attributes, pointers_to(arguments).data(),
                                   pointers_to(variables).data());
  ::close(theirs);
  if (error == 0) return;
  pid_ = -1;
  ::close(socket_);
  ::close(words_);
  throw Failure(SLUICE_ERROR_UNSUPPORTED, "Python can't be started as '" + place.interpreter + "': " + system_text(error),
                "install Python 3.10 or later with pyarrow, or let SLUICE_PYTHON name its interpreter");
}

WorkerProcess::~WorkerProcess() {
  close_socket();
  if (!wait_for(std::chrono::milliseconds(1000))) kill();
  ::close(words_);
}

void WorkerProcess::close_socket() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

bool WorkerProcess::wait_for(std::chrono::milliseconds most) {
  const auto until = std::chrono::steady_clock::now() + most;
  while (pid_ > 0) {
    const pid_t ended = ::waitpid(pid_, &status_, WNOHANG);
    if (ended == pid_ || (ended < 0 && errno != EINTR)) pid_ = -1;  // somebody else may have waited for all children
    if (pid_ > 0 && std::chrono::steady_clock::now() >= until) return false;
    if (pid_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

void WorkerProcess::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

std::string WorkerProcess::last_words() const {
  std::string words(most_words, '\0');
  const ssize_t bytes = ::pread(words_, words.data(), words.size(), 0);
  words.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return words;
}

void WorkerProcess::died() {
  if (!wait_for(std::chrono::milliseconds(1000))) kill();
  std::string how = "it went without a word";
  if (WIFSIGNALED(status_)) how = "it was ended by signal " + std::to_string(WTERMSIG(status_)) + " (" + ::strsignal(WTERMSIG(status_)) + ")";
  if (WIFEXITED(status_)) how = "it ended itself with status " + std::to_string(WEXITSTATUS(status_));
  const std::string words = last_words();
  throw WorkerDied(how + (words.empty() ? "" : "\n" + words));
}

void WorkerProcess::send(std::string_view packet, int descriptor) {
  iovec part{const_cast<char*>(packet.data()), packet.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  while (::sendmsg(socket_, &message, MSG_NOSIGNAL) < 0) {
    if (errno == EMSGSIZE) throw Failure(SLUICE_ERROR_UNSUPPORTED, "parameters or columns are too many for a worker of Python");
    if (errno != EINTR) died();
  }
}

std::string WorkerProcess::receive(const std::function<bool()>& give_up) {
  while (true) {
    const ssize_t bytes = ::recv(socket_, received_.data(), received_.size(), 0);
    if (bytes > 0) return {received_.data(), static_cast<std::size_t>(bytes)};
    if (bytes == 0 || (errno != EINTR && errno != EAGAIN)) died();
    if (give_up()) {
      kill();
      throw Failure(SLUICE_ERROR_CANCELLED, "the run ends");
    }
  }
}

bool WorkerProcess::has_said() const {
  pollfd waiting{socket_, POLLIN, 0};
  return ::poll(&waiting, 1, 0) != 0;
}

std::string packed_texts(const std::vector<std::string>& texts) {
  std::string packet;
  for (const std::string& text : texts) packet.append(text.c_str(), text.size() + 1);
  return packet;
}

std::vector<std::string> unpacked_texts(std::string_view packet) {
  std::vector<std::string> texts;
  for (std::size_t end; (end = packet.find('\0')) != std::string_view::npos; packet.remove_prefix(end + 1)) texts.emplace_back(packet.substr(0, end));
  return texts;
}

}  // namespace sluice::python
