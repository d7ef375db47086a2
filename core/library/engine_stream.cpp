// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>

#include "batch/row_range.hpp"
#include "library/engine_run.hpp"
#include "library/unlocked_wait.hpp"

namespace sluice {
namespace {

// Only the columns of the stream: no others are copied when rows are left out.
BatchHandle streamed(const BatchHandle& batch, const std::vector<StreamColumn>& columns) {
  std::vector<std::string> names;
  for (const StreamColumn& column : columns) names.push_back(column.name);
  return batch->with_only(names);
}

BatchHandle without_failed_rows(const BatchHandle& batch, const std::vector<StreamColumn>& columns) {
  if (batch->good_rows() == batch->rows) return batch;
  std::vector<std::uint32_t> good;
  for (std::size_t row = 0; row < batch->status->size(); ++row)
    if ((*batch->status)[row] == 0) good.push_back(static_cast<std::uint32_t>(row));
  return good.empty() ? nullptr : take_rows(streamed(batch, columns), good);
}

}  // namespace

// "stage: reason" of each row that has failed; "" of the others. Statuses count the reasons of all resources and stages, in the plan's order.
std::vector<std::string> EngineRun::failures_of(const BatchData& batch) const {
  std::vector<std::string> words = {""};
  const auto add = [&](const ResolvedStage& stage) {
    const sluice_stage_descriptor& d = *stage.entry.descriptor;
    for (std::size_t i = 0; i < d.reason_count; ++i) words.push_back(stage.name + ": " + d.reasons[i].code);
  };
  std::for_each(plan_->pipeline.resources.begin(), plan_->pipeline.resources.end(), add);
  std::for_each(plan_->pipeline.stages.begin(), plan_->pipeline.stages.end(), add);
  std::vector<std::string> texts(static_cast<std::size_t>(batch.rows));
  if (batch.status)
    for (std::size_t row = 0; row < texts.size(); ++row) texts[row] = words.at((*batch.status)[row]);
  return texts;
}

namespace {

BatchChannel::Take take_from(BatchChannel& channel, double seconds, BatchHandle& batch) {
  if (channel.ready()) return channel.take(0, batch);
  const UnlockedWait unlocked;
  return channel.take(seconds, batch);
}

}  // namespace

sluice_status EngineRun::next_batch(double seconds, ArrowArray& batch) {
  refuse_elsewhere();
  for (;;) {
    BatchHandle next;
    const BatchChannel::Take taken = take_from(*channel_, seconds, next);
    if (taken == BatchChannel::Take::too_late) return SLUICE_ERROR_CANCELLED;
    if (taken == BatchChannel::Take::end) return SLUICE_END;
    ColumnHandle failed;
    if (keep_failed_rows_)
      failed = nullable_text("failed", failures_of(*next));
    else if (next = without_failed_rows(next, columns_); !next)
      continue;
    batch = export_batch(next, columns_, failed, shared_from_this());
    return SLUICE_OK;
  }
}

void EngineRun::close_stream() {
  if (!is_of_this_process()) return;
  closed_ = true;
  channel_->close();
  if (session_) session_->run()->tell(LifeEvent::second_interrupt);
}

}  // namespace sluice
