// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A column's form on a device, and the ways there, back, and to another device.

#include <sluice/abi.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "device/device_stream.hpp"

namespace sluice {

// Releases itself.
struct DeviceColumn {
  DeviceColumn() = default;
  DeviceColumn(DeviceColumn&& other) noexcept;
  DeviceColumn& operator=(DeviceColumn&&) = delete;
  ~DeviceColumn();

  std::shared_ptr<Device> device;
  ArrowDeviceArray array{};
  std::vector<std::uint64_t> buffer_bytes;  // see sluice_new_column
  std::shared_ptr<DeviceEvent> ready;       // when it has arrived; null: it is there
};

// The copy is on its way when these return: whoever uses it on another stream waits for `ready`. Throw Failure.
// The rows of all parts behind each other.
DeviceColumn upload(DeviceStream& stream, std::string_view type, const std::vector<const ArrowArray*>& parts);
DeviceColumn copy_from_peer(DeviceStream& stream, std::string_view type, const DeviceColumn& from);

// Returns when the column has arrived; offsets that a kernel has written are looked at before anybody follows them.
ArrowArray download(DeviceStream& stream, std::string_view type, const DeviceColumn& from);

}  // namespace sluice
