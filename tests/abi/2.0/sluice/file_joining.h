/* SPDX-License-Identifier: MIT
 * SPDX-FileCopyrightText: The sluice authors
 *
 * How the files of shards (`sluice run --shard I/N`) become one: an extension of a plugin (sluice_plugin_info.get_extension) whose sinks concatenate
 * (SLUICE_TRAIT_CONCATENATES). Files of other plugins' sinks are put together byte by byte, each but the first without its header. C++ authors use
 * <sluice/file_joining.hpp> instead. */
#ifndef SLUICE_FILE_JOINING_H
#define SLUICE_FILE_JOINING_H

#include <sluice/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_FILE_JOINING_EXTENSION "sluice.file_joining/1"

typedef struct sluice_file_part {
  const char* path;
  uint64_t header_bytes; /* of the text in it, see sluice_host_api.header_of_file */
} sluice_file_part;

typedef struct sluice_join_args {
  uint32_t struct_size;
  const char* stage;              /* the sink's id */
  const sluice_value* parameters; /* the sink's, with the name of the new file */
  size_t parameter_stride;
  const char* parameter; /* the one that names the file */
  const char* output;    /* its value */
  size_t part_count, part_stride;
  const sluice_file_part* parts; /* in the order of the rows; one at least */
} sluice_join_args;

typedef struct sluice_file_joining {
  uint32_t struct_size;
  /* Can the files that the sink writes with these parameters be put together? Writes what they are put together as ("BGZF text"), for people.
   * SLUICE_ERROR_UNSUPPORTED: the sink is not this extension's business, its files are put together byte by byte. Any other status: they can't be,
   * and the error says why. [thread-safe] */
  sluice_status (*check)(const char* stage, const sluice_value* parameters, size_t parameter_stride, char* form, size_t capacity, sluice_error*);
  /* Writes the file through the host's open_file: the bytes of a run over all rows. */
  sluice_status (*join)(const sluice_call*, const sluice_join_args*, sluice_error*);
} sluice_file_joining;

#ifdef __cplusplus
}
#endif
#endif
