// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/host.hpp"

#include <algorithm>
#include <sluice/failure.hpp>
#include <utility>

#include "config/pipeline.hpp"

const sluice_stage_descriptor& sluice_host::descriptor() const { return *stage->entry.descriptor; }

sluice_output::sluice_output(const sluice_host& owner, std::int64_t input_rows, sluice::DeviceStream* on_device)
    : host(owner), device(on_device), makes_rows(false), batch(std::make_shared<sluice::BatchData>()) {
  set_rows(input_rows);
}

sluice_output::sluice_output(const sluice_host& owner)
    : host(owner), device(nullptr), makes_rows(true), batch(std::make_shared<sluice::BatchData>()) {}

void sluice_output::set_rows(std::int64_t rows) {
  failures.assign(static_cast<std::size_t>(rows), 0);
  batch->rows = rows;
  open = true;
}

std::shared_ptr<sluice::BatchData> sluice_output::take_batch() {
  if (!open) return nullptr;
  if (std::any_of(failures.begin(), failures.end(), [](std::uint16_t s) { return s != 0; }))
    batch->status = std::make_shared<std::vector<std::uint16_t>>(std::move(failures));
  failures.clear();
  open = false;
  return std::exchange(batch, std::make_shared<sluice::BatchData>());
}

std::shared_ptr<const std::vector<std::uint16_t>> sluice_output::failures_with(const sluice::BatchData& input) const {
  if (std::none_of(failures.begin(), failures.end(), [](std::uint16_t s) { return s != 0; })) return nullptr;
  auto status = std::make_shared<std::vector<std::uint16_t>>(failures);
  if (input.status)
    for (std::size_t row = 0; row < status->size(); ++row)
      if ((*input.status)[row] != 0) (*status)[row] = (*input.status)[row];
  return status;
}

sluice_status sluice_output::refuse(const std::string& problem) {
  const std::lock_guard lock(mutex_);
  if (problem_.empty()) problem_ = problem;
  return SLUICE_ERROR_INTERNAL;
}

void sluice_output::throw_if_refused() const {
  const std::lock_guard lock(mutex_);
  if (!problem_.empty()) throw sluice::Failure(SLUICE_ERROR_INTERNAL, problem_, "this is a bug in the plugin: please report it");
}

void sluice_output::throw_if_incomplete(const std::vector<std::uint8_t>& wanted) const {
  const sluice_port& gives = host.descriptor().output;
  for (std::size_t c = 0; c < gives.column_count; ++c)
    if (wanted[c] != 0 && batch->find(gives.columns[c].name) == nullptr)
      throw sluice::Failure(SLUICE_ERROR_INTERNAL, std::string("the plugin did not give column '") + gives.columns[c].name + "'",
                            "this is a bug in the plugin: please report it");
}

const char* sluice_output::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_.c_str();
}
