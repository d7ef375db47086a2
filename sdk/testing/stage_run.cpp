// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <latch>
#include <sluice/descriptor_check.hpp>
#include <sluice/testing/stage_run.hpp>
#include <thread>

#include "testing/contract_case.hpp"
#include "testing/stage_run_checks.hpp"
#include "testing/test_host.hpp"

namespace sluice::testing {

namespace {

bool checked(Result& result, sluice_status status, const sluice_error& error) {
  if (status == SLUICE_OK) return true;
  if (error.message[0] == '\0') result.problems.push_back("status " + std::to_string(status) + " without a message");
  return detail::fail(result, status, error.message, error.remedy);
}

struct Processed {
  sluice_status status = SLUICE_OK;
  sluice_error error{};
  std::unique_ptr<detail::OutputState> output;
  std::string estimate_problem;
};

// What the host asks before a call. It takes no number on trust, so any will do; but there is room for one a row.
std::string estimate_problem(const sluice_stage& stage, const TestBatch& input, std::size_t batch) {
  constexpr double untouched = -12345;
  std::vector<double> row_work(static_cast<std::size_t>(input.rows()) + 64, untouched);
  sluice_estimate estimate{};
  estimate.struct_size = sizeof estimate;
  estimate.row_work = row_work.data();
  detail::about_to_call("estimate", batch);
  stage.estimate(stage.self, &input.raw(), &estimate);
  const bool is_beyond = std::any_of(row_work.begin() + input.rows(), row_work.end(), [](double work) { return work != untouched; });
  return is_beyond ? "estimate() writes the work of more rows than there are" : "";
}

void take_batches(const std::shared_ptr<detail::MiniHost>& host, detail::OutputState& out, Result& result) {
  for (std::size_t i = 0; i < out.emitted.size(); ++i) {
    TestBatch::Contents& contents = out.emitted[i];
    contents.sequence = result.batches.size();
    auto& failures = out.emitted_failures[i];
    std::sort(failures.begin(), failures.end());
    for (const auto& [row, reason] : failures) {
      auto& status = contents.status[static_cast<std::size_t>(row)];
      if (status != 0) result.problems.push_back("row " + std::to_string(row) + " failed twice, or had failed before");
      status = static_cast<std::uint16_t>(reason + 1);
      result.failed.push_back({result.batches.size(), row, host->reason_code(reason)});
    }
    result.batches.emplace_back(std::move(contents));
  }
  out.emitted.clear();
  out.emitted_failures.clear();
}

// FNV-1a over every cell.
std::uint64_t fingerprint(const TestBatch& batch) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const TestBatch::Column& column : batch.contents().columns)
    for (std::int64_t row = 0; row < batch.rows(); ++row)
      for (const char byte : batch.cell(column, row)) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3U;
  return hash;
}

// "column 'x': " of the column that lies there, "" if none does.
std::string holder_of(const void* block, const Result& result) {
  for (const TestBatch& batch : result.batches)
    for (const TestBatch::Column& column : batch.contents().columns) {
      const ArrowArray& array = column.data->array();
      const bool is_text = sluice::is_text(column.type), is_list = sluice::is_list(column.type);
      const void* const values = is_list ? array.children[0]->buffers[1] : is_text ? array.buffers[2] : array.buffers[1];
      if (values == block) return "column '" + column.name + "': ";
      if ((is_list || is_text) && array.buffers[1] == block) return "offsets of column '" + column.name + "': ";
    }
  return {};
}

// An input whose columns lie on the device.
struct DeviceInput {
  DeviceInput(const TestBatch& batch, detail::TestDevice& device) : raw(batch.raw()) {
    arrays.reserve(batch.contents().columns.size());
    for (const TestBatch::Column& column : batch.contents().columns) {
      arrays.push_back(device.upload(column.type, column.array));
      columns.push_back({column.name.c_str(), column.type.c_str(), &column.data->schema(), nullptr, &arrays.back()});
    }
    raw.columns = columns.data();
  }
  DeviceInput(const DeviceInput&) = delete;
  ~DeviceInput() {
    for (ArrowDeviceArray& array : arrays) array.array.release(&array.array);
  }
  std::vector<ArrowDeviceArray> arrays;
  std::vector<sluice_column> columns;
  sluice_batch raw;
};

}  // namespace

StageRun::StageRun(StageUnderTest stage, std::vector<TestBatch> inputs) : stage_(std::move(stage)), inputs_(std::move(inputs)) {}
StageRun::StageRun(const StageRun&) = default;
StageRun::StageRun(StageRun&&) noexcept = default;
StageRun::~StageRun() = default;

StageRun& StageRun::with(const ParameterTexts& parameters) {
  for (const auto& [name, value] : parameters) parameters_.insert_or_assign(name, value);
  return *this;
}
StageRun& StageRun::resource(const std::string& slot, TestBatch batch) { return resources_.insert_or_assign(slot, std::move(batch)), *this; }
StageRun& StageRun::wanted(std::set<std::string> columns) { return wanted_ = std::move(columns), wants_all_ = false, *this; }
StageRun& StageRun::threads(int count) { return threads_ = count, *this; }
StageRun& StageRun::cancel_after(std::int64_t checks) { return cancel_after_ = checks, *this; }
StageRun& StageRun::memory_for(std::int64_t allocations) { return allocations_ = allocations, *this; }
StageRun& StageRun::file_capacity(std::uint64_t bytes) { return file_capacity_ = bytes, *this; }
StageRun& StageRun::device(const sluice_device_provider& provider, std::int32_t ordinal) { return provider_ = &provider, ordinal_ = ordinal, *this; }
StageRun& StageRun::device_memory_for(std::int64_t allocations) { return device_allocations_ = allocations, *this; }
StageRun& StageRun::files_in(std::string folder) { return folder_ = std::move(folder), *this; }
StageRun& StageRun::target_work(double work) { return target_work_ = work, *this; }
StageRun& StageRun::target_bytes(std::uint64_t bytes) { return target_bytes_ = bytes, *this; }
StageRun& StageRun::at_most_calls(std::size_t calls) { return most_calls_ = calls, *this; }
StageRun& StageRun::feedback(std::function<TestBatch(const TestBatch&)> answer) { return answer_ = std::move(answer), *this; }
StageRun& StageRun::only_inputs(std::size_t first, std::size_t last) { return first_input_ = first, last_input_ = last, *this; }
StageRun& StageRun::saves_to(std::vector<SavedInstance>* saved) { return saved_ = saved, *this; }
StageRun& StageRun::part(std::uint64_t part, std::uint64_t parts) { return part_ = part, parts_ = parts, *this; }
StageRun& StageRun::resumes(std::vector<SavedInstance> saved) { return resumed_ = std::move(saved), *this; }
StageRun& StageRun::observe(std::shared_ptr<detail::MiniHost>* host) { return observer_ = host, *this; }

Result StageRun::run() const {
  Result result;
  const sluice_stage_descriptor& descriptor = *stage_.descriptor;
  auto host = std::make_shared<detail::MiniHost>(descriptor, folder_);
  host->threads = threads_;
  host->allocations_left = allocations_;
  host->files.set_capacity(file_capacity_);
  if (!resumed_.empty()) host->files.keep(resumed_.front().files);
  run_with(host, result);
  for (const detail::GuardedMemory::Damage& damage : host->memory.damages()) host->problem(holder_of(damage.block, result) + damage.text);
  if (observer_) *observer_ = host;
  host->files.finish(result.ok(), result);
  result.log = host->log_lines;
  result.accounts = host->accounts;
  result.counters = host->counters;
  result.quantities = host->observed;
  result.outcomes = host->outcomes;
  result.problems.insert(result.problems.end(), host->problems.begin(), host->problems.end());
  return result;
}

Result StageRun::expect_rows(std::int64_t rows) const { return run().expect_rows(rows); }

std::unique_ptr<detail::OutputState> StageRun::open_output(const std::shared_ptr<detail::MiniHost>& host, const std::vector<std::uint8_t>& wanted,
                                                           const TestBatch* input) const {
  auto out = std::make_unique<detail::OutputState>();
  out->home = host.get();
  out->descriptor = stage_.descriptor;
  out->wanted = &wanted;
  out->prepares_commit = stage_.descriptor->kind == SLUICE_SINK;
  const char* row_type = stage_.descriptor->output.row_type;
  if (stage_.descriptor->kind == SLUICE_MAP || stage_.descriptor->kind == SLUICE_SINK) {
    out->contents.row_type = input != nullptr ? input->contents().row_type : "";
    out->contents.rows = input != nullptr ? input->rows() : 0;
    if (input != nullptr) out->contents.status = input->contents().status;
  } else {
    out->contents.row_type = row_type != nullptr ? row_type : "";
  }
  return out;
}

void StageRun::run_with(const std::shared_ptr<detail::MiniHost>& host, Result& result) const {
  const sluice_stage_descriptor& d = *stage_.descriptor;
  std::vector<sluice_value> values;
  std::vector<std::uint8_t> available;
  if (!parameter_values(values, result) || !check_inputs(available, result)) return;
  std::vector<const sluice_batch*> resources;
  for (std::size_t i = 0; i < d.resource_count; ++i) {
    const auto found = resources_.find(d.resources[i].name);
    if (found == resources_.end() && d.resources[i].optional == 0)
      return static_cast<void>(detail::fail(result, SLUICE_ERROR_USAGE, std::string("resource '") + d.resources[i].name + "' is required"));
    resources.push_back(found == resources_.end() ? nullptr : &found->second.raw());
  }
  std::vector<std::uint8_t> wanted;
  for (std::size_t i = 0; i < d.output.column_count; ++i)
    wanted.push_back(d.output.columns[i].optional == 0 || wants_all_ || wanted_.contains(d.output.columns[i].name) ? 1 : 0);

  sluice_create_args args{};
  args.struct_size = sizeof args;
  args.api = &host->api();
  args.host = host->raw();
  args.instance = "under_test";
  args.parameters = values.data();
  args.parameter_stride = sizeof(sluice_value);
  args.part = part_;
  args.parts = parts_;
  args.feedback_sinks = answer_ ? 1 : 0;
  std::vector<sluice_bytes> states;
  for (const SavedInstance& saved : resumed_) states.push_back({saved.state.data(), saved.state.size()});
  args.saved = states.data();
  args.saved_count = states.size();
  args.saved_stride = sizeof(sluice_bytes);
  args.resources = resources.data();
  args.wanted = wanted.data();
  args.available = available.data();
  sluice_stage made{};
  sluice_error error{};
  detail::about_to_call("create");
  if (!checked(result, stage_.create(&args, &made, &error), error)) return;
  const std::unique_ptr<sluice_stage, void (*)(sluice_stage*)> stage(&made, [](sluice_stage* s) {
    detail::about_to_call("destroy");
    s->destroy(s->self);
  });
  host->cancel_checks_left = cancel_after_;

  sluice_call call{};
  call.struct_size = sizeof call;
  call.api = &host->api();
  call.host = host->raw();
  call.target_work = target_work_;
  call.target_bytes = target_bytes_;
  std::shared_ptr<detail::TestDevice> device;
  if (provider_ != nullptr) {
    while (call.implementation < d.implementation_count && std::string_view(d.implementations[call.implementation].device) != provider_->kind)
      ++call.implementation;
    if (call.implementation == d.implementation_count)
      return static_cast<void>(
          detail::fail(result, SLUICE_ERROR_UNSUPPORTED, std::string("the stage has no implementation for '") + provider_->kind + "'"));
    device = std::make_shared<detail::TestDevice>(*provider_, ordinal_);
    device->allocations_left = device_allocations_;
    call.device = &device->handle();
  }

  if (answer_ && made.feedback == nullptr) return static_cast<void>(detail::fail(result, SLUICE_ERROR_UNSUPPORTED, "the stage takes no feedback"));
  if (answer_)
    host->when_emitted = [&, batches = std::uint64_t{0}](TestBatch::Contents emitted) mutable {
      emitted.sequence = batches++;
      const TestBatch answer = answer_(TestBatch(std::move(emitted))).with_sequence(batches - 1);
      sluice_error refused{};
      detail::about_to_call("feedback", batches - 1);
      if (made.feedback(made.self, &call, &answer.raw(), &refused) != SLUICE_OK) host->problem(std::string("feedback(): ") + refused.message);
    };
  if (d.kind == SLUICE_SOURCE || d.kind == SLUICE_RESOURCE)
    run_without_input(host, made, call, wanted, result);
  else
    run_over_inputs(host, made, call, device, wanted, result);
  if (device && device->blocks_in_use() != 0)
    result.problems.push_back(std::to_string(device->blocks_in_use()) + " blocks of device memory were never freed");
  if (device && device->overwritten() != 0)
    result.problems.push_back("what lies behind " + std::to_string(device->overwritten()) + " blocks of device memory was overwritten");
  if (!result.ok() || made.finish == nullptr) return;
  auto out = open_output(host, wanted, nullptr);
  sluice_error finish_error{};
  detail::about_to_call("finish");
  const sluice_status status = made.finish(made.self, &call, reinterpret_cast<sluice_output*>(out.get()), &finish_error);
  if (!checked(result, status, finish_error)) return;
  if (out->opened && out->contents.rows > 0) host->close_batch(*out);
  take_batches(host, *out, result);
}

void StageRun::run_without_input(const std::shared_ptr<detail::MiniHost>& host, const sluice_stage& stage, const sluice_call& call,
                                 const std::vector<std::uint8_t>& wanted, Result& result) const {
  const std::size_t calls = stage_.descriptor->kind == SLUICE_RESOURCE ? 1 : most_calls_;
  for (std::size_t i = 0; i < calls; ++i) {
    auto out = open_output(host, wanted, nullptr);
    sluice_error error{};
    detail::about_to_call("process", i);
    const sluice_status status = stage.process(stage.self, &call, nullptr, reinterpret_cast<sluice_output*>(out.get()), &error);
    if (status != SLUICE_END && !checked(result, status, error)) return;
    if (out->opened && (out->contents.rows > 0 || stage_.descriptor->kind == SLUICE_RESOURCE)) host->close_batch(*out);
    take_batches(host, *out, result);
    if (status == SLUICE_END) return;
  }
}

bool StageRun::save(const std::shared_ptr<detail::MiniHost>& host, const sluice_stage& stage, const sluice_call& call, Result& result) const {
  if (saved_ == nullptr || stage.save == nullptr) return true;
  SavedInstance& saved = saved_->emplace_back();
  const auto append = [](void* to, const void* data, std::size_t bytes) {
    return sluice::detail::guarded(nullptr, [&] { return static_cast<std::string*>(to)->append(static_cast<const char*>(data), bytes), SLUICE_OK; });
  };
  sluice_error error{};
  detail::about_to_call("save");
  if (!checked(result, stage.save(stage.self, &call, append, &saved.state, &error), error)) return false;
  saved.files = host->files.contents();
  saved.batches = result.batches.size();
  return true;
}

void StageRun::run_over_inputs(const std::shared_ptr<detail::MiniHost>& host, const sluice_stage& stage, const sluice_call& call,
                               const std::shared_ptr<detail::TestDevice>& device, const std::vector<std::uint8_t>& wanted, Result& result) const {
  const sluice_stage_descriptor& d = *stage_.descriptor;
  const std::size_t first_input = std::min(first_input_, inputs_.size()), last_input = std::min(last_input_, inputs_.size());
  std::vector<Processed> processed(inputs_.size());
  const auto process = [&](std::size_t i) {
    Processed& p = processed[i];
    p.output = open_output(host, wanted, &inputs_[i]);
    p.output->device = device;
    std::unique_ptr<DeviceInput> on_device;
    if (device) on_device = std::make_unique<DeviceInput>(inputs_[i], *device);
    const sluice_batch* input = on_device ? &on_device->raw : &inputs_[i].raw();
    if (stage.estimate != nullptr) p.estimate_problem = estimate_problem(stage, inputs_[i], i);
    if (device) p.status = device->enter(p.error);
    detail::about_to_call("process", i);
    if (stage.process != nullptr && p.status == SLUICE_OK)
      p.status = stage.process(stage.self, &call, input, reinterpret_cast<sluice_output*>(p.output.get()), &p.error);
    // Nothing that the call used is given back before the stream has come to rest.
    sluice_error later{};
    if (device)
      if (const sluice_status status = device->synchronize(later); p.status == SLUICE_OK && status != SLUICE_OK) p.status = status, p.error = later;
  };
  std::vector<std::uint64_t> before;
  for (const TestBatch& input : inputs_) before.push_back(fingerprint(input));
  const bool together = !device && threads_ > 1 && (d.kind == SLUICE_MAP || d.kind == SLUICE_SINK) && !is_one_call_at_a_time(d.traits);
  if (together) {
    // All begin together, and each has its share: calls of any two threads are at once, or might have been.
    const auto threads = static_cast<std::size_t>(threads_);
    std::latch all_are_here(threads_);
    std::vector<std::thread> workers;
    for (std::size_t t = 0; t < threads; ++t)
      workers.emplace_back([&, t] {
        all_are_here.arrive_and_wait();
        for (std::size_t i = first_input + t; i < last_input; i += threads) process(i);
      });
    for (std::thread& worker : workers) worker.join();
  }
  for (std::size_t i = first_input; i < last_input; ++i) {
    if (!save(host, stage, call, result)) return;
    if (!together) process(i);
    Processed& p = processed[i];
    if (!p.estimate_problem.empty()) result.problems.push_back(p.estimate_problem);
    const bool is_enough = p.status == SLUICE_END && (d.traits & SLUICE_TRAIT_ORDERED) != 0;
    if (!is_enough && !checked(result, p.status, p.error)) return;
    if (d.kind != SLUICE_REGROUP || (p.output->opened && p.output->contents.rows > 0)) host->close_batch(*p.output);
    const std::size_t first = result.batches.size();
    if (d.kind == SLUICE_MAP || d.kind == SLUICE_SINK) {
      TestBatch::Contents& contents = p.output->emitted.front();
      const TestBatch::Contents& input = inputs_[i].contents();
      contents.columns.insert(contents.columns.begin(), input.columns.begin(), input.columns.end());
      contents.attributes.insert(contents.attributes.begin(), input.attributes.begin(), input.attributes.end());
    }
    take_batches(host, *p.output, result);
    if (stage.commit == nullptr) continue;
    sluice_error error{};
    detail::about_to_call("commit", i);
    if (!checked(result, stage.commit(stage.self, &call, &result.batches[first].raw(), &error), error)) return;
  }
  if (!save(host, stage, call, result)) return;
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (fingerprint(inputs_[i]) != before[i])
      result.problems.push_back("batch " + std::to_string(i) + " was changed by the stage, which may only read it");
}

StageRun run_stage(StageUnderTest stage, std::vector<TestBatch> batches) { return {std::move(stage), std::move(batches)}; }
StageRun run_stage(StageUnderTest stage, TestBatch batch) { return {std::move(stage), std::vector{std::move(batch)}}; }

}  // namespace sluice::testing
