// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <memory>
#include <sluice/input_part.hpp>
#include <sluice/testing/sources.hpp>
#include <utility>

#include "testing/test_host.hpp"

namespace sluice::testing {
namespace {

struct Asked {
  sluice_stage inner{};
  std::vector<SaidPosition>* said = nullptr;
  std::int64_t rows = 0;

  void ask() const {
    char text[256] = {};
    sluice_error error{};
    SaidPosition& position = said->emplace_back();
    position.rows_before = rows;
    if (inner.position(inner.self, text, sizeof text, &error) == SLUICE_OK)
      position.text = text;
    else
      position.problem = error.message;
  }
};

std::string differing_row(const std::vector<std::string>& expected, const std::vector<std::string>& rows) {
  if (expected.size() != rows.size()) return std::to_string(rows.size()) + " rows instead of " + std::to_string(expected.size());
  const auto differs = std::mismatch(expected.begin(), expected.end(), rows.begin()).first;
  return differs == expected.end() ? std::string() : "row " + std::to_string(differs - expected.begin()) + " differs";
}

void check_parts(const StageUnderTest& source, const PrepareRun& prepare, const std::vector<std::string>& whole, std::uint64_t parts,
                 std::vector<std::string>& problems) {
  const std::string what = "in " + std::to_string(parts) + " parts: ";
  std::vector<std::string> rows;
  for (std::uint64_t part = 0; part < parts; ++part) {
    const Result result = prepare(in_part(source, part, parts)).run();
    if (!result.ok()) {
      // A single input may have no places to begin at.
      if (result.status != SLUICE_ERROR_USAGE) problems.push_back(what + result.message);
      return;
    }
    for (const std::string& text : result.problems) problems.push_back(what + text);
    for (std::string& row : row_texts(result)) rows.push_back(std::move(row));
  }
  if (const std::string differs = differing_row(whole, rows); !differs.empty()) problems.push_back(what + differs);
}

void check_position(const StageUnderTest& source, const PrepareRun& prepare, const std::string& of, const std::vector<std::string>& whole,
                    const SaidPosition& position, std::vector<std::string>& problems) {
  if (!position.problem.empty()) return problems.push_back(of + "position(): " + position.problem);
  if (position.text == no_position) return;
  const std::string what = of + "from position '" + position.text + "': ";
  const Result result = prepare(beginning_at(source, position.text)).run();
  if (!result.ok()) return problems.push_back(what + result.message);
  const std::vector<std::string> rest(whole.begin() + position.rows_before, whole.end());
  if (const std::string differs = differing_row(rest, row_texts(result)); !differs.empty()) problems.push_back(what + differs);
}

// of: which part of the input the source gives, for people.
void check_positions(const StageUnderTest& source, const PrepareRun& prepare, const std::string& of, std::size_t most,
                     const std::vector<std::string>& whole, std::vector<std::string>& problems) {
  std::vector<SaidPosition> said;
  if (const Result asked = prepare(asked_for_positions(source, &said)).run(); !asked.ok())
    problems.push_back(of + "asked for positions: " + asked.message);
  const std::size_t step = std::max<std::size_t>(1, said.size() / std::max<std::size_t>(most, 1));
  for (std::size_t i = 0; i < said.size(); i += step) check_position(source, prepare, of, whole, said[i], problems);
  if (!said.empty()) check_position(source, prepare, of, whole, said.back(), problems);
}

// A run of a part goes on, too.
void check_positions_in_parts(const StageUnderTest& source, const PrepareRun& prepare, std::size_t most, std::vector<std::string>& problems) {
  constexpr std::uint64_t parts = 3;
  for (std::uint64_t part = 0; part < parts; ++part) {
    const StageUnderTest of_part = in_part(source, part, parts);
    const Result result = prepare(of_part).run();
    if (!result.ok()) return;  // it has been said
    check_positions(of_part, prepare, "part " + std::to_string(part + 1) + " of " + std::to_string(parts) + " ", most, row_texts(result), problems);
  }
}

}  // namespace

StageUnderTest in_part(StageUnderTest source, std::uint64_t part, std::uint64_t parts) {
  source.create = [create = source.create, part, parts](const sluice_create_args* args, sluice_stage* stage, sluice_error* error) {
    sluice_create_args changed = *args;
    changed.part = part, changed.parts = parts;
    return create(&changed, stage, error);
  };
  return source;
}

StageUnderTest beginning_at(StageUnderTest source, std::string position) {
  source.create = [create = source.create, position = std::move(position)](const sluice_create_args* args, sluice_stage* stage, sluice_error* error) {
    sluice_create_args changed = *args;
    changed.begin_at = position.c_str();
    return create(&changed, stage, error);
  };
  return source;
}

StageUnderTest asked_for_positions(StageUnderTest source, std::vector<SaidPosition>* said) {
  source.create = [create = source.create, said](const sluice_create_args* args, sluice_stage* stage, sluice_error* error) -> sluice_status {
    auto asked = std::make_unique<Asked>();
    if (const sluice_status status = create(args, &asked->inner, error); status != SLUICE_OK) return status;
    asked->said = said;
    asked->ask();
    *stage = asked->inner;
    stage->self = asked.release();
    stage->process = [](void* self, const sluice_call* call, const sluice_batch* input, sluice_output* output, sluice_error* problem) {
      Asked& source_asked = *static_cast<Asked*>(self);
      const sluice_status status = source_asked.inner.process(source_asked.inner.self, call, input, output, problem);
      const auto& state = *reinterpret_cast<const detail::OutputState*>(output);
      if (state.opened) source_asked.rows += state.contents.rows;
      if (status == SLUICE_OK || status == SLUICE_END) source_asked.ask();
      return status;
    };
    stage->destroy = [](void* self) {
      const std::unique_ptr<Asked> source_asked(static_cast<Asked*>(self));
      source_asked->inner.destroy(source_asked->inner.self);
    };
    return SLUICE_OK;
  };
  return source;
}

std::vector<std::string> row_texts(const Result& result) {
  std::vector<std::string> rows;
  for (const TestBatch& batch : result.batches)
    for (std::int64_t row = 0; row < batch.rows(); ++row) {
      std::string line = batch.ok(row) ? "" : "failed ";
      for (const TestBatch::Column& column : batch.contents().columns) {
        const std::string_view cell = batch.cell(column, row);
        line += column.name + '=' + std::to_string(cell.size()) + ':';
        if (batch.ok(row)) line += cell;
      }
      rows.push_back(std::move(line));
    }
  return rows;
}

std::vector<std::string> source_problems(const StageUnderTest& source, const PrepareRun& prepare, const SourceChecks& checks) {
  std::vector<std::string> problems;
  const Result result = prepare(source).run();
  if (!result.ok()) return problems;
  const std::vector<std::string> whole = row_texts(result);
  if ((source.descriptor->traits & SLUICE_TRAIT_PARTS) != 0)
    for (const std::uint64_t parts : checks.part_counts) check_parts(source, prepare, whole, parts, problems);
  if ((source.descriptor->traits & SLUICE_TRAIT_POSITIONS) == 0) return problems;
  check_positions(source, prepare, "", checks.most_positions, whole, problems);
  if ((source.descriptor->traits & SLUICE_TRAIT_PARTS) != 0) check_positions_in_parts(source, prepare, checks.most_positions / 4, problems);
  return problems;
}

}  // namespace sluice::testing
