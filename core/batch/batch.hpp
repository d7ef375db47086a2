// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The host's side of batches: immutable columns with shared ownership, on the host, on devices, or on both.

#include <sluice/abi.h>

#include <condition_variable>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

class Device;
class DeviceStream;
struct DeviceColumn;

class Column;
using ColumnHandle = std::shared_ptr<const Column>;

// How the columns of one device call are made again, should the device be lost before anybody has fetched them.
class ColumnOrigin {
 public:
  virtual ~ColumnOrigin() = default;
  // The column of that name, on the host. Throws Failure.
  virtual ColumnHandle make_again(const std::string& name) = 0;
  // What lives on for that.
  virtual std::vector<ColumnHandle> keeps() const = 0;
};

// One column. Immutable once made; a copy on another device is added behind its back, under its mutex.
class Column {
 public:
  // Take ownership of the structs (and release them), which column_problem() has looked at.
  Column(std::string name, std::string type, ArrowSchema schema, ArrowArray array);
  Column(std::string name, std::string type, ArrowSchema schema, std::unique_ptr<DeviceColumn> made);
  // The rows of several columns of the type behind each other. They are put together where they are needed: on a device, or on the host.
  Column(std::string name, std::string type, ArrowSchema schema, std::vector<ColumnHandle> parts);
  Column(const Column&) = delete;
  ~Column();

  const std::string& name() const { return name_; }
  const std::string& type() const { return type_; }
  std::uint64_t bytes() const { return bytes_; }
  std::int64_t rows() const { return rows_; }
  const ArrowSchema& schema() const { return schema_; }

  // The host form, copied from a device the first time somebody asks; made again when that fails and the column has an origin.
  // Throws Failure when neither works.
  const ArrowArray& host() const;
  // The form on the stream's device, copied there the first time: from a peer of it, or from the host. What follows on the stream finds it there.
  // Throws Failure (SLUICE_ERROR_DEVICE_MEMORY among others).
  const ArrowDeviceArray& on(DeviceStream& stream) const;
  // Gives up the copy on `device` if there is one on the host. Nobody may be using it.
  void leave(const Device& device) const;
  bool is_on_host() const;
  // Kept until there is a host form.
  void remember(std::shared_ptr<ColumnOrigin> origin) const;
  // What the origin keeps; nothing without one.
  std::vector<ColumnHandle> kept_for_origin() const;
  bool is_on(const Device& device) const;
  // A device that has it; null: none.
  const Device* home() const;

 private:
  void fetch() const;
  std::shared_ptr<const DeviceColumn> made_copy() const;
  std::string name_, type_;
  std::int64_t rows_;
  std::uint64_t bytes_ = 0;
  ArrowSchema schema_;
  mutable std::mutex mutex_;  // guards everything below
  mutable ArrowArray host_{};
  struct Copy {
    const Device* device;
    std::shared_ptr<const DeviceColumn> column;  // null: on its way
  };
  mutable std::vector<Copy> copies_;
  mutable std::condition_variable copy_came_;
  mutable std::shared_ptr<ColumnOrigin> origin_;
  mutable std::vector<ColumnHandle> parts_;  // empty: made in one piece, or put together on the host
};

struct BatchData;
using BatchHandle = std::shared_ptr<const BatchData>;

struct BatchData {
  std::string row_type;
  std::string row_name;  // the column that names a row in the account; "": none
  std::uint64_t sequence = 0;
  std::int64_t rows = 0;
  std::shared_ptr<const std::vector<std::uint16_t>> status;  // null: all rows are fine
  std::vector<ColumnHandle> columns;
  std::map<std::string, std::string> attributes;
  double work = 0;                                                // in the source's unit
  double deadline = std::numeric_limits<double>::infinity();      // seconds since the run began
  std::shared_ptr<const std::vector<BatchHandle>> gathered_from;  // whose rows lie here behind each other; null: one batch
  // Which rows are how large, in any unit: how a batch is divided when its columns are not on the host. Null: unknown.
  std::shared_ptr<const std::vector<double>> row_work;

  const ColumnHandle* find(std::string_view name) const;
  // What the account calls a row: by the column that names it, if that is on the host, else by its number.
  std::string name_of(std::int64_t row) const;
  std::uint64_t bytes() const;
  std::int64_t good_rows() const;
  // The columns that `port` names; all for "*".
  std::vector<ColumnHandle> named_by(const sluice_port& port) const;
  // The same rows with only the named columns.
  BatchHandle with_only(const std::vector<std::string>& names) const;
};

// Batches of the same rows that came along different branches: all columns, and a row is bad if it is bad in any.
BatchHandle merge(const std::vector<BatchHandle>& parts);

// What a BatchView shows to a stage. A stage of the host's own finds the batch behind it, for the length of the call.
struct ViewedBatch : sluice_batch {
  const BatchData* behind = nullptr;
};
inline const BatchData& batch_behind(const sluice_batch& view) { return *static_cast<const ViewedBatch&>(view).behind; }

// The C view of a batch for one call on the host.
class BatchView {
 public:
  explicit BatchView(const BatchData& batch);
  // Only the columns that `port` names (all for "*"): the others stay where they are.
  BatchView(const BatchData& batch, const sluice_port& port);
  // For a call on a device's stream: only the columns that `port` names, on the device.
  BatchView(const BatchData& batch, DeviceStream& stream, const sluice_port& port);
  BatchView(const BatchView&) = delete;
  const sluice_batch& get() const { return view_; }

 private:
  void add(const Column& column, const ArrowArray* host, const ArrowDeviceArray* device);
  void finish(const BatchData& batch);
  std::vector<sluice_column> columns_;
  std::vector<const char*> keys_, values_;
  ViewedBatch view_{};
};

}  // namespace sluice
