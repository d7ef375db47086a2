// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The CUDA devices of this machine for StageRun::device and ContractSample::devices. Include it where <sluice/cuda.hpp> can be included: with the
// headers of CUDA, and linked with its runtime (which the target NAME_cuda of sluice_add_plugin brings).

#include <cuda_runtime_api.h>
#include <sluice/abi.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace sluice::testing {

namespace detail {

struct OpenCudaDevice {
  int ordinal = 0;
  cudaStream_t stream = nullptr;
};

inline sluice_status cuda_status(cudaError_t status, const char* what, sluice_error* error) {
  if (status == cudaSuccess) return SLUICE_OK;
  cudaGetLastError();  // not sticky: the next call starts clean
  const sluice_status code = status == cudaErrorMemoryAllocation ? SLUICE_ERROR_DEVICE_MEMORY : SLUICE_ERROR_DEVICE_LOST;
  if (error != nullptr) {
    error->code = code;
    std::snprintf(error->message, sizeof error->message, "%s: %s", what, cudaGetErrorString(status));
  }
  return code;
}

inline sluice_status cuda_copy(void* raw, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, sluice_error* error) {
  const OpenCudaDevice& device = *static_cast<OpenCudaDevice*>(raw);
  cudaSetDevice(device.ordinal);
  cudaError_t status = cudaMemcpyAsync(to, from, bytes, kind, device.stream);
  if (status == cudaSuccess) status = cudaStreamSynchronize(device.stream);
  return cuda_status(status, "a copy", error);
}

}  // namespace detail

// Null where there is no device that can be used; `reason` says why.
inline const sluice_device_provider* cuda_device(std::string& reason) {
  int count = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess || count == 0) {
    cudaGetLastError();
    reason = status == cudaSuccess ? "this machine has no CUDA device" : cudaGetErrorString(status);
    return nullptr;
  }
  using detail::OpenCudaDevice;
  static const sluice_device_provider provider = {
      sizeof(sluice_device_provider),
      "cuda",
      []() -> std::int32_t {
        int devices = 0;
        return cudaGetDeviceCount(&devices) == cudaSuccess ? devices : 0;
      },
      [](std::int32_t ordinal, sluice_device_info* info, sluice_error* error) -> sluice_status {
        cudaDeviceProp properties{};
        if (const cudaError_t status = cudaGetDeviceProperties(&properties, ordinal); status != cudaSuccess)
          return detail::cuda_status(status, "cudaGetDeviceProperties", error);
        std::snprintf(info->name, sizeof info->name, "%.127s", properties.name);
        info->memory_bytes = properties.totalGlobalMem;
        info->bytes_per_second = 10e9;
        info->seconds_per_copy = 15e-6;
        return SLUICE_OK;
      },
      [](std::int32_t ordinal, void** out, sluice_error* error) -> sluice_status {
        auto device = std::make_unique<OpenCudaDevice>();
        device->ordinal = ordinal;
        cudaError_t status = cudaSetDevice(ordinal);
        if (status == cudaSuccess) status = cudaStreamCreateWithFlags(&device->stream, cudaStreamNonBlocking);
        if (status == cudaSuccess) *out = device.release();
        return detail::cuda_status(status, "opening the device", error);
      },
      [](void* raw) {
        const std::unique_ptr<OpenCudaDevice> device(static_cast<OpenCudaDevice*>(raw));
        cudaSetDevice(device->ordinal);
        cudaStreamSynchronize(device->stream);
        cudaStreamDestroy(device->stream);
      },
      [](void* raw, std::size_t bytes, void** memory) -> sluice_status {
        const OpenCudaDevice& device = *static_cast<OpenCudaDevice*>(raw);
        cudaSetDevice(device.ordinal);
        return detail::cuda_status(cudaMallocAsync(memory, bytes, device.stream), "cudaMallocAsync", nullptr);
      },
      [](void* raw, void* memory) {
        const OpenCudaDevice& device = *static_cast<OpenCudaDevice*>(raw);
        cudaSetDevice(device.ordinal);
        cudaFreeAsync(memory, device.stream);
      },
      [](void* raw, void* to, const void* from, std::size_t bytes, sluice_error* error) {
        return detail::cuda_copy(raw, to, from, bytes, cudaMemcpyHostToDevice, error);
      },
      [](void* raw, void* to, const void* from, std::size_t bytes, sluice_error* error) {
        return detail::cuda_copy(raw, to, from, bytes, cudaMemcpyDeviceToHost, error);
      },
      [](void* raw, sluice_error* error) -> sluice_status {
        return detail::cuda_status(cudaStreamSynchronize(static_cast<OpenCudaDevice*>(raw)->stream), "a kernel", error);
      },
      [](void* raw) -> void* { return static_cast<OpenCudaDevice*>(raw)->stream; },
  };
  return &provider;
}

}  // namespace sluice::testing
