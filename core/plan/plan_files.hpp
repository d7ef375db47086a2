// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which files a run reads and writes, before anything is opened: no output may take the place of an input or of another output.

#include <optional>
#include <string>
#include <vector>

#include "config/diagnostic.hpp"
#include "plan/plan.hpp"

namespace sluice {

enum class FileUse { reads, writes };

// Why the files of an input can't be found; no message: they can.
struct FileProblem {
  std::string message, remedy;
};

struct PlannedFile {
  std::string path;
  FileUse use = FileUse::reads;
  bool declared = false;  // the stage says so itself; else it is what a path of such a stage usually is
  bool side = false;      // goes with another file (an index) and need not be there
  std::string what;       // "--signal", "parameter 'signal'" of a file, or "parameter 'path' of stage 'x'"
  FileProblem problem = {};
  Location where = {"command line", 0, 0};  // where it was given
};

// What a parameter of a stage names: a file that is read, or written; nothing: no file.
std::optional<FileUse> file_use(const ResolvedStage& stage, std::size_t parameter);
// The parameters that name files which the stage writes. Indexes of the descriptor.
std::vector<std::size_t> files_written_by(const ResolvedStage& stage);

// Of one stage or resource (`kind`), with what lies beside them.
std::vector<PlannedFile> files_of(const ResolvedStage& stage, const char* kind);
// Of all stages and resources, with what lies beside them: indexes, and NAME.partial of an interrupted run. The pipeline's own file, and the
// plugins that it uses, are read.
std::vector<PlannedFile> files_of(const Plan& plan, const Registry& registry);

// An output that is an input or another output, however it is spelled (other folders in the path, symbolic and hard links), is an error, which
// `remedy` mends; unless only the pipeline is looked at, so are a declared input that is not there, what lies beside one and is no file (its index, a
// pipe), and an output that can't be written: its folder is missing, it is a folder, or there is no right to. Nothing is opened.
void check_files(const std::vector<PlannedFile>& files, Missing missing, Diagnostics& diagnostics, const char* remedy = "give it another name");

}  // namespace sluice
