// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "device/cuda_provider.hpp"

#ifndef SLUICE_WITH_CUDA

namespace sluice {

const sluice_device_provider* cuda_provider() { return nullptr; }
std::vector<std::string> cuda_preflight() { return {"no CUDA: this sluice was built without it"}; }

}  // namespace sluice

#else

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>

namespace sluice {
namespace {

// Copies go through two pinned slabs, so that filling one overlaps the transfer of the other. 4 MiB: at 55 GB/s a slab takes 76 us,
// twenty times what starting a copy costs.
constexpr std::size_t slab_bytes = std::size_t{4} << 20;
// Kernels are compiled for 8.0 and newer.
constexpr int least_compute_capability = 80;

struct CudaDevice {
  int ordinal = 0;
  cudaStream_t stream = nullptr;
  std::mutex mutex;  // guards the slabs
  std::array<void*, 2> slabs{};
  std::array<cudaEvent_t, 2> slab_free{};

  ~CudaDevice() {
    cudaSetDevice(ordinal);
    if (stream != nullptr) cudaStreamSynchronize(stream);
    for (cudaEvent_t event : slab_free)
      if (event != nullptr) cudaEventDestroy(event);
    for (void* slab : slabs)
      if (slab != nullptr) cudaFreeHost(slab);
    if (stream != nullptr) cudaStreamDestroy(stream);
  }
};

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
    if (properties.major * 10 + properties.minor < least_compute_capability)
      line += ": not used, this sluice has code for 8.0 and newer";
    else
      result.usable.push_back(i);
    result.lines.push_back(std::move(line));
  }
  return result;
}

const Survey& devices() {
  static const Survey once = survey();
  return once;
}

sluice_status describe(std::int32_t ordinal, sluice_device_info* info, sluice_error* error) {
  const int device = devices().usable.at(static_cast<std::size_t>(ordinal));
  cudaDeviceProp properties{};
  if (const cudaError_t status = cudaGetDeviceProperties(&properties, device); status != cudaSuccess)
    return fail(error, status, "cudaGetDeviceProperties");
  std::size_t free_bytes = 0, total_bytes = 0;
  cudaSetDevice(device);
  if (const cudaError_t status = cudaMemGetInfo(&free_bytes, &total_bytes); status != cudaSuccess) return fail(error, status, "cudaMemGetInfo");
  std::snprintf(info->name, sizeof info->name, "%.127s", properties.name);
  info->memory_bytes = free_bytes - free_bytes / 16;  // the driver's own needs
  info->bytes_per_second = 10e9;                      // pageable columns through pinned slabs; corrected by what calls take
  info->seconds_per_copy = 15e-6;
  return SLUICE_OK;
}

sluice_status open(std::int32_t ordinal, void** out, sluice_error* error) {
  auto device = std::make_unique<CudaDevice>();
  device->ordinal = devices().usable.at(static_cast<std::size_t>(ordinal));
  cudaError_t status = cudaSetDevice(device->ordinal);
  // A waiting lane must not burn a core that computes.
  if (status == cudaSuccess) status = cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync);
  if (status == cudaErrorSetOnActiveProcess) status = cudaGetLastError(), status = cudaSuccess;
  if (status == cudaSuccess) status = cudaStreamCreateWithFlags(&device->stream, cudaStreamNonBlocking);
  for (int i = 0; i < 2 && status == cudaSuccess; ++i) {
    status = cudaHostAlloc(&device->slabs[i], slab_bytes, cudaHostAllocPortable);
    if (status == cudaSuccess) status = cudaEventCreateWithFlags(&device->slab_free[i], cudaEventDisableTiming | cudaEventBlockingSync);
  }
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

CudaDevice& of(void* device) { return *static_cast<CudaDevice*>(device); }

sluice_status allocate(void* raw, std::size_t bytes, void** memory) {
  CudaDevice& device = of(raw);
  cudaSetDevice(device.ordinal);
  const cudaError_t status = cudaMallocAsync(memory, bytes, device.stream);
  return status == cudaSuccess ? SLUICE_OK : fail(nullptr, status, "cudaMallocAsync");
}

void free_memory(void* raw, void* memory) {
  CudaDevice& device = of(raw);
  cudaSetDevice(device.ordinal);
  if (cudaFreeAsync(memory, device.stream) != cudaSuccess) cudaGetLastError();
}

sluice_status copy_to_device(void* raw, void* destination, const void* source, std::size_t bytes, sluice_error* error) {
  CudaDevice& device = of(raw);
  const std::lock_guard lock(device.mutex);
  cudaSetDevice(device.ordinal);
  cudaError_t status = cudaSuccess;
  int slab = 0;
  for (std::size_t at = 0; at < bytes && status == cudaSuccess; at += slab_bytes, slab ^= 1) {
    const std::size_t part = std::min(slab_bytes, bytes - at);
    status = cudaEventSynchronize(device.slab_free[slab]);
    if (status != cudaSuccess) break;
    std::memcpy(device.slabs[slab], static_cast<const char*>(source) + at, part);
    status = cudaMemcpyAsync(static_cast<char*>(destination) + at, device.slabs[slab], part, cudaMemcpyHostToDevice, device.stream);
    if (status == cudaSuccess) status = cudaEventRecord(device.slab_free[slab], device.stream);
  }
  return status == cudaSuccess ? SLUICE_OK : fail(error, status, "copy to the device");
}

sluice_status copy_to_host(void* raw, void* destination, const void* source, std::size_t bytes, sluice_error* error) {
  CudaDevice& device = of(raw);
  const std::lock_guard lock(device.mutex);
  cudaSetDevice(device.ordinal);
  cudaError_t status = cudaSuccess;
  for (std::size_t at = 0; at < bytes && status == cudaSuccess; at += slab_bytes) {
    const std::size_t part = std::min(slab_bytes, bytes - at);
    status = cudaEventSynchronize(device.slab_free[0]);
    if (status == cudaSuccess)
      status = cudaMemcpyAsync(device.slabs[0], static_cast<const char*>(source) + at, part, cudaMemcpyDeviceToHost, device.stream);
    if (status == cudaSuccess) status = cudaStreamSynchronize(device.stream);
    if (status == cudaSuccess) std::memcpy(static_cast<char*>(destination) + at, device.slabs[0], part);
  }
  return status == cudaSuccess ? SLUICE_OK : fail(error, status, "copy from the device");
}

sluice_status synchronize(void* raw, sluice_error* error) {
  CudaDevice& device = of(raw);
  cudaSetDevice(device.ordinal);
  const cudaError_t status = cudaStreamSynchronize(device.stream);
  return status == cudaSuccess ? SLUICE_OK : fail(error, status, "a kernel");
}

const sluice_device_provider provider = {
    sizeof(sluice_device_provider),
    "cuda",
    []() -> std::int32_t { return static_cast<std::int32_t>(devices().usable.size()); },
    describe,
    open,
    [](void* device) { delete static_cast<CudaDevice*>(device); },
    allocate,
    free_memory,
    copy_to_device,
    copy_to_host,
    synchronize,
    [](void* device) -> void* { return of(device).stream; },
};

}  // namespace

const sluice_device_provider* cuda_provider() { return &provider; }
std::vector<std::string> cuda_preflight() { return devices().lines; }

}  // namespace sluice

#endif
