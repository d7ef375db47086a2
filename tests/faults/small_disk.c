// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// For LD_PRELOAD: every disk says that DISK_ROOM bytes are left on it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/statvfs.h>

#define STATVFS(name, type)                                                                 \
  int name(const char* path, struct type* disk) {                                           \
    int (*really)(const char*, struct type*) = (__typeof__(really))dlsym(RTLD_NEXT, #name); \
    const char* const room = getenv("DISK_ROOM");                                           \
    const int result = really(path, disk);                                                  \
    if (result != 0 || room == NULL) return result;                                         \
    disk->f_frsize = 1;                                                                     \
    disk->f_bavail = disk->f_bfree = (__typeof__(disk->f_bavail))strtoull(room, NULL, 10);  \
    return 0;                                                                               \
  }
STATVFS(statvfs, statvfs)
STATVFS(statvfs64, statvfs64)
