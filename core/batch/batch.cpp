// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "batch/batch.hpp"

#include <algorithm>
#include <numeric>
#include <sluice/column_check.hpp>
#include <sluice/failure.hpp>

#include "batch/row_range.hpp"
#include "device/device_column.hpp"
#include "device/device_fault.hpp"

namespace sluice {
namespace {

// The column's host form, which lives as long as somebody has not released this.
ArrowArray shared_array(ColumnHandle column) {
  ArrowArray array = column->host();
  array.private_data = new ColumnHandle(std::move(column));
  array.release = [](ArrowArray* released) {
    delete static_cast<ColumnHandle*>(released->private_data);
    released->release = nullptr;
  };
  return array;
}

}  // namespace

Column::Column(std::string name, std::string type, ArrowSchema schema, ArrowArray array)
    : name_(std::move(name)), type_(std::move(type)), rows_(array.length), schema_(schema), host_(array) {
  bytes_ = column_bytes(type_, host_);
}

Column::Column(std::string name, std::string type, ArrowSchema schema, std::unique_ptr<DeviceColumn> made)
    : name_(std::move(name)), type_(std::move(type)), rows_(made->array.array.length), schema_(schema) {
  bytes_ = std::accumulate(made->buffer_bytes.begin(), made->buffer_bytes.end(), std::uint64_t{0});
  const Device* const device = made->device.get();
  copies_.push_back({device, std::move(made)});
}

Column::Column(std::string name, std::string type, ArrowSchema schema, std::vector<ColumnHandle> parts)
    : name_(std::move(name)), type_(std::move(type)), rows_(0), schema_(schema), parts_(std::move(parts)) {
  for (const ColumnHandle& part : parts_) {
    rows_ += part->rows();
    bytes_ += part->bytes();
  }
}

Column::~Column() {
  if (schema_.release != nullptr) schema_.release(&schema_);
  if (host_.release != nullptr) host_.release(&host_);
}

void Column::remember(std::shared_ptr<ColumnOrigin> origin) const {
  const std::lock_guard lock(mutex_);
  if (host_.release == nullptr) origin_ = std::move(origin);
}

std::vector<ColumnHandle> Column::kept_for_origin() const {
  std::shared_ptr<ColumnOrigin> origin;
  {
    const std::lock_guard lock(mutex_);
    origin = origin_;
  }
  return origin ? origin->keeps() : std::vector<ColumnHandle>();
}

void Column::fetch() const {
  if (!parts_.empty()) {
    host_ = appended_rows(parts_);
    parts_.clear();
    return;
  }
  try {
    const std::shared_ptr<const DeviceColumn> copy = made_copy();
    const Device::StreamHandle stream = copy->device->borrow_stream();
    host_ = download(*stream, type_, *copy);
  } catch (const Failure& failure) {
    if (!is_device_failure(failure.status()) || !origin_) throw;
    host_ = shared_array(origin_->make_again(name_));
  }
  origin_.reset();
}

// Under the lock. Null: it is on no device.
std::shared_ptr<const DeviceColumn> Column::made_copy() const {
  const auto copy = std::find_if(copies_.begin(), copies_.end(), [](const Copy& c) { return c.column != nullptr; });
  return copy == copies_.end() ? nullptr : copy->column;
}

const ArrowArray& Column::host() const {
  const std::lock_guard lock(mutex_);
  if (host_.release == nullptr) fetch();
  return host_;
}

// Devices do not wait for each other: what is copied to one is copied outside the lock. The place of the copy is taken before, so that the others who
// want it on that device wait for it, and is given back where nothing came of it.
const ArrowDeviceArray& Column::on(DeviceStream& stream) const {
  const Device* const device = &stream.device();
  std::vector<ColumnHandle> parts;
  std::shared_ptr<const DeviceColumn> peer;
  {
    std::unique_lock lock(mutex_);
    for (;;) {
      const auto copy = std::find_if(copies_.begin(), copies_.end(), [&](const Copy& c) { return c.device == device; });
      if (copy == copies_.end()) break;
      if (copy->column) {
        if (copy->column->ready) stream.wait_for(*copy->column->ready);
        return copy->column->array;
      }
      copy_came_.wait(lock);
    }
    parts = parts_;
    if (parts.empty() && host_.release == nullptr) {
      peer = made_copy();
      if (!device->is_peer_of(*peer->device)) {
        fetch();
        peer.reset();
      }
    }
    copies_.push_back({device, nullptr});
  }
  std::shared_ptr<const DeviceColumn> made;
  const auto end = [&] {
    const std::lock_guard lock(mutex_);
    const auto place = std::find_if(copies_.begin(), copies_.end(), [&](const Copy& c) { return c.device == device; });
    if (made)
      place->column = made;
    else
      copies_.erase(place);
    copy_came_.notify_all();
  };
  try {
    if (!parts.empty()) {
      std::vector<const ArrowArray*> arrays;
      for (const ColumnHandle& part : parts) arrays.push_back(&part->host());
      made = std::make_shared<const DeviceColumn>(upload(stream, type_, arrays));
    } else if (peer) {
      made = std::make_shared<const DeviceColumn>(copy_from_peer(stream, type_, *peer));
    } else {
      made = std::make_shared<const DeviceColumn>(upload(stream, type_, {&host_}));
    }
  } catch (...) {
    end();
    throw;
  }
  end();
  return made->array;
}

void Column::leave(const Device& device) const {
  const std::lock_guard lock(mutex_);
  if (host_.release == nullptr) return;
  std::erase_if(copies_, [&](const Copy& copy) { return copy.device == &device && copy.column; });
}

bool Column::is_on_host() const {
  const std::lock_guard lock(mutex_);
  return host_.release != nullptr;
}

bool Column::is_on(const Device& device) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(copies_.begin(), copies_.end(), [&](const Copy& copy) { return copy.device == &device && copy.column; });
}

const Device* Column::home() const {
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<const DeviceColumn> copy = made_copy();
  return copy ? copy->device.get() : nullptr;
}

const ColumnHandle* BatchData::find(std::string_view name) const {
  for (const ColumnHandle& column : columns)
    if (column->name() == name) return &column;
  return nullptr;
}

std::string BatchData::name_of(std::int64_t row) const {
  if (gathered_from)
    for (const BatchHandle& part : *gathered_from) {
      if (row < part->rows) return part->name_of(row);
      row -= part->rows;
    }
  if (const ColumnHandle* column = row_name.empty() ? nullptr : find(row_name); column != nullptr && (*column)->is_on_host()) {
    const ArrowArray& array = (*column)->host();
    const auto* offsets = static_cast<const std::int64_t*>(array.buffers[1]) + array.offset;
    return {static_cast<const char*>(array.buffers[2]) + offsets[row], static_cast<std::size_t>(offsets[row + 1] - offsets[row])};
  }
  return row_type + " " + std::to_string(row) + " of batch " + std::to_string(sequence);
}

std::uint64_t BatchData::bytes() const {
  std::uint64_t total = 0;
  for (const ColumnHandle& column : columns) total += column->bytes();
  return total;
}

std::int64_t BatchData::good_rows() const {
  if (!status) return rows;
  return std::count(status->begin(), status->end(), std::uint16_t{0});
}

std::vector<ColumnHandle> BatchData::named_by(const sluice_port& port) const {
  std::vector<ColumnHandle> result;
  for (const ColumnHandle& column : columns)
    for (std::size_t c = 0; c < port.column_count; ++c)
      if (const std::string_view name = port.columns[c].name; name == "*" || name == column->name()) {
        result.push_back(column);
        break;
      }
  return result;
}

BatchHandle BatchData::with_only(const std::vector<std::string>& names) const {
  auto result = std::make_shared<BatchData>(*this);
  std::erase_if(result->columns, [&](const ColumnHandle& column) { return std::find(names.begin(), names.end(), column->name()) == names.end(); });
  return result;
}

BatchHandle merge(const std::vector<BatchHandle>& parts) {
  if (parts.size() == 1) return parts.front();
  auto result = std::make_shared<BatchData>(*parts.front());
  for (std::size_t i = 1; i < parts.size(); ++i) {
    for (const ColumnHandle& column : parts[i]->columns)
      if (result->find(column->name()) == nullptr) result->columns.push_back(column);
    if (!parts[i]->status || parts[i]->status == result->status) continue;
    if (!result->status) {
      result->status = parts[i]->status;
      continue;
    }
    auto both = std::make_shared<std::vector<std::uint16_t>>(*result->status);
    for (std::size_t row = 0; row < both->size(); ++row)
      if ((*both)[row] == 0) (*both)[row] = (*parts[i]->status)[row];
    result->status = std::move(both);
  }
  return result;
}

BatchView::BatchView(const BatchData& batch) {
  for (const ColumnHandle& column : batch.columns) add(*column, &column->host(), nullptr);
  finish(batch);
}

BatchView::BatchView(const BatchData& batch, const sluice_port& port) {
  for (const ColumnHandle& column : batch.named_by(port)) add(*column, &column->host(), nullptr);
  finish(batch);
}

BatchView::BatchView(const BatchData& batch, DeviceStream& stream, const sluice_port& port) {
  for (const ColumnHandle& column : batch.named_by(port)) {
    const ArrowDeviceArray& there = column->on(stream);
    add(*column, column->is_on_host() ? &column->host() : nullptr, &there);
  }
  finish(batch);
}

void BatchView::add(const Column& column, const ArrowArray* host, const ArrowDeviceArray* device) {
  sluice_column c{};
  c.name = column.name().c_str();
  c.type = column.type().c_str();
  c.schema = &column.schema();
  c.array = host;
  c.device = device;
  columns_.push_back(c);
}

void BatchView::finish(const BatchData& batch) {
  for (const auto& [key, value] : batch.attributes) {
    keys_.push_back(key.c_str());
    values_.push_back(value.c_str());
  }
  view_.struct_size = sizeof(sluice_batch);
  view_.behind = &batch;
  view_.row_type = batch.row_type.c_str();
  view_.sequence = batch.sequence;
  view_.row_count = batch.rows;
  view_.row_status = batch.status ? batch.status->data() : nullptr;
  view_.column_count = columns_.size();
  view_.column_stride = sizeof(sluice_column);
  view_.columns = columns_.data();
  view_.attribute_count = keys_.size();
  view_.attribute_keys = keys_.data();
  view_.attribute_values = values_.data();
}

}  // namespace sluice
