/* SPDX-License-Identifier: MIT
 * SPDX-FileCopyrightText: The sluice authors
 *
 * The smallest parts of the plugin ABI: what a call ends with, and what parameters are. */
#ifndef SLUICE_ABI_VALUES_H
#define SLUICE_ABI_VALUES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status and errors ---------------------------------------------------------------------------------------------------------- */

typedef int32_t sluice_status;
enum {
  SLUICE_OK = 0,
  SLUICE_END = 1,                  /* a source has no more rows (its output may still hold a last batch); an ordered map needs no more */
  SLUICE_ERROR_USAGE = 2,          /* wrong parameter or pipeline: the user can mend it; exit code 2 */
  SLUICE_ERROR_INPUT = 3,          /* an input file is missing, corrupt or does not fit the others */
  SLUICE_ERROR_OUTPUT = 4,         /* an output could not be written (disk full) */
  SLUICE_ERROR_MEMORY = 5,         /* out of host memory */
  SLUICE_ERROR_CANCELLED = 6,      /* the call ended early because host->cancelled() said so */
  SLUICE_ERROR_INTERNAL = 7,       /* a bug */
  SLUICE_ERROR_UNSUPPORTED = 8,    /* not offered: an extension, an implementation, a format */
  SLUICE_ERROR_CLOSED_PIPE = 9,    /* the reader of an output has gone: the run ends like any filter, without a word */
  SLUICE_ERROR_DEVICE_MEMORY = 20, /* out of device memory: the host retries with fewer rows, then on the CPU */
  SLUICE_ERROR_DEVICE_KERNEL = 21, /* this batch failed on the device: the host retries it on the CPU */
  SLUICE_ERROR_DEVICE_LOST = 22    /* the device is gone: the host retires it */
};

/* The size of this struct is fixed for ever. */
typedef struct sluice_error {
  sluice_status code;
  char message[1024]; /* what is wrong, and with which thing */
  char remedy[512];   /* what the user can do; empty if nothing */
} sluice_error;

/* ---- Parameters ------------------------------------------------------------------------------------------------------------------ */

typedef int32_t sluice_value_type;
enum {
  SLUICE_BOOL = 1,
  SLUICE_INT = 2,
  SLUICE_FLOAT = 3,
  SLUICE_STRING = 4,
  SLUICE_PATH = 5,  /* like a string; "-" is standard input or output where the stage's help says so */
  SLUICE_SIZE = 6,  /* bytes, given as 512, "64 KiB", "2GB" ... and passed in `integer` */
  SLUICE_CHOICE = 7 /* one of `choices`, passed in `text` */
};

typedef struct sluice_value {
  sluice_value_type type;
  int32_t is_set;   /* 0: neither given nor defaulted (an optional parameter left out) */
  int64_t integer;  /* BOOL (0 or 1), INT, SIZE */
  double real;      /* FLOAT */
  const char* text; /* STRING, PATH, CHOICE; never NULL */
} sluice_value;

typedef struct sluice_parameter {
  const char* name; /* snake_case */
  sluice_value_type type;
  int32_t required;           /* 1: must be given */
  sluice_value default_value; /* is_set = 0: no default */
  double minimum, maximum;    /* INT, FLOAT, SIZE; both 0: unbounded */
  const char* const* choices; /* CHOICE: NULL-terminated list */
  const char* unit;           /* "" if none */
  const char* help;           /* one sentence */
} sluice_parameter;

/* What the text of a parameter stands for, so that the host sees files and columns before anything is opened. A PATH without a role
 * is taken for an output of a sink and for an input of anything else. */
typedef int32_t sluice_role;
enum {
  SLUICE_ROLE_READS = 1,   /* the file, or with a suffix PATH + suffix (an index, say), is read; without a suffix it must exist */
  SLUICE_ROLE_WRITES = 2,  /* the file, or with a suffix PATH + suffix, is written */
  SLUICE_ROLE_COLUMNS = 3, /* names of input columns, separated by commas: they stand in the place of the needed column "*" */
  SLUICE_ROLE_SEVERAL =
      4, /* inputs, each on a line: files, folders, patterns, "@list"; suffix: the endings of a folder's files, separated by blanks */
  SLUICE_ROLE_CONDITION = 5 /* a condition over input columns (sluice/condition.hpp), which stand in the place of the needed column "*" */
};
typedef struct sluice_parameter_role {
  uint32_t parameter; /* index into descriptor->parameters */
  sluice_role role;
  const char* suffix; /* NULL: the file itself */
} sluice_parameter_role;

#ifdef __cplusplus
}
#endif
#endif
