// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sluice/stage.hpp>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "simulated_accelerator.hpp"

namespace sluice::simulated_accelerator {
namespace {

Settings& settings() {
  static Settings instance;
  return instance;
}

void spend(double seconds) {
  if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

// The same arithmetic on both sides: a few rounds of an integer hash.
std::int64_t worked(std::int64_t value) {
  auto x = static_cast<std::uint64_t>(value) + 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  return static_cast<std::int64_t>(x >> 20);
}

// ---- the device: host memory behind a provider -------------------------------------------------------------------------------------

struct Block {
  std::size_t bytes;
};

sluice_status describe_device(std::int32_t, sluice_device_info* info, sluice_error*) {
  std::strcpy(info->name, "simulated accelerator");
  info->memory_bytes = settings().memory_bytes;
  info->bytes_per_second = settings().bytes_per_second;
  info->seconds_per_copy = settings().seconds_per_copy;
  return SLUICE_OK;
}
sluice_status allocate(void*, std::size_t bytes, void** memory) {
  auto* block = static_cast<Block*>(std::malloc(sizeof(Block) + bytes));
  if (block == nullptr) return SLUICE_ERROR_DEVICE_MEMORY;
  block->bytes = bytes;
  settings().bytes_allocated += static_cast<std::int64_t>(bytes);
  *memory = block + 1;
  return SLUICE_OK;
}
void free_memory(void*, void* memory) {
  Block* block = static_cast<Block*>(memory) - 1;
  settings().bytes_allocated -= static_cast<std::int64_t>(block->bytes);
  std::free(block);
}
sluice_status copy(void*, void* destination, const void* source, std::size_t bytes, sluice_error* error) {
  if (settings().lost_after >= 0 && settings().calls > settings().lost_after) {
    std::strcpy(error->message, "the simulated accelerator is gone, with what lay on it");
    return SLUICE_ERROR_DEVICE_LOST;
  }
  spend(settings().seconds_per_copy + static_cast<double>(bytes) / settings().bytes_per_second);
  std::memcpy(destination, source, bytes);
  return SLUICE_OK;
}

const sluice_device_provider provider = {
    sizeof(sluice_device_provider),
    "simulated",
    []() -> std::int32_t { return settings().devices; },
    describe_device,
    [](std::int32_t, void** device, sluice_error*) -> sluice_status { return *device = &settings(), SLUICE_OK; },
    [](void*) {},
    allocate,
    free_memory,
    copy,
    copy,
    [](void*, sluice_error*) -> sluice_status { return SLUICE_OK; },
    [](void*) -> void* { return nullptr; },
};

// ---- a stage that offers both ------------------------------------------------------------------------------------------------------

class SimulatedWork {
 public:
  struct Parameters {
    bool cpu_only = false;
  };
  SimulatedWork(const Setup&, const Parameters& parameters) : cpu_only_(parameters.cpu_only) {}
  bool offers(std::string_view device) const { return device == "cpu" || !cpu_only_; }
  static void describe(Describe<SimulatedWork>& d) {
    d.id("simulated_work")
        .summary("hashes, for as long as it is told")
        .map("number")
        .work_unit("row")
        .needs("value", "i64", "")
        .gives("worked", "i64", "a hash of the value");
    d.option("cpu_only", &Parameters::cpu_only, "the accelerator can't do it");
    d.implementation<&SimulatedWork::process_on_device>("simulated", "the same on the simulated accelerator");
  }
  void process(const Call&, const Batch& in, Output& out) {
    const auto value = in.column<std::int64_t>("value");
    const auto result = out.column<std::int64_t>("worked");
    for (std::size_t i = 0; i < value.size(); ++i) result[i] = worked(value[i]);
    spend(static_cast<double>(value.size()) * settings().seconds_per_work);
  }
  void process_on_device(const Call& call, const Batch& in, Output& out) {
    const int number = ++settings().calls;
    if (settings().lost_after >= 0 && number > settings().lost_after) throw Failure(SLUICE_ERROR_DEVICE_LOST, "the simulated accelerator is gone");
    if (settings().fail_kernel_every > 0 && number % settings().fail_kernel_every == 0)
      throw Failure(SLUICE_ERROR_DEVICE_KERNEL, "a simulated kernel failed");
    if (settings().fail_memory_every > 0 && number % settings().fail_memory_every == 0)
      throw Failure(SLUICE_ERROR_DEVICE_MEMORY, "the simulated accelerator is full");
    const sluice_device& device = *call.device();
    const ArrowDeviceArray& input = *in.find("value")->device;
    const auto rows = static_cast<std::size_t>(in.rows());
    void* memory = nullptr;
    if (const sluice_status status = device.allocate(&device, rows * sizeof(std::int64_t), &memory); status != SLUICE_OK)
      throw Failure(status, "no room for the result");
    const auto* value = static_cast<const std::int64_t*>(input.array.buffers[1]);
    for (std::size_t i = 0; i < rows; ++i) static_cast<std::int64_t*>(memory)[i] = worked(value[i]);
    spend(static_cast<double>(rows) * settings().seconds_per_work / settings().speed);
    add_on_device(device, out, memory);
  }

 private:
  bool cpu_only_;
  struct Owner {
    const sluice_device* device;
    const void* buffers[2];
  };
  static void add_on_device(const sluice_device& device, Output& out, void* memory) {
    ArrowSchema schema = detail::make_schema("l");
    ArrowDeviceArray array{};
    array.device_type = ARROW_DEVICE_EXT_DEV;
    array.device_id = device.ordinal;
    array.array.length = out.rows();
    array.array.n_buffers = 2;
    auto* owner = new Owner{&device, {nullptr, memory}};
    array.array.buffers = owner->buffers;
    array.array.private_data = owner;
    array.array.release = [](ArrowArray* released) {
      auto* mine = static_cast<Owner*>(released->private_data);
      mine->device->free(mine->device, const_cast<void*>(mine->buffers[1]));
      delete mine;
      released->release = nullptr;
    };
    if (out.host().api()->add_device_column(out.raw(), "worked", &schema, &array) != SLUICE_OK)
      throw Failure(SLUICE_ERROR_INTERNAL, "the host refused a device column");
  }
};

// A running sum that lives where the stage runs: on the accelerator in its memory. A batch that comes to the CPU afterwards finds none.
template <bool restartable>
class SimulatedSum {
 public:
  using Parameters = NoParameters;
  SimulatedSum(const Setup&, const Parameters&) {}
  ~SimulatedSum() { forget(); }
  SimulatedSum(const SimulatedSum&) = delete;
  static void describe(Describe<SimulatedSum>& d) {
    d.id(restartable ? "simulated_restartable_sum" : "simulated_sum")
        .summary("adds up")
        .map("number")
        .ordered()
        .needs("value", "i64", "")
        .gives("running", "i64", "sum of all values so far");
    if (restartable) d.restartable();
    d.template implementation<&SimulatedSum::process_on_device>("simulated", "the same on the simulated accelerator");
  }
  void process(const Call&, const Batch& in, Output& out) {
    if (on_device_ != nullptr) sum_ = 0;
    forget();
    add(in.column<std::int64_t>("value"), out, sum_);
  }
  void process_on_device(const Call& call, const Batch& in, Output& out) {
    const int number = ++settings().calls;
    if (on_device_ == nullptr) {
      home_ = call.device();
      if (home_->allocate(home_, sizeof(std::int64_t), reinterpret_cast<void**>(&on_device_)) != SLUICE_OK)
        throw Failure(SLUICE_ERROR_DEVICE_MEMORY, "no room for the sum");
      *on_device_ = 0;
    }
    const ArrowDeviceArray& input = *in.find("value")->device;
    add({static_cast<const std::int64_t*>(input.array.buffers[1]), static_cast<std::size_t>(in.rows())}, out, *on_device_);
    if (settings().lost_after >= 0 && number > settings().lost_after) throw Failure(SLUICE_ERROR_DEVICE_LOST, "the simulated accelerator is gone");
    if (settings().fail_kernel_every > 0 && number % settings().fail_kernel_every == 0)
      throw Failure(SLUICE_ERROR_DEVICE_KERNEL, "a simulated kernel failed");
  }

 private:
  void add(std::span<const std::int64_t> value, Output& out, std::int64_t& sum) {
    if (inside_.exchange(true)) throw std::logic_error("two calls of an ordered stage at once");
    const auto running = out.column<std::int64_t>("running");
    for (std::size_t i = 0; i < value.size(); ++i) running[i] = sum += value[i];
    inside_ = false;
  }
  void forget() {
    if (on_device_ != nullptr) home_->free(home_, on_device_);
    on_device_ = nullptr;
  }
  std::atomic<bool> inside_{false};
  std::int64_t sum_ = 0;
  const sluice_device* home_ = nullptr;
  std::int64_t* on_device_ = nullptr;
};

const void* extension(const char* id) {
  if (std::string_view(id) == SLUICE_EXTENSION_DEVICE) return &provider;
  if (std::string_view(id) == extension_id) return &settings();
  return nullptr;
}

sluice_plugin_info info() {
  sluice_plugin_info result = detail::plugin<SimulatedWork, SimulatedSum<false>, SimulatedSum<true>>("simulated_accelerator", "1.0.0", "MIT", "");
  result.get_extension = extension;
  return result;
}

}  // namespace
}  // namespace sluice::simulated_accelerator

extern "C" SLUICE_EXPORT const sluice_plugin_info sluice_plugin;
const sluice_plugin_info sluice_plugin = sluice::simulated_accelerator::info();
