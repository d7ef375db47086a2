/* SPDX-License-Identifier: MIT
 * SPDX-FileCopyrightText: The sluice authors
 *
 * Stages whose columns depend on their parameters and on the columns that arrive (a stage that renames columns): an extension of a plugin
 * (sluice_plugin_info.get_extension). What the descriptor says of needs and gives is then replaced, when the pipeline is planned. C++ authors use
 * <sluice/output_columns.hpp> instead. */
#ifndef SLUICE_OUTPUT_COLUMNS_H
#define SLUICE_OUTPUT_COLUMNS_H

#include <sluice/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_OUTPUT_COLUMNS_EXTENSION "sluice.output_columns/1"

/* The host's, for the length of a call. None of these throws; texts are copied. */
typedef struct sluice_column_decision {
  uint32_t struct_size;
  void* to;
  /* A column that the stage reads. `parameter` names it, for the message where no such column arrives. */
  void (*need)(void* to, const char* parameter, const char* name);
  void (*give)(void* to, const char* name, const char* type);
  void (*hide)(void* to, const char* name); /* maps: a column that arrives and does not leave */
  void (*rows)(void* to, const char* type); /* regroups: the type of the rows that leave */
} sluice_column_decision;

typedef struct sluice_output_columns {
  uint32_t struct_size;
  /* Of the stage of that id, with these parameters and the columns that arrive, those that may be asked for among them. SLUICE_ERROR_UNSUPPORTED: its
   * columns are those of its descriptor. [thread-safe] */
  sluice_status (*decide)(const char* stage, const sluice_value* parameters, size_t parameter_stride, const char* row_type, size_t column_count,
                          const sluice_column_spec* columns, size_t column_stride, const sluice_column_decision*, sluice_error*);
} sluice_output_columns;

#ifdef __cplusplus
}
#endif
#endif
