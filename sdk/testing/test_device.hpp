// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// One device of a provider for one run: its memory, and the way of columns there and back.

#include <sluice/abi.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <sluice/column.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sluice::testing {

namespace detail {

// One open device of a provider, and columns' ways to it and back. Frees whatever is still allocated when it closes.
class TestDevice : public std::enable_shared_from_this<TestDevice> {
 public:
  TestDevice(const sluice_device_provider& provider, std::int32_t ordinal) : provider_(&provider) {
    sluice_error error{};
    expect(provider.open(ordinal, &device_, &error), "open", error);
    expect(provider.open_stream(device_, &stream_, &error), "open a stream", error);
    sluice_device_info info{};
    info.struct_size = sizeof info;
    expect(provider.describe(ordinal, &info, &error), "describe itself", error);
    handle_.struct_size = sizeof handle_;
    handle_.kind = provider.kind;
    handle_.ordinal = ordinal;
    handle_.native_ordinal = info.native_ordinal;
    handle_.stream = provider.native_stream != nullptr ? provider.native_stream(device_, stream_) : stream_;
    handle_.context = this;
    handle_.allocate = [](const sluice_device* d, std::size_t bytes, void** memory) {
      return static_cast<TestDevice*>(d->context)->allocate(bytes, memory);
    };
    handle_.free = [](const sluice_device* d, void* memory) { static_cast<TestDevice*>(d->context)->free(memory); };
  }
  TestDevice(const TestDevice&) = delete;
  ~TestDevice() {
    for (const auto& [block, bytes] : blocks_) provider_->free(device_, stream_, block);
    provider_->synchronize(device_, stream_, nullptr);
    provider_->close_stream(device_, stream_);
    provider_->close(device_);
  }
  const sluice_device& handle() const { return handle_; }
  // What a host does around a call: the thread goes to the device, and whatever way the call ends, the stream is waited for.
  sluice_status enter(sluice_error& error) { return provider_->enter == nullptr ? SLUICE_OK : provider_->enter(device_, &error); }
  sluice_status synchronize(sluice_error& error) { return provider_->synchronize(device_, stream_, &error); }
  std::size_t blocks_in_use() const { return blocks_.size(); }
  // Blocks behind which something was written, of those that have been freed.
  std::size_t overwritten() const { return overwritten_; }
  std::int64_t allocations_left = std::numeric_limits<std::int64_t>::max();

  ArrowDeviceArray upload(std::string_view type, const ArrowArray& host) {
    auto* owner = new Owner;
    owner->device = shared_from_this();
    ArrowDeviceArray result{};
    result.device_id = handle_.native_ordinal;
    result.device_type = std::string_view(handle_.kind) == "cuda" ? ARROW_DEVICE_CUDA : ARROW_DEVICE_EXT_DEV;
    result.array.length = host.length;
    result.array.n_buffers = host.n_buffers;
    result.array.buffers = owner->buffers;
    result.array.private_data = owner;
    result.array.release = release;
    const auto rows = static_cast<std::size_t>(host.length);
    if (host.n_buffers == 2 && host.n_children == 0) {
      const std::size_t width = width_of(type);
      owner->buffers[1] = send(static_cast<const char*>(host.buffers[1]) + static_cast<std::size_t>(host.offset) * width, rows * width);
      return result;
    }
    const auto* offsets = static_cast<const std::int64_t*>(host.buffers[1]) + host.offset;
    owner->buffers[1] = send(offsets, (rows + 1) * sizeof(std::int64_t));
    if (host.n_children == 0) {
      owner->buffers[2] = send(host.buffers[2], static_cast<std::size_t>(offsets[rows]));
    } else {
      owner->child = upload(type.substr(5, type.size() - 6), *host.children[0]).array;
      owner->children[0] = &owner->child;
      result.array.n_children = 1;
      result.array.children = owner->children;
    }
    return result;
  }
  ArrowArray download(std::string_view type, const ArrowArray& from) {
    const auto rows = static_cast<std::size_t>(from.length);
    if (from.n_buffers == 2 && from.n_children == 0)
      return sluice::detail::make_array(from.length, fetch(from.buffers[1], rows * width_of(type)), {}, 2);
    Buffer offsets = fetch(from.buffers[1], (rows + 1) * sizeof(std::int64_t));
    const auto bytes = static_cast<std::size_t>(offsets.as<std::int64_t>()[rows]);
    if (from.n_children == 0) return sluice::detail::make_array(from.length, std::move(offsets), fetch(from.buffers[2], bytes), 3);
    ArrowArray array = sluice::detail::make_array(from.length, std::move(offsets), {}, 2);
    auto* owner = static_cast<sluice::detail::ArrayOwner*>(array.private_data);
    owner->child = download(type.substr(5, type.size() - 6), *from.children[0]);
    owner->children[0] = &owner->child;
    array.n_children = 1;
    array.children = owner->children;
    return array;
  }

 private:
  struct Owner {
    std::shared_ptr<TestDevice> device;
    const void* buffers[3] = {nullptr, nullptr, nullptr};
    ArrowArray child{};
    ArrowArray* children[1] = {nullptr};
  };
  static void release(ArrowArray* array) {
    auto* owner = static_cast<Owner*>(array->private_data);
    for (const void* buffer : owner->buffers)
      if (buffer != nullptr) owner->device->free(const_cast<void*>(buffer));
    if (owner->child.release != nullptr) owner->child.release(&owner->child);
    delete owner;
    array->release = nullptr;
  }
  static std::size_t width_of(std::string_view type) {
    for (const ElementType& element : element_types)
      if (type == element.name) return element.bytes;
    return 1;
  }
  static void expect(sluice_status status, const char* what, const sluice_error& error) {
    if (status != SLUICE_OK) throw std::runtime_error(std::string("device: cannot ") + what + ": " + error.message);
  }
  sluice_status allocate(std::size_t bytes, void** memory) {
    const std::lock_guard lock(mutex_);
    if (allocations_left-- <= 0) return SLUICE_ERROR_DEVICE_MEMORY;
    return allocate_guarded(bytes, memory);
  }
  // Behind the block lies a guard that free() looks at.
  sluice_status allocate_guarded(std::size_t bytes, void** memory) {
    const sluice_status status = provider_->allocate(device_, stream_, bytes + guard.size(), memory);
    if (status != SLUICE_OK) return status;
    blocks_.emplace(*memory, bytes);
    return provider_->copy_to_device(device_, stream_, static_cast<char*>(*memory) + bytes, guard.data(), guard.size(), nullptr);
  }
  void free(void* memory) {
    if (memory == nullptr) return;
    const std::lock_guard lock(mutex_);
    if (const auto block = blocks_.find(memory); block != blocks_.end()) {
      std::string behind(guard.size(), '\0');
      // A device that has failed has nothing to say.
      if (provider_->copy_to_host(device_, stream_, behind.data(), static_cast<const char*>(memory) + block->second, behind.size(), nullptr) ==
              SLUICE_OK &&
          provider_->synchronize(device_, stream_, nullptr) == SLUICE_OK && behind != guard)
        ++overwritten_;
      blocks_.erase(block);
    }
    provider_->free(device_, stream_, memory);
  }
  void* send(const void* source, std::size_t bytes) {
    void* memory = nullptr;
    sluice_error error{};
    {
      const std::lock_guard lock(mutex_);
      expect(allocate_guarded(bytes, &memory), "allocate a column", error);
    }
    if (bytes != 0) expect(provider_->copy_to_device(device_, stream_, memory, source, bytes, &error), "copy to it", error);
    expect(provider_->synchronize(device_, stream_, &error), "copy to it", error);
    return memory;
  }
  Buffer fetch(const void* source, std::size_t bytes) {
    Buffer buffer = Buffer::allocate({}, std::max<std::size_t>(bytes, 1));
    sluice_error error{};
    if (bytes != 0) expect(provider_->copy_to_host(device_, stream_, buffer.data(), source, bytes, &error), "copy from it", error);
    expect(provider_->synchronize(device_, stream_, &error), "copy from it", error);
    return buffer;
  }

  const sluice_device_provider* provider_;
  void* device_ = nullptr;
  void* stream_ = nullptr;
  sluice_device handle_{};
  inline static const std::string guard = std::string(256, '\x5A');
  std::mutex mutex_;                     // guards blocks_, overwritten_ and allocations_left
  std::map<void*, std::size_t> blocks_;  // and their bytes
  std::size_t overwritten_ = 0;
};

}  // namespace detail

}  // namespace sluice::testing
