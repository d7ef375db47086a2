// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "device/device.hpp"

#include <cstddef>
#include <new>
#include <sluice/failure.hpp>
#include <utility>

#include "device/device_stream.hpp"

namespace sluice {

Device::Device(const sluice_device_provider& provider, int ordinal, std::uint64_t limit_bytes)
    : provider_(provider),
      ordinal_(ordinal),
      limit_(limit_bytes),
      locked_({[this](std::size_t bytes) -> void* {
                 void* memory = nullptr;
                 if (lost_ || provider_.allocate_host(device_, bytes, &memory) != SLUICE_OK) return nullptr;
                 try {
                   const std::lock_guard lock(locked_mutex_);
                   locked_blocks_[static_cast<const std::byte*>(memory)] = bytes;
                 } catch (...) {
                   provider_.free_host(device_, memory);
                   return nullptr;
                 }
                 return memory;
               },
               [this](void* memory, std::size_t) {
                 {
                   const std::lock_guard lock(locked_mutex_);
                   locked_blocks_.erase(static_cast<const std::byte*>(memory));
                 }
                 provider_.free_host(device_, memory);
               }},
              0, RecycledMemory::Beyond::refuses) {}

std::shared_ptr<Device> Device::open(const sluice_device_provider& provider, int ordinal, std::uint64_t limit_bytes) {
  std::shared_ptr<Device> device(new Device(provider, ordinal, limit_bytes));
  sluice_error error{};
  device->info_.struct_size = sizeof device->info_;
  sluice_status status = provider.describe(ordinal, &device->info_, &error);
  if (status == SLUICE_OK) status = provider.open(ordinal, &device->device_, &error);
  if (status != SLUICE_OK) throw Failure(status, "cannot open " + device->name() + ": " + error.message, error.remedy);
  if (device->limit_ == 0 || device->limit_ > device->info_.memory_bytes) device->limit_ = device->info_.memory_bytes;
  return device;
}

Device::~Device() {
  streams_.clear();
  idle_.clear();
  locked_.limit(0);
  if (device_ != nullptr) provider_.close(device_);
}

DeviceStream& Device::open_stream(const std::string& name) {
  auto stream = std::make_unique<DeviceStream>(*this, name);
  const std::lock_guard lock(streams_mutex_);
  return *streams_.emplace_back(std::move(stream));
}

Device::StreamHandle Device::borrow_stream() {
  constexpr int most = 4;  // two each way keep a bus busy
  const auto give_back = [](DeviceStream* stream) {
    Device& home = stream->device();
    stream->settle();  // a copy that failed may have left others under way, which read memory that will be freed now
    {
      const std::lock_guard lock(home.streams_mutex_);
      home.idle_.emplace_back(stream);
    }
    home.stream_came_back_.notify_one();
  };
  {
    std::unique_lock lock(streams_mutex_);
    stream_came_back_.wait(lock, [&] { return !idle_.empty() || borrowed_ < most; });
    if (!idle_.empty()) {
      std::unique_ptr<DeviceStream> stream = std::move(idle_.back());
      idle_.pop_back();
      return {stream.release(), give_back};
    }
    idle_.reserve(static_cast<std::size_t>(borrowed_) + 1);  // so that all of them can come back without an allocation
    ++borrowed_;
  }
  try {
    return {new DeviceStream(*this, ""), give_back};
  } catch (...) {
    {
      const std::lock_guard lock(streams_mutex_);
      --borrowed_;
    }
    stream_came_back_.notify_one();
    throw;
  }
}

std::string Device::name() const { return std::string(provider_.kind) + ":" + std::to_string(ordinal_); }

sluice_status Device::allocate(void* stream, std::size_t bytes, void** memory) {
  if (lost_) return SLUICE_ERROR_DEVICE_LOST;
  const std::uint64_t before = used_.fetch_add(bytes);
  const sluice_status status = before + bytes > limit_ ? SLUICE_ERROR_DEVICE_MEMORY : provider_.allocate(device_, stream, bytes, memory);
  if (status != SLUICE_OK) {
    used_.fetch_sub(bytes);
    return status;
  }
  activity_.uses(before + bytes);
  try {
    const std::lock_guard lock(blocks_mutex_);
    blocks_[*memory] = {bytes, stream};
  } catch (...) {  // without its entry it could never be freed
    provider_.free(device_, stream, std::exchange(*memory, nullptr));
    used_.fetch_sub(bytes);
    return SLUICE_ERROR_MEMORY;
  }
  return SLUICE_OK;
}

void Device::free(void* memory) {
  Block block{};
  {
    const std::lock_guard lock(blocks_mutex_);
    const auto found = blocks_.find(memory);
    if (found == blocks_.end()) return;
    block = found->second;
    blocks_.erase(found);
  }
  provider_.free(device_, block.stream, memory);
  used_.fetch_sub(block.bytes);
}

std::shared_ptr<void> Device::locked_block(std::size_t bytes) {
  const RecycledMemory::Block block = locked_.take(bytes);
  if (block.memory == nullptr) return nullptr;
  return {block.memory, [home = shared_from_this(), block](void*) { home->locked_.give(block); }};
}

bool Device::is_locked(std::span<const std::byte> memory) const {
  const std::shared_lock lock(locked_mutex_);
  auto block = locked_blocks_.upper_bound(memory.data());
  if (block == locked_blocks_.begin()) return false;
  --block;
  return memory.data() + memory.size() <= block->first + block->second;
}

DeviceStatistics Device::statistics() const {
  DeviceStatistics result = activity_.statistics();
  result.name = name();
  result.model = info_.name;
  result.memory_limit = limit_;
  result.memory_now = used_;
  const std::lock_guard lock(streams_mutex_);
  result.streams = streams_.size();
  return result;
}

void Device::throw_if_lost() const {
  if (lost_) throw Failure(SLUICE_ERROR_DEVICE_LOST, name() + " is gone (injected)");
}

void Device::raise(sluice_status status, const std::string& what, const sluice_error& error) const {
  const bool is_memory = status == SLUICE_ERROR_MEMORY;  // where the words are those of an exception
  throw Failure(status, what + " " + name() + ": " + (is_memory ? "out of memory: " : "") + error.message, error.remedy);
}

namespace {

std::vector<std::shared_ptr<Device>>& left_devices() {
  // Never destroyed, as they are the system's; and needs no memory, as a run that had too little of it ends here, too.
  using Devices = std::vector<std::shared_ptr<Device>>;
  alignas(Devices) static std::byte room[sizeof(Devices)];
  static auto* const devices = new (room) Devices;
  return *devices;
}

}  // namespace

void leave_to_the_system(std::vector<std::shared_ptr<Device>> devices) {
  if (left_devices().empty()) return left_devices().swap(devices);
  for (std::shared_ptr<Device>& device : devices) left_devices().push_back(std::move(device));
}

bool devices_were_left() { return !left_devices().empty(); }

}  // namespace sluice
