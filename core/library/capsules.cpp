// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Destructors of Python's capsules. They may be called while an exception is on its way, so no Python code may run in them.

#include <sluice.h>

#include <atomic>
#include <cstdlib>

namespace {

std::atomic<void* (*)(void*, const char*)> pointer_in{nullptr};

void release(ArrowSchema& held) { held.release(&held); }
void release(ArrowArray& held) { held.release(&held); }
void release(ArrowArrayStream& held) { held.release(&held); }
void release(ArrowDeviceArray& held) { held.array.release(&held.array); }
bool is_held(const ArrowDeviceArray& held) { return held.array.release != nullptr; }
template <class Struct>
bool is_held(const Struct& held) {
  return held.release != nullptr;
}

template <class Struct>
void end_capsule(void* capsule, const char* name) {
  const auto look = pointer_in.load();
  auto* const held = look == nullptr ? nullptr : static_cast<Struct*>(look(capsule, name));
  if (held == nullptr) return;
  if (is_held(*held)) release(*held);
  std::free(held);
}

}  // namespace

void* sluice_arrow_new(size_t bytes) { return std::calloc(1, bytes); }
void sluice_capsule_reader(void* (*pointer)(void* capsule, const char* name)) { pointer_in = pointer; }
void sluice_end_schema_capsule(void* capsule) { end_capsule<ArrowSchema>(capsule, "arrow_schema"); }
void sluice_end_array_capsule(void* capsule) { end_capsule<ArrowArray>(capsule, "arrow_array"); }
void sluice_end_device_array_capsule(void* capsule) { end_capsule<ArrowDeviceArray>(capsule, "arrow_device_array"); }
void sluice_end_stream_capsule(void* capsule) { end_capsule<ArrowArrayStream>(capsule, "arrow_array_stream"); }
