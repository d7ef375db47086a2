// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/regroup_runner.hpp"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

bool RegroupRunner::send(std::shared_ptr<BatchData> batch, const Emit& emit, Emission& emission) {
  if (run_.cancelled()) return false;
  batch->row_type = descriptor().output.row_type;
  batch->row_name = descriptor().row_name != nullptr ? descriptor().row_name : "";
  batch->sequence = emitted_++;
  if (batch->work <= 0) batch->work = static_cast<double>(batch->rows);
  if (const auto status = std::exchange(batch->status, nullptr)) {
    count_failures(CallMark::current_sequence(), *batch, *status);
    batch->status = status;
  }
  count_lengths(*batch);
  emission.rows += batch->rows;
  emission.bytes += batch->bytes();
  const auto start = std::chrono::steady_clock::now();
  const bool goes_on = emit(std::move(batch));
  emission.seconds += seconds_since(start);
  ++run_.progress;
  return goes_on;
}

template <class Body>
void RegroupRunner::emitting_call(const BatchHandle& input, const Emit& emit, Body&& body) {
  sluice_output output(host_);
  Emission emission;
  output.emit = [&](std::shared_ptr<BatchData> batch) {
    try {
      return send(std::move(batch), emit, emission);
    } catch (...) {  // not the plugin's fault
      run_.fail_with_current_exception(name());
      return false;
    }
  };
  const double start = run_.seconds();
  CallResult result = call(input ? input->sequence : CallMark::no_batch, input ? input->rows : 0, [&] {
    sluice_error error{};
    const sluice_status status = body(output, error);
    output.throw_if_refused();
    throw_unless_ok(status, error);
    if (std::shared_ptr<BatchData> last = output.take_batch(); last && last->rows > 0) output.emit(std::move(last));
  });
  result.seconds = std::max(result.seconds - emission.seconds, 0.0);
  if (!result.ok()) return fail(result);
  if (!input && emission.rows == 0) return;
  host_.recorder->waited(emission.seconds);
  host_.recorder->call(input ? input->sequence : StageRecorder::no_batch, "cpu", result.seconds, input ? input->rows : 0, emission.rows,
                       input ? input->work : 0, emission.bytes, result.bytes_moved);
  if (input) trace("cpu", start, result.seconds, input->sequence, input->rows);
}

void RegroupRunner::regroup(const BatchHandle& input, const Emit& emit) {
  if (run_.cancelled() || input->rows == 0) return;
  emitting_call(input, emit, [&](sluice_output& output, sluice_error& error) {
    const sluice_call made = make_call();
    const BatchView view(*input);
    return (*instance_)->process(instance_->self(), &made, &view.get(), &output, &error);
  });
}

void RegroupRunner::finish(const Emit& emit) {
  if (finished_ || run_.cancelled()) return;
  finished_ = true;
  if ((*instance_)->finish == nullptr) return;
  emitting_call(nullptr, emit, [&](sluice_output& output, sluice_error& error) {
    const sluice_call made = make_call();
    return (*instance_)->finish(instance_->self(), &made, &output, &error);
  });
}

void RegroupRunner::end_with_state(const std::function<void(OutputFiles&, const SaveState& save)>& take) {
  if (run_.cancelled()) return;
  if (emitted_ > 0)
    throw Failure(SLUICE_ERROR_INTERNAL, "it gave rows before its end, so that its state is not all that has become of the input",
                  "run without --shard, and report this bug of the plugin");
  if (!can_save()) throw Failure(SLUICE_ERROR_UNSUPPORTED, "its state can't be saved with these parameters", "run without --shard");
  take(run_.files, [this](const std::function<void(std::string_view)>& write) { save(write); });
}

}  // namespace sluice
