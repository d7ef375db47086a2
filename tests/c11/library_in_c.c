/* SPDX-License-Identifier: MIT
 * SPDX-FileCopyrightText: The sluice authors
 *
 * A C program that runs pipelines through sluice.h: a run, what is wrong with one, a stream read to its end, and one that is closed before it;
 * interrupts at any moment, and the end of all runs. */
#include <pthread.h>
#include <sched.h>
#include <sluice.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void expect(int holds, const char* what) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "FAILED: %s\n", what);
}

static sluice_run* planned(sluice_engine* engine, const char* pipeline, sluice_setting* parameters, size_t count, const char* stage) {
  /* A read is a batch: no run ends while its stream still has some to give. */
  sluice_setting options[] = {{"threads", "2"}, {"device", "cpu"}, {"batch_work", "1"}};
  sluice_run_request request = {0};
  request.struct_size = sizeof request;
  request.pipeline = pipeline;
  request.parameters = parameters;
  request.parameter_count = count;
  request.options = options;
  request.option_count = 3;
  request.stream_stage = stage;
  return sluice_run_new(engine, &request);
}

static int64_t rows_of(struct ArrowArrayStream* stream) {
  struct ArrowArray batch;
  int64_t rows = 0;
  while (stream->get_next(stream, &batch) == 0 && batch.release != NULL) {
    rows += batch.length;
    batch.release(&batch);
  }
  return rows;
}

static void check_run(sluice_engine* engine, const char* output) {
  sluice_setting parameters[] = {{"length", "100"}, {"contigs", "50"}, {"output", output}};
  sluice_run* run = planned(engine, "synthetic_reference", parameters, 3, NULL);
  remove(output);
  expect(sluice_run_execute(run) == SLUICE_OK, "a run ends well");
  FILE* written = fopen(output, "r");
  expect(written != NULL && fgetc(written) == '>' && fclose(written) == 0, "and writes its output");
  char* report = sluice_run_report(run);
  expect(report != NULL && strstr(report, "\"state\": \"finished\"") != NULL, "the report says that it has finished");
  sluice_text_free(report);
  sluice_run_free(run);
}

static void check_problems(sluice_engine* engine) {
  sluice_setting parameters[] = {{"lenght", "100"}};
  sluice_run* run = planned(engine, "synthetic_reference", parameters, 1, NULL);
  expect(sluice_run_status(run) == SLUICE_ERROR_USAGE && sluice_run_execute(run) == SLUICE_ERROR_USAGE, "a wrong run can't be executed");
  sluice_problem problem = {0};
  problem.struct_size = sizeof problem;
  expect(sluice_run_problem_count(run) == 2 && sluice_run_problem(run, 1, &problem) == SLUICE_OK, "all problems are told");
  expect(strstr(problem.remedy, "--length") != NULL, "with their remedies");
  sluice_run_free(run);
}

static void check_streams(sluice_engine* engine, const char* reads) {
  sluice_setting parameters[] = {{"reads", reads}, {"reference", reads}};
  struct ArrowArrayStream stream;
  struct ArrowSchema schema;
  sluice_run* run = planned(engine, "map", parameters, 2, "reads");
  expect(sluice_run_start(run) == SLUICE_OK && sluice_run_export_stream(run, &stream) == SLUICE_OK, "a stream begins");
  sluice_run_free(run); /* the stream keeps it */
  expect(stream.get_schema(&stream, &schema) == 0 && strcmp(schema.format, "+s") == 0, "it has a schema");
  schema.release(&schema);
  expect(rows_of(&stream) == 50, "all rows come");
  stream.release(&stream);

  struct ArrowArray first;
  run = planned(engine, "map", parameters, 2, "reads");
  sluice_run_start(run);
  expect(sluice_run_next_batch(run, -1, &first, NULL) == SLUICE_OK && first.length > 0, "a batch comes");
  sluice_run_close_stream(run);
  expect(sluice_run_wait(run, 60) == 1 && sluice_run_status(run) == SLUICE_END, "a closed stream ends its run, and that is no error");
  sluice_run_free(run);
  expect(first.length > 0 && first.children[0]->buffers[1] != NULL, "what was taken stays");
  first.release(&first);
}

/* Moments are counted in batches that have come: below `most`, one for each counter (splitmix64). */
static uint64_t moment(uint64_t counter, uint64_t most) {
  uint64_t z = (counter + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return (z ^ (z >> 31)) % most;
}

static void check_interrupts(sluice_engine* engine, const char* reads) {
  sluice_setting parameters[] = {{"reads", reads}, {"reference", reads}};
  for (uint64_t i = 0; i < 25; ++i) {
    struct ArrowArray batch;
    sluice_run* run = planned(engine, "map", parameters, 2, "reads");
    sluice_run_start(run);
    /* Of 50 batches a few wait for us: behind the fortieth the run may be over. */
    for (uint64_t batches = moment(i, 40); batches > 0; --batches)
      if (sluice_run_next_batch(run, -1, &batch, NULL) == SLUICE_OK) batch.release(&batch);
    for (uint64_t times = 1 + i % 2; times > 0; --times) sluice_run_interrupt(run);
    while (sluice_run_next_batch(run, -1, &batch, NULL) == SLUICE_OK) batch.release(&batch);
    expect(sluice_run_wait(run, 60) == 1 && sluice_run_status(run) == SLUICE_END, "an interrupted run ends, and says so");
    sluice_run_free(run);
  }
}

/* A source that gives nothing, for ever, in code that can go away. */
static atomic_int calls, instances, is_gone, called_when_gone;
static sluice_status create_endless(void* user, const char* parameters, void** instance, sluice_error* error) {
  (void)user, (void)parameters, (void)error;
  ++instances;
  *instance = &instances;
  return SLUICE_OK;
}
static sluice_status call_endless(void* user, void* instance, struct ArrowSchema* input_schema, struct ArrowArray* input, const uint16_t* row_status,
                                  struct ArrowSchema* output_schema, struct ArrowArray* output, sluice_rows* rows, sluice_error* error) {
  (void)user, (void)instance, (void)input_schema, (void)input, (void)row_status, (void)output_schema, (void)output, (void)rows, (void)error;
  ++calls;
  if (is_gone) ++called_when_gone;
  sched_yield();
  return SLUICE_OK;
}
static void destroy_endless(void* user, void* instance) {
  (void)user, (void)instance;
  if (is_gone) ++called_when_gone;
  --instances;
}

static void* execute(void* run) {
  expect(sluice_run_execute(run) == SLUICE_END, "a run that was ended with all others says so");
  return NULL;
}

/* Also the runs that threads of the program are in. */
static void check_end_of_all(sluice_engine* engine) {
  const sluice_stage_functions functions = {sizeof functions, NULL, create_endless, call_endless, destroy_endless};
  expect(sluice_stage_register("{\"stage\": \"endless\", \"kind\": \"source\", \"summary\": \"nothing, for ever\", \"row_type\": \"number\", "
                               "\"gives\": [{\"name\": \"number\", \"type\": \"i64\", \"meaning\": \"none\"}]}",
                               &functions, NULL) == SLUICE_OK,
         "a stage is registered");
  sluice_run_request request = {0};
  request.struct_size = sizeof request;
  request.pipeline_text =
      "[pipeline]\nname = \"endless\"\n[stages.source]\nuse = \"endless\"\n"
      "[stages.table]\nuse = \"table_writer\"\nparams = { output = \"/dev/null\", columns = \"number\" }\n";
  sluice_run* runs[2];
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) {
    runs[i] = sluice_run_new(engine, &request);
    expect(sluice_run_status(runs[i]) == SLUICE_OK, "an endless run is planned");
    const int before = calls;
    pthread_create(&threads[i], NULL, execute, runs[i]);
    while (calls < before + 10) sched_yield();
  }
  sluice_end_all_runs();
  is_gone = 1;
  expect(instances == 0, "no stage is left when all runs have ended");
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL), sluice_run_free(runs[i]);
  expect(called_when_gone == 0, "and none is called any more");
}

static sluice_status make_nothing(void* user, const char* parameters, void** instance, sluice_error* error) {
  (void)parameters, (void)error;
  return *instance = user, SLUICE_OK;
}
static sluice_status give_nothing(void* user, void* instance, struct ArrowSchema* input_schema, struct ArrowArray* input, const uint16_t* row_status,
                                  struct ArrowSchema* output_schema, struct ArrowArray* output, sluice_rows* rows, sluice_error* error) {
  (void)user, (void)instance, (void)input_schema, (void)input, (void)row_status, (void)output_schema, (void)output, (void)rows, (void)error;
  return SLUICE_END;
}
static void forget(void* user, void* instance) { (void)user, (void)instance; }

/* The structs of programs that were compiled with later headers are longer; those that end too early are refused. */
static void check_stage_functions(void) {
  const char* description = "{\"stage\": \"in_c\", \"kind\": \"source\", \"row_type\": \"row\", \"gives\": [{\"name\": \"n\", \"type\": \"i64\"}]}";
  struct {
    sluice_stage_functions known;
    void* news[2];
  } later = {{0, NULL, make_nothing, give_nothing, forget}, {NULL, NULL}};
  sluice_error error = {0};
  later.known.struct_size = sizeof later;
  expect(sluice_stage_register(description, &later.known, &error) == SLUICE_OK, "longer functions are taken");
  later.known.struct_size = offsetof(sluice_stage_functions, destroy);
  expect(sluice_stage_register(description, &later.known, &error) == SLUICE_ERROR_USAGE, "functions that end too early are not");
  later.known.struct_size = sizeof later.known;
  expect(sluice_stage_register("{\"stage\": \"In C!\", \"row_type\": \"row\"}", &later.known, &error) == SLUICE_ERROR_USAGE,
         "nor names that are none");
  expect(strstr(error.message, "snake_case") != NULL, "which is said");
  expect(sluice_stage_register("{\"stage\": \"table_writer\", \"row_type\": \"row\"}", &later.known, &error) == SLUICE_ERROR_USAGE,
         "nor the name of a stage that a plugin has");
  expect(strstr(error.message, "has a stage 'table_writer' already") != NULL, "which is said, too");
}

int main(int argument_count, char** arguments) {
  if (argument_count != 2) return EXIT_FAILURE;
  sluice_engine* engine = sluice_engine_new(NULL, 0, NULL);
  expect(sluice_library_number() == SLUICE_LIBRARY_NUMBER, "the library is that of the header");
  check_run(engine, arguments[1]);
  check_problems(engine);
  check_streams(engine, arguments[1]);
  check_stage_functions();
  check_interrupts(engine, arguments[1]);
  check_end_of_all(engine);
  sluice_engine_free(engine);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
