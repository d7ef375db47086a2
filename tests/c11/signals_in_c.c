/* SPDX-License-Identifier: MIT
 * SPDX-FileCopyrightText: The sluice authors
 *
 * A C program that is interrupted at many moments: its handler of SIGINT tells the run that it is in. A signal that the run has acknowledged ends it:
 * SLUICE_END, and each output whole, absent, or its beginning under NAME.partial. A stage sends the signal, while it is made, in any batch, or when
 * all batches are done; or a thread of the program does, whenever it comes to it, once or twice. signals_in_c FOLDER TEST_PLUGIN_DIR [SIGNALS]
 * SIGNALS: 100 unless given The longest time from a signal to the end of its run is printed, and decides nothing. */
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sluice.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { batches = 120, most_bytes = 1 << 16 }; /* 7 rows each */

static const char pipeline[] =
    "[pipeline]\nname = \"counted\"\n"
    "[parameters.one]\ntype = \"path\"\n"
    "[parameters.two]\ntype = \"path\"\n"
    "[parameters.when]\ntype = \"string\"\ndefault = \"process\"\n"
    "[parameters.what]\ntype = \"string\"\ndefault = \"nothing\"\n"
    "[parameters.at]\ntype = \"int\"\ndefault = 0\n"
    "[stages.source]\nuse = \"toy_positions\"\nparams = { rows = 840 }\n"
    "[stages.work]\nuse = \"misbehaving_map\"\nparams = { what = \"${what}\", when = \"${when}\", at_batch = \"${at}\" }\n"
    "[stages.first]\nuse = \"toy_sink\"\ninputs = [\"work\"]\nparams.output = \"${one}\"\n"
    "[stages.second]\nuse = \"toy_sink\"\ninputs = [\"work\"]\nparams.output = \"${two}\"\n";

static int failures;
static const char* folder;
static char one[4096], two[4096], whole[most_bytes];
static size_t whole_bytes;

static _Atomic(sluice_run*) interruptible; /* the run that a signal is for */
static atomic_int in_handler, acknowledged;
static _Atomic(double) first_signal;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void on_signal(int number) {
  (void)number;
  atomic_fetch_add(&in_handler, 1);
  sluice_run* run = atomic_load(&interruptible);
  double none = 0;
  if (run != NULL) {
    atomic_compare_exchange_strong(&first_signal, &none, now());
    if (sluice_run_interrupt(run)) atomic_fetch_add(&acknowledged, 1);
  }
  atomic_fetch_sub(&in_handler, 1);
}

/* A number for two counters: splitmix64. */
static uint64_t hashed(uint64_t kind, uint64_t number) {
  uint64_t z = (kind * 1000003 + number + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return (z ^ (z >> 31)) >> 1;
}

static void fail(const char* what, const char* which) {
  ++failures;
  fprintf(stderr, "FAILED: %s: %s\n", which, what);
}

/* The bytes of a file; -1: there is none. */
static long content(const char* path, char* bytes) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) return -1;
  const size_t count = fread(bytes, 1, most_bytes, file);
  fclose(file);
  return (long)count;
}

/* Whether FILE is there, which is then whole. */
static int is_there(const char* file, const char* which) {
  static char bytes[most_bytes];
  char partial[4104];
  snprintf(partial, sizeof partial, "%s.partial", file);
  const long complete = content(file, bytes);
  if (complete >= 0 && ((size_t)complete != whole_bytes || memcmp(bytes, whole, whole_bytes) != 0)) fail("an output is not whole", which);
  const long begun = content(partial, bytes);
  if (begun >= 0 && ((size_t)begun > whole_bytes || memcmp(bytes, whole, (size_t)begun) != 0)) fail("a partial output is no beginning", which);
  if (complete >= 0 && begun >= 0) fail("an output is whole and cut", which);
  remove(file);
  remove(partial);
  return complete >= 0;
}

/* Hidden files are there together with the journal that the run can go on from, or not at all. Removes them. */
static void only_what_resumes_is_left(const char* which) {
  char journal[4200], hidden[8192];
  snprintf(journal, sizeof journal, "%s/.signals_in_c.one.tsv.resume", folder);
  const int can_resume = remove(journal) == 0;
  DIR* all = opendir(folder);
  for (const struct dirent* file = NULL; all != NULL && (file = readdir(all)) != NULL;) {
    if (strncmp(file->d_name, ".signals_in_c.", 14) != 0) continue;
    if (!can_resume) fail("a temporary file is left", which);
    snprintf(hidden, sizeof hidden, "%s/%s", folder, file->d_name);
    remove(hidden);
  }
  if (all != NULL) closedir(all);
}

struct Signals {
  uint64_t turns; /* of the scheduler that are let go by first, and between two */
  int count;
};

static void* send_signals(void* arguments) {
  const struct Signals* signals = arguments;
  for (int i = 0; i < signals->count; ++i) {
    for (uint64_t turn = 0; turn < signals->turns; ++turn) sched_yield();
    kill(getpid(), SIGINT);
  }
  return NULL;
}

static sluice_status run_once(sluice_engine* engine, const char* what, const char* when, uint64_t at, const struct Signals* signals, int by_start) {
  char batch[32];
  snprintf(batch, sizeof batch, "%d", (int)at);
  const sluice_setting parameters[] = {{"one", one}, {"two", two}, {"what", what}, {"when", when}, {"at", batch}};
  const sluice_setting options[] = {{"threads", "2"}, {"device", "cpu"}};
  sluice_run_request request = {0};
  request.struct_size = sizeof request;
  request.pipeline_text = pipeline;
  request.parameters = parameters;
  request.parameter_count = 5;
  request.options = options;
  request.option_count = 2;
  sluice_run* run = sluice_run_new(engine, &request);
  atomic_store(&acknowledged, 0);
  atomic_store(&first_signal, 0);
  atomic_store(&interruptible, run);
  pthread_t sender;
  if (signals != NULL) pthread_create(&sender, NULL, send_signals, (void*)signals);
  sluice_status status = SLUICE_OK;
  if (by_start) {
    status = sluice_run_start(run);
    sluice_run_wait(run, -1);
    status = status == SLUICE_OK ? sluice_run_status(run) : status;
  } else {
    status = sluice_run_execute(run);
  }
  if (signals != NULL) pthread_join(sender, NULL);
  atomic_store(&interruptible, NULL);
  while (atomic_load(&in_handler) > 0) sched_yield();
  if (status != SLUICE_OK && status != SLUICE_END) {
    sluice_problem problem = {0};
    problem.struct_size = sizeof problem;
    if (sluice_run_problem(run, 0, &problem) == SLUICE_OK) fprintf(stderr, "%s\n", problem.text);
  }
  sluice_run_free(run);
  return status;
}

int main(int argument_count, char** arguments) {
  if (argument_count < 3) return EXIT_FAILURE;
  folder = arguments[1];
  const long count = argument_count > 3 ? strtol(arguments[3], NULL, 10) : 100;
  snprintf(one, sizeof one, "%s/signals_in_c.one.tsv", folder);
  snprintf(two, sizeof two, "%s/signals_in_c.two.tsv", folder);
  struct sigaction action = {0};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, NULL);
  sluice_engine* engine = sluice_engine_new((const char* const*)&arguments[2], 1, NULL);
  if (run_once(engine, "nothing", "process", 0, NULL, 0) != SLUICE_OK) fail("it does not end well", "the undisturbed run");
  whole_bytes = (size_t)content(one, whole);
  if (!is_there(one, "the undisturbed run") || !is_there(two, "the undisturbed run")) fail("an output is missing", "the undisturbed run");
  static const char* const moments[] = {"create", "process", "process", "process", "destroy"};
  long obeyed = 0;
  double slowest = 0;
  for (long i = 0; i < count && failures < 20; ++i) {
    const int from_outside = i % 2 == 1, by_start = i / 2 % 2 == 1;
    const uint64_t random = hashed(1, (uint64_t)i), at = random / 8 % batches;
    const char* when = moments[random % 5];
    const struct Signals signals = {hashed(2, (uint64_t)i) % (i % 4 == 1 ? 100 : 4000), 1 + (int)(random % 2)};
    char which[128];
    if (from_outside)
      snprintf(which, sizeof which, "signal %ld, %d from a thread behind %d turns%s", i, signals.count, (int)signals.turns,
               by_start ? ", started" : "");
    else
      snprintf(which, sizeof which, "signal %ld, %s %d%s", i, when, (int)at, by_start ? ", started" : "");
    const sluice_status status = run_once(engine, from_outside ? "nothing" : "interrupt", when, at, from_outside ? &signals : NULL, by_start);
    const double ended = now(), begun = atomic_load(&first_signal);
    const int was_acknowledged = atomic_load(&acknowledged);
    /* What the last batch sends may come when the run is over: another thread may take it. */
    const int is_in_time = strcmp(when, "destroy") != 0 && (strcmp(when, "process") != 0 || at + 1 < batches);
    if (!from_outside && !was_acknowledged && is_in_time) fail("nothing was interrupted", which);
    if (status != (was_acknowledged ? SLUICE_END : SLUICE_OK)) fail("the run ends otherwise than its signal was answered", which);
    if (was_acknowledged) ++obeyed;
    if (was_acknowledged && ended - begun > slowest) slowest = ended - begun;
    const int first = is_there(one, which), second = is_there(two, which);
    if (first != second) fail("one of two outputs appeared", which);
    if (!was_acknowledged && !first) fail("an output is missing", which);
    only_what_resumes_is_left(which);
  }
  sluice_engine_free(engine);
  printf("%ld signals, %ld acknowledged and obeyed, the slowest after %.2f s\n", count, obeyed, slowest);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
