/* SPDX-License-Identifier: MIT
 * SPDX-FileCopyrightText: The sluice authors
 *
 * The sluice plugin ABI: the whole contract between the host and a plugin, in C11 without dependencies.
 *
 * A plugin is a shared library that exports a number, `sluice_plugin_abi`, and ONE function, `sluice_plugin_init`. The host reads the number
 * first and calls the function iff the ABI major number is equal and the plugin's minor number is not newer than the host's. C++ authors use
 * <sluice/stage.hpp> instead.
 *
 * Rules that hold for every function below
 *  - Nothing throws across the boundary. A function that can fail returns SLUICE_OK or another sluice_status and, when the call has
 *    a `sluice_error *`, fills it (place, thing, remedy in one sentence each).
 *  - Pointers handed to a function are valid until it returns, unless the comment says otherwise. Strings are NUL-terminated UTF-8.
 *  - Ownership moves only through the Arrow structs' `release` callbacks, as the Arrow C Data Interface defines it.
 *  - [thread-safe]: may be called from several threads at once. [one at a time]: the host serialises the calls on one instance.
 *  - Every struct that may grow begins with `struct_size`, set by whoever fills it to sizeof of the version it was compiled with; a reader asks
 *    SLUICE_HAS before it touches a member that is newer than the major version. Structs that lie in arrays have no such member: beside the
 *    array stands its stride, sizeof of one element as its maker knows it, and a reader steps by it (SLUICE_AT).
 *  - The host trusts nobody: what a function is given is looked at before it is used, and what is refused comes back as a status with the cause.
 *  - Version 2.0 is frozen: tests/abi/2.0 has this header as it was then, and a plugin that is built against it. Later minor versions add members at
 *    the ends of structs, and nothing else. Plugins that say 2.0 and have smaller structs were built before the freeze, and are refused.
 */
#ifndef SLUICE_ABI_H
#define SLUICE_ABI_H

#include <sluice/abi_values.h>
#include <sluice/arrow.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_ABI_MAJOR 2
#define SLUICE_ABI_MINOR 0

/* Does a struct that its maker filled hold this member? */
#define SLUICE_HAS(pointer, type, member) ((pointer)->struct_size >= offsetof(type, member) + sizeof((pointer)->member))
/* Element i of an array whose elements are `stride` bytes apart. Members that its maker did not know lie beyond the stride. */
#define SLUICE_AT(type, items, stride, i) ((const type*)((const char*)(items) + (size_t)(i) * (size_t)(stride)))

#if defined(_WIN32)
#define SLUICE_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define SLUICE_EXPORT __attribute__((visibility("default")))
#else
#define SLUICE_EXPORT
#endif

/* ---- Descriptors: static plain data, readable without an instance ------------------------------------------------------------------ */

/* Column types: "i8" "u8" "i16" "u16" "i32" "u32" "i64" "u64" "f32" "f64" "utf8" "binary" and "list<T>" of a fixed-width T.
 * In Arrow terms: fixed width as named, utf8 = large_utf8 ("U"), binary = large_binary ("Z"), list = large_list ("+L"). */
typedef struct sluice_column_spec {
  const char* name; /* needs: "*" (type "*", optional) stands for every column there is */
  const char* type;
  int32_t optional; /* needs: used if present. gives: made only when somebody downstream wants it (see sluice_create_args.wanted) */
  const char* doc;  /* what a value means, with its unit */
} sluice_column_spec;

typedef struct sluice_port {
  const char* row_type; /* "read", "site", ...; "*" on an input: any */
  size_t column_count, column_stride;
  const sluice_column_spec* columns;
} sluice_port;

typedef struct sluice_resource_slot {
  const char* name;     /* the key under `resources` in the TOML */
  const char* row_type; /* what the resource batch must hold: "contig", "kmer", ... */
  int32_t optional;
  const char* doc;
} sluice_resource_slot;

typedef struct sluice_reason {
  const char* code; /* snake_case, unique in the stage: "too_few_events" */
  const char* doc;
} sluice_reason;

typedef struct sluice_implementation {
  const char* device; /* "cpu", "cuda", or the kind of a device provider */
  const char* doc;
} sluice_implementation;

typedef int32_t sluice_stage_kind;
enum {
  SLUICE_SOURCE = 1,  /* no input; process() is called until SLUICE_END, on a thread of its own [one at a time] */
  SLUICE_MAP = 2,     /* adds columns to the rows it gets; the only kind that may have implementations for other devices than the CPU */
  SLUICE_REGROUP = 3, /* reads rows of one type in order, emits rows of another; finish() may emit more [one at a time, in order] */
  SLUICE_SINK = 4,    /* process() (optional, parallel) prepares columns, commit() writes them [one at a time, in order, own thread] */
  SLUICE_RESOURCE = 5 /* process() is called once and makes the resource batch */
};

enum {                            /* traits, or-ed */
       SLUICE_TRAIT_SERIAL = 1,   /* process() of one instance must not run on two threads at once */
       SLUICE_TRAIT_BLOCKING = 2, /* process() waits for a disk or a network: runs on a thread of its own, one at a time, in arrival order */
       SLUICE_TRAIT_INEXACT = 4,  /* implementations are not bit-identical: one of them is pinned for a whole run */
       /* Maps: process() is called one batch at a time, in the order of their sequence numbers, always by the same implementation
        * on the same lane (the first device that is offered, else the CPU), so that the instance may keep state between calls, also in memory
        * of the device. No call is repeated: when one fails on a device, the run fails. */
       SLUICE_TRAIT_ORDERED = 8,
       /* With ORDERED: the stage can go on without the state that a device took with it. After a failure on the device the batch is
        * given to the CPU implementation, once more and whole, and so is every later one; the stage drops what it kept on the device. */
       SLUICE_TRAIT_RESTARTABLE = 16,
       /* Sources: sluice_stage.position says where the next row begins, and an instance that is made with sluice_create_args.begin_at begins there.
        */
       SLUICE_TRAIT_POSITIONS = 32,
       /* Sources: an instance that is made with sluice_create_args.parts = n gives the rows of one of n parts of the input. All parts together are
        * the input, each in its order, and the i-th comes before the (i+1)-th.
        * Regroups: each of the n instances takes all rows of the input and gives those of its part of what they become, as a source does. The run of
        * a part makes what lies before such a regroup as if there were one part. */
       SLUICE_TRAIT_PARTS = 64,
       /* calls on a device read the host form of the columns that the stage needs, too; without it a column may lie on the device alone */
       SLUICE_TRAIT_HOST_COLUMNS = 128,
       /* Ordered maps, regroups, sinks: what comes of the parts of an input (SLUICE_TRAIT_PARTS), each in a run of its own, is, one behind the other,
        * what comes of the whole input. Of sinks: but for the header, see header_of_file. */
       SLUICE_TRAIT_CONCATENATES = 256,
       /* Regroups: an instance that is made of what save() gave for each of the parts (sluice_create_args.saved, in their order) stands where one
        * stands that has seen the rows of all. */
       SLUICE_TRAIT_SUMS = 512,
       /* Ordered maps, regroups, sinks: most instances offer sluice_stage.save. Runs with regroups and sinks without it cannot be resumed after they
        * were killed; ordered maps that keep no state offer a save() that writes nothing. */
       SLUICE_TRAIT_SAVES = 1024,
       /* Regroups: finish() may give rows where none came in: every window of a reference, covered or not. Without it the contract suite takes such
        * rows for a mistake. */
       SLUICE_TRAIT_ROWS_WITHOUT_INPUT = 2048,
       /* With BLOCKING, maps: process() of one instance may run on several such threads at once, begun in arrival order, where a run has many
        * threads. Not where files are followed. */
       SLUICE_TRAIT_SIDE_BY_SIDE = 4096
};

typedef struct sluice_stage_descriptor {
  uint32_t struct_size;
  /* Unique among all plugins. Ids, names (of columns, parameters, resource slots, row types, devices) and codes of reasons are snake_case: small
   * letters, digits and '_', not beginning with a digit. Columns that only a sink's own calls see begin with '_'. */
  const char* id;
  const char* summary; /* one line */
  const char* doc;     /* paragraphs of plain text or Markdown: method, source, limits */
  sluice_stage_kind kind;
  uint32_t traits;
  sluice_port input;  /* columns needed; row_type NULL for sources and resources */
  sluice_port output; /* columns given; row_type NULL for sinks; equal to the input's for maps */
  /* Sources and regroups: columns that the rows must have which sinks give back, see sluice_stage.feedback; row_type NULL: takes nothing back. */
  sluice_port feedback;
  size_t parameter_count, parameter_stride;
  const sluice_parameter* parameters;
  size_t role_count, role_stride;
  const sluice_parameter_role* roles;
  size_t resource_count, resource_stride;
  const sluice_resource_slot* resources;
  size_t reason_count, reason_stride;
  const sluice_reason* reasons; /* why rows fail here, or inputs never become rows */
  size_t implementation_count, implementation_stride;
  const sluice_implementation* implementations; /* the first is "cpu" unless the stage has none for it */
  const char* work_unit;                        /* what estimate().work counts: "base", "sample", "row" ... */
  const char* row_noun; /* sources, regroups: what a user calls one of the rows that leave, "alignment"; NULL: as the row type */
  /* Sources, regroups: the output column (utf8) that names a row in the account, wherever it fails; NULL: rows are numbered. */
  const char* row_name;
  /* Rules between parameters: called with the final values, in descriptor order, before anything is made or opened. NULL: none. Returns
   * SLUICE_ERROR_USAGE and fills the error where they do not go together. [thread-safe; looks at nothing but the values] */
  sluice_status (*check)(const sluice_value* parameters, size_t stride, sluice_error*);
  /* Sources, maps, regroups: the output column (a list or text) whose elements are what a user calls the length of a row, and what they are: "base",
   * "sample". Reports show how these lengths are distributed. NULL: rows have no length that a user asks for. */
  const char* row_length;
  const char* row_length_unit;
} sluice_stage_descriptor;

/* ---- Batches ------------------------------------------------------------------------------------------------------------------------ */

typedef struct sluice_column {
  const char* name;
  const char* type; /* as in sluice_column_spec */
  const struct ArrowSchema* schema;
  const struct ArrowArray* array;        /* on the host; NULL if the column is only on the call's device */
  const struct ArrowDeviceArray* device; /* on the call's device; NULL for CPU implementations */
} sluice_column;

typedef struct sluice_batch {
  uint32_t struct_size;
  const char* row_type;
  uint64_t sequence; /* position in the stream, from 0 without holes */
  int64_t row_count;
  const uint16_t* row_status; /* 0: fine; else the row failed earlier: skip it. NULL: all fine */
  size_t column_count, column_stride;
  const sluice_column* columns;
  size_t attribute_count; /* facts about the whole batch or resource, as text: "k" = "6" */
  const char* const* attribute_keys;
  const char* const* attribute_values;
} sluice_batch;

typedef struct sluice_estimate {
  uint32_t struct_size;
  double work; /* of all rows, in the descriptor's work unit */
  double largest_row_work;
  /* What the call takes beside its input: both count against the run's memory while it is under way. */
  uint64_t output_bytes;  /* columns it will add */
  uint64_t scratch_bytes; /* largest working memory of one thread */
  /* NULL, or room for row_count numbers: the work of each row, by which a batch is divided between a device and the CPU. A stage that does
   * not fill it is divided by the lengths of its longest list column. */
  double* row_work;
} sluice_estimate;

/* ---- What the host offers --------------------------------------------------------------------------------------------------------- */

typedef struct sluice_host sluice_host;     /* opaque: one per stage instance */
typedef struct sluice_output sluice_output; /* opaque: what a call produces */
typedef struct sluice_file sluice_file;     /* opaque: an output file that appears under its name only when the run succeeds */

/* A column that a call has made. The host looks at everything before it takes it: type and length, offsets, and whether each buffer is as long as
 * what it must hold. There are no nulls: null_count is 0 and no buffer is a bitmap. Taken, `release` of what was handed over is NULL. */
typedef struct sluice_new_column {
  uint32_t struct_size;
  const char* name;
  struct ArrowSchema* schema;
  struct ArrowArray* array;        /* on the host; or NULL, and */
  struct ArrowDeviceArray* device; /* on the call's device */
  /* Bytes of each buffer, those of the column first, then those of its child: fixed width { 0, values }, text { 0, offsets, bytes }, a list
   * { 0, offsets, 0, values }. */
  size_t buffer_count;
  const uint64_t* buffer_bytes;
} sluice_new_column;

typedef int32_t sluice_log_level;
enum { SLUICE_LOG_DEBUG = 0, SLUICE_LOG_INFO = 1, SLUICE_LOG_WARNING = 2, SLUICE_LOG_ERROR = 3 };

typedef struct sluice_host_api {
  uint32_t struct_size;
  uint16_t abi_major, abi_minor;

  /* [thread-safe] */
  void (*log)(const sluice_host*, sluice_log_level, const char* message);
  /* Whatever the call makes from here on is thrown away: it should return SLUICE_ERROR_CANCELLED soon. After the first interrupt this is so for
   * sources (which may also return what they have, and SLUICE_END), resources, and regroups that sinks answer; what the others have under way is
   * finished, so that outputs are whole up to a row. After a second one, SIGTERM or a failure it is so for all. A stage that follows files which
   * others still write is told 2 where it should give what is there and end (sluice/follow_state.hpp). */
  int32_t (*cancelled)(const sluice_host*);
  /* Runs body(argument, begin, end) over disjoint parts of [0, count), each at least `grain` long (but the last), on the run's threads;
   * returns when all are done. Returns the first status that is not SLUICE_OK. body must not throw. */
  sluice_status (*parallel_for)(const sluice_host*, size_t count, size_t grain, sluice_status (*body)(void* argument, size_t begin, size_t end),
                                void* argument);
  int32_t (*thread_count)(const sluice_host*);
  /* Memory of columns, aligned to 64 bytes. It counts against the run's budget, which decides how many batches are let in; NULL when the machine,
   * or this process's share of it, has no more. free(NULL) does nothing. */
  void* (*allocate)(const sluice_host*, size_t bytes);
  void (*free)(const sluice_host*, void*);
  /* What the instance keeps beside columns (an index, a table that grows), in bytes, now and in all: counts against the budget too. [thread-safe] */
  void (*keeps)(const sluice_host*, uint64_t bytes);
  /* Counts inputs that never became rows, by this stage's reason (index into descriptor->reasons). name may be NULL. [thread-safe] */
  sluice_status (*account)(const sluice_host*, uint32_t reason, uint64_t count, const char* name);
  /* A named number in the run report, added up over all calls. [thread-safe] */
  sluice_status (*count)(const sluice_host*, const char* counter, double amount);
  /* One value of a named quantity, say a latency in seconds: the report has count, median, 99th percentile and maximum. [thread-safe] */
  sluice_status (*observe)(const sluice_host*, const char* quantity, double value);
  /* What became of rows: of `total` rows `good` were "mapped", "called", ... Added up by name over a run and said at its end. A sink that ends with
   * 0 of more than 0 has produced nothing, and the run says so. [thread-safe] */
  sluice_status (*outcome)(const sluice_host*, const char* name, uint64_t good, uint64_t total);
  /* Sources: how much of the input has been read, 0 to 1, for the progress display. [thread-safe] */
  void (*progress)(const sluice_host*, double share);

  /* Output of a call [one thread at a time per output, but for fail_row, which is thread-safe for distinct rows]. What a call may not do is refused
   * with SLUICE_ERROR_INTERNAL; output_problem then says why. */
  sluice_status (*set_row_count)(sluice_output*, int64_t rows); /* sources, regroups, resources: once for each batch, before columns */
  sluice_status (*add_column)(sluice_output*, const sluice_new_column*);
  sluice_status (*set_attribute)(sluice_output*, const char* key, const char* value);
  sluice_status (*fail_row)(sluice_output*, int64_t row, uint32_t reason); /* reason: index into descriptor->reasons */
  sluice_status (*set_work)(sluice_output*, double work);                  /* sources: the batch's size in the source's work unit */
  /* Sources and regroups: what depends on this batch is wanted within so many seconds from now. The batch goes before others, is never held back to
   * learn something or to make a larger one, and the report counts commits that come later. */
  sluice_status (*set_deadline)(sluice_output*, double seconds);
  sluice_status (*emit)(sluice_output*);               /* regroups: closes this batch, opens the next */
  const char* (*output_problem)(const sluice_output*); /* what the host refused first; "" if nothing. Valid until the call ends */

  /* Output files. path "-" is standard output. Written beside the final name, renamed when the whole run has succeeded. */
  sluice_status (*open_file)(const sluice_host*, const char* path, sluice_file**, sluice_error*);
  sluice_status (*write_file)(sluice_file*, const void* data, size_t bytes, sluice_error*);
  const char* (*file_path)(const sluice_file*);             /* the temporary path, for libraries that write files themselves; closes nothing */
  sluice_status (*close_file)(sluice_file*, sluice_error*); /* flushes; the rename comes at the end of the run */
  /* Of a sink that concatenates: the first so many bytes of the file, or of the text in it where it is compressed, are a header that the files of
   * all parts have alike. Not said: there is none. */
  sluice_status (*header_of_file)(sluice_file*, uint64_t bytes);
} sluice_host_api;

/* A device as an implementation sees it during one call. CPU calls get NULL. The device is the calling thread's current one. Work goes to `stream`;
 * whatever way the call ends, the host waits for the stream before it frees or reuses anything. */
typedef struct sluice_device {
  uint32_t struct_size;
  const char* kind;       /* "cuda" or a provider's kind */
  int32_t ordinal;        /* as in "cuda:1": among the devices of the kind that can be used */
  int32_t native_ordinal; /* what the device's own library calls it (cudaSetDevice), which differs where some devices can't be used */
  void* stream;           /* cudaStream_t for "cuda"; the provider's own elsewhere */
  void* context;          /* the host's */
  sluice_status (*allocate)(const struct sluice_device*, size_t bytes, void** memory); /* from the device's pool, in stream order */
  void (*free)(const struct sluice_device*, void* memory);                             /* [thread-safe] */
} sluice_device;

typedef struct sluice_call {
  uint32_t struct_size;
  const sluice_host_api* api;
  const sluice_host* host;
  uint32_t implementation;     /* index into descriptor->implementations */
  const sluice_device* device; /* NULL: CPU */
  double target_work;          /* sources: cut the batch at about this much work */
  uint64_t target_bytes;       /* sources: and at about this many bytes of columns; sinks' commit and finish: bytes that may be kept */
} sluice_call;

/* ---- Stage instances ---------------------------------------------------------------------------------------------------------------- */

typedef struct sluice_bytes {
  const void* data;
  size_t bytes;
} sluice_bytes;

typedef struct sluice_create_args {
  uint32_t struct_size;
  const sluice_host_api* api;
  /* For every function of `api`, until destroy() has returned. Columns may live on: with the memory that allocate() gave for them the host
   * stays for free(), and for free() alone, until the last of it has come back, from any thread. */
  const sluice_host* host;
  const char* instance;           /* the stage's name in the pipeline */
  const sluice_value* parameters; /* in descriptor order, parameter_count of them */
  size_t parameter_stride;
  const sluice_batch* const* resources; /* in slot order; NULL for an optional one left out; live as long as the instance */
  const uint8_t* wanted;                /* per output column: 1 if somebody uses it */
  const uint8_t* available;             /* per input column: 1 if it is there (0 only for optional ones) */
  int32_t feedback_sinks;               /* how many sinks give their rows back to this instance */
  const char* begin_at;                 /* sources with SLUICE_TRAIT_POSITIONS: a position to begin at; NULL: at the beginning */
  uint64_t part, parts;                 /* the part of the run: 0 to parts - 1; 0 of 1: everything. See SLUICE_TRAIT_PARTS */
  /* What save() of instances with the same parameters gave: the new one resumes from there. Several: with SLUICE_TRAIT_SUMS only. None: it begins.
   * The bytes are there during create() only. Files of the host that the instance opens (the same ones, in the same order) have the bytes already
   * that were given to them before save(). */
  const sluice_bytes* saved;
  size_t saved_count, saved_stride;
} sluice_create_args;

typedef struct sluice_stage {
  uint32_t struct_size;
  void* self;
  /* Adds to `estimate`; NULL: work = rows. [thread-safe] */
  sluice_status (*estimate)(void* self, const sluice_batch* input, sluice_estimate* estimate);
  /* See sluice_stage_kind. [thread-safe unless the kind or a trait says otherwise] */
  sluice_status (*process)(void* self, const sluice_call*, const sluice_batch* input, sluice_output*, sluice_error*);
  /* Sinks: writes one prepared batch. */
  sluice_status (*commit)(void* self, const sluice_call*, const sluice_batch* input, sluice_error*);
  /* After the last batch: sinks close their files, regroups may emit, maps may give accounts. Not called when the run failed. NULL: nothing to do. */
  sluice_status (*finish)(void* self, const sluice_call*, sluice_output*, sluice_error*);
  void (*destroy)(void* self);
  const void* (*get_extension)(void* self, const char* id); /* NULL or returns NULL: not offered */
  /* Maps. Bit i: implementation i can't do what this instance's parameters ask for; the host uses the others. At least one must remain. */
  uint64_t declined;
  /* Sources and regroups that take something back: rows that this instance made, with their sequence number, after a sink has committed them, in
   * order; every batch that was not empty comes back once from each sink unless the run ends early. It must not wait. [thread-safe against process()
   * and against itself if several sinks give back] */
  sluice_status (*feedback)(void* self, const sluice_call*, const sluice_batch* input, sluice_error*);
  /* Sources with SLUICE_TRAIT_POSITIONS: between two calls of process(), where the next row begins, as text without tabs and line ends that
   * sluice_create_args.begin_at takes; "none": this input can't be begun elsewhere, so that its run cannot be resumed. */
  sluice_status (*position)(void* self, char* text, size_t capacity, sluice_error*);
  /* Ordered maps, regroups and sinks, between two calls: gives what a new instance needs to resume from here (sluice_create_args.saved), in pieces
   * of any size through write(to, ...). A write that fails says so, and save() returns its status. What has been given to files of the host is kept
   * by the host. NULL: this instance cannot be resumed. */
  sluice_status (*save)(void* self, const sluice_call*, sluice_status (*write)(void* to, const void* data, size_t bytes), void* to, sluice_error*);
} sluice_stage;

/* ---- The plugin ------------------------------------------------------------------------------------------------------------------------ */

/* What a plugin is told when it is loaded. */
typedef struct sluice_init_args {
  uint32_t struct_size;
  uint16_t abi_major, abi_minor; /* the host's */
  const char* path;              /* the plugin's own file */
} sluice_init_args;

typedef struct sluice_plugin_info {
  uint32_t struct_size;
  const char *name, *version, *licence, *origin, *build_id;
  /* How many stages there are, and the descriptor of the i-th: lives as long as the process. */
  size_t stage_count;
  const sluice_stage_descriptor* (*stage)(size_t index);
  /* Makes an instance of the i-th stage. Called after all resources of the run are there. */
  sluice_status (*create)(size_t index, const sluice_create_args*, sluice_stage* stage, sluice_error*);
  const void* (*get_extension)(const char* id); /* NULL, or returns NULL: none */
} sluice_plugin_info;

/* What a plugin exports. The number: SLUICE_ABI_MAJOR * 65536 + SLUICE_ABI_MINOR. The function is called once; it may look for stages beside `path`.
 * NULL: the plugin can't be used here, and the error says why. */
#define SLUICE_PLUGIN_ABI_SYMBOL "sluice_plugin_abi"
#define SLUICE_PLUGIN_INIT_SYMBOL "sluice_plugin_init"
#define SLUICE_ABI_NUMBER (SLUICE_ABI_MAJOR * 65536u + SLUICE_ABI_MINOR)
typedef const sluice_plugin_info* (*sluice_plugin_init_function)(const sluice_init_args*, sluice_error*);
/* In the plugin:
 *   SLUICE_EXPORT const uint32_t sluice_plugin_abi = SLUICE_ABI_NUMBER;
 *   SLUICE_EXPORT const sluice_plugin_info* sluice_plugin_init(const sluice_init_args* args, sluice_error* error) { ... } */

#ifdef __cplusplus
}
#endif

#include <sluice/abi_device.h>
#endif
