// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "device/device_column.hpp"

#include <algorithm>
#include <sluice/column_check.hpp>
#include <sluice/failure.hpp>
#include <span>
#include <string>
#include <utility>

namespace sluice {
namespace {

// Owns the buffers of an array through the device that they lie on.
struct Owner {
  std::shared_ptr<Device> device;
  const void* buffers[3] = {nullptr, nullptr, nullptr};
  ArrowArray child{};
  ArrowArray* children[1] = {nullptr};
};

void release(ArrowArray* array) {
  const std::unique_ptr<Owner> owner(static_cast<Owner*>(array->private_data));
  for (const void* buffer : owner->buffers)
    if (buffer != nullptr) owner->device->free(const_cast<void*>(buffer));
  if (owner->child.release != nullptr) owner->child.release(&owner->child);
  array->release = nullptr;
}

// An array that is filled buffer by buffer: what was made is given back if the next one fails.
class Building {
 public:
  Building(DeviceStream& stream, std::int64_t length, std::int64_t buffers) : stream_(stream) {
    auto owner = std::make_unique<Owner>();
    owner->device = stream.device().shared_from_this();
    array_.length = length;
    array_.n_buffers = buffers;
    array_.buffers = owner->buffers;
    array_.release = release;
    array_.private_data = owner.release();
  }
  Building(const Building&) = delete;
  ~Building() {
    if (array_.release != nullptr) array_.release(&array_);
  }
  // Copies `bytes` from wherever `copy` knows.
  template <class Copy>
  void add(int buffer, std::size_t bytes, std::vector<std::uint64_t>& sizes, Copy&& copy) {
    owner().buffers[buffer] = stream_.allocate(bytes);
    if (bytes != 0) copy(const_cast<void*>(owner().buffers[buffer]), bytes);
    sizes.push_back(bytes);
  }
  void add_child(ArrowArray child) {
    owner().child = child;
    owner().children[0] = &owner().child;
    array_.n_children = 1;
    array_.children = owner().children;
  }
  ArrowArray take() { return std::exchange(array_, ArrowArray{}); }

 private:
  Owner& owner() { return *static_cast<Owner*>(array_.private_data); }
  DeviceStream& stream_;
  ArrowArray array_{};
};

ArrowArray upload_array(DeviceStream& stream, std::string_view type, const std::vector<const ArrowArray*>& parts, std::vector<std::uint64_t>& sizes) {
  std::int64_t rows = 0;
  for (const ArrowArray* part : parts) rows += part->length;
  Building built(stream, rows, is_text(type) ? 3 : 2);
  const auto send = [&](int buffer, const DeviceStream::Sources& sources) {
    std::size_t bytes = 0;
    for (const auto& source : sources) bytes += source.size();
    built.add(buffer, bytes, sizes, [&](void* to, std::size_t) { stream.copy_in(to, sources); });
  };
  sizes.push_back(0);
  DeviceStream::Sources sources;
  if (!is_list(type) && !is_text(type)) {
    const std::size_t width = item_bytes(type);
    for (const ArrowArray* part : parts)
      sources.emplace_back(static_cast<const std::byte*>(part->buffers[1]) + static_cast<std::size_t>(part->offset) * width,
                           static_cast<std::size_t>(part->length) * width);
    send(1, sources);
    return built.take();
  }
  // A part begins in the middle of its values, or behind other parts: on the device every column begins at 0.
  std::vector<std::int64_t> ends = {0};
  ends.reserve(static_cast<std::size_t>(rows) + 1);
  std::vector<ArrowArray> values;
  for (const ArrowArray* part : parts) {
    const auto* offsets = static_cast<const std::int64_t*>(part->buffers[1]) + part->offset;
    const std::int64_t first = offsets[0], count = offsets[part->length] - first, before = ends.back();
    for (std::int64_t row = 1; row <= part->length; ++row) ends.push_back(before + offsets[row] - first);
    if (is_text(type)) {
      sources.emplace_back(static_cast<const std::byte*>(part->buffers[2]) + first, static_cast<std::size_t>(count));
    } else {
      ArrowArray& items = values.emplace_back(*part->children[0]);
      items.offset += first;
      items.length = count;
    }
  }
  send(1, {std::as_bytes(std::span(ends))});
  if (is_text(type)) {
    send(2, sources);
  } else {
    std::vector<const ArrowArray*> items;
    for (const ArrowArray& part : values) items.push_back(&part);
    built.add_child(upload_array(stream, item_type(type), items, sizes));
  }
  return built.take();
}

ArrowArray peer_array(DeviceStream& stream, std::string_view type, const DeviceColumn& from, const ArrowArray& array, std::size_t& at,
                      std::vector<std::uint64_t>& sizes) {
  Building built(stream, array.length, array.n_buffers);
  sizes.push_back(0);
  ++at;
  for (int buffer = 1; buffer < array.n_buffers; ++buffer)
    built.add(buffer, from.buffer_bytes[at++], sizes,
              [&](void* to, std::size_t bytes) { stream.copy_from_peer(to, *from.device, array.buffers[buffer], bytes); });
  if (is_list(type)) built.add_child(peer_array(stream, item_type(type), from, *array.children[0], at, sizes));
  return built.take();
}

DeviceColumn column_on(DeviceStream& stream, ArrowArray array, std::vector<std::uint64_t> sizes) {
  DeviceColumn column;
  column.device = stream.device().shared_from_this();
  column.array.array = array;
  column.array.device_id = stream.device().info().native_ordinal;
  column.array.device_type = std::string_view(stream.device().kind()) == "cuda" ? ARROW_DEVICE_CUDA : ARROW_DEVICE_EXT_DEV;
  column.buffer_bytes = std::move(sizes);
  column.ready = stream.record();
  return column;
}

Buffer fetch(DeviceStream& stream, const void* source, std::size_t bytes) {
  constexpr std::size_t least_locked = std::size_t{128} << 10;  // what is less goes through the slabs in no time
  if (bytes >= least_locked) {
    if (std::shared_ptr<void> block = stream.device().locked_block(bytes)) {
      stream.copy_out_to_locked(block.get(), source, bytes);
      const void* const data = block.get();
      return Buffer::adopt(std::move(block), data, bytes);
    }
  }
  Buffer buffer = Buffer::allocate({}, std::max<std::size_t>(bytes, 1));
  if (bytes != 0) stream.copy_out(buffer.data(), source, bytes);
  return buffer;
}

[[noreturn]] void refuse(const std::string& problem) {
  throw Failure(SLUICE_ERROR_INTERNAL, "a column on a device " + problem, "this is a bug in the plugin: please report it");
}

// Rows + 1 offsets that a plugin has written, from 0 to at most `limit`.
Buffer fetch_offsets(DeviceStream& stream, const ArrowArray& array, std::uint64_t limit) {
  const auto rows = static_cast<std::size_t>(array.length);
  Buffer offsets = fetch(stream, static_cast<const std::int64_t*>(array.buffers[1]) + array.offset, (rows + 1) * sizeof(std::int64_t));
  const auto values = offsets.as<std::int64_t>();
  if (values[0] != 0) refuse("begins at offset " + std::to_string(values[0]));
  for (std::size_t row = 0; row < rows; ++row)
    if (values[row + 1] < values[row]) refuse("has offsets that go back at row " + std::to_string(row));
  if (static_cast<std::uint64_t>(values[rows]) > limit) refuse("has offsets that point past its values");
  return offsets;
}

}  // namespace

DeviceColumn::DeviceColumn(DeviceColumn&& other) noexcept
    : device(std::move(other.device)),
      array(std::exchange(other.array, ArrowDeviceArray{})),
      buffer_bytes(std::move(other.buffer_bytes)),
      ready(std::move(other.ready)) {}

DeviceColumn::~DeviceColumn() {
  if (array.array.release != nullptr) array.array.release(&array.array);
}

DeviceColumn upload(DeviceStream& stream, std::string_view type, const std::vector<const ArrowArray*>& parts) {
  std::vector<std::uint64_t> sizes;
  const ArrowArray array = upload_array(stream, type, parts, sizes);
  return column_on(stream, array, std::move(sizes));
}

DeviceColumn copy_from_peer(DeviceStream& stream, std::string_view type, const DeviceColumn& from) {
  if (from.ready) stream.wait_for(*from.ready);
  std::vector<std::uint64_t> sizes;
  std::size_t at = 0;
  const ArrowArray array = peer_array(stream, type, from, from.array.array, at, sizes);
  return column_on(stream, array, std::move(sizes));
}

ArrowArray download(DeviceStream& stream, std::string_view type, const DeviceColumn& column) {
  if (column.ready) stream.wait_for(*column.ready);
  const ArrowArray& from = column.array.array;
  const auto values_of = [&](std::string_view value_type, const ArrowArray& array, std::int64_t count) {
    const std::size_t width = item_bytes(value_type);
    return fetch(stream, static_cast<const char*>(array.buffers[1]) + static_cast<std::size_t>(array.offset) * width,
                 static_cast<std::size_t>(count) * width);
  };
  if (!is_list(type) && !is_text(type)) return detail::make_array(from.length, values_of(type, from, from.length), {}, 2);
  const std::uint64_t limit = is_text(type) ? column.buffer_bytes[2] : static_cast<std::uint64_t>(from.children[0]->length);
  Buffer offsets = fetch_offsets(stream, from, limit);
  const std::int64_t count = offsets.as<std::int64_t>()[static_cast<std::size_t>(from.length)];
  if (is_text(type)) return detail::make_array(from.length, std::move(offsets), fetch(stream, from.buffers[2], static_cast<std::size_t>(count)), 3);
  Buffer values = values_of(item_type(type), *from.children[0], count);
  ArrowArray array = detail::make_array(from.length, std::move(offsets), {}, 2);
  auto* owner = static_cast<detail::ArrayOwner*>(array.private_data);
  owner->child = detail::make_array(count, std::move(values), {}, 2);
  owner->children[0] = &owner->child;
  array.n_children = 1;
  array.children = owner->children;
  return array;
}

}  // namespace sluice
