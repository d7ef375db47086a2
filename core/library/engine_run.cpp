// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "library/engine_run.hpp"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <sluice/failure.hpp>

#include "config/parameter_value.hpp"
#include "library/registered_stage.hpp"
#include "library/stream_stage.hpp"
#include "library/unlocked_wait.hpp"
#include "machine/c_locale.hpp"
#include "session/exit_code.hpp"
#include "session/output_room.hpp"

namespace sluice {
namespace {

constexpr std::size_t most_lines = 10000;  // that wait to be read; warnings before others

std::string place_text(const Location& where) {
  std::string text = where.file;
  if (where.line > 0) text += ":" + std::to_string(where.line);
  if (where.line > 0 && where.column > 0) text += ":" + std::to_string(where.column);
  return text;
}

// Optional columns are planned behind the stage that could make them, whether it does or not.
bool is_made(const Plan& plan, std::size_t stage, const std::string& column, std::set<std::size_t>& seen) {
  if (!seen.insert(stage).second) return false;
  const PlannedStage& planned = plan.stages[stage];
  const sluice_stage_descriptor& d = *planned.stage->entry.descriptor;
  for (std::size_t c = 0; c < d.output.column_count; ++c)
    if (column == d.output.columns[c].name) return planned.wanted[c] != 0;
  const std::vector<std::size_t>& inputs = planned.stage->inputs;
  return d.kind == SLUICE_MAP && std::any_of(inputs.begin(), inputs.end(), [&](std::size_t input) { return is_made(plan, input, column, seen); });
}

}  // namespace

RunOwner::~RunOwner() {
  if (run_->is_of_this_process())
    run_->stop();
  else
    new std::shared_ptr<EngineRun>(run_);  // never ended here
}

EngineRun::EngineRun(Engine& engine, const RunRequest& request) : registry_(engine.registry()) {
  Diagnostics diagnostics;
  try {
    plan(request, diagnostics);
    take(diagnostics);
    if (status_ != SLUICE_OK || !plan_) return;
    settings_.options.log = [this](int level, const std::string& line) { log(level, line); };
    settings_.command_line = {"libsluice", plan_->pipeline.name};
    Diagnostics of_session;
    session_.emplace(*plan_, *registry_, settings_, of_session);
    take(of_session);
    if (!session_->note().empty()) log(SLUICE_LOG_INFO, session_->note());
    if (status_ != SLUICE_OK) session_.reset();
  } catch (const Failure& failure) {
    add_problem(failure.status(), "", "", failure.what(), failure.remedy());
  }
}

EngineRun::~EngineRun() {
  if (plan_) forget_owner_of_stages(plan_->pipeline);
}

void EngineRun::make_known() {
  if (plan_) set_owner_of_stages(plan_->pipeline, weak_from_this());
}

void EngineRun::plan(const RunRequest& request, Diagnostics& diagnostics) {
  WrittenPipeline pipeline = written(request, diagnostics);
  settings_ = read_settings(request.options, Spelling::names, diagnostics);
  check_device(settings_.options.device, settings_.spelling, *registry_, diagnostics);
  if (pipeline.stages.empty()) return;
  const Overrides given = overrides(request, pipeline, diagnostics);
  if (request.stream) {
    channel_ = std::make_shared<BatchChannel>(request.stream_depth);
    StreamWish wish = *request.stream;
    wish.channel = number_of_channel(channel_);
    pipeline = with_stream(pipeline, wish, given, *registry_, diagnostics);
    settings_.options.watchdog_seconds = 0;  // whoever takes the batches has time
  }
  ResolvedPipeline resolved = resolve_pipeline(pipeline, given, *registry_, diagnostics);
  if (!resolved.connected) return;
  const std::string& device = settings_.options.device;
  plan_ = make_plan(std::move(resolved), device, device_kinds(*registry_, device, DeviceSearch::possible), diagnostics);
  if (request.stream) plan_stream(request, diagnostics);
  std::vector<PlannedFile> files = files_of(*plan_, *registry_);
  const std::vector<PlannedFile> own = settings_.files();
  files.insert(files.end(), own.begin(), own.end());
  check_files(files, Missing::error, diagnostics);
  check_records(settings_, diagnostics);
  check_room(pipeline, plan_->pipeline.parameters, given, settings_, diagnostics);
}

WrittenPipeline EngineRun::written(const RunRequest& request, Diagnostics& diagnostics) const {
  if (request.has_text) return parse_pipeline(request.pipeline_text, request.pipeline.empty() ? "pipeline" : request.pipeline, diagnostics);
  const std::filesystem::path file = find_pipeline(request.pipeline, diagnostics, {"pipeline", 0, 0});
  return file.empty() ? WrittenPipeline() : load_pipeline_file(file, diagnostics);
}

Overrides EngineRun::overrides(const RunRequest& request, const WrittenPipeline& pipeline, Diagnostics& diagnostics) const {
  Overrides result;
  result.set = request.changes;
  for (const auto& [given, value] : request.parameters) {
    const std::string& name = pipeline.present_name(given);
    const auto known = std::find_if(pipeline.parameters.begin(), pipeline.parameters.end(), [&](const auto& p) { return p.name == name; });
    if (known != pipeline.parameters.end() && known->several)
      if (const ValueProblem problem = problem_of_input_name(value); !problem.message.empty())
        diagnostics.error({"command line", 0, 0}, "", "--" + kebab_case(name) + ": " + problem.message, problem.remedy);
    const auto [entry, is_first] = result.parameters.emplace(name, value);
    if (is_first) continue;
    if (known != pipeline.parameters.end() && known->several)
      entry->second += "\n" + value;
    else
      diagnostics.error({"command line", 0, 0}, "", "--" + kebab_case(name) + " is given more than once", "give one value");
  }
  return result;
}

// The columns that arrive at the sink.
void EngineRun::plan_stream(const RunRequest& request, Diagnostics& diagnostics) {
  const auto refuse = [&](const char* message, const char* remedy) { diagnostics.error(settings_.place(), "", message, remedy); };
  if (settings_.resume) refuse("resume: a stream begins at the first row", "resume runs that write files");
  if (!settings_.shard.empty()) refuse("shard: a stream gives the rows of the whole input", "run shards into files, and merge them");
  settings_.options.checkpoints = {};
  settings_.allow_empty = true;
  if (diagnostics.has_errors()) return;
  const auto sink = std::find_if(plan_->stages.begin(), plan_->stages.end(),
                                 [](const PlannedStage& stage) { return std::string_view(stage.stage->entry.descriptor->id) == stream_stage_id; });
  const PlannedStage& from = plan_->stages[sink->stage->inputs.front()];
  if (from.stage->name != request.stream->stage)
    return diagnostics.error({"stream", 0, 0}, "", "stage '" + request.stream->stage + "' is disabled by the parameters",
                             "name another, '" + from.stage->name + "' for example");
  const auto this_sink = static_cast<std::size_t>(sink - plan_->stages.begin());
  const auto which = std::find(from.consumers.begin(), from.consumers.end(), this_sink) - from.consumers.begin();
  const std::vector<std::string>& kept = from.kept[static_cast<std::size_t>(which)];
  for (const PlannedColumn& column : from.columns) {
    std::set<std::size_t> seen;
    if (std::find(kept.begin(), kept.end(), column.name) != kept.end() && is_made(*plan_, sink->stage->inputs.front(), column.name, seen))
      columns_.push_back({column.name, column.type});
  }
  keep_failed_rows_ = request.keep_failed_rows;
  if (!keep_failed_rows_) return;
  if (std::any_of(columns_.begin(), columns_.end(), [](const StreamColumn& column) { return column.name == "failed"; }))
    return diagnostics.error({"stream", 0, 0}, "", "the rows have a column 'failed' of their own", "leave failed rows out");
  columns_.push_back({"failed", "utf8", true});
}

void EngineRun::take(const Diagnostics& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics.list()) {
    const bool is_warning = diagnostic.severity == Severity::warning;
    problems_.push_back({is_warning ? SLUICE_OK : SLUICE_ERROR_USAGE, is_warning, place_text(diagnostic.where), diagnostic.stage, diagnostic.message,
                         diagnostic.remedy, diagnostic.text()});
  }
  if (diagnostics.has_errors()) status_ = SLUICE_ERROR_USAGE;
}

void EngineRun::add_problem(sluice_status status, const std::string& place, const std::string& stage, const std::string& message,
                            const std::string& remedy) {
  const Diagnostic said{Severity::error, {place, 0, 0}, stage, message, remedy};
  problems_.push_back({status, false, place.empty() ? stage : place, stage, message, remedy, said.text()});
  if (status_ == SLUICE_OK) status_ = status;
}

void EngineRun::log(int level, const std::string& line) {
  const std::lock_guard lock(mutex_);
  if (lines_.size() < most_lines || level >= SLUICE_LOG_WARNING) lines_.emplace_back(level, line);
}

void EngineRun::refuse_elsewhere() const {
  if (!is_of_this_process()) throw Failure::usage("a run belongs to the process that made it", "make another one in this process");
}

sluice_status EngineRun::execute() {
  if (!session_) return status_;
  refuse_elsewhere();
  if (executed_) return SLUICE_ERROR_USAGE;
  executed_ = true;
  const CLocale locale;
  const LiveRun::Executing executing(session_->live());
  try {
    conclude(session_->execute());
  } catch (const std::exception& exception) {  // no memory for the words, say
    add_problem(SLUICE_ERROR_INTERNAL, "", "", exception.what(), "");
  }
  if (channel_) channel_->end();
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  over_.notify_all();
  return status_;
}

// The same ending as of `sluice run`, but that a reader who has gone is none.
void EngineRun::conclude(const SessionEnd& end) {
  const RunResult& result = end.result;
  if (closed_ || result.status == SLUICE_ERROR_CLOSED_PIPE)
    status_ = SLUICE_END;
  else if (result.state == RunState::failed)
    add_problem(result.status, "", result.stage, result.message, result.remedy);
  else if (end.exit_code == exit_interrupted)
    status_ = SLUICE_END;
  const std::string& name = plan_->pipeline.name;
  if (!end.emptiness.empty()) add_problem(SLUICE_ERROR_INPUT, name, "", "nothing was produced: " + end.emptiness, "allow_empty accepts that");
  if (end.failed_share) add_problem(SLUICE_ERROR_INPUT, name, "", "more rows failed than max_bad_reads allows", "the report's account says why");
  for (const std::string& problem : end.unwritten) add_problem(SLUICE_ERROR_OUTPUT, "", "", problem, "is the disk full, and may you write there?");
  for (const std::string& line : end.summary) log(SLUICE_LOG_INFO, line);
  for (const std::string& hint : end.hints) log(SLUICE_LOG_WARNING, hint);
  if (result.can_be_resumed) log(SLUICE_LOG_WARNING, "the same run with resume=True goes on from there");
  report_ = session_->report();
}

sluice_status EngineRun::start() {
  if (!session_) return status_;
  refuse_elsewhere();
  if (executed_ || thread_.joinable()) return SLUICE_ERROR_USAGE;
  thread_ = std::thread([this] { execute(); });
  return SLUICE_OK;
}

bool EngineRun::wait(double seconds) {
  if (!is_of_this_process()) return true;
  std::unique_lock lock(mutex_);
  const auto ended = [&] { return has_ended_ || !session_; };
  if (seconds >= 0) return over_.wait_for(lock, std::chrono::duration<double>(seconds), ended);
  over_.wait(lock, ended);
  return true;
}

// What follows its input ends with what is there, and the run is a whole one.
bool EngineRun::interrupt() {
  return session_ && (session_->run()->end_input_or_interrupt() != LifeAnswer::stands || session_->run()->state() != LifeState::ended);
}

void EngineRun::stop() {
  if (!is_of_this_process()) return;
  if (channel_) channel_->close();
  const UnlockedWait unlocked;
  const std::lock_guard lock(stopping_);
  if (!thread_.joinable()) return;
  session_->run()->tell(LifeEvent::end_all);
  thread_.join();
}

std::string EngineRun::snapshot() const {
  using Json = nlohmann::ordered_json;
  if (!session_) return "{}";
  const RunStatistics s = session_->run()->snapshot();
  Json stages = Json::array();
  for (const StageStatistics& stage : s.stages) {
    std::uint64_t failed = 0;
    for (const auto& [reason, rows] : stage.failed) failed += rows;
    stages.push_back({{"name", stage.name},
                      {"role", stage.role},
                      {"rows_in", stage.rows_in},
                      {"rows_out", stage.rows_out},
                      {"failed", failed},
                      {"busy_seconds", stage.busy_seconds}});
  }
  const Json all = {{"pipeline", s.pipeline},
                    {"seconds", s.elapsed_seconds},
                    {"progress", s.source_progress < 0 ? Json(nullptr) : Json(s.source_progress)},
                    {"memory_bytes", s.memory_now},
                    {"batches_in_flight", s.batches_in_flight},
                    {"stages", stages}};
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool EngineRun::next_line(std::string& line, int& level) {
  const std::lock_guard lock(mutex_);
  if (lines_.empty()) return false;
  level = lines_.front().first;
  line = std::move(lines_.front().second);
  lines_.pop_front();
  return true;
}

std::string EngineRun::report() const {
  const std::lock_guard lock(mutex_);
  return has_ended_ ? report_ : "";
}

}  // namespace sluice
