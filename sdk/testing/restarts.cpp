// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <sluice/testing/restarts.hpp>

#include "testing/differences.hpp"

namespace sluice::testing {

namespace {

class Restarts {
 public:
  explicit Restarts(const StageRun& run) : run_(run), descriptor_(run.descriptor()), whole_(StageRun(run).saves_to(&saved_).run()) {}

  bool has_saved() const { return !saved_.empty(); }
  std::vector<std::string> problems() {
    if (!whole_.ok()) return {"with save(): " + whole_.message};
    expect("saved between all inputs", StageRun(run_).run(), whole_);
    for (std::size_t input = 0; input < saved_.size(); ++input) check_resume(input);
    if (has_saved()) check_damage();
    if (StageRun(run_).only_inputs(0, 0).part(0, 2).run().status == SLUICE_ERROR_USAGE) return problems_;  // no parts with these parameters
    if (has_saved() && (descriptor_.traits & SLUICE_TRAIT_SUMS) != 0) check_sums();
    if (descriptor_.kind == SLUICE_SINK && (descriptor_.traits & SLUICE_TRAIT_CONCATENATES) != 0) check_concatenation();
    return problems_;
  }

 private:
  void expect(const std::string& what, const Result& expected, const Result& actual) {
    for (const std::string& text : detail::differences(descriptor_, expected, actual)) problems_.push_back(what + ": " + text);
    for (const std::string& text : actual.problems) problems_.push_back(what + ": " + text);
  }

  void check_resume(std::size_t input) {
    const SavedInstance& saved = saved_[input];
    std::vector<SavedInstance> again;
    Result resumed = StageRun(run_).only_inputs(input, run_.input_count()).resumes({saved}).saves_to(&again).run();
    const std::string what = "resumed behind input " + std::to_string(input);
    // In front of it is what had come out by then.
    resumed.batches.insert(resumed.batches.begin(), whole_.batches.begin(), whole_.batches.begin() + static_cast<std::ptrdiff_t>(saved.batches));
    for (FailedRow& row : resumed.failed) row.batch += saved.batches;
    std::copy_if(whole_.failed.begin(), whole_.failed.end(), std::back_inserter(resumed.failed),
                 [&](const FailedRow& row) { return row.batch < saved.batches; });
    expect(what, whole_, resumed);
    if (!again.empty() && again.front().state != saved.state) problems_.push_back(what + ": the state is another one when it is saved again");
    for (const auto& [path, bytes] : whole_.headers)
      if (resumed.ok() && resumed.headers[path] != bytes) problems_.push_back(what + ": another header of '" + path + "'");
  }

  // Whatever is missing, or too much, is an error of the input.
  void check_damage() {
    const SavedInstance& last = saved_.back();
    const auto check = [&](std::string state) {
      SavedInstance damaged = last;
      damaged.state = std::move(state);
      const Result result = StageRun(run_).only_inputs(run_.input_count(), run_.input_count()).resumes({damaged}).run();
      if (result.status != SLUICE_ERROR_INPUT)
        problems_.push_back("a damaged state of " + std::to_string(damaged.state.size()) + " instead of " + std::to_string(last.state.size()) +
                            " bytes: status " + std::to_string(result.status) + " " + result.message);
    };
    const std::size_t bytes = last.state.size(), steps = std::min<std::size_t>(bytes, 16);
    for (std::size_t i = 0; i < steps; ++i) check(last.state.substr(0, bytes * i / steps));
    if (bytes > 0) check(last.state.substr(0, bytes - 1));
    check(last.state + '\0');
  }

  // The state behind a part of the input; nothing of it may have come out before.
  SavedInstance part(std::size_t first, std::size_t last) {
    std::vector<SavedInstance> saved;
    const Result result = StageRun(run_).part(first == 0 ? 0 : 1, 2).only_inputs(first, last).saves_to(&saved).run();
    if (!result.ok() || saved.empty()) return problems_.push_back("a part of the input: " + result.message), SavedInstance();
    if (saved.back().batches > 0) problems_.emplace_back("rows came out of a part of the input before its end");
    return saved.back();
  }
  void check_sums() {
    const std::size_t inputs = run_.input_count();
    const auto check = [&](const std::string& what, const std::vector<SavedInstance>& parts) {
      expect(what, whole_, StageRun(run_).only_inputs(inputs, inputs).resumes(parts).run());
    };
    for (std::size_t cut = 0; cut <= inputs; ++cut) check("the sum of parts, cut at input " + std::to_string(cut), {part(0, cut), part(cut, inputs)});
    std::vector<SavedInstance> all;
    for (std::size_t input = 0; input < inputs; ++input) all.push_back(part(input, input + 1));
    if (!all.empty()) check("the sum of one part each input", all);
  }

  // What is written to standard output has no form by its name.
  static bool is_text(const std::string& path) {
    return path != "-" && std::none_of(std::begin(not_text), std::end(not_text), [&](const char* ending) { return path.ends_with(ending); });
  }
  void check_concatenation() {
    const std::size_t inputs = run_.input_count();
    // A part without rows may not know the whole header.
    for (std::size_t cut = 1; cut < inputs; ++cut) {
      const std::string what = "parts, cut at input " + std::to_string(cut) + ": ";
      Result first = StageRun(run_).part(0, 2).only_inputs(0, cut).run(), second = StageRun(run_).part(1, 2).only_inputs(cut, inputs).run();
      if (!first.ok() || !second.ok()) return problems_.push_back(what + first.message + second.message);
      for (const auto& [path, bytes] : whole_.files) {
        if (!is_text(path)) continue;
        const std::uint64_t header = second.headers[path];
        if (first.headers[path] != header) problems_.push_back(what + "other headers of '" + path + "'");
        if (header > second.files[path].size() || first.files[path] + second.files[path].substr(header) != bytes)
          problems_.push_back(what + "one behind the other they are not '" + path + "'");
      }
    }
  }

  static constexpr const char* not_text[] = {".gz",  ".zst", ".arrow", ".parquet", ".bam",   ".cram",
                                             ".bai", ".csi", ".tbi",   ".blow5",   ".slow5", ".idx"};
  StageRun run_;
  const sluice_stage_descriptor& descriptor_;
  std::vector<SavedInstance> saved_;  // in front of each input, and behind the last
  Result whole_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> restart_problems(const StageRun& run) {
  constexpr std::uint32_t which = SLUICE_TRAIT_SAVES | SLUICE_TRAIT_CONCATENATES | SLUICE_TRAIT_SUMS;
  if ((run.descriptor().traits & which) == 0) return {};
  return Restarts(run).problems();
}

std::vector<std::string> resume_problems(const StageRun& run) {
  Restarts restarts(run);
  if (!restarts.has_saved()) return {"the instance does not save"};
  return restarts.problems();
}

}  // namespace sluice::testing
