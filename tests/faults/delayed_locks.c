// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// For LD_PRELOAD: sleeps of random length before and behind every lock, and before every thread that is woken, so that threads meet in orders that
// they rarely meet in. DELAYED_LOCKS=SEED. One call in sixteen sleeps, up to 64 microseconds; one in 4096 for two milliseconds.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static uint64_t seed = 0;
static int awake = 0;
static atomic_ulong calls = 0;

static int (*real_lock)(pthread_mutex_t*);
static int (*real_try)(pthread_mutex_t*);
static int (*real_unlock)(pthread_mutex_t*);
static int (*real_signal)(pthread_cond_t*);
static int (*real_broadcast)(pthread_cond_t*);
static int (*real_read)(pthread_rwlock_t*);
static int (*real_write)(pthread_rwlock_t*);

// The conditions of today have another form than those of before 2002, which dlsym may find first.
static void* condition(const char* name) {
  void* found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
  return found != NULL ? found : dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void begin(void) {
  real_lock = (int (*)(pthread_mutex_t*))dlsym(RTLD_NEXT, "pthread_mutex_lock");
  real_try = (int (*)(pthread_mutex_t*))dlsym(RTLD_NEXT, "pthread_mutex_trylock");
  real_unlock = (int (*)(pthread_mutex_t*))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
  real_signal = (int (*)(pthread_cond_t*))condition("pthread_cond_signal");
  real_broadcast = (int (*)(pthread_cond_t*))condition("pthread_cond_broadcast");
  real_read = (int (*)(pthread_rwlock_t*))dlsym(RTLD_NEXT, "pthread_rwlock_rdlock");
  real_write = (int (*)(pthread_rwlock_t*))dlsym(RTLD_NEXT, "pthread_rwlock_wrlock");
  const char* wish = getenv("DELAYED_LOCKS");
  if (wish == NULL) return;
  seed = strtoull(wish, NULL, 10);
  awake = 1;
}

// splitmix64 of the seed and a counter.
static void delay(void) {
  if (!awake) return;
  uint64_t z = seed * 0x9E3779B97F4A7C15U + (atomic_fetch_add(&calls, 1) + 1) * 0xD1B54A32D192ED03U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  z ^= z >> 31;
  if (z % 16 != 0) return;
  const long microseconds = (z >> 8) % 256 == 0 ? 2000 : (long)((z >> 16) % 64);
  const struct timespec time = {0, 1000 * microseconds};
  nanosleep(&time, NULL);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  if (real_lock == NULL) begin();
  delay();
  const int result = real_lock(mutex);
  delay();
  return result;
}
int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  if (real_try == NULL) begin();
  delay();
  return real_try(mutex);
}
int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  if (real_unlock == NULL) begin();
  const int result = real_unlock(mutex);
  delay();
  return result;
}
int pthread_cond_signal(pthread_cond_t* woken) {
  if (real_signal == NULL) begin();
  delay();
  return real_signal(woken);
}
int pthread_cond_broadcast(pthread_cond_t* woken) {
  if (real_broadcast == NULL) begin();
  delay();
  return real_broadcast(woken);
}
int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  if (real_read == NULL) begin();
  delay();
  return real_read(lock);
}
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  if (real_write == NULL) begin();
  delay();
  return real_write(lock);
}
