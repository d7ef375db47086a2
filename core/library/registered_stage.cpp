// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "library/registered_stage.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <sluice/stage.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "batch/batch.hpp"
#include "config/stage_description.hpp"
#include "library/arrow_export.hpp"
#include "library/arrow_import.hpp"
#include "run/host.hpp"

struct sluice_rows {
  const sluice_call& call;
  sluice_output* output;
};

namespace sluice {
namespace {

struct RegisteredStage {
  std::unique_ptr<DescribedStage> description;
  sluice_stage_functions functions{};
};

// Places are by id and stay; who registers an id again takes its place. What was there lives on for runs that know it.
struct Registered {
  std::mutex mutex;  // guards everything
  std::vector<const RegisteredStage*> places, ever;
  std::uint64_t edition = 0;
  std::map<std::string, std::string, std::less<>> of_plugins;  // the plugin's name by the stage's id
  std::map<const ResolvedStage*, std::weak_ptr<const void>> owners;
};

Registered& registered() {
  static auto& all = *new Registered;  // never destroyed: runs of other threads may still end
  return all;
}

class Instance {
 public:
  Instance(const RegisteredStage& stage, const sluice_create_args& args) : stage_(stage) {
    {
      Registered& all = registered();
      const std::lock_guard lock(all.mutex);
      if (const auto owner = all.owners.find(args.host->stage); owner != all.owners.end()) owner_ = owner->second;
    }
    const sluice_stage_descriptor& d = stage.description->descriptor;
    for (std::size_t c = 0; c < d.output.column_count; ++c)
      if (args.wanted[c] != 0) wanted_.emplace_back(d.output.columns[c].name);
    const std::string parameters = parameters_json(d, args.parameters, args.parameter_stride);
    sluice_error error{};
    throw_unless(stage.functions.create(stage.functions.user, parameters.c_str(), &instance_, &error), error);
  }
  ~Instance() { stage_.functions.destroy(stage_.functions.user, instance_); }
  Instance(const Instance&) = delete;

  // A source's next rows. false: there are no more.
  bool read(const sluice_call& raw, sluice_output* output) {
    const Call call(raw);
    ArrowSchema made_schema{};
    ArrowArray made{};
    sluice_rows rows{raw, output};
    sluice_error error{};
    const sluice_status status =
        stage_.functions.process(stage_.functions.user, instance_, nullptr, nullptr, nullptr, &made_schema, &made, &rows, &error);
    if (status == SLUICE_END) return false;
    throw_unless(status, error);
    if (made.release == nullptr || made.length == 0) {  // nothing this time
      if (made.release != nullptr) made.release(&made);
      if (made_schema.release != nullptr) made_schema.release(&made_schema);
      return true;
    }
    const std::int64_t count = made.length;
    Output out(call, output, count);
    out.set_rows(count);
    take(out, made_schema, made, count);
    return true;
  }

  void process(const sluice_call& raw, const sluice_batch& input, sluice_output* output) {
    const Call call(raw);
    std::vector<StreamColumn> columns;
    for (std::size_t c = 0; c < input.column_count; ++c) {
      const sluice_column& column = *SLUICE_AT(sluice_column, input.columns, input.column_stride, c);
      columns.push_back({column.name, column.type});
    }
    const auto batch = std::make_shared<BatchData>(batch_behind(input));
    ArrowSchema schema = export_schema(columns), made_schema{};
    ArrowArray array = export_batch(batch, columns, nullptr, owner_.lock()), made{};
    sluice_rows rows{raw, output};
    sluice_error error{};
    const sluice_status status =
        stage_.functions.process(stage_.functions.user, instance_, &schema, &array, input.row_status, &made_schema, &made, &rows, &error);
    if (schema.release != nullptr) schema.release(&schema);
    if (array.release != nullptr) array.release(&array);
    throw_unless(status, error);
    Output out(call, output, input.row_count);
    take(out, made_schema, made, input.row_count);
  }

 private:
  void take(Output& out, ArrowSchema& schema, ArrowArray& array, std::int64_t rows) const {
    import_columns(schema, array, rows, [&](const sluice_new_column& column) {
      if (std::find(wanted_.begin(), wanted_.end(), column.name) != wanted_.end()) out.add(column);
    });
  }
  static void throw_unless(sluice_status status, const sluice_error& error) {
    if (status != SLUICE_OK) throw Failure(status, error.message[0] != '\0' ? error.message : "failed without a word", error.remedy);
  }

  const RegisteredStage& stage_;
  std::weak_ptr<const void> owner_;
  std::vector<std::string> wanted_;
  void* instance_ = nullptr;
};

sluice_status process(void* self, const sluice_call* call, const sluice_batch* input, sluice_output* output, sluice_error* error) {
  return detail::guarded(error, [&] {
    Instance& instance = *static_cast<Instance*>(self);
    if (input == nullptr) return instance.read(*call, output) ? SLUICE_OK : SLUICE_END;
    return instance.process(*call, *input, output), SLUICE_OK;
  });
}

// The one that the run was planned with, whoever has taken its place since.
const RegisteredStage& planned_stage(const sluice_create_args& args) {
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  const char* const id = args.host->descriptor().id;
  return **std::find_if(all.ever.begin(), all.ever.end(), [&](const RegisteredStage* stage) { return stage->description->descriptor.id == id; });
}

sluice_status create(std::size_t, const sluice_create_args* args, sluice_stage* stage, sluice_error* error) {
  return detail::guarded(error, [&] {
    *stage = sluice_stage{};
    stage->struct_size = sizeof *stage;
    stage->self = new Instance(planned_stage(*args), *args);
    stage->process = process;
    stage->destroy = [](void* self) { delete static_cast<Instance*>(self); };
    return SLUICE_OK;
  });
}

const sluice_stage_descriptor* descriptor_of(std::size_t index) {
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  return index < all.places.size() ? &all.places[index]->description->descriptor : nullptr;
}

const sluice_plugin_info* init(const sluice_init_args*, sluice_error*) {
  static sluice_plugin_info info{};
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  info.struct_size = sizeof info;
  info.name = "registered_stages";
  info.version = SLUICE_VERSION;
  info.licence = info.origin = info.build_id = "";
  info.stage_count = all.places.size();
  info.stage = descriptor_of;
  info.create = create;
  return &info;
}

}  // namespace

void register_stage(const std::string& description, const sluice_stage_functions& functions) {
  if (functions.create == nullptr || functions.process == nullptr || functions.destroy == nullptr)
    throw Failure::usage("a stage needs the functions create, process and destroy");
  auto stage = std::make_unique<RegisteredStage>();
  stage->description = described_stage(description);
  std::memcpy(&stage->functions, &functions, std::min<std::size_t>(functions.struct_size, sizeof functions));  // the caller's may be older: shorter
  // The rules of any other plugin.
  std::string problem;
  if (take_descriptor(&stage->description->descriptor, problem) == nullptr) throw Failure::usage(problem);
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  const std::string_view id = stage->description->descriptor.id;
  if (const auto taken = all.of_plugins.find(id); taken != all.of_plugins.end())
    throw Failure::usage("the plugin " + taken->second + " has a stage '" + taken->first + "' already", "give yours another name");
  const auto same =
      std::find_if(all.places.begin(), all.places.end(), [&](const RegisteredStage* other) { return other->description->descriptor.id == id; });
  all.ever.push_back(stage.release());
  if (same == all.places.end())
    all.places.push_back(all.ever.back());
  else
    *same = all.ever.back();
  ++all.edition;
}

std::uint64_t registered_edition() {
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  return all.edition;
}

void note_plugin_stages(const Registry& loaded) {
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  for (const StageEntry& stage : loaded.stages()) all.of_plugins.emplace(stage.descriptor->id, stage.plugin->name);
}

void add_registered_stages(Registry& registry) { registry.add(init, "registered stages"); }

void set_owner_of_stages(const ResolvedPipeline& pipeline, const std::weak_ptr<const void>& owner) {
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  for (const ResolvedStage& stage : pipeline.stages)
    if (stage.entry.plugin->create == create) all.owners[&stage] = owner;
}

void forget_owner_of_stages(const ResolvedPipeline& pipeline) {
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  for (const ResolvedStage& stage : pipeline.stages) all.owners.erase(&stage);
}

}  // namespace sluice

sluice_status sluice_rows_fail(sluice_rows* rows, int64_t row, uint32_t reason) { return rows->call.api->fail_row(rows->output, row, reason); }
void sluice_rows_log(sluice_rows* rows, int32_t level, const char* line) { rows->call.api->log(rows->call.host, level, line); }
void sluice_rows_deadline(sluice_rows* rows, double seconds) { rows->call.api->set_deadline(rows->output, seconds); }
