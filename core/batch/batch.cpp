// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "batch/batch.hpp"

#include <algorithm>
#include <sluice/column.hpp>
#include <sluice/failure.hpp>

#include "device/lane.hpp"

namespace sluice {
namespace {

std::size_t item_bytes(std::string_view type) {
  for (const ElementType& element : element_types)
    if (type == element.name) return element.bytes;
  return 0;
}
bool is_list(std::string_view type) { return type.starts_with("list<"); }
bool is_text(std::string_view type) { return type == "utf8" || type == "binary"; }
std::string_view item_type(std::string_view type) { return type.substr(5, type.size() - 6); }

std::string check_offsets(const ArrowArray& array, std::int64_t limit, const char* what) {
  const auto* offsets = static_cast<const std::int64_t*>(array.buffers[1]);
  if (offsets == nullptr) return "has no offsets";
  offsets += array.offset;
  if (offsets[0] < 0) return "begins at a negative offset";
  for (std::int64_t row = 0; row < array.length; ++row)
    if (offsets[row + 1] < offsets[row]) return "has offsets that go back at row " + std::to_string(row);
  if (limit >= 0 && offsets[array.length] > limit) return std::string("has offsets that point past its ") + what;
  return {};
}

std::uint64_t host_bytes(std::string_view type, const ArrowArray& array) {
  const auto rows = static_cast<std::uint64_t>(array.length);
  if (!is_list(type) && !is_text(type)) return rows * item_bytes(type);
  const auto* offsets = static_cast<const std::int64_t*>(array.buffers[1]) + array.offset;
  const auto values = static_cast<std::uint64_t>(offsets[array.length] - offsets[0]);
  return (rows + 1) * 8 + values * (is_text(type) ? 1 : item_bytes(item_type(type)));
}

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

std::string check_column(const std::string& type, std::int64_t rows, const ArrowSchema& schema, const ArrowArray& array) {
  if (column_type(schema) != type)
    return "is " + (column_type(schema).empty() ? std::string("of a type that sluice does not have") : column_type(schema)) + ", declared as " + type;
  if (array.length != rows) return "has " + std::to_string(array.length) + " rows, the batch has " + std::to_string(rows);
  if (array.offset < 0) return "has a negative offset";
  if (is_list(type)) {
    if (array.n_buffers < 2 || array.n_children != 1 || array.children[0] == nullptr) return "has no values";
    const ArrowArray& child = *array.children[0];
    if (std::string problem = check_offsets(array, child.length, "values"); !problem.empty()) return problem;
    if (child.length > 0 && (child.n_buffers < 2 || child.buffers[1] == nullptr)) return "has no values";
    return {};
  }
  if (is_text(type)) return array.n_buffers < 3 ? "has no characters" : check_offsets(array, -1, "characters");
  if (array.n_buffers < 2 || (rows > 0 && array.buffers[1] == nullptr)) return "has no values";
  return {};
}

Column::Column(std::string name, std::string type, ArrowSchema schema, ArrowArray array)
    : name_(std::move(name)), type_(std::move(type)), rows_(array.length), schema_(schema), host_(array) {
  bytes_ = host_bytes(type_, host_);
}

Column::Column(std::string name, std::string type, ArrowSchema schema, ArrowDeviceArray array, std::shared_ptr<DeviceMemory> device)
    : name_(std::move(name)), type_(std::move(type)), rows_(array.array.length), schema_(schema) {
  bytes_ = static_cast<std::uint64_t>(rows_) * std::max<std::uint64_t>(item_bytes(type_), 8);
  if (is_list(type_)) bytes_ += static_cast<std::uint64_t>(array.array.children[0]->length) * item_bytes(item_type(type_));
  copies_.push_back(std::make_unique<DeviceCopy>(DeviceCopy{std::move(device), array}));
}

Column::~Column() {
  if (schema_.release != nullptr) schema_.release(&schema_);
  if (host_.release != nullptr) host_.release(&host_);
  for (const auto& copy : copies_)
    if (copy->array.array.release != nullptr) copy->array.array.release(&copy->array.array);
}

void Column::remember(std::shared_ptr<ColumnOrigin> origin) const {
  const std::lock_guard lock(mutex_);
  if (host_.release == nullptr) origin_ = std::move(origin);
}

void Column::fetch() const {
  try {
    host_ = copies_.front()->device->download(type_, copies_.front()->array);
  } catch (const Failure& failure) {
    if (failure.status() != SLUICE_ERROR_DEVICE_LOST || !origin_) throw;
    host_ = shared_array(origin_->make_again(name_));
  }
  origin_.reset();
}

const ArrowArray& Column::host() const {
  const std::lock_guard lock(mutex_);
  if (host_.release == nullptr) fetch();
  return host_;
}

const ArrowDeviceArray& Column::on(const std::shared_ptr<DeviceMemory>& device) const {
  const std::lock_guard lock(mutex_);
  for (const auto& copy : copies_)
    if (copy->device == device) return copy->array;
  if (host_.release == nullptr) fetch();
  copies_.push_back(std::make_unique<DeviceCopy>(DeviceCopy{device, device->upload(type_, host_)}));
  return copies_.back()->array;
}

void Column::leave(const DeviceMemory& device) const {
  const std::lock_guard lock(mutex_);
  if (host_.release == nullptr) return;
  std::erase_if(copies_, [&](const std::unique_ptr<DeviceCopy>& copy) {
    if (copy->device.get() != &device) return false;
    copy->array.array.release(&copy->array.array);
    return true;
  });
}

bool Column::is_on_host() const {
  const std::lock_guard lock(mutex_);
  return host_.release != nullptr;
}

bool Column::is_on(const DeviceMemory& device) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(copies_.begin(), copies_.end(), [&](const auto& copy) { return copy->device.get() == &device; });
}

const DeviceMemory* Column::home() const {
  const std::lock_guard lock(mutex_);
  return copies_.empty() ? nullptr : copies_.front()->device.get();
}

const ColumnHandle* BatchData::find(std::string_view name) const {
  for (const ColumnHandle& column : columns)
    if (column->name() == name) return &column;
  return nullptr;
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

BatchView::BatchView(const BatchData& batch, const std::shared_ptr<DeviceMemory>& device, const sluice_port& port) {
  for (std::size_t c = 0; c < port.column_count; ++c)
    if (const ColumnHandle* column = batch.find(port.columns[c].name)) {
      const ArrowDeviceArray& there = (*column)->on(device);
      add(**column, (*column)->is_on_host() ? &(*column)->host() : nullptr, &there);
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
  view_.struct_size = sizeof view_;
  view_.row_type = batch.row_type.c_str();
  view_.sequence = batch.sequence;
  view_.row_count = batch.rows;
  view_.row_status = batch.status ? batch.status->data() : nullptr;
  view_.column_count = columns_.size();
  view_.columns = columns_.data();
  view_.attribute_count = keys_.size();
  view_.attribute_keys = keys_.data();
  view_.attribute_values = values_.data();
}

}  // namespace sluice
