// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The C functions of sluice.h: nothing but the border.

#include <sluice.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sluice/stage.hpp>

#include "library/engine.hpp"
#include "library/engine_run.hpp"
#include "library/program_merge.hpp"
#include "library/registered_stage.hpp"
#include "library/unlocked_wait.hpp"
#include "machine/c_locale.hpp"

struct sluice_engine {
  std::shared_ptr<sluice::Engine> engine;
};

struct sluice_run {
  std::shared_ptr<sluice::RunOwner> owner;
  sluice::EngineRun& run;
};

namespace {

// Every function that does more than hand something out: no exception leaves, and the program's locale does not come in.
template <class Body>
sluice_status guarded(sluice_error* error, Body&& body) {
  const sluice::CLocale locale;
  return sluice::detail::guarded(error, std::forward<Body>(body));
}

char* text_of(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

std::string said(const char* text) { return text == nullptr ? "" : text; }

std::vector<std::pair<std::string, std::string>> settings(const sluice_setting* items, std::size_t count) {
  std::vector<std::pair<std::string, std::string>> result;
  for (std::size_t i = 0; i < count; ++i) result.emplace_back(said(items[i].name), said(items[i].value));
  return result;
}

sluice::RunRequest request_of(const sluice_run_request& foreign) {
  sluice_run_request r{};  // members that the caller does not know are 0
  std::memcpy(&r, &foreign, std::min<std::size_t>(foreign.struct_size, sizeof r));
  sluice::RunRequest request;
  request.pipeline = said(r.pipeline);
  request.has_text = r.pipeline_text != nullptr;
  request.pipeline_text = said(r.pipeline_text);
  request.parameters = settings(r.parameters, r.parameter_count);
  request.options = settings(r.options, r.option_count);
  for (std::size_t i = 0; i < r.change_count; ++i) request.changes.emplace_back(r.changes[i]);
  if (r.stream_stage != nullptr) request.stream = sluice::StreamWish{r.stream_stage, said(r.stream_columns), r.stream_and_write != 0, 0};
  request.keep_failed_rows = r.stream_failed_rows == SLUICE_FAILED_ROWS_KEPT;
  if (r.stream_depth > 0) request.stream_depth = r.stream_depth;
  return request;
}

// An Arrow C stream over a run.
struct RunStream {
  std::shared_ptr<sluice::RunOwner> owner;
  sluice::EngineRun& run;
  std::string error;
};

RunStream& stream_of(ArrowArrayStream* stream) { return *static_cast<RunStream*>(stream->private_data); }

int errno_of(sluice_status status) {
  return status == SLUICE_ERROR_MEMORY ? ENOMEM : status == SLUICE_ERROR_USAGE ? EINVAL : status == SLUICE_ERROR_CANCELLED ? ECANCELED : EIO;
}

int get_schema(ArrowArrayStream* stream, ArrowSchema* schema) {
  sluice_error error{};
  const sluice_status status = guarded(&error, [&] { return *schema = sluice::export_schema(stream_of(stream).run.stream_columns()), SLUICE_OK; });
  stream_of(stream).error = error.message;
  return status == SLUICE_OK ? 0 : errno_of(status);
}

int get_next(ArrowArrayStream* stream, ArrowArray* array) {
  RunStream& of = stream_of(stream);
  sluice_error error{};
  *array = ArrowArray{};
  sluice_status status = guarded(&error, [&] { return of.run.next_batch(-1, *array); });
  if (status == SLUICE_OK) return 0;
  of.error = error.message;
  if (status == SLUICE_END) {
    status = of.run.status();
    if (status == SLUICE_OK || status == SLUICE_END) return 0;
    of.error = of.run.problems().back().text;
  }
  return errno_of(status);
}

const char* get_last_error(ArrowArrayStream* stream) { return stream_of(stream).error.c_str(); }

void release_stream(ArrowArrayStream* stream) {
  stream_of(stream).run.close_stream();
  delete static_cast<RunStream*>(stream->private_data);
  stream->release = nullptr;
}

}  // namespace

uint32_t sluice_library_number(void) { return SLUICE_LIBRARY_NUMBER; }
const char* sluice_version(void) { return SLUICE_VERSION; }
void sluice_text_free(char* text) { std::free(text); }

sluice_engine* sluice_engine_new(const char* const* plugin_dirs, size_t count, sluice_error* error) {
  sluice_engine* engine = nullptr;
  guarded(error, [&] {
    engine = new sluice_engine{std::make_shared<sluice::Engine>(std::vector<std::filesystem::path>(plugin_dirs, plugin_dirs + count))};
    return SLUICE_OK;
  });
  return engine;
}
void sluice_engine_free(sluice_engine* engine) { delete engine; }
char* sluice_engine_describe(const sluice_engine* engine) {
  char* text = nullptr;
  guarded(nullptr, [&] { return text = text_of(engine->engine->describe()), SLUICE_OK; });
  return text;
}

sluice_run* sluice_run_new(sluice_engine* engine, const sluice_run_request* request) {
  sluice_run* run = nullptr;
  guarded(nullptr, [&] {
    const auto made = std::make_shared<sluice::EngineRun>(*engine->engine, request_of(*request));
    made->make_known();
    run = new sluice_run{std::make_shared<sluice::RunOwner>(made), *made};
    return SLUICE_OK;
  });
  return run;
}
void sluice_run_free(sluice_run* run) { delete run; }
void sluice_end_all_runs(void) {
  guarded(nullptr, [] {
    const sluice::UnlockedWait unlocked;
    return sluice::LiveRun::end_all(), SLUICE_OK;
  });
}

sluice_status sluice_run_status(const sluice_run* run) { return run->run.status(); }
size_t sluice_run_problem_count(const sluice_run* run) { return run->run.problems().size(); }
sluice_status sluice_run_problem(const sluice_run* run, size_t index, sluice_problem* problem) {
  if (index >= run->run.problems().size()) return SLUICE_ERROR_USAGE;
  const sluice::RunProblem& p = run->run.problems()[index];
  sluice_problem all{problem->struct_size, p.status,          p.is_warning ? 1 : 0, p.place.c_str(),
                     p.stage.c_str(),      p.message.c_str(), p.remedy.c_str(),     p.text.c_str()};
  std::memcpy(problem, &all, std::min<std::size_t>(problem->struct_size, sizeof all));
  return SLUICE_OK;
}

sluice_status sluice_run_execute(sluice_run* run) {
  return guarded(nullptr, [&] { return run->run.execute(); });
}
sluice_status sluice_run_start(sluice_run* run) {
  return guarded(nullptr, [&] { return run->run.start(); });
}
int32_t sluice_run_wait(sluice_run* run, double seconds) { return run->run.wait(seconds) ? 1 : 0; }
int32_t sluice_run_interrupt(sluice_run* run) { return run->run.interrupt() ? 1 : 0; }
char* sluice_run_snapshot(const sluice_run* run) {
  char* text = nullptr;
  guarded(nullptr, [&] { return text = text_of(run->run.snapshot()), SLUICE_OK; });
  return text;
}
char* sluice_run_next_line(sluice_run* run, int32_t* level) {
  char* text = nullptr;
  guarded(nullptr, [&] {
    std::string line;
    int of = 0;
    if (run->run.next_line(line, of)) text = text_of(line), *level = of;
    return SLUICE_OK;
  });
  return text;
}
char* sluice_run_report(const sluice_run* run) {
  char* text = nullptr;
  guarded(nullptr, [&] {
    const std::string report = run->run.report();
    if (!report.empty()) text = text_of(report);
    return SLUICE_OK;
  });
  return text;
}

sluice_status sluice_merge(sluice_engine* engine, const sluice_merge_request* request, char** report, sluice_error* error) {
  return guarded(error, [&] {
    sluice_merge_request r{};
    std::memcpy(&r, request, std::min<std::size_t>(request->struct_size, sizeof r));
    sluice::MergeRequest wish;
    wish.output = said(r.output), wish.of = said(r.of), wish.report = said(r.report), wish.account = said(r.account);
    wish.shards.assign(r.shards, r.shards + r.shard_count);
    wish.command_line = {"libsluice", "merge"};
    const std::string text = sluice::merge_for_program(*engine->engine->registry(), wish, settings(r.options, r.option_count), r.stop);
    if (report != nullptr) *report = text_of(text);
    return SLUICE_OK;
  });
}

sluice_status sluice_run_stream_schema(const sluice_run* run, ArrowSchema* schema) {
  if (!run->run.streams()) return SLUICE_ERROR_USAGE;
  return guarded(nullptr, [&] { return *schema = sluice::export_schema(run->run.stream_columns()), SLUICE_OK; });
}
sluice_status sluice_run_next_batch(sluice_run* run, double seconds, ArrowArray* batch, sluice_error* error) {
  if (!run->run.streams()) return SLUICE_ERROR_USAGE;
  return guarded(error, [&] { return run->run.next_batch(seconds, *batch); });
}
void sluice_run_close_stream(sluice_run* run) {
  if (run->run.streams()) run->run.close_stream();
}
sluice_status sluice_run_export_stream(sluice_run* run, ArrowArrayStream* stream) {
  if (!run->run.streams()) return SLUICE_ERROR_USAGE;
  return guarded(nullptr, [&] {
    *stream = {get_schema, get_next, get_last_error, release_stream, new RunStream{run->owner, run->run, {}}};
    return SLUICE_OK;
  });
}
sluice_status sluice_batch_share(const ArrowArray* batch, ArrowArray* shared) {
  return guarded(nullptr, [&] { return *shared = sluice::export_again(*batch), SLUICE_OK; });
}
void sluice_batch_release(ArrowArray* batch) {
  if (batch->release != nullptr) batch->release(batch);
}
sluice_status sluice_schema_share(const ArrowSchema* schema, ArrowSchema* shared) {
  return guarded(nullptr, [&] { return *shared = sluice::copied_schema(*schema), SLUICE_OK; });
}
void sluice_around_waits(int (*held)(void), void* (*release)(void), void (*acquire)(void*)) {
  sluice::UnlockedWait::set_lock({held, release, acquire});
}

sluice_status sluice_stage_register(const char* description, const sluice_stage_functions* functions, sluice_error* error) {
  return guarded(error, [&] {
    if (!SLUICE_HAS(functions, sluice_stage_functions, destroy)) throw sluice::Failure::usage("sluice_stage_functions is too small");
    sluice::register_stage(description, *functions);
    return SLUICE_OK;
  });
}
