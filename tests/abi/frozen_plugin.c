/* SPDX-License-Identifier: MIT
 * SPDX-FileCopyrightText: The sluice authors
 *
 * A plugin against the frozen headers of ABI 2.0, and nothing newer. `frozen_sum` is an ordered map that keeps a sum, saves it, and fails rows;
 * `frozen_windows` is a regroup that gives rows where none came in. */
#include <sluice/abi.h>
#include <sluice/file_joining.h>
#include <sluice/stage_maker.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct frozen_stage {
  const sluice_host_api* api;
  const sluice_host* host;
  int64_t most; /* larger values fail */
  int64_t sum;
};

static sluice_status report(sluice_error* error, sluice_status code, const char* message) {
  error->code = code;
  snprintf(error->message, sizeof error->message, "%s", message);
  error->remedy[0] = '\0';
  return code;
}

/* ---- a column in the host's memory: it goes back through free(), also when the instance is gone */

struct held_column {
  const sluice_host_api* api;
  const sluice_host* host;
  const void* buffers[2];
};

static void release_schema(struct ArrowSchema* schema) { schema->release = NULL; }

static void release_array(struct ArrowArray* array) {
  struct held_column* held = array->private_data;
  held->api->free(held->host, (void*)held->buffers[1]);
  free(held);
  array->release = NULL;
}

/* An i64 column of so many rows, which the caller fills; NULL: there is no memory. */
static int64_t* make_column(const struct frozen_stage* stage, int64_t rows, struct ArrowArray* array) {
  struct held_column* held = malloc(sizeof *held);
  int64_t* values = stage->api->allocate(stage->host, (size_t)rows * sizeof *values);
  if (held == NULL || values == NULL) {
    stage->api->free(stage->host, values);
    free(held);
    return NULL;
  }
  *held = (struct held_column){stage->api, stage->host, {NULL, values}};
  memset(array, 0, sizeof *array);
  array->length = rows;
  array->n_buffers = 2;
  array->buffers = held->buffers;
  array->release = release_array;
  array->private_data = held;
  return values;
}

static sluice_status add_column(const struct frozen_stage* stage, sluice_output* output, const char* name, struct ArrowArray* array,
                                sluice_error* error) {
  struct ArrowSchema schema = {.format = "l", .name = "", .release = release_schema};
  const uint64_t bytes[] = {0, (uint64_t)array->length * sizeof(int64_t)};
  const sluice_new_column made = {
      .struct_size = sizeof made, .name = name, .schema = &schema, .array = array, .buffer_count = 2, .buffer_bytes = bytes};
  const sluice_status status = stage->api->add_column(output, &made);
  if (status == SLUICE_OK) return SLUICE_OK;
  array->release(array);
  return report(error, status, stage->api->output_problem(output));
}

static const int64_t* values_of(const sluice_batch* batch, const char* name) {
  for (size_t i = 0; i < batch->column_count; ++i) {
    const sluice_column* column = SLUICE_AT(sluice_column, batch->columns, batch->column_stride, i);
    if (strcmp(column->name, name) == 0) return (const int64_t*)column->array->buffers[1] + column->array->offset;
  }
  return NULL;
}

static int is_fine(const sluice_batch* batch, int64_t row) { return batch->row_status == NULL || batch->row_status[row] == 0; }

/* ---- frozen_sum */

static sluice_status sum_rows(void* self, const sluice_call* call, const sluice_batch* input, sluice_output* output, sluice_error* error) {
  struct frozen_stage* stage = self;
  const int64_t* values = values_of(input, "value");
  struct ArrowArray array;
  int64_t* sums = make_column(stage, input->row_count, &array);
  if (sums == NULL) return report(error, SLUICE_ERROR_MEMORY, "out of memory");
  for (int64_t row = 0; row < input->row_count; ++row) {
    sums[row] = stage->sum;
    if (!is_fine(input, row)) continue;
    if (values[row] > stage->most) {
      call->api->fail_row(output, row, 0);
      continue;
    }
    sums[row] = stage->sum += values[row];
  }
  call->api->count(call->host, "frozen_batches", 1);
  return add_column(stage, output, "sum", &array, error);
}

static sluice_status save_sum(void* self, const sluice_call* call, sluice_status (*write)(void*, const void*, size_t), void* to,
                              sluice_error* error) {
  const struct frozen_stage* stage = self;
  (void)call;
  const sluice_status status = write(to, &stage->sum, sizeof stage->sum);
  return status == SLUICE_OK ? SLUICE_OK : report(error, status, "the sum could not be saved");
}

static sluice_status count_work(void* self, const sluice_batch* input, sluice_estimate* estimate) {
  (void)self;
  estimate->work = (double)input->row_count;
  estimate->output_bytes = (uint64_t)input->row_count * sizeof(int64_t);
  return SLUICE_OK;
}

/* ---- frozen_windows: three rows, whatever came in */

static sluice_status count_rows(void* self, const sluice_call* call, const sluice_batch* input, sluice_output* output, sluice_error* error) {
  (void)call, (void)output, (void)error;
  for (int64_t row = 0; row < input->row_count; ++row) ((struct frozen_stage*)self)->sum += is_fine(input, row);
  return SLUICE_OK;
}

static sluice_status give_windows(void* self, const sluice_call* call, sluice_output* output, sluice_error* error) {
  enum { windows = 3 };
  const struct frozen_stage* stage = self;
  struct ArrowArray array;
  if (call->api->set_row_count(output, windows) != SLUICE_OK) return report(error, SLUICE_ERROR_INTERNAL, call->api->output_problem(output));
  int64_t* rows = make_column(stage, windows, &array);
  if (rows == NULL) return report(error, SLUICE_ERROR_MEMORY, "out of memory");
  for (int64_t row = 0; row < windows; ++row) rows[row] = (stage->sum + windows - 1 - row) / windows;
  const sluice_status status = add_column(stage, output, "value", &array, error);
  return status != SLUICE_OK ? status : call->api->emit(output);
}

/* ---- both */

static void destroy(void* self) { free(self); }

static sluice_status create(size_t index, const sluice_create_args* args, sluice_stage* stage, sluice_error* error) {
  struct frozen_stage* self = calloc(1, sizeof *self);
  if (self == NULL) return report(error, SLUICE_ERROR_MEMORY, "out of memory");
  self->api = args->api;
  self->host = args->host;
  memset(stage, 0, sizeof *stage);
  stage->struct_size = sizeof *stage;
  stage->self = self;
  stage->destroy = destroy;
  if (index == 1) {
    stage->process = count_rows;
    stage->finish = give_windows;
    return SLUICE_OK;
  }
  self->most = SLUICE_AT(sluice_value, args->parameters, args->parameter_stride, 0)->integer;
  if (args->saved_count > 0) {
    const sluice_bytes* saved = SLUICE_AT(sluice_bytes, args->saved, args->saved_stride, 0);
    if (saved->bytes != sizeof self->sum) {
      stage->self = NULL;
      free(self);
      return report(error, SLUICE_ERROR_INPUT, "the saved sum is damaged");
    }
    memcpy(&self->sum, saved->data, sizeof self->sum);
  }
  stage->process = sum_rows;
  stage->estimate = count_work;
  stage->save = save_sum;
  return SLUICE_OK;
}

static sluice_status check(const sluice_value* values, size_t stride, sluice_error* error) {
  const int64_t most = SLUICE_AT(sluice_value, values, stride, 0)->integer;
  return most % 2 == 0 ? SLUICE_OK : report(error, SLUICE_ERROR_USAGE, "most is odd");
}

static const sluice_column_spec value_column[] = {{"value", "i64", 0, "a number"}};
static const sluice_column_spec sum_column[] = {{"sum", "i64", 0, "of all values so far that did not fail"}};
static const sluice_parameter parameters[] = {{
    .name = "most",
    .type = SLUICE_INT,
    .default_value = {.type = SLUICE_INT, .is_set = 1, .integer = 1000000, .text = ""},
    .minimum = 0,
    .maximum = 1e12,
    .unit = "",
    .help = "larger values fail",
}};
static const sluice_reason reasons[] = {{"too_large", "the value is larger than `most`"}};
static const sluice_implementation implementations[] = {{"cpu", "plain C"}};

static const sluice_stage_descriptor descriptors[] = {
    {
        .struct_size = sizeof(sluice_stage_descriptor),
        .id = "frozen_sum",
        .summary = "running sum",
        .doc = "Of the frozen ABI's test.",
        .kind = SLUICE_MAP,
        .traits = SLUICE_TRAIT_ORDERED | SLUICE_TRAIT_SAVES,
        .input = {"number", 1, sizeof value_column[0], value_column},
        .output = {"number", 1, sizeof sum_column[0], sum_column},
        .parameter_count = 1,
        .parameter_stride = sizeof parameters[0],
        .parameters = parameters,
        .reason_count = 1,
        .reason_stride = sizeof reasons[0],
        .reasons = reasons,
        .implementation_count = 1,
        .implementation_stride = sizeof implementations[0],
        .implementations = implementations,
        .work_unit = "row",
        .check = check,
    },
    {
        .struct_size = sizeof(sluice_stage_descriptor),
        .id = "frozen_windows",
        .summary = "three rows that share the count of what came in",
        .doc = "Of the frozen ABI's test.",
        .kind = SLUICE_REGROUP,
        .traits = SLUICE_TRAIT_ROWS_WITHOUT_INPUT,
        .input = {"number", 1, sizeof value_column[0], value_column},
        .output = {"number", 1, sizeof value_column[0], value_column},
        .implementation_count = 1,
        .implementation_stride = sizeof implementations[0],
        .implementations = implementations,
        .work_unit = "row",
        .row_noun = "window",
    },
};
static const sluice_stage_descriptor* stage(size_t index) { return &descriptors[index]; }

static const sluice_plugin_info info = {
    .struct_size = sizeof(sluice_plugin_info),
    .name = "frozen_abi",
    .version = "1.0.0",
    .licence = "MIT",
    .origin = "",
    .build_id = "frozen",
    .stage_count = 2,
    .stage = stage,
    .create = create,
};

extern SLUICE_EXPORT const uint32_t sluice_plugin_abi;
const uint32_t sluice_plugin_abi = SLUICE_ABI_NUMBER;

SLUICE_EXPORT const sluice_plugin_info* sluice_plugin_init(const sluice_init_args* args, sluice_error* error);
const sluice_plugin_info* sluice_plugin_init(const sluice_init_args* args, sluice_error* error) {
  (void)args, (void)error;
  return &info;
}
