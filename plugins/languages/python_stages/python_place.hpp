// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which Python runs the workers, and where the package `sluice` lies that they are written in.

#include <filesystem>
#include <string>

namespace sluice::python {

struct PythonPlace {
  std::string interpreter;          // SLUICE_PYTHON, else python3: looked for in PATH unless it has a '/'
  std::filesystem::path worker;     // _worker.py of the package
  std::filesystem::path libsluice;  // what the package loads; empty: it finds it itself
};

// `plugin`: this plugin's file, which all else lies beside. Throws Failure with the remedy where there is no package.
PythonPlace find_python(const std::filesystem::path& plugin);

}  // namespace sluice::python
