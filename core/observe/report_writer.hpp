// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Reports by name: the ending says who reads them.

#include <string>
#include <vector>

#include "observe/report.hpp"
#include "observe/run_history.hpp"

namespace sluice {

enum class ReportKind {
  json,           // everything else, /dev/stdout too
  page,           // .html, .htm
  multiqc,        // _mqc.json: one section
  multiqc_folder  // ends with /, or is a folder: every section
};

ReportKind report_kind(const std::string& name);
// Does any of these reports show what the run did over time?
bool show_history(const std::vector<std::string>& names);
// What is written for such a report.
std::vector<std::string> files_of_report(const std::string& name);
// Makes the folder of such a report. Asked before a long run begins: "" or why it can't be written.
std::string prepare_report(const std::string& name);
// "" or what went wrong, naming the file.
std::string write_report(const std::string& name, const RunResult& result, const Plan& plan, const Registry& registry, const ReportContext& context,
                         const RunHistory& history);

}  // namespace sluice
