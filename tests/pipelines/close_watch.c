/* SPDX-License-Identifier: MIT
 * SPDX-FileCopyrightText: The sluice authors
 *
 * Loaded before a program (LD_PRELOAD): what the program `sluice` closes without having it open is written to the file that CLOSE_WATCH names, with
 * the functions that were at it. Other programs are left alone; some close whatever number there may be. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void tell(const char* function) {
  const char* const path = getenv("CLOSE_WATCH");
  if (path == NULL || strcmp(program_invocation_short_name, "sluice") != 0) return;
  const int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (file < 0) return;
  void* frames[16];
  dprintf(file, "%s of a file that is not open:\n", function);
  backtrace_symbols_fd(frames, backtrace(frames, 16), file);
  syscall(SYS_close, file);
}

int close(int number) {
  const long result = syscall(SYS_close, number);
  if (result == 0 || errno != EBADF) return (int)result;
  tell("close");
  errno = EBADF;
  return -1;
}

int fclose(FILE* file) {
  int (*real)(FILE*) = NULL;
  *(void**)&real = dlsym(RTLD_NEXT, "fclose");
  const int result = real(file);
  if (result == 0 || errno != EBADF) return result;
  tell("fclose");
  errno = EBADF;
  return result;
}
