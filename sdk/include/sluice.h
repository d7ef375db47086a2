/* SPDX-License-Identifier: MIT
 * SPDX-FileCopyrightText: The sluice authors
 *
 * libsluice: runs pipelines inside another program. C11; link with -lsluice. What `sluice run` does, with the same checks and the same words:
 *
 *   sluice_engine* engine = sluice_engine_new(NULL, 0, NULL);
 *   sluice_setting parameters[] = {{"reads", "reads.fq"}, {"reference", "ref.fa"}, {"output", "hits.paf"}};
 *   sluice_run_request request = {sizeof request, "map"};
 *   request.parameters = parameters, request.parameter_count = 3;
 *   sluice_run* run = sluice_run_new(engine, &request);
 *   if (sluice_run_execute(run) != SLUICE_OK) ...sluice_run_problem(run, 0, &problem)...
 *   sluice_run_free(run), sluice_engine_free(engine);
 *
 * Rules that hold for every function below
 *  - Nothing throws. Texts that go in are NUL-terminated UTF-8 and are not kept; texts that come out are the caller's, for sluice_text_free().
 *  - An object belongs to one thread at a time, but for what says [thread-safe].
 *  - Any number of runs may be in flight at once, in any threads. A process that was forked between runs can make its own; one that was forked amid
 *    a run cannot (SLUICE_ERROR_USAGE), and neither ends nor uses those of its parent. Stages see the C locale, whatever the program has set.
 *  - A write beyond the limit on file sizes raises SIGXFSZ: a program that wants an error (EFBIG) instead ignores that signal.
 *  - Structs begin with struct_size, the caller's sizeof: members that a library does not know are not looked at.
 *  - A free function takes NULL, too. */
#ifndef SLUICE_H
#define SLUICE_H

#include <sluice/abi_values.h>
#include <sluice/arrow.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream { /* as published by Apache Arrow */
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};
#endif

#if defined(SLUICE_LIBRARY)
#define SLUICE_API __attribute__((visibility("default")))
#else
#define SLUICE_API
#endif

/* Raised when a program that was compiled against an older header can't use the library any more. */
#define SLUICE_LIBRARY_NUMBER 1u
SLUICE_API uint32_t sluice_library_number(void);
SLUICE_API const char* sluice_version(void); /* "0.1.0"; static */
SLUICE_API void sluice_text_free(char* text);

/* ---- Plugins ------------------------------------------------------------------------------------------------------------------------- */

/* The plugins that have been loaded: of the given folders, then where `sluice` looks (SLUICE_PLUGIN_PATH, the user's folder, those beside this
 * library). Code is never unloaded. May be freed while its runs go on. */
typedef struct sluice_engine sluice_engine;

/* NULL: there is no memory for it; error (may be NULL) says so. A plugin that can't be loaded is listed by sluice_engine_describe(). */
SLUICE_API sluice_engine* sluice_engine_new(const char* const* plugin_dirs, size_t count, sluice_error* error);
SLUICE_API void sluice_engine_free(sluice_engine* engine);
/* JSON: {"version", "plugins": [{"name", "version", "file"}], "problems": [{"file", "reason"}], "stages": [as `sluice inspect --json`],
 * "pipelines": [{"name", "file", "summary", "doc", "example", "next_steps", "parameters": [...], "stages": [{"name", "use"}]}]}. */
SLUICE_API char* sluice_engine_describe(const sluice_engine* engine);

/* ---- Runs ---------------------------------------------------------------------------------------------------------------------------- */

typedef struct sluice_run sluice_run;

typedef struct sluice_setting {
  const char* name;
  const char* value;
} sluice_setting;

enum {                                  /* what a stream does with rows that have failed in a stage before */
       SLUICE_FAILED_ROWS_LEFT_OUT = 0, /* only rows that are fine come; a batch without failed rows is not copied */
       SLUICE_FAILED_ROWS_KEPT = 1      /* all rows come, with a column `failed`: null, or "stage: reason" as text */
};

typedef struct sluice_run_request {
  uint32_t struct_size;
  const char* pipeline;      /* a shipped pipeline's name or the path of a file; of a text what places in it are called, NULL: "pipeline" */
  const char* pipeline_text; /* NULL, or the TOML itself */
  /* Values of the pipeline's parameters, as text ("true" and "false" for switches). One that may be given several times may be here several times. */
  const sluice_setting* parameters;
  size_t parameter_count;
  const char* const* changes; /* as --set: "stages.NAME.params.PARAMETER=VALUE" */
  size_t change_count;
  /* As the options of `sluice run`: device, threads, memory, gpu_memory, batch_work, policy, profile, watchdog, executor, log_level, max_bad_reads,
   * allow_empty, resume, checkpoint, shard, and files that are written at the end: report (may be here several times), account, trace. */
  const sluice_setting* options;
  size_t option_count;
  /* NULL: an ordinary run. Else the stage whose rows sluice_run_next_batch() or sluice_run_export_stream() give. */
  const char* stream_stage;
  const char* stream_columns; /* names, separated by commas; NULL: all that there are without asking for optional ones */
  int32_t stream_failed_rows;
  /* 0: the pipeline's own sinks are left out, and what only they need (required parameters as well). 1: they write, too. */
  int32_t stream_and_write;
  uint32_t stream_depth; /* batches that may wait for the caller before the run does; 0: 4 */
} sluice_run_request;

/* Plans a run and checks everything that can be checked before anything is opened. NULL: there is no memory for it. Whatever is wrong is in the
 * problems of what is returned, all of it; sluice_run_status() tells whether it can be executed. Registered stages are those of now. */
SLUICE_API sluice_run* sluice_run_new(sluice_engine* engine, const sluice_run_request* request);
/* Ends the run at once if it still goes on, but for an exported stream. Batches that were given out live on. */
SLUICE_API void sluice_run_free(sluice_run* run);
/* Ends every run of the process at once (what has all its work done still gets its names) and waits for it, whichever thread is in it: before what
 * its stages are written in goes away. A run that was made, but not begun, ends without beginning. Not from within a stage. [thread-safe] */
SLUICE_API void sluice_end_all_runs(void);

/* SLUICE_OK: all is well (so far); SLUICE_END: interrupted, or the stream was closed before its end; else the first error. */
SLUICE_API sluice_status sluice_run_status(const sluice_run* run);

typedef struct sluice_problem { /* texts live as long as the run and are never NULL */
  uint32_t struct_size;
  sluice_status status;
  int32_t is_warning;
  const char* place;   /* "map.toml:14:9", "command line", or the stage's name of a run that failed */
  const char* stage;   /* "" if none */
  const char* message; /* what is wrong, with which thing */
  const char* remedy;  /* "" if there is none */
  const char* text;    /* all of it on one line, as the program says it */
} sluice_problem;
SLUICE_API size_t sluice_run_problem_count(const sluice_run* run);
SLUICE_API sluice_status sluice_run_problem(const sluice_run* run, size_t index, sluice_problem* problem);

/* Runs to the end, on threads of the library, while the calling one waits. A run is executed once. */
SLUICE_API sluice_status sluice_run_execute(sluice_run* run);
/* The same, but returns at once. */
SLUICE_API sluice_status sluice_run_start(sluice_run* run);
/* Waits so long for the end of a started run; < 0: for ever. 1: it has ended, 0: it has not. [thread-safe] */
SLUICE_API int32_t sluice_run_wait(sluice_run* run, double seconds);
/* First call: sources stop, what is in flight is finished, outputs are kept as NAME.partial. Second call: everything stops, nothing is kept. Of a run
 * that follows files one call more comes first: what is there is finished, and the outputs are whole. Where all work is done already, the first call
 * leaves the outputs whole, and the second takes them back (docs/design/ending.md). Returns 0 where the run is over, and stays as it ended, else 1.
 * [thread-safe, async-signal-safe] */
SLUICE_API int32_t sluice_run_interrupt(sluice_run* run);
/* JSON: {"seconds", "progress" (0 to 1; null: unknown), "memory_bytes", "batches_in_flight", "stages": [{"name", "role", "rows_in", "rows_out",
 * "failed", "busy_seconds"}]}. [thread-safe] */
SLUICE_API char* sluice_run_snapshot(const sluice_run* run);
/* The next line that the run has said, and its level (1 info, 2 warning, 3 error); NULL: none is waiting. [thread-safe] */
SLUICE_API char* sluice_run_next_line(sluice_run* run, int32_t* level);
/* After the end: the report of docs/report.md as JSON. NULL: not executed. */
SLUICE_API char* sluice_run_report(const sluice_run* run);

/* ---- Shards --------------------------------------------------------------------------------------------------------------------------- */

typedef struct sluice_merge_request { /* as `sluice merge` */
  uint32_t struct_size;
  const char* output;
  const char* of;            /* NULL, or which output, where folders have shards of several */
  const char* const* shards; /* outputs of runs with the option `shard`, in any order, or folders with them */
  size_t shard_count;
  const char *report, *account;  /* files that are written, too; NULL: none */
  const sluice_setting* options; /* threads, memory */
  size_t option_count;
  const volatile int32_t* stop; /* NULL, or a number that ends the merge as soon as it is not 0: nothing is written then */
} sluice_merge_request;

/* Puts the outputs of all shards together: the bytes of one run over all rows. *report (may be NULL): their reports, added up, as JSON.
 * SLUICE_ERROR_CANCELLED: stopped. */
SLUICE_API sluice_status sluice_merge(sluice_engine* engine, const sluice_merge_request* request, char** report, sluice_error* error);

/* ---- Streams ------------------------------------------------------------------------------------------------------------------------- */

/* The rows of request.stream_stage in order, as struct arrays that share the run's memory: what is given out keeps it alive until it is released.
 * At most stream_depth batches wait; the run waits with them. Empty batches do not come. A started run only (sluice_run_start). */

/* The columns of the stream. */
SLUICE_API sluice_status sluice_run_stream_schema(const sluice_run* run, struct ArrowSchema* schema);
/* Waits so long for a batch; < 0: for ever. SLUICE_OK: here it is; SLUICE_END: no more come (sluice_run_status() says whether the run failed);
 * SLUICE_ERROR_CANCELLED: the time is up; else this batch can't be given, and error (may be NULL) says why. [thread-safe] */
SLUICE_API sluice_status sluice_run_next_batch(sluice_run* run, double seconds, struct ArrowArray* batch, sluice_error* error);
/* Nobody takes more: the run ends at once, which is no error. [thread-safe] */
SLUICE_API void sluice_run_close_stream(sluice_run* run);
/* The same as an Arrow C stream, whose release closes it. It keeps the run: sluice_run_free() then ends nothing. */
SLUICE_API sluice_status sluice_run_export_stream(sluice_run* run, struct ArrowArrayStream* stream);
/* Another array over the same memory of a batch that a stream or a stage has got, with a life of its own. */
SLUICE_API sluice_status sluice_batch_share(const struct ArrowArray* batch, struct ArrowArray* shared);
/* Releases it, unless somebody has. */
SLUICE_API void sluice_batch_release(struct ArrowArray* batch);
/* The same schema again. */
SLUICE_API sluice_status sluice_schema_share(const struct ArrowSchema* schema, struct ArrowSchema* shared);
/* For interpreters with a lock: release() is called before a stream waits, its result given to acquire() behind it; both on the waiting thread,
 * where held() is not 0. For all runs; NULL: nothing is called. */
SLUICE_API void sluice_around_waits(int (*held)(void), void* (*release)(void), void (*acquire)(void*));

/* Arrow structs in capsules of Python: memory for one, cleared, and destructors of the capsules "arrow_schema", "arrow_array",
 * "arrow_device_array" and "arrow_array_stream", which release the struct, unless somebody has taken it, and free it. They are told once how to look
 * into a capsule (PyCapsule_GetPointer). */
SLUICE_API void* sluice_arrow_new(size_t bytes);
SLUICE_API void sluice_capsule_reader(void* (*pointer)(void* capsule, const char* name));
SLUICE_API void sluice_end_schema_capsule(void* capsule);
SLUICE_API void sluice_end_array_capsule(void* capsule);
SLUICE_API void sluice_end_device_array_capsule(void* capsule);
SLUICE_API void sluice_end_stream_capsule(void* capsule);

/* ---- Stages of the calling program --------------------------------------------------------------------------------------------------- */

typedef struct sluice_rows sluice_rows; /* the output of one call */

/* May grow at its end: a library takes the shorter one of a program that was compiled earlier. */
typedef struct sluice_stage_functions {
  uint32_t struct_size;
  void* user; /* given to each of them */
  /* A new instance with these parameters, a JSON object. */
  sluice_status (*create)(void* user, const char* parameters, void** instance, sluice_error* error);
  /* One batch. `input` holds the needed columns as a struct array: both structs are the callee's to release. `row_status`: per row 0, or it failed
   * earlier; NULL: all are fine. `output` and `output_schema` are to be filled with a struct array of the given columns, for all rows, without
   * nulls; texts and lists with 64-bit offsets. Called from any thread, one call of an instance at a time. Of a source the input is NULL, and
   * `output` has as many rows as there are now, perhaps none; it may wait for them, but no longer than a tenth of a second, so that the run can be
   * ended; SLUICE_END: there are no more. */
  sluice_status (*process)(void* user, void* instance, struct ArrowSchema* input_schema, struct ArrowArray* input, const uint16_t* row_status,
                           struct ArrowSchema* output_schema, struct ArrowArray* output, sluice_rows* rows, sluice_error* error);
  void (*destroy)(void* user, void* instance);
} sluice_stage_functions;

/* Makes a map or a source known to all runs that are planned from here on. `description`, JSON: {"stage": id, "kind" ("map", "source"), "summary",
 * "doc", "row_type" ("*": any; a source's own),
 * "needs" and "gives": [{"name", "type", "optional", "meaning"}], "parameters": [{"name", "type", "default", "required", "minimum", "maximum",
 * "choices", "unit", "help"}], "reasons": [{"code", "meaning"}], "parallel" (calls of one instance may be under way at once), "runs_in" (for
 * people)}. A stage of the same id that was registered earlier is replaced; the id of a plugin's
 * stage that an engine has loaded is refused. The functions
 * are never forgotten. [thread-safe] */
SLUICE_API sluice_status sluice_stage_register(const char* description, const sluice_stage_functions* functions, sluice_error* error);
/* During process(): this row has failed, for the stage's reason of that number. Later stages skip it. [thread-safe] */
SLUICE_API sluice_status sluice_rows_fail(sluice_rows* rows, int64_t row, uint32_t reason);
/* During process() of a source: what depends on these rows is wanted in so many seconds. */
SLUICE_API void sluice_rows_deadline(sluice_rows* rows, double seconds);
/* During process(): says a line in the run's log; level as in sluice_run_next_line. [thread-safe] */
SLUICE_API void sluice_rows_log(sluice_rows* rows, int32_t level, const char* line);

#ifdef __cplusplus
}
#endif
#endif
