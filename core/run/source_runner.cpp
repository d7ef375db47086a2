// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/source_runner.hpp"

#include <array>
#include <memory>

namespace sluice {

BatchHandle SourceRunner::read(double target_work, std::uint64_t target_bytes, std::uint64_t sequence) {
  if (run_.stopping() || ended()) return nullptr;
  sluice_call made = make_call();
  made.target_work = target_work;
  made.target_bytes = target_bytes;
  sluice_output output(host_);
  const double start = run_.seconds();
  const CallResult result = call(sequence, 0, [&] {
    sluice_error error{};
    const sluice_status status = (*instance_)->process(instance_->self(), &made, nullptr, &output, &error);
    output.throw_if_refused();
    if (status != SLUICE_END) throw_unless_ok(status, error);
    if (output.batch->rows > 0) output.throw_if_incomplete(planned_.wanted);
    // What is said of many followed files is long, and for checkpoints alone.
    if (has(SLUICE_TRAIT_POSITIONS) && !host_.follows) host_.recorder->stands_at(position());
    ended_ = status == SLUICE_END;
  });
  if (!result.ok()) {
    fail(result);
    return nullptr;
  }
  const std::vector<std::uint16_t> failures = output.failures;
  std::shared_ptr<BatchData> batch = output.take_batch();
  if (!batch && ended_) return nullptr;
  if (!batch) batch = std::make_shared<BatchData>();  // nothing this time
  batch->row_type = descriptor().output.row_type;
  batch->row_name = descriptor().row_name != nullptr ? descriptor().row_name : "";
  batch->sequence = sequence;
  if (batch->work <= 0) batch->work = static_cast<double>(batch->rows);
  const auto status = std::exchange(batch->status, nullptr);
  count_failures(sequence, *batch, failures);
  batch->status = status;
  count_lengths(*batch);
  host_.recorder->call(sequence, "cpu", result.seconds, 0, batch->rows, batch->work, batch->bytes());
  trace("reader", start, result.seconds, sequence, batch->rows);
  if (ended_ && batch->rows == 0) return nullptr;
  return batch;
}

std::string SourceRunner::position() const {
  // Enough for most; what a source says of ten thousand followed files takes a megabyte.
  constexpr std::size_t usual = 256, most = std::size_t{64} << 20;
  sluice_error error{};
  std::array<char, usual> text{};
  if ((*instance_)->position(instance_->self(), text.data(), text.size(), &error) == SLUICE_OK) return text.data();
  const auto long_text = std::make_unique_for_overwrite<char[]>(most);
  throw_unless_ok((*instance_)->position(instance_->self(), long_text.get(), most, &error), error);
  return long_text.get();
}

}  // namespace sluice
