/* SPDX-License-Identifier: MIT
 * SPDX-FileCopyrightText: The sluice authors
 *
 * Shows: a stage in plain C against the ABI alone. Reads shorter than a minimum fail; the length becomes a column.
 * Run: cmake -B build -DCMAKE_PREFIX_PATH=PREFIX && cmake --build build && sluice inspect read_length --plugin-dir build
 */
#include <sluice/abi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETER_MINIMUM = 0, REASON_TOO_SHORT = 0 };

struct read_length {
  int64_t minimum;
};

/* The column that the stage gives: one int64 a row. Arrow's release callbacks free it wherever it ends up. */
struct length_column {
  const void* buffers[2];
  int64_t lengths[];
};

static void release_schema(struct ArrowSchema* schema) { schema->release = NULL; }

static void release_array(struct ArrowArray* array) {
  free(array->private_data);
  array->release = NULL;
}

static sluice_status report(sluice_error* error, sluice_status code, const char* message) {
  if (error != NULL) {
    error->code = code;
    snprintf(error->message, sizeof error->message, "%s", message);
    error->remedy[0] = '\0';
  }
  return code;
}

static const sluice_column* find_column(const sluice_batch* batch, const char* name) {
  for (size_t i = 0; i < batch->column_count; ++i) {
    const sluice_column* column = SLUICE_AT(sluice_column, batch->columns, batch->column_stride, i);
    if (strcmp(column->name, name) == 0) return column;
  }
  return NULL;
}

static sluice_status process(void* self, const sluice_call* call, const sluice_batch* input, sluice_output* output, sluice_error* error) {
  const struct read_length* stage = self;
  const sluice_column* bases = find_column(input, "bases");
  if (bases == NULL || bases->array == NULL) return report(error, SLUICE_ERROR_INTERNAL, "column 'bases' is not there");
  const int64_t* offsets = (const int64_t*)bases->array->buffers[1] + bases->array->offset;

  struct length_column* column = malloc(sizeof *column + (size_t)input->row_count * sizeof(int64_t));
  if (column == NULL) return report(error, SLUICE_ERROR_MEMORY, "out of memory");
  for (int64_t row = 0; row < input->row_count; ++row) {
    column->lengths[row] = offsets[row + 1] - offsets[row];
    const int failed_before = input->row_status != NULL && input->row_status[row] != 0;
    if (!failed_before && column->lengths[row] < stage->minimum) call->api->fail_row(output, row, REASON_TOO_SHORT);
  }
  column->buffers[0] = NULL;
  column->buffers[1] = column->lengths;

  struct ArrowSchema schema = {.format = "l", .name = "", .release = release_schema};
  struct ArrowArray array = {
      .length = input->row_count, .n_buffers = 2, .buffers = column->buffers, .release = release_array, .private_data = column};
  const uint64_t buffer_bytes[] = {0, (uint64_t)input->row_count * sizeof(int64_t)};
  const sluice_new_column made = {
      .struct_size = sizeof made, .name = "read_length", .schema = &schema, .array = &array, .buffer_count = 2, .buffer_bytes = buffer_bytes};
  const sluice_status status = call->api->add_column(output, &made);
  if (status != SLUICE_OK) {
    release_array(&array);
    return report(error, status, call->api->output_problem(output));
  }
  return SLUICE_OK;
}

static void destroy(void* self) { free(self); }

static sluice_status create(size_t index, const sluice_create_args* arguments, sluice_stage* stage, sluice_error* error) {
  (void)index;
  struct read_length* self = malloc(sizeof *self);
  if (self == NULL) return report(error, SLUICE_ERROR_MEMORY, "out of memory");
  self->minimum = SLUICE_AT(sluice_value, arguments->parameters, arguments->parameter_stride, PARAMETER_MINIMUM)->integer;
  memset(stage, 0, sizeof *stage);
  stage->struct_size = sizeof *stage;
  stage->self = self;
  stage->process = process;
  stage->destroy = destroy;
  return SLUICE_OK;
}

static const sluice_column_spec needs[] = {{"bases", "utf8", 0, "the read"}};
static const sluice_column_spec gives[] = {{"read_length", "i64", 0, "bases"}};
static const sluice_parameter parameters[] = {{
    .name = "minimum",
    .type = SLUICE_INT,
    .default_value = {.type = SLUICE_INT, .is_set = 1, .integer = 0, .text = ""},
    .minimum = 0,
    .maximum = 1e12,
    .unit = "bases",
    .help = "shorter reads fail",
}};
static const sluice_reason reasons[] = {{"too_short", "the read is shorter than the minimum"}};
static const sluice_implementation implementations[] = {{"cpu", "plain C"}};

static const sluice_stage_descriptor read_length_descriptor = {
    .struct_size = sizeof(sluice_stage_descriptor),
    .id = "read_length",
    .summary = "length of every read; short ones fail",
    .doc = "An example in plain C.",
    .kind = SLUICE_MAP,
    .input = {"read", 1, sizeof needs[0], needs},
    .output = {"read", 1, sizeof gives[0], gives},
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
};
static const sluice_stage_descriptor* stage(size_t index) { return index == 0 ? &read_length_descriptor : NULL; }

static const sluice_plugin_info info = {
    .struct_size = sizeof(sluice_plugin_info),
    .name = "read_length",
    .version = "1.0.0",
    .licence = "MIT",
    .origin = "",
    .build_id = "example",
    .stage_count = 1,
    .stage = stage,
    .create = create,
};

extern SLUICE_EXPORT const uint32_t sluice_plugin_abi;
const uint32_t sluice_plugin_abi = SLUICE_ABI_NUMBER;

SLUICE_EXPORT const sluice_plugin_info* sluice_plugin_init(const sluice_init_args* args, sluice_error* error) {
  (void)args, (void)error;
  return &info;
}
