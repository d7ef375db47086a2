// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/run_context.hpp"

#include <cstdlib>
#include <new>
#include <string_view>

#include "machine/host_limits.hpp"
#include "machine/sanitizers.hpp"
#include "run/shared_resources.hpp"
#include "run/stage_call.hpp"

namespace sluice {
namespace {

// In front of every block, which keeps the alignment that SIMD loads want.
struct Header {
  std::size_t bytes;     // that were asked for, with this
  RecycledMemory* home;  // null: the C library
  std::size_t block_bytes;
};
constexpr std::size_t header_bytes = 64;
static_assert(sizeof(Header) <= header_bytes);
#ifdef SLUICE_SANITIZED
constexpr std::size_t least_recycled = SIZE_MAX;
#else
constexpr std::size_t least_recycled = std::size_t{256} << 10;  // below it the C library's own lists are as good
#endif

}  // namespace

RunContext::RunContext(const Plan& plan_, const RunOptions& options_, int threads_)
    : plan(plan_),
      options(options_),
      threads(threads_),
      recorder(plan_, options_.listener),
      inputs(options_.shared != nullptr ? options_.shared->inputs : own_inputs_),
      enough_(plan_.pipeline.stages.size()),
      memory_limit_(options_.memory_limit_bytes > 0 ? options_.memory_limit_bytes : host_limits().usable_memory()) {
  for (const PlannedStage& stage : plan.stages) implementations.push_back(stage.implementations);
  std::uint16_t next_reason = 1;
  const auto add = [&](const ResolvedStage& stage, StageRecorder& stage_recorder) {
    auto host = std::make_unique<sluice_host>();
    host->run = this;
    host->stage = &stage;
    host->recorder = &stage_recorder;
    // A sink writes what comes to it, whatever ends what comes.
    host->follows = stage.entry.descriptor->kind != SLUICE_SINK && follows(stage);
    follows_ = follows_ || host->follows;
    host->first_reason = next_reason;
    next_reason = static_cast<std::uint16_t>(next_reason + stage.entry.descriptor->reason_count);
    hosts_.push_back(std::move(host));
  };
  for (std::size_t i = 0; i < plan.pipeline.resources.size(); ++i) add(plan.pipeline.resources[i], recorder.resource(i));
  for (std::size_t i = 0; i < plan.pipeline.stages.size(); ++i) {
    add(plan.pipeline.stages[i], recorder.stage(i));
    hosts_.back()->enough = &enough_[i];
  }
}

const StagePoint* RunContext::going_on_from(const std::string& stage) const {
  if (!options.going_on_from) return nullptr;
  const auto found = options.going_on_from->stages.find(stage);
  return found == options.going_on_from->stages.end() ? nullptr : &found->second;
}

void RunContext::needs_no_more(std::size_t stage) {
  enough_[stage] = true;
  for (auto i = plan.order.rbegin(); i != plan.order.rend(); ++i) {
    const std::vector<std::size_t>& consumers = plan.stages[*i].consumers;
    if (!consumers.empty() && std::all_of(consumers.begin(), consumers.end(), [&](std::size_t c) { return is_enough(c); })) enough_[*i] = true;
  }
}

void RunContext::fail(const std::string& stage, sluice_status status, const std::string& message, const std::string& remedy) {
  {
    const std::lock_guard lock(mutex_);
    if (!has_failure_) {
      failure_.stage = stage;
      failure_.status = status;
      failure_.message = inputs.as_given(message);
      failure_.remedy = inputs.as_given(remedy);
    }
    has_failure_ = true;
  }
  life.tell(status == SLUICE_ERROR_OUTPUT ? LifeEvent::full_disk : status == SLUICE_ERROR_MEMORY ? LifeEvent::no_memory : LifeEvent::exception);
}

void RunContext::fail_with_current_exception(const std::string& stage) noexcept {
  CallResult result;
  result.set_current_exception();
  try {
    fail(stage, result.status, result.message, result.remedy);
  } catch (...) {  // not even room for the words: these need none
    {
      const std::lock_guard lock(mutex_);
      if (!has_failure_) {
        failure_.status = SLUICE_ERROR_MEMORY;
        failure_.message = "out of memory";
      }
      has_failure_ = true;
    }
    life.tell(LifeEvent::no_memory);
  }
}

void RunContext::take_failure(RunResult& result) const {
  const std::lock_guard lock(mutex_);
  result.stage = failure_.stage;
  result.status = failure_.status;
  result.message = failure_.message;
  result.remedy = failure_.remedy;
}

bool RunContext::may_use_devices(std::size_t stage) const {
  const sluice_stage_descriptor& d = *plan.stages[stage].stage->entry.descriptor;
  return std::any_of(implementations[stage].begin(), implementations[stage].end(),
                     [&](std::uint32_t k) { return std::string_view(d.implementations[k].device) != "cpu"; });
}

void RunContext::log(int level, const std::string& stage, const std::string& message) const {
  if (level < options.log_level || !options.log) return;
  const std::lock_guard lock(log_mutex_);
  options.log(level, inputs.as_given(stage.empty() ? message : stage + ": " + message));
}

std::pair<std::string, std::string> RunContext::reason(std::uint16_t status) const {
  for (const auto& host : hosts_) {
    const sluice_stage_descriptor& d = *host->stage->entry.descriptor;
    if (status >= host->first_reason && status < host->first_reason + d.reason_count)
      return {host->stage->name, d.reasons[status - host->first_reason].code};
  }
  return {"", "unknown"};
}

void* RunContext::allocate(std::size_t bytes) {
  if (bytes > SIZE_MAX - 2 * header_bytes) return nullptr;
  const std::size_t total = (bytes + header_bytes + 63) / 64 * 64;
  const std::uint64_t now = memory_now_.fetch_add(total) + total;
  // Better a clear end here than one by the kernel, which takes the largest process.
  RecycledMemory::Block block;
  RecycledMemory* home = nullptr;
  if (now <= memory_limit_ && total >= least_recycled && recycles_.load(std::memory_order_relaxed)) {
    home = locked_.load(std::memory_order_acquire);
    if (home != nullptr) block = home->take(total);
    if (block.memory == nullptr) {
      home = &large_;
      block = home->take(total);
    }
  } else if (now <= memory_limit_) {
    block = {std::aligned_alloc(64, total), total};
  }
  if (block.memory == nullptr) {
    memory_now_.fetch_sub(total);
    return nullptr;
  }
  new (block.memory) Header{total, home, block.bytes};
  count_memory(now + memory_kept_);
  return static_cast<char*>(block.memory) + header_bytes;
}

void RunContext::keeps(std::uint64_t before, std::uint64_t now) {
  const std::uint64_t kept = memory_kept_.fetch_add(now - before) + (now - before);
  count_memory(memory_now_ + kept);
  if (on_kept) on_kept(kept);
}

void RunContext::count_memory(std::uint64_t now) {
  std::uint64_t peak = memory_peak_.load();
  while (now > peak && !memory_peak_.compare_exchange_weak(peak, now)) {
  }
}

void RunContext::free(void* memory) {
  if (memory == nullptr) return;
  char* block = static_cast<char*>(memory) - header_bytes;
  const Header header = *reinterpret_cast<const Header*>(block);
  memory_now_.fetch_sub(header.bytes);
  if (header.home == nullptr)
    std::free(block);
  else
    header.home->give({block, header.block_bytes});
}

}  // namespace sluice
