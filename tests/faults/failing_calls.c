// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// For LD_PRELOAD: the n-th call of one of the system's functions fails.
//   FAILING_CALL=NAME@FIRST[+COUNT]   calls FIRST to FIRST + COUNT - 1 of NAME fail, counted from 1; COUNT: 1 unless given, "+" alone: all that
//   follow
//   FAILING_CALL_COUNTS=FILE          at the end the number of calls of NAME is written there
// NAME `kill`: no call fails, but the process is killed (SIGKILL) before the n-th call that changes a file or a folder.
// NAME: memory (malloc, calloc, realloc, aligned_alloc, posix_memalign, mmap of nameless memory), place (the same, but only the first call from each
// place counts: the caller and the four before it), open, read, write, fsync, rename, close, mmap (of files), thread. What the program says on
// standard error never fails, as the message is what is looked for.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum Kind { none, memory, places, opening, reading, writing, syncing, renaming, closing, mapping, threads, killing };
static const char* const names[] = {"", "memory", "place", "open", "read", "write", "fsync", "rename", "close", "mmap", "thread", "kill"};

static enum Kind failing = none;
static long first = 0, end = 0;
static atomic_long counted = 0;
static const char* counts_file = NULL;
static atomic_int said = 0;
static int in_main = 0;  // what is made before main nobody can say anything about
static int (*the_main)(int, char**, char**);

static int fails(enum Kind kind) {
  if (kind != failing || !in_main) return 0;
  const long number = atomic_fetch_add(&counted, 1) + 1;
  return number >= first && number < end;
}

// Before a call that changes a file or a folder; always 0.
static int changes(void) { return fails(killing) ? kill(getpid(), SIGKILL) : 0; }

__attribute__((constructor)) static void begin(void) {
  void* loads_the_unwinder[1];
  backtrace(loads_the_unwinder, 1);
  const char* wish = getenv("FAILING_CALL");
  counts_file = getenv("FAILING_CALL_COUNTS");
  if (wish == NULL) return;
  const char* at = strchr(wish, '@');
  if (at == NULL) return;
  first = strtol(at + 1, NULL, 10);
  const char* count = strchr(at, '+');
  end = count == NULL ? first + 1 : count[1] == '\0' ? __LONG_MAX__ : first + strtol(count + 1, NULL, 10);
  for (size_t kind = 1; kind < sizeof names / sizeof *names; ++kind)
    if (strncmp(wish, names[kind], (size_t)(at - wish)) == 0 && names[kind][at - wish] == '\0') failing = (enum Kind)kind;
}

__attribute__((destructor)) static void tell(void) {
  if (counts_file == NULL || failing == none || atomic_exchange(&said, 1)) return;
  const long number = atomic_load(&counted);
  failing = none;
  FILE* file = fopen(counts_file, "w");
  if (file == NULL) return;
  fprintf(file, "%ld\n", number);
  fclose(file);
}

static int main_that_counts(int count, char** arguments, char** environment) {
  in_main = 1;
  return the_main(count, arguments, environment);
}
typedef int (*Start)(int (*)(int, char**, char**), int, char**, void (*)(void), void (*)(void), void (*)(void), void*);
int __libc_start_main(int (*main)(int, char**, char**), int count, char** arguments, void (*init)(void), void (*fini)(void),
                      void (*end_of_loader)(void), void* stack) {
  the_main = main;
  return ((Start)dlsym(RTLD_NEXT, "__libc_start_main"))(main_that_counts, count, arguments, init, fini, end_of_loader, stack);
}

// The program ends so where a driver still starts: without destructors.
#define NEXT(name) ((__typeof__(&name))next(#name))
static void* next(const char* name) { return dlsym(RTLD_NEXT, name); }
void _exit(int code) {
  tell();
  NEXT(_exit)(code);
  __builtin_unreachable();
}
void _Exit(int code) { _exit(code); }

// ---- memory. glibc's own names for what malloc does: looking for them by dlsym would allocate.

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static void* no_memory(void) {
  errno = ENOMEM;
  return NULL;
}

enum { frames_of_place = 5, most_places = 1 << 17 };
static atomic_ulong places_seen[most_places];
static __thread int in_backtrace = 0;  // it may allocate itself

// Is it the first call from here?
static int is_new_place(void) {
  void* callers[3 + frames_of_place];  // before: this function, fails_here(), malloc()
  in_backtrace = 1;
  const int count = backtrace(callers, 3 + frames_of_place);
  in_backtrace = 0;
  uint64_t hash = 0xCBF29CE484222325;
  for (int i = 3; i < count; ++i) hash = (hash ^ (uint64_t)callers[i]) * 0x100000001B3, hash ^= hash >> 29;
  if (hash == 0) hash = 1;
  for (unsigned long slot = hash % most_places;; slot = (slot + 1) % most_places) {
    unsigned long there = 0;
    if (atomic_compare_exchange_strong(&places_seen[slot], &there, hash)) return 1;
    if (there == hash) return 0;
  }
}

// CUDA's runtime is part of each plugin that has kernels, and does not look at what it gets while that is loaded. C++ asks by libstdc++.
static __thread int loading = 0;
static int is_of_cuda(const void* caller) {
  Dl_info place;
  return loading && dladdr(caller, &place) != 0 && place.dli_fname != NULL && strstr(place.dli_fname, "/plugins/") != NULL;
}
void* dlopen(const char* file, int flags) {
  ++loading;
  void* const library = NEXT(dlopen)(file, flags);
  --loading;
  return library;
}

__attribute__((noinline)) static int fails_here(const void* caller) {
  if (!in_main || in_backtrace || is_of_cuda(caller)) return 0;
  if (failing == places) return is_new_place() && fails(places);
  return fails(memory);
}
#define NO_MEMORY fails_here(__builtin_return_address(0))

void* malloc(size_t bytes) { return NO_MEMORY ? no_memory() : __libc_malloc(bytes); }
void* calloc(size_t count, size_t bytes) { return NO_MEMORY ? no_memory() : __libc_calloc(count, bytes); }
void* realloc(void* old, size_t bytes) { return bytes > 0 && NO_MEMORY ? no_memory() : __libc_realloc(old, bytes); }
void* aligned_alloc(size_t alignment, size_t bytes) { return NO_MEMORY ? no_memory() : __libc_memalign(alignment, bytes); }
void* memalign(size_t alignment, size_t bytes) { return NO_MEMORY ? no_memory() : __libc_memalign(alignment, bytes); }
int posix_memalign(void** made, size_t alignment, size_t bytes) {
  if (NO_MEMORY) return ENOMEM;
  void* block = __libc_memalign(alignment, bytes);
  if (block == NULL) return ENOMEM;
  *made = block;
  return 0;
}

static void* map(void* (*really)(void*, size_t, int, int, int, off_t), void* address, size_t bytes, int protection, int flags, int file,
                 off_t offset) {
  if (file < 0 ? fails_here(NULL) : fails(mapping)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return really(address, bytes, protection, flags, file, offset);
}
void* mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) {
  return map(NEXT(mmap), address, bytes, protection, flags, file, offset);
}
void* mmap64(void* address, size_t bytes, int protection, int flags, int file, off_t offset) {
  return map(NEXT(mmap), address, bytes, protection, flags, file, offset);
}

// ---- files

static int error(int number) {
  errno = number;
  return -1;
}

#define OPEN(name)                                                                         \
  int name(const char* path, int flags, ...) {                                             \
    va_list more;                                                                          \
    va_start(more, flags);                                                                 \
    const mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0; \
    va_end(more);                                                                          \
    if ((flags & (O_CREAT | O_TRUNC)) != 0) changes();                                     \
    return fails(opening) ? error(EMFILE) : NEXT(name)(path, flags, mode);                 \
  }
OPEN(open)
OPEN(open64)
#define OPEN_AT(name)                                                                      \
  int name(int folder, const char* path, int flags, ...) {                                 \
    va_list more;                                                                          \
    va_start(more, flags);                                                                 \
    const mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0; \
    va_end(more);                                                                          \
    if ((flags & (O_CREAT | O_TRUNC)) != 0) changes();                                     \
    return fails(opening) ? error(EMFILE) : NEXT(name)(folder, path, flags, mode);         \
  }
OPEN_AT(openat)
OPEN_AT(openat64)
#define OPEN_STREAM(name)                              \
  FILE* name(const char* path, const char* how) {      \
    if (!fails(opening)) return NEXT(name)(path, how); \
    errno = EMFILE;                                    \
    return NULL;                                       \
  }
OPEN_STREAM(fopen)
OPEN_STREAM(fopen64)

ssize_t read(int file, void* to, size_t bytes) { return fails(reading) ? error(EIO) : NEXT(read)(file, to, bytes); }
ssize_t pread(int file, void* to, size_t bytes, off_t at) { return fails(reading) ? error(EIO) : NEXT(pread)(file, to, bytes, at); }
ssize_t pread64(int file, void* to, size_t bytes, off_t at) { return fails(reading) ? error(EIO) : NEXT(pread)(file, to, bytes, at); }
ssize_t write(int file, const void* from, size_t bytes) {
  if (file == STDERR_FILENO) return NEXT(write)(file, from, bytes);
  return changes() || fails(writing) ? error(ENOSPC) : NEXT(write)(file, from, bytes);
}
ssize_t writev(int file, const struct iovec* parts, int count) {
  if (file == STDERR_FILENO) return NEXT(writev)(file, parts, count);
  return changes() || fails(writing) ? error(ENOSPC) : NEXT(writev)(file, parts, count);
}
ssize_t pwrite(int file, const void* from, size_t bytes, off_t at) {
  return changes() || fails(writing) ? error(ENOSPC) : NEXT(pwrite)(file, from, bytes, at);
}
ssize_t pwrite64(int file, const void* from, size_t bytes, off_t at) { return pwrite(file, from, bytes, at); }
int fsync(int file) { return changes() || fails(syncing) ? error(EIO) : NEXT(fsync)(file); }
int fdatasync(int file) { return changes() || fails(syncing) ? error(EIO) : NEXT(fdatasync)(file); }
int rename(const char* from, const char* to) { return changes() || fails(renaming) ? error(EIO) : NEXT(rename)(from, to); }
int renameat(int a, const char* from, int b, const char* to) { return changes() || fails(renaming) ? error(EIO) : NEXT(renameat)(a, from, b, to); }
// That one may fail without harm; these can't be told to.
int renameat2(int a, const char* from, int b, const char* to, unsigned flags) { return changes() ? -1 : NEXT(renameat2)(a, from, b, to, flags); }
int unlink(const char* path) { return changes() ? -1 : NEXT(unlink)(path); }
int flock(int file, int how) { return changes() ? -1 : NEXT(flock)(file, how); }
int ftruncate(int file, off_t bytes) { return changes() ? -1 : NEXT(ftruncate)(file, bytes); }
int fchmod(int file, mode_t mode) { return changes() ? -1 : NEXT(fchmod)(file, mode); }
// The number is free afterwards, as on Linux, where what was written may be lost all the same.
int close(int file) {
  const int closed = NEXT(close)(file);
  return closed == 0 && fails(closing) ? error(EIO) : closed;
}

// oneTBB waits for ever where a thread of its own can't be started. It is asked only after as many of ours have been, so its calls do not count.
static int is_of_tbb(const void* caller) {
  Dl_info place;
  return dladdr(caller, &place) != 0 && place.dli_fname != NULL && strstr(place.dli_fname, "libtbb") != NULL;
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) {
  return !is_of_tbb(__builtin_return_address(0)) && fails(threads) ? EAGAIN : NEXT(pthread_create)(thread, attributes, body, argument);
}
