// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <chrono>
#include <cstring>
#include <sluice/stage.hpp>
#include <string_view>
#include <thread>
#include <utility>

#include "deferred_device.hpp"
#include "simulated_accelerator.hpp"

namespace sluice::simulated_accelerator {

Settings& settings() {
  static Settings instance;
  return instance;
}

namespace {

void spend(double seconds) {
  if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

// The same arithmetic on both sides: a few rounds of an integer hash.
std::int64_t worked(std::int64_t value) {
  auto x = static_cast<std::uint64_t>(value) + 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  return static_cast<std::int64_t>(x >> 20);
}

DeferredStream& stream_of(const sluice_device& device) { return *static_cast<DeferredStream*>(device.stream); }

// All bytes of a value that lay in freed memory are the same.
bool is_freed(std::int64_t value) {
  std::int64_t pattern = 0;
  std::memset(&pattern, freed_byte, sizeof pattern);
  return value == pattern;
}

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
    if (cpu_only_) throw Failure(SLUICE_ERROR_INTERNAL, "an implementation that the instance declines was called");
    const int number = ++settings().calls;
    const sluice_device& device = *call.device();
    if (current_device() != device.native_ordinal) ++settings().wrong_devices;
    if (settings().lost_after >= 0 && number > settings().lost_after) throw Failure(SLUICE_ERROR_DEVICE_LOST, "the simulated accelerator is gone");
    const auto fail_if_told = [&] {
      if (settings().fail_kernel_every > 0 && number % settings().fail_kernel_every == 0)
        throw Failure(SLUICE_ERROR_DEVICE_KERNEL, "a simulated kernel failed");
      if (settings().fail_memory_every > 0 && number % settings().fail_memory_every == 0)
        throw Failure(SLUICE_ERROR_DEVICE_MEMORY, "the simulated accelerator is full");
    };
    if (!settings().fail_behind_kernel) fail_if_told();
    const auto rows = static_cast<std::size_t>(in.rows());
    void* memory = nullptr;
    if (const sluice_status status = device.allocate(&device, rows * sizeof(std::int64_t), &memory); status != SLUICE_OK)
      throw Failure(status, "no room for the result");
    struct Frees {  // what the output has not taken
      const sluice_device& device;
      void* memory;
      ~Frees() {
        if (memory != nullptr) device.free(&device, memory);
      }
    } result{device, memory};
    const auto* value = static_cast<const std::int64_t*>(in.find("value")->device->array.buffers[1]);
    stream_of(device).launch([value, rows, to = static_cast<std::int64_t*>(memory)] {
      spend(static_cast<double>(rows) * settings().seconds_per_work / settings().speed);
      for (std::size_t i = 0; i < rows; ++i) {
        if (is_freed(value[i])) ++settings().read_after_free;
        to[i] = worked(value[i]);
      }
    });
    if (settings().fail_behind_kernel) fail_if_told();
    add_on_device(device, out, result.memory);
  }

 private:
  bool cpu_only_;
  struct Owner {
    const sluice_device* device;
    const void* buffers[2];
  };
  // Takes the memory as soon as it has an owner.
  static void add_on_device(const sluice_device& device, Output& out, void*& memory) {
    struct Releases {  // what the host has not taken
      ArrowSchema schema{};
      ArrowDeviceArray array{};
      ~Releases() {
        if (array.array.release != nullptr) array.array.release(&array.array);
        if (schema.release != nullptr) schema.release(&schema);
      }
    } column;
    column.schema = detail::make_schema("l");
    ArrowDeviceArray& array = column.array;
    array.device_type = ARROW_DEVICE_EXT_DEV;
    array.device_id = device.ordinal;
    array.array.length = out.rows();
    array.array.n_buffers = 2;
    auto* owner = new Owner{&device, {nullptr, memory}};
    memory = nullptr;
    array.array.buffers = owner->buffers;
    array.array.private_data = owner;
    array.array.release = [](ArrowArray* released) {
      auto* mine = static_cast<Owner*>(released->private_data);
      mine->device->free(mine->device, const_cast<void*>(mine->buffers[1]));
      delete mine;
      released->release = nullptr;
    };
    const std::uint64_t bytes[] = {0, static_cast<std::uint64_t>(out.rows()) * sizeof(std::int64_t)};
    sluice_new_column made{sizeof made, "worked", &column.schema, nullptr, &array, std::size(bytes), bytes};
    out.add(made);
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
    home_ = call.device();
    if (on_device_ == nullptr) {
      if (home_->allocate(home_, sizeof(std::int64_t), reinterpret_cast<void**>(&on_device_)) != SLUICE_OK)
        throw Failure(SLUICE_ERROR_DEVICE_MEMORY, "no room for the sum");
      *on_device_ = 0;
    }
    const ArrowDeviceArray& input = *in.find("value")->device;
    stream_of(*home_).finish();  // its memory is the host's, but only when everything has come
    add({static_cast<const std::int64_t*>(input.array.buffers[1]), static_cast<std::size_t>(in.rows())}, out, *on_device_);
    if (settings().lost_after >= 0 && number > settings().lost_after) throw Failure(SLUICE_ERROR_DEVICE_LOST, "the simulated accelerator is gone");
    if (settings().fail_kernel_every > 0 && number % settings().fail_kernel_every == 0)
      throw Failure(SLUICE_ERROR_DEVICE_KERNEL, "a simulated kernel failed");
  }

 private:
  void add(std::span<const std::int64_t> value, Output& out, std::int64_t& sum) {
    if (inside_.exchange(true)) throw std::logic_error("two calls of an ordered stage at once");
    const auto running = out.column<std::int64_t>("running");
    // Of a device that is lost anything may come.
    for (std::size_t i = 0; i < value.size(); ++i)
      running[i] = sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(value[i]));
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
  if (std::string_view(id) == SLUICE_EXTENSION_DEVICE) return &deferred_provider();
  if (std::string_view(id) == extension_id) return &settings();
  return nullptr;
}

}  // namespace
}  // namespace sluice::simulated_accelerator

SLUICE_PLUGIN_WITH(sluice::simulated_accelerator::extension, "simulated_accelerator", "1.0.0", "MIT", sluice::simulated_accelerator::SimulatedWork,
                   sluice::simulated_accelerator::SimulatedSum<false>, sluice::simulated_accelerator::SimulatedSum<true>);
