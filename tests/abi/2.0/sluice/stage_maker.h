/* SPDX-License-Identifier: MIT
 * SPDX-FileCopyrightText: The sluice authors
 *
 * Stages that a plugin makes of what a pipeline file names ("gc.py:gc_share"): an extension of a plugin (sluice_plugin_info.get_extension). Such a
 * stage is a map; its descriptor is known when the pipeline is planned. */
#ifndef SLUICE_STAGE_MAKER_H
#define SLUICE_STAGE_MAKER_H

#include <sluice/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_STAGE_MAKER_EXTENSION "sluice.stage_maker/1"

typedef struct sluice_stage_maker {
  uint32_t struct_size;
  /* What `use` of such a stage has in it: ".py:". No id of a stage has a '.' or a ':'. */
  const char* sign;
  /* Finds the stage. `folder` is that of the file that says `use` ("": the working directory). Gives its description, JSON as in
   * sluice_stage_register() of sluice.h, and what stands for its code as build_id stands for a plugin's, both through take(), once; *index is the
   * stage's number for create(): the same one as long as description and build id are the same. [thread-safe] */
  sluice_status (*make)(const char* use, const char* folder, void (*take)(void* to, const char* description, const char* build_id), void* to,
                        size_t* index, sluice_error*);
  /* As sluice_plugin_info.create. */
  sluice_status (*create)(size_t index, const sluice_create_args*, sluice_stage* stage, sluice_error*);
} sluice_stage_maker;

#ifdef __cplusplus
}
#endif
#endif
