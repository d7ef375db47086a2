// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/signal_reads.hpp"

#include <algorithm>
#include <optional>

namespace sluice::signal_reader {
namespace {

constexpr double least_bytes_at_a_time = 1 << 20, most_bytes_at_a_time = 64 << 20;

RecordCursor cursor_of(const SignalFile& signal, const InputTurns::File& file) {
  // A position is never before the range.
  RecordCursor cursor(signal, {file.position.empty() ? file.range.begin : 0, file.range.end});
  if (file.position.empty()) return cursor;
  const std::vector<std::uint64_t> numbers = position_numbers(file.position, 3);
  cursor.go_to(numbers[0], numbers[1], numbers[2]);
  return cursor;
}

}  // namespace

SignalReads::SignalReads(const InputTurns::File& file, const SignalReadsWishes& wishes)
    : wishes_(wishes),
      has_grown_(file.growth == InputTurns::Growth::possible),
      grows_(has_grown_),
      file_(file.path, grows_ ? SignalFile::Growth::possible : SignalFile::Growth::none),
      batches_(file_, wishes.beginning, wishes.beginnings ? SignalBatches::Give::beginnings : SignalBatches::Give::records, cursor_of(file_, file)) {
  batches_.set_growing(grows_);
}

InputReader::Given SignalReads::give(const Call& call, Output& out) {
  if (grows_) file_.extend();
  const ParallelLoop parallel = [&call](std::size_t count, std::size_t grain, const auto& body) { call.parallel_for(count, grain, body); };
  // A batch for each thread, then every thread has something to do behind it.
  const double bytes_at_a_time = static_cast<double>(call.target_bytes()) * std::max(call.threads(), 4);
  const SignalBatches::Sizes sizes{call.target_work(), call.target_bytes(),
                                   static_cast<std::uint64_t>(std::clamp(bytes_at_a_time, least_bytes_at_a_time, most_bytes_at_a_time))};
  const std::optional<SignalBatch> batch = batches_.next(sizes, call.memory(), parallel, [&] { return !wishes_.follows && call.cancelled(); });
  if (!batch && batches_.ended() && has_grown_) file_.check_end();
  out.set_rows(batch ? batch->rows : 0);
  if (batch) {
    give_columns(*batch, out);
    note_ids(call, *batch);
  }
  // Behind the last batch of a file that has grown there is still its end to be seen.
  if (batches_.ended() && !(batch && has_grown_)) return Given::end;
  return batch ? Given::rows : Given::nothing_yet;
}

void SignalReads::end_here() {
  file_.extend();
  grows_ = false;
  batches_.set_growing(false);
}

std::int64_t SignalReads::consumed() const {
  const RecordExtent extent = file_.extent();
  return static_cast<std::int64_t>(static_cast<double>(extent.begin) + batches_.share_read() * static_cast<double>(extent.end - extent.begin));
}

std::string SignalReads::position() { return position_text({batches_.next_offset(), batches_.records_before(), batches_.cursor().counted_from()}); }

void SignalReads::note_ids(const Call& call, const SignalBatch& batch) const {
  const std::span<const std::int64_t> ends = batch.name_ends.as<std::int64_t>();
  for (std::size_t row = 0; row < static_cast<std::size_t>(batch.rows); ++row) {
    wishes_.repeats->look_at(call, {static_cast<const char*>(batch.names.data()) + ends[row], static_cast<std::size_t>(ends[row + 1] - ends[row])});
  }
}

void SignalReads::give_columns(const SignalBatch& batch, Output& out) const {
  out.add("read_id", text_column(batch.rows, batch.name_ends, batch.names));
  out.add("signal_record", text_column(batch.rows, batch.record_ends, batch.records, "binary"));
  out.set_work(batch.work);
  if (!wishes_.places) return;
  const auto offset = out.column<std::int64_t>("record_offset");
  const auto stored = out.column<std::int64_t>("record_bytes");
  for (std::size_t row = 0; row < batch.places.size(); ++row) {
    offset[row] = static_cast<std::int64_t>(wishes_.places_at + batch.places[row].offset);
    stored[row] = static_cast<std::int64_t>(SignalFile::stored_bytes(file_.header(), batch.places[row]));
  }
}

}  // namespace sluice::signal_reader
