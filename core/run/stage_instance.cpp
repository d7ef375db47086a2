// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/stage_instance.hpp"

#include <sluice/failure.hpp>

#include "config/pipeline.hpp"
#include "run/call_mark.hpp"
#include "run/stage_call.hpp"

namespace sluice {

StageInstance::StageInstance(const sluice_host& host, const std::vector<BatchHandle>& resources, const InstanceWishes& wishes) : host_(host) {
  const ResolvedStage& stage = *host.stage;
  std::vector<const sluice_batch*> views;
  for (const int index : stage.resources)
    views.push_back(index < 0 ? nullptr : &resources_.emplace_back(*resources[static_cast<std::size_t>(index)]).get());
  views.resize(std::max(views.size(), host.descriptor().resource_count), nullptr);
  sluice_create_args args{};
  args.struct_size = sizeof args;
  args.api = &host_api();
  args.host = &host;
  args.instance = stage.name.c_str();
  args.parameters = stage.values.data();
  args.parameter_stride = sizeof(sluice_value);
  args.resources = views.data();
  args.wanted = wishes.wanted;
  args.available = wishes.available;
  args.feedback_sinks = static_cast<std::int32_t>(stage.feedback.size());
  args.begin_at = wishes.begin_at;
  args.part = wishes.part;
  args.parts = wishes.parts;
  std::vector<sluice_bytes> saved;
  for (const std::string_view state : wishes.saved) saved.push_back({state.data(), state.size()});
  args.saved = saved.data();
  args.saved_count = saved.size();
  args.saved_stride = sizeof(sluice_bytes);
  sluice_error error{};
  stage_.struct_size = sizeof stage_;
  sluice_status status = SLUICE_OK;
  {
    const CallMark mark(host);
    status = stage.entry.plugin->create(stage.entry.index, &args, &stage_, &error);
  }
  if (status != SLUICE_OK) stage_ = sluice_stage{};
  throw_unless_ok(status, error);
  throw_if_incomplete();
}

// A plugin of an older minor version has filled less: the rest is null.
void StageInstance::throw_if_incomplete() const {
  const char* missing = nullptr;
  if (!SLUICE_HAS(&stage_, sluice_stage, save)) missing = "all of sluice_stage";
  const sluice_stage_kind kind = host_.descriptor().kind;
  if (missing == nullptr && stage_.process == nullptr && kind != SLUICE_SINK) missing = "process()";
  if (missing == nullptr && stage_.commit == nullptr && kind == SLUICE_SINK) missing = "commit()";
  if (missing == nullptr && stage_.feedback == nullptr && !host_.stage->feedback.empty()) missing = "feedback()";
  if (missing == nullptr && stage_.position == nullptr && (host_.descriptor().traits & SLUICE_TRAIT_POSITIONS) != 0) missing = "position()";
  if (missing == nullptr) return;
  if (stage_.destroy != nullptr && stage_.self != nullptr) stage_.destroy(stage_.self);
  throw Failure(SLUICE_ERROR_INTERNAL, std::string("the plugin made an instance without ") + missing,
                "this is a bug in the plugin: please report it");
}

StageInstance::~StageInstance() {
  if (stage_.self == nullptr || stage_.destroy == nullptr) return;
  const CallMark mark(host_);
  stage_.destroy(stage_.self);
}

}  // namespace sluice
