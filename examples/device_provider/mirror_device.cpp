// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Shows: a backend for another kind of device, in one file.
// Run: cmake -B build -DCMAKE_PREFIX_PATH=PREFIX && cmake --build build && sluice doctor --plugin-dir build
// Memory of the host as a device of its own kind. Whatever is asked for has happened when the call returns.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sluice/stage.hpp>

namespace {

struct Device {
  std::int32_t ordinal;
};

// The host need not have asked for words: `error` may be null.
sluice_status fail(sluice_error* error, sluice_status code, const char* message) {
  if (error != nullptr) {
    error->code = code;
    std::snprintf(error->message, sizeof error->message, "%s", message);
    error->remedy[0] = '\0';
  }
  return code;
}

// ---- what there is. Asked before anything is opened.

std::int32_t count() { return 1; }

const char* finding(std::size_t i) { return i == 0 ? "mirror:0, memory of the host" : nullptr; }

sluice_status describe(std::int32_t ordinal, sluice_device_info* info, sluice_error*) {
  std::snprintf(info->name, sizeof info->name, "mirror");
  info->native_ordinal = ordinal;               // what the device's own library calls it
  info->memory_bytes = std::uint64_t{1} << 30;  // the host never asks for more
  info->bytes_per_second = 10e9;                // of a copy, for the scheduler
  info->seconds_per_copy = 1e-6;
  return SLUICE_OK;
}

sluice_status open(std::int32_t ordinal, void** device, sluice_error* error) {
  *device = new (std::nothrow) Device{ordinal};
  return *device != nullptr ? SLUICE_OK : fail(error, SLUICE_ERROR_MEMORY, "no memory for the mirror");
}

void close(void* device) { delete static_cast<Device*>(device); }

// ---- streams: this one has never anything to do, so it needs no memory either.

sluice_status open_stream(void* device, void** stream, sluice_error*) {
  *stream = device;
  return SLUICE_OK;
}

void close_stream(void*, void*) {}

sluice_status synchronize(void*, void*, sluice_error*) { return SLUICE_OK; }

// ---- memory. Nothing may be said here but a status.

sluice_status allocate(void*, void*, std::size_t bytes, void** memory) {
  *memory = std::malloc(bytes == 0 ? 1 : bytes);
  return *memory != nullptr ? SLUICE_OK : SLUICE_ERROR_DEVICE_MEMORY;
}

void free_memory(void*, void*, void* memory) { std::free(memory); }

sluice_status allocate_host(void* device, std::size_t bytes, void** memory) { return allocate(device, nullptr, bytes, memory); }

void free_host(void*, void* memory) { std::free(memory); }

// ---- copies, in both directions.

sluice_status copy(void*, void*, void* destination, const void* source, std::size_t bytes, sluice_error*) {
  std::memcpy(destination, source, bytes);
  return SLUICE_OK;
}

// ---- events: all of them have happened.

sluice_status record(void* device, void*, void** event, sluice_error*) {
  *event = device;
  return SLUICE_OK;
}

sluice_status wait(void*, void*, void*, sluice_error*) { return SLUICE_OK; }

sluice_status await(void*, void*, sluice_error*) { return SLUICE_OK; }

void forget(void*, void*) {}

constexpr sluice_device_provider provider = {
    .struct_size = sizeof(sluice_device_provider),
    .kind = "mirror",
    .seconds_to_open = 0,
    .count = count,
    .finding = finding,
    .describe = describe,
    .open = open,
    .close = close,
    .enter = nullptr,
    .open_stream = open_stream,
    .close_stream = close_stream,
    .native_stream = nullptr,
    .synchronize = synchronize,
    .allocate = allocate,
    .free = free_memory,
    .allocate_host = allocate_host,
    .free_host = free_host,
    .copy_to_device = copy,
    .copy_to_host = copy,
    .copy_from_peer = nullptr,
    .record = record,
    .wait = wait,
    .await = await,
    .forget = forget,
    .begin_range = nullptr,
    .end_range = nullptr,
};

const void* extension(const char* id) { return std::strcmp(id, SLUICE_EXTENSION_DEVICE) == 0 ? &provider : nullptr; }

}  // namespace

SLUICE_PLUGIN_WITH(extension, "mirror_device", "1.0.0", "MIT");
