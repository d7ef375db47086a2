// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a plugin's own helper process is started with, by posix_spawn.

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

namespace sluice {

// The process is a group of its own, as Ctrl-C is for the one that starts it, and has no signal blocked or ignored. Files are the user's to add.
class SpawnSettings {
 public:
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

// Takes a descriptor, and gives the same file with a number above those that the process's are to have, so that no dup2 closes another's source. -1:
// there was none, or there are no more.
inline int moved_above_spawned(int descriptor) {
  constexpr int least = 16;
  const int moved = descriptor < 0 ? -1 : ::fcntl(descriptor, F_DUPFD_CLOEXEC, least);
  if (descriptor >= 0) ::close(descriptor);
  return moved;
}

}  // namespace sluice
