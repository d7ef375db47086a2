// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "testing/contract_case.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>
#include <utility>

// Of the sanitizers' run-time libraries, where the program has one.
extern "C" {
[[gnu::weak]] void __asan_init();
[[gnu::weak]] void __tsan_init();
[[gnu::weak]] int __lsan_do_recoverable_leak_check();
}

namespace sluice::testing::detail {

namespace {

// Shared with the children, which are forked: a literal has the same address there.
struct UnderWay {
  std::atomic<const char*> function{nullptr};
  std::atomic<std::size_t> batch{no_batch};
  std::array<char, 128> trial{};
};
UnderWay& under_way() {
  static UnderWay& shared = []() -> UnderWay& {
    void* const memory = ::mmap(nullptr, sizeof(UnderWay), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    return *new (memory) UnderWay;
  }();
  return shared;
}

std::string where() {
  const UnderWay& now = under_way();
  std::string text;
  if (const char* const function = now.function; function != nullptr) text = std::string(" in ") + function + "()";
  if (const std::size_t batch = now.batch; batch != no_batch) text += " of batch " + std::to_string(batch);
  if (now.trial[0] != '\0') text += std::string(" with ") + now.trial.data();
  return text;
}

// What a child has to say lies in a file without a name: each problem and a zero, and "." when all is said.
class Sayings {
 public:
  Sayings() : file_(::memfd_create("contract", MFD_CLOEXEC)) {
    if (file_ < 0) throw std::runtime_error(std::string("no memory for a case: ") + std::strerror(errno));
  }
  ~Sayings() { ::close(file_); }
  Sayings(const Sayings&) = delete;

  void write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t written = ::write(file_, text.data(), text.size());
      if (written < 0 && errno != EINTR) std::abort();
      text.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
    }
  }
  std::string read() const {
    std::string text;
    std::array<char, 4096> part;
    ::lseek(file_, 0, SEEK_SET);
    for (ssize_t got; (got = ::read(file_, part.data(), part.size())) > 0;) text.append(part.data(), static_cast<std::size_t>(got));
    return text;
  }

 private:
  const int file_;
};

constexpr std::array fatal_signals = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

[[noreturn]] void be_the_child(const Sayings& said, const std::function<Problems()>& body) {
  const auto say = [&](std::string_view problem) {
    said.write(problem);
    said.write(std::string_view("", 1));
  };
  // The test framework's handlers would tell another story. Those of a sanitizer tell this one.
  if (__asan_init == nullptr && __tsan_init == nullptr)
    for (const int signal : fatal_signals) std::signal(signal, SIG_DFL);
  try {
    for (const std::string& problem : body()) say(problem);
  } catch (const std::exception& problem) {
    say(problem.what());
  }
  if (__lsan_do_recoverable_leak_check != nullptr && __lsan_do_recoverable_leak_check() != 0) say("memory was never freed: LeakSanitizer says which");
  said.write(".");
  ::_exit(0);
}

std::string said_of_end(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const char* const name = ::sigabbrev_np(signal);
    return "crashed" + where() + ": SIG" + (name == nullptr ? std::to_string(signal) : name) + " (" + ::sigdescr_np(signal) + ")";
  }
  return "ended the process" + where() + " with exit code " + std::to_string(WEXITSTATUS(status));
}

std::string text_of(double number) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

// Until the child has ended, or for so long. False: it has not.
bool ends_within(pid_t child, double seconds) {
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  if (handle < 0) return true;  // an old kernel: waitpid() waits for ever
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  int ready = 0;
  do {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    pollfd wait{handle, POLLIN, 0};
    ready = ::poll(&wait, 1, static_cast<int>(std::clamp<long long>(left, 0, 1 << 30)));
  } while (ready < 0 && errno == EINTR);
  ::close(handle);
  return ready != 0;
}

// ---- in this process

// What the handler writes, made before: it may not allocate.
std::array<char, 512> name_of_case;
std::array<struct sigaction, fatal_signals.size()> handlers_before;
struct sigaction alarm_before;

void put(const char* text) { static_cast<void>(!::write(STDERR_FILENO, text, std::strlen(text))); }

void tell(int signal) {
  put(name_of_case.data());
  put(signal == SIGALRM ? ": takes too long" : ": crashed");
  if (const char* const function = under_way().function; function != nullptr) put(" in "), put(function), put("()");
  put("\n");
  for (std::size_t i = 0; i < fatal_signals.size(); ++i) ::sigaction(fatal_signals[i], &handlers_before[i], nullptr);
  std::signal(SIGALRM, SIG_DFL);
  ::raise(signal == SIGALRM ? SIGABRT : signal);
}

}  // namespace

void about_to_call(const char* function, std::size_t batch) {
  under_way().function = function;
  under_way().batch = batch;
}

void about_to_try(const std::string& what) { std::snprintf(under_way().trial.data(), under_way().trial.size(), "%s", what.c_str()); }

Problems run_apart(double seconds, const std::function<Problems()>& body) {
  const Sayings said;
  about_to_call(nullptr);
  about_to_try({});
  std::fflush(nullptr);  // what waits to be written is written once
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error(std::string("no process for a case: ") + std::strerror(errno));
  if (child == 0) be_the_child(said, body);
  const bool in_time = ends_within(child, seconds);
  if (!in_time) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::string text = said.read();
  Problems problems;
  for (std::size_t end; (end = text.find('\0')) != std::string::npos; text.erase(0, end + 1)) problems.push_back(text.substr(0, end));
  if (!in_time)
    problems.push_back("was not over after " + text_of(seconds) + " s" + where());
  else if (text != "." || !WIFEXITED(status))
    problems.push_back(said_of_end(status));
  else if (WEXITSTATUS(status) != 0)  // all was said: ThreadSanitizer changes the code of _exit()
    problems.push_back("ThreadSanitizer says what is wrong (exit code " + std::to_string(WEXITSTATUS(status)) + ")");
  return problems;
}

NamedCase::NamedCase(const std::string& name, double seconds) {
  std::snprintf(name_of_case.data(), name_of_case.size(), "%s", name.c_str());
  about_to_call(nullptr);
  struct sigaction action {};
  action.sa_handler = tell;
  for (std::size_t i = 0; i < fatal_signals.size(); ++i) ::sigaction(fatal_signals[i], &action, &handlers_before[i]);
  ::sigaction(SIGALRM, &action, &alarm_before);
  ::alarm(static_cast<unsigned>(std::max(seconds, 1.0)));
}

NamedCase::~NamedCase() {
  ::alarm(0);
  for (std::size_t i = 0; i < fatal_signals.size(); ++i) ::sigaction(fatal_signals[i], &handlers_before[i], nullptr);
  ::sigaction(SIGALRM, &alarm_before, nullptr);
}

}  // namespace sluice::testing::detail
