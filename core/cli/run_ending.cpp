// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "cli/run_ending.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "cli/exit_code.hpp"
#include "machine/sanitizers.hpp"
#include "run/call_mark.hpp"

namespace sluice::cli {
namespace {

constexpr int seconds_to_react = 2;

// What the handlers need. Only one run goes on at a time.
std::atomic<Run*> running{nullptr};
std::atomic<sem_t*> waker{nullptr};
std::atomic<int> interrupts{0};
std::atomic<bool> has_to_end{false};

// [async-signal-safe]
void tell(const char* text, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t written = ::write(STDERR_FILENO, text, bytes);
    if (written < 0) return;  // nobody is there to be told
    text += written;
    bytes -= static_cast<std::size_t>(written);
  }
}
void tell(const char* text) { tell(text, std::strlen(text)); }

// "sluice: " before, what this thread is doing, and a line's end.
void tell_place(const char* before, const char* after) {
  char place[512];
  tell(before);
  tell(place, CallMark::describe_current(place, sizeof place));
  tell(after);
}

void end_soon() {
  has_to_end = true;
  if (sem_t* semaphore = waker.load()) ::sem_post(semaphore);
}

// Whichever signal comes second wants everything to stop; the third does not wait for it.
void interrupt_run(const char* first_words, bool ends_soon) {
  const int error = errno;
  const int count = ++interrupts;
  if (count > 2) ::_exit(exit_interrupted);
  tell(count == 1 ? first_words : "\nsluice: stopping at once\n");
  if (Run* run = running.load()) run->interrupt();
  if (count == 2 || ends_soon) end_soon();
  errno = error;
}

// What follows its input ends with what is there, and the run is a whole one.
bool end_following() {
  Run* run = running.load();
  if (interrupts != 0 || run == nullptr || !run->end_following()) return false;
  ++interrupts;
  const int error = errno;
  tell("\nsluice: nothing more is waited for: finishing what is there; once more to stop at once\n");
  errno = error;
  return true;
}

void on_interrupt(int) {
  if (end_following()) return;
  interrupt_run("\nsluice: interrupted: finishing what is under way; once more to stop at once\n", false);
}
void on_terminate(int) { interrupt_run("\nsluice: terminated: two seconds for what is under way\n", true); }

const char* crash_name(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "\nsluice: crashed (SIGSEGV, memory that is not there) in ";
    case SIGBUS:
      return "\nsluice: crashed (SIGBUS, a file that became shorter, or a damaged library) in ";
    case SIGFPE:
      return "\nsluice: crashed (SIGFPE, a division by zero) in ";
    case SIGILL:
      return "\nsluice: crashed (SIGILL, an instruction that this processor does not have) in ";
    default:
      return "\nsluice: crashed (SIGABRT, abort or an exception that nobody caught) in ";
  }
}

// Libraries below us crash or abort where they get no memory. [async-signal-safe]
bool is_out_of_memory() {
  constexpr std::size_t little = 16 << 20;
  void* const probe = ::mmap(nullptr, little, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (probe == MAP_FAILED) return true;
  ::munmap(probe, little);
  return false;
}

// Only writes: after a crash nothing else can be trusted. The signal was reset to its default when it was delivered, so it ends the process when
// it comes again.
[[maybe_unused]] void on_crash(int signal) {
  if (is_out_of_memory()) {
    tell_place("\nsluice: out of memory in ", " (lower --memory or --threads, or raise ulimit -v). No output was kept.\n");
    ::_exit(exit_failed);
  }
  tell_place(crash_name(signal), ": a bug there, not in your data; please report it. No output was kept.\n");
  ::raise(signal);
}

// Registered before the run, so that it is called before anything of the plugins is destroyed.
void on_exit() {
  Run* run = running.exchange(nullptr);
  if (run == nullptr) return;
  tell_place("\nsluice: ", " ended the process with exit(): a bug there; please report it. No output was kept.\n");
  run->remove_temporaries();
  ::_exit(exit_failed);
}

}  // namespace

RunEnding::RunEnding(Run& run) : run_(run) {
  static const bool registered = std::atexit(on_exit) == 0 && std::at_quick_exit(on_exit) == 0;
  static_cast<void>(registered);
  ::sem_init(&wake_, 0, 0);
  interrupts = 0;
  has_to_end = false;
  watcher_ = std::thread([this] { watch(); });  // may throw: nobody must know of a run that has not begun
  waker = &wake_;
  running = &run;
  install(SIGINT, on_interrupt, SA_RESTART);
  install(SIGTERM, on_terminate, SA_RESTART);
#ifndef SLUICE_SANITIZED  // sanitizers have more to say about a crash
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    install(signal, on_crash, SA_ONSTACK | static_cast<int>(SA_RESETHAND) | SA_NODEFER);
#endif
}

RunEnding::~RunEnding() {
  for (int i = 0; i < installed_; ++i) ::sigaction(before_[i].signal, &before_[i].action, nullptr);
  running = nullptr;
  waker = nullptr;
  over_ = true;
  ::sem_post(&wake_);
  watcher_.join();
  ::sem_destroy(&wake_);
}

void RunEnding::install(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  before_[installed_].signal = signal;
  ::sigaction(signal, &action, &before_[installed_].action);
  ++installed_;
}

// Waits for a signal that wants the process to end, then for the run to react.
void RunEnding::watch() {
  while (::sem_wait(&wake_) != 0) {  // a signal came on this thread
  }
  if (over_ || !has_to_end) return;
  timespec deadline{};
  ::clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_sec += seconds_to_react;
  for (bool out_of_time = false; !out_of_time;) {
    out_of_time = ::sem_timedwait(&wake_, &deadline) != 0 && errno == ETIMEDOUT;
    if (over_) return;
  }
  running = nullptr;
  run_.remove_temporaries();
  tell("sluice: stopped: nothing was kept\n");
  ::_exit(exit_interrupted);
}

}  // namespace sluice::cli
