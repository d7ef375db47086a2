// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The records of one call on a device: inflated there, with what the host has to know of each.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <sluice/cuda.hpp>
#include <vector>

#include "signal_reader/record_facts.hpp"

namespace sluice::signal_reader::cuda {

class DeviceRecords {
 public:
  // room: bytes of text for a stored byte; what takes more is left to the host.
  DeviceRecords(const sluice::cuda::DeviceCall& device, const Batch& in, SignalCompression compression, double room)
      : device_(device), is_svb_zd_(compression == SignalCompression::svb_zd) {
    const auto rows = static_cast<std::size_t>(in.rows());
    const sluice::cuda::Text records = device.text(in, "signal_record");
    stored_ = records.bytes;
    offsets_ = device.download(records.offsets, rows + 1);
    text_of_.assign(rows, 0);
    facts_.resize(rows);
    const std::vector<RecordPlan> plans = plan(in, room);
    const sluice::cuda::Memory of_plans = device.upload(plans), facts = device.upload(facts_);
    const auto count = static_cast<std::uint32_t>(plans.size());
    text_ = device.allocate(static_cast<std::size_t>(text_bytes_));
    using sluice::cuda::check;
    check(inflate_records(of_plans.as<RecordPlan>(), count, stored_, text_.as<std::uint8_t>(), facts.as<RecordFacts>(), device.stream()),
          "inflate_records");
    check(examine_records(of_plans.as<RecordPlan>(), count, text_.as<std::uint8_t>(), is_svb_zd_, facts.as<RecordFacts>(), device.stream()),
          "examine_records");
    facts_ = device.download(facts.as<RecordFacts>(), rows);
  }

  std::size_t without_room() const {
    return static_cast<std::size_t>(
        std::count_if(facts_.begin(), facts_.end(), [](const RecordFacts& facts) { return facts.status == InflateStatus::no_room; }));
  }

  // The fields of a record that can be decoded on the device; `read_id` is valid until this ends. Asked once for each row.
  std::optional<SignalRecord> record(std::size_t row) {
    SignalRecord record;
    std::size_t signal = 0;
    if (!resolve(facts_[row], is_svb_zd_, record, signal)) return std::nullopt;
    facts_[row].count = static_cast<std::uint32_t>(record.sample_count);
    text_of_[row] += static_cast<std::int64_t>(signal);
    return record;
  }

  // The record as it is stored, for the host.
  std::vector<char> stored(std::size_t row) const {
    return device_.download(stored_ + offsets_[row], static_cast<std::size_t>(offsets_[row + 1] - offsets_[row]));
  }

  // Writes the samples of rows that record() has given, to their places.
  void decode(std::span<const std::size_t> rows, std::span<const std::int64_t> places, std::int16_t* samples) const {
    std::vector<SignalPlan> plans;
    for (const std::size_t row : rows) plans.push_back({text_of_[row], places[row], facts_[row].count});
    const sluice::cuda::Memory of_plans = device_.upload(plans);
    sluice::cuda::check(decode_signals(of_plans.as<SignalPlan>(), static_cast<std::uint32_t>(plans.size()), text_.as<std::uint8_t>(), is_svb_zd_,
                                       samples, device_.stream()),
                        "decode_signals");
  }

 private:
  // The longest records first, as a call lasts as long as its last one.
  std::vector<RecordPlan> plan(const Batch& in, double room) {
    constexpr std::uint64_t most = std::numeric_limits<std::int32_t>::max() / 2, least_room = 1024, alignment = 16;
    std::vector<RecordPlan> plans;
    for (std::size_t row = 0; row < facts_.size(); ++row) {
      const auto bytes = static_cast<std::uint64_t>(offsets_[row + 1] - offsets_[row]);
      if (!in.ok(static_cast<std::int64_t>(row)) || bytes > most) continue;
      const auto wanted = static_cast<std::uint64_t>(room * static_cast<double>(bytes)) + least_room;
      const std::uint64_t given = std::min(wanted, most) / alignment * alignment;
      text_of_[row] = static_cast<std::int64_t>(text_bytes_);
      plans.push_back(
          {offsets_[row], text_of_[row], static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(given), static_cast<std::uint32_t>(row)});
      text_bytes_ += given;
    }
    std::stable_sort(plans.begin(), plans.end(), [](const RecordPlan& a, const RecordPlan& b) { return a.bytes > b.bytes; });
    return plans;
  }

  const sluice::cuda::DeviceCall& device_;
  bool is_svb_zd_;
  const char* stored_ = nullptr;
  std::vector<std::int64_t> offsets_, text_of_;  // of text_: of the whole record, and of its signal when record() has been asked
  std::vector<RecordFacts> facts_;
  std::uint64_t text_bytes_ = 0;
  sluice::cuda::Memory text_;
};

}  // namespace sluice::signal_reader::cuda
