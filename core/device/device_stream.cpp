// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "device/device_stream.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <sluice/failure.hpp>
#include <utility>

#include "device/call_scope.hpp"

namespace sluice {
namespace {

DeviceStream& stream_of(const sluice_device* handle) { return *static_cast<DeviceStream*>(handle->context); }

}  // namespace

DeviceStream::DeviceStream(Device& device, std::string name) : device_(device), name_(std::move(name)) {
  const sluice_device_provider& provider = device.provider();
  sluice_error error{};
  if (const sluice_status status = provider.open_stream(device.raw(), &stream_, &error); status != SLUICE_OK)
    device.raise(status, "cannot open a stream on", error);
  handle_.struct_size = sizeof handle_;
  handle_.kind = provider.kind;
  handle_.ordinal = device.ordinal();
  handle_.native_ordinal = device.info().native_ordinal;
  handle_.stream = provider.native_stream != nullptr ? provider.native_stream(device.raw(), stream_) : stream_;
  handle_.context = this;
  handle_.allocate = [](const sluice_device* handle, std::size_t bytes, void** memory) {
    const DeviceStream& stream = stream_of(handle);
    return stream.device_.allocate(stream.stream_, bytes, memory);
  };
  handle_.free = [](const sluice_device* handle, void* memory) { stream_of(handle).device_.free(memory); };
}

DeviceStream::~DeviceStream() {
  settle();
  for (Slab& slab : slabs_) {
    slab.free_after.reset();
    if (slab.memory != nullptr) device_.provider().free_host(device_.raw(), slab.memory);
  }
  device_.provider().close_stream(device_.raw(), stream_);
}

void DeviceStream::enter() {
  device_.throw_if_lost();
  sluice_error error{};
  if (device_.provider().enter == nullptr) return;
  if (const sluice_status status = device_.provider().enter(device_.raw(), &error); status != SLUICE_OK) device_.raise(status, "going to", error);
}

void* DeviceStream::allocate(std::size_t bytes) {
  void* memory = nullptr;
  if (const sluice_status status = device_.allocate(stream_, std::max<std::size_t>(bytes, 1), &memory); status != SLUICE_OK)
    throw Failure(status, "out of memory on " + device_.name() + " (" + std::to_string(bytes) + " bytes for a column)");
  return memory;
}

// Says what a copy was when it has been made, or is on its way.
class DeviceStream::CopyWatch {
 public:
  CopyWatch(Device& device, CopyDirection direction, std::uint64_t bytes) : device_(device), direction_(direction), bytes_(bytes) {
    device.throw_if_lost();
  }
  void done() {
    if (CallScope* call = CallScope::current()) call->copied(bytes_);
    device_.activity().copied({direction_, bytes_, std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count()});
  }

 private:
  Device& device_;
  const CopyDirection direction_;
  const std::uint64_t bytes_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

DeviceStream::Slab& DeviceStream::next_slab() {
  Slab& slab = slabs_[slab_++ % slabs_.size()];
  if (slab.memory == nullptr)
    if (const sluice_status status = device_.provider().allocate_host(device_.raw(), slab_bytes, &slab.memory); status != SLUICE_OK)
      throw Failure(status == SLUICE_ERROR_DEVICE_LOST ? status : SLUICE_ERROR_DEVICE_MEMORY,
                    "no page-locked memory for copies to " + device_.name());
  if (slab.free_after) await(*slab.free_after);
  slab.free_after.reset();
  return slab;
}

void DeviceStream::copy_in(void* destination, const Sources& sources) {
  constexpr std::size_t least_direct = std::size_t{128} << 10;  // what is less is copied into a slab faster than it is waited for
  std::size_t bytes = 0;
  for (const auto& source : sources) bytes += source.size();
  CopyWatch watch(device_, CopyDirection::to_device, bytes);
  auto* to = static_cast<std::byte*>(destination);
  bool direct = false;
  Sources through_slabs;
  const auto send_slabs = [&] {
    to = copy_through_slabs(to, through_slabs);
    through_slabs.clear();
  };
  for (const auto& source : sources) {
    if (source.size() < least_direct || !device_.is_locked(source)) {
      through_slabs.push_back(source);
      continue;
    }
    send_slabs();
    send(to, source.data(), source.size());
    to += source.size();
    direct = true;
  }
  send_slabs();
  if (direct) await(*record());  // the source may change when this returns
  watch.done();
}

void DeviceStream::send(void* destination, const void* source, std::size_t bytes) {
  sluice_error error{};
  const sluice_status status = device_.provider().copy_to_device(device_.raw(), stream_, destination, source, bytes, &error);
  if (status != SLUICE_OK) device_.raise(status, "copy to", error);
}

void DeviceStream::await(const DeviceEvent& event) {
  sluice_error error{};
  const sluice_status status = device_.provider().await(device_.raw(), event.raw(), &error);
  if (status != SLUICE_OK) device_.raise(status, "a copy on", error);
}

// Returns where the next ones go.
std::byte* DeviceStream::copy_through_slabs(std::byte* destination, const Sources& sources) {
  std::size_t bytes = 0;
  for (const auto& part : sources) bytes += part.size();
  auto source = sources.begin();
  std::size_t taken = 0;  // of *source
  for (std::size_t at = 0; at < bytes;) {
    const std::size_t part = std::min(slab_bytes, bytes - at);
    Slab& slab = next_slab();
    for (std::size_t filled = 0; filled < part;) {
      const std::size_t piece = std::min(source->size() - taken, part - filled);
      if (piece > 0) std::memcpy(static_cast<std::byte*>(slab.memory) + filled, source->data() + taken, piece);
      filled += piece;
      taken += piece;
      if (taken == source->size() && filled < part) {
        ++source;
        taken = 0;
      }
    }
    send(destination + at, slab.memory, part);
    slab.free_after = record();
    at += part;
  }
  return destination + bytes;
}

void DeviceStream::copy_out(void* destination, const void* source, std::size_t bytes) {
  CopyWatch watch(device_, CopyDirection::to_host, bytes);
  struct Piece {
    Slab* slab = nullptr;
    std::size_t at = 0, bytes = 0;
  };
  const auto take = [&](const Piece& piece) {  // out of its slab, when it has come
    if (piece.slab == nullptr) return;
    await(*piece.slab->free_after);
    std::memcpy(static_cast<char*>(destination) + piece.at, piece.slab->memory, piece.bytes);
  };
  Piece before;
  for (std::size_t at = 0; at < bytes; at += slab_bytes) {
    const Piece piece{&next_slab(), at, std::min(slab_bytes, bytes - at)};
    sluice_error error{};
    const sluice_status status =
        device_.provider().copy_to_host(device_.raw(), stream_, piece.slab->memory, static_cast<const char*>(source) + at, piece.bytes, &error);
    if (status != SLUICE_OK) device_.raise(status, "copy from", error);
    piece.slab->free_after = record();
    take(std::exchange(before, piece));
  }
  take(before);
  watch.done();
}

void DeviceStream::copy_out_to_locked(void* destination, const void* source, std::size_t bytes) {
  CopyWatch watch(device_, CopyDirection::to_host, bytes);
  sluice_error error{};
  const sluice_status status = device_.provider().copy_to_host(device_.raw(), stream_, destination, source, bytes, &error);
  if (status != SLUICE_OK) device_.raise(status, "copy from", error);
  await(*record());
  watch.done();
}

void DeviceStream::copy_from_peer(void* destination, const Device& source_device, const void* source, std::size_t bytes) {
  CopyWatch watch(device_, CopyDirection::to_device, bytes);
  sluice_error error{};
  const sluice_status status = device_.provider().copy_from_peer(device_.raw(), stream_, destination, source_device.raw(), source, bytes, &error);
  if (status != SLUICE_OK) device_.raise(status, "copy from " + source_device.name() + " to", error);
  watch.done();
}

std::shared_ptr<DeviceEvent> DeviceStream::record() {
  void* event = nullptr;
  sluice_error error{};
  if (const sluice_status status = device_.provider().record(device_.raw(), stream_, &event, &error); status != SLUICE_OK)
    device_.raise(status, "a stream of", error);
  try {
    return std::make_shared<DeviceEvent>(device_, event);
  } catch (...) {
    device_.provider().forget(device_.raw(), event);
    throw;
  }
}

void DeviceStream::wait_for(const DeviceEvent& event) {
  sluice_error error{};
  if (const sluice_status status = device_.provider().wait(device_.raw(), stream_, event.raw(), &error); status != SLUICE_OK)
    device_.raise(status, "a stream of", error);
}

void DeviceStream::synchronize() {
  sluice_error error{};
  if (const sluice_status status = device_.provider().synchronize(device_.raw(), stream_, &error); status != SLUICE_OK)
    device_.raise(status, "a kernel on", error);
  device_.throw_if_lost();
}

void DeviceStream::settle() noexcept { device_.provider().synchronize(device_.raw(), stream_, nullptr); }

}  // namespace sluice
