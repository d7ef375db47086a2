// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/stage_runner.hpp"

#include <atomic>
#include <exception>

namespace sluice {

StageRunner::StageRunner(RunContext& run, std::size_t index)
    : run_(run), index_(index), planned_(run.plan.stages[index]), host_(run.host_of_stage(index)), from_(run.going_on_from(planned_.stage->name)) {}

bool StageRunner::create(const std::vector<BatchHandle>& resources) {
  InstanceWishes wishes{planned_.wanted.data(), planned_.available.data()};
  if (const auto from = run_.options.begin_at.find(name()); from != run_.options.begin_at.end()) wishes.begin_at = from->second.c_str();
  if (!run_.options.makes_whole(index_)) wishes.part = run_.options.part, wishes.parts = run_.options.parts;
  if (from_ != nullptr && kind() == SLUICE_SOURCE) wishes.begin_at = from_->position.c_str();
  if (from_ != nullptr && kind() != SLUICE_SOURCE && !from_->ended) wishes.saved = {from_->state};
  if (const auto states = run_.options.saved.find(index_); states != run_.options.saved.end()) wishes.saved = states->second;
  CallResult result;
  run_call(result, [&] {
    instance_.emplace(host_, resources, wishes);
    choose_among_offered();
  });
  if (result.ok()) return true;
  fail(result);
  return false;
}

void StageRunner::choose_among_offered() {
  std::vector<std::uint32_t>& offered = run_.implementations[index_];
  if (std::erase_if(offered, [&](std::uint32_t k) { return declines(k); }) == 0 || !offered.empty()) return;
  // As in the plan: a device that is named for the run leaves stages that can't use it on the CPU; named for the stage it has to do.
  const sluice_stage_descriptor& d = descriptor();
  for (std::uint32_t k = 0; planned_.stage->device.empty() && k < d.implementation_count; ++k)
    if (std::string_view(d.implementations[k].device) == "cpu" && !declines(k)) return offered.push_back(k);
  throw Failure(SLUICE_ERROR_UNSUPPORTED, "none of the implementations that may be used here can do what the parameters ask for",
                "choose another device for this stage");
}

bool StageRunner::save(const std::function<void(std::string_view)>& write) {
  // No exception passes through the plugin, which may be C.
  struct Pieces {
    const std::function<void(std::string_view)>& write;
    std::exception_ptr problem;
    static sluice_status add(void* to, const void* data, std::size_t bytes) noexcept {
      Pieces& pieces = *static_cast<Pieces*>(to);
      if (pieces.problem) return SLUICE_ERROR_MEMORY;
      try {
        pieces.write({static_cast<const char*>(data), bytes});
      } catch (...) {
        pieces.problem = std::current_exception();
      }
      return pieces.problem ? SLUICE_ERROR_MEMORY : SLUICE_OK;
    }
  } pieces{write, nullptr};
  const CallResult result = call(CallMark::no_batch, 0, [&] {
    sluice_error error{};
    const sluice_call made = make_call();
    const sluice_status status = (*instance_)->save(instance_->self(), &made, Pieces::add, &pieces, &error);
    if (!pieces.problem) throw_unless_ok(status, error);
  });
  if (pieces.problem) std::rethrow_exception(pieces.problem);  // the cause, whatever the plugin made of it
  if (!result.ok()) return fail(result), false;
  return true;
}

void StageRunner::fail(const CallResult& result) {
  if (result.status == SLUICE_ERROR_CANCELLED && run_.stopping()) return;
  run_.fail(name(), result.status, result.message, result.remedy);
}

sluice_call StageRunner::make_call(std::uint32_t implementation, const sluice_device* device) const {
  sluice_call call{};
  call.struct_size = sizeof call;
  call.api = &host_api();
  call.host = &host_;
  call.implementation = implementation;
  call.device = device;
  return call;
}

void StageRunner::feedback(const BatchHandle& committed) {
  if (run_.cancelled() || (*instance_)->feedback == nullptr) return;
  const CallResult result = call(committed->sequence, committed->rows, [&] {
    sluice_error error{};
    const sluice_call made = make_call();
    const BatchView view(*committed, descriptor().feedback);
    throw_unless_ok((*instance_)->feedback(instance_->self(), &made, &view.get(), &error), error);
  });
  if (!result.ok()) fail(result);
}

void StageRunner::count_failures(std::uint64_t sequence, const BatchData& batch, const std::vector<std::uint16_t>& failures) {
  for (std::size_t row = 0; row < failures.size(); ++row)
    if (failures[row] != 0 && (!batch.status || (*batch.status)[row] == 0))
      host_.recorder->failed_row(sequence, run_.reason(failures[row]).second, batch.name_of(static_cast<std::int64_t>(row)));
}

void StageRunner::count_lengths(const BatchData& made) {
  const ColumnHandle* column = descriptor().row_length == nullptr ? nullptr : made.find(descriptor().row_length);
  if (column == nullptr || made.rows == 0 || !(*column)->is_on_host()) return;
  const ArrowArray& array = (*column)->host();
  const auto* offsets = static_cast<const std::int64_t*>(array.buffers[1]) + array.offset;
  host_.recorder->lengths({offsets, static_cast<std::size_t>(array.length) + 1}, made.status ? made.status->data() : nullptr);
}

void StageRunner::trace(const std::string& lane, double start, double seconds, std::uint64_t sequence, std::int64_t rows, const std::string& track) {
  if (!run_.recorder.traces()) return;
  static std::atomic<std::uint32_t> threads{0};
  thread_local const std::uint32_t thread = threads++;
  run_.recorder.trace({name(), lane, thread, start * 1e6, seconds * 1e6, sequence, rows, track, 0});
}

}  // namespace sluice
