// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "cli/run_ending.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>

#include "machine/sanitizers.hpp"
#include "run/call_mark.hpp"
#include "session/exit_code.hpp"

namespace sluice::cli {
namespace {

constexpr int seconds_to_react = 2;

// What the handlers need. Only one run goes on at a time.
std::atomic<Run*> running{nullptr};
std::atomic<int> users{0};  // of `running` in handlers and in the watcher: the run stays while there are any
std::atomic<sem_t*> waker{nullptr};
std::atomic<int> interrupts{0};
std::atomic<bool> has_to_end{false}, was_interrupted{false};
// How the run before ended, where none goes on.
enum class Before : std::uint8_t { none, whole, other };
std::atomic<Before> before{Before::none};
Before ending_of(const Run& run) { return run.has_whole_outputs() ? Before::whole : Before::other; }
thread_local bool has_lacked_memory = false;

// The run, for as long as this lives. [async-signal-safe]
class Running {
 public:
  Running() { ++users, run_ = running.load(); }
  Running(const Running&) = delete;
  ~Running() { --users; }
  Run* operator->() const { return run_; }
  Run& operator*() const { return *run_; }
  explicit operator bool() const { return run_ != nullptr; }

 private:
  Run* run_;
};

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

const char* words_of(LifeAnswer answer) {
  switch (answer) {
    case LifeAnswer::ends_input:
      return "\nsluice: nothing more is waited for: finishing what is there; once more to stop at once\n";
    case LifeAnswer::finishes:
      return "\nsluice: interrupted: finishing what is in flight; once more to stop at once\n";
    case LifeAnswer::completes:
      return "\nsluice: interrupted: all is done, and the outputs get their names; once more to stop at once\n";
    case LifeAnswer::drops:
    case LifeAnswer::takes_back:
      return "\nsluice: interrupted: stopping at once\n";
    case LifeAnswer::never_begins:
      return "\nsluice: interrupted: nothing more is begun\n";
    default:
      return "\nsluice: interrupted: the run is over; once more to stop at once\n";
  }
}

// Whichever signal comes second wants everything to stop; the third does not wait for it.
void on_signal(bool may_end_input, bool ends_soon) {
  const int error = errno;
  const int count = ++interrupts;
  if (count > 2) ::_exit(exit_interrupted);
  LifeAnswer answer = LifeAnswer::never_begins;
  if (const Running run; run) answer = may_end_input ? run->end_input_or_interrupt() : run->interrupt();
  if (answer != LifeAnswer::ends_input) was_interrupted = true;
  if (answer == LifeAnswer::never_begins)
    if (const Running begun_meanwhile; begun_meanwhile) begun_meanwhile->tell(LifeEvent::first_interrupt);
  tell(ends_soon && count == 1 ? "\nsluice: terminated: two seconds for what is in flight\n" : words_of(answer));
  if (count == 2 || ends_soon) end_soon();
  errno = error;
}

void on_interrupt(int) { on_signal(true, false); }
void on_terminate(int) { on_signal(false, true); }

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

RunEnding::RunEnding() {
  static const bool registered = std::atexit(on_exit) == 0 && std::at_quick_exit(on_exit) == 0;
  static_cast<void>(registered);
  ::sem_init(&wake_, 0, 0);
  interrupts = 0;
  has_to_end = was_interrupted = false;
  watcher_ = std::thread([this] { watch(); });  // may throw: no signal must find half of this
  waker = &wake_;
  install(SIGINT, on_interrupt, SA_RESTART);
  install(SIGTERM, on_terminate, SA_RESTART);
}

RunEnding::~RunEnding() {
  for (int i = 0; i < installed_; ++i) ::sigaction(before_[i].signal, &before_[i].action, nullptr);
  waker = nullptr;
  over_ = true;
  ::sem_post(&wake_);
  watcher_.join();
  ::sem_destroy(&wake_);
}

void tell_of_crashes() {
#ifndef SLUICE_SANITIZED  // sanitizers have more to say about a crash
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND) | SA_NODEFER;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigaction(signal, &action, nullptr);
#endif
}

void end_uncaught() {
  if (!has_lacked_memory) std::abort();
  tell_place("\nsluice: out of memory in ", " (lower --memory or --threads). No output was kept.\n");
  if (Run* const run = running.load(); run != nullptr) run->remove_temporaries();
  ::_exit(exit_failed);
}

void note_lack_of_memory() {
  has_lacked_memory = true;
  throw std::bad_alloc();
}

bool RunEnding::interrupted() const { return was_interrupted; }

RunEnding::Of::Of(Run& run) {
  running = &run;
  // A signal that came before this has found no run; one that comes now finds it, or is found here.
  if (was_interrupted) run.tell(LifeEvent::first_interrupt);
}

RunEnding::Of::~Of() {
  if (const Run* const run = running.load(); run != nullptr) before = ending_of(*run);
  running = nullptr;
  while (users > 0) std::this_thread::yield();
  if (!was_interrupted) interrupts = 0;  // the end of one run's input is not that of the next one's
}

void RunEnding::install(int signal, void (*handler)(int), int flags) {
  struct sigaction before {};
  if (::sigaction(signal, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  before_[installed_].signal = signal;
  ::sigaction(signal, &action, &before_[installed_].action);
  ++installed_;
}

// Waits for a signal that wants the process to end, then for the command to react.
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
  const Running run;
  const LifeState state = run ? run->state() : LifeState::ended;
  const Before ended = run ? ending_of(*run) : before.load();
  running = nullptr;
  if (run) run->remove_temporaries();
  tell(state == LifeState::publishing ? "sluice: stopped while the outputs got their names: some may be there\n"
       : state != LifeState::ended    ? "sluice: stopped: nothing was kept\n"
       : ended == Before::whole       ? "sluice: stopped: the outputs are there, what is said of the run may not be\n"
       : ended == Before::other       ? "sluice: stopped: the run had ended without whole outputs\n"
                                      : "sluice: stopped before a run began\n");
  ::_exit(exit_interrupted);
}

}  // namespace sluice::cli
