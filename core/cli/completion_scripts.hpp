// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What `sluice completion SHELL` prints. Each script asks `sluice completion words WORD...` what may stand behind the words of the command line, so
// that it knows new pipelines, stages and options without being written again. An answer is a line each: the word, then perhaps a tab and what it
// means; ":files" and ":folders" leave it to the shell to offer those.

#include <string>
#include <vector>

namespace sluice::cli {

const std::vector<std::string>& completion_shells();      // "bash", "zsh", "fish"
const char* completion_script(const std::string& shell);  // null for another shell

}  // namespace sluice::cli
