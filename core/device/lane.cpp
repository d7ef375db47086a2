// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "device/lane.hpp"

#include <algorithm>
#include <sluice/column.hpp>
#include <sluice/failure.hpp>
#include <string_view>

#include "device/call_scope.hpp"

namespace sluice {
namespace {

std::size_t width(std::string_view type) {
  for (const ElementType& element : element_types)
    if (type == element.name) return element.bytes == 0 ? 1 : element.bytes;
  return 1;
}
bool is_list(std::string_view type) { return type.starts_with("list<"); }
bool is_text(std::string_view type) { return type == "utf8" || type == "binary"; }

// A device array owns its buffers through the device that they lie on.
struct DeviceArrayOwner {
  std::shared_ptr<DeviceMemory> device;
  const void* buffers[3] = {nullptr, nullptr, nullptr};
  ArrowArray child{};
  ArrowArray* children[1] = {nullptr};
};
}  // namespace

DeviceMemory::DeviceMemory(const sluice_device_provider& provider, int ordinal, std::uint64_t limit_bytes)
    : provider_(provider), ordinal_(ordinal), limit_(limit_bytes) {}

std::shared_ptr<DeviceMemory> DeviceMemory::open(const sluice_device_provider& provider, int ordinal, std::uint64_t limit_bytes) {
  std::shared_ptr<DeviceMemory> memory(new DeviceMemory(provider, ordinal, limit_bytes));
  sluice_error error{};
  memory->info_.struct_size = sizeof memory->info_;
  sluice_status status = provider.describe(ordinal, &memory->info_, &error);
  if (status == SLUICE_OK) status = provider.open(ordinal, &memory->device_, &error);
  if (status != SLUICE_OK)
    throw Failure(status, std::string("cannot open ") + provider.kind + ":" + std::to_string(ordinal) + ": " + error.message, error.remedy);
  if (memory->limit_ == 0 || memory->limit_ > memory->info_.memory_bytes) memory->limit_ = memory->info_.memory_bytes;
  return memory;
}

const sluice_device& DeviceMemory::open_stream() {
  auto stream = std::make_unique<Stream>();
  stream->owner = this;
  sluice_error error{};
  if (const sluice_status status = provider_.open(ordinal_, &stream->device, &error); status != SLUICE_OK)
    throw Failure(status, "cannot open a stream on " + name() + ": " + error.message, error.remedy);
  sluice_device& handle = stream->handle;
  handle = sluice_device{};
  handle.struct_size = sizeof handle;
  handle.kind = provider_.kind;
  handle.ordinal = ordinal_;
  handle.stream = provider_.stream != nullptr ? provider_.stream(stream->device) : nullptr;
  handle.context = stream.get();
  handle.allocate = handle_allocate;
  handle.free = handle_free;
  streams_.push_back(std::move(stream));
  return streams_.back()->handle;
}

sluice_status DeviceMemory::handle_allocate(const sluice_device* device, std::size_t bytes, void** memory) {
  auto& stream = *static_cast<Stream*>(device->context);
  return stream.owner->allocate(stream.device, bytes, memory);
}
void DeviceMemory::handle_free(const sluice_device* device, void* memory) {
  auto& stream = *static_cast<Stream*>(device->context);
  stream.owner->free(stream.device, memory);
}

void DeviceMemory::release_array(ArrowArray* array) {
  auto* owner = static_cast<DeviceArrayOwner*>(array->private_data);
  for (const void* buffer : owner->buffers)
    if (buffer != nullptr) owner->device->free(owner->device->device_, const_cast<void*>(buffer));
  if (owner->children[0] != nullptr && owner->child.release != nullptr) owner->child.release(&owner->child);
  delete owner;
  array->release = nullptr;
}

DeviceMemory::~DeviceMemory() {
  for (const auto& stream : streams_) provider_.close(stream->device);
  if (device_ != nullptr) provider_.close(device_);
}

DeviceStatistics DeviceMemory::statistics() const {
  DeviceStatistics result = activity_.statistics();
  result.name = name();
  result.model = info_.name;
  result.memory_limit = limit_;
  result.streams = streams_.size();
  return result;
}

void DeviceMemory::throw_if_lost() const {
  if (lost_) throw Failure(SLUICE_ERROR_DEVICE_LOST, name() + " is gone (injected)");
}

std::string DeviceMemory::name() const { return std::string(provider_.kind) + ":" + std::to_string(ordinal_); }

sluice_status DeviceMemory::allocate(void* device, std::size_t bytes, void** memory) {
  if (lost_) return SLUICE_ERROR_DEVICE_LOST;
  const std::uint64_t before = used_.fetch_add(bytes);
  if (before + bytes > limit_) {
    used_.fetch_sub(bytes);
    return SLUICE_ERROR_DEVICE_MEMORY;
  }
  const sluice_status status = provider_.allocate(device, bytes, memory);
  if (status != SLUICE_OK) {
    used_.fetch_sub(bytes);
    return status;
  }
  activity_.uses(before + bytes);
  const std::lock_guard lock(sizes_mutex_);
  sizes_[*memory] = bytes;
  return SLUICE_OK;
}

void DeviceMemory::free(void* device, void* memory) {
  if (memory == nullptr) return;
  {
    const std::lock_guard lock(sizes_mutex_);
    const auto found = sizes_.find(memory);
    if (found != sizes_.end()) {
      used_.fetch_sub(found->second);
      sizes_.erase(found);
    }
  }
  provider_.free(device, memory);
}

// Says what a copy was when it has been made.
class DeviceMemory::CopyWatch {
 public:
  CopyWatch(DeviceMemory& memory, CopyDirection direction, std::uint64_t bytes)
      : memory_(memory),
        direction_(direction),
        bytes_(bytes),
        range_(direction == CopyDirection::to_device ? "copy to the device" : "copy to the host") {
    memory.throw_if_lost();
  }
  void done() {
    if (CallScope* call = CallScope::current()) call->copied(bytes_);
    memory_.activity_.copied({direction_, bytes_, std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count()});
  }

 private:
  DeviceMemory& memory_;
  const CopyDirection direction_;
  const std::uint64_t bytes_;
  const ProfilerRange range_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void DeviceMemory::copy_in(void* destination, const void* source, std::size_t bytes) {
  CopyWatch watch(*this, CopyDirection::to_device, bytes);
  sluice_error error{};
  if (const sluice_status status = provider_.copy_to_device(device_, destination, source, bytes, &error); status != SLUICE_OK)
    throw Failure(status, "copy to " + name() + ": " + error.message, error.remedy);
  watch.done();
}

void DeviceMemory::copy_out(void* destination, const void* source, std::size_t bytes) {
  CopyWatch watch(*this, CopyDirection::to_host, bytes);
  sluice_error error{};
  if (const sluice_status status = provider_.copy_to_host(device_, destination, source, bytes, &error); status != SLUICE_OK)
    throw Failure(status, "copy from " + name() + ": " + error.message, error.remedy);
  watch.done();
}

void DeviceMemory::synchronize(const sluice_device& stream) {
  sluice_error error{};
  if (const sluice_status status = provider_.synchronize(static_cast<Stream*>(stream.context)->device, &error); status != SLUICE_OK)
    throw Failure(status, name() + ": " + error.message, error.remedy);
  throw_if_lost();
  CallScope* const call = CallScope::current();
  if (call != nullptr && call->take_kernel_fault()) throw Failure(SLUICE_ERROR_DEVICE_KERNEL, name() + ": a kernel failed (injected)");
}

ArrowDeviceArray DeviceMemory::upload(const std::string& type, const ArrowArray& host) {
  ArrowDeviceArray result = start_upload(type, host);
  // Copies have a stream of their own, which no call's stream waits for: what is handed out has arrived.
  sluice_error error{};
  if (const sluice_status status = provider_.synchronize(device_, &error); status != SLUICE_OK) {
    result.array.release(&result.array);
    throw Failure(status, "copy to " + name() + ": " + error.message, error.remedy);
  }
  return result;
}

ArrowDeviceArray DeviceMemory::start_upload(const std::string& type, const ArrowArray& host) {
  ArrowDeviceArray result{};
  result.device_id = ordinal_;
  result.device_type = std::string_view(provider_.kind) == "cuda" ? ARROW_DEVICE_CUDA : ARROW_DEVICE_EXT_DEV;
  auto owner = std::make_unique<DeviceArrayOwner>();
  owner->device = shared_from_this();
  result.array.length = host.length;
  result.array.buffers = owner->buffers;
  result.array.release = release_array;
  DeviceArrayOwner& parts = *owner;
  result.array.private_data = owner.release();
  try {
    const auto send = [&](int slot, const void* source, std::size_t bytes) {
      void* memory = nullptr;
      if (const sluice_status status = allocate(device_, std::max<std::size_t>(bytes, 1), &memory); status != SLUICE_OK)
        throw Failure(status, "out of memory on " + name() + " (" + std::to_string(bytes) + " bytes for a column)");
      parts.buffers[slot] = memory;
      if (bytes != 0) copy_in(memory, source, bytes);
    };
    if (is_list(type) || is_text(type)) {
      // A part of a batch begins in the middle of its values: on the device every column begins at 0.
      const auto* offsets = static_cast<const std::int64_t*>(host.buffers[1]) + host.offset;
      const auto first = static_cast<std::size_t>(offsets[0]), count = static_cast<std::size_t>(offsets[host.length] - offsets[0]);
      std::vector<std::int64_t> rebased;
      if (first != 0) {
        rebased.assign(offsets, offsets + host.length + 1);
        for (std::int64_t& offset : rebased) offset -= static_cast<std::int64_t>(first);
        offsets = rebased.data();
      }
      send(1, offsets, (static_cast<std::size_t>(host.length) + 1) * sizeof(std::int64_t));
      result.array.n_buffers = is_list(type) ? 2 : 3;
      if (is_text(type)) {
        send(2, static_cast<const char*>(host.buffers[2]) + first, count);
      } else {
        ArrowArray child = *host.children[0];
        child.offset += static_cast<std::int64_t>(first);
        child.length = static_cast<std::int64_t>(count);
        const ArrowDeviceArray values = start_upload(type.substr(5, type.size() - 6), child);
        parts.child = values.array;
        parts.children[0] = &parts.child;
        result.array.n_children = 1;
        result.array.children = parts.children;
      }
    } else {
      send(1, static_cast<const char*>(host.buffers[1]) + static_cast<std::size_t>(host.offset) * width(type),
           static_cast<std::size_t>(host.length) * width(type));
      result.array.n_buffers = 2;
    }
  } catch (...) {
    result.array.release(&result.array);
    throw;
  }
  return result;
}

ArrowArray DeviceMemory::download(const std::string& type, const ArrowDeviceArray& device) {
  const ArrowArray& from = device.array;
  const auto fetch = [&](const void* source, std::size_t bytes) {
    Buffer buffer = Buffer::allocate({}, std::max<std::size_t>(bytes, 1));
    if (bytes != 0) copy_out(buffer.data(), source, bytes);
    return buffer;
  };
  if (!is_list(type) && !is_text(type))
    return detail::make_array(from.length, fetch(from.buffers[1], static_cast<std::size_t>(from.length) * width(type)), {}, 2);
  Buffer offsets = fetch(from.buffers[1], (static_cast<std::size_t>(from.length) + 1) * sizeof(std::int64_t));
  const auto count = static_cast<std::size_t>(offsets.as<std::int64_t>()[static_cast<std::size_t>(from.length)]);
  if (is_text(type)) return detail::make_array(from.length, std::move(offsets), fetch(from.buffers[2], count), 3);
  ArrowArray array = detail::make_array(from.length, std::move(offsets), {}, 2);
  auto* owner = static_cast<detail::ArrayOwner*>(array.private_data);
  ArrowDeviceArray values = device;
  values.array = *from.children[0];
  try {
    owner->child = download(type.substr(5, type.size() - 6), values);
  } catch (...) {
    array.release(&array);
    throw;
  }
  owner->children[0] = &owner->child;
  array.n_children = 1;
  array.children = owner->children;
  return array;
}

std::unique_ptr<Lane> Lane::cpu() { return std::unique_ptr<Lane>(new Lane); }

std::unique_ptr<Lane> Lane::device(std::shared_ptr<DeviceMemory> memory, int streams) {
  std::unique_ptr<Lane> lane(new Lane);
  for (int number = 0; number < streams; ++number) lane->streams_.push_back({&memory->open_stream(), "stream " + std::to_string(number)});
  lane->memory_ = std::move(memory);
  for (const LaneStream& stream : lane->streams_) lane->threads_.emplace_back([raw = lane.get(), &stream] { raw->serve(stream); });
  return lane;
}

Lane::~Lane() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Lane::submit(Job job) {
  if (is_cpu()) {
    job({});
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(job));
  }
  wake_.notify_one();
}

void Lane::serve(const LaneStream& stream) {
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return closing_ || !queue_.empty(); });
      if (queue_.empty()) return;
      job = std::move(queue_.front());
      queue_.pop_front();
    }
    job(stream);
  }
}

}  // namespace sluice
