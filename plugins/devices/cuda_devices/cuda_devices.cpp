// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The CUDA devices of this machine. Streams are CUDA streams that do not wait for the default one, memory comes from the device's pool in their
// order, and events only order: nobody times with them.
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <sluice/stage.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "cuda_devices/compute_capability.hpp"
#include "cuda_devices/shared_memory.hpp"

namespace sluice::cuda_devices {
namespace {

struct Mapping {
  void* memory = nullptr;
  std::size_t bytes = 0;
};
struct Device {
  int ordinal = 0;                                // CUDA's
  std::mutex mutex;                               // guards what follows
  std::vector<cudaEvent_t> events;                // that nobody uses: making one keeps other threads out of the driver
  std::unordered_map<void*, Mapping> registered;  // page-locked memory that CUDA did not allocate
};
struct Stream {
  cudaStream_t stream = nullptr;
};

Device& of(void* device) { return *static_cast<Device*>(device); }
cudaStream_t stream_of(void* stream) { return static_cast<Stream*>(stream)->stream; }

sluice_status fail(sluice_error* error, cudaError_t status, const char* what) {
  cudaGetLastError();
  const sluice_status code = status == cudaErrorMemoryAllocation ? SLUICE_ERROR_DEVICE_MEMORY : SLUICE_ERROR_DEVICE_LOST;
  if (error != nullptr) {
    error->code = code;
    std::snprintf(error->message, sizeof error->message, "%s: %s", what, cudaGetErrorString(status));
    error->remedy[0] = '\0';
  }
  return code;
}

// Jetson: one memory for both.
bool shares_memory_with_cpu(int device) {
  int integrated = 0;
  if (cudaDeviceGetAttribute(&integrated, cudaDevAttrIntegrated, device) != cudaSuccess) cudaGetLastError();
  return integrated != 0;
}

// Ordinals that can be used, and why the others can't.
struct Survey {
  std::vector<int> usable;
  std::vector<std::string> lines;
};

Survey survey() {
  Survey result;
  int driver = 0, runtime = 0, count = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  const auto version = [](int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); };
  if (driver == 0) {
    result.lines.emplace_back("no CUDA: this machine has no NVIDIA driver");
    return result;
  }
  if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess || count == 0) {
    cudaGetLastError();
    if (driver / 1000 < runtime / 1000)
      result.lines.push_back("no CUDA: the driver supports CUDA " + version(driver) + ", this sluice needs " + version(runtime) +
                             " (update the driver)");
    else
      result.lines.push_back(std::string("no CUDA: ") + (status != cudaSuccess ? cudaGetErrorString(status) : "no device"));
    return result;
  }
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, i) != cudaSuccess) continue;
    std::string line = "cuda:" + std::to_string(i) + " " + properties.name + ", " + std::to_string(properties.totalGlobalMem >> 30) +
                       " GiB, compute capability " + std::to_string(properties.major) + "." + std::to_string(properties.minor);
    if (shares_memory_with_cpu(i)) line += ", memory shared with the CPU: runs take half of what is free of it for the device";
    const std::string problem = why_not_used(properties.major, properties.minor, SLUICE_CUDA_ARCHITECTURES);
    if (problem.empty())
      result.usable.push_back(i);
    else
      line += ": " + problem;
    result.lines.push_back(std::move(line));
  }
  return result;
}

const Survey& devices() {
  static const Survey once = survey();
  return once;
}

const char* finding(std::size_t i) { return i < devices().lines.size() ? devices().lines[i].c_str() : nullptr; }

sluice_status describe(std::int32_t ordinal, sluice_device_info* info, sluice_error* error) {
  const int device = devices().usable.at(static_cast<std::size_t>(ordinal));
  cudaDeviceProp properties{};
  if (const cudaError_t status = cudaGetDeviceProperties(&properties, device); status != cudaSuccess)
    return fail(error, status, "cudaGetDeviceProperties");
  std::size_t free_bytes = 0, total_bytes = 0;
  cudaSetDevice(device);
  if (const cudaError_t status = cudaMemGetInfo(&free_bytes, &total_bytes); status != cudaSuccess) return fail(error, status, "cudaMemGetInfo");
  std::snprintf(info->name, sizeof info->name, "%.127s", properties.name);
  info->native_ordinal = device;
  info->memory_bytes = memory_for_runs(free_bytes, shares_memory_with_cpu(device));
  info->bytes_per_second = 10e9;  // pageable columns through page-locked slabs; corrected by what calls take
  info->seconds_per_copy = 15e-6;
  return SLUICE_OK;
}

sluice_status open(std::int32_t ordinal, void** out, sluice_error* error) {
  auto device = std::make_unique<Device>();
  device->ordinal = devices().usable.at(static_cast<std::size_t>(ordinal));
  cudaError_t status = cudaSetDevice(device->ordinal);
  // A waiting lane must not burn a core that computes.
  if (status == cudaSuccess) status = cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync);
  if (status == cudaErrorSetOnActiveProcess) status = cudaGetLastError(), status = cudaSuccess;
  cudaMemPool_t pool = nullptr;
  if (status == cudaSuccess) status = cudaDeviceGetDefaultMemPool(&pool, device->ordinal);
  if (status == cudaSuccess) {
    // Memory that was freed stays with the pool: the next batch needs as much.
    std::uint64_t keep = ~std::uint64_t{0};
    status = cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep);
  }
  if (status != cudaSuccess) return fail(error, status, "opening the device");
  *out = device.release();
  return SLUICE_OK;
}

sluice_status enter(void* device, sluice_error* error) {
  const cudaError_t status = cudaSetDevice(of(device).ordinal);
  return status == cudaSuccess ? SLUICE_OK : fail(error, status, "cudaSetDevice");
}

sluice_status open_stream(void* device, void** out, sluice_error* error) {
  auto stream = std::make_unique<Stream>();
  cudaError_t status = cudaSetDevice(of(device).ordinal);
  if (status == cudaSuccess) status = cudaStreamCreateWithFlags(&stream->stream, cudaStreamNonBlocking);
  if (status != cudaSuccess) return fail(error, status, "cudaStreamCreate");
  *out = stream.release();
  return SLUICE_OK;
}

void close_stream(void* device, void* raw) {
  const std::unique_ptr<Stream> stream(static_cast<Stream*>(raw));
  cudaSetDevice(of(device).ordinal);
  cudaStreamSynchronize(stream->stream);
  cudaStreamDestroy(stream->stream);
  cudaGetLastError();
}

sluice_status synchronize(void* device, void* stream, sluice_error* error) {
  cudaSetDevice(of(device).ordinal);
  const cudaError_t status = cudaStreamSynchronize(stream_of(stream));
  return status == cudaSuccess ? SLUICE_OK : fail(error, status, "a kernel");
}

sluice_status allocate(void* device, void* stream, std::size_t bytes, void** memory) {
  cudaSetDevice(of(device).ordinal);
  const cudaError_t status = cudaMallocAsync(memory, bytes, stream_of(stream));
  return status == cudaSuccess ? SLUICE_OK : fail(nullptr, status, "cudaMallocAsync");
}

void free_memory(void* device, void* stream, void* memory) {
  cudaSetDevice(of(device).ordinal);
  if (cudaFreeAsync(memory, stream_of(stream)) != cudaSuccess) cudaGetLastError();
}

// Mapped in large pages and registered: cudaHostAlloc locks small pages, 2.1 GB/s on the machine with an H200 instead of 4.8, and keeps other threads
// out of the driver meanwhile.
constexpr std::size_t large_page = std::size_t{2} << 20;

sluice_status allocate_host(void* device, std::size_t bytes, void** memory) {
  cudaSetDevice(of(device).ordinal);
  if (bytes < large_page) {
    const cudaError_t status = cudaHostAlloc(memory, bytes, cudaHostAllocPortable);
    return status == cudaSuccess ? SLUICE_OK : fail(nullptr, status, "cudaHostAlloc");
  }
  const std::size_t all = bytes + large_page;
  void* const mapped = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return SLUICE_ERROR_MEMORY;
  const std::size_t before = (large_page - reinterpret_cast<std::uintptr_t>(mapped) % large_page) % large_page;
  auto* const begin = static_cast<volatile char*>(mapped) + before;
  madvise(const_cast<char*>(begin), bytes, MADV_HUGEPAGE);  // a wish
  constexpr std::size_t page = 4096;
  for (std::size_t at = 0; at < bytes; at += page) begin[at] = 0;  // cleared here, where nobody waits for it, not in the driver
  const cudaError_t status = cudaHostRegister(const_cast<char*>(begin), bytes, cudaHostRegisterPortable);
  if (status != cudaSuccess) {
    munmap(mapped, all);
    return fail(nullptr, status, "cudaHostRegister");
  }
  *memory = const_cast<char*>(begin);
  const std::lock_guard lock(of(device).mutex);
  of(device).registered.emplace(*memory, Mapping{mapped, all});
  return SLUICE_OK;
}

void free_host(void* device, void* memory) {
  cudaSetDevice(of(device).ordinal);
  Mapping mapping;
  {
    const std::lock_guard lock(of(device).mutex);
    if (const auto found = of(device).registered.find(memory); found != of(device).registered.end()) {
      mapping = found->second;
      of(device).registered.erase(found);
    }
  }
  if ((mapping.memory != nullptr ? cudaHostUnregister(memory) : cudaFreeHost(memory)) != cudaSuccess) cudaGetLastError();
  if (mapping.memory != nullptr) munmap(mapping.memory, mapping.bytes);
}

sluice_status copy_to_device(void* device, void* stream, void* destination, const void* source, std::size_t bytes, sluice_error* error) {
  cudaSetDevice(of(device).ordinal);
  const cudaError_t status = cudaMemcpyAsync(destination, source, bytes, cudaMemcpyHostToDevice, stream_of(stream));
  return status == cudaSuccess ? SLUICE_OK : fail(error, status, "copy to the device");
}

sluice_status copy_to_host(void* device, void* stream, void* destination, const void* source, std::size_t bytes, sluice_error* error) {
  cudaSetDevice(of(device).ordinal);
  const cudaError_t status = cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDeviceToHost, stream_of(stream));
  return status == cudaSuccess ? SLUICE_OK : fail(error, status, "copy from the device");
}

// Through the host where the devices have no way to each other: the driver knows.
sluice_status copy_from_peer(void* device, void* stream, void* destination, void* source_device, const void* source, std::size_t bytes,
                             sluice_error* error) {
  cudaSetDevice(of(device).ordinal);
  const cudaError_t status = cudaMemcpyPeerAsync(destination, of(device).ordinal, source, of(source_device).ordinal, bytes, stream_of(stream));
  return status == cudaSuccess ? SLUICE_OK : fail(error, status, "copy between devices");
}

sluice_status record(void* device, void* stream, void** out, sluice_error* error) {
  cudaSetDevice(of(device).ordinal);
  cudaEvent_t event = nullptr;
  {
    const std::lock_guard lock(of(device).mutex);
    if (!of(device).events.empty()) {
      event = of(device).events.back();
      of(device).events.pop_back();
    }
  }
  cudaError_t status = cudaSuccess;
  if (event == nullptr) status = cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync);
  if (status == cudaSuccess) status = cudaEventRecord(event, stream_of(stream));
  if (status != cudaSuccess) {
    if (event != nullptr) cudaEventDestroy(event);
    return fail(error, status, "an event");
  }
  *out = event;
  return SLUICE_OK;
}

sluice_status wait(void* device, void* stream, void* event, sluice_error* error) {
  cudaSetDevice(of(device).ordinal);
  const cudaError_t status = cudaStreamWaitEvent(stream_of(stream), static_cast<cudaEvent_t>(event), 0);
  return status == cudaSuccess ? SLUICE_OK : fail(error, status, "waiting for an event");
}

sluice_status await(void* device, void* event, sluice_error* error) {
  cudaSetDevice(of(device).ordinal);
  const cudaError_t status = cudaEventSynchronize(static_cast<cudaEvent_t>(event));
  return status == cudaSuccess ? SLUICE_OK : fail(error, status, "a copy");
}

void forget(void* device, void* event) {
  const std::lock_guard lock(of(device).mutex);
  of(device).events.push_back(static_cast<cudaEvent_t>(event));
}

// One domain, so that a profiler can show or hide what is sluice's.
nvtxDomainHandle_t domain() {
  static nvtxDomainHandle_t handle = nvtxDomainCreateA("sluice");
  return handle;
}

void begin_range(const char* name) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name;
  nvtxDomainRangePushEx(domain(), &attributes);
}

sluice_device_provider make_provider() {
  sluice_device_provider p{};
  p.struct_size = sizeof p;
  p.kind = "cuda";
  p.seconds_to_open = 0.4;  // measured with one H200: waking the driver, a context, and the process's longer end
  p.count = []() -> std::int32_t { return static_cast<std::int32_t>(devices().usable.size()); };
  p.finding = finding;
  p.describe = describe;
  p.open = open;
  p.close = [](void* device) {
    const std::unique_ptr<Device> closed(&of(device));
    for (const cudaEvent_t event : closed->events)
      if (cudaEventDestroy(event) != cudaSuccess) cudaGetLastError();
  };
  p.enter = enter;
  p.open_stream = open_stream;
  p.close_stream = close_stream;
  p.native_stream = [](void*, void* stream) -> void* { return stream_of(stream); };
  p.synchronize = synchronize;
  p.allocate = allocate;
  p.free = free_memory;
  p.allocate_host = allocate_host;
  p.free_host = free_host;
  p.copy_to_device = copy_to_device;
  p.copy_to_host = copy_to_host;
  p.copy_from_peer = copy_from_peer;
  p.record = record;
  p.wait = wait;
  p.await = await;
  p.forget = forget;
  p.begin_range = begin_range;
  p.end_range = [] { nvtxDomainRangePop(domain()); };
  return p;
}

const void* extension(const char* id) {
  static const sluice_device_provider provider = make_provider();
  return std::strcmp(id, SLUICE_EXTENSION_DEVICE) == 0 ? &provider : nullptr;
}

}  // namespace
}  // namespace sluice::cuda_devices

SLUICE_PLUGIN_WITH(sluice::cuda_devices::extension, "cuda_devices", "1.0.0", "MIT");
