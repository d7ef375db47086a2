// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/report_writer.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "machine/atomic_file.hpp"
#include "observe/history_tree.hpp"
#include "observe/multiqc.hpp"
#include "observe/report_page.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view section_ending = "_mqc.json";

// What MultiQC calls the run: the folder's name, or the file's without its ending.
std::string sample_name(const std::string& name) {
  const fs::path path = fs::absolute(name).lexically_normal();
  std::string last = path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
  if (last.ends_with(section_ending)) last.resize(last.size() - section_ending.size());
  return last.empty() ? "sluice" : last;
}

// Sections of results are called as their figures.
const std::string result_prefix = "result_";

std::string section_file(const std::string& folder, const char* section) {
  return (fs::path(folder) / ("sluice_" + std::string(section) + std::string(section_ending))).string();
}

// Those that an earlier run has left in the folder, whose figures were others.
std::string remove_results(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> old = {section_file(folder, "lengths")};
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string file = entry.path().filename().string();
    if (file.starts_with("sluice_" + result_prefix) && file.ends_with(section_ending)) old.push_back(entry.path());
  }
  for (const fs::path& file : old)
    if (fs::remove(file, error); error) return "'" + file.string() + "' cannot be replaced: " + error.message();
  return "";
}

// The series stand in one line: one for each number would be longer than all the rest.
std::string with_history(std::string report, const RunHistory& history, const RunStatistics& statistics) {
  report.resize(report.rfind("\n}"));
  return report + ",\n  \"history\": " + history_tree(history, statistics).dump() + "\n}\n";
}

}  // namespace

ReportKind report_kind(const std::string& name) {
  std::error_code error;
  if (name.ends_with('/') || fs::is_directory(name, error)) return ReportKind::multiqc_folder;
  if (name.ends_with(".html") || name.ends_with(".htm")) return ReportKind::page;
  return name.ends_with(section_ending) ? ReportKind::multiqc : ReportKind::json;
}

bool show_history(const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    const ReportKind kind = report_kind(name);
    return kind == ReportKind::page || kind == ReportKind::json;
  });
}

std::vector<std::string> files_of_report(const std::string& name) {
  if (report_kind(name) != ReportKind::multiqc_folder) return {name};
  return {section_file(name, "fates"), section_file(name, "general"), section_file(name, "lengths")};
}

std::string prepare_report(const std::string& name) {
  std::error_code error;
  if (report_kind(name) == ReportKind::multiqc_folder && !fs::create_directories(name, error) && error)
    return "'" + name + "' cannot be made: " + error.message();
  for (const std::string& file : files_of_report(name))
    if (std::string problem = why_not_writable(file); !problem.empty()) return problem;
  return "";
}

std::string write_report(const std::string& name, const RunResult& result, const Plan& plan, const Registry& registry, const ReportContext& context,
                         const RunHistory& history) {
  switch (report_kind(name)) {
    case ReportKind::json:
      return write_atomically(name, with_history(report_json(result, plan, registry, context), history, result.statistics));
    case ReportKind::page:
      return write_atomically(name, report_page(result, plan, registry, context, history));
    case ReportKind::multiqc:
      return write_atomically(name, multiqc_fates(result, plan, sample_name(name)));
    case ReportKind::multiqc_folder:
      break;
  }
  const std::string sample = sample_name(name), lengths = multiqc_lengths(result, sample);
  std::string problem = write_atomically(section_file(name, "fates"), multiqc_fates(result, plan, sample));
  if (problem.empty()) problem = write_atomically(section_file(name, "general"), multiqc_general(result, plan, sample));
  if (!problem.empty()) return problem;
  if (problem = remove_results(name); !problem.empty()) return problem;
  if (!lengths.empty()) problem = write_atomically(section_file(name, "lengths"), lengths);
  for (const auto& [section, text] : multiqc_results(result, sample))
    if (problem.empty()) problem = write_atomically(section_file(name, (result_prefix + section).c_str()), text);
  if (!problem.empty()) return problem;
  return "";
}

}  // namespace sluice
