// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a CUDA implementation of a stage needs beside <sluice/stage.hpp>: the call's stream and pool, columns that lie on the device, and
// errors as Failures. Include it in a .cu file or link the CUDA runtime.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <sluice/stage.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::cuda {

// Throws the Failure that the host knows how to survive: a full device, a failed kernel, a lost device.
inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  const std::string message = std::string(what) + ": " + cudaGetErrorString(status);
  cudaGetLastError();  // not sticky: the next call starts clean
  if (status == cudaErrorMemoryAllocation) throw Failure(SLUICE_ERROR_DEVICE_MEMORY, message);
  if (status == cudaErrorInvalidValue || status == cudaErrorInvalidConfiguration || status == cudaErrorLaunchOutOfResources)
    throw Failure(SLUICE_ERROR_DEVICE_KERNEL, message);
  throw Failure(SLUICE_ERROR_DEVICE_LOST, message);
}

// A thread's own page-locked memory between ordinary memory and the device; where there is none, the driver makes do.
struct PageLocked {
  static constexpr std::size_t bytes = std::size_t{256} << 10;
  void* memory = nullptr;
  PageLocked() {
    if (cudaHostAlloc(&memory, bytes, cudaHostAllocPortable) != cudaSuccess) memory = nullptr, cudaGetLastError();
  }
  PageLocked(const PageLocked&) = delete;
  ~PageLocked() {
    if (memory != nullptr && cudaFreeHost(memory) != cudaSuccess) cudaGetLastError();
  }
  static void* of_this_thread() {
    thread_local const PageLocked between;
    return between.memory;
  }
};

// Copies to ordinary memory of the host; waits for everything before it on the stream. Use it instead of cudaMemcpyAsync, which for ordinary memory
// keeps all other threads out of the driver until the copy has been made.
inline void copy_to_host(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  void* const between = PageLocked::of_this_thread();
  for (std::size_t at = 0; at < bytes; at += PageLocked::bytes) {
    const std::size_t part = std::min(PageLocked::bytes, bytes - at);
    char* const place = static_cast<char*>(to) + at;
    check(cudaMemcpyAsync(between != nullptr ? between : place, static_cast<const char*>(from) + at, part, cudaMemcpyDeviceToHost, stream),
          "copy to the host");
    check(cudaStreamSynchronize(stream), "a kernel");
    if (between != nullptr) std::memcpy(place, between, part);
  }
}

// Copies from ordinary memory of the host, in the stream's order; the same is to be said of it, above 64 KiB. Smaller copies do not wait.
inline void copy_to_device(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  constexpr std::size_t taken_at_once = std::size_t{64} << 10;
  void* const between = bytes > taken_at_once ? PageLocked::of_this_thread() : nullptr;
  for (std::size_t at = 0; at < bytes; at += PageLocked::bytes) {
    const std::size_t part = std::min(PageLocked::bytes, bytes - at);
    const char* const place = static_cast<const char*>(from) + at;
    if (between != nullptr) std::memcpy(between, place, part);
    check(cudaMemcpyAsync(static_cast<char*>(to) + at, between != nullptr ? between : place, part, cudaMemcpyHostToDevice, stream),
          "copy to the device");
    if (between != nullptr) check(cudaStreamSynchronize(stream), "a copy");
  }
}

// Copies from many places of the host's ordinary memory to one of the device, one behind the other, in the stream's order. Each byte is copied once
// on the host. The device's memory has room for all; a GatheredCopy is used by one thread, and nothing else copies on it in between.
class GatheredCopy {
 public:
  GatheredCopy(void* to, cudaStream_t stream)
      : to_(static_cast<char*>(to)), stream_(stream), between_(static_cast<char*>(PageLocked::of_this_thread())) {
    if (between_ == nullptr) between_ = (ordinary_ = std::make_unique_for_overwrite<char[]>(PageLocked::bytes)).get();
  }
  void add(const void* from, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes;) {
      const std::size_t part = std::min(bytes - at, PageLocked::bytes - held_);
      std::memcpy(between_ + held_, static_cast<const char*>(from) + at, part);
      held_ += part;
      at += part;
      if (held_ == PageLocked::bytes) send();
    }
  }
  void finish() {
    if (held_ > 0) send();
  }

 private:
  void send() {
    check(cudaMemcpyAsync(to_, between_, held_, cudaMemcpyHostToDevice, stream_), "copy to the device");
    check(cudaStreamSynchronize(stream_), "a copy");
    to_ += held_;
    held_ = 0;
  }
  char* to_;
  cudaStream_t stream_;
  std::unique_ptr<char[]> ordinary_;
  char* between_;
  std::size_t held_ = 0;
};

// Memory of the device's pool; freed in stream order. Shared, so that several columns can use one offsets buffer.
class Memory {
 public:
  Memory() = default;
  Memory(const sluice_device& device, std::size_t bytes) : bytes_(bytes) {
    void* memory = nullptr;
    const sluice_status status = device.allocate(&device, bytes == 0 ? 1 : bytes, &memory);
    if (status != SLUICE_OK)
      throw Failure(status, "no room for " + std::to_string(bytes) + " bytes on " + device.kind + ":" + std::to_string(device.ordinal));
    memory_ = std::shared_ptr<void>(memory, [device](void* p) { device.free(&device, p); });
  }
  void* get() const { return memory_.get(); }
  std::size_t bytes() const { return bytes_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(memory_.get());
  }

 private:
  std::shared_ptr<void> memory_;
  std::size_t bytes_ = 0;
};

// A list column of the input on the device: rows + 1 offsets and values.
template <Element T>
struct List {
  const std::int64_t* offsets;
  const T* values;
  std::int64_t rows;
  std::int64_t count;  // of values
};
struct Text {
  const std::int64_t* offsets;
  const char* bytes;
  std::int64_t rows;
};

// One call on a device: makes the device current for this thread.
class DeviceCall {
 public:
  explicit DeviceCall(const Call& call) : call_(call), device_(*call.device()), stream_(static_cast<cudaStream_t>(device_.stream)) {
    check(cudaSetDevice(device_.native_ordinal), "cudaSetDevice");
  }
  cudaStream_t stream() const { return stream_; }
  int ordinal() const { return device_.native_ordinal; }  // CUDA's
  const sluice_device& device() const { return device_; }
  Memory allocate(std::size_t bytes) const { return Memory(device_, bytes); }
  template <class T>
  Memory allocate_array(std::size_t count) const {
    return Memory(device_, count * sizeof(T));
  }
  template <class T>
  Memory upload(const std::vector<T>& values) const {
    Memory memory(device_, values.size() * sizeof(T));
    copy_to_device(memory.get(), values.data(), values.size() * sizeof(T), stream_);
    return memory;
  }
  // Waits for everything before it on the stream.
  template <class T>
  std::vector<T> download(const T* values, std::size_t count) const {
    std::vector<T> result(count);
    copy_to_host(result.data(), values, count * sizeof(T), stream_);
    return result;
  }
  void synchronize() const { check(cudaStreamSynchronize(stream_), "a kernel"); }

  template <Element T>
  const T* column(const Batch& in, const char* name) const {
    return static_cast<const T*>(array(in, name).buffers[1]);
  }
  template <Element T>
  List<T> list(const Batch& in, const char* name) const {
    const ArrowArray& a = array(in, name);
    return {static_cast<const std::int64_t*>(a.buffers[1]), static_cast<const T*>(a.children[0]->buffers[1]), a.length, a.children[0]->length};
  }
  Text text(const Batch& in, const char* name) const {
    const ArrowArray& a = array(in, name);
    return {static_cast<const std::int64_t*>(a.buffers[1]), static_cast<const char*>(a.buffers[2]), a.length};
  }
  // The batch's row status on the device, or null when all rows are fine.
  Memory row_status(const Batch& in) const {
    if (in.raw().row_status == nullptr) return {};
    Memory memory(device_, static_cast<std::size_t>(in.rows()) * sizeof(std::uint16_t));
    check(cudaMemcpyAsync(memory.get(), in.raw().row_status, memory.bytes(), cudaMemcpyHostToDevice, stream_), "copy to the device");
    return memory;
  }

  // Columns that stay on the device. `count`: number of values in all rows.
  template <Element T>
  void add_column(Output& out, const char* name, Memory values) const {
    const std::uint64_t bytes[] = {0, values.bytes()};
    ArrowDeviceArray array = fixed(out.rows(), std::move(values));
    add(out, name, detail::make_schema(element_type<T>().format), array, bytes);
  }
  template <Element T>
  void add_list(Output& out, const char* name, Memory offsets, Memory values, std::int64_t count) const {
    const std::uint64_t bytes[] = {0, offsets.bytes(), 0, values.bytes()};
    ArrowDeviceArray array = fixed(out.rows(), std::move(offsets));
    auto* parent = static_cast<Owner*>(array.array.private_data);
    parent->child = fixed(count, std::move(values)).array;
    parent->children[0] = &parent->child;
    array.array.n_children = 1;
    array.array.children = parent->children;
    add(out, name, detail::make_schema("+L", element_type<T>().format), array, bytes);
  }

 private:
  struct Owner {
    Memory memory;
    const void* buffers[2] = {nullptr, nullptr};
    ArrowArray child{};
    ArrowArray* children[1] = {nullptr};
  };
  static void release(ArrowArray* array) {
    auto* owner = static_cast<Owner*>(array->private_data);
    if (owner->children[0] != nullptr && owner->child.release != nullptr) owner->child.release(&owner->child);
    delete owner;
    array->release = nullptr;
  }
  ArrowDeviceArray fixed(std::int64_t length, Memory values) const {
    ArrowDeviceArray result{};
    result.device_id = device_.native_ordinal;
    result.device_type = ARROW_DEVICE_CUDA;
    auto owner = std::make_unique<Owner>();
    owner->memory = std::move(values);
    owner->buffers[1] = owner->memory.get();
    result.array.length = length;
    result.array.n_buffers = 2;
    result.array.buffers = owner->buffers;
    result.array.release = release;
    result.array.private_data = owner.release();
    return result;
  }
  static void add(Output& out, const char* name, ArrowSchema schema, ArrowDeviceArray& array, std::span<const std::uint64_t> buffer_bytes) {
    sluice_new_column made{};
    made.struct_size = sizeof made;
    made.name = name;
    made.schema = &schema;
    made.device = &array;
    made.buffer_count = buffer_bytes.size();
    made.buffer_bytes = buffer_bytes.data();
    struct Releases {  // what the host has not taken
      ArrowSchema& schema;
      ArrowDeviceArray& array;
      ~Releases() {
        if (schema.release != nullptr) schema.release(&schema);
        if (array.array.release != nullptr) array.array.release(&array.array);
      }
    } const releases{schema, array};
    out.add(made);
  }
  const ArrowArray& array(const Batch& in, const char* name) const {
    const sluice_column* column = in.find(name);
    if (column == nullptr || column->device == nullptr)
      throw std::logic_error(std::string("column '") + name + "' is not on the device: declare it in needs");
    return column->device->array;
  }
  const Call& call_;
  const sluice_device device_;
  cudaStream_t stream_;
};

// A text column of the input on the host: where the batch has it there, or a copy of the device's.
class HostText {
 public:
  HostText(const DeviceCall& device, const Batch& in, const char* name) {
    if (in.find(name)->array != nullptr) {
      const TextView text = in.text(name);
      for (std::int64_t row = 0; row < in.rows(); ++row) rows_.push_back(text[row]);
      return;
    }
    const Text text = device.text(in, name);
    const std::vector<std::int64_t> offsets = device.download(text.offsets, static_cast<std::size_t>(in.rows()) + 1);
    copy_ = device.download(text.bytes + offsets.front(), static_cast<std::size_t>(offsets.back() - offsets.front()));
    for (std::size_t row = 0; row + 1 < offsets.size(); ++row)
      rows_.emplace_back(copy_.data() + (offsets[row] - offsets.front()), static_cast<std::size_t>(offsets[row + 1] - offsets[row]));
  }
  std::string_view operator[](std::size_t row) const { return rows_[row]; }

 private:
  std::vector<char> copy_;
  std::vector<std::string_view> rows_;
};

// Something that a stage keeps on every device, made the first time a device needs it (a model, a reference). Devices do not wait for each other.
template <class T>
class PerDevice {
 public:
  // make(): called once per device; calls on the same device wait for it.
  template <class Make>
  const T& get(int ordinal, Make&& make) {
    Slot& slot = slot_of(static_cast<std::size_t>(ordinal));
    const std::lock_guard lock(slot.mutex);
    if (!slot.made) slot.made = std::make_unique<T>(make());
    return *slot.made;
  }

 private:
  struct Slot {
    std::mutex mutex;  // guards what follows
    std::unique_ptr<T> made;
  };
  Slot& slot_of(std::size_t ordinal) {
    const std::lock_guard lock(mutex_);
    while (slots_.size() <= ordinal) slots_.emplace_back();
    return slots_[ordinal];
  }
  std::mutex mutex_;  // guards slots_, whose members stay where they are
  std::deque<Slot> slots_;
};

}  // namespace sluice::cuda
