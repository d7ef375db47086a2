// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Rows of reads as records of signal, with what there is of optional columns.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <sluice/stage.hpp>
#include <span>

#include "signal_writer/blow5_bytes.hpp"

namespace sluice::signal_writer {

// The columns that writers of signal take.
template <class Stage>
void describe_signal_columns(Describe<Stage>& d) {
  d.needs("read_id", "utf8", "identifier")
      .needs("raw_signal", "list<i16>", "samples")
      .needs("digitisation", "f64", "steps of the converter")
      .needs("range", "f64", "pA over all steps")
      .needs("offset", "f64", "pA = (raw + offset) * range / digitisation")
      .needs("sampling_rate", "f64", "Hz");
  d.needs("signal_read_id", "utf8", "name of the read that the signal is of; empty: there is none to write", Needed::optional)
      .needs("sequencer_channel", "i32", "channel of the flow cell, from 1", Needed::optional)
      .needs("mux", "i32", "well of the channel", Needed::optional)
      .needs("start_sample", "i64", "first sample of the read since the run began", Needed::optional)
      .needs("read_number", "i64", "number of the read on its channel", Needed::optional)
      .needs("end_reason", "utf8", "why the read ended", Needed::optional);
}

// Work in samples.
inline Estimate estimate_of_signal(const Batch& in) {
  const auto samples = in.list<std::int16_t>("raw_signal");
  Estimate result;
  for (std::int64_t row = 0; row < in.rows(); ++row) {
    const auto size = static_cast<double>(samples[row].size());
    result.work += size;
    result.largest_row_work = std::max(result.largest_row_work, size);
  }
  result.output_bytes = static_cast<std::uint64_t>(2 * result.work);
  return result;
}

// Which optional columns there are.
struct SignalColumns {
  explicit SignalColumns(const Setup& setup)
      : signal_read_id(setup.available("signal_read_id")),
        channel(setup.available("sequencer_channel")),
        mux(setup.available("mux")),
        start_sample(setup.available("start_sample")),
        read_number(setup.available("read_number")),
        end_reason(setup.available("end_reason")) {}
  bool signal_read_id, channel, mux, start_sample, read_number, end_reason;
};

class SignalRows {
 public:
  SignalRows(const Batch& in, const SignalColumns& has)
      : has_(has),
        ids_(in.text(has.signal_read_id ? "signal_read_id" : "read_id")),
        end_reasons_(has.end_reason ? in.text("end_reason") : ids_),
        samples_(in.list<std::int16_t>("raw_signal")),
        digitisation_(in.column<double>("digitisation")),
        range_(in.column<double>("range")),
        offset_(in.column<double>("offset")),
        rate_(in.column<double>("sampling_rate")) {
    if (has.channel) channel_ = in.column<std::int32_t>("sequencer_channel");
    if (has.mux) mux_ = in.column<std::int32_t>("mux");
    if (has.start_sample) start_sample_ = in.column<std::int64_t>("start_sample");
    if (has.read_number) read_number_ = in.column<std::int64_t>("read_number");
  }
  // False: the signal of the row's molecule stands in another row.
  bool has_signal(std::int64_t row) const { return !has_.signal_read_id || !ids_[row].empty(); }
  SignalRecord operator[](std::int64_t row) const {
    const auto i = static_cast<std::size_t>(row);
    SignalRecord record;
    record.read_id = ids_[row];
    record.digitisation = digitisation_[i];
    record.offset = offset_[i];
    record.range = range_[i];
    record.sampling_rate = rate_[i];
    record.raw_signal = samples_[row];
    if (has_.channel && channel_[i] > 0) record.channel = channel_[i];
    if (has_.mux && mux_[i] >= 0 && mux_[i] < std::numeric_limits<std::uint8_t>::max()) record.mux = static_cast<std::uint8_t>(mux_[i]);
    if (has_.start_sample && start_sample_[i] >= 0) record.start_sample = static_cast<std::uint64_t>(start_sample_[i]);
    if (has_.read_number && read_number_[i] >= 0 && read_number_[i] < std::numeric_limits<std::int32_t>::max())
      record.read_number = static_cast<std::int32_t>(read_number_[i]);
    if (has_.end_reason) record.end_reason = end_reasons_[row];
    return record;
  }

 private:
  SignalColumns has_;
  TextView ids_, end_reasons_;
  ListView<std::int16_t> samples_;
  std::span<const double> digitisation_, range_, offset_, rate_;
  std::span<const std::int32_t> channel_, mux_;
  std::span<const std::int64_t> start_sample_, read_number_;
};

}  // namespace sluice::signal_writer
