// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "deferred_device.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "simulated_accelerator.hpp"

namespace sluice::simulated_accelerator {
namespace {

using Job = std::function<sluice_status()>;

void spend(double seconds) {
  if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

sluice_status fail(sluice_error* error, sluice_status status, const char* message) {
  if (status != SLUICE_OK && error != nullptr) {
    error->code = status;
    std::snprintf(error->message, sizeof error->message, "%s", message);
    error->remedy[0] = '\0';
  }
  return status;
}

// No exception leaves a provider.
template <class Body>
sluice_status guarded(sluice_error* error, Body&& body) noexcept {
  try {
    return body();
  } catch (const std::exception& exception) {
    return fail(error, SLUICE_ERROR_MEMORY, exception.what());
  }
}

sluice_status gone() { return settings().lost_after >= 0 && settings().calls > settings().lost_after ? SLUICE_ERROR_DEVICE_LOST : SLUICE_OK; }

struct Event {
  std::mutex mutex;  // guards happened
  std::condition_variable changed;
  bool happened = false;

  void happen() {
    const std::lock_guard lock(mutex);
    happened = true;
    changed.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return happened; });
  }
};
using EventHandle = std::shared_ptr<Event>;

// Does what it is given one after the other, on a thread of its own. The first failure stays until somebody asks.
class Stream : public DeferredStream {
 public:
  explicit Stream(int number) : number_(number), thread_([this] { serve(); }) {}
  ~Stream() override {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  void put(Job job) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(std::move(job));
    }
    wake_.notify_all();
  }
  // Needs no memory, as a call that had none left waits for its stream, too.
  sluice_status finish_all() noexcept {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return jobs_.empty() && !busy_; });
    return std::exchange(failure_, SLUICE_OK);
  }
  void launch(std::function<void()> kernel) override {
    put([kernel = std::move(kernel)] { return kernel(), SLUICE_OK; });
  }
  void finish() override {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return jobs_.empty() && !busy_; });
  }

 private:
  void serve() {
    for (std::uint64_t turn = 0;; ++turn) {
      Job job;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return closing_ || !jobs_.empty(); });
        if (jobs_.empty()) return;
        job = std::move(jobs_.front());
        jobs_.pop_front();
        busy_ = true;
      }
      // No two streams keep the same pace.
      if ((turn * 7 + static_cast<std::uint64_t>(number_) * 3) % 5 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
      const sluice_status status = job();
      job = nullptr;
      const std::lock_guard lock(mutex_);
      if (failure_ == SLUICE_OK) failure_ = status;
      busy_ = false;
      idle_.notify_all();
    }
  }
  const int number_;
  std::mutex mutex_;  // guards everything below
  std::condition_variable wake_, idle_;
  std::deque<Job> jobs_;
  bool busy_ = false;  // a job is being done
  sluice_status failure_ = SLUICE_OK;
  bool closing_ = false;
  std::thread thread_;
};

struct Device {
  int native_ordinal = 0;
  std::atomic<int> streams{0};
  std::mutex mutex;  // guards everything below
  std::map<void*, std::size_t> blocks;
  std::vector<void*> freed;  // kept, with the pattern in them
};
Device& device_of(void* device) { return *static_cast<Device*>(device); }
Stream& stream_of(void* stream) { return *static_cast<Stream*>(static_cast<DeferredStream*>(stream)); }

sluice_status describe(std::int32_t ordinal, sluice_device_info* info, sluice_error*) {
  std::strcpy(info->name, "simulated accelerator");
  info->native_ordinal = native_ordinal_of(ordinal);
  info->memory_bytes = settings().memory_bytes;
  info->bytes_per_second = settings().bytes_per_second;
  info->seconds_per_copy = settings().seconds_per_copy;
  return SLUICE_OK;
}

sluice_status open(std::int32_t ordinal, void** device, sluice_error* error) {
  return guarded(error, [&] {
    auto opened = std::make_unique<Device>();
    opened->native_ordinal = native_ordinal_of(ordinal);
    *device = opened.release();
    return SLUICE_OK;
  });
}

void close(void* raw) {
  const std::unique_ptr<Device> device(static_cast<Device*>(raw));
  for (const auto& [block, bytes] : device->blocks) std::free(block);
  for (void* block : device->freed) std::free(block);
}

sluice_status enter(void* device, sluice_error* error) {
  current_device() = device_of(device).native_ordinal;
  return fail(error, gone(), "the simulated accelerator is gone");
}

sluice_status allocate(void* raw, void*, std::size_t bytes, void** memory) {
  Device& device = device_of(raw);
  *memory = std::malloc(bytes);
  if (*memory == nullptr) return SLUICE_ERROR_DEVICE_MEMORY;
  std::memset(*memory, 0x5A, bytes);
  const sluice_status kept = guarded(nullptr, [&] {
    const std::lock_guard lock(device.mutex);
    device.freed.reserve(device.freed.size() + device.blocks.size() + 1);
    device.blocks[*memory] = bytes;
    return SLUICE_OK;
  });
  if (kept != SLUICE_OK) return std::free(*memory), SLUICE_ERROR_DEVICE_MEMORY;
  settings().bytes_allocated += static_cast<std::int64_t>(bytes);
  return SLUICE_OK;
}

void free_memory(void* raw, void* stream, void* memory) {
  Device* device = &device_of(raw);
  std::size_t bytes = 0;
  {
    const std::lock_guard lock(device->mutex);
    bytes = device->blocks.at(memory);
    device->blocks.erase(memory);
    device->freed.push_back(memory);
  }
  settings().bytes_allocated -= static_cast<std::int64_t>(bytes);
  // Without room for that it stays as it is: what is read after it was freed is not seen then.
  guarded(nullptr, [&] {
    stream_of(stream).put([memory, bytes] { return std::memset(memory, freed_byte, bytes), SLUICE_OK; });
    return SLUICE_OK;
  });
}

sluice_status copy(void*, void* stream, void* destination, const void* source, std::size_t bytes, sluice_error* error) {
  return guarded(error, [&] {
    stream_of(stream).put([=] {
      if (gone() != SLUICE_OK) return gone();
      spend(settings().seconds_per_copy + static_cast<double>(bytes) / settings().bytes_per_second);
      std::memcpy(destination, source, bytes);
      return static_cast<sluice_status>(SLUICE_OK);
    });
    return fail(error, gone(), "the simulated accelerator is gone, with what lay on it");
  });
}

sluice_status copy_to_host(void* device, void* stream, void* destination, const void* source, std::size_t bytes, sluice_error* error) {
  if (settings().fetch_status != SLUICE_OK) return fail(error, settings().fetch_status, "there is no way back");
  return copy(device, stream, destination, source, bytes, error);
}

sluice_status copy_from_peer(void* device, void* stream, void* destination, void*, const void* source, std::size_t bytes, sluice_error* error) {
  ++settings().peer_copies;
  return copy(device, stream, destination, source, bytes, error);
}

EventHandle& event_of(void* event) { return *static_cast<EventHandle*>(event); }

sluice_status record(void*, void* stream, void** event, sluice_error* error) {
  return guarded(error, [&] {
    auto made = std::make_unique<EventHandle>(std::make_shared<Event>());
    stream_of(stream).put([event = *made] { return event->happen(), SLUICE_OK; });
    *event = made.release();
    return SLUICE_OK;
  });
}

sluice_device_provider make_provider() {
  sluice_device_provider p{};
  p.struct_size = sizeof p;
  p.kind = "simulated";
  p.count = []() -> std::int32_t { return settings().devices; };
  p.describe = describe;
  p.open = open;
  p.close = close;
  p.enter = enter;
  p.open_stream = [](void* device, void** stream, sluice_error* error) -> sluice_status {
    return guarded(error, [&] {
      *stream = static_cast<DeferredStream*>(new Stream(device_of(device).streams++));
      return SLUICE_OK;
    });
  };
  p.close_stream = [](void*, void* stream) { delete &stream_of(stream); };
  p.native_stream = [](void*, void* stream) { return stream; };
  p.synchronize = [](void*, void* stream, sluice_error* error) {
    return fail(error, stream_of(stream).finish_all(), "the simulated accelerator is gone");
  };
  p.allocate = allocate;
  p.free = free_memory;
  p.allocate_host = [](void*, std::size_t bytes, void** memory) -> sluice_status {
    *memory = std::malloc(bytes);
    return *memory == nullptr ? SLUICE_ERROR_MEMORY : SLUICE_OK;
  };
  p.free_host = [](void*, void* memory) { std::free(memory); };
  p.copy_to_device = copy;
  p.copy_to_host = copy_to_host;
  p.copy_from_peer = copy_from_peer;
  p.record = record;
  p.wait = [](void*, void* stream, void* event, sluice_error* error) -> sluice_status {
    return guarded(error, [&] {
      stream_of(stream).put([happens = event_of(event)] { return happens->wait(), SLUICE_OK; });
      return SLUICE_OK;
    });
  };
  p.await = [](void*, void* event, sluice_error* error) -> sluice_status {
    event_of(event)->wait();
    return fail(error, gone(), "the simulated accelerator is gone");
  };
  p.forget = [](void*, void* event) { delete &event_of(event); };
  return p;
}

}  // namespace

int& current_device() {
  static thread_local int device = -1;
  return device;
}

const sluice_device_provider& deferred_provider() {
  static const sluice_device_provider provider = make_provider();
  return provider;
}

}  // namespace sluice::simulated_accelerator
