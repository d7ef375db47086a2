// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Runs modification_calls and modification_pileup over made-up records, and writes their rows as bedMethyl.

#include <doctest/doctest.h>

#include <cstdio>
#include <sluice/testing.hpp>
#include <string>
#include <utility>
#include <vector>

#include "modification_pileup/calls_stage.hpp"
#include "modification_pileup/pileup_stage.hpp"
#include "unit/methylation/modification_pileup/modbam_record.hpp"

namespace fixture {

using sluice::testing::BatchBuilder;
using sluice::testing::ParameterTexts;
using sluice::testing::Result;
using sluice::testing::run_stage;
using sluice::testing::TestBatch;
using namespace sluice::modification_pileup;

using Contigs = std::vector<std::pair<std::string, std::string>>;

inline TestBatch reference(const Contigs& contigs) {
  std::vector<std::string> names, bases;
  for (const auto& [name, letters] : contigs) names.push_back(name), bases.push_back(letters);
  return BatchBuilder("contig", static_cast<std::int64_t>(names.size())).text("name", names).text("bases", bases).build();
}

inline TestBatch batch(const std::vector<modbam::Record>& records, std::uint64_t sequence) {
  std::vector<std::string> names, contigs, cells;
  std::vector<std::int64_t> starts;
  std::vector<std::uint8_t> reverse;
  for (const modbam::Record& record : records) {
    names.push_back(record.name);
    contigs.push_back(record.contig);
    cells.push_back(modbam::cell(record));
    starts.push_back(record.position);
    reverse.push_back(record.is_reverse() ? 1 : 0);
  }
  return BatchBuilder("read", static_cast<std::int64_t>(records.size()))
      .text("read_id", names)
      .text("contig", contigs)
      .column<std::int64_t>("ref_start", starts)
      .column<std::uint8_t>("is_reverse", reverse)
      .binary("bam_record", cells)
      .sequence(sequence)
      .build();
}
inline std::vector<TestBatch> batches(const std::vector<modbam::Record>& records, std::size_t rows) {
  std::vector<TestBatch> made;
  for (std::size_t i = 0; i < records.size(); i += rows)
    made.push_back(
        batch({records.begin() + static_cast<std::ptrdiff_t>(i), records.begin() + static_cast<std::ptrdiff_t>(std::min(records.size(), i + rows))},
              made.size()));
  return made;
}

inline std::string lines_of(const Result& result, bool partitions) {
  std::string lines;
  for (const TestBatch& rows : result.batches) {
    const auto view = rows.view();
    for (std::int64_t row = 0; row < rows.rows(); ++row) {
      const auto number = [&](const char* name) { return view.column<std::int64_t>(name)[static_cast<std::size_t>(row)]; };
      const std::string place = std::to_string(number("position")) + "\t" + std::to_string(number("position") + 1);
      const std::int64_t valid = number("modified") + number("canonical") + number("other_modified");
      char percent[32];
      std::snprintf(percent, sizeof percent, "%.2f", 100.0 * static_cast<double>(number("modified")) / static_cast<double>(valid));
      lines += std::string(view.text("contig")[row]) + "\t" + place + "\t" + std::string(view.text("modification")[row]) + "\t" +
               std::to_string(valid) + "\t" + std::string(view.text("strand")[row]) + "\t" + place + "\t255,0,0\t" + std::to_string(valid) + "\t" +
               percent;
      for (const char* name : {"modified", "canonical", "other_modified", "deleted", "failed", "different", "no_call"})
        lines += "\t" + std::to_string(number(name));
      lines += partitions ? "\t" + std::string(view.text("partition")[row]) + "\n" : "\n";
    }
  }
  return lines;
}

struct Settings {
  ParameterTexts calls = {}, pileup = {};
  std::size_t rows_per_batch = 7;
  int threads = 1;
};
inline Result calls_of(const std::vector<modbam::Record>& records, const Settings& settings = {}) {
  return run_stage<ModificationCalls>(batches(records, settings.rows_per_batch)).with(settings.calls).threads(settings.threads).run();
}
inline Result pileup_of(const std::vector<TestBatch>& calls, const Contigs& contigs, const Settings& settings = {}) {
  auto run = run_stage<ModificationPileup>(calls);
  if (!contigs.empty()) run.resource("reference", reference(contigs));
  return run.with(settings.pileup).threads(settings.threads).run();
}

}  // namespace fixture
