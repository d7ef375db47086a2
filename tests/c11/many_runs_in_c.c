/* SPDX-License-Identifier: MIT
 * SPDX-FileCopyrightText: The sluice authors
 *
 * A C program with a thousand runs in four threads while it writes files of its own, and with runs in processes that it forks: each run writes the
 * bytes of one that is alone, and no file of the program is closed under its feet. */
#include <fcntl.h>
#include <pthread.h>
#include <sluice.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { threads = 4, runs_a_thread = 250, host_bytes = 100000, most_bytes = 1 << 20 };

static atomic_int failures, is_over;
static sluice_engine* engine;
static const char* folder;
static char wanted[most_bytes];
static size_t wanted_bytes;

static void expect(int holds, const char* what) {
  if (!holds && atomic_fetch_add(&failures, 1) < 20) fprintf(stderr, "FAILED: %s\n", what);
}

static sluice_run* planned(const char* output, const char* stage) {
  sluice_setting parameters[] = {{"length", "100"}, {"contigs", "20"}, {"output", output}};
  sluice_setting options[] = {{"threads", "2"}, {"device", "cpu"}, {"batch_work", "1"}}; /* a stream waits with most of its batches */
  sluice_run_request request = {0};
  request.struct_size = sizeof request;
  request.pipeline = "synthetic_reference";
  request.parameters = parameters;
  request.parameter_count = 3;
  request.options = options;
  request.option_count = stage == NULL ? 2 : 3;
  request.stream_stage = stage;
  return sluice_run_new(engine, &request);
}

static size_t content(const char* path, char* bytes) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) return 0;
  size_t count = fread(bytes, 1, most_bytes, file);
  fclose(file);
  return count;
}

static void run_once(const char* name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  sluice_run* run = planned(path, NULL);
  expect(sluice_run_execute(run) == SLUICE_OK, "a run beside others ends well");
  sluice_run_free(run);
  char* bytes = malloc(most_bytes);
  size_t count = content(path, bytes);
  if (wanted_bytes == 0) memcpy(wanted, bytes, wanted_bytes = count);
  expect(count > 0 && count == wanted_bytes && memcmp(bytes, wanted, count) == 0, "it writes the bytes of a run that is alone");
  free(bytes);
  remove(path);
}

static void* many_runs(void* number) {
  char name[32];
  snprintf(name, sizeof name, "%d.fa", *(int*)number);
  for (int i = 0; i < runs_a_thread; ++i) run_once(name);
  return NULL;
}

/* What a host program does meanwhile. */
static void* host_files(void* unused) {
  char path[4096], piece[5000];
  memset(piece, 'x', sizeof piece);
  snprintf(path, sizeof path, "%s/host", folder);
  while (!atomic_load(&is_over)) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600), fine = file >= 0;
    for (int written = 0; written < host_bytes; written += (int)sizeof piece)
      fine = fine && write(file, piece, sizeof piece) == (ssize_t)sizeof piece;
    expect(fine && close(file) == 0, "a file of the program's own stays open");
  }
  remove(path);
  return unused;
}

static void in_threads(void) {
  pthread_t runners[threads], host;
  int numbers[threads];
  pthread_create(&host, NULL, host_files, NULL);
  for (int i = 0; i < threads; ++i) numbers[i] = i, pthread_create(&runners[i], NULL, many_runs, &numbers[i]);
  for (int i = 0; i < threads; ++i) pthread_join(runners[i], NULL);
  atomic_store(&is_over, 1);
  pthread_join(host, NULL);
}

static void wait_for(pid_t child, const char* what) {
  int status = 0;
  expect(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0, what);
}

static void in_a_child_between_runs(void) {
  atomic_store(&failures, 0);
  run_once("child.fa");
  sluice_end_all_runs();
  _exit(atomic_load(&failures) == 0 ? 0 : 1);
}

/* The run of the parent is known here, too, but nothing of it can be used, and it ends only there. */
static void in_a_child_amid_a_run(sluice_run* parents) {
  atomic_store(&failures, 0);
  struct ArrowArray batch;
  sluice_error error = {0};
  expect(sluice_run_next_batch(parents, -1, &batch, &error) == SLUICE_ERROR_USAGE && strstr(error.message, "the process that made it") != NULL,
         "a run of the parent gives no rows to its child");
  sluice_run* run = planned("never.fa", NULL);
  sluice_problem problem = {0};
  problem.struct_size = sizeof problem;
  expect(sluice_run_execute(run) == SLUICE_ERROR_USAGE && sluice_run_problem(run, 0, &problem) == SLUICE_OK &&
             strstr(problem.message, "forked while a run was in flight") != NULL,
         "a run of a child that was forked amid a run is refused");
  sluice_run_free(run);
  sluice_run_free(parents);
  sluice_end_all_runs();
  _exit(atomic_load(&failures) == 0 ? 0 : 1);
}

static void in_processes(void) {
  for (int i = 0; i < 20; ++i) {
    run_once("before.fa"); /* whose threads are still ending */
    pid_t child = fork();
    if (child == 0) in_a_child_between_runs();
    wait_for(child, "a process that was forked between runs makes its own");
  }
  sluice_run* run = planned("never.fa", "contigs");
  struct ArrowArray batch;
  expect(sluice_run_start(run) == SLUICE_OK && sluice_run_next_batch(run, -1, &batch, NULL) == SLUICE_OK, "a stream begins");
  pid_t child = fork();
  if (child == 0) in_a_child_amid_a_run(run);
  wait_for(child, "a process that was forked amid a run is told so, and ends");
  batch.release(&batch);
  sluice_run_free(run);
  run_once("after.fa");
}

int main(int argument_count, char** arguments) {
  if (argument_count != 2) return EXIT_FAILURE;
  folder = arguments[1];
  engine = sluice_engine_new(NULL, 0, NULL);
  run_once("alone.fa");
  in_threads();
#ifdef __SANITIZE_THREAD__
  const int may_fork = 0;
#else
  const int may_fork = 1;
#endif
  if (may_fork)
    in_processes();
  else
    puts("SKIPPED: runs in forked processes, as ThreadSanitizer allows them no threads");
  sluice_engine_free(engine);
  return atomic_load(&failures) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
